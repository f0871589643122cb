//! Our own look at the work: what makes a workspace ready, what checks the result, and whether the checks check anything.

use std::path::Path;

use conductor_core::event::{Change, Failure, FailureClass, Gate, Outcome};
use conductor_core::plan::Task;
use conductor_core::recovery;
use tokio::sync::watch;

use super::{Order, Stop, Visit, Worker, base};
use crate::access;
use crate::agents;
use crate::gates;
use crate::process::Exit;
use crate::redact;
use crate::transcript::{self, Transcript};
use crate::workspaces::{Seat, WorkspaceError, file};

/// How much of a failing check's output goes along with it.
pub(super) const EVIDENCE_LINES: usize = 40;

/// One command that must succeed, on behalf of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Check<'a> {
    pub(crate) task: &'a Task,
    pub(crate) command: &'a String,
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
        visit: &Visit<'_>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<String>, Outcome> {
        if visit.task.setup().is_empty() {
            return Ok(None);
        }
        for command in visit.task.setup() {
            let ended = self.command(visit.order, visit.task, command, &visit.seat, transcript, stop).await;
            if let Some(why) = ended.map_err(Outcome::Failed)? {
                let failure = Failure::new(FailureClass::Exit, format!("setup `{command}` failed: {why}"));
                return Err(Outcome::Failed(with_telling_line(visit.task, failure, transcript)));
            }
        }
        let (workspaces, guest, seat) = (visit.workspaces.clone(), visit.guest.clone(), visit.seat.clone());
        let change = self.seated(visit.blocks, stop, move || workspaces.collect(&guest, &seat)).await?;
        Ok(change.map(|change| change.commit))
    }

    pub(super) async fn verify(
        &self,
        visit: &Visit<'_>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<(), Failure> {
        let checks: Vec<Check<'_>> =
            visit.task.verify.iter().map(|command| Check { task: visit.task, command }).collect();
        self.check(visit.order, &checks, &visit.seat, transcript, stop).await
    }

    /// The combined tree, looked at before it lands. What is said goes into a transcript of its own.
    pub(crate) async fn check_combined(
        &self,
        order: &Order,
        checks: &[Check<'_>],
        seat: &Seat,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<(), Failure> {
        let lost = |error: Outcome| match error {
            Outcome::Failed(failure) => failure,
            _ => Failure::new(FailureClass::Killed, "interrupted"),
        };
        let mut transcript = self.open_transcript(&self.speaker(order), &stop).await.map_err(lost)?;
        let checked = self.check(order, checks, seat, &mut transcript, &mut stop).await;
        let _ = transcript.finish();
        checked.map_err(|failure| Failure {
            message: format!("on the combined tree: {}", failure.message),
            ..failure
        })
    }

    async fn check(
        &self,
        order: &Order,
        checks: &[Check<'_>],
        seat: &Seat,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<(), Failure> {
        for Check { task, command } in checks {
            let commands = gates::expand(std::slice::from_ref(*command), &seat.directory)
                .map_err(|error| Failure::new(FailureClass::Unverified, error.to_string()))?;
            for command in &commands {
                if let Some(why) = self.command(order, task, command, seat, transcript, stop).await? {
                    let failure = Failure::new(FailureClass::Unverified, base::failed(command, &why));
                    let failure = transcript.redactor().failure(failure);
                    return Err(failure.with(transcript.last_lines(EVIDENCE_LINES).join("\n")));
                }
            }
        }
        Ok(())
    }

    /// Runs a command in a task's name; why it failed, if it did.
    pub(super) async fn command(
        &self,
        order: &Order,
        task: &Task,
        command: &str,
        seat: &Seat,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<String>, Failure> {
        transcript.redact(self.caller.redactor(&self.plan.get(), task));
        transcript.note(&format!("$ {command}"));
        let launch = agents::command(command, task, seat, &self.caller);
        Ok(match self.run_process(order, &launch, transcript, stop).await? {
            Exit::Code(0) => None,
            Exit::Code(code) => Some(format!("exit code {code}")),
            Exit::Signal(signal) => Some(format!("killed by signal {signal}")),
        })
    }

    /// Damages one of the touched files in a folder of its own and runs the checks there: they are to fail. Nothing
    /// where there is no check, no file to damage, or no way to tell.
    pub(super) async fn prove_gate(
        &self,
        visit: &Visit<'_>,
        change: &Change,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Option<Gate> {
        if visit.task.verify.is_empty() {
            return None;
        }
        let yard = self.rooms.yard()?.clone();
        let (name, change) = (format!("gate-{}", visit.guest.seat()), change.clone());
        let damaged = self.patiently(stop, move || {
            let seat = yard.scratch(&name, &change.commit)?;
            let root = yard.workspace_root(&name);
            let there = |path: &&String| root.join(path).is_file();
            let files: Vec<String> = change.touched.files.iter().filter(there).cloned().collect();
            let Some(path) = gates::weak_spot(&files) else { return Ok(None) };
            gates::damage(&root.join(path)).map_err(|source| file(&root, source))?;
            Ok(Some((seat, path.to_owned())))
        });
        let (seat, path) = damaged.await.ok().flatten()?;
        transcript.note(&format!("[conductor: proving the checks on a damaged {path}]"));
        let checks: Vec<Check<'_>> =
            visit.task.verify.iter().map(|command| Check { task: visit.task, command }).collect();
        let holds = match self.check(visit.order, &checks, &seat, transcript, stop).await {
            Ok(()) => false,
            Err(failure) if failure.class == FailureClass::Unverified => true,
            Err(_) => return None,
        };
        if !holds {
            self.notice(format!(
                "the checks of {} still pass with {path} damaged: they prove nothing",
                visit.task.id
            ));
        }
        Some(Gate { file: path, holds })
    }

    /// The seat, with what the agent or command there has to know of an earlier round.
    pub(super) fn with_feedback(
        &self,
        visit: &Visit<'_>,
        feedback: Option<&(u32, Failure)>,
    ) -> Result<Seat, WorkspaceError> {
        let mut seat = visit.seat.clone();
        if let Some((round, failure)) = feedback {
            let folder = self.output.join("feedback");
            access::create_dir_all(&folder).map_err(|source| file(&folder, source))?;
            let path = folder.join(format!("{}.{}.{round}.txt", visit.task.id, visit.order.attempt));
            let text = format!("{}\n\n{}\n", failure.message, failure.evidence);
            let text = transcript::shown(redact::known().text(&text).as_bytes());
            access::write(&path, text).map_err(|source| file(&path, source))?;
            seat.env.push(("CONDUCTOR_ROUND".to_owned(), round.to_string()));
            seat.env.push(("CONDUCTOR_FEEDBACK".to_owned(), shown(&path)));
        }
        Ok(seat)
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
