//! A file that always has the metrics of one run, for programs that collect such files.
//!
//! A thread of its own writes it, so the run never waits for it and never fails because of it. It begins with what the log
//! says, so that the counters of a run that is taken up again do not begin anew.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::time::Duration;

use conductor_core::report::tally::{Counting, Gauges};
use conductor_core::run::Run;
use conductor_core::run::event::Record;
use conductor_core::schedule::Snapshot;
use conductor_core::values::ids::RunId;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::{Beside, Format, text};
use crate::git::workspaces::RunRepo;
use crate::host::access;
use crate::host::home::Home;
use crate::host::logs::carried;
use crate::host::redact;
use crate::stores::{self, AppendTimes, Follower, StoreError};

/// How often it is written while something happens.
const EVERY: Duration = Duration::from_secs(5);

/// How long a store that cannot be read now is left alone.
const PAUSE: Duration = Duration::from_millis(250);

/// How long a run waits at its end for the last metrics.
const PATIENCE: Duration = Duration::from_secs(2);

/// What metrics are made of beside the events of a run, and where they go.
pub struct MetricsSource {
    pub path: PathBuf,
    pub home: Home,
    pub id: RunId,
    pub appends: AppendTimes,
    /// Whose worktrees are counted.
    pub run_repo: Option<Arc<RunRepo>>,
}

pub struct MetricsFile {
    path: PathBuf,
    done: std_mpsc::Receiver<Option<String>>,
}

impl MetricsFile {
    /// Follows a run from here on; `run` is how its log tells it now. What cannot be written is told once, to `tell`.
    pub fn follow(
        source: MetricsSource,
        run: &Run,
        records: Follower,
        tell: UnboundedSender<String>,
    ) -> MetricsFile {
        let (sender, done) = std_mpsc::channel();
        let (path, run, counting) = (source.path.clone(), run.clone(), Counting::default());
        let keeper = Keeper { source, run, counting, records, tell, told: false };
        std::thread::spawn(carried(move || drop(sender.send(keeper.keep()))));
        MetricsFile { path, done }
    }

    /// Waits until the last metrics are written, but not for long; what is to be told and was not.
    pub fn finish(self) -> Option<String> {
        match self.done.recv_timeout(PATIENCE) {
            Ok(trouble) => trouble,
            Err(_) => Some(unwritten(&self.path, &io::ErrorKind::TimedOut.into())),
        }
    }
}

fn unwritten(path: &Path, error: &io::Error) -> String {
    format!("the metrics could not be written to {}: {error}", path.display())
}

struct Keeper {
    source: MetricsSource,
    run: Run,
    counting: Counting,
    records: Follower,
    tell: UnboundedSender<String>,
    /// Whether the user knows that it could not be written.
    told: bool,
}

impl Keeper {
    /// To the run's end; what is still to be told then.
    fn keep(mut self) -> Option<String> {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return Some(unwritten(&self.source.path, &error)),
        };
        if let Err(error) = runtime.block_on(self.read()) {
            let _ = self.tell.send(format!("there are no metrics of this run: {error}"));
            return None;
        }
        self.write();
        runtime.block_on(self.follow());
        // Workspaces have been cleared since the last event.
        let last = self.try_to_write();
        last.err().filter(|_| !self.told).map(|error| unwritten(&self.source.path, &error))
    }

    /// What had happened before. The store is opened once more: a reading through the run's own would hold up its next append.
    async fn read(&mut self) -> Result<(), StoreError> {
        let MetricsSource { home, id, .. } = &self.source;
        let load = async || stores::open_to_look(home).await?.load(id, 0).await;
        let records = loop {
            match load().await {
                Err(StoreError::Unavailable { .. }) => tokio::time::sleep(PAUSE).await,
                read => break read?,
            }
        };
        let before = records.iter().take_while(|record| record.seq <= self.run.seq());
        before.for_each(|record| self.counting.count(record));
        Ok(())
    }

    async fn follow(&mut self) {
        let mut due = Instant::now();
        while let Some(batch) = self.records.recv().await {
            self.take(&batch);
            // All that happens until then goes into one writing.
            while let Ok(next) = tokio::time::timeout_at(due, self.records.recv()).await {
                let Some(batch) = next else { return };
                self.take(&batch);
            }
            self.write();
            due = Instant::now() + EVERY;
        }
    }

    fn take(&mut self, batch: &[Record]) {
        for record in batch {
            // What was published has been applied by the scheduler before, and fits.
            let _ = self.run.apply(record);
            self.counting.count(record);
        }
    }

    fn write(&mut self) {
        let Err(error) = self.try_to_write() else { return };
        if !std::mem::replace(&mut self.told, true) {
            let trouble = unwritten(&self.source.path, &error);
            let _ = self.tell.send(format!("{trouble}; the run goes on and tries again"));
        }
    }

    fn try_to_write(&self) -> io::Result<()> {
        let mut gauges = Gauges::of(&Snapshot::of(&self.run));
        gauges.worktrees = self.worktrees();
        let appends = self.source.appends.so_far();
        let beside = Beside { appends: Some(&appends), ..Beside::default() };
        let text = text(self.counting.tally(), &gauges, beside, Format::Prometheus);
        access::replace(&self.source.path, redact::known().text(&text).as_bytes())
    }

    fn worktrees(&self) -> u64 {
        let folders = self.source.run_repo.as_ref().and_then(|run_repo| run_repo.folders().ok());
        folders.into_iter().flatten().filter(|folder| folder.exists()).count() as u64
    }
}
