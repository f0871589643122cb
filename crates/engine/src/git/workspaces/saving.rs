//! How what was done in a folder becomes commits that nothing sweeps away.

use std::fs;
use std::path::PathBuf;

use conductor_core::run::event::Change;

use super::layout::Folder;
use super::modules::{Pin, Taken};
use super::names::branch_word;
use super::own_work::{Left, OwnWork};
use super::run_repo::{RunRepo, write};
use super::{Rescued, Workspace, WorkspaceError, WorkspaceRequest, file};
use crate::git::conflict_markers::{self, Look};
use crate::git::is_torn;
use crate::process;

/// A workspace's files as a commit.
enum Saved {
    Nothing,
    Work(Change, Vec<Pin>),
    /// Why it cannot be told what was done, and the commit that holds the files.
    Unclear {
        why: String,
        commit: String,
        pins: Vec<Pin>,
    },
}

impl RunRepo {
    pub(super) fn tree_of_commit(&self, commit: &str) -> Result<String, WorkspaceError> {
        Ok(self.shadow.tree_of_commit(commit)?)
    }

    /// What the attempt did, with all that is in the folder now; nothing where nothing differs from what it was given.
    fn saved(
        &self,
        request: &WorkspaceRequest,
        folder: &Folder,
        base: &str,
    ) -> Result<Saved, WorkspaceError> {
        let message = request.message(&self.run);
        let Taken { tree, pins } = self.disk.take(|| self.take(&self.ground(folder), &message))?;
        let left = Left { request, folder, base, tree: &tree, message: &message };
        let (base, commit) = match self.own_work(&left)? {
            OwnWork::Nothing => return Ok(Saved::Nothing),
            OwnWork::Found { base, commit } => (base, commit),
            OwnWork::Unclear { why, commit } => {
                write(&self.saved_note(request), &tree)?;
                return Ok(Saved::Unclear { why, commit, pins });
            }
        };
        let touched = self.shadow.touched(&base, &commit)?;
        let stacked = !request.stack.is_empty() && base == left.base;
        write(&self.saved_note(request), &tree)?;
        self.tell_of_huge_files(request, folder, &touched.files);
        Ok(Saved::Work(Change { touched, stacked, ..Change::new(base, commit) }, pins))
    }

    /// Remembers the files of a workspace that some ref of ours holds.
    pub(super) fn saved_note(&self, request: &WorkspaceRequest) -> PathBuf {
        self.layout.notes().join(format!("{}.saved", request.workspace_name()))
    }

    /// All the files of a folder in which a person works, with what is in its submodules.
    pub(super) fn tree_of(&self, folder: &Folder) -> Result<String, WorkspaceError> {
        let message = format!("Work of run {}\n", self.run);
        let Taken { tree, pins } = self.disk.take(|| self.take(&self.ground(folder), &message))?;
        self.pin(&pins, &format!("refs/conductor/{}/resolved", self.run))?;
        Ok(tree)
    }

    /// Git takes a file of any size; the forge that the work is pushed to may not.
    fn tell_of_huge_files(&self, request: &WorkspaceRequest, folder: &Folder, files: &[String]) {
        const HUGE: u64 = 100 << 20;
        for path in files {
            let size = folder.tree.join(path).symlink_metadata().map_or(0, |found| found.len());
            if size > HUGE {
                self.notice(format!(
                    "{} left {path} of {} MiB, more than many forges take",
                    request.task,
                    size >> 20
                ));
            }
        }
    }

    pub(super) fn collect(
        &self,
        request: &WorkspaceRequest,
        folder: &Folder,
        workspace: &Workspace,
    ) -> Result<Option<Change>, WorkspaceError> {
        let Some(base) = &workspace.base else { return Ok(None) };
        let (change, pins) = match self.saved(request, folder, base)? {
            Saved::Nothing => return Ok(None),
            Saved::Work(change, pins) => (change, pins),
            Saved::Unclear { why, commit, pins } => {
                let kept = self.keep_attempt(request, &commit, &pins)?;
                return Err(WorkspaceError::Diverged { why, kept });
            }
        };
        self.refuse_conflicts(request, folder, &change)?;
        let word = branch_word(request.task.as_str());
        self.pin(&pins, &format!("refs/conductor/{}/{word}", self.run))?;
        self.tell(&pins);
        self.repository.set_ref(&self.task_branch(&request.task), &change.commit)?;
        Ok(Some(change))
    }

    /// A merge that the agent left unfinished, and text that git marked as a conflict, are to be put right first.
    fn refuse_conflicts(
        &self,
        request: &WorkspaceRequest,
        folder: &Folder,
        change: &Change,
    ) -> Result<(), WorkspaceError> {
        let unmerged = self.shadow.unmerged(&folder.tree, &folder.git.join("index"));
        if !unmerged.is_empty() {
            return Err(WorkspaceError::Unmerged(unmerged.join(", ")));
        }
        let look = Look { allowed: &request.conflict_markers, laid_out: request.round.is_some() };
        let mut marked = conflict_markers::of_change(self, change, look)?;
        let torn = |path: &&String| !marked.contains(path) && is_torn(&folder.tree.join(path));
        let torn: Vec<String> = change.touched.files.iter().filter(torn).cloned().collect();
        marked.extend(torn);
        match marked.is_empty() {
            true => Ok(()),
            false => Err(WorkspaceError::Markers(marked.join(", "))),
        }
    }

    /// Where that fails, the folder is not used again.
    pub(super) fn rescue(
        &self,
        request: &WorkspaceRequest,
        folder: &Folder,
    ) -> Result<Option<Rescued>, WorkspaceError> {
        let done = self.rescue_work(request, folder);
        if done.is_err() {
            write(&self.unsaved(&request.workspace_name()), "")?;
        }
        done
    }

    /// What is written down of what is in a workspace.
    pub(super) fn notes_of(&self, workspace: &str) -> impl Iterator<Item = PathBuf> {
        let notes = self.layout.notes();
        ["index", "base", "saved", "modules"]
            .into_iter()
            .map(move |kind| notes.join(format!("{workspace}.{kind}")))
    }

    pub(super) fn unsaved(&self, workspace: &str) -> PathBuf {
        self.layout.notes().join(format!("{workspace}.unsaved"))
    }

    /// Moves a folder aside if a process is still in it, or if its work could not be saved.
    pub(super) fn make_way(&self, workspace: &str) -> Result<(), WorkspaceError> {
        let (tree, unsaved) = (self.layout.workspace(workspace), self.unsaved(workspace));
        if !tree.exists() || (!unsaved.exists() && process::inside(&tree).is_empty()) {
            return Ok(());
        }
        let word = format!("aside-{:x}", fastrand::u32(..));
        let aside = tree.with_extension(&word);
        fs::rename(&tree, &aside).map_err(|source| file(&tree, source))?;
        let _ = fs::remove_file(&unsaved);
        for (from, to) in self.notes_of(workspace).zip(self.notes_of(&word)) {
            let _ = fs::rename(from, to);
        }
        self.note_folder(&word, &aside)
    }

    fn rescue_work(
        &self,
        request: &WorkspaceRequest,
        folder: &Folder,
    ) -> Result<Option<Rescued>, WorkspaceError> {
        let Ok(base) = fs::read_to_string(&folder.base) else { return Ok(None) };
        match self.saved(request, folder, &base)? {
            Saved::Nothing => Ok(None),
            Saved::Work(change, pins) => {
                let name = self.keep_attempt(request, &change.commit, &pins)?;
                Ok(Some(Rescued { name, change }))
            }
            // Kept for a person to look at; nothing goes on from it by itself.
            Saved::Unclear { why, commit, pins } => {
                let kept = self.keep_attempt(request, &commit, &pins)?;
                self.notice_once(format!("{}: {}", request.task, WorkspaceError::Diverged { why, kept }));
                Ok(None)
            }
        }
    }

    fn keep_attempt(
        &self,
        request: &WorkspaceRequest,
        commit: &str,
        pins: &[Pin],
    ) -> Result<String, WorkspaceError> {
        let word = branch_word(request.task.as_str());
        let name = self.keep_commit(&format!("{word}/{}", request.attempt), commit)?;
        self.pin(pins, &name)?;
        Ok(name)
    }

    /// The folder's files as a tree, to look ahead for conflicts without disturbing the agent at work there.
    pub fn snapshot_of(&self, workspace: &str) -> Result<(String, String), WorkspaceError> {
        let notes = self.layout.notes();
        // Several processes may look at the same moment.
        let look = notes.join(format!("{workspace}.glance-{}", std::process::id()));
        let index = notes.join(format!("{workspace}.index"));
        let base = notes.join(format!("{workspace}.base"));
        let base = fs::read_to_string(&base).map_err(|source| file(&base, source))?;
        fs::copy(&index, &look).map_err(|source| file(&index, source))?;
        let folder = self.layout.workspace(workspace);
        let tree = self.disk.take(|| self.shadow.look(&folder, &look));
        let _ = fs::remove_file(&look);
        Ok((base, tree?))
    }
}
