//! A run's part of the repository: its branch, our own git directory, and what happens to any working folder.
//!
//! It knows how a folder is brought to a commit and how what was done in it becomes one. What kind of folder it is, and
//! how git finds it, is the backends' matter.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use conductor_core::event::{Change, Round};
use conductor_core::ids::{RunId, TaskId};
use tokio::sync::mpsc::UnboundedSender;

use super::modules::{Ground, Pin, Taken};
use super::names::{branch_word, rescue_refs, run_branch, task_branches};
use super::ports::{self, Lease};
use super::resolving::is_resolving;
use super::turns::{Turns, side_by_side};
use super::{Guest, Rescued, Seat, WorkspaceError, file};
use crate::git::{GitError, Merge, Repository, Shadow, head_of, is_torn};
use crate::process;

pub struct Yard {
    pub(super) repository: Repository,
    pub(super) shadow: Shadow,
    pub(super) run: RunId,
    pub(super) layout: Layout,
    /// Ignored files that stay when a folder is used again.
    keep: Vec<String>,
    /// Git's list of worktrees is changed by one at a time.
    list: Mutex<()>,
    disk: Turns,
    /// Where the run's branch was put last.
    tip: Mutex<Option<String>>,
    trees: Mutex<HashMap<String, String>>,
    /// The tree that each index was written as, as long as it holds nothing else.
    written: Mutex<HashMap<PathBuf, String>>,
    leases: Mutex<HashMap<String, Lease>>,
    notices: OnceLock<UnboundedSender<String>>,
    /// What is worth knowing only once.
    told: Mutex<HashSet<String>>,
}

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

    pub(super) fn workspace(&self, seat: &str) -> PathBuf {
        PathBuf::from(self.workspaces.to_string_lossy().replace("{n}", seat))
    }

    /// What belongs to workspaces and is not in them: indexes, notes, trash.
    pub(super) fn desk(&self) -> PathBuf {
        self.state.join("workspaces")
    }

    fn temporary(&self, seat: &str) -> PathBuf {
        self.state.join("tmp").join(seat)
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

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Yard {
    /// Makes the run's branch where it is not there yet, from what is checked out. `tip` is where it was put last.
    pub fn open(
        repository: Repository,
        run: &RunId,
        layout: Layout,
        keep: Vec<String>,
        tip: Option<&str>,
    ) -> Result<Yard, WorkspaceError> {
        if layout.workspaces.starts_with(&repository.root) {
            return Err(WorkspaceError::Inside(layout.workspaces));
        }
        let yard = Yard::look(repository, run, layout, keep, tip)?;
        let desk = yard.layout.desk();
        fs::create_dir_all(&desk).map_err(|source| file(&desk, source))?;
        let branch = run_branch(run);
        if tip.is_none() && yard.repository.read_ref(&branch)?.is_none() {
            yard.repository.move_ref(&branch, &yard.repository.head, "")?;
        }
        Ok(yard)
    }

    /// The run's part as it is.
    pub fn look(
        repository: Repository,
        run: &RunId,
        layout: Layout,
        keep: Vec<String>,
        tip: Option<&str>,
    ) -> Result<Yard, WorkspaceError> {
        Ok(Yard {
            shadow: Shadow::open(&repository, layout.state.join("git"))?,
            run: run.clone(),
            layout,
            keep,
            list: Mutex::new(()),
            disk: Turns::new(),
            tip: Mutex::new(tip.map(str::to_owned)),
            trees: Mutex::default(),
            written: Mutex::default(),
            leases: Mutex::default(),
            notices: OnceLock::new(),
            told: Mutex::default(),
            repository,
        })
    }

    /// Whoever is to hear what is worth knowing.
    pub fn listen(&self, listener: UnboundedSender<String>) {
        let _ = self.notices.set(listener);
    }

    pub(super) fn notice(&self, text: String) {
        if let Some(notices) = self.notices.get() {
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

    /// Where the run's branch is now. Whoever adds to it is welcome; where it was taken away or set back, it is put
    /// where it was, for what has landed has landed.
    pub fn tip(&self) -> Result<String, WorkspaceError> {
        let branch = run_branch(&self.run);
        let now = self.repository.read_ref(&branch)?;
        let mut known = locked(&self.tip);
        let tip = match (now, known.as_ref()) {
            (Some(now), None) => now,
            (Some(now), Some(known)) if now == *known || self.shadow.contains(&now, known)? => now,
            (now, Some(known)) => {
                self.restore(&branch, known, now.as_deref())?;
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
        self.notice(format!("somebody took landed work off {branch}; it was put back"));
        Ok(())
    }

    /// Moves the run's branch if it still is where it was, or finds that it has been moved so already.
    pub fn move_tip(&self, from: &str, to: &str) -> Result<bool, WorkspaceError> {
        let moved = self.repository.move_ref(&run_branch(&self.run), to, from)?;
        if moved {
            *locked(&self.tip) = Some(to.to_owned());
            return Ok(true);
        }
        let tip = self.tip()?;
        Ok(self.shadow.contains(&tip, to)?)
    }

    /// A folder that holds a commit, for looking at the combined tree before it lands.
    pub fn scratch(&self, name: &str, commit: &str) -> Result<Seat, WorkspaceError> {
        let folder = self.folder_of(name, self.layout.workspace(name), PathBuf::new(), None);
        fs::create_dir_all(&folder.tree).map_err(|source| file(&folder.tree, source))?;
        self.note_folder(name, &folder.tree)?;
        self.check_out(&self.shadow, commit, &folder.tree, &folder.index)?;
        self.fill_modules(&self.ground(&folder), commit, None)?;
        let directory = folder.tree.join(&self.layout.below);
        fs::create_dir_all(&directory).map_err(|source| file(&directory, source))?;
        Ok(Seat { directory, base: None, env: self.belongings(name)? })
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

    /// The tree an index was last written as, if it holds nothing else since. Taken out: where something goes wrong now,
    /// nobody knows what it holds.
    pub(super) fn forget_written(&self, index: &Path) -> Option<String> {
        locked(&self.written).remove(index)
    }

    pub(super) fn note_written(&self, index: &Path, tree: &str) {
        locked(&self.written).insert(index.to_owned(), tree.to_owned());
    }

    /// The top folder of a workspace, wherever in it the work begins.
    pub fn workspace_root(&self, seat: &str) -> PathBuf {
        self.layout.workspace(seat)
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
        format!("{}{}", task_branches(&self.run), branch_word(task.as_str()))
    }

    pub(super) fn keep_commit(&self, name: &str, commit: &str) -> Result<String, WorkspaceError> {
        let name = format!("{}{name}", rescue_refs(&self.run));
        self.repository.set_ref(&name, commit)?;
        Ok(name)
    }

    /// Work of this run that is not on its branch, as refs by which it can be had back, with their commits.
    pub fn rescued(&self) -> Result<Vec<(String, String)>, WorkspaceError> {
        Ok(self.repository.refs(&rescue_refs(&self.run))?)
    }

    /// The commit a guest starts from: everything that has landed, on top of what its epic has done so far.
    pub(super) fn start_of(&self, guest: &Guest) -> Result<String, WorkspaceError> {
        let tip = self.tip()?;
        let Some(onto) = &guest.onto else { return Ok(tip) };
        if self.shadow.contains(onto, &tip)? {
            return Ok(onto.clone());
        }
        match self.shadow.merge(onto, &tip, None)? {
            Merge::Clean { tree } => {
                let message = format!("Merge {} into the work of its epic\n", run_branch(&self.run));
                Ok(self.shadow.commit(&tree, &[onto, &tip], &message)?)
            }
            Merge::Conflict { files, .. } => Err(WorkspaceError::EpicConflict(files.join(", "))),
        }
    }

    /// Brings a folder to where its guest starts. The agent's git sees a clean checkout of the guest's own branch.
    pub(super) fn seat(&self, guest: &Guest, folder: &Folder, base: &str) -> Result<Seat, WorkspaceError> {
        locked(&self.written).remove(&folder.index);
        match folder.new {
            true => self.fill(base, folder)?,
            false => self.check_out(&self.shadow, base, &folder.tree, &folder.index)?,
        }
        let ground = self.ground(folder);
        let laid = match &guest.round {
            Some((_, round)) => Some(self.lay_out(round, folder, &ground, base)?),
            None => None,
        };
        self.fill_modules(&ground, base, laid.as_deref())?;
        let copy = folder.git.join("index");
        fs::copy(&folder.index, &copy).map_err(|source| file(&copy, source))?;
        write(&folder.base, base)?;
        let directory = folder.tree.join(&self.layout.below);
        fs::create_dir_all(&directory).map_err(|source| file(&directory, source))?;
        let included = super::include::copy_included(&self.repository.root, &folder.tree)?;
        if let Some(left) = included.left.first() {
            self.notice(format!("{}: named in .worktreeinclude and not copied", left.display()));
        }
        Ok(Seat { directory, base: Some(base.to_owned()), env: self.belongings(&guest.seat())? })
    }

    /// What goes back to be mended lies in the folder as if it had just been done there, conflicts marked. Its tree.
    fn lay_out(
        &self,
        round: &Round,
        folder: &Folder,
        ground: &Ground,
        base: &str,
    ) -> Result<String, WorkspaceError> {
        let tree = match self.shadow.merge(base, &round.change.commit, None)? {
            Merge::Clean { tree } | Merge::Conflict { tree, .. } => tree,
        };
        self.empty_modules(ground)?;
        self.disk.take(|| self.shadow.lay_out(&tree, base, &folder.tree, &folder.index))?;
        Ok(tree)
    }

    /// Ports and a place for temporary files, which are a seat's as long as the run lasts.
    fn belongings(&self, seat: &str) -> Result<Vec<(String, String)>, WorkspaceError> {
        let temporary = self.layout.temporary(seat);
        let _ = fs::remove_dir_all(&temporary);
        fs::create_dir_all(&temporary).map_err(|source| file(&temporary, source))?;
        let mut leases = locked(&self.leases);
        if !leases.contains_key(seat) {
            let lease = ports::lease(&self.layout.home).map_err(|source| file(&self.layout.home, source))?;
            leases.insert(seat.to_owned(), lease);
        }
        let ports = leases.get(seat).map(|lease| lease.variables()).into_iter().flatten();
        let temporary = temporary.display().to_string();
        let ports = ports.map(|(name, value)| (name.to_owned(), value));
        Ok(ports.chain([("TMPDIR".to_owned(), temporary)]).collect())
    }

    /// The tree of a commit, asked for once.
    pub(super) fn tree_of_commit(&self, commit: &str) -> Result<String, WorkspaceError> {
        const MANY: usize = 256;
        if let Some(tree) = locked(&self.trees).get(commit) {
            return Ok(tree.clone());
        }
        let tree = self.shadow.tree_of_commit(commit)?;
        let mut trees = locked(&self.trees);
        if trees.len() > MANY {
            trees.clear();
        }
        trees.insert(commit.to_owned(), tree.clone());
        Ok(tree)
    }

    /// All that is in the folder now, on top of the guest's own commits; nothing where nothing differs from its base.
    fn saved(
        &self,
        guest: &Guest,
        folder: &Folder,
        base: &str,
    ) -> Result<Option<(Change, Vec<Pin>)>, WorkspaceError> {
        let message = guest.message(&self.run);
        let Taken { tree, pins } = self.disk.take(|| self.take(&self.ground(folder), &message))?;
        if tree == self.tree_of_commit(base)? {
            return Ok(None);
        }
        let head = self.own_head(guest, folder, base)?;
        let saved = self.layout.desk().join(format!("{}.saved", guest.seat()));
        let commit = match self.tree_of_commit(&head)? == tree {
            true => head,
            false => self.shadow.commit(&tree, &[&head], &message)?,
        };
        let touched = self.shadow.touched(base, &commit)?;
        write(&saved, &tree)?;
        self.tell_of_huge_files(guest, folder, &touched.files);
        Ok(Some((Change { base: base.to_owned(), commit, touched, gate: None }, pins)))
    }

    /// All the files of a folder in which a person works, with what is in its submodules.
    pub(super) fn tree_of(&self, folder: &Folder) -> Result<String, WorkspaceError> {
        let message = format!("Work of run {}\n", self.run);
        let Taken { tree, pins } = self.disk.take(|| self.take(&self.ground(folder), &message))?;
        self.pin(&pins, &format!("refs/conductor/{}/resolved", self.run))?;
        Ok(tree)
    }

    /// Git takes any file; whoever the work is sent to may not.
    fn tell_of_huge_files(&self, guest: &Guest, folder: &Folder, files: &[String]) {
        const HUGE: u64 = 100 << 20;
        for path in files {
            let size = folder.tree.join(path).symlink_metadata().map_or(0, |found| found.len());
            if size > HUGE {
                self.notice(format!(
                    "{} left {path} of {} MiB, more than many forges take",
                    guest.task,
                    size >> 20
                ));
            }
        }
    }

    /// The commit the guest's own commits lead to, if they still build on where it started.
    fn own_head(&self, guest: &Guest, folder: &Folder, base: &str) -> Result<String, WorkspaceError> {
        let (head, branch) = match &folder.objects {
            Some(_) => (head_of(&folder.git), None),
            None => {
                let named = fs::read_to_string(folder.git.join("HEAD")).unwrap_or_default();
                let head = match named.trim().strip_prefix("ref: ") {
                    None => Some(named.trim().to_owned()),
                    Some(branch) => self.repository.read_ref(branch)?,
                };
                (head, self.repository.read_ref(&self.task_branch(&guest.task))?)
            }
        };
        for head in [head, branch].into_iter().flatten() {
            if head != base && is_name(&head) && self.builds_on(&head, base, folder)? {
                return Ok(head);
            }
        }
        Ok(base.to_owned())
    }

    fn builds_on(&self, head: &str, base: &str, folder: &Folder) -> Result<bool, WorkspaceError> {
        if let Some(objects) = &folder.objects {
            let is_ours = self.shadow.adopt(objects, base, head).unwrap_or(false);
            if is_ours {
                self.take_contents(&self.shadow, &folder.git)?;
            }
            return Ok(is_ours);
        }
        Ok(self.shadow.contains(head, base).unwrap_or(false))
    }

    pub(super) fn collect(
        &self,
        guest: &Guest,
        folder: &Folder,
        seat: &Seat,
    ) -> Result<Option<Change>, WorkspaceError> {
        let Some(base) = &seat.base else { return Ok(None) };
        let Some((change, pins)) = self.saved(guest, folder, base)? else { return Ok(None) };
        self.refuse_markers(guest, folder, &change)?;
        let word = branch_word(guest.task.as_str());
        self.pin(&pins, &format!("refs/conductor/{}/{word}", self.run))?;
        self.tell(&pins);
        self.repository.set_ref(&self.task_branch(&guest.task), &change.commit)?;
        Ok(Some(change))
    }

    /// What was to be mended must not land with the marks of its conflicts still in it.
    fn refuse_markers(&self, guest: &Guest, folder: &Folder, change: &Change) -> Result<(), WorkspaceError> {
        if guest.round.is_none() {
            return Ok(());
        }
        let mut marked = self.shadow.marked(&change.commit, &change.touched.files)?;
        let torn = |path: &&String| !marked.contains(path) && is_torn(&folder.tree.join(path));
        let torn: Vec<String> = change.touched.files.iter().filter(torn).cloned().collect();
        marked.extend(torn);
        match marked.is_empty() {
            true => Ok(()),
            false => Err(WorkspaceError::Markers(marked.join(", "))),
        }
    }

    /// Where that fails, the folder is not used again.
    pub(super) fn rescue(&self, guest: &Guest, folder: &Folder) -> Result<Option<Rescued>, WorkspaceError> {
        let done = self.rescue_work(guest, folder);
        if done.is_err() {
            write(&self.unsaved(&guest.seat()), "")?;
        }
        done
    }

    fn unsaved(&self, seat: &str) -> PathBuf {
        self.layout.desk().join(format!("{seat}.unsaved"))
    }

    /// Whoever is still in a folder keeps it, and so does work that could not be saved, under another name.
    pub(super) fn make_way(&self, seat: &str) -> Result<(), WorkspaceError> {
        let (tree, unsaved) = (self.layout.workspace(seat), self.unsaved(seat));
        if !tree.exists() || (!unsaved.exists() && process::inside(&tree).is_empty()) {
            return Ok(());
        }
        let word = format!("aside-{:x}", fastrand::u32(..));
        let aside = tree.with_extension(&word);
        fs::rename(&tree, &aside).map_err(|source| file(&tree, source))?;
        let _ = fs::remove_file(&unsaved);
        for kind in ["index", "base", "saved", "modules"] {
            let note = |seat: &str| self.layout.desk().join(format!("{seat}.{kind}"));
            let _ = fs::rename(note(seat), note(&word));
        }
        self.note_folder(&word, &aside)
    }

    fn rescue_work(&self, guest: &Guest, folder: &Folder) -> Result<Option<Rescued>, WorkspaceError> {
        let Ok(base) = fs::read_to_string(&folder.base) else { return Ok(None) };
        let Some((change, pins)) = self.saved(guest, folder, &base)? else { return Ok(None) };
        let word = branch_word(guest.task.as_str());
        let name = self.keep_commit(&format!("{word}/{}", guest.attempt), &change.commit)?;
        self.pin(&pins, &name)?;
        Ok(Some(Rescued { name, change }))
    }

    /// The folder's files as a tree, without disturbing anybody, for a look at what is coming.
    pub fn glance(&self, seat: &str) -> Result<(String, String), WorkspaceError> {
        let desk = self.layout.desk();
        // Several processes may look at the same moment.
        let look = desk.join(format!("{seat}.glance-{}", std::process::id()));
        let index = desk.join(format!("{seat}.index"));
        let base = desk.join(format!("{seat}.base"));
        let base = fs::read_to_string(&base).map_err(|source| file(&base, source))?;
        fs::copy(&index, &look).map_err(|source| file(&index, source))?;
        let folder = self.layout.workspace(seat);
        let tree = self.disk.take(|| self.shadow.look(&folder, &look));
        let _ = fs::remove_file(&look);
        Ok((base, tree?))
    }

    /// Out of the way at once, off the disk later.
    pub(super) fn throw_away(&self, path: &Path) -> Result<(), WorkspaceError> {
        let trash = self.layout.home.join("trash");
        fs::create_dir_all(&trash).map_err(|source| file(&trash, source))?;
        let here = trash.join(format!("{:x}", fastrand::u64(..)));
        match fs::rename(path, &here) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // On another file system there is no shortcut.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                fs::remove_dir_all(path).map_err(|source| file(path, source))
            }
            Err(source) => Err(file(path, source)),
            Ok(()) => Ok(()),
        }
    }

    /// Takes away what only served the run: folders, task branches, temporary files. A folder somebody is in stays and
    /// is named, and so does one in which a person is about to solve a conflict; a branch whose work has not landed is
    /// kept under a rescue ref. `works` are those that have, if in another form.
    pub fn clear(&self, works: &HashSet<String>) -> Result<Vec<PathBuf>, WorkspaceError> {
        let left = self.alone(|| self.clear_folders(false))?;
        self.clear_branches(&self.tip()?, works)?;
        Ok(left)
    }

    /// As `clear`, long after the run: a branch its owner has taken away stays away. `all` takes what a person has not
    /// brought to an end, too; it is saved first like everything.
    pub fn clear_later(&self, works: &HashSet<String>, all: bool) -> Result<Vec<PathBuf>, WorkspaceError> {
        let left = self.alone(|| self.clear_folders(all))?;
        self.clear_branches(&self.last_tip()?, works)?;
        self.leave_desk();
        Ok(left)
    }

    /// Where the branch is, or was when it was last seen.
    pub(crate) fn last_tip(&self) -> Result<String, WorkspaceError> {
        if let Some(now) = self.repository.read_ref(&run_branch(&self.run))? {
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
        let _ = fs::remove_dir_all(self.layout.state.join("tmp"));
        let prefix = task_branches(&self.run);
        let resolving = self.resolving()?;
        let branches = self.repository.refs(&prefix)?;
        let landed = self.shadow.reachable(tip, branches.iter().map(|(_, commit)| commit.as_str()))?;
        let rescued: Vec<String> = self.rescued()?.into_iter().map(|(_, commit)| commit).collect();
        let mut moves = Vec::new();
        for (name, commit) in branches {
            let task = name.strip_prefix(&prefix).unwrap_or_default();
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
        empty_trash(&self.layout.home);
        Ok(())
    }

    fn clear_folders(&self, all: bool) -> Result<Vec<PathBuf>, WorkspaceError> {
        let desk = self.layout.desk();
        let found = folders(&desk).map_err(|source| file(&desk, source))?;
        let gone = side_by_side(&found, |(seat, folder)| {
            let is_open = !all && is_resolving(seat) && folder.exists();
            if is_open { Ok(false) } else { self.clear_folder(seat, folder) }
        })?;
        let stay: Vec<PathBuf> =
            found.into_iter().zip(gone).filter(|(_, gone)| !gone).map(|((_, folder), _)| folder).collect();
        if stay.is_empty() {
            self.throw_away(&desk)?;
        }
        self.repository.prune_worktrees()?;
        Ok(stay)
    }

    /// Whether it is gone.
    fn clear_folder(&self, seat: &str, folder: &Path) -> Result<bool, WorkspaceError> {
        match self.may_go(seat, folder) {
            Ok(true) => self.throw_away(folder).map(|()| true),
            Ok(false) => Ok(false),
            Err(error) => {
                let folder = folder.display();
                self.notice(format!("{folder} stays, for what is in it cannot be saved: {error}"));
                Ok(false)
            }
        }
    }

    /// A folder goes when nobody is in it and everything in it is a commit that some ref holds.
    fn may_go(&self, seat: &str, folder: &Path) -> Result<bool, WorkspaceError> {
        if !folder.exists() {
            return Ok(true);
        }
        if !process::inside(folder).is_empty() {
            return Ok(false);
        }
        let desk = self.layout.desk();
        let base = fs::read_to_string(desk.join(format!("{seat}.base")));
        if base.is_err() && !seat.starts_with("aside") {
            // Only ever a copy of what is on a branch.
            return Ok(true);
        }
        let base = base.unwrap_or_else(|_| self.repository.head.clone());
        let saved = fs::read_to_string(desk.join(format!("{seat}.saved"))).unwrap_or_default();
        let work = self.folder_of(seat, folder.to_owned(), PathBuf::new(), None);
        let message = format!("Left in workspace {seat}\n\nConductor-Run: {}\n", self.run);
        let Taken { tree, pins } = self.disk.take(|| self.take(&self.ground(&work), &message))?;
        if tree != saved && tree != self.tree_of_commit(&base)? {
            let commit = self.shadow.commit(&tree, &[&base], &message)?;
            let name = self.keep_commit(&format!("workspace-{seat}/left"), &commit)?;
            self.pin(&pins, &name)?;
        }
        Ok(true)
    }

    /// Every folder that was made for this run.
    pub fn folders(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let desk = self.layout.desk();
        let found = folders(&desk).map_err(|source| file(&desk, source))?;
        Ok(found.into_iter().map(|(_, folder)| folder).collect())
    }

    /// Notes that a folder was made, so that whoever comes later finds it wherever it is.
    pub(super) fn note_folder(&self, seat: &str, folder: &Path) -> Result<(), WorkspaceError> {
        let note = self.layout.desk().join(format!("{seat}.folder"));
        fs::write(&note, folder.as_os_str().as_encoded_bytes()).map_err(|source| file(&note, source))
    }

    pub(super) fn folder_of(
        &self,
        seat: &str,
        tree: PathBuf,
        git: PathBuf,
        objects: Option<PathBuf>,
    ) -> Folder {
        let desk = self.layout.desk();
        let note = |kind: &str| desk.join(format!("{seat}.{kind}"));
        let (index, base, modules) = (note("index"), note("base"), note("modules"));
        Folder { tree, git, objects, index, base, modules, new: false }
    }
}

/// The folders that notes in a run's own folder speak of, by the names of their seats.
pub fn folders(desk: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    use std::os::unix::ffi::OsStringExt;
    let mut found = Vec::new();
    let entries = match fs::read_dir(desk) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|kind| kind == "folder") {
            let seat = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.push((seat, PathBuf::from(std::ffi::OsString::from_vec(fs::read(path)?))));
        }
    }
    found.sort();
    Ok(found)
}

/// Takes the trash off the disk, beside us and after us: nobody waits for that.
pub fn empty_trash(home: &Path) {
    let trash = home.join("trash");
    if fs::read_dir(&trash).is_ok_and(|mut entries| entries.next().is_some()) {
        process::leave_behind("rm", &["-rf".as_ref(), "--".as_ref(), trash.as_os_str()]);
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

fn write(path: &Path, text: &str) -> Result<(), WorkspaceError> {
    fs::write(path, text).map_err(|source| file(path, source))
}

pub(super) fn is_name(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
