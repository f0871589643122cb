//! How a run's folders and branches go, and what stays: nothing goes that is not safe elsewhere.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::modules::Taken;
use super::names::rescue_refs;
use super::ports;
use super::resolving::is_resolving;
use super::run_repo::{RunRepo, locked};
use super::turns::side_by_side;
use super::{WorkspaceError, file};
use crate::host::shortage::Passing as _;
use crate::process::{self, trash};

impl RunRepo {
    /// Out of the way at once, off the disk later.
    pub(super) fn throw_away(&self, path: &Path) -> Result<(), WorkspaceError> {
        match trash::throw(&self.layout.home, path, "workspace") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // On another file system there is no shortcut.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => match fs::remove_dir_all(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file(path, error)),
                _ => Ok(()),
            },
            Err(source) => Err(file(path, source)),
            Ok(()) => Ok(()),
        }
    }

    /// Removes what only served the run: folders, task branches, temporary files. A folder stays and is
    /// returned if a process is in it or the user resolves a conflict there. A branch whose work has not
    /// landed is kept under a rescue ref; `works` are the commits that landed in another form.
    pub fn clear(&self, works: &HashSet<String>) -> Result<Vec<PathBuf>, WorkspaceError> {
        let left = self.alone(|| self.clear_folders(false))?;
        for (folder, first) in
            left.iter().filter_map(|folder| Some((folder, *process::inside(folder).first()?)))
        {
            let (folder, process) = (folder.display(), process::described(first));
            self.notice(format!("{folder} stays, for {process} is in it and was not started by this run"));
        }
        self.clear_branches(&self.tip()?, works)?;
        Ok(left)
    }

    /// As `clear`, long after the run: a branch its owner has taken away stays away. `all` takes what a person has not
    /// brought to an end, too; it is saved first like everything.
    pub fn clear_later(&self, works: &HashSet<String>, all: bool) -> Result<Vec<PathBuf>, WorkspaceError> {
        let left = self.alone(|| self.clear_folders(all))?;
        self.clear_branches(&self.last_tip()?, works)?;
        self.remove_notes_if_unused();
        Ok(left)
    }

    /// Where the branch is, or was when it was last seen.
    pub(crate) fn last_tip(&self) -> Result<String, WorkspaceError> {
        if let Some(now) = self.repository.read_ref(self.branch())? {
            return Ok(now);
        }
        let known = locked(&self.tip).clone();
        match known {
            Some(known) if self.shadow.has(&known)? => Ok(known),
            _ => Ok(self.repository.head.clone()),
        }
    }

    fn clear_branches(&self, tip: &str, works: &HashSet<String>) -> Result<(), WorkspaceError> {
        locked(&self.leases).clear();
        ports::clear_after_the_dead(&self.layout.home);
        let _ = fs::remove_dir_all(self.layout.state.join("tmp"));
        let prefix = self.task_branches();
        let resolving = self.resolving()?;
        let branches = self.repository.refs(prefix)?;
        let landed = self.shadow.reachable(tip, branches.iter().map(|(_, commit)| commit.as_str()))?;
        let rescued: Vec<String> = self.rescued()?.into_iter().map(|(_, commit)| commit).collect();
        let mut moves = Vec::new();
        for (name, commit) in branches {
            let task = name.strip_prefix(prefix).unwrap_or_default();
            if resolving.iter().any(|word| word == task) {
                continue;
            }
            let safe = landed.contains(&commit) || works.contains(&commit) || rescued.contains(&commit);
            if !safe {
                moves.push((format!("{}{task}/unmerged", rescue_refs(&self.run)), Some(commit)));
            }
            moves.push((name, None));
        }
        self.repository.set_refs(&moves)?;
        trash::empty(&self.layout.home);
        Ok(())
    }

    fn clear_folders(&self, all: bool) -> Result<Vec<PathBuf>, WorkspaceError> {
        let notes = self.layout.notes();
        let found = folders(&notes).map_err(|source| file(&notes, source))?;
        let gone = side_by_side(&found, |(workspace, folder)| {
            let is_open = !all && is_resolving(workspace) && folder.exists();
            if is_open { Ok(false) } else { self.clear_folder(workspace, folder) }
        })?;
        let stay: Vec<PathBuf> =
            found.into_iter().zip(gone).filter(|(_, gone)| !gone).map(|((_, folder), _)| folder).collect();
        if stay.is_empty() {
            self.throw_away(&notes)?;
        }
        self.repository.prune_worktrees()?;
        Ok(stay)
    }

    /// Takes away an executor's workspace that nothing needs any more, while the run goes on. It does not wait for its turn
    /// behind tasks whose work is collected: what it reads was read a moment ago, and callers come one at a time.
    pub(crate) fn clear_spare(&self, executor: u32) -> Result<(), WorkspaceError> {
        for workspace in [executor.to_string(), format!("{executor}c")] {
            let folder = self.layout.workspace(&workspace);
            if folder.exists() && !self.unsaved(&workspace).exists() && self.may_go(&workspace, &folder)? {
                self.throw_away(&folder)?;
                // The next task in this place finds nothing there, and no word of what was there.
                self.notes_of(&workspace).for_each(|note| drop(fs::remove_file(note)));
            }
        }
        Ok(())
    }

    /// Whether it is gone.
    fn clear_folder(&self, workspace: &str, folder: &Path) -> Result<bool, WorkspaceError> {
        match self.disk.take(|| self.may_go(workspace, folder)) {
            Ok(true) => self.throw_away(folder).map(|()| true),
            Ok(false) => Ok(false),
            Err(error) if error.shortage().is_some() => Err(error),
            Err(error) => {
                let folder = folder.display();
                self.notice(format!("{folder} stays, for what is in it cannot be saved: {error}"));
                Ok(false)
            }
        }
    }

    /// A folder may go when no process is in it and a ref holds a commit of everything in it.
    fn may_go(&self, workspace: &str, folder: &Path) -> Result<bool, WorkspaceError> {
        if !folder.exists() {
            return Ok(true);
        }
        if !process::inside(folder).is_empty() {
            return Ok(false);
        }
        let notes = self.layout.notes();
        let base = fs::read_to_string(notes.join(format!("{workspace}.base")));
        if base.is_err() && !workspace.starts_with("aside") {
            // Only ever a copy of what is on a branch.
            return Ok(true);
        }
        let base = base.unwrap_or_else(|_| self.repository.head.clone());
        let saved = fs::read_to_string(notes.join(format!("{workspace}.saved"))).unwrap_or_default();
        let work = self.folder_of(workspace, folder.to_owned(), PathBuf::new(), None);
        let message = format!("Left in workspace {workspace}\n\nConductor-Run: {}\n", self.run);
        let Taken { tree, pins } = self.take(&self.ground(&work), &message)?;
        if tree != saved && tree != self.tree_of_commit(&base)? {
            let commit = self.shadow.commit(&tree, &[&base], &message)?;
            let name = self.keep_commit(&format!("workspace-{workspace}/left"), &commit)?;
            self.pin(&pins, &name)?;
        }
        Ok(true)
    }
}

/// The folders that notes in a run's own folder speak of, by the names of their workspace.
pub fn folders(notes: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    use std::os::unix::ffi::OsStringExt;
    let mut found = Vec::new();
    let entries = match fs::read_dir(notes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|kind| kind == "folder") {
            let workspace = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.push((workspace, PathBuf::from(std::ffi::OsString::from_vec(fs::read(path)?))));
        }
    }
    found.sort();
    Ok(found)
}
