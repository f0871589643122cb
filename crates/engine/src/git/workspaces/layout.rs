//! Where a run's folders are.

use std::path::{Path, PathBuf};

use conductor_core::values::ids::RunId;

use super::WorkspaceError;
use crate::git::Repository;

/// Where everything is.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The state directory of all runs.
    pub home: PathBuf,
    /// This run's own.
    pub state: PathBuf,
    /// Where in the repository the run was started.
    pub below: PathBuf,
    /// Where workspaces are made, with `{n}` for their number.
    pub workspaces: PathBuf,
}

impl Layout {
    /// `template` is the user's own, already known to name run and number.
    pub fn new(
        home: &Path,
        run: &RunId,
        repository: &Repository,
        directory: &Path,
        template: Option<&str>,
    ) -> Layout {
        let state = home.join("runs").join(run.as_str());
        let below = directory.strip_prefix(&repository.root).unwrap_or(Path::new("")).to_owned();
        let workspaces = match template {
            None => state.join("workspaces").join(format!("{run}-{{n}}")),
            Some(template) => {
                let repo = repository.root.file_name().unwrap_or_default().to_string_lossy();
                let filled = template
                    .replace("{home}", &home.display().to_string())
                    .replace("{repo}", &repo)
                    .replace("{run}", run.as_str());
                let filled = match filled.strip_prefix("~/") {
                    Some(rest) => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(rest),
                    None => PathBuf::from(filled),
                };
                let joined = repository.root.join(filled);
                flattened(&std::path::absolute(&joined).unwrap_or(joined))
            }
        };
        Layout { home: home.to_owned(), state, below, workspaces }
    }

    /// Workspaces in the repository would be part of its checkout. Nothing need be there yet.
    pub fn check(&self, repository: &Repository) -> Result<(), WorkspaceError> {
        match real(&self.workspaces).starts_with(real(&repository.root)) {
            true => Err(WorkspaceError::Inside(self.workspaces.clone())),
            false => Ok(()),
        }
    }

    pub(super) fn workspace(&self, workspace: &str) -> PathBuf {
        PathBuf::from(self.workspaces.to_string_lossy().replace("{n}", workspace))
    }

    /// What belongs to workspaces and is not in them: indexes, notes, trash.
    pub(super) fn notes(&self) -> PathBuf {
        self.state.join("workspaces")
    }

    pub(super) fn temporary(&self, workspace: &str) -> PathBuf {
        self.state.join("tmp").join(workspace)
    }
}

/// Where a path leads, as far as it is there: the rest of it is to be made.
fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let rest = there.as_ref().and_then(|(part, _)| path.strip_prefix(part).ok());
    match (&there, rest) {
        (Some((_, real)), Some(rest)) => real.join(rest),
        _ => path.to_owned(),
    }
}

/// Without `..`, which a path that does not exist yet cannot be asked about.
fn flattened(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// A working folder as git and we know it.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    pub(super) tree: PathBuf,
    /// What git in the folder uses: its HEAD, its index.
    pub(super) git: PathBuf,
    /// Our own index of it, which no agent can damage.
    pub(super) index: PathBuf,
    /// Where commits made in the folder are, if not in the repository itself.
    pub(super) objects: Option<PathBuf>,
    /// Remembers the commit the folder was brought to.
    pub(super) base: PathBuf,
    /// What belongs to the submodules in it.
    pub(super) modules: PathBuf,
    /// It was made just now: there is nothing in it that could be in the way.
    pub(super) new: bool,
}

impl Folder {
    /// An index of the work that was laid out in it to be mended, if any was.
    pub(super) fn given(&self) -> PathBuf {
        self.index.with_extension("given")
    }
}
