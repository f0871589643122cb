//! Brings a failed task's work onto the run's branch after all, when no coordinator drives the run.
//!
//! The rules are the train's: merged in memory, checked on the combined tree, the branch moved by compare-and-swap. What
//! was moved is then recorded; a process that dies in between leaves work on the branch that the next call finds there.
//! What git has to do blocks, which is fine for a command that does nothing else.

use std::path::PathBuf;
use std::sync::Arc;

use conductor_core::plan::{Isolation, Limits};
use conductor_core::run::event::{Change, Failure, FailureClass};
use conductor_core::run::{Run, Status};
use conductor_core::schedule::amend;
use conductor_core::schedule::{Car, Side};
use conductor_core::values::ids::{Attempt, TaskId};
use thiserror::Error;
use tokio::sync::{mpsc, watch};

use crate::agents::Caller;
use crate::dispatch::{Link, RunContext};
use crate::git::GitError;
use crate::git::locate_work;
use crate::git::merge::{self, Advanced};
use crate::git::workspaces::{Resolution, Resolving, RunRepo, WorkspaceError, Workspaces};
use crate::host::redact;
use crate::process::transcript;
use crate::process::{self, Teardown};
use crate::runs::amend::{AmendError, Amendment};
use crate::worker::train::{self, Broken, Fit, SCRATCH};
use crate::worker::{Stop, Worker};

/// How often another process may move the branch while we check.
const TRIES: usize = 5;

#[derive(Debug, Error)]
pub enum ResolveError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Amend(#[from] AmendError),
    #[error("task '{task}' is {status}; only work of a failed task is brought in by hand")]
    NotFailed { task: TaskId, status: Status },
    #[error("task '{task}' raced for what '{winner}' has landed; only one of them does")]
    Beaten { task: TaskId, winner: TaskId },
    #[error("there is no task '{0}' in this run")]
    Unknown(TaskId),
    #[error("no conflict of '{0}' is being solved")]
    NotOpen(TaskId),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Brought {
    /// On the branch and recorded: from where the branch was to where it is.
    Landed(Change),
    /// It does not merge.
    Conflict(Failure),
    /// It merges, and the combined tree fails the checks.
    Red(Failure),
    /// The branch is checked out there, with changes that are not committed.
    Dirty(PathBuf),
    /// The user stopped it.
    Stopped,
}

/// A run laid open, with what it takes to check and land work of its tasks.
pub struct Bench {
    amendment: Amendment,
    worker: Arc<Worker>,
    run_repo: Arc<RunRepo>,
    landed: bool,
    /// Ends the checks, however this comes to its end.
    teardown: Teardown,
}

impl Bench {
    /// `notices` hears what is worth knowing meanwhile.
    pub fn new(
        amendment: Amendment,
        directory: PathBuf,
        run_repo: RunRepo,
        notices: mpsc::UnboundedSender<String>,
    ) -> Bench {
        process::adopt_orphans();
        amendment.end_leftovers();
        let default = amendment.run().options().isolation.unwrap_or(Isolation::None);
        run_repo.listen(notices.clone());
        let workspaces = Workspaces::new(directory.clone(), Some(run_repo), default);
        let run_repo =
            workspaces.run_repo().cloned().unwrap_or_else(|| unreachable!("it was just given one"));
        let context = RunContext {
            run: amendment.id().clone(),
            home: run_repo.home().to_owned(),
            directory,
            output: amendment.output(),
            ours: Vec::new(),
            isolation: default,
            in_repository: true,
            limits: Limits::default(),
        };
        // There is no loop to report to: how a check ended is what it returns.
        let link = Link::new(mpsc::unbounded_channel().0, notices);
        let (plan, caller) = (amendment.run().plan().clone(), Caller::new(std::env::vars_os()));
        let worker = Arc::new(Worker::new(Arc::new(context), plan, workspaces, caller, link));
        let mut teardown = amendment.teardown(worker.services.processes.clone());
        teardown.gather();
        Bench { amendment, worker, run_repo, landed: false, teardown }
    }

    /// Has what is started here ended if this process is killed: `command` starts the process that sees to it.
    pub fn keep(&mut self, command: &mut std::process::Command) {
        if let Err(error) = self.teardown.keep(command) {
            self.worker.notice(format!("if this is killed, a check under way goes on: {error}"));
        }
    }

    pub fn run(&self) -> &Run {
        self.amendment.run()
    }

    pub fn run_repo(&self) -> &Arc<RunRepo> {
        &self.run_repo
    }

    pub fn resolving(&self) -> Resolving {
        Resolving::new(self.run_repo.clone())
    }

    /// Lets the marks of a conflict pass in these files of a task's work.
    pub fn allow_markers(&mut self, task: &TaskId, files: &[String]) {
        let mut plan = self.worker.plan.get().as_ref().clone();
        for known in plan.tasks.iter_mut().filter(|known| known.id == *task) {
            known.preparation.get_or_insert_default().conflict_markers.extend_from_slice(files);
        }
        self.worker.plan.set(Arc::new(plan));
    }

    /// The work of a failed task that is kept, if there is any.
    pub fn kept(&self, task: &TaskId) -> Result<Option<Change>, ResolveError> {
        self.failed(task)?;
        Ok(locate_work::kept(self.amendment.records(), task, &self.run_repo)?)
    }

    /// Merges, checks, moves and records. Where a side is favoured, it wins what both changed.
    pub async fn land(
        &mut self,
        task: &TaskId,
        change: Change,
        favour: Option<Side>,
        stop: watch::Receiver<Stop>,
    ) -> Result<Brought, ResolveError> {
        let attempt = self.failed(task)?;
        for _ in 0..TRIES {
            if self.run_repo.shadow().contains(&self.run_repo.tip()?, &change.commit)? {
                return self.record(task, &change.commit, change.clone()).await;
            }
            let car = Car { task: task.clone(), attempt, change: change.clone(), others: Vec::new(), favour };
            let (from, to) =
                match train::fit(self.worker.clone(), self.run_repo.clone(), car, stop.clone()).await {
                    Ok(Fit::Fits { from, to }) => (from, to),
                    Ok(Fit::Misfits(failure)) => return Ok(misfit(failure)),
                    Err(Broken::Stopped) => return Ok(Brought::Stopped),
                    Err(Broken::Git(error)) => return Err(error.into()),
                };
            match merge::advance(&self.run_repo, &from, &to)? {
                Advanced::Done => {
                    let touched = self.run_repo.shadow().touched(&from, &to)?;
                    let landed = redact::known().change(Change { touched, ..Change::new(from, to) });
                    return self.record(task, &change.commit, landed).await;
                }
                Advanced::Dirty(checkout) => return Ok(Brought::Dirty(checkout)),
                Advanced::Moved => {}
            }
        }
        let branch = merge::short(self.run_repo.branch());
        Err(WorkspaceError::Contested(branch).into())
    }

    /// `work` is the commit by which it came.
    async fn record(&mut self, task: &TaskId, work: &str, change: Change) -> Result<Brought, ResolveError> {
        let events = amend::resolved(self.run(), task, change.clone());
        self.amendment.append(&events).await?;
        self.landed = true;
        self.put_away(task, work);
        Ok(Brought::Landed(change))
    }

    /// What was kept of it, and the folder in which it was solved, have done their service. Where they cannot go, that
    /// changes nothing about the landing.
    fn put_away(&self, task: &TaskId, work: &str) {
        let resolving = self.resolving();
        let put_away = || {
            let open = resolving.open(task)?;
            let solved = open.as_ref().map(|open| open.kept.clone());
            let landed: Vec<String> = solved.into_iter().chain([work.to_owned()]).collect();
            resolving.release(task, &landed)?;
            open.map_or(Ok(()), |_| resolving.close(task))
        };
        let gone: Result<(), WorkspaceError> = put_away();
        if let Err(error) = gone {
            self.worker.notice(format!("what was kept of {task} could not be put away: {error}"));
        }
    }

    /// Lands what a person has made of a conflict. Where the branch has gone on and it conflicts anew, that is laid out
    /// in the same folder.
    pub async fn proceed(
        &mut self,
        task: &TaskId,
        stop: watch::Receiver<Stop>,
    ) -> Result<Brought, ResolveError> {
        let attempt = self.failed(task)?;
        let resolving = self.resolving();
        let open = resolving.open(task)?.ok_or_else(|| ResolveError::NotOpen(task.clone()))?;
        let change = self.made(task, attempt, &resolving, &open)?;
        let brought = self.land(task, change.clone(), None, stop).await?;
        if matches!(brought, Brought::Conflict(_)) {
            resolving.hold(task, "resolved", &change.commit)?;
            resolving.close(task)?;
            resolving.lay_out(task, &change.commit)?;
        }
        Ok(brought)
    }

    /// The person's merge as a commit.
    fn made(
        &self,
        task: &TaskId,
        attempt: Attempt,
        resolving: &Resolving,
        open: &Resolution,
    ) -> Result<Change, ResolveError> {
        let plan = self.worker.plan.get();
        let allowed = plan.task(task).map_or(&[][..], |task| task.conflict_markers());
        let solved = resolving.solved(task, open, allowed)?;
        let known = plan.task(task).ok_or_else(|| ResolveError::Unknown(task.clone()))?;
        let change = Change::new(&open.base, solved.commit);
        let car = Car { task: task.clone(), attempt, change, others: Vec::new(), favour: None };
        let commit = merge::made_by_hand(&self.run_repo, known, &car, &open.base, &solved.tree)?;
        Ok(Change::new(&open.base, commit))
    }

    /// Its last attempt, if it may be brought in.
    fn failed(&self, task: &TaskId) -> Result<Attempt, ResolveError> {
        let place = self.run().place(task).ok_or_else(|| ResolveError::Unknown(task.clone()))?;
        let progress = self.run().progress(place);
        let won = |race: usize| self.run().verdict(race).map(|verdict| verdict.winner.clone());
        if let Some(winner) = self.run().raced_by(place).and_then(won) {
            return Err(ResolveError::Beaten { task: task.clone(), winner });
        }
        match progress.state.status() {
            Status::Failed => Ok(Attempt(progress.last_attempt)),
            status => Err(ResolveError::NotFailed { task: task.clone(), status }),
        }
    }

    /// Puts everything away. Where something has landed, the run's files are written anew, for what they said is not so
    /// any more.
    pub async fn close(mut self) -> Result<Run, ResolveError> {
        self.teardown.finish().await;
        self.run_repo.take_away(SCRATCH)?;
        self.drop_unused_branch()?;
        let run = self.run();
        transcript::clear_spools(&self.worker.context.output, run.executors());
        if self.landed {
            self.amendment.write_files(&self.run_repo)?;
        }
        Ok(run.clone())
    }

    /// A run of which nothing has landed has no branch once it is over; what was made for nothing goes again.
    fn drop_unused_branch(&self) -> Result<(), ResolveError> {
        let (repository, branch) = (self.run_repo.repository(), self.run_repo.branch());
        let unused = self.run().tip().is_none() && self.run().all_ended() && !self.landed;
        let at_start = || repository.read_ref(branch).map(|now| now.as_ref() == Some(&repository.head));
        if unused && at_start()? {
            repository.delete_ref(branch)?;
        }
        Ok(())
    }
}

fn misfit(failure: Failure) -> Brought {
    match failure.class {
        FailureClass::Conflict => Brought::Conflict(failure),
        _ => Brought::Red(failure),
    }
}
