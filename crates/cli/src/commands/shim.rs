//! The process that holds an agent, so that it outlives the one that started it. Conductor starts it, never the user.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use conductor_engine::process::shim;
use conductor_engine::worker::meter;

use crate::error::Exit;

/// Before the command line is read: there is one for each agent at work, and all it needs to know is its folder.
pub(crate) fn is_meant(words: &[OsString]) -> bool {
    words.len() == 3 && words[1] == shim::COMMAND
}

pub(crate) fn run(folder: &Path) -> Exit {
    match shim::keep(folder, meter) {
        Ok(()) => Exit::Done,
        Err(error) => {
            shim::silence(&error, folder);
            Exit::Unexpected
        }
    }
}

/// This very program, also where another version has been installed in its place since it was started. Nowhere else is a tree
/// of processes held together by the system.
pub(crate) fn program() -> Option<PathBuf> {
    Some(PathBuf::from("/proc/self/exe")).filter(|program| cfg!(target_os = "linux") && program.exists())
}
