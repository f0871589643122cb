//! A task's work laid out for a person who edits it during a review: a private clone, so that every tool for git works in
//! it, and neither the repository nor an active run notices.
//!
//! What comes of it is a change. That it lands is decided elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use conductor_core::run::event::Change;
use conductor_core::values::ids::TaskId;

use super::names::branch_word;
use super::private::Private;
use super::run_repo::RunRepo;
use super::{WorkspaceError, file};
use crate::host::access;

/// The folder in which the work of one task is edited. All of it blocks.
pub struct Editing<'a> {
    run_repo: &'a RunRepo,
    task: &'a TaskId,
    place: PathBuf,
}

impl<'a> Editing<'a> {
    pub fn of(run_repo: &'a RunRepo, task: &'a TaskId) -> Editing<'a> {
        let place = all(&run_repo.layout.state).join(branch_word(task.as_str()));
        Editing { run_repo, task, place }
    }

    pub fn folder(&self) -> PathBuf {
        self.place.join("files")
    }

    fn index(&self) -> PathBuf {
        self.place.join("index")
    }

    /// The commit that was laid out, if one was.
    pub fn open(&self) -> Option<String> {
        let noted = fs::read_to_string(self.place.join("commit")).ok()?;
        self.folder().is_dir().then(|| noted.trim().to_owned())
    }

    /// Lays this commit out, over whatever was laid out before.
    pub fn lay_out(&self, commit: &str) -> Result<(), WorkspaceError> {
        self.close()?;
        let (folder, git) = (self.folder(), self.folder().join(".git"));
        access::create_private_dir_all(&folder).map_err(|source| file(&folder, source))?;
        Private {
            of: &self.run_repo.repository.common,
            head: commit.to_owned(),
            refs: String::new(),
            shadow: &self.run_repo.shadow,
        }
        .make(&git)?;
        self.run_repo.shadow.check_out(commit, &folder, &self.index(), &[])?;
        let own = git.join("index");
        fs::copy(self.index(), &own).map_err(|source| file(&own, source))?;
        // Last, for with this it counts as laid out.
        let note = self.place.join("commit");
        fs::write(&note, commit).map_err(|source| file(&note, source))
    }

    /// The work with all that is in the folder now; nothing where that is what it was before. A ref of ours holds it.
    pub fn take(&self, before: &Change) -> Result<Option<Change>, WorkspaceError> {
        let Some(tree) = self.edited_tree(&before.commit)? else { return Ok(None) };
        let commit = self.commit_edits(&tree, &before.commit)?;
        self.run_repo.keep_commit(&format!("{}/edited", branch_word(self.task.as_str())), &commit)?;
        let touched = self.run_repo.shadow.touched(&before.base, &commit)?;
        let (base, stacked) = (before.base.clone(), before.stacked);
        Ok(Some(Change { touched, stacked, edited: true, ..Change::new(base, commit) }))
    }

    /// Whether the folder holds edits that are not taken.
    pub fn has_edits(&self) -> Result<bool, WorkspaceError> {
        match self.open() {
            Some(commit) => Ok(self.edited_tree(&commit)?.is_some()),
            None => Ok(false),
        }
    }

    /// Holds edits that are not taken under a ref of ours, whose name is returned.
    pub fn keep_edits(&self) -> Result<Option<String>, WorkspaceError> {
        let Some(laid_out) = self.open() else { return Ok(None) };
        let Some(tree) = self.edited_tree(&laid_out)? else { return Ok(None) };
        let commit = self.commit_edits(&tree, &laid_out)?;
        let name = format!("{}/edits-{commit:.10}", branch_word(self.task.as_str()));
        self.run_repo.keep_commit(&name, &commit).map(Some)
    }

    /// All that is in the folder now; nothing where that is what was laid out.
    fn edited_tree(&self, laid_out: &str) -> Result<Option<String>, WorkspaceError> {
        let (folder, index, shadow) = (self.folder(), self.index(), &self.run_repo.shadow);
        shadow.add_all(&folder, &index)?;
        shadow.add_tracked(&folder.join(".git/index"), &folder, &index)?;
        let tree = shadow.tree_of(&folder, &index)?;
        let before = shadow.tree_of_commit(laid_out)?;
        Ok((tree != before).then_some(tree))
    }

    fn commit_edits(&self, tree: &str, onto: &str) -> Result<String, WorkspaceError> {
        let message = format!("Edit {} in its review\n\nConductor-Run: {}\n", self.task, self.run_repo.run());
        Ok(self.run_repo.shadow.commit(tree, &[onto], &message)?)
    }

    /// Takes the folder away.
    pub fn close(&self) -> Result<(), WorkspaceError> {
        remove(&self.place)?;
        // Gone with the last of them.
        let _ = self.place.parent().map(fs::remove_dir);
        Ok(())
    }
}

fn all(state: &Path) -> PathBuf {
    state.join("review")
}

/// Where work of a run is laid out, by the folder of its state, if any is.
pub fn being_edited(state: &Path) -> Option<PathBuf> {
    Some(all(state)).filter(|folder| folder.is_dir())
}

fn remove(folder: &Path) -> Result<(), WorkspaceError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(file(folder, error)),
        _ => Ok(()),
    }
}
