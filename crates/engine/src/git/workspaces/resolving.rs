//! A conflict laid out for a person: a worktree that holds the merge with its marks, on the task's own branch, so that
//! every tool they have for git works in it.
//!
//! It knows folders and commits. Whether what comes of it is good, and that it lands, is for others.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::values::ids::TaskId;

use super::clearing::folders;
use super::layout::Folder;
use super::names::{branch_word, rescue_refs};
use super::run_repo::RunRepo;
use super::worktree::Worktrees;
use super::{WorkspaceError, file};
use crate::git::Merge;
use crate::git::conflict_markers::{self, Look};
use crate::process::trash;

const RESOLVE_PREFIX: &str = "resolve-";

/// The workspace in which a task's conflict is solved.
pub fn resolving_name(task: &TaskId) -> String {
    format!("{RESOLVE_PREFIX}{}", branch_word(task.as_str()))
}

pub(super) fn is_resolving(workspace: &str) -> bool {
    workspace.starts_with(RESOLVE_PREFIX)
}

/// A conflict that is being solved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    pub folder: PathBuf,
    /// Where the branch was when it was laid out.
    pub base: String,
    /// The work that does not fit.
    pub kept: String,
    /// The files both sides changed, and those in which the marks of a conflict are.
    pub files: Vec<String>,
    /// It merges: marks are in the work itself.
    pub clean: bool,
}

/// What a person has made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solved {
    pub tree: String,
    /// The commit that becomes part of the branch's history: the person's own where it holds the work, else the work.
    pub commit: String,
}

/// The conflicts of one run. All of it blocks.
pub struct Resolving {
    pub(super) run_repo: Arc<RunRepo>,
    worktrees: Worktrees,
}

impl RunRepo {
    /// Whose conflicts are being solved, by the last part of their branches' names.
    pub fn resolving(&self) -> Result<Vec<String>, WorkspaceError> {
        let notes = self.layout.notes();
        let found = folders(&notes).map_err(|source| file(&notes, source))?;
        let open = found.into_iter().filter(|(_, folder)| folder.exists());
        Ok(open
            .filter_map(|(workspace, _)| workspace.strip_prefix(RESOLVE_PREFIX).map(str::to_owned))
            .collect())
    }

    /// Where work of a task is kept.
    pub(crate) fn rescues_of(&self, task: &TaskId) -> String {
        format!("{}{}/", rescue_refs(&self.run), branch_word(task.as_str()))
    }

    /// Takes a folder away with everything that was noted of it.
    pub(crate) fn take_away(&self, workspace: &str) -> Result<(), WorkspaceError> {
        self.alone(|| {
            self.throw_away(&self.layout.workspace(workspace))?;
            let notes = self.layout.notes();
            for entry in fs::read_dir(&notes).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let kind = name.strip_prefix(workspace).and_then(|rest| rest.strip_prefix('.'));
                // What follows after another dot is of a workspace whose name begins like this one's.
                if kind.is_some_and(|kind| !kind.contains('.')) {
                    fs::remove_file(entry.path()).map_err(|source| file(&entry.path(), source))?;
                }
            }
            Ok::<(), WorkspaceError>(self.repository.prune_worktrees()?)
        })?;
        self.remove_notes_if_unused();
        Ok(())
    }

    /// Notes are of no use when none of the folders is there any more.
    pub(crate) fn remove_notes_if_unused(&self) {
        let notes = self.layout.notes();
        let empty = |found: Vec<(String, PathBuf)>| found.iter().all(|(_, folder)| !folder.exists());
        if folders(&notes).is_ok_and(empty) {
            let _ = self.throw_away(&notes);
            let _ = fs::remove_dir_all(self.layout.state.join("tmp"));
            trash::empty(&self.layout.home);
        }
    }
}

impl Resolving {
    pub fn new(run_repo: Arc<RunRepo>) -> Resolving {
        Resolving { worktrees: Worktrees::new(run_repo.clone()), run_repo }
    }

    /// The conflict as it was laid out, if it was.
    pub fn open(&self, task: &TaskId) -> Result<Option<Resolution>, WorkspaceError> {
        let (workspace, folder) = self.place(task);
        let noted = |path: &Path| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        match (folder.tree.exists(), noted(&folder.base), noted(&self.note(&workspace, "kept"))) {
            (true, Some(base), Some(kept)) => {
                let (files, clean) = self.conflicts(&base, &kept)?;
                Ok(Some(Resolution { folder: folder.tree, base, kept, files, clean }))
            }
            _ => Ok(None),
        }
    }

    /// Lays out the merge of a task's work with what has landed. Whatever the task's branch held is under a rescue ref
    /// before the branch is taken for this.
    pub fn lay_out(&self, task: &TaskId, kept: &str) -> Result<Resolution, WorkspaceError> {
        let (workspace, base) = (resolving_name(task), self.run_repo.tip()?);
        self.hold(task, "unmerged", kept)?;
        let folder = self.worktrees.make(&workspace, &base)?;
        let branch = self.run_repo.task_branch(task);
        self.run_repo.repository.set_ref(&branch, &base)?;
        self.worktrees.put_on(&branch, &folder)?;
        self.run_repo.shadow.check_out(&base, &folder.tree, &folder.index, &[])?;
        let theirs = format!("task/{}", branch_word(task.as_str()));
        let sides = [("landed", base.as_str()), (theirs.as_str(), kept)];
        let tree = self.run_repo.shadow.lay_out_merge(sides[0], sides[1], &folder.tree, &folder.index)?;
        self.tell_git(task, kept, &folder)?;
        write(&self.note(&workspace, "laid"), &tree)?;
        // Last, for with these it counts as laid out.
        write(&self.note(&workspace, "kept"), kept)?;
        write(&folder.base, &base)?;
        let (files, clean) = self.conflicts(&base, kept)?;
        Ok(Resolution { folder: folder.tree, base, kept: kept.to_owned(), files, clean })
    }

    /// Git in the folder takes it for a merge under way, so that `git commit` brings that to its end.
    fn tell_git(&self, task: &TaskId, kept: &str, folder: &Folder) -> Result<(), WorkspaceError> {
        let copy = folder.git.join("index");
        fs::copy(&folder.index, &copy).map_err(|source| file(&copy, source))?;
        write(&folder.git.join("MERGE_HEAD"), &format!("{kept}\n"))?;
        write(&folder.git.join("MERGE_MSG"), &format!("Merge task {task}\n"))
    }

    /// Everything that is in the folder now, conflicts solved. Conflict markers are an error, except in files
    /// of `allowed`. So is a folder without any of the task's work: the user asks for that with `--ours`.
    pub fn solved(
        &self,
        task: &TaskId,
        open: &Resolution,
        allowed: &[String],
    ) -> Result<Solved, WorkspaceError> {
        let (_, folder) = self.place(task);
        let tree = self.run_repo.tree_of(&folder)?;
        if tree == self.run_repo.tree_of_commit(&open.base)? {
            return Err(WorkspaceError::Emptied(open.folder.clone()));
        }
        let look = Look { allowed, laid_out: true };
        let marked = conflict_markers::between(&self.run_repo, &open.base, &tree, look)?;
        if !marked.is_empty() {
            return Err(WorkspaceError::Markers(marked.join(", ")));
        }
        let own = fs::read_to_string(folder.git.join("HEAD")).unwrap_or_default();
        let own = match own.trim().strip_prefix("ref: ") {
            Some(branch) => self.run_repo.repository.read_ref(branch)?,
            None => Some(own.trim().to_owned()),
        };
        let holds_both = |commit: &String| {
            let holds = |old: &str| self.run_repo.shadow.contains(commit, old).unwrap_or(false);
            holds(&open.base) && holds(&open.kept)
        };
        Ok(Solved { tree, commit: own.filter(holds_both).unwrap_or_else(|| open.kept.clone()) })
    }

    /// Keeps what was made of it so far, where that is more than what was laid out; the ref that holds it.
    pub fn save(&self, task: &TaskId, open: &Resolution) -> Result<Option<String>, WorkspaceError> {
        let (workspace, folder) = self.place(task);
        let tree = self.run_repo.tree_of(&folder)?;
        let laid_out = fs::read_to_string(self.note(&workspace, "laid")).unwrap_or_default();
        if tree == laid_out || tree == self.run_repo.tree_of_commit(&open.base)? {
            return Ok(None);
        }
        let message = format!("Unfinished merge of {task}\n\nConductor-Run: {}\n", self.run_repo.run);
        let commit = self.run_repo.shadow.commit(&tree, &[&open.base], &message)?;
        let name = format!("{}/unfinished", branch_word(task.as_str()));
        self.run_repo.keep_commit(&name, &commit).map(Some)
    }

    /// Takes the folder and the task's branch away.
    pub fn close(&self, task: &TaskId) -> Result<(), WorkspaceError> {
        self.run_repo.take_away(&resolving_name(task))?;
        let branch = self.run_repo.task_branch(task);
        if self.run_repo.repository.read_ref(&branch)?.is_some() {
            self.run_repo.repository.delete_ref(&branch)?;
        }
        Ok(())
    }

    /// Lets go of what is kept of a task and has landed: what the branch holds, and these, which are there in another
    /// form.
    pub(crate) fn release(&self, task: &TaskId, landed: &[String]) -> Result<(), WorkspaceError> {
        let (prefix, tip) = (self.run_repo.rescues_of(task), self.run_repo.tip()?);
        for (name, commit) in self.run_repo.rescued()? {
            let is_there = || Ok::<bool, WorkspaceError>(self.run_repo.shadow.contains(&tip, &commit)?);
            if name.starts_with(&prefix) && (landed.contains(&commit) || is_there()?) {
                self.run_repo.repository.delete_ref(&name)?;
            }
        }
        Ok(())
    }

    /// Sees to it that some ref of ours holds a commit.
    pub(crate) fn hold(&self, task: &TaskId, name: &str, commit: &str) -> Result<(), WorkspaceError> {
        if !self.run_repo.rescued()?.iter().any(|(_, held)| held == commit) {
            self.run_repo.keep_commit(&format!("{}/{name}", branch_word(task.as_str())), commit)?;
        }
        Ok(())
    }

    fn place(&self, task: &TaskId) -> (String, Folder) {
        let workspace = resolving_name(task);
        let folder = self.worktrees.folder(&workspace);
        (workspace, folder)
    }

    fn note(&self, workspace: &str, kind: &str) -> PathBuf {
        self.run_repo.layout.notes().join(format!("{workspace}.{kind}"))
    }

    /// Where there is something to solve in work that is merged with what has landed.
    pub fn to_solve(&self, kept: &str) -> Result<Vec<String>, WorkspaceError> {
        Ok(self.conflicts(&self.run_repo.tip()?, kept)?.0)
    }

    /// The files to solve, and whether it merges all the same.
    fn conflicts(&self, base: &str, kept: &str) -> Result<(Vec<String>, bool), WorkspaceError> {
        let (tree, mut files, clean) = match self.run_repo.shadow.merge(base, kept, None)? {
            Merge::Clean { tree } => (tree, Vec::new(), true),
            Merge::Conflict { tree, files, .. } => (tree, files, false),
        };
        let marked = conflict_markers::between(&self.run_repo, base, &tree, Look::default())?;
        files.extend(marked.into_iter().filter(|path| !files.contains(path)).collect::<Vec<_>>());
        Ok((files, clean))
    }
}

fn write(path: &Path, text: &str) -> Result<(), WorkspaceError> {
    fs::write(path, text).map_err(|source| file(path, source))
}
