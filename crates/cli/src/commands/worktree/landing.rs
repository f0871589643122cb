//! What merging and resolving have in common: a run's bench, a check that can be stopped, and what came of it.

use std::path::PathBuf;

use conductor_core::plan::Isolation;
use conductor_core::run::event::{Change, RunOutcome};
use conductor_core::run::{Run, Stage, Status, TaskState};
use conductor_core::values::ids::{RunId, TaskId};
use conductor_engine::git::merge::short;
use conductor_engine::git::workspaces::UNFINISHED_MERGE;
use conductor_engine::process::transcript;
use conductor_engine::runs::resolve::{Bench, Brought};
use conductor_engine::stores::StoredRun;
use conductor_engine::worker::Stop;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::{answer_either, talk};
use crate::archive::{self, Archive, Found};
use crate::args::{AllowMarkers, OfTask};
use crate::commands::reaper;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};

pub(super) const SCHEMA: &str = "conductor.landing/1";

/// A failed task, with its run laid open.
pub(super) struct Case {
    pub(super) bench: Bench,
    pub(super) stored: StoredRun,
    pub(super) task: TaskId,
    directory: PathBuf,
    pub(super) as_json: bool,
    /// A side was said to win.
    pub(super) is_decided: bool,
    conversation: JoinHandle<()>,
}

impl Case {
    pub(super) async fn open(args: &OfTask) -> Result<Case, CliError> {
        let archive = Archive::open().await?;
        let mut chosen = archive.task(args.run.as_deref(), &args.task, has_failed).await?;
        chosen.place = chosen.found.run.doer(chosen.place);
        let (task, stored) = (chosen.task().id.clone(), chosen.found.stored.clone());
        if !has_failed(&chosen.found, chosen.place) {
            return Err(not_failed(&stored.id, &task, chosen.progress().state.status()));
        }
        if chosen.found.isolation(chosen.task()) == Isolation::None {
            let message = format!("task '{task}' worked in place: there is nothing of it to be merged");
            return Err(CliError::new(Exit::NothingToDo, message));
        }
        let amendment = archive.amend(&stored.id).await?;
        let place_of_run = archive::place_of_run(&archive.home, &stored, amendment.run());
        let run_repo = place_of_run.move_in(archive::repository(&stored)?)?;
        let (sender, mut notices) = mpsc::unbounded_channel::<String>();
        let conversation = tokio::spawn(async move {
            while let Some(notice) = notices.recv().await {
                talk(notice);
            }
        });
        let mut bench = Bench::new(amendment, stored.directory.clone(), run_repo, sender);
        reaper::command_in(archive.home.root(), &stored.id)
            .iter_mut()
            .for_each(|command| bench.keep(command));
        Ok(Case {
            bench,
            stored,
            task,
            directory: archive.directory.clone(),
            as_json: args.json,
            is_decided: false,
            conversation,
        })
    }

    /// Files in which a person wants the marks of a conflict.
    pub(super) fn allow(&mut self, markers: &AllowMarkers) {
        self.bench.allow_markers(&self.task, &markers.files);
    }

    /// Whether what it failed of is a merge that its agent left unfinished.
    pub(super) fn is_unfinished_merge(&self) -> bool {
        let run = self.bench.run();
        let state = run.place(&self.task).map(|place| &run.progress(place).state);
        matches!(state, Some(TaskState::Failed(failure)) if failure.message.starts_with(UNFINISHED_MERGE))
    }

    /// Its work as it was left.
    pub(super) fn kept(&self) -> Result<Change, CliError> {
        self.bench.kept(&self.task)?.ok_or_else(|| {
            let message = format!("nothing is kept of task '{}' of run {}", self.task, self.stored.id);
            CliError::new(Exit::NothingToDo, message)
                .help(format!("to do it again: conductor run --resume {} --retry-failed", self.stored.id))
        })
    }

    /// Says that checks are about to run, which may take a while.
    pub(super) fn announce_checks(&self) {
        let checks = self.bench.run().plan().task(&self.task).map(|task| task.verify.join(", "));
        if let Some(checks) = checks.filter(|checks| !checks.is_empty()) {
            talk(format!("the combined tree has to pass: {}", one_line(&checks)));
        }
    }

    /// Puts everything away and tells what came of it.
    pub(super) async fn close(
        self,
        ended: Result<Brought, CliError>,
        stopped: &Stopped,
    ) -> Result<Exit, CliError> {
        let branch = short(self.bench.run_repo().branch());
        let run = self.bench.close().await;
        // With the bench, the last sender of notices is gone.
        let _ = self.conversation.await;
        if !self.directory.exists() {
            talk(format!("the folder you are in is gone: cd {}", self.stored.directory.display()));
        }
        let (brought, run) = (ended?, run?);
        let landing = Landing {
            run: &self.stored.id,
            branch: &branch,
            task: &self.task,
            as_json: self.as_json,
            is_decided: self.is_decided,
        };
        landing.report(&run, brought, stopped)
    }
}

fn has_failed(found: &Found, place: usize) -> bool {
    found.run.progress(place).state.status() == Status::Failed
}

fn not_failed(run: &RunId, task: &TaskId, status: Status) -> CliError {
    let error = |what: &str| CliError::new(Exit::NothingToDo, format!("task '{task}' of run {run} {what}"));
    match status {
        Status::Completed => error("has landed already"),
        Status::Skipped | Status::Cancelled => {
            error(&format!("was {status}; there is no work of it to bring in"))
                .help(format!("to do it after all: conductor run --resume {run} --retry-failed"))
        }
        status => error(&format!("is {status}, not failed"))
            .help(format!("to go on with it: conductor run --resume {run}")),
    }
}

/// What is to land where, and how that is told.
struct Landing<'a> {
    run: &'a RunId,
    branch: &'a str,
    task: &'a TaskId,
    as_json: bool,
    is_decided: bool,
}

impl Landing<'_> {
    fn report(&self, state: &Run, brought: Brought, stopped: &Stopped) -> Result<Exit, CliError> {
        let Landing { run, branch, task, .. } = self;
        match brought {
            Brought::Landed(change) => {
                let words = format!("{task} landed on {branch} as {:.10}", change.commit);
                self.tell(&words, "landed", Some(&change.commit))?;
                next(run, state, branch);
                Ok(Exit::Done)
            }
            Brought::Conflict(failure) => {
                self.tell(&transcript::shown(failure.evidence.as_bytes()), "conflict", None)?;
                let error =
                    CliError::new(Exit::ConflictLeft, format!("{task} {}", one_line(&failure.message)));
                let sides = if self.is_decided { "" } else { "   (or decide it at once: --ours, --theirs)" };
                Err(error.help(format!("solve it: conductor worktree resolve {task} --run {run}{sides}")))
            }
            Brought::Red(failure) => {
                self.tell(&transcript::shown(failure.evidence.as_bytes()), "checks_failed", None)?;
                let message = format!("{task} does not land: {}", one_line(&failure.message));
                Err(CliError::new(Exit::TaskFailed, message))
            }
            Brought::Dirty(checkout) => {
                let message =
                    format!("{branch} is checked out in {} with uncommitted changes", checkout.display());
                Err(CliError::new(Exit::Unexpected, message).help("commit or stash them first"))
            }
            Brought::Stopped => Err(CliError::new(stopped.exit(), "stopped; nothing was moved")),
        }
    }

    fn tell(&self, words: &str, outcome: &str, commit: Option<&str>) -> Result<(), CliError> {
        let evidence = commit.is_none().then_some(words);
        let value = json!({
            "run": self.run, "task": self.task, "branch": self.branch, "outcome": outcome, "commit": commit,
            "evidence": evidence,
        });
        answer_either(self.as_json, words, SCHEMA, value)
    }
}

/// What there is to do now.
fn next(run: &RunId, state: &Run, branch: &str) {
    let left = state.count(Status::Skipped) + state.count(Status::Cancelled);
    match state.stage() {
        Stage::Finished(RunOutcome::Completed) => {
            talk(format!("run {run} is completed; next: git merge {branch}"));
        }
        Stage::Finished(_) if state.count(Status::Failed) > 0 => {
            let failed = state.asked().filter(|(_, _, progress)| progress.state.status() == Status::Failed);
            let names: Vec<&str> = failed.map(|(_, task, _)| task.id.as_str()).collect();
            talk(format!("still failed in run {run}: {}", names.join(", ")));
        }
        Stage::Finished(_) if left > 0 => {
            talk(format!("{left} more can be done now: conductor run --resume {run} --retry-failed"));
        }
        _ => talk(format!("to go on: conductor run --resume {run}")),
    }
}

/// The first signal asks a check to end, the next makes it.
pub(super) struct Stopped {
    pub(super) stop: watch::Receiver<Stop>,
    exit: watch::Receiver<Exit>,
}

impl Stopped {
    pub(super) fn watch() -> Result<Stopped, CliError> {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let (ask, stop) = watch::channel(Stop::No);
        let (tell, exit) = watch::channel(Exit::Interrupted);
        tokio::spawn(async move {
            for wish in [Stop::Ask, Stop::Kill] {
                let by = tokio::select! {
                    _ = interrupt.recv() => Exit::Interrupted,
                    _ = terminate.recv() => Exit::Terminated,
                };
                let _ = (tell.send(by), ask.send(wish));
            }
            // A user who presses Ctrl-C a third time does not want to wait any more.
            interrupt.recv().await;
            std::process::exit(Exit::Interrupted as i32);
        });
        Ok(Stopped { stop, exit })
    }

    fn exit(&self) -> Exit {
        *self.exit.borrow()
    }
}
