//! Programs on PATH.

use std::path::PathBuf;

pub(crate) fn on_path(program: &str) -> bool {
    installed(program).is_some()
}

/// Where a program is installed.
pub(crate) fn installed(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
