//! What the processes of an attempt may use of the machine, brought about: `resources:` of its task.
//!
//! The kernel's control groups do it where we can make some (`groups`): the kernel then refuses what is too much, and ends
//! what needs more memory than there is. Elsewhere we look at what a tree of processes uses, and end it ourselves
//! (`sampling`). What is written to the disk is always looked at: ordinary users have no other way. `probe` tells what
//! this machine has. Either way a task that reaches a limit comes to its end as a whole, and says which limit it was.

mod disk;
mod groups;
mod probe;
mod roots;
mod sampling;
mod scope;

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use conductor_core::plan::{Reached, Resource, TaskLimits};
use conductor_core::run::event::Processes;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Millis;
use rustix::process::{Resource as Limit, Rlimit, getrlimit, setrlimit};

use super::{Exit, Mark};
use disk::Grown;
use groups::Group;
pub use probe::{Findings, How, Tier, findings, unkept};
pub(super) use roots::Roots;
use sampling::Tree;

/// How often it is looked at what a limited attempt uses.
const LOOK: Duration = Duration::from_millis(200);

/// The limits of one tree of processes, and the folders whose growth is its use of the disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Limits {
    pub of: TaskLimits,
    pub folders: Vec<PathBuf>,
}

impl Limits {
    pub fn is_none(&self) -> bool {
        self.of.is_none()
    }
}

/// Where the control groups of a run's attempts are made: none before the first limited attempt.
#[derive(Debug, Default)]
pub(super) struct RunRoots(Mutex<Option<Arc<Roots>>>);

impl RunRoots {
    /// Nothing on a machine that lets us make none.
    fn get(&self, run: &RunId, folder: Option<&Path>) -> io::Result<Option<Arc<Roots>>> {
        if !findings().has_groups() {
            return Ok(None);
        }
        let mut roots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(roots) = &*roots {
            return Ok(Some(roots.clone()));
        }
        let made = Roots::make(run, folder).map_err(io::Error::other)?;
        Ok(Some(roots.insert(Arc::new(made)).clone()))
    }

    /// Nothing of the run is at work any more.
    pub(super) fn leave(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// What keeps a tree of processes to its limits, from before its start to after its end.
#[derive(Debug)]
pub(super) struct Guard {
    limits: TaskLimits,
    group: Option<Arc<Group>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Seen {
    /// The process of which all others come, once it was started.
    main: Option<u32>,
    is_over: bool,
    reached: Option<Reached>,
    /// The most memory that all of them had at once.
    memory: u64,
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guard {
    /// Nothing where nothing is limited. Blocks while it looks at what is in the folders now.
    pub(super) fn prepare(
        limits: &Limits,
        mark: &Mark,
        roots: &RunRoots,
        folder: Option<&Path>,
    ) -> io::Result<Option<Guard>> {
        if limits.is_none() {
            return Ok(None);
        }
        let prepared = || {
            let roots = roots.get(&mark.run, folder)?;
            let group = roots.map(|roots| roots.group(&limits.of)).transpose()?.flatten();
            Guard::new(limits, mark, group).map(Some)
        };
        prepared().map_err(|error| unset(&limits.of, error))
    }

    fn new(limits: &Limits, mark: &Mark, group: Option<Group>) -> io::Result<Guard> {
        let group = group.map(Arc::new);
        let shared = Arc::new(Shared::default());
        let guard = Guard { limits: limits.of, group: group.clone(), shared: shared.clone() };
        let watch = Watch {
            limits: limits.of,
            grown: limits.of.disk.map(|_| Grown::since_now(&limits.folders)),
            tree: Tree::of(mark.clone()),
            group,
            shared,
        };
        if watch.is_needed() {
            // Before anything is started: what cannot be watched does not start.
            std::thread::Builder::new().name("limits".into()).spawn(move || watch.keep())?;
        }
        Ok(guard)
    }

    /// The process is in its groups, and has its limits, when it begins.
    #[expect(unsafe_code, reason = "what runs between fork and exec has to be vouched for")]
    pub(super) fn enter(&self, command: &mut Command) -> io::Result<()> {
        let doors = self.group.as_ref().map(|group| group.doors()).transpose();
        let doors = doors.map_err(|error| unset(&self.limits, error))?.unwrap_or_default();
        let files = self
            .limits
            .open_files
            .map(|files| getrlimit(Limit::Nofile).maximum.map_or(files, |most| most.min(files)));
        let enter = move || {
            for door in &doors {
                rustix::io::write(door, b"0")?;
            }
            if let Some(files) = files {
                setrlimit(Limit::Nofile, Rlimit { current: Some(files), maximum: Some(files) })?;
            }
            Ok(())
        };
        // SAFETY: nothing but system calls on what was opened before; it takes no lock and allocates nothing.
        unsafe { command.pre_exec(enter) };
        Ok(())
    }

    /// It was started.
    pub(super) fn watch(&self, main: u32) {
        self.shared.seen().main = Some(main);
        self.shared.changed.notify_all();
    }

    /// Its main process is about to be collected: from then on its number may be another's.
    pub(super) fn over(&self) {
        self.shared.seen().is_over = true;
        self.shared.changed.notify_all();
    }

    /// Ends all that is in its group, where it has one.
    pub(super) fn kill(&self) {
        if let Some(group) = &self.group {
            group.kill();
        }
    }

    /// After its main process was collected: what else was measured is added to what it took, and nothing is left of its
    /// group. The limit that it came to its end by: one that ended well has got over it. Blocks.
    pub(super) fn finish(self, exit: Exit, took: &mut Processes) -> Option<Reached> {
        self.over();
        let mut seen = self.shared.seen();
        if let Some(group) = &self.group {
            seen.memory = seen.memory.max(group.peak());
            took.cpu = took.cpu.max(group.cpu().unwrap_or(Millis(0)));
            // It may have come to that after the last look.
            seen.reached = seen.reached.or_else(|| group.reached(&self.limits));
        }
        took.memory_together = took.memory_together.max(seen.memory);
        seen.reached.filter(|_| exit != Exit::Code(0))
    }
}

/// However it is let go of.
impl Drop for Guard {
    fn drop(&mut self) {
        self.over();
        if let Some(group) = &self.group {
            group.remove();
        }
    }
}

/// Looks at what a tree uses until it is over, and ends it where that is too much.
struct Watch {
    limits: TaskLimits,
    group: Option<Arc<Group>>,
    grown: Option<Grown>,
    tree: Tree,
    shared: Arc<Shared>,
}

impl Watch {
    /// The kernel does the rest by itself.
    fn is_needed(&self) -> bool {
        let TaskLimits { memory, processes, disk, .. } = self.limits;
        memory.is_some() || processes.is_some() || disk.is_some() || self.group.is_some()
    }

    fn keep(mut self) {
        let mut disk_due = Instant::now();
        while let Some(main) = self.next_look() {
            let (mut reached, memory) = self.look(main);
            if let (Some(grown), None, true) = (&mut self.grown, reached, Instant::now() >= disk_due) {
                let begun = Instant::now();
                let now = grown.now(self.limits.disk.unwrap_or(u64::MAX));
                disk_due = begun + disk::pause(begun.elapsed());
                reached = exceeded(Resource::Disk, self.limits.disk, now);
            }
            let shared = self.shared.clone();
            let mut seen = shared.seen();
            seen.memory = seen.memory.max(memory);
            if seen.is_over {
                return;
            }
            if let Some(reached) = reached {
                seen.reached = Some(reached);
                // Held, so that nothing is ended that was collected meanwhile: its number may be another's.
                self.end(main);
                return;
            }
        }
    }

    /// Until the next look is due; nothing when there is none.
    fn next_look(&self) -> Option<u32> {
        let seen = self.shared.seen();
        let (seen, _) = self
            .shared
            .changed
            .wait_timeout_while(seen, LOOK, |seen| !seen.is_over)
            .unwrap_or_else(PoisonError::into_inner);
        let mut seen = seen;
        while seen.main.is_none() && !seen.is_over {
            seen = self.shared.changed.wait(seen).unwrap_or_else(PoisonError::into_inner);
        }
        seen.main.filter(|_| !seen.is_over)
    }

    /// The limit that is reached, and what it has of memory.
    fn look(&mut self, main: u32) -> (Option<Reached>, u64) {
        let by_group = |resource| self.group.as_ref().is_some_and(|group| group.limits(resource));
        let memory = self.limits.memory.filter(|_| !by_group(Resource::Memory));
        let processes = self.limits.processes.filter(|_| !by_group(Resource::Processes));
        let of_group = self.group.as_ref().and_then(|group| group.reached(&self.limits));
        if of_group.is_some() || (memory.is_none() && processes.is_none()) {
            return (of_group, self.group.as_ref().map_or(0, |group| group.memory()));
        }
        let used = self.tree.look(main, memory);
        let reached = exceeded(Resource::Memory, memory, used.memory)
            .or_else(|| exceeded(Resource::Processes, processes, used.processes));
        (reached, used.memory)
    }

    fn end(&mut self, main: u32) {
        match &self.group {
            Some(group) => group.kill(),
            None => self.tree.kill(main),
        }
        // What is in no group, or has left it for one of another machine's tool.
        if let Some(main) = super::pid(main) {
            let _ = rustix::process::kill_process_group(main, rustix::process::Signal::KILL);
        }
    }
}

/// Without them it is not started. What passes by itself is waited for, and known by the system's own error.
fn unset(limits: &TaskLimits, error: io::Error) -> io::Error {
    use rustix::io::Errno as E;
    match E::from_io_error(&error) {
        Some(E::MFILE | E::NFILE | E::AGAIN | E::NOMEM) => error,
        _ => io::Error::other(format!("its limits ({limits}) cannot be set: {error}")),
    }
}

fn exceeded(resource: Resource, limit: Option<u64>, used: u64) -> Option<Reached> {
    let limit = limit.filter(|limit| used > *limit)?;
    Some(Reached { resource, limit, peak: Some(used) })
}

#[cfg(test)]
mod tests;
