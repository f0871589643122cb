//! Private clones: a folder with a git directory of its own that reads the repository's objects and writes none.
//!
//! For work that is not trusted with the repository: hooks, configuration and refs it writes are its clone's. The clone
//! is made anew for every guest; only its files are used again.

use std::sync::Arc;

use conductor_core::event::Change;

use super::layout::Folder;
use super::private::Private;
use super::yard::Yard;
use super::{Guest, Rescued, Seat, WorkspaceError, Workspaces};

pub struct Clones {
    yard: Arc<Yard>,
}

impl Clones {
    pub fn new(yard: Arc<Yard>) -> Clones {
        Clones { yard }
    }

    fn folder(&self, guest: &Guest) -> Folder {
        let seat = guest.seat();
        let tree = self.yard.layout.workspace(&seat);
        let git = tree.join(".git");
        let objects = git.join("objects");
        self.yard.folder_of(&seat, tree, git, Some(objects))
    }

    fn make(&self, guest: &Guest, folder: &Folder, base: &str) -> Result<(), WorkspaceError> {
        self.yard.note_folder(&guest.seat(), &folder.tree)?;
        self.yard.throw_away(&folder.git)?;
        let branch = self.yard.task_branch(&guest.task);
        Private {
            of: &self.yard.repository.common,
            head: format!("ref: {branch}"),
            refs: format!("{base} {branch}\n"),
            shadow: &self.yard.shadow,
        }
        .make(&folder.git)
    }
}

impl Workspaces for Clones {
    fn prepare(&self, guest: &Guest) -> Result<Seat, WorkspaceError> {
        let base = self.yard.start_of(guest)?;
        self.yard.make_way(&guest.seat())?;
        let folder = self.folder(guest);
        self.make(guest, &folder, &base)?;
        self.yard.seat(guest, &folder, &base)
    }

    fn collect(&self, guest: &Guest, seat: &Seat) -> Result<Option<Change>, WorkspaceError> {
        self.yard.collect(guest, &self.folder(guest), seat)
    }

    fn rescue(&self, guest: &Guest) -> Result<Option<Rescued>, WorkspaceError> {
        self.yard.rescue_or_part(guest, &self.folder(guest))
    }
}
