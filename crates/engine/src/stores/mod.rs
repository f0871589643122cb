//! Where the log of every run is kept.
//!
//! A store knows rows, not rules: it neither folds events nor decides anything.

pub mod bus;
#[cfg(test)]
mod contract;
mod earlier;
mod journal;
mod sqlite;
mod witness;

use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Timestamp;
use thiserror::Error;

pub use earlier::EarlierRuns;
pub use sqlite::{Sqlite, integrity, schema_version, sqlite_version};
pub use witness::{Cause, Excess, missing, was_written, witnessed};

pub type Task<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The backends, one line each: `Sqlite`.
pub trait Store: Send + Sync {
    /// When it completes, the run and its first record are durable.
    fn create<'a>(&'a self, run: &'a NewRun, first: &'a Record) -> Task<'a, ()>;

    /// When it returns, these are part of the log, right behind what it held, and outlive this process; a power cut may
    /// take them. To be appended soon after, in the same order. It takes no longer than a write to a file, and waits for
    /// no lock; only runs that this store has made or appended to can be written to. Where it fails, none are written.
    fn write(&self, run: &RunId, records: &[Record]) -> Result<(), StoreError>;

    /// When it completes, all of these are durable, in order, right behind what the log held; where it fails, none of
    /// them are. Appending what is there already is not an error, so a call whose answer was lost can be repeated; what
    /// contradicts the log, or leaves a gap, is a conflict.
    fn append<'a>(&'a self, run: &'a RunId, records: &'a [Record]) -> Task<'a, ()>;

    /// The whole log of a run, checked: complete, unbroken, readable by this version. It changes nothing.
    fn load<'a>(&'a self, run: &'a RunId) -> Task<'a, Vec<Record>>;

    /// Forgets a run and all that is known of it. One that is not there is no error.
    fn remove<'a>(&'a self, run: &'a RunId) -> Task<'a, ()>;

    /// All runs, newest first.
    fn runs(&self) -> Task<'_, Vec<StoredRun>>;
}

#[derive(Debug, Clone)]
pub struct NewRun {
    pub id: RunId,
    pub directory: PathBuf,
    /// What it was made from, as the user named it.
    pub source: String,
    pub tasks: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    pub id: RunId,
    pub directory: PathBuf,
    pub source: String,
    pub tasks: u64,
    /// `running`, `stopped`, `completed`, `failed` or `cancelled`, as the log said last.
    pub status: String,
    pub created: Timestamp,
}

impl StoredRun {
    /// Whether it was made from this: a task file is the same by whatever name it was called.
    pub fn is_of(&self, source: &str) -> bool {
        self.source == source
            || file_name(&self.source) == file_name(source)
                && self.source.starts_with('/')
                && source.starts_with('/')
                && source_of(Path::new(&self.source)) == source_of(Path::new(source))
    }

    /// Whether every task of it has come to an end.
    pub fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed" | "cancelled")
    }

    /// The task file's name without its folder, for reports that are read on other machines.
    pub fn file_name(&self) -> Option<&str> {
        file_name(&self.source)
    }
}

/// What a run of a task file is known by: the file's own name in the real folder it is in, whichever way led there. A
/// folder that is gone is known by what is left when `.` and `..` are taken out.
pub fn source_of(file: &Path) -> String {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        return file.display().to_string();
    };
    let folder = folder.canonicalize().unwrap_or_else(|_| without_dots(folder));
    folder.join(name).display().to_string()
}

fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    clean
}

/// The last part of a path.
pub fn file_name(source: &str) -> Option<&str> {
    Path::new(source).file_name().and_then(|name| name.to_str())
}

#[derive(Debug, Error)]
pub enum StoreError {
    #[error(
        "{path} was written by a newer conductor (schema {found}, this one knows up to {known}); update conductor"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("{path} is damaged: {why}; the file was left as it is")]
    Damaged { path: PathBuf, why: String },
    #[error(
        "{path} is missing, but run {run} had been written to it; bring it back with its -wal file from a backup, or \
         move {} away to begin anew", .path.with_file_name("runs").display()
    )]
    Missing { path: PathBuf, run: RunId },
    #[error("there is no run {0}")]
    NoSuchRun(RunId),
    #[error(
        "event {seq} of run {run} does not fit its log in {path}: another process has written to the run meanwhile"
    )]
    Conflict { path: PathBuf, run: RunId, seq: u64 },
    /// Nothing is lost and nothing is wrong: the same call will succeed when the cause is gone.
    #[error("{why}")]
    Unavailable { why: String },
    /// No waiting helps.
    #[error(
        "{path} cannot be written or opened: {why}; make it writable, or set CONDUCTOR_HOME to a directory that is"
    )]
    Unwritable { path: PathBuf, why: String },
    #[error("the store at {path} failed: {why}")]
    Failed { path: PathBuf, why: String },
}
