//! Checks on the untouched base: one that cannot even start is found out before an agent is paid, and one that fails there
//! is known when it fails in the same way later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use conductor_core::plan::{Task, Work};
use conductor_core::run::event::{Failure, FailureClass, Outcome};
use serde::{Deserialize, Serialize};
use tokio::sync::{OnceCell, watch};

use super::checks::Check;
use super::{AttemptContext, Stop, Worker};
use crate::process::transcript::{CheckRun, CheckedOn, Transcript};
use crate::worker::{gates, verifiers};

/// A base and a command.
type OfBase = (String, String);

/// What checks said of bases, each once.
#[derive(Default)]
pub(crate) struct BaseChecks {
    said: Mutex<HashMap<OfBase, Arc<OnceCell<Said>>>>,
}

impl BaseChecks {
    fn cell(&self, base: &str, command: &str) -> Arc<OnceCell<Said>> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.entry((base.to_owned(), command.to_owned())).or_default().clone()
    }
}

/// What a check said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Said {
    run: CheckRun,
    /// Its last lines, without what is different each time.
    lines: Vec<String>,
}

/// Checks that fail on the base of a task.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct FailsOnBase(Vec<(String, Said)>);

impl FailsOnBase {
    /// Whether a check has failed now exactly as on the base.
    pub(super) fn knows(&self, failure: &Failure, workspace: &std::path::Path) -> bool {
        let lines: Vec<&str> = failure.evidence.lines().collect();
        failure.class == FailureClass::Unverified
            && self.0.iter().any(|(command, said)| {
                let why = said.run.why.as_deref().unwrap_or_default();
                failure.message == failed(command, why)
                    && normal(&of(command, &lines), workspace) == said.lines
            })
    }
}

/// How a check that failed is told.
pub(super) fn failed(command: &str, why: &str) -> String {
    format!("`{command}` failed: {why}")
}

fn is_checked(task: &Task) -> bool {
    matches!(task.work, Work::Prompt(_)) && !task.verify.is_empty() && task.checks_base()
}

impl Worker {
    /// Runs the checks of a prompt once for each base it starts from. What they leave in the workspace is not the agent's
    /// work: `untouched` is the commit from which that counts.
    pub(super) async fn check_base(
        &self,
        context: &AttemptContext<'_>,
        untouched: &mut Option<String>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<FailsOnBase, Outcome> {
        let (task, workspace) = (context.task, &context.workspace);
        let Some(base) = workspace.base.clone().filter(|_| is_checked(task)) else {
            return Ok(FailsOnBase::default());
        };
        // One that goes on does not start from the base.
        let starts = context.request.round.is_none();
        // Where they cannot even be told, that is said when the work is looked at.
        let commands = gates::expand(&task.verify, &workspace.directory).unwrap_or_default();
        let (mut failing, mut has_run) = (Vec::new(), false);
        for command in commands {
            let cell = self.services.base_checks.cell(&base, &command);
            if starts && cell.get().is_none() {
                has_run = true;
            }
            let said = match starts {
                true => cell.get_or_try_init(|| self.said_of_base(context, &command, transcript, stop)).await,
                false => match cell.get() {
                    Some(said) => Ok(said),
                    None => continue,
                },
            };
            let said = said.map_err(Outcome::Failed)?;
            if let Some(missing) = missing(said).or_else(|| useless(&command, said)) {
                let message =
                    format!("`{command}` cannot be started, and it is what checks the work: {missing}");
                return Err(Outcome::Failed(Failure::new(FailureClass::Unstartable, message)));
            }
            self.speaker(context.order).note_check(&said.run);
            if said.run.why.is_some() {
                failing.push((command, said.clone()));
            }
        }
        if has_run {
            let (workspaces, request, workspace) =
                (context.workspaces.clone(), context.request.clone(), workspace.clone());
            let change = self
                .started_at(context.blocks, stop, move || workspaces.collect(&request, &workspace))
                .await?;
            *untouched = change.map(|change| change.commit).or(untouched.take());
        }
        Ok(FailsOnBase(failing))
    }

    async fn said_of_base(
        &self,
        context: &AttemptContext<'_>,
        command: &String,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Said, Failure> {
        let check = Check { task: context.task, command, on: CheckedOn::Base };
        let run = self.checked(context.order, check, &context.workspace, transcript, stop).await?;
        if *stop.borrow() != Stop::No {
            return Err(Failure::new(FailureClass::Killed, "interrupted"));
        }
        let lines: Vec<&str> = run.lines.iter().map(String::as_str).collect();
        let lines = normal(&lines, &context.workspace.directory);
        if let Some(why) = &run.why {
            transcript.note(&format!("[conductor: {} on the untouched base]", failed(command, why)));
        }
        Ok(Said { run, lines })
    }
}

/// What was said since a command was started.
pub(super) fn of<'a>(command: &str, lines: &[&'a str]) -> Vec<&'a str> {
    let started = format!("$ {command}");
    let from = lines.iter().rposition(|line| *line == started).map_or(0, |place| place + 1);
    lines[from..].to_vec()
}

/// Without what is different each time: numbers, and where it happened.
fn normal(lines: &[&str], workspace: &std::path::Path) -> Vec<String> {
    let place = workspace.display().to_string();
    let lines = lines.iter().filter(|line| !line.starts_with("[conductor: "));
    lines
        .map(|line| {
            let mut normal = String::with_capacity(line.len());
            for letter in line.replace(&place, "").chars() {
                match letter {
                    digit if digit.is_ascii_digit() && normal.ends_with('#') => {}
                    digit if digit.is_ascii_digit() => normal.push('#'),
                    other => normal.push(other),
                }
            }
            normal.trim().to_owned()
        })
        .collect()
}

/// The program or module that is not there, in the words of the program that looked for it. A path may yet come with the work.
fn missing(said: &Said) -> Option<&str> {
    said.run.why.as_ref()?;
    said.lines.iter().map(String::as_str).find(|line| {
        let program = line.strip_suffix(": not found").or_else(|| line.strip_suffix(": command not found"));
        let name = program.and_then(|line| line.rsplit(": ").next());
        let module =
            line.split_once(": No module named ").is_some_and(|(program, _)| program.contains("python"));
        module || name.is_some_and(|name| !name.contains('/') && !name.is_empty())
    })
}

/// Why a verifier cannot be used, whatever the work will be: `plugin verify` has a code of its own for that.
fn useless<'a>(command: &str, said: &'a Said) -> Option<&'a str> {
    const NONE_THAT_CAN_BE_USED: &str = "exit code 7";
    let asked = verifiers::named(command).is_some() && said.run.why.as_deref() == Some(NONE_THAT_CAN_BE_USED);
    let said = said.run.lines.iter().filter(|_| asked);
    said.filter_map(|line| line.strip_prefix("error: ")).next()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn said(lines: &[&str]) -> Said {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let why = Some("exit code 1".to_owned());
        let (on, command) = (CheckedOn::Base, "t".to_owned());
        let (at, took) = (Default::default(), Default::default());
        Said { run: CheckRun { on, command, at, took, why, lines: Vec::new() }, lines }
    }

    #[test]
    fn programs_and_modules_that_are_missing_are_told_from_files_that_may_come() {
        for line in [
            "sh: 1: jest: not found",
            "bash: line 1: cargo-nextest: command not found",
            "/usr/bin/python3: No module named pytest",
        ] {
            assert_eq!(missing(&said(&["before", line])), Some(line));
        }
        for line in
            ["sh: 1: ./check.sh: not found", "ModuleNotFoundError: No module named 'mine'", "key: not good"]
        {
            assert_eq!(missing(&said(&[line])), None, "{line}");
        }
        let mut passed = said(&["sh: 1: jest: not found"]);
        passed.run.why = None;
        assert_eq!(missing(&passed), None, "it managed without");
    }

    #[test]
    fn a_failure_is_the_same_whatever_the_time_and_the_place() {
        let (here, there) = (Path::new("/work/a"), Path::new("/work/b"));
        let on_base =
            normal(&of("t", &["noise", "$ t", "ran 12 tests in 0.31s", "/work/a/x.py:3: no"]), here);
        let known = FailsOnBase(vec![("t".into(), Said { lines: on_base, ..said(&[]) })]);
        let later =
            |message: &str, evidence: &str| Failure::new(FailureClass::Unverified, message).with(evidence);
        let same = "other noise\n$ t\nran 12 tests in 1.07s\n/work/b/x.py:3: no";
        assert!(known.knows(&later("`t` failed: exit code 1", same), there));
        assert!(!known.knows(&later("`t` failed: exit code 2", same), there));
        assert!(!known.knows(&later("`u` failed: exit code 1", same), there));
        assert!(!known.knows(&later("`t` failed: exit code 1", "$ t\n/work/b/y.py:3: no"), there));
    }
}
