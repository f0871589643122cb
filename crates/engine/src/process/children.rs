//! The children of this process, of all its runs.
//!
//! Waiting for a child, taking in orphans and being in a control group are matters of a process as a whole: whichever run
//! looks at the process table meets the children of all of them, and programs of our own, such as git, belong to none. So
//! this is the one value here that all runs of a process share. Everything in it is kept by process number or by run, and
//! no run changes an entry of another. What is a run's own is in its `RunProcesses`.

use std::collections::{HashMap, HashSet};
use std::sync::{
    LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
};

use conductor_core::values::ids::RunId;

use super::control_group::Entered;
use super::tree::{self, Mark, processes, stat};

#[derive(Default)]
struct Children {
    us: OnceLock<String>,
    known: Mutex<Known>,
    beside: Mutex<HashSet<u32>>,
    foreign: OnceLock<HashSet<(u32, u64)>>,
    starting: RwLock<()>,
    runs: Mutex<Vec<RunId>>,
    group: Mutex<Weak<Entered>>,
}

/// Main processes that are waited for: never stragglers. Those of attempts with what is known of them.
type Known = HashMap<u32, Option<OfAttempt>>;

/// The main process of an attempt.
#[derive(Debug, Clone)]
pub(super) struct OfAttempt {
    pub(super) mark: Mark,
    /// It is spoken to.
    pub(super) converses: bool,
    /// It is a shim of this name, and the attempt is what it holds.
    pub(super) shim: Option<String>,
}

static CHILDREN: LazyLock<Children> = LazyLock::new(Children::default);

fn locked<T>(value: &'static Mutex<T>) -> MutexGuard<'static, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn known() -> MutexGuard<'static, Known> {
    locked(&CHILDREN.known)
}

/// Programs of our own that are no part of a run's work: no stragglers, and no attempt waits for them.
fn beside() -> MutexGuard<'static, HashSet<u32>> {
    locked(&CHILDREN.beside)
}

/// This process by a name that no other ever has: its number and when it was started.
pub(super) fn us() -> &'static str {
    CHILDREN.us.get_or_init(|| {
        let number = std::process::id();
        format!("{number}.{}", tree::start_time(number).unwrap_or(0))
    })
}

/// Held (for reading) from before a process is started until it is known. A look at the process table waits for it:
/// one that had ended in between would be taken for a straggler and collected before its owner could.
pub(super) fn starting() -> RwLockReadGuard<'static, ()> {
    CHILDREN.starting.read().unwrap_or_else(PoisonError::into_inner)
}

/// Until none is being started that a look at the process table may have seen.
pub(super) fn wait_for_starts() {
    let held: RwLockWriteGuard<'_, ()> = CHILDREN.starting.write().unwrap_or_else(PoisonError::into_inner);
    drop(held);
}

pub(super) fn remember(process: u32) {
    known().insert(process, None);
}

pub(super) fn remember_attempt(process: u32, of: OfAttempt) {
    known().insert(process, Some(of));
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

pub(super) fn is_waited_for(process: u32) -> bool {
    known().contains_key(&process) || beside().contains(&process)
}

/// How many processes are being waited for.
pub fn under_way() -> usize {
    known().len()
}

/// The main processes of attempts at work, of all runs.
pub(super) fn attempts() -> HashMap<u32, OfAttempt> {
    known().iter().filter_map(|(process, of)| Some((*process, of.clone()?))).collect()
}

/// Those of one run.
pub(super) fn attempts_of(run: &RunId) -> HashMap<u32, OfAttempt> {
    let mut all = attempts();
    all.retain(|_, of| of.mark.run == *run);
    all
}

/// Children we had before we started any: those of the program that became this one (`sleep 9 & exec conductor …`).
fn foreign() -> &'static HashSet<(u32, u64)> {
    CHILDREN.foreign.get_or_init(|| {
        let us = std::process::id();
        let all = processes().filter_map(|process| Some((process, stat(process)?)));
        all.filter(|(process, stat)| stat.parent == us && !is_waited_for(*process))
            .map(|(process, stat)| (process, stat.start_time))
            .collect()
    })
}

pub(super) fn is_foreign(process: u32, start_time: u64) -> bool {
    foreign().contains(&(process, start_time))
}

/// From here on, processes whose parents die become ours instead of init's.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    foreign();
}

/// A run for which this process starts processes, as long as this is held.
pub(super) struct ActiveRun(RunId);

impl ActiveRun {
    pub(super) fn new(run: RunId) -> ActiveRun {
        locked(&CHILDREN.runs).push(run.clone());
        ActiveRun(run)
    }
}

impl Drop for ActiveRun {
    fn drop(&mut self) {
        let mut runs = locked(&CHILDREN.runs);
        if let Some(at) = runs.iter().position(|run| *run == self.0) {
            runs.swap_remove(at);
        }
    }
}

/// Whether this process works for no other run.
pub(super) fn is_alone(run: &RunId) -> bool {
    locked(&CHILDREN.runs).iter().all(|active| active == run)
}

/// The control group that this process is in for its runs; held while it is entered or left.
pub(super) fn group() -> MutexGuard<'static, Weak<Entered>> {
    locked(&CHILDREN.group)
}
