//! A run's part of the repository: its branch, our own git directory, and what happens to any working folder.
//!
//! It knows how a folder is brought to a commit and how what was done in it becomes one. What kind of folder it is, and
//! how git finds it, is the backends' matter.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use conductor_core::event::{Change, Round};
use conductor_core::ids::RunId;
use tokio::sync::mpsc::UnboundedSender;

use super::ports::{self, Lease};
use super::turns::{Turns, side_by_side};
use super::{Guest, Seat, WorkspaceError, file};
use crate::git::{Added, Merge, Repository, Shadow};
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
    /// It was made just now: there is nothing in it that could be in the way.
    pub(super) new: bool,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The branch a run's work lands on.
pub fn run_branch(run: &RunId) -> String {
    format!("refs/heads/conductor/{run}")
}

/// Where the branches of a run's tasks are.
pub fn task_branches(run: &RunId) -> String {
    format!("refs/heads/conductor-task/{run}/")
}

/// Where work is kept that is on no branch.
pub fn rescue_refs(run: &RunId) -> String {
    format!("refs/conductor/rescue/{run}/")
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
        let yard = Yard {
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
            repository,
        };
        let desk = yard.layout.desk();
        fs::create_dir_all(&desk).map_err(|source| file(&desk, source))?;
        let branch = run_branch(run);
        if tip.is_none() && yard.repository.read_ref(&branch)?.is_none() {
            yard.repository.move_ref(&branch, &yard.repository.head, "")?;
        }
        Ok(yard)
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
        let tree = self.layout.workspace(name);
        let index = self.layout.desk().join(format!("{name}.index"));
        fs::create_dir_all(&tree).map_err(|source| file(&tree, source))?;
        self.note_folder(name, &tree)?;
        self.disk.take(|| self.shadow.check_out(commit, &tree, &index, &self.keep))?;
        let seat = Seat { directory: tree.join(&self.layout.below), base: None, env: self.belongings(name)? };
        fs::create_dir_all(&seat.directory).map_err(|source| file(&seat.directory, source))?;
        Ok(seat)
    }

    /// The top folder of a workspace, wherever in it the work begins.
    pub fn workspace_root(&self, seat: &str) -> PathBuf {
        self.layout.workspace(seat)
    }

    pub(super) fn alone<T>(&self, work: impl FnOnce() -> T) -> T {
        let _one = locked(&self.list);
        work()
    }

    pub(super) fn task_branch(&self, guest: &Guest) -> String {
        format!("{}{}", task_branches(&self.run), branch_word(guest.task.as_str()))
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
        self.disk.take(|| match folder.new {
            true => self.shadow.fill(base, &folder.tree, &folder.index),
            false => self.shadow.check_out(base, &folder.tree, &folder.index, &self.keep),
        })?;
        if let Some((_, round)) = &guest.round {
            self.lay_out(round, folder, base)?;
        }
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

    /// What goes back to be mended lies in the folder as if it had just been done there, conflicts marked.
    fn lay_out(&self, round: &Round, folder: &Folder, base: &str) -> Result<(), WorkspaceError> {
        let tree = match self.shadow.merge(base, &round.change.commit, None)? {
            Merge::Clean { tree } | Merge::Conflict { tree, .. } => tree,
        };
        self.disk.take(|| self.shadow.lay_out(&tree, base, &folder.tree, &folder.index))?;
        Ok(())
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
    pub(super) fn saved(
        &self,
        guest: &Guest,
        folder: &Folder,
        base: &str,
    ) -> Result<Option<Change>, WorkspaceError> {
        let tree = self.disk.take(|| self.tree_of(folder))?;
        if tree == self.tree_of_commit(base)? {
            return Ok(None);
        }
        let head = self.own_head(guest, folder, base)?;
        let saved = self.layout.desk().join(format!("{}.saved", guest.seat()));
        let commit = match self.tree_of_commit(&head)? == tree {
            true => head,
            false => self.shadow.commit(&tree, &[&head], &guest.message(&self.run))?,
        };
        let touched = self.shadow.touched(base, &commit)?;
        write(&saved, &tree)?;
        Ok(Some(Change { base: base.to_owned(), commit, touched, gate: None }))
    }

    /// All the files in the folder, those of repositories somebody made in it too. What made these repositories is put
    /// aside: as a part of the tree they would be nothing but the name of a commit nobody has.
    fn tree_of(&self, folder: &Folder) -> Result<String, WorkspaceError> {
        const DEEPEST: usize = 8;
        // Taken out first: where something goes wrong below, nobody knows what the index holds.
        let mut known = locked(&self.written).remove(&folder.index);
        for _ in 0..DEEPEST {
            let Added { nothing, nested } = self.shadow.add_all(&folder.tree, &folder.index)?;
            if !nothing {
                known = None;
            }
            if nested.is_empty() {
                break;
            }
            for path in &nested {
                self.put_aside(&folder.tree.join(path).join(".git"))?;
                self.notice(format!(
                    "{path} was a repository of its own; its history is kept beside the run"
                ));
            }
            self.shadow.forget(&nested, &folder.tree, &folder.index)?;
        }
        let tree = match known {
            Some(tree) => tree,
            None => self.shadow.tree_of(&folder.tree, &folder.index)?,
        };
        locked(&self.written).insert(folder.index.clone(), tree.clone());
        Ok(tree)
    }

    fn put_aside(&self, path: &Path) -> Result<(), WorkspaceError> {
        let aside = self.layout.state.join("nested");
        fs::create_dir_all(&aside).map_err(|source| file(&aside, source))?;
        let aside = aside.join(format!("{:x}.git", fastrand::u64(..)));
        fs::rename(path, &aside).map_err(|source| file(path, source))
    }

    /// The commit the guest's own commits lead to, if they still build on where it started.
    fn own_head(&self, guest: &Guest, folder: &Folder, base: &str) -> Result<String, WorkspaceError> {
        let named = fs::read_to_string(folder.git.join("HEAD")).unwrap_or_default();
        let head = match named.trim().strip_prefix("ref: ") {
            None => Some(named.trim().to_owned()),
            Some(branch) if folder.objects.is_some() => {
                fs::read_to_string(folder.git.join(branch)).ok().map(|text| text.trim().to_owned())
            }
            Some(branch) => self.repository.read_ref(branch)?,
        };
        let branch = match &folder.objects {
            Some(_) => None,
            None => self.repository.read_ref(&self.task_branch(guest))?,
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
            return Ok(self.shadow.adopt(objects, base, head).unwrap_or(false));
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
        let change = self.saved(guest, folder, base)?;
        if let Some(change) = &change {
            self.refuse_markers(guest, change)?;
            self.repository.set_ref(&self.task_branch(guest), &change.commit)?;
        }
        Ok(change)
    }

    /// What was to be mended must not land with the marks of its conflicts still in it.
    fn refuse_markers(&self, guest: &Guest, change: &Change) -> Result<(), WorkspaceError> {
        if guest.round.is_none() {
            return Ok(());
        }
        let marked = self.shadow.marked(&change.commit, &change.touched.files)?;
        match marked.is_empty() {
            true => Ok(()),
            false => Err(WorkspaceError::Markers(marked.join(", "))),
        }
    }

    /// Where that fails, the folder is not used again.
    pub(super) fn rescue(&self, guest: &Guest, folder: &Folder) -> Result<Option<String>, WorkspaceError> {
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
        self.note_folder(&word, &aside)
    }

    fn rescue_work(&self, guest: &Guest, folder: &Folder) -> Result<Option<String>, WorkspaceError> {
        let Ok(base) = fs::read_to_string(&folder.base) else { return Ok(None) };
        let Some(change) = self.saved(guest, folder, &base)? else { return Ok(None) };
        let word = branch_word(guest.task.as_str());
        self.keep_commit(&format!("{word}/{}", guest.attempt), &change.commit).map(Some)
    }

    /// The folder's files as a tree, without disturbing anybody, for a look at what is coming.
    pub fn glance(&self, seat: &str) -> Result<(String, String), WorkspaceError> {
        let desk = self.layout.desk();
        let (index, look) = (desk.join(format!("{seat}.index")), desk.join(format!("{seat}.glance")));
        let base = desk.join(format!("{seat}.base"));
        let base = fs::read_to_string(&base).map_err(|source| file(&base, source))?;
        fs::copy(&index, &look).map_err(|source| file(&index, source))?;
        let folder = self.layout.workspace(seat);
        let tree = self.disk.take(|| {
            self.shadow.add_all(&folder, &look)?;
            self.shadow.tree_of(&folder, &look)
        })?;
        Ok((base, tree))
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
    /// is named; a branch whose work has not landed is kept under a rescue ref.
    pub fn clear(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let left = self.alone(|| self.clear_folders())?;
        locked(&self.leases).clear();
        let _ = fs::remove_dir_all(self.layout.state.join("tmp"));
        let tip = self.tip()?;
        let prefix = task_branches(&self.run);
        let branches = self.repository.refs(&prefix)?;
        let landed = self.shadow.reachable(&tip, branches.iter().map(|(_, commit)| commit.as_str()))?;
        let rescued: Vec<String> = self.rescued()?.into_iter().map(|(_, commit)| commit).collect();
        let mut moves = Vec::new();
        for (name, commit) in branches {
            if !landed.contains(&commit) && !rescued.contains(&commit) {
                let task = name.strip_prefix(&prefix).unwrap_or_default();
                moves.push((format!("{}{task}/unmerged", rescue_refs(&self.run)), Some(commit)));
            }
            moves.push((name, None));
        }
        self.repository.set_refs(&moves)?;
        empty_trash(&self.layout.home);
        Ok(left)
    }

    fn clear_folders(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let desk = self.layout.desk();
        let all = folders(&desk).map_err(|source| file(&desk, source))?;
        let gone = side_by_side(&all, |(seat, folder)| self.clear_folder(seat, folder))?;
        let stay: Vec<PathBuf> =
            all.into_iter().zip(gone).filter(|(_, gone)| !gone).map(|((_, folder), _)| folder).collect();
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
        let tree = self.disk.take(|| self.tree_of(&work))?;
        if tree != saved && tree != self.tree_of_commit(&base)? {
            let message = format!("Left in workspace {seat}\n\nConductor-Run: {}\n", self.run);
            let commit = self.shadow.commit(&tree, &[&base], &message)?;
            self.keep_commit(&format!("workspace-{seat}/left"), &commit)?;
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
        Folder { tree, git, objects, index: note("index"), base: note("base"), new: false }
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

fn write(path: &Path, text: &str) -> Result<(), WorkspaceError> {
    fs::write(path, text).map_err(|source| file(path, source))
}

fn is_name(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Names a Windows checkout of the repository could not have.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
    "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Long enough for every task id, short enough for every file system.
const LONGEST_WORD: usize = 80;

/// A name as a part of a branch's: git refuses some characters and endings, file systems some words and lengths. What is
/// fine stays as it is; what is changed gets a mark of its own, so that different names stay different.
pub fn branch_word(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let mut word: String =
        name.chars().map(|c| if allowed(c) { c } else { '-' }).take(LONGEST_WORD).collect();
    while word.contains("..") {
        word = word.replace("..", ".");
    }
    let word = word.trim_matches('.').trim_start_matches('-').trim_end_matches(".lock").to_owned();
    let stem = word.split('.').next().unwrap_or_default().to_ascii_lowercase();
    match word == name && !RESERVED.contains(&stem.as_str()) && !word.is_empty() {
        true => word,
        false => format!("{word}_{:08x}", crc32fast::hash(name.as_bytes())),
    }
}
