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
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::{Format, text};
use crate::git::workspaces::RunRepo;
use crate::host::access;
use crate::host::logs::carried;
use crate::host::redact;
use crate::stores::{AppendTimes, Follower, RunLog, StoreError};

/// How often it is written while something happens.
const EVERY: Duration = Duration::from_secs(5);

/// How long a store that cannot be read now is left alone.
const PAUSE: Duration = Duration::from_millis(250);

/// How long a run waits at its end for the last metrics.
const PATIENCE: Duration = Duration::from_secs(2);

pub struct MetricsFile {
    path: PathBuf,
    done: std_mpsc::Receiver<Option<String>>,
}

impl MetricsFile {
    /// Follows a run from here on; `run` is how its log tells it now. What cannot be written is told once, to `tell`.
    pub fn follow(
        path: PathBuf,
        run: &Run,
        (log, run_repo): (RunLog, Option<Arc<RunRepo>>),
        records: Follower,
        tell: UnboundedSender<String>,
    ) -> MetricsFile {
        let (sender, done) = std_mpsc::channel();
        let appends = log.append_times();
        let keeper = Keeper {
            path: path.clone(),
            run: run.clone(),
            counting: Counting::default(),
            appends,
            run_repo,
            records,
            tell,
            told: false,
        };
        std::thread::spawn(carried(move || drop(sender.send(keeper.keep(log)))));
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
    path: PathBuf,
    run: Run,
    counting: Counting,
    appends: AppendTimes,
    run_repo: Option<Arc<RunRepo>>,
    records: Follower,
    tell: UnboundedSender<String>,
    /// Whether the user knows that it could not be written.
    told: bool,
}

impl Keeper {
    /// To the run's end; what is still to be told then.
    fn keep(mut self, log: RunLog) -> Option<String> {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return Some(unwritten(&self.path, &error)),
        };
        if let Err(error) = runtime.block_on(self.read(log)) {
            return Some(format!("there will be no metrics of this run: {error}"));
        }
        self.write();
        runtime.block_on(self.follow());
        // Workspaces have been cleared since the last event.
        let last = self.try_to_write();
        last.err().filter(|_| !self.told).map(|error| unwritten(&self.path, &error))
    }

    /// What had happened before.
    async fn read(&mut self, log: RunLog) -> Result<(), StoreError> {
        let records = loop {
            match log.load(0).await {
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
            let trouble = unwritten(&self.path, &error);
            let _ = self.tell.send(format!("{trouble}; the run goes on and tries again"));
        }
    }

    fn try_to_write(&self) -> io::Result<()> {
        let mut gauges = Gauges::of(&Snapshot::of(&self.run));
        gauges.worktrees = self.worktrees();
        let text = text(self.counting.tally(), &gauges, Some(&self.appends.so_far()), Format::Prometheus);
        access::replace(&self.path, redact::known().text(&text).as_bytes())
    }

    fn worktrees(&self) -> u64 {
        let folders = self.run_repo.as_ref().and_then(|run_repo| run_repo.folders().ok());
        folders.into_iter().flatten().filter(|folder| folder.exists()).count() as u64
    }
}
