//! `--metrics-file`: where the metrics of a run go, and what cannot be said there.

use std::path::{Path, PathBuf};

use conductor_engine::host::access;
use conductor_engine::host::home::Home;
use conductor_engine::records::metrics::{MetricsFile, MetricsSource};
use conductor_engine::runs::coordinator::World;

use super::arguments::Resolved;
use crate::commands::talk;
use crate::error::{CliError, Exit};

/// The full path of the file. One that cannot be written is refused before anything starts.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, CliError> {
    let path = std::path::absolute(path)?;
    writable(&path).map_err(|why| {
        let message = format!("cannot write metrics to {}: {why}; nothing was started", path.display());
        CliError::new(Exit::Usage, message)
            .help("name a file in a directory that exists: --metrics-file PATH")
    })
}

fn writable(path: &Path) -> Result<PathBuf, String> {
    const NO_FILE: &str = "it is not a file";
    let (folder, name) = path.parent().zip(path.file_name()).ok_or(NO_FILE)?;
    let folder = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
    // It is replaced each time, and a device or a pipe must not be.
    if path.symlink_metadata().is_ok() && !path.is_file() {
        return Err(NO_FILE.to_owned());
    }
    access::check_writable(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder.join(name))
}

/// What metrics are made of; nothing where none are wanted.
pub(super) fn source(args: &Resolved<'_>, home: Home, world: &World) -> Option<MetricsSource> {
    let path = args.metrics_file.clone()?;
    let (id, appends) = (world.log.run().clone(), world.log.append_times());
    Some(MetricsSource { path, home, id, appends, run_repo: world.workspaces.run_repo().cloned() })
}

/// The last of them are written when the run is over, whatever it came to.
pub(super) fn finish(file: Option<MetricsFile>) {
    file.and_then(MetricsFile::finish).into_iter().for_each(talk);
}
