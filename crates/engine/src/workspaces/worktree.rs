//! Linked worktrees outside of the repository, one for each executor, used again by its next task.
//!
//! An executor has one task at a time, so its worktree never has two; making one ready again is a reset and a clean,
//! many times cheaper than a new one, and there are never more of them than tasks at once. Every task has its own
//! branch, `conductor-task/<run>/<task>`; what lands is on `conductor/<run>`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

use conductor_core::event::Change;
use conductor_core::ids::RunId;

use super::{Guest, Seat, WorkspaceError, Workspaces};
use crate::git::{Repository, Shadow};

pub struct Worktrees {
    repository: Repository,
    shadow: Shadow,
    run: RunId,
    /// Where the worktrees of this run are.
    folder: PathBuf,
    /// Where in the repository the run was started.
    below: PathBuf,
    /// Ignored files that stay when a worktree is used again.
    keep: Vec<String>,
    /// Git's list of worktrees is changed by one at a time.
    list: Mutex<()>,
    disk: Turns,
}

/// Lets as many through at once as there are cores: more checkouts than that only get in each other's way.
struct Turns {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Turns {
    fn take<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        drop(free);
        let done = work();
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.freed.notify_one();
        done
    }
}

/// The branch a run's work lands on.
pub fn run_branch(run: &RunId) -> String {
    format!("refs/heads/conductor/{run}")
}

impl Worktrees {
    /// Makes the run's branch where it is not there yet, from what is checked out.
    pub fn open(
        repository: Repository,
        state: &Path,
        run: &RunId,
        directory: &Path,
        keep: Vec<String>,
    ) -> Result<Worktrees, WorkspaceError> {
        let shadow = Shadow::open(&repository, state.join("git"))?;
        let below = directory.strip_prefix(&repository.root).unwrap_or(Path::new("")).to_owned();
        let worktrees = Worktrees {
            shadow,
            run: run.clone(),
            folder: state.join("workspaces"),
            below,
            keep,
            list: Mutex::new(()),
            disk: Turns {
                free: Mutex::new(std::thread::available_parallelism().map_or(2, std::num::NonZero::get)),
                freed: Condvar::new(),
            },
            repository,
        };
        if worktrees.repository.read_ref(&run_branch(run))?.is_none() {
            worktrees.repository.move_ref(&run_branch(run), &worktrees.repository.head, "")?;
        }
        Ok(worktrees)
    }

    pub fn run(&self) -> &RunId {
        &self.run
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub fn shadow(&self) -> &Shadow {
        &self.shadow
    }

    /// Where the run's branch is now.
    pub fn tip(&self) -> Result<String, WorkspaceError> {
        let branch = run_branch(&self.run);
        self.repository.read_ref(&branch)?.ok_or_else(|| WorkspaceError::Broken(format!("{branch} is gone")))
    }

    /// A folder that holds a commit, for looking at the combined tree before it lands.
    pub fn scratch(&self, commit: &str) -> Result<PathBuf, WorkspaceError> {
        let (tree, index) = (self.folder.join("merge"), self.folder.join("merge.index"));
        fs::create_dir_all(&tree).map_err(|source| file(&tree, source))?;
        self.disk.take(|| self.shadow.check_out(commit, &tree, &index, &self.keep))?;
        Ok(tree.join(&self.below))
    }

    fn tree(&self, executor: u32) -> PathBuf {
        self.folder.join(format!("{}-{executor}", self.run))
    }

    /// Git's own folder for a worktree.
    fn linked(&self, executor: u32) -> PathBuf {
        self.repository.common.join("worktrees").join(format!("{}-{executor}", self.run))
    }

    /// Our own index of it, which no agent can damage.
    fn index(&self, executor: u32) -> PathBuf {
        self.folder.join(format!("{executor}.index"))
    }

    fn task_branch(&self, guest: &Guest) -> String {
        format!("refs/heads/conductor-task/{}/{}", self.run, branch_word(guest.task.as_str()))
    }

    fn rescue_prefix(&self) -> String {
        format!("refs/conductor/rescue/{}/", self.run)
    }

    /// Work of this run that is not on its branch, as refs by which it can be had back.
    pub fn rescued(&self) -> Result<Vec<String>, WorkspaceError> {
        Ok(self.repository.refs(&self.rescue_prefix())?.into_iter().map(|(name, _)| name).collect())
    }

    fn make(&self, executor: u32, commit: &str) -> Result<(), WorkspaceError> {
        let (tree, linked) = (self.tree(executor), self.linked(executor));
        if tree.join(".git").is_file() && linked.join("HEAD").is_file() {
            return Ok(());
        }
        let _one = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        fs::create_dir_all(&self.folder).map_err(|source| file(&self.folder, source))?;
        self.throw_away(&tree)?;
        self.repository.prune_worktrees()?;
        self.repository.add_worktree(&tree, commit)?;
        Ok(())
    }

    /// Out of the way at once, off the disk later.
    fn throw_away(&self, path: &Path) -> Result<(), WorkspaceError> {
        let trash = self.folder.join(format!("trash-{:x}", fastrand::u64(..)));
        match fs::rename(path, &trash) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(file(path, source)),
            Ok(()) => {
                std::thread::spawn(move || fs::remove_dir_all(&trash));
                Ok(())
            }
        }
    }

    /// The commit the guest's own commits lead to, if they still build on where it started.
    fn own_head(&self, guest: &Guest, base: &str) -> Result<String, WorkspaceError> {
        let branch = self.repository.read_ref(&self.task_branch(guest))?;
        let detached = fs::read_to_string(self.linked(guest.executor).join("HEAD")).ok();
        let detached = detached.map(|text| text.trim().to_owned()).filter(|text| !text.starts_with("ref:"));
        for head in [detached, branch].into_iter().flatten() {
            if self.shadow.contains(&head, base).unwrap_or(false) {
                return Ok(head);
            }
        }
        Ok(base.to_owned())
    }

    /// All that is in the worktree now, on top of the guest's own commits.
    fn saved(&self, guest: &Guest, base: &str) -> Result<Option<Change>, WorkspaceError> {
        let tree = self.shadow.tree_of(&self.tree(guest.executor), &self.index(guest.executor))?;
        if tree == self.shadow.tree_of_commit(base)? {
            return Ok(None);
        }
        let head = self.own_head(guest, base)?;
        let commit = match self.shadow.tree_of_commit(&head)? == tree {
            true => head,
            false => self.shadow.commit(&tree, &[&head], &self.message(guest))?,
        };
        Ok(Some(Change { base: base.to_owned(), commit }))
    }

    fn message(&self, guest: &Guest) -> String {
        let Guest { task, title, .. } = guest;
        format!("{title}\n\nConductor-Run: {}\nConductor-Task: {task}\n", self.run)
    }
}

impl Workspaces for Worktrees {
    fn prepare(&self, guest: &Guest) -> Result<Seat, WorkspaceError> {
        let base = self.tip()?;
        let (tree, index) = (self.tree(guest.executor), self.index(guest.executor));
        self.make(guest.executor, &base)?;
        let linked = self.linked(guest.executor);
        self.disk.take(|| self.shadow.check_out(&base, &tree, &linked.join("index"), &self.keep))?;
        fs::copy(linked.join("index"), &index).map_err(|source| file(&index, source))?;
        let branch = self.task_branch(guest);
        self.repository.set_ref(&branch, &base)?;
        let head = linked.join("HEAD");
        fs::write(&head, format!("ref: {branch}\n")).map_err(|source| file(&head, source))?;
        let directory = tree.join(&self.below);
        fs::create_dir_all(&directory).map_err(|source| file(&directory, source))?;
        fs::write(self.folder.join(format!("{}.base", guest.executor)), &base)
            .map_err(|source| file(&directory, source))?;
        Ok(Seat { directory, base: Some(base) })
    }

    fn collect(&self, guest: &Guest, seat: &Seat) -> Result<Option<Change>, WorkspaceError> {
        let Some(base) = &seat.base else { return Ok(None) };
        let change = self.disk.take(|| self.saved(guest, base))?;
        if let Some(change) = &change {
            self.repository.set_ref(&self.task_branch(guest), &change.commit)?;
        }
        Ok(change)
    }

    fn rescue(&self, guest: &Guest) -> Result<Option<String>, WorkspaceError> {
        let note = self.folder.join(format!("{}.base", guest.executor));
        let Ok(base) = fs::read_to_string(&note) else { return Ok(None) };
        let Some(change) = self.saved(guest, &base)? else { return Ok(None) };
        let word = branch_word(guest.task.as_str());
        let name = format!("{}{word}/{}", self.rescue_prefix(), guest.attempt);
        self.repository.set_ref(&name, &change.commit)?;
        Ok(Some(name))
    }

    fn clear(&self) -> Result<(), WorkspaceError> {
        let _one = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = fs::remove_dir_all(&self.folder);
        self.repository.prune_worktrees()?;
        let tip = self.tip()?;
        let prefix = format!("refs/heads/conductor-task/{}/", self.run);
        for (name, commit) in self.repository.refs(&prefix)? {
            if !self.shadow.contains(&tip, &commit)? {
                let task = name.strip_prefix(&prefix).unwrap_or_default();
                self.repository.set_ref(&format!("{}{task}/unmerged", self.rescue_prefix()), &commit)?;
            }
            self.repository.delete_ref(&name)?;
        }
        Ok(())
    }
}

/// A task's id as a part of a branch name: git refuses some endings that an id may have. Different ids stay different.
fn branch_word(id: &str) -> String {
    match id.ends_with('.') || id.ends_with(".lock") || id.ends_with('_') {
        true => format!("{id}_"),
        false => id.to_owned(),
    }
}

fn file(path: &Path, source: io::Error) -> WorkspaceError {
    WorkspaceError::File { path: path.to_owned(), source }
}
