//! What this machine remembers of remotes and of runs that it has pushed or pulled, in `sync/` of the state directory.

use std::path::{Path, PathBuf};

use conductor_core::sync::Machine;
use conductor_core::values::ids::{RunId, TaskId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::{SyncError, at};
use super::sealing::digest;
use crate::host::access;
use crate::host::home::Home;

/// In a note, in place of a commit and of contents: not all of it is stored yet.
pub(super) const COMING: &str = "";

/// A run that was pushed or pulled: where, and what the remote had of it then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunNote {
    pub(super) address: String,
    /// What its ref was at.
    pub(super) commit: String,
    /// How many events that held.
    pub(super) events: u64,
    /// What is here of what belongs to that: the blob of its contents, which a claim leaves as it is. `COMING` while it is being
    /// stored; nothing where a version wrote this that did not note it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) contents: Option<String>,
    /// It came to this machine from another one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) pulled: bool,
    /// Tasks that lost a secret of their text on the way here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) blotted: Vec<TaskId>,
}

impl RunNote {
    /// Of a run of which nothing was noted.
    pub(super) fn first(pulled: bool) -> RunNote {
        let (address, commit) = (String::new(), String::new());
        RunNote { address, commit, events: 0, contents: None, pulled, blotted: Vec::new() }
    }

    /// Whether a pull of it was ended before it was done.
    pub(super) fn is_unfinished(&self) -> bool {
        self.contents.as_deref() == Some(COMING)
    }
}

/// What the user has agreed to, for one remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Agreed {
    #[serde(default)]
    pub(super) push: bool,
    /// To push what all can read who can read the remote.
    #[serde(default)]
    pub(super) plain: bool,
    #[serde(default)]
    pub(super) pull: bool,
}

fn folder(home: &Home) -> PathBuf {
    home.root().join("sync")
}

/// A folder for what we know of one remote.
pub(super) fn of_remote(home: &Home, address: &str) -> PathBuf {
    folder(home).join("remotes").join(&digest(address.as_bytes()).sha256[..16])
}

fn of_run(home: &Home, run: &RunId) -> PathBuf {
    folder(home).join("runs").join(format!("{run}.json"))
}

/// This machine, by a name that is drawn when it is first asked for.
pub(super) fn machine(home: &Home) -> Result<Machine, SyncError> {
    let path = folder(home).join("machine.json");
    if let Some(machine) = read(&path)? {
        return Ok(machine);
    }
    let mut id = [0; 16];
    getrandom::fill(&mut id)
        .map_err(|error| SyncError::Note { path: path.clone(), why: error.to_string() })?;
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let id = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let machine = Machine { id, name };
    write(&path, &machine)?;
    // Of two processes that draw at once one is last, and both go by it.
    Ok(read(&path)?.unwrap_or(machine))
}

pub(super) fn agreed(home: &Home, address: &str) -> Result<Agreed, SyncError> {
    Ok(read(&of_remote(home, address).join("agreed.json"))?.unwrap_or_default())
}

pub(super) fn agree(home: &Home, address: &str, agreed: Agreed) -> Result<(), SyncError> {
    write(&of_remote(home, address).join("agreed.json"), &agreed)
}

pub(super) fn run(home: &Home, run: &RunId) -> Result<Option<RunNote>, SyncError> {
    let mut note: Option<RunNote> = read(&of_run(home, run))?;
    // A version that noted no contents said it of the commit alone, which a push or a claim replaces.
    if let Some(note) = &mut note
        && note.commit == COMING
    {
        note.contents = Some(COMING.to_owned());
    }
    Ok(note)
}

pub(super) fn note_run(home: &Home, run: &RunId, note: &RunNote) -> Result<(), SyncError> {
    write(&of_run(home, run), note)
}

/// From now on a run is this machine's alone: no remote is asked about it. Whether it was known.
pub fn forget(home: &Home, run: &RunId) -> Result<bool, SyncError> {
    let path = of_run(home, run);
    match std::fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(SyncError::File { path, source }),
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, SyncError> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| SyncError::Note { path: path.to_owned(), why: error.to_string() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SyncError::File { path: path.to_owned(), source }),
    }
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), SyncError> {
    if let Some(folder) = path.parent() {
        access::create_private_dir_all(folder).map_err(at(folder))?;
    }
    access::replace(path, serde_json::to_vec(value)?).map_err(at(path))
}
