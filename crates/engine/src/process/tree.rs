//! Everything a process started, found again however it hid.
//!
//! A child can leave its process group and its parent, but seldom its environment: every process we start carries a mark,
//! and what it starts inherits it. Orphans come back to us (child subreaper), so a straggler is either our own child or
//! has a living parent that is. Those that wiped their environment are found by their descent.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use conductor_core::run::event::Process;
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use rustix::process::{Signal, WaitOptions};

use super::control_group::LeftGroups;
use super::descent::{self, Recorded};
use super::pid;

const RUN: &str = "CONDUCTOR_RUN";
const TASK: &str = "CONDUCTOR_TASK";
const ATTEMPT: &str = "CONDUCTOR_ATTEMPT";
/// Which coordinator started a process, and that it is spoken to over a pipe of that coordinator.
pub(super) const COORDINATOR: &str = "CONDUCTOR_COORDINATOR";
const TALKS: &str = "CONDUCTOR_TALKS";
/// Carried by programs of our own, such as git, and by what they leave running on purpose: no attempt's.
const OWN: &str = "CONDUCTOR_OWN";

/// A look at the process table costs about as much as starting a process, so after very short attempts one look
/// serves all that ended in this time.
const TOGETHER: Duration = Duration::from_millis(250);

/// How long stragglers are chased before we give up on them.
pub(super) const CHASE: Duration = Duration::from_secs(2);

/// Whose a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub run: RunId,
    pub task: TaskId,
    pub attempt: Attempt,
}

impl Mark {
    pub(super) fn variables(&self, converses: bool) -> impl Iterator<Item = (&'static str, OsString)> {
        let all = [
            (RUN, self.run.as_str().into()),
            (TASK, self.task.as_str().into()),
            (ATTEMPT, self.attempt.to_string().into()),
            (COORDINATOR, us().into()),
        ];
        all.into_iter().chain(converses.then(|| (TALKS, "1".into())))
    }

    fn is_on(&self, environment: &[u8]) -> bool {
        let has = |name: &str, value: &str| has_variable(environment, name, value);
        has(RUN, self.run.as_str())
            && has(TASK, self.task.as_str())
            && has(ATTEMPT, &self.attempt.to_string())
    }
}

/// This process by a name that no other ever has: its number and when it was started.
pub(super) fn us() -> &'static str {
    static US: LazyLock<String> = LazyLock::new(|| {
        let number = std::process::id();
        format!("{number}.{}", start_time(number).unwrap_or(0))
    });
    &US
}

/// Main processes that are waited for: never stragglers. Those of attempts with their mark, and whether they are
/// spoken to.
static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
type Known = HashMap<u32, Option<(Mark, bool)>>;
/// Programs of our own that are no part of the run's work: no stragglers, and no attempt waits for them.
static BESIDE: LazyLock<Mutex<HashSet<u32>>> = LazyLock::new(Mutex::default);
/// Children we had before we started any: those of the program that became this one (`sleep 9 & exec conductor …`).
static FOREIGN: LazyLock<HashSet<(u32, u64)>> = LazyLock::new(|| {
    let us = std::process::id();
    let all = processes().filter_map(|process| Some((process, stat(process)?)));
    all.filter(|(process, stat)| stat.parent == us && !known().contains_key(process))
        .map(|(process, stat)| (process, stat.start_time))
        .collect()
});
/// Attempts that ended since the last look.
static DUE: Mutex<Vec<Mark>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn beside() -> MutexGuard<'static, HashSet<u32>> {
    BESIDE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn due() -> MutexGuard<'static, Vec<Mark>> {
    DUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Held (for reading) from before a process is started until it is known. A look at the process table waits for it:
/// one that had ended in between would be taken for a straggler and collected before its owner could.
static STARTING: RwLock<()> = RwLock::new(());

pub(super) fn starting() -> RwLockReadGuard<'static, ()> {
    STARTING.read().unwrap_or_else(PoisonError::into_inner)
}

/// Until none is being started that a look at the process table may have seen.
pub(super) fn wait_for_starts() {
    drop(STARTING.write());
}

pub(super) fn remember(process: u32) {
    known().insert(process, None);
}

pub(super) fn remember_attempt(process: u32, mark: Mark, converses: bool) {
    known().insert(process, Some((mark, converses)));
}

/// The main processes of attempts at work.
pub(super) fn attempts() -> HashMap<u32, (Mark, bool)> {
    known().iter().filter_map(|(process, of)| Some((*process, of.clone()?))).collect()
}

/// Says in a program's environment that it is our own.
pub(super) fn mark_own(command: &mut std::process::Command) {
    command.env(OWN, us());
}

/// Our environment for what attempts start, where we are a program of another coordinator's own ourselves.
pub(crate) fn environment_of_attempts() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name != OWN)
}

/// Whether it is a program of that coordinator's own, what one left running on purpose, or this very process: a reaper
/// whose coordinator was killed before it let the reaper out is in the group that it clears.
pub(super) fn is_own(process: u32, coordinator: &str) -> bool {
    let is_waited_for = || known().contains_key(&process) || beside().contains(&process);
    process == std::process::id() || has_variable(&environment(process), OWN, coordinator) || is_waited_for()
}

/// Whether a process of ours carries neither an attempt's mark nor our own.
pub(super) fn is_unmarked(process: u32) -> bool {
    is_unmarked_by(&environment(process))
}

fn is_unmarked_by(environment: &[u8]) -> bool {
    !has_variable(environment, COORDINATOR, us()) && !has_variable(environment, OWN, us())
}

pub(super) fn forget(process: u32) {
    known().remove(&process);
}

pub(super) fn remember_beside(process: u32) {
    beside().insert(process);
}

pub(super) fn forget_beside(process: u32) {
    beside().remove(&process);
}

/// How many processes are being waited for.
pub fn under_way() -> usize {
    known().len()
}

/// From here on, processes whose parents die become ours instead of init's.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    LazyLock::force(&FOREIGN);
}

/// At once after an attempt that lasted, together with others after one that did not.
pub(super) async fn sweep_soon(mark: &Mark, lived: Duration) {
    if lived > TOGETHER {
        return sweep(mark).await;
    }
    let first = {
        let mut due = due();
        due.push(mark.clone());
        due.len() == 1
    };
    if first {
        tokio::spawn(async {
            tokio::time::sleep(TOGETHER).await;
            let marks = std::mem::take(&mut *due());
            chase(|orphan| {
                marks.iter().any(|mark| mark.is_on(&orphan.environment)) || orphan.is_of_the_past()
            })
            .await;
        });
    }
}

/// Ends every process that carries this mark.
pub(super) async fn sweep(mark: &Mark) {
    chase(|orphan| mark.is_on(&orphan.environment) || orphan.is_of_the_past()).await;
}

/// Ends every straggler of a run. Once no process is waited for any more, that is every orphan we have: those
/// that wiped their mark, and those an inner conductor left, which carry the mark of its own run.
pub async fn sweep_all(run: &RunId) {
    due().clear();
    let known_empty = known().is_empty();
    let of_run = |orphan: &Orphan| has_variable(&orphan.environment, RUN, run.as_str());
    chase(|orphan| known_empty || of_run(orphan) || orphan.is_of_the_past()).await;
    if attempts().is_empty() {
        descent::over();
    }
}

/// A process that is our child and that nothing waits for.
struct Orphan {
    process: u32,
    start_time: u64,
    environment: Vec<u8>,
}

impl Orphan {
    /// Whether it wiped its mark and came from an attempt that is over.
    fn is_of_the_past(&self) -> bool {
        is_unmarked_by(&self.environment) && descent::is_of_the_past(self.process, self.start_time)
    }
}

/// Kills matching stragglers until a look finds none: each death brings its children to the surface.
async fn chase(belongs: impl Fn(&Orphan) -> bool) {
    let start = Instant::now();
    while kill_stragglers(&belongs) > 0 && start.elapsed() < CHASE {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// One look: collects dead strays, kills living ones that belong; how many there were to kill.
fn kill_stragglers(belongs: &impl Fn(&Orphan) -> bool) -> usize {
    let us = std::process::id();
    let mut killed = 0;
    let anew = numbers_began_anew(us);
    let all: Vec<u32> = processes().filter(|&process| anew || process > us).collect();
    wait_for_starts();
    for process in all {
        if known().contains_key(&process) || beside().contains(&process) {
            continue;
        }
        let Some(Stat { state, start_time, .. }) = stat(process).filter(|stat| stat.parent == us) else {
            continue;
        };
        if state == 'Z' {
            collect(process);
        } else if !FOREIGN.contains(&(process, start_time))
            && belongs(&Orphan { process, start_time, environment: environment(process) })
        {
            kill(process);
            killed += 1;
        }
    }
    killed
}

/// A later process has a higher number than ours, unless the system ran out of numbers and began anew.
fn numbers_began_anew(us: u32) -> bool {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().nth(4).and_then(|last| last.parse().ok()).is_none_or(|last: u32| last < us)
}

fn collect(process: u32) {
    let _ = rustix::process::waitpid(pid(process), WaitOptions::NOHANG);
}

pub(super) fn kill(process: u32) {
    if let Some(pid) = pid(process) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Ends what a dead coordinator left of a run: the processes it had noted, and whatever carries the run's mark.
/// What wiped that is found by what the coordinator wrote in the run's folder. Returns how many there were.
pub fn end_leftovers(run: &RunId, folder: &Path, noted: &[Process]) -> usize {
    for process in noted {
        if process.start_time != 0
            && start_time(process.pid) == Some(process.start_time)
            && let Some(group) = pid(process.pid)
        {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
    end_all(|environment| has_variable(environment, RUN, run.as_str()))
        + Recorded::of(folder).end(false)
        + LeftGroups::of(folder, None).end()
}

/// Ends every process of the machine that carries this mark. Blocks.
pub(super) fn end_attempt(mark: &Mark) {
    end_all(|environment| mark.is_on(environment));
}

/// Ends every process whose environment says that it belongs, until a look finds none. Returns how many there were.
fn end_all(belongs: impl Fn(&[u8]) -> bool) -> usize {
    let start = Instant::now();
    let mut found = HashSet::new();
    loop {
        let living = living_with(&belongs);
        if living.is_empty() || start.elapsed() > CHASE {
            return found.len();
        }
        for process in living {
            found.insert(process);
            kill(process);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What one coordinator of a run, which is dead, has started.
pub(super) struct Left<'a> {
    pub(super) run: &'a RunId,
    pub(super) coordinator: &'a str,
    /// What of it wiped its mark.
    pub(super) recorded: Recorded,
    pub(super) groups: LeftGroups,
}

impl Left<'_> {
    /// Ends those that were spoken to over its pipe: without it they can do nothing but spend.
    pub(super) fn end_talking(&self) {
        end_all(|environment| self.is_on(environment) && has_variable(environment, TALKS, "1"));
        self.recorded.end(true);
    }

    pub(super) fn end(&self) {
        end_all(|environment| self.is_on(environment));
        self.recorded.end(false);
        self.groups.end();
    }

    pub(super) fn is_over(&self) -> bool {
        living_with(&|environment: &[u8]| self.is_on(environment)).is_empty()
            && self.recorded.is_over()
            && self.groups.is_over()
    }

    fn is_on(&self, environment: &[u8]) -> bool {
        has_variable(environment, RUN, self.run.as_str())
            && has_variable(environment, COORDINATOR, self.coordinator)
    }
}

/// Living processes other than ourselves with such an environment.
fn living_with(belongs: &impl Fn(&[u8]) -> bool) -> Vec<u32> {
    let us = std::process::id();
    processes()
        .filter(|&process| process != us && belongs(&environment(process)))
        .filter(|&process| is_alive(process))
        .collect()
}

pub(super) fn is_alive(process: u32) -> bool {
    stat(process).is_some_and(|stat| stat.state != 'Z')
}

/// Whether the process of this name (see `us`) is alive. One that is exiting does nothing any more, though it has yet to
/// become a zombie: by then its locks are free and its pipes closed already.
pub(super) fn lives(name: &str) -> bool {
    let parts = name.split_once('.').and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse().ok()?)));
    parts.is_some_and(|(pid, start): (u32, u64)| {
        stat(pid).is_some_and(|stat| stat.start_time == start && stat.state != 'Z' && !stat.is_exiting)
    })
}

/// Living processes of a run, by number.
pub fn alive(run: &RunId) -> Vec<u32> {
    living_with(&|environment: &[u8]| has_variable(environment, RUN, run.as_str()))
}

/// Living processes that have their working directory in a folder.
pub fn inside(folder: &Path) -> Vec<u32> {
    let Ok(folder) = folder.canonicalize() else { return Vec::new() };
    let is_inside = |process: &u32| {
        fs::read_link(format!("/proc/{process}/cwd")).is_ok_and(|cwd| cwd.starts_with(&folder))
    };
    processes().filter(is_inside).collect()
}

/// Whether there is a process of this number.
pub fn exists(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// A process as a person knows it: by its program, and by its number.
pub fn described(process: u32) -> String {
    match fs::read_to_string(format!("/proc/{process}/comm")) {
        Ok(name) => format!("{} (process {process})", name.trim_end()),
        Err(_) => format!("process {process}"),
    }
}

/// How many living processes carry this very mark.
#[cfg(test)]
pub(super) fn living(mark: &Mark) -> usize {
    processes()
        .filter(|&process| mark.is_on(&environment(process)))
        .filter(|&process| stat(process).is_some_and(|stat| stat.state != 'Z'))
        .count()
}

pub(super) fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn environment(process: u32) -> Vec<u8> {
    fs::read(format!("/proc/{process}/environ")).unwrap_or_default()
}

fn has_variable(environment: &[u8], name: &str, value: &str) -> bool {
    environment.split(|&byte| byte == 0).any(|entry| {
        entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")) == Some(value.as_bytes())
    })
}

pub(super) struct Stat {
    pub(super) state: char,
    pub(super) parent: u32,
    pub(super) start_time: u64,
    pub(super) is_exiting: bool,
}

/// Among the flags of a process: it is on its way out.
const EXITING: u64 = 0x4;

/// When the kernel started it, in its own ticks; with the number this names a process for good.
pub(super) fn start_time(process: u32) -> Option<u64> {
    stat(process).map(|stat| stat.start_time)
}

/// The name in the second field may hold anything, brackets and blanks too: the fields count from the last bracket.
pub(super) fn stat(process: u32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{process}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        start_time: fields.get(19)?.parse().ok()?,
        is_exiting: fields.get(6)?.parse::<u64>().ok()? & EXITING != 0,
    })
}
