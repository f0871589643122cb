//! Where the log of every run is kept.
//!
//! A store knows rows, not rules: it neither folds events nor decides anything.

pub mod bus;
#[cfg(test)]
mod contract;
mod earlier;
mod follower;
mod journal;
mod log;
#[cfg(test)]
mod memory;
pub mod moving;
mod postgres;
mod rows;
mod sqlite;
mod unwritten;
mod waiting;
mod witness;

use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Timestamp;
use thiserror::Error;

use crate::host::home::{Home, STORE, StoreAddress};
use postgres::Postgres;
use sqlite::Sqlite;

pub use earlier::EarlierRuns;
pub use follower::Follower;
pub use log::{AppendTimes, RunLog};
pub use postgres::requests;
pub use sqlite::{excesses, integrity, schema_version, sqlite_version};
pub use waiting::{briefly, patiently};
pub use witness::{Cause, Excess, missing, seen, was_lost, was_written, witnessed};

pub type Task<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Opens the store of a state directory, making it where there is none. One that is damaged or too new is refused
/// untouched.
pub async fn open(home: &Home) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match home.store() {
        None => Arc::new(Sqlite::open(home).await?),
        Some(address) => Arc::new(Postgres::open(home, has_postgres(address)?).await?),
    })
}

/// Opens the store of a state directory to look at it: nothing is made, brought up to date, locked or written. Where
/// nothing has ever been written there are no runs.
pub async fn open_to_look(home: &Home) -> Result<Arc<dyn LogReader>, StoreError> {
    if let Some(address) = home.store() {
        return Ok(match Postgres::open_to_look(home, has_postgres(address)?).await? {
            Some(postgres) => Arc::new(postgres),
            None => Arc::new(unwritten::Unwritten),
        });
    }
    if let Some(error) = missing(home) {
        return Err(error);
    }
    let sqlite = if home.database().exists() { Sqlite::open_to_look(home).await? } else { None };
    Ok(match sqlite {
        Some(sqlite) => Arc::new(sqlite),
        None => Arc::new(unwritten::Unwritten),
    })
}

/// A run on it has ended once in a while with a panic at its start; until that is found, only a build that asks for it has it.
fn has_postgres(address: &StoreAddress) -> Result<&StoreAddress, StoreError> {
    match cfg!(any(test, feature = "postgres")) {
        true => Ok(address),
        false => Err(StoreError::Unwritable {
            place: STORE.to_owned(),
            why: "this program was built without PostgreSQL".to_owned(),
            remedy: "build it with --features postgres (docs/distribution.md), or unset the variable"
                .to_owned(),
        }),
    }
}

/// What can be read of a store, by as many processes as like to. It changes nothing.
pub trait LogReader: Send + Sync {
    /// A run's log behind the event of this number, 0 for all of it; checked: complete, unbroken, readable by this
    /// version.
    fn load<'a>(&'a self, run: &'a RunId, after: u64) -> Task<'a, Vec<Record>>;

    /// All runs, newest first.
    fn runs(&self) -> Task<'_, Vec<StoredRun>>;
}

/// Numbers those that have written to a run: who claims it gets the next one, and the one before can write no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Epoch(pub u64);

/// The backends, one line each: `Sqlite`, a file of this machine's; `Postgres`, which machines share.
pub trait Store: LogReader {
    /// When it completes, the run and its first record are durable, and claimed by the caller.
    fn create<'a>(&'a self, run: &'a NewRun, first: &'a Record) -> Task<'a, Epoch>;

    /// Takes a run over, to write to it. What its last writer had only written is durable then.
    fn claim<'a>(&'a self, run: &'a RunId) -> Task<'a, Epoch>;

    /// When it returns, these are part of the log, right behind what it held, and outlive this process; a power cut may
    /// take them. To be appended soon after, in the same order. It takes no longer than a write to a file, and waits for
    /// no lock; only runs that were claimed through this store can be written to. Where it fails, none are written.
    fn write(&self, run: &RunId, epoch: Epoch, records: &[Record]) -> Result<(), StoreError>;

    /// When it completes, all of these are durable, in order, right behind the event of number `after`; where it fails,
    /// none of them are. Appending what is there already is not an error, so a call whose answer was lost can be
    /// repeated; what contradicts the log, or leaves a gap, is a conflict. A claim that another has followed is refused.
    fn append<'a>(&'a self, run: &'a RunId, after: u64, epoch: Epoch, records: &'a [Record]) -> Task<'a, ()>;

    /// When it completes, the run works in this directory from now on; until then, in the one before. Its log and its claim
    /// stay as they are.
    fn move_to<'a>(&'a self, run: &'a RunId, directory: &'a Path) -> Task<'a, ()>;

    /// Forgets a run and all that is known of it. One that is not there is no error.
    fn remove<'a>(&'a self, run: &'a RunId) -> Task<'a, ()>;
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
    /// What only a store that machines share can tell.
    pub shared: Option<Shared>,
}

/// What machines that share a store know of each other's runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shared {
    /// How many events the log holds.
    pub events: u64,
    /// Another machine whose claim holds: it works on the run, or did a few seconds ago.
    pub holder: Option<String>,
}

impl StoredRun {
    /// The other machine that works on it.
    pub fn holder(&self) -> Option<&str> {
        self.shared.as_ref()?.holder.as_deref()
    }

    /// Whether it was made from this.
    pub fn is_of(&self, source: &str) -> bool {
        is_same_source(&self.source, source)
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

/// Whether two runs were made from the same: a task file is the same by whatever name it was called.
pub fn is_same_source(one: &str, other: &str) -> bool {
    one == other
        || file_name(one) == file_name(other)
            && one.starts_with('/')
            && other.starts_with('/')
            && source_of(Path::new(one)) == source_of(Path::new(other))
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

/// `place` names the store: a file, or the address of a server.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error(
        "{place} was written by a newer conductor (schema {found}, this one knows up to {known}); update conductor"
    )]
    Newer { place: String, found: i64, known: i64 },
    #[error("{place} is damaged: {why}; it was left as it is")]
    Damaged { place: String, why: String },
    #[error("{place} is missing, but run {run} had been written to it; {remedy}")]
    Missing { place: String, run: RunId, remedy: String },
    #[error("there is no run {0}")]
    NoSuchRun(RunId),
    #[error(
        "event {seq} of run {run} does not fit its log in {place}: another process has written to the run meanwhile"
    )]
    Conflict { place: String, run: RunId, seq: u64 },
    #[error("another process has taken run {run} over in {place}; this one writes no more of it")]
    TakenOver { place: String, run: RunId },
    #[error("run {run} is being worked on by the conductor of {by} right now")]
    Held { run: RunId, by: String },
    /// Nothing is lost and nothing is wrong: the same call will succeed when the cause is gone.
    #[error("{why}")]
    Unavailable { why: String },
    /// No waiting helps.
    #[error("{place} cannot be written or opened: {why}; {remedy}")]
    Unwritable { place: String, why: String, remedy: String },
    #[error("the store at {place} failed: {why}")]
    Failed { place: String, why: String },
}
