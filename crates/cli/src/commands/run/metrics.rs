//! `--metrics-file`: where the metrics of a run go, and what cannot be said there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::run::Run;
use conductor_engine::git::workspaces::RunRepo;
use conductor_engine::host::access;
use conductor_engine::records::metrics::MetricsFile;
use conductor_engine::runs::coordinator::{Coordinator, World};
use conductor_engine::stores::RunLog;
use tokio::sync::mpsc::UnboundedSender;

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

/// What metrics are made of, beside the events of the run.
pub(super) struct Source {
    path: PathBuf,
    log: RunLog,
    run_repo: Option<Arc<RunRepo>>,
}

impl Source {
    /// Nothing where no metrics are wanted.
    pub(super) fn of(args: &Resolved<'_>, world: &World) -> Option<Source> {
        let path = args.metrics_file.clone()?;
        Some(Source { path, log: world.log.clone(), run_repo: world.workspaces.run_repo().cloned() })
    }

    pub(super) fn follow(
        self,
        run: &Run,
        coordinator: &mut Coordinator,
        words: UnboundedSender<String>,
    ) -> MetricsFile {
        let Source { path, log, run_repo } = self;
        MetricsFile::follow(path, run, (log, run_repo), coordinator.subscribe(), words)
    }
}

/// The last of them are written when the run is over, whatever it came to.
pub(super) fn finish(file: Option<MetricsFile>) {
    file.and_then(MetricsFile::finish).into_iter().for_each(talk);
}
