//! Asking something of a run that another process drives: a socket beside its lock, a question and an answer to a line.
//!
//! What is asked for is done, or looked at, in the loop's own turn; nothing here reads the log. Two clients speak the same
//! lines: the one here blocks, `async_client` does not.

pub mod async_client;
mod client;
pub mod elsewhere;
pub mod handover;
mod lines;
mod server;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use conductor_core::run::event::Record;
use thiserror::Error;

use crate::host::home;

pub use client::{Following, ask, follow, live_view, look};
pub(crate) use server::ControlServer;

const NAME: &str = "control";

/// The address of a socket is short. Longer ones are reached by way of the folder's descriptor.
const LONGEST_ADDRESS: usize = 100;

/// A coordinator answers at once, unless it was stopped or waits for a disk or a lock; then the one who asks is told that.
const PATIENCE: Duration = Duration::from_secs(4);

/// How soon a connection that could not be made is tried again.
const SOON: Duration = Duration::from_millis(5);

#[derive(Debug, Error)]
pub enum ControlError {
    #[error("the run is not active")]
    NotThere,
    /// Its coordinator lives and says nothing.
    #[error("it is running but does not answer")]
    Silent,
    #[error("{0}")]
    Refused(String),
    #[error("it cannot be reached: {0}")]
    Unreachable(#[from] io::Error),
}

/// What a follower is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed {
    Record(Box<Record>),
    /// It read too slowly and is told no more. Everything behind the event of this number is in the store, or comes to
    /// the one who follows again.
    Missed {
        after: u64,
    },
}

/// Whether the run's control socket exists: its coordinator has opened it, and may have died since.
pub fn is_open(directory: &Path) -> bool {
    directory.join(NAME).exists()
}

/// Whether a process has the run. One whose socket is not there has only just taken it, writes its reports, or changes it by
/// hand.
fn is_held(directory: &Path) -> bool {
    home::is_run_held(directory)
}

/// By which the socket is reached, as long as this is held.
struct Address {
    path: PathBuf,
    _folder: Option<File>,
}

impl Address {
    fn of(directory: &Path) -> io::Result<Address> {
        let path = directory.join(NAME);
        if path.as_os_str().len() <= LONGEST_ADDRESS {
            return Ok(Address { path, _folder: None });
        }
        let folder = File::open(directory)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd()));
        Ok(Address { path, _folder: Some(folder) })
    }
}

#[cfg(test)]
mod tests;
