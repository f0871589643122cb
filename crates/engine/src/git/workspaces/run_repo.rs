//! A run's part of the repository: its branch, our own git directory, and what happens to any working folder.
//!
//! It knows how a folder is brought to a commit and how what was done in it becomes one. What kind of folder it is, and
//! how git finds it, is the backends' matter.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use conductor_core::run::event::{Change, Round};
use conductor_core::schedule::Unlanded;
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use tokio::sync::mpsc::UnboundedSender;

use super::clearing::folders;
use super::layout::{Folder, Layout};
use super::modules::Ground;
use super::names::{RunRefs, branch_word, rescue_refs};
use super::ports::{self, Lease};
use super::settings::ToldSettings;
use super::turns::Turns;
use super::{Workspace, WorkspaceError, WorkspaceRequest, file};
use crate::git::{GitError, Merge, Repository, Shadow};
use crate::host::access;

pub struct RunRepo {
    pub(super) repository: Repository,
    pub(super) shadow: Shadow,
    pub(super) run: RunId,
    pub(super) refs: RunRefs,
    pub(super) layout: Layout,
    /// Ignored files that stay when a folder is used again.
    pub(super) keep: Vec<String>,
    /// Git's list of worktrees is changed by one at a time.
    list: Mutex<()>,
    pub(super) disk: Turns,
    /// Where the run's branch was put last.
    pub(super) tip: Mutex<Option<String>>,
    /// The tree that each index was written as, as long as it holds nothing else.
    pub(super) written: Mutex<HashMap<PathBuf, String>>,
    /// Commits in which no text is marked as a conflict.
    cleared: Mutex<HashSet<String>>,
    pub(super) leases: Mutex<HashMap<String, Lease>>,
    notices: OnceLock<UnboundedSender<String>>,
    /// What is worth knowing only once.
    pub(super) told: Mutex<HashSet<String>>,
    pub(super) settings: Mutex<ToldSettings>,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunRepo {
    /// Makes the run's branch where it is not there yet, from what is checked out. `tip` is where it was put last.
    pub fn open(
        repository: Repository,
        run: &RunId,
        layout: Layout,
        keep: Vec<String>,
        tip: Option<&str>,
    ) -> Result<RunRepo, WorkspaceError> {
        layout.check(&repository)?;
        let run_repo = RunRepo::look(repository, run, layout, keep, tip)?;
        run_repo.compare_settings(tip.is_some());
        let notes = run_repo.layout.notes();
        access::create_dir_all(&notes).map_err(|source| file(&notes, source))?;
        let branch = run_repo.branch();
        if tip.is_none()
            && run_repo.repository.read_ref(branch)?.is_none()
            && !run_repo.repository.move_ref(branch, &run_repo.repository.head, "")?
        {
            return Err(WorkspaceError::Broken(format!("git does not let {branch} be made")));
        }
        Ok(run_repo)
    }

    /// The run's part as it is.
    pub fn look(
        repository: Repository,
        run: &RunId,
        layout: Layout,
        keep: Vec<String>,
        tip: Option<&str>,
    ) -> Result<RunRepo, WorkspaceError> {
        let shadow = Shadow::open(&repository, layout.state.join("git"))?;
        let repository = repository.with(shadow.baseline().clone());
        Ok(RunRepo {
            shadow,
            settings: Mutex::default(),
            run: run.clone(),
            refs: RunRefs::of(&repository, run)?,
            layout,
            keep,
            list: Mutex::new(()),
            disk: Turns::new(),
            tip: Mutex::new(tip.map(str::to_owned)),
            written: Mutex::default(),
            cleared: Mutex::default(),
            leases: Mutex::default(),
            notices: OnceLock::new(),
            told: Mutex::default(),
            repository,
        })
    }

    /// Sends notices for the user to this listener from now on.
    pub fn listen(&self, listener: UnboundedSender<String>) {
        let _ = self.notices.set(listener);
        self.tell_settings();
    }

    pub(crate) fn notice(&self, text: String) {
        if let Some(notices) = self.notices.get() {
            tracing::info!(notice = text, "told the user");
            let _ = notices.send(text);
        }
    }

    pub(super) fn notice_once(&self, text: String) {
        if locked(&self.told).insert(text.clone()) {
            self.notice(text);
        }
    }

    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The full name of the branch its work lands on.
    pub fn branch(&self) -> &str {
        &self.refs.branch
    }

    /// Where the branches of its tasks are.
    pub fn task_branches(&self) -> &str {
        &self.refs.tasks
    }

    /// Where its workspaces are, or will be: a folder that is there already.
    pub(crate) fn workspaces_folder(&self) -> PathBuf {
        let workspaces = &self.layout.workspaces;
        let there = workspaces.ancestors().find(|folder| folder.exists());
        there.unwrap_or(workspaces).to_owned()
    }

    /// The state directory of all runs.
    pub fn home(&self) -> &Path {
        &self.layout.home
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub fn shadow(&self) -> &Shadow {
        &self.shadow
    }

    /// Where the run's branch is now. Commits that the user adds to it stay; if it was deleted or set back,
    /// it is put where it was, since landed work must not be lost.
    pub fn tip(&self) -> Result<String, WorkspaceError> {
        let branch = self.branch();
        let now = self.repository.read_ref(branch)?;
        let mut known = locked(&self.tip);
        let tip = match (now, known.as_ref()) {
            (Some(now), None) => now,
            (Some(now), Some(known)) if now == *known || self.shadow.contains(&now, known)? => now,
            (now, Some(known)) => {
                self.restore(branch, known, now.as_deref())?;
                known.clone()
            }
            (None, None) => return Err(WorkspaceError::Broken(format!("{branch} is gone"))),
        };
        *known = Some(tip.clone());
        Ok(tip)
    }

    fn restore(&self, branch: &str, to: &str, from: Option<&str>) -> Result<(), WorkspaceError> {
        if let Some(from) = from {
            self.keep_commit(&format!("branch/{}", &from[..12.min(from.len())]), from)?;
        }
        self.repository.move_ref(branch, to, from.unwrap_or_default())?;
        self.notice(format!("another process removed landed work from {branch}; it was put back"));
        Ok(())
    }

    /// Moves the run's branch if it still is where it was, or finds that it has been moved so already.
    pub fn move_tip(&self, from: &str, to: &str) -> Result<bool, WorkspaceError> {
        let moved = self.repository.move_ref(self.branch(), to, from)?;
        if moved {
            *locked(&self.tip) = Some(to.to_owned());
            return Ok(true);
        }
        let tip = self.tip()?;
        Ok(self.shadow.contains(&tip, to)?)
    }

    /// A folder that holds a commit, for looking at the combined tree before it lands.
    pub fn scratch(&self, name: &str, commit: &str) -> Result<Workspace, WorkspaceError> {
        let folder = self.folder_of(name, self.layout.workspace(name), PathBuf::new(), None);
        fs::create_dir_all(&folder.tree).map_err(|source| file(&folder.tree, source))?;
        self.note_folder(name, &folder.tree)?;
        self.check_out(&self.shadow, commit, &folder.tree, &folder.index)?;
        self.fill_modules(&self.ground(&folder), commit, None)?;
        let directory = folder.tree.join(&self.layout.below);
        fs::create_dir_all(&directory).map_err(|source| file(&directory, source))?;
        Ok(Workspace { directory, base: None, env: self.belongings(name)? })
    }

    /// Makes a workspace hold nothing but this commit again, which all of its work is in.
    pub fn tidy(&self, name: &str, commit: &str) -> Result<(), WorkspaceError> {
        let folder = self.folder_of(name, self.layout.workspace(name), PathBuf::new(), None);
        self.forget_written(&folder.index);
        self.check_out(&self.shadow, commit, &folder.tree, &folder.index)?;
        self.fill_modules(&self.ground(&folder), commit, None)
    }

    /// Brings a folder to a commit, when it is its turn.
    pub(super) fn check_out(
        &self,
        shadow: &Shadow,
        commit: &str,
        tree: &Path,
        index: &Path,
    ) -> Result<(), WorkspaceError> {
        let done = self.disk.take(|| shadow.check_out(commit, tree, index, &self.keep));
        self.tell_pointers(done.map_err(|error| or_full(error, tree))?);
        Ok(())
    }

    /// Fills a folder that was made just now: nothing in it can be in the way.
    fn fill(&self, commit: &str, folder: &Folder) -> Result<(), WorkspaceError> {
        let done = self.disk.take(|| self.shadow.fill(commit, &folder.tree, &folder.index));
        self.tell_pointers(done.map_err(|error| or_full(error, &folder.tree))?);
        Ok(())
    }

    /// The tree an index was last written as, if it holds nothing else since. Removed from our notes, because
    /// the index may hold anything if the next step fails.
    pub(super) fn forget_written(&self, index: &Path) -> Option<String> {
        locked(&self.written).remove(index)
    }

    pub(super) fn note_written(&self, index: &Path, tree: &str) {
        locked(&self.written).insert(index.to_owned(), tree.to_owned());
    }

    pub(crate) fn note_cleared(&self, commit: &str) {
        locked(&self.cleared).insert(commit.to_owned());
    }

    pub(crate) fn is_cleared(&self, commit: &str) -> bool {
        locked(&self.cleared).contains(commit)
    }

    /// The top folder of a workspace, wherever in it the work begins.
    pub fn workspace_root(&self, workspace: &str) -> PathBuf {
        self.layout.workspace(workspace)
    }

    /// Whether a path is one that a workspace of this run would have.
    pub fn is_workspace(&self, path: &Path) -> bool {
        let (template, path) = (self.layout.workspaces.to_string_lossy(), path.to_string_lossy());
        let (before, after) = template.split_once("{n}").unwrap_or((&template, ""));
        path.strip_prefix(before).is_some_and(|rest| rest.ends_with(after))
    }

    pub(super) fn alone<T>(&self, work: impl FnOnce() -> T) -> T {
        let _one = locked(&self.list);
        work()
    }

    pub(super) fn task_branch(&self, task: &TaskId) -> String {
        format!("{}{}", self.task_branches(), branch_word(task.as_str()))
    }

    pub(super) fn keep_commit(&self, name: &str, commit: &str) -> Result<String, WorkspaceError> {
        let name = format!("{}{name}", rescue_refs(&self.run));
        self.repository.set_ref(&name, commit)?;
        Ok(name)
    }

    /// Holds an attempt's work under a ref of ours, whose name is returned.
    pub fn hold_work(&self, task: &TaskId, attempt: Attempt, commit: &str) -> Result<String, WorkspaceError> {
        self.keep_commit(&format!("{}/{attempt}", branch_word(task.as_str())), commit)
    }

    /// Work of this run that is not on its branch, as refs by which it can be had back, with their commits.
    pub fn rescued(&self) -> Result<Vec<(String, String)>, WorkspaceError> {
        Ok(self.repository.refs(&rescue_refs(&self.run))?)
    }

    /// The commit an attempt starts from: everything that has landed, on top of what its epic has done so far, or below
    /// the work that it builds on before that has landed.
    pub(super) fn start_of(&self, request: &WorkspaceRequest) -> Result<String, WorkspaceError> {
        let tip = request.stack.iter().try_fold(self.tip()?, |tip, below| self.stacked(tip, below))?;
        let Some(onto) = &request.onto else { return Ok(tip) };
        if self.shadow.contains(onto, &tip)? {
            return Ok(onto.clone());
        }
        match self.shadow.merge(onto, &tip, None)? {
            Merge::Clean { tree } => {
                let message = format!("Merge {} into the work of its epic\n", self.branch());
                Ok(self.shadow.commit(&tree, &[onto, &tip], &message)?)
            }
            // What is to be mended holds the work of its whole epic, and is laid out with the conflicts marked.
            Merge::Conflict { .. } if request.round.is_some() => Ok(tip),
            Merge::Conflict { files, .. } => Err(WorkspaceError::EpicConflict(files.join(", "))),
        }
    }

    fn stacked(&self, tip: String, below: &Unlanded) -> Result<String, WorkspaceError> {
        if self.shadow.contains(&tip, &below.commit)? {
            return Ok(tip);
        }
        if below.base.is_none() && self.shadow.contains(&below.commit, &tip)? {
            return Ok(below.commit.clone());
        }
        match self.shadow.merge_from(below.base.as_deref(), &tip, &below.commit, None)? {
            Merge::Clean { tree } => {
                let message = format!("Merge the work of {}, which has not landed\n", below.task);
                Ok(self.shadow.commit(&tree, &[&tip, &below.commit], &message)?)
            }
            Merge::Conflict { files, .. } => {
                Err(WorkspaceError::StackConflict { task: below.task.clone(), files: files.join(", ") })
            }
        }
    }

    /// Brings a folder to where its attempt starts. The agent's git sees a clean checkout of the attempt's own branch.
    pub(super) fn workspace(
        &self,
        request: &WorkspaceRequest,
        folder: &Folder,
        base: &str,
    ) -> Result<Workspace, WorkspaceError> {
        locked(&self.written).remove(&folder.index);
        match folder.new {
            true => self.fill(base, folder)?,
            false => self.check_out(&self.shadow, base, &folder.tree, &folder.index)?,
        }
        let ground = self.ground(folder);
        let _ = fs::remove_file(folder.given());
        let laid = match &request.round {
            Some((_, round)) => Some(self.lay_out(round, folder, &ground, base)?),
            None => None,
        };
        self.fill_modules(&ground, base, laid.as_deref())?;
        let copy = folder.git.join("index");
        fs::copy(&folder.index, &copy).map_err(|source| file(&copy, source))?;
        write(&folder.base, base)?;
        let directory = folder.tree.join(&self.layout.below);
        fs::create_dir_all(&directory).map_err(|source| file(&directory, source))?;
        let included = super::include::copy_included(
            &self.repository.root,
            &folder.tree,
            &self.shadow.baseline().excludes(),
        )?;
        if let Some(left) = included.left.first() {
            self.notice(format!("{}: named in .worktreeinclude and not copied", left.display()));
        }
        Ok(Workspace {
            directory,
            base: Some(base.to_owned()),
            env: self.belongings(&request.workspace_name())?,
        })
    }

    /// What goes back to be mended lies in the folder as if it had just been done there, conflicts marked. Its tree.
    fn lay_out(
        &self,
        round: &Round,
        folder: &Folder,
        ground: &Ground,
        base: &str,
    ) -> Result<String, WorkspaceError> {
        let Change { commit, .. } = &round.change;
        let tree = match self.shadow.merge_from(round.change.own_base(), base, commit, None)? {
            Merge::Clean { tree } | Merge::Conflict { tree, .. } => tree,
        };
        self.empty_modules(ground)?;
        let places = (&*folder.tree, &*folder.index, &*folder.given());
        self.disk.take(|| self.shadow.lay_out(&tree, base, places))?;
        Ok(tree)
    }

    /// Ports and a place for temporary files, which are a workspace's as long as the run lasts.
    fn belongings(&self, workspace: &str) -> Result<Vec<(String, String)>, WorkspaceError> {
        let temporary = self.layout.temporary(workspace);
        let _ = fs::remove_dir_all(&temporary);
        access::create_dir_all(&temporary).map_err(|source| file(&temporary, source))?;
        let mut leases = locked(&self.leases);
        if !leases.contains_key(workspace) {
            let lease = ports::lease(&self.layout.home).map_err(|source| file(&self.layout.home, source))?;
            leases.insert(workspace.to_owned(), lease);
        }
        let ports = leases.get(workspace).map(|lease| lease.variables()).into_iter().flatten();
        let temporary = temporary.display().to_string();
        let ports = ports.map(|(name, value)| (name.to_owned(), value));
        Ok(ports.chain([("TMPDIR".to_owned(), temporary)]).collect())
    }

    /// Every folder that was made for this run.
    pub fn folders(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let notes = self.layout.notes();
        let found = folders(&notes).map_err(|source| file(&notes, source))?;
        Ok(found.into_iter().map(|(_, folder)| folder).collect())
    }

    /// Notes where a folder was made, so that a later process finds it.
    pub(super) fn note_folder(&self, workspace: &str, folder: &Path) -> Result<(), WorkspaceError> {
        let note = self.layout.notes().join(format!("{workspace}.folder"));
        access::replace(&note, folder.as_os_str().as_encoded_bytes()).map_err(|source| file(&note, source))
    }

    pub(super) fn folder_of(
        &self,
        workspace: &str,
        tree: PathBuf,
        git: PathBuf,
        objects: Option<PathBuf>,
    ) -> Folder {
        let notes = self.layout.notes();
        let note = |kind: &str| notes.join(format!("{workspace}.{kind}"));
        let (index, base, modules) = (note("index"), note("base"), note("modules"));
        Folder { tree, git, objects, index, base, modules, new: false }
    }
}

/// Git does not say why a file could not be written; a disk with hardly any room left does.
fn or_full(error: GitError, tree: &Path) -> WorkspaceError {
    const HARDLY_ANY: u64 = 32 << 20;
    let room = rustix::fs::statvfs(tree).map_or(u64::MAX, |disk| disk.f_bavail * disk.f_frsize);
    match room < HARDLY_ANY && error.is_unwritable() {
        true => WorkspaceError::Full(tree.to_owned()),
        false => error.into(),
    }
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), WorkspaceError> {
    access::replace(path, text).map_err(|source| file(path, source))
}

pub(super) fn is_name(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
