//! Linked worktrees outside of the repository, one for each executor, used again by its next task.
//!
//! An executor has one task at a time, so its worktree never has two; making one ready again is a reset and a clean,
//! many times cheaper than a new one, and there are never more of them than tasks at once. Every task has its own
//! branch, `conductor-task/<run>/<task>`; what lands is on `conductor/<run>` (see `names` for where these are taken).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::event::Change;

use super::layout::Folder;
use super::yard::Yard;
use super::{Guest, Rescued, Seat, WorkspaceError, Workspaces, file};
use crate::access;

pub struct Worktrees {
    yard: Arc<Yard>,
}

impl Worktrees {
    pub fn new(yard: Arc<Yard>) -> Worktrees {
        Worktrees { yard }
    }

    pub(super) fn folder(&self, seat: &str) -> Folder {
        let tree = self.yard.layout.workspace(seat);
        let linked = fs::read_to_string(self.link(seat)).unwrap_or_default();
        self.yard.folder_of(seat, tree, PathBuf::from(linked), None)
    }

    /// Remembers git's own folder for a worktree. The one in the worktree itself is the agent's to change.
    fn link(&self, seat: &str) -> PathBuf {
        self.yard.layout.desk().join(format!("{seat}.link"))
    }

    /// The worktree as it is, if it is whole; else a new one. Only one is made at a time.
    pub(super) fn make(&self, seat: &str, commit: &str) -> Result<Folder, WorkspaceError> {
        let folder = self.folder(seat);
        let pointer = fs::read_to_string(folder.tree.join(".git")).unwrap_or_default();
        let whole = folder.git.join("HEAD").is_file()
            && pointer.trim().strip_prefix("gitdir: ").is_some_and(|path| Path::new(path) == folder.git);
        if whole {
            return Ok(folder);
        }
        self.yard.alone(|| {
            self.clear_the_way(&folder)?;
            self.yard.note_folder(seat, &folder.tree)?;
            self.yard.repository.add_worktree(&folder.tree, commit)?;
            let made = fs::read_to_string(folder.tree.join(".git")).unwrap_or_default();
            let made = made.trim().strip_prefix("gitdir: ").unwrap_or_default();
            self.yard.shadow.give_keys(Path::new(made)).map_err(|source| file(Path::new(made), source))?;
            let link = self.link(seat);
            access::replace(&link, made).map_err(|source| file(&link, source))
        })?;
        Ok(Folder { new: true, ..self.folder(seat) })
    }

    /// Says to git in the folder which branch is checked out there.
    pub(super) fn put_on(&self, branch: &str, folder: &Folder) -> Result<(), WorkspaceError> {
        Ok(self.yard.repository.put_worktree_on(&folder.git, branch)?)
    }

    fn clear_the_way(&self, folder: &Folder) -> Result<(), WorkspaceError> {
        let there = folder.tree.symlink_metadata().is_ok();
        if there {
            self.yard.throw_away(&folder.tree)?;
        }
        let _ = fs::remove_file(&folder.index);
        if there || folder.git.exists() {
            self.yard.repository.prune_worktrees()?;
        }
        let parent = folder.tree.parent().unwrap_or(&folder.tree);
        fs::create_dir_all(parent).map_err(|source| file(parent, source))
    }
}

impl Workspaces for Worktrees {
    fn prepare(&self, guest: &Guest) -> Result<Seat, WorkspaceError> {
        let base = self.yard.start_of(guest)?;
        let seat = guest.seat();
        self.yard.make_way(&seat)?;
        let folder = self.make(&seat, &base)?;
        let branch = self.yard.task_branch(&guest.task);
        self.yard.repository.set_ref(&branch, &base)?;
        self.put_on(&branch, &folder)?;
        self.yard.seat(guest, &folder, &base)
    }

    fn collect(&self, guest: &Guest, seat: &Seat) -> Result<Option<Change>, WorkspaceError> {
        self.yard.collect(guest, &self.folder(&guest.seat()), seat)
    }

    fn rescue(&self, guest: &Guest) -> Result<Option<Rescued>, WorkspaceError> {
        self.yard.rescue_or_part(guest, &self.folder(&guest.seat()))
    }
}
