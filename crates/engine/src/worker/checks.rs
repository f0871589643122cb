//! Our own look at the work: what makes a workspace ready, what checks the result, and whether the checks check anything.

use std::path::Path;
use std::sync::PoisonError;
use std::time::Instant;

use conductor_core::plan::Task;
use conductor_core::run::event::{Change, Failure, FailureClass, Finding, Gate, Outcome};
use conductor_core::schedule::recovery;
use conductor_core::values::units::Millis;
use tokio::sync::watch;

use super::feedback::Feedback;
use super::{AttemptContext, Order, Stop, Worker, base, log_lines, verifiers};
use crate::agents;
use crate::git::workspaces::{Workspace, WorkspaceError, file};
use crate::host::access;
use crate::host::clock::wall;
use crate::host::redact;
use crate::process::Exit;
use crate::process::transcript::{self, CheckRun, CheckedOn, Transcript};
use crate::worker::gates;

/// How much of a failing check's output goes along with it.
pub(super) const EVIDENCE_LINES: usize = 40;

/// One command that must succeed, on behalf of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Check<'a> {
    pub(crate) task: &'a Task,
    pub(crate) command: &'a String,
    /// What it looks at.
    pub(crate) on: CheckedOn,
}

/// The checks of a task.
fn checks_of(task: &Task, on: CheckedOn) -> Vec<Check<'_>> {
    task.verify.iter().map(|command| Check { task, command, on }).collect()
}

/// A command's failure with the line, among its last, that tells whether it would pass; as it is where none does.
pub(super) fn with_telling_line(task: &Task, failure: Failure, transcript: &mut Transcript) -> Failure {
    if failure.class != FailureClass::Exit || !failure.evidence.is_empty() {
        return failure;
    }
    let mut lines = transcript.last_lines(EVIDENCE_LINES);
    // Lines that we wrote are no output of the command.
    lines.retain(|line| !line.starts_with("$ ") && !line.starts_with("[conductor: "));
    match recovery::telling(task, &lines) {
        Some(line) => failure.with(line),
        None => failure,
    }
}

impl Worker {
    /// Runs the task's `setup:`; gives the commit that holds what it changed, so that this is not taken for the work.
    pub(super) async fn set_up(
        &self,
        context: &AttemptContext<'_>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<String>, Outcome> {
        if context.task.setup().is_empty() {
            return Ok(None);
        }
        for command in context.task.setup() {
            let ended = self
                .command(context.order, context.task, command, &context.workspace, transcript, stop)
                .await;
            if let Some(why) = ended.map_err(Outcome::Failed)? {
                let failure = Failure::new(FailureClass::Exit, format!("setup `{command}` failed: {why}"));
                return Err(Outcome::Failed(with_telling_line(context.task, failure, transcript)));
            }
        }
        let (workspaces, request, workspace) =
            (context.workspaces.clone(), context.request.clone(), context.workspace.clone());
        let change =
            self.started_at(context.blocks, stop, move || workspaces.collect(&request, &workspace)).await?;
        Ok(change.map(|change| change.commit))
    }

    pub(super) async fn verify(
        &self,
        context: &AttemptContext<'_>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<(), Failure> {
        let checks = checks_of(context.task, CheckedOn::Work);
        let found = self.check(context.order, &checks, &context.workspace, transcript, stop).await?;
        *context.findings.lock().unwrap_or_else(PoisonError::into_inner) = found;
        Ok(())
    }

    /// The combined tree, looked at before it lands. What is said goes into a transcript of its own.
    pub(crate) async fn check_combined(
        &self,
        order: &Order,
        checks: &[Check<'_>],
        workspace: &Workspace,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<(), Failure> {
        let lost = |error: Outcome| match error {
            Outcome::Failed(failure) => failure,
            _ => Failure::new(FailureClass::Killed, "interrupted"),
        };
        let mut transcript = self.open_transcript(&self.speaker(order), true, &stop).await.map_err(lost)?;
        let checked = self.check(order, checks, workspace, &mut transcript, &mut stop).await;
        let _ = transcript.finish();
        checked.map(drop).map_err(|failure| Failure {
            message: format!("on the combined tree: {}", failure.message),
            ..failure
        })
    }

    /// Runs the checks until one fails; what verifiers among them found and let pass.
    async fn check(
        &self,
        order: &Order,
        checks: &[Check<'_>],
        workspace: &Workspace,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Vec<Finding>, Failure> {
        let mut found = Vec::new();
        for check in checks {
            let commands = gates::expand(std::slice::from_ref(check.command), &workspace.directory)
                .map_err(|error| Failure::new(FailureClass::Unverified, error.to_string()))?;
            for command in &commands {
                let check = Check { command, ..*check };
                let run = self.checked(order, check, workspace, transcript, stop).await?;
                // What is cut short from outside says nothing of the work.
                if *stop.borrow() == Stop::No {
                    self.speaker(order).note_check(&run);
                }
                if verifiers::named(command).is_some() {
                    found.extend(self.findings(order, check.task));
                }
                if let Some(why) = &run.why {
                    let mut failure = Failure::new(FailureClass::Unverified, base::failed(command, why));
                    failure.findings = found;
                    let failure = transcript.redactor().failure(failure);
                    return Err(failure.with(transcript.last_lines(EVIDENCE_LINES).join("\n")));
                }
            }
        }
        Ok(found)
    }

    /// Runs a check once; how that went.
    pub(super) async fn checked(
        &self,
        order: &Order,
        Check { task, command, on }: Check<'_>,
        workspace: &Workspace,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<CheckRun, Failure> {
        let (at, begun) = (wall(), Instant::now());
        let why = self.command(order, task, command, workspace, transcript, stop).await?;
        let took = Millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        let said = transcript.last_lines(EVIDENCE_LINES);
        let lines = base::of(command, &said.iter().map(String::as_str).collect::<Vec<_>>());
        let lines = lines.into_iter().map(str::to_owned).collect();
        let command = transcript.redactor().text(command).into_owned();
        Ok(CheckRun { on, command, at, took, why, lines })
    }

    /// Runs a command in a task's name; why it failed, if it did.
    pub(super) async fn command(
        &self,
        order: &Order,
        task: &Task,
        command: &str,
        workspace: &Workspace,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<String>, Failure> {
        transcript.redact(self.caller.redactor(&order.plan, task));
        transcript.note(&format!("$ {command}"));
        let launch = match verifiers::named(command) {
            Some(verifier) => self.verifier_launch(order, task, verifier, workspace)?,
            None => agents::command(command, task, workspace, &self.caller),
        };
        let begun = Instant::now();
        let exit = self.run_process(order, &launch, transcript, stop).await?;
        log_lines::command_ended(command, exit, begun);
        Ok(match exit {
            Exit::Code(0) => None,
            Exit::Code(code) => Some(format!("exit code {code}")),
            Exit::Signal(signal) => Some(format!("killed by signal {signal}")),
        })
    }

    /// Damages one of the touched files in a folder of its own and runs the checks there: they are to fail. Nothing
    /// where there is no check, no file to damage, or no way to tell.
    pub(super) async fn prove_gate(
        &self,
        context: &AttemptContext<'_>,
        change: &Change,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Option<Gate> {
        if context.task.verify.is_empty() {
            return None;
        }
        let run_repo = self.workspaces.run_repo()?.clone();
        let (name, change) = (format!("gate-{}", context.request.workspace_name()), change.clone());
        let damaged = self.patiently(stop, move || {
            let workspace = run_repo.scratch(&name, &change.commit)?;
            let root = run_repo.workspace_root(&name);
            let there = |path: &&String| root.join(path).is_file();
            let files: Vec<String> = change.touched.files.iter().filter(there).cloned().collect();
            let Some(path) = gates::weak_spot(&files) else { return Ok(None) };
            gates::damage(&root.join(path)).map_err(|source| file(&root, source))?;
            Ok(Some((workspace, path.to_owned())))
        });
        let (workspace, path) = damaged.await.ok().flatten()?;
        transcript.note(&format!("[conductor: proving the checks on a damaged {path}]"));
        let checks = checks_of(context.task, CheckedOn::Damaged);
        let holds = match self.check(context.order, &checks, &workspace, transcript, stop).await {
            Ok(_) => false,
            Err(failure) if failure.class == FailureClass::Unverified => true,
            Err(_) => return None,
        };
        if !holds {
            self.notice(format!(
                "the checks of {} still pass with {path} damaged: they prove nothing",
                context.task.id
            ));
        }
        Some(Gate { file: path, holds })
    }

    /// The workspace, with what the agent or command there has to know of an earlier round.
    pub(super) fn with_feedback(
        &self,
        context: &AttemptContext<'_>,
        feedback: Option<&Feedback>,
    ) -> Result<Workspace, WorkspaceError> {
        let mut workspace = context.workspace.clone();
        if let Some(feedback) = feedback {
            let round = feedback.round;
            let folder = self.context.output.join("feedback");
            access::create_dir_all(&folder).map_err(|source| file(&folder, source))?;
            let path = folder.join(format!("{}.{}.{round}.txt", context.task.id, context.order.attempt));
            let text = format!("{}\n", feedback.words());
            let text = transcript::shown(redact::known().text(&text).as_bytes());
            access::write(&path, text).map_err(|source| file(&path, source))?;
            workspace.env.push(("CONDUCTOR_ROUND".to_owned(), round.to_string()));
            workspace.env.push(("CONDUCTOR_FEEDBACK".to_owned(), shown(&path)));
        }
        Ok(workspace)
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
