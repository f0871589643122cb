//! The *witness* beside each run's log: eight bytes that say up to where the log has been acknowledged.
//!
//! It is written after the commit and never synced, so it can only lag behind. A log that ends before its witness has
//! lost something, or the witness is wrong: the first version could note one run's number for another.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use conductor_core::values::ids::RunId;

use super::StoreError;
use crate::host::access;
use crate::host::home::Home;

/// Which store a witness speaks of: a run that is moved from one to the other has both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeper {
    Sqlite,
    Postgres,
}

impl Keeper {
    fn file(self) -> &'static str {
        match self {
            Keeper::Sqlite => NAME,
            Keeper::Postgres => "head-postgres",
        }
    }
}

const NAME: &str = "head";

/// A witness that is written to.
pub(super) struct Witness(File);

impl Witness {
    pub(super) fn open(home: &Home, run: &RunId, keeper: Keeper) -> io::Result<Witness> {
        access::create_private_dir_all(&home.run(run))?;
        let path = home.run(run).join(keeper.file());
        access::private().read(true).write(true).create(true).truncate(false).open(path).map(Witness)
    }

    /// Only a witness: where it cannot be written, the log itself is no worse.
    pub(super) fn note(&self, seq: u64) {
        let _ = self.0.write_all_at(&seq.to_le_bytes(), 0);
    }
}

/// Up to where a run's log had been acknowledged on this machine, by whichever store; 0 where there is no witness.
pub fn seen(home: &Home, run: &RunId) -> u64 {
    seen_by(home, run, Keeper::Sqlite).max(seen_by(home, run, Keeper::Postgres))
}

pub(super) fn seen_by(home: &Home, run: &RunId, keeper: Keeper) -> u64 {
    read(&home.run(run).join(keeper.file())).map_or(0, |(seen, _)| seen)
}

/// Whether a run had been written once, whatever the store says of it now.
pub fn was_written(home: &Home, run: &RunId) -> bool {
    seen(home, run) > 0
}

/// Whether a run that the store in use does not know had been written to it. Of a store that machines share this cannot be
/// told: another may have removed the run.
pub fn was_lost(home: &Home, run: &RunId) -> bool {
    home.store().is_none() && seen_by(home, run, Keeper::Sqlite) > 0
}

/// Every run that had been written to the database of this state directory once.
pub fn witnessed(home: &Home) -> impl Iterator<Item = RunId> + '_ {
    home.runs().into_iter().filter(|run| seen_by(home, run, Keeper::Sqlite) > 0)
}

/// What is wrong where there is no database: nothing before the first run, else that it is gone.
pub fn missing(home: &Home) -> Option<StoreError> {
    let path = home.database();
    if path.exists() {
        return None;
    }
    witnessed(home).next().map(|run| StoreError::Missing {
        place: path.display().to_string(),
        run,
        remedy: format!(
            "bring it back with its -wal file from a backup, or move {} away to begin anew",
            path.with_file_name("runs").display()
        ),
    })
}

/// What it says, and when it was written, in milliseconds.
fn read(path: &Path) -> io::Result<(u64, i64)> {
    let file = File::open(path)?;
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, 0)?;
    let data = file.metadata()?;
    Ok((u64::from_le_bytes(bytes), data.mtime() * 1_000 + data.mtime_nsec() / 1_000_000))
}

/// A witness that says more than its run's log holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excess {
    pub run: RunId,
    /// The last event of the log.
    pub log: u64,
    /// What the witness says.
    pub witness: u64,
    pub cause: Cause,
}

/// What is known of why a witness says more than its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// Another run wrote the event of that number in the very moment the witness was written.
    OfAnotherRun(RunId),
    /// The log ends where its run came to an end. Either the witness is wrong, or the run was changed after its end
    /// and those events are lost.
    AfterTheEnd,
    /// The log ends in the middle of its run: its last events are lost, as far as anything on the disk tells.
    InTheMiddle,
}

impl Excess {
    /// Whether the log can be taken as whole.
    pub fn is_repairable(&self) -> bool {
        self.cause != Cause::InTheMiddle
    }

    /// Makes the witness say what the log holds. The old one stays beside it, at the path that is returned. The run has
    /// to be claimed.
    pub fn repair(&self, home: &Home) -> io::Result<PathBuf> {
        let path = home.run(&self.run).join(NAME);
        let kept = home.run(&self.run).join(format!("{NAME}.said-{}", self.witness));
        fs::rename(&path, &kept)?;
        Witness::open(home, &self.run, Keeper::Sqlite)?.note(self.log);
        Ok(kept)
    }
}

/// What a witness says before the log is looked at; those read later may have grown with their log.
pub(super) struct Said {
    pub(super) run: RunId,
    pub(super) seen: u64,
    pub(super) written: i64,
}

pub(super) fn all(home: &Home) -> Vec<Said> {
    let said = |run: RunId| {
        let (seen, written) = read(&home.run(&run).join(NAME)).ok()?;
        Some(Said { run, seen, written })
    };
    home.runs().into_iter().filter_map(said).collect()
}
