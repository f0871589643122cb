//! Private clones: a folder with a git directory of its own that reads the repository's objects and writes none.
//!
//! For work that is not trusted with the repository: hooks, configuration and refs it writes are its clone's. The clone
//! is made anew for every guest; only its files are used again.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use conductor_core::event::Change;

use super::yard::{Folder, Yard};
use super::{Guest, Rescued, Seat, WorkspaceError, Workspaces, file};

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

    /// What `git clone --shared` would leave, without a remote to push to.
    fn make(&self, guest: &Guest, folder: &Folder, base: &str) -> Result<(), WorkspaceError> {
        self.yard.note_folder(&guest.seat(), &folder.tree)?;
        self.yard.throw_away(&folder.git)?;
        let branch = self.yard.task_branch(&guest.task);
        let refs = folder.git.join(&branch);
        for path in [folder.git.join("objects/info"), refs.parent().unwrap_or(&folder.git).to_owned()] {
            fs::create_dir_all(&path).map_err(|source| file(&path, source))?;
        }
        let alternates = format!("{}\n", self.yard.repository.objects().display());
        let (name, email) = self.yard.shadow.identity();
        let config = format!(
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[user]\n\tname = {}\n\temail = {}\n",
            quoted(name),
            quoted(email)
        );
        for (path, text) in [
            (folder.git.join("objects/info/alternates"), alternates),
            (folder.git.join("config"), config),
            (folder.git.join("HEAD"), format!("ref: {branch}\n")),
            (refs, format!("{base}\n")),
        ] {
            write(&path, &text)?;
        }
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
}

fn write(path: &Path, text: &str) -> Result<(), WorkspaceError> {
    fs::write(path, text).map_err(|source| file(path, source))
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
        self.yard.rescue(guest, &self.folder(guest))
    }
}
