//! The control group of a coordinator: whatever its attempts start is in it, however it hides.
//!
//! A coordinator makes a group below its own and moves into it before it starts anything; every process is born there,
//! and none that wipes its environment or leaves its session gets out. Only the reaper is let out. When the coordinator
//! is killed, what is left in the group can only be its: the reaper ends it, or the next coordinator. Many users may not
//! make groups; for them there is the descent alone, which misses what was never seen.
//!
//! Where it is, is written down in the run's folder, in a file of its own: a reaper and the next coordinator may forget a
//! group at the same time. Its name holds the coordinator's, so that no two are ever the same.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor_core::values::ids::RunId;

use super::{children, shim, tree};
use crate::host::access;

/// In a run's folder: where the group of one of its coordinators is. The coordinator's name follows.
pub(super) const NOTE: &str = "control_group.";

pub(super) const PROCESSES: &str = "cgroup.procs";

/// A run's part in the group that this process is in.
pub(super) struct Group {
    entered: Arc<Entered>,
    note: PathBuf,
}

/// The group this process is in. A process is in one group at a time, so its runs are in the same one: the first makes it,
/// and what is left in it is ended with the last. Until then a run's processes are found by mark and descent alone.
pub(super) struct Entered {
    /// The one it came from, and goes back to.
    around: PathBuf,
    folder: PathBuf,
}

impl Group {
    /// Nothing where no group can be made or moved into.
    pub(super) fn enter(run_folder: &Path, run: &RunId) -> Option<Group> {
        let mut shared = children::group();
        let note = run_folder.join(format!("{NOTE}{}", children::us()));
        if let Some(entered) = shared.upgrade() {
            note_down(&note, &entered.folder).ok()?;
            return Some(Group { entered, note });
        }
        let around = beside_coordinator(current()?, run);
        remove_abandoned(&around);
        let folder = around.join(format!("conductor-{run}-{}", children::us()));
        // Written down first: one that is not there does no harm, one that nothing leads to does.
        note_down(&note, &folder).ok()?;
        let entered = Entered { around, folder };
        let moved =
            fs::create_dir(&entered.folder).and_then(|()| move_in(&entered.folder, std::process::id()));
        if moved.is_err() {
            entered.leave();
            let _ = fs::remove_file(&note);
            return None;
        }
        let entered = Arc::new(entered);
        *shared = Arc::downgrade(&entered);
        Some(Group { entered, note })
    }

    /// For one that has to outlive us.
    pub(super) fn let_out(&self, process: u32) {
        let _ = move_in(&self.entered.around, process);
    }

    /// The last run takes the process out of it. None enters meanwhile.
    pub(super) fn leave(self) {
        let Group { entered, note } = self;
        let shared = children::group();
        if let Some(entered) = Arc::into_inner(entered) {
            entered.leave();
        }
        drop(shared);
        let _ = fs::remove_file(note);
    }
}

impl Entered {
    /// Back to where it came from. What of our own is still running goes along, everything else is ended.
    fn leave(&self) {
        match move_in(&self.around, std::process::id()) {
            Ok(()) => drop(clear(&self.folder)),
            // Limits are handed on there. The empty group goes with the one around it, or with the next coordinator's start.
            Err(_) => drop(end_all_in(&self.folder)),
        }
    }
}

/// A shim goes on when its coordinator is gone, and leaves the group that it was born into.
pub(super) fn leave_group_of(run: &RunId) {
    let Some(group) = current() else { return };
    let around = beside_coordinator(group.clone(), run);
    if around != group {
        // Not where limits are handed on: no process may be there. Its own group, beside that one, comes right after this.
        let _ = move_in(&around, std::process::id());
    }
}

/// Where groups of this run are made: not inside of the one of its coordinator, whose end is not that of a shim.
fn beside_coordinator(group: PathBuf, run: &RunId) -> PathBuf {
    let prefix = format!("conductor-{run}-");
    let name = group.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_of_run =
        name.starts_with(&prefix) && coordinator_of(&group).is_some_and(|name| name != children::us());
    match group.parent().filter(|_| is_of_run) {
        Some(around) => around.to_owned(),
        None => group,
    }
}

/// In the name of a group for processes that are in the way of limits.
const ROOM: &str = "conductor-room-";

pub(super) fn is_room(group: &Path) -> bool {
    group.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(ROOM))
}

/// Whether it is inside of a group that some conductor has made: then that one's, not ours to leave.
pub(super) fn is_in_anothers(group: &Path) -> bool {
    group.ancestors().any(|group| !is_room(group) && coordinator_of(group).is_some())
}

/// Moves the processes in a group into one below it, where all of them are ours.
pub(super) fn make_room(group: &Path) -> std::io::Result<()> {
    let here = fs::read_to_string(group.join(PROCESSES)).unwrap_or_default();
    let here: Vec<u32> = here.lines().filter_map(|line| line.parse().ok()).collect();
    if !here.iter().all(|&process| tree::is_own(process, children::us())) {
        return Err(std::io::Error::other("processes that are not ours are in it"));
    }
    let room = group.join(format!("{ROOM}{}", children::us()));
    match fs::create_dir(&room) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    for process in here {
        move_in(&room, process)?;
    }
    Ok(())
}

/// Groups of coordinators that are dead.
pub(super) struct LeftGroups {
    groups: Vec<Noted>,
}

struct Noted {
    note: PathBuf,
    folder: PathBuf,
}

impl LeftGroups {
    /// Those of a run, or of one of its coordinators.
    pub(super) fn of(run_folder: &Path, only: Option<&str>) -> LeftGroups {
        let is_meant = |group: &Noted| {
            let coordinator = coordinator_of(&group.folder).unwrap_or_default();
            only.is_none_or(|only| only == coordinator) && !tree::lives(&coordinator)
        };
        LeftGroups { groups: noted(run_folder).into_iter().filter(is_meant).collect() }
    }

    /// Whether nothing is left in them but programs of the coordinators' own.
    pub(super) fn is_over(&self) -> bool {
        self.groups.iter().all(|Noted { folder, .. }| {
            let coordinator = coordinator_of(folder).unwrap_or_default();
            members(folder).into_iter().all(|process| tree::is_own(process, &coordinator))
        })
    }

    /// Ends what is left in them, and removes them. How many processes that were.
    pub(super) fn end(&self) -> usize {
        let end = |group: &Noted| {
            let ended = clear(&group.folder);
            let _ = fs::remove_file(&group.note);
            ended
        };
        self.groups.iter().map(end).sum()
    }
}

/// Ends everything in a group until a look finds nothing, and removes it. How many processes that were.
fn clear(folder: &Path) -> usize {
    let let_out = |process| drop(folder.parent().map(|around| move_in(around, process)));
    chase(folder, let_out, |_| remove(folder))
}

/// The same, and the group stays, for what is our own stays in it.
fn end_all_in(folder: &Path) -> usize {
    chase(folder, |_| {}, |others| others.is_empty())
}

fn chase(folder: &Path, own: impl Fn(u32), is_done: impl Fn(&[u32]) -> bool) -> usize {
    let begun = Instant::now();
    let coordinator = coordinator_of(folder).unwrap_or_default();
    let mut ended: HashSet<u32> = HashSet::new();
    loop {
        let all = members(folder);
        // One that is being started looks like us until it has begun.
        children::wait_for_starts();
        let (ours, others): (Vec<u32>, Vec<u32>) =
            all.into_iter().partition(|&process| tree::is_own(process, &coordinator));
        let is_without_us = ours.is_empty();
        ours.into_iter().for_each(&own);
        // What forks faster than it is killed one by one goes only at once.
        if !is_without_us || others.is_empty() || kill_at_once(folder).is_err() {
            others.iter().for_each(|&process| tree::kill(process));
        }
        ended.extend(&others);
        if is_done(&others) || begun.elapsed() > tree::CHASE {
            return ended.len();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Everything in a group and in those in it, where the system can do that.
pub(super) fn kill_at_once(folder: &Path) -> std::io::Result<()> {
    fs::File::options().write(true).open(folder.join("cgroup.kill"))?.write_all(b"1")
}

/// With those that were made in it, by a conductor that a task ran.
pub(super) fn remove(folder: &Path) -> bool {
    for inner in inner(folder) {
        remove(&inner);
    }
    fs::remove_dir(folder).is_ok() || !folder.exists()
}

/// Empty groups of dead coordinators, whose runs were never taken up again.
pub(super) fn remove_abandoned(around: &Path) {
    let is_abandoned = |folder: &PathBuf| {
        coordinator_of(folder).is_some_and(|coordinator| !tree::lives(&coordinator))
            && members(folder).is_empty()
    };
    for folder in inner(around).iter().filter(|folder| is_abandoned(folder)) {
        remove(folder);
    }
}

fn inner(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// The living processes in a group and in those in it.
pub(super) fn members(folder: &Path) -> Vec<u32> {
    let text = fs::read_to_string(folder.join(PROCESSES)).unwrap_or_default();
    let here = text.lines().filter_map(|line| line.parse().ok()).filter(|&process| tree::is_alive(process));
    here.chain(inner(folder).iter().flat_map(|folder| members(folder))).collect()
}

fn move_in(group: &Path, process: u32) -> std::io::Result<()> {
    fs::File::options().write(true).open(group.join(PROCESSES))?.write_all(process.to_string().as_bytes())
}

/// The group of the second version that this process is in.
pub(crate) fn current() -> Option<PathBuf> {
    current_in(|line| line.strip_prefix("0::"), |kind| kind.starts_with("cgroup2 "))
}

/// The group of the first version that this process is in, in the tree of this controller.
pub(super) fn current_of(controller: &str) -> Option<PathBuf> {
    let has = |names: &str| names.split(',').any(|name| name == controller);
    current_in(
        |line| {
            let (names, group) = line.split_once(':')?.1.split_once(':')?;
            has(names).then_some(group)
        },
        |kind| kind.starts_with("cgroup ") && kind.rsplit(' ').next().is_some_and(has),
    )
}

/// By the line about it among the groups of this process, and by the end of the line about it in the mount table.
fn current_in(is_of: impl Fn(&str) -> Option<&str>, is_mount: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(is_of)?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let (root, point) = mounts.lines().find_map(|line| mounted(line, &is_mount))?;
    let below = Path::new(group).strip_prefix(root).ok()?;
    Some(if below.as_os_str().is_empty() { point } else { point.join(below) })
}

/// What of the groups is mounted, and where, if a line of the mount table is about that.
fn mounted(line: &str, is_mount: impl Fn(&str) -> bool) -> Option<(PathBuf, PathBuf)> {
    let (mount, kind) = line.split_once(" - ")?;
    is_mount(kind).then_some(())?;
    let mut fields = mount.split(' ').skip(3);
    Some((PathBuf::from(fields.next()?), PathBuf::from(fields.next()?)))
}

/// Where a group is, as a whole or not at all: nothing is left of it where the disk is full.
pub(super) fn note_down(note: &Path, group: &Path) -> std::io::Result<()> {
    let written = access::write(note, group.as_os_str().as_encoded_bytes());
    if written.is_err() {
        let _ = fs::remove_file(note);
    }
    written
}

/// As its name says. Behind that, and a `+`, may be what is in it.
pub(super) fn coordinator_of(folder: &Path) -> Option<String> {
    let (_, of) = folder.file_name()?.to_str()?.strip_prefix("conductor-")?.split_once('-')?;
    Some(of.split('+').next().unwrap_or(of).to_owned())
}

/// What a run's folder says of groups, and those of its shims, is of another one's.
pub(super) fn forget(run_folder: &Path) {
    for folder in shim::folders(run_folder).iter().map(PathBuf::as_path).chain([run_folder]) {
        for Noted { note, .. } in noted(folder) {
            let _ = fs::remove_file(note);
        }
    }
}

fn noted(run_folder: &Path) -> Vec<Noted> {
    let entries = fs::read_dir(run_folder).into_iter().flatten().flatten();
    let is_note = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(NOTE.as_bytes());
    let read = |entry: fs::DirEntry| {
        let note = entry.path();
        let folder = PathBuf::from(OsString::from_vec(fs::read(&note).ok()?));
        // Nothing else is ever touched, whatever the note says.
        coordinator_of(&folder).map(|_| Noted { note, folder })
    };
    entries.filter(is_note).filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_groups_are_mounted_is_read_from_the_mount_table() {
        let line = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
        let mounted = |line: &str| super::mounted(line, |kind: &str| kind.starts_with("cgroup2 "));
        assert_eq!(mounted(line), Some(("/".into(), "/sys/fs/cgroup/unified".into())));
        let inner = "41 31 0:38 /system.slice /sys/fs/cgroup rw shared:4 - cgroup2 cgroup rw";
        assert_eq!(mounted(inner), Some(("/system.slice".into(), "/sys/fs/cgroup".into())));
        assert_eq!(mounted("39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids"), None);
    }

    #[test]
    fn only_folders_of_our_name_are_ever_touched() {
        let folder = tempfile::tempdir().unwrap();
        for (name, group) in
            [("1.1", "/sys/fs/cgroup"), ("7.12", "/sys/fs/cgroup/conductor-abc-7.12"), ("2.2", "")]
        {
            fs::write(folder.path().join(format!("{NOTE}{name}")), group).unwrap();
        }
        let noted = noted(folder.path());
        let folders: Vec<&Path> = noted.iter().map(|noted| noted.folder.as_path()).collect();
        assert_eq!(folders, [Path::new("/sys/fs/cgroup/conductor-abc-7.12")]);
        assert_eq!(coordinator_of(folders[0]).as_deref(), Some("7.12"));
        let limits = Path::new("/sys/fs/cgroup/conductor-abc-7.12+limits");
        assert_eq!(coordinator_of(limits).as_deref(), Some("7.12"));
    }
}
