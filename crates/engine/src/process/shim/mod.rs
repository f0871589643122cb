//! Shims: small processes of our own that hold one agent each, so that the agent outlives the coordinator that started it.
//!
//! A coordinator starts a shim, tells it what to start, and speaks to the agent through it; the agent's output goes to
//! files as ever. When the coordinator is gone, the agent goes on, and the shim keeps for the next coordinator what that
//! needs: how far the agent was answered, where it calls its tools, and at last how it ended. It knows nothing of what is
//! said. `keeping` is the shim's side, `link` the coordinator's.

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

use conductor_core::run::event::Process;
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_core::values::units::Millis;
use serde::{Deserialize, Serialize};

use super::{Launch, Mark};

pub use keeping::{keep, silence};
pub(crate) use link::ShimLink;
pub(crate) use link::{Attached, Notes, Through, attach, make_folder};
pub(crate) use records::{EndedBy, Said, clear, folder, folders};
pub use records::{ExitRecord, ShimRecord, alone, living};

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
    memory: Option<u64>,
    /// How long it goes on without a coordinator.
    grace: Millis,
    /// How long it may work at all.
    deadline: Option<Millis>,
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
            memory: self.memory,
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
