//! Shims: small processes of our own that hold one agent each, so that the agent outlives the coordinator that started it.
//!
//! A coordinator starts a shim, tells it what to start, and speaks to the agent through it; the agent's output goes to
//! files as ever. When the coordinator is gone, the agent goes on, and the shim keeps for the next coordinator what that
//! needs: how far the agent was answered, where it calls its tools, and at last how it ended. It knows nothing of what is
//! said; what an agent uses meanwhile is counted by a `Meter`. `keeping` is the shim's side, `link` the coordinator's.

mod alone;
mod callers;
mod frames;
mod keeping;
mod link;
mod passing;
mod records;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::run::event::{Process, Usage};
use conductor_core::schedule::slices::Slice;
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_core::values::units::Millis;
use serde::{Deserialize, Serialize};

use super::limits::Limits;
use super::{Launch, Mark};
use crate::host::shortage::Passing as _;

pub use keeping::{keep, silence};
pub(crate) use link::ShimLink;
pub(crate) use link::{Attached, Notes, Through, attach, make_folder, why_ended};
pub(crate) use records::{
    EndedBy, Said, clear, end_stopped, folder, folders, is_of_another_version, note_store,
};
pub use records::{ExitRecord, ShimRecord, alone, are_of_store, living};

/// The name of the hidden command that is a shim.
pub const COMMAND: &str = "shim";

/// What a shim is told to start. It is never written to a disk: there are secrets in the environment of an agent.
#[derive(Debug, Serialize, Deserialize)]
struct Start {
    secret: String,
    mark: Mark,
    /// Where the program is, and the name it is called by.
    program: PathBuf,
    name: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    directory: PathBuf,
    limits: Limits,
    /// How long it goes on without a coordinator.
    grace: Millis,
    /// How long it may work at all.
    deadline: Option<Millis>,
    /// What it may use without a coordinator, until that says otherwise.
    slice: Slice,
    /// What it writes is a stream, for a coordinator to read.
    converses: bool,
    /// What listens for its calls of tools is handed over behind this.
    brings_tools: bool,
}

impl Start {
    fn launch(&self) -> Launch {
        Launch {
            program: self.name.clone(),
            args: self.args.clone(),
            env: Arc::new(self.env.iter().cloned().collect()),
            directory: self.directory.clone(),
            limits: self.limits.clone(),
            converses: true,
            together: false,
        }
    }

    fn grace(&self) -> Duration {
        Duration::from_millis(self.grace.0)
    }
}

/// Who wants to take hold of an agent.
#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    secret: String,
    task: TaskId,
    attempt: Attempt,
}

/// What a coordinator that came later is told.
#[derive(Debug, Serialize, Deserialize)]
struct Welcome {
    version: u32,
    agent: Process,
    said: Said,
    /// It is being ended already.
    ending: Option<EndedBy>,
    has_tools: bool,
    slice: Slice,
}

/// Counts what an agent uses. The shim itself understands nothing of what is said.
pub trait Meter {
    /// All that the attempt has used by now.
    fn look(&mut self) -> io::Result<Usage>;

    /// It has nothing more to say, and waits for nothing but the end of what is said to it.
    fn is_over(&self) -> bool;

    /// What asks it in its own language to come to an end; nothing where it only understands signals.
    fn interrupt(&mut self) -> Vec<u8>;
}

/// Finds one for the agent of this folder that was started with this environment; nothing where what it uses cannot be counted.
pub type Metering = fn(&Path, &mut dyn Iterator<Item = (OsString, OsString)>) -> Option<Box<dyn Meter>>;

/// What keeps a shim from being one, and says nothing of the agent: it has no number of the system's, unless that is of something
/// that passes, such as a full disk.
fn of_shim(error: io::Error) -> io::Error {
    match error.shortage() {
        Some(_) => error,
        None => io::Error::other(error.to_string()),
    }
}

/// Whether an agent could not be started for what its shim lacks, and might be without one.
pub(crate) fn is_of_shim(error: &io::Error) -> bool {
    error.raw_os_error().is_none()
}

/// The address of a socket is short. Longer ones are reached by way of the folder's descriptor.
const LONGEST_ADDRESS: usize = 100;

/// By which a shim's socket is reached, as long as this is held.
struct Address {
    path: PathBuf,
    _folder: Option<File>,
}

impl Address {
    fn of(folder: &Path) -> io::Result<Address> {
        let path = folder.join(records::SOCKET);
        if path.as_os_str().len() <= LONGEST_ADDRESS {
            return Ok(Address { path, _folder: None });
        }
        let opened = File::open(folder)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{}", opened.as_raw_fd(), records::SOCKET));
        Ok(Address { path, _folder: Some(opened) })
    }
}
