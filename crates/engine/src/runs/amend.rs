//! Changes a run that no coordinator drives: claims it, reads it and appends to its log.
//!
//! What is to be recorded is the core's to say (`conductor_core::schedule::amend`), and what has to be true first is the caller's to
//! see to. The claim is held as long as the amendment lives.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor_core::plan::graph::{Graph, GraphError};
use conductor_core::report::Subject;
use conductor_core::run::event::{Event, Record};
use conductor_core::run::{IllegalEvent, Run, TaskState};
use conductor_core::schedule::amend;
use conductor_core::schedule::{Refusal, Request, Scheduler};
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::units::{Now, Tick};
use thiserror::Error;

use crate::git::GitError;
use crate::git::workspaces::{RunRepo, WorkspaceError};
use crate::host::clock::wall;
use crate::host::home::{Home, HomeError, RunClaim};
use crate::process::{self, RunProcesses, Teardown};
use crate::records::ledger;
use crate::records::output;
use crate::stores::{RunLog, Store, StoreError};

/// How long a store that cannot be written is waited for, and how often it is tried meanwhile.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, Error)]
pub enum AmendError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error("the run's files could not be written: {0}")]
    Files(#[from] io::Error),
    #[error("run {run} cannot be read: {source}")]
    Unreadable { run: RunId, source: IllegalEvent },
    /// The scheduler's rules do not allow it; nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The caller asked for what the run's state does not allow; nothing was written.
    #[error(transparent)]
    Illegal(IllegalEvent),
}

pub struct Amendment {
    id: RunId,
    source: Option<String>,
    store: Arc<dyn Store>,
    /// Claimed with the first that is written.
    log: Option<RunLog>,
    claim: RunClaim,
    run: Run,
    records: Vec<Record>,
}

impl Amendment {
    /// Claims the run before it is read, so that no other process of this machine writes to it in between.
    pub async fn begin(home: &Home, store: Arc<dyn Store>, id: &RunId) -> Result<Amendment, AmendError> {
        let claim = home.claim(id)?;
        let records = store.load(id, 0).await?;
        let run =
            Run::replay(&records).map_err(|source| AmendError::Unreadable { run: id.clone(), source })?;
        let stored = store.runs().await?.into_iter().find(|stored| stored.id == *id);
        let source = stored.and_then(|stored| stored.file_name().map(str::to_owned));
        Ok(Amendment { id: id.clone(), source, store, log: None, claim, run, records })
    }

    pub fn id(&self) -> &RunId {
        &self.id
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// When it completes, all of it is durable and part of the run; where it fails, nothing is, and it can be tried
    /// again.
    pub async fn append(&mut self, events: &[Event]) -> Result<(), AmendError> {
        let mut run = self.run.clone();
        let mut records = Vec::with_capacity(events.len());
        for event in events {
            let record = Record { seq: run.seq() + 1, at: wall(), tick: self.tick(), event: event.clone() };
            run.apply(&record).map_err(AmendError::Illegal)?;
            records.push(record);
        }
        self.write(&records).await?;
        // What the run came to when it was last left is not what it comes to now; that its last steps were done stays.
        let noted = self.claim.directory().join(output::EXIT_CODE);
        if noted.exists() {
            let _ = crate::host::access::write(&noted, "changed by hand since\n");
        }
        self.run = run;
        self.records.extend(records);
        Ok(())
    }

    /// Records a person's wish, as the scheduler's rules have it. What a dead coordinator left at work is ended where
    /// it is to stop: no other process would do it before the run is taken up again.
    pub async fn ask(&mut self, request: Request) -> Result<(), AmendError> {
        let now = Now { at: wall(), tick: self.tick(), jitter: 0.0 };
        let events = Scheduler::ask_left(&self.run, request, now)?;
        let stops = events.iter().any(|event| matches!(event, Event::StopRequested { .. }));
        self.append(&events).await?;
        if stops {
            let at_work = self.run.tasks().filter_map(|(_, progress)| match &progress.state {
                TaskState::Running(running) => running.process,
                _ => None,
            });
            process::end_leftovers(&self.id, self.claim.directory(), &at_work.collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Tasks join the run, which is open again where it was over.
    pub async fn join(&mut self, tasks: conductor_core::plan::Amendment) -> Result<(), AmendError> {
        let now = Now { at: wall(), tick: self.tick(), jitter: 0.0 };
        let events = Scheduler::join_left(&self.run, tasks, now)?;
        self.append(&events).await
    }

    /// Ends what a killed process of ours left at work: the run is held here, so it is of use to none any more, and would
    /// keep folders in use.
    pub fn end_leftovers(&self) {
        process::end_leftovers(&self.id, self.claim.directory(), &[]);
    }

    /// For what is started on behalf of the run from here on.
    pub(crate) fn teardown(&self, processes: Arc<RunProcesses>) -> Teardown {
        Teardown::new(processes, self.claim.directory())
    }

    /// A foreign lock or a full disk is waited for a while, for what is to be recorded has mostly been done already.
    async fn write(&mut self, records: &[Record]) -> Result<(), StoreError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let written = match &self.log {
                Some(log) => log.append(records).await,
                None => match RunLog::claim(&self.store, &self.id).await {
                    Ok(log) => {
                        self.log = Some(log);
                        continue;
                    }
                    Err(error) => Err(error),
                },
            };
            match written {
                Err(StoreError::Unavailable { .. }) if Instant::now() < deadline => {
                    tokio::time::sleep(PAUSE).await;
                }
                done => return done,
            }
        }
    }

    /// Records that the run's branch was set back to a commit; the tasks that are to be done again because of it.
    pub async fn set_back(&mut self, run_repo: &RunRepo, to: &str) -> Result<Vec<TaskId>, AmendError> {
        let landed = self.run.tasks().filter_map(|(_, progress)| progress.landed.as_deref());
        let there = run_repo.shadow().reachable(to, landed.map(|landed| landed.commit.as_str()))?;
        let events = amend::rolled_back(&self.run, to, |commit| there.contains(commit));
        self.append(&events).await?;
        let reopened = events.into_iter().filter_map(|event| match event {
            Event::TaskReopened { task } => Some(task),
            _ => None,
        });
        Ok(reopened.collect())
    }

    /// Where transcripts and reports go.
    pub fn output(&self) -> PathBuf {
        let output = self.run.options().output.as_ref();
        output.map_or_else(|| self.claim.directory().to_owned(), PathBuf::from)
    }

    /// Writes the run's files anew, for what they say is not so any more. Blocks.
    pub fn write_files(&self, run_repo: &RunRepo) -> Result<(), AmendError> {
        let graph = Graph::new(self.run.plan(), self.run.options().strategy)?;
        let parked: Vec<PathBuf> = run_repo.folders()?.into_iter().filter(|folder| folder.exists()).collect();
        let ledger = ledger::take(&self.id, &self.run, run_repo, &parked)?;
        let (output, source) = (self.output(), self.source.as_deref());
        let (id, run, voices) = (&self.id, &self.run, output::voices(&output, &self.run));
        let subject = Subject {
            id,
            run,
            graph: &graph,
            ledger: Some(&ledger),
            source,
            voices: &voices,
            aggregation: None,
        };
        Ok(output::write_summary(&output, &subject)?)
    }

    /// No coordinator works on the run while it is amended, so no time passes for it.
    fn tick(&self) -> Tick {
        self.records.last().map_or(Tick(0), |last| last.tick)
    }
}

#[cfg(test)]
mod tests {
    use conductor_core::run::Stage;
    use conductor_core::run::event::{DrainReason, Options};

    use super::*;
    use crate::stores::{self, NewRun};

    async fn stored(home: &Home) -> (Arc<dyn Store>, RunId) {
        let store = stores::open(home).await.unwrap();
        let id = RunId::parse("r1").unwrap();
        let (_, first) = Run::create(Default::default(), Default::default());
        let new = NewRun { id: id.clone(), directory: "/".into(), source: String::new(), tasks: 0 };
        let log = RunLog::create(&store, &new, &first).await.unwrap();
        let started = Event::RunStarted { options: Box::new(Options::with_slots(1)) };
        let record = Record { seq: 2, at: wall(), tick: Tick(70), event: started };
        log.append(&[record]).await.unwrap();
        (store, id)
    }

    #[tokio::test]
    async fn what_is_appended_is_there_for_the_next_and_takes_no_time() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        let (store, id) = stored(&home).await;
        let mut amendment = Amendment::begin(&home, store.clone(), &id).await.unwrap();
        let before = amendment.run().active();
        amendment.append(&[Event::RunStopped { why: DrainReason::User }]).await.unwrap();
        assert_eq!(amendment.run().active(), before);
        drop(amendment);
        let again = Amendment::begin(&home, store, &id).await.unwrap();
        assert_eq!(again.run().stage(), Stage::Stopped(DrainReason::User));
        assert_eq!(again.records().len(), 3);
    }

    #[tokio::test]
    async fn a_live_run_is_left_alone_and_what_does_not_fit_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        let (store, id) = stored(&home).await;
        let mut amendment = Amendment::begin(&home, store.clone(), &id).await.unwrap();
        let busy = Amendment::begin(&home, store.clone(), &id).await;
        assert!(matches!(busy, Err(AmendError::Home(HomeError::Busy(_)))));
        let unknown = Event::TaskReopened { task: TaskId::parse("unknown").unwrap() };
        let stopped = Event::RunStopped { why: DrainReason::User };
        assert!(matches!(amendment.append(&[stopped, unknown]).await, Err(AmendError::Illegal(_))));
        assert_eq!(store.load(&id, 0).await.unwrap().len(), 2);
    }
}
