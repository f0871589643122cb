//! Everything a process started, found again however it hid.
//!
//! A child can leave its process group and its parent, but seldom its environment: every process we start carries a mark,
//! and what it starts inherits it. Orphans come back to us (child subreaper), so a straggler is either our own child or
//! has a living parent that is. Those that wiped their environment are found by their descent.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use conductor_core::run::event::Process;
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use rustix::process::{Signal, WaitOptions};
use serde::{Deserialize, Serialize};

use super::control_group::LeftGroups;
use super::descent::Recorded;
use super::run_folder::{self, RunFolder};
use super::{children, pid, shim};

const RUN: &str = "CONDUCTOR_RUN";
const TASK: &str = "CONDUCTOR_TASK";
const ATTEMPT: &str = "CONDUCTOR_ATTEMPT";
/// Which process of ours started a process, a coordinator or a shim, and that it is spoken to over a pipe of that one's.
pub(super) const COORDINATOR: &str = "CONDUCTOR_COORDINATOR";
const TALKS: &str = "CONDUCTOR_TALKS";
/// Carried by programs of our own, such as git, and by what they leave running on purpose: no attempt's.
const OWN: &str = "CONDUCTOR_OWN";
/// Carried by a shim, with its folder.
const SHIM: &str = "CONDUCTOR_SHIM";

/// How long stragglers are chased before we give up on them.
pub(super) const CHASE: Duration = Duration::from_secs(2);

/// Whose a process is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub run: RunId,
    pub task: TaskId,
    pub attempt: Attempt,
    /// Its run's folder in the home that it is started from; nothing where it may be of any.
    #[serde(default)]
    pub folder: Option<OsString>,
}

impl Mark {
    pub(super) fn variables(&self, converses: bool) -> impl Iterator<Item = (&'static str, OsString)> {
        let all = [
            (RUN, self.run.as_str().into()),
            (TASK, self.task.as_str().into()),
            (ATTEMPT, self.attempt.to_string().into()),
            (COORDINATOR, children::us().into()),
            (run_folder::VARIABLE, self.folder.clone().unwrap_or_default()),
        ];
        all.into_iter().chain(converses.then(|| (TALKS, "1".into())))
    }

    /// Those of a shim: it is the attempt's, and none of what a coordinator has to end with itself.
    pub(super) fn of_shim(&self, folder: &Path) -> impl Iterator<Item = (&'static str, OsString)> {
        let own = self.variables(false).filter(|(name, _)| *name != COORDINATOR);
        own.chain([(SHIM, folder.as_os_str().to_owned())])
    }

    fn is_on(&self, environment: &[u8]) -> bool {
        let has = |name: &str, value: &str| has_variable(environment, name, value);
        has(RUN, self.run.as_str())
            && has(TASK, self.task.as_str())
            && has(ATTEMPT, &self.attempt.to_string())
            && self.is_from_its_folder(environment)
    }

    fn is_from_its_folder(&self, environment: &[u8]) -> bool {
        let Some(folder) = &self.folder else { return true };
        let is_other = |said: &[u8]| !said.is_empty() && said != folder.as_encoded_bytes();
        !variables(environment, run_folder::VARIABLE).any(is_other)
    }
}

/// Whether a process carries this mark.
pub(super) fn carries(process: u32, mark: &Mark) -> bool {
    mark.is_on(&environment(process))
}

/// Says in a program's environment that it is our own.
pub(super) fn mark_own(command: &mut std::process::Command) {
    command.env(OWN, children::us());
}

/// Our environment for what attempts start, where we are a program of another coordinator's own ourselves.
pub(crate) fn environment_of_attempts() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name != OWN)
}

/// Whether it is a program of that coordinator's own, what one left running on purpose, or this very process: a reaper
/// whose coordinator was killed before it let the reaper out is in the group that it clears.
pub(super) fn is_own(process: u32, coordinator: &str) -> bool {
    process == std::process::id()
        || has_variable(&environment(process), OWN, coordinator)
        || children::is_waited_for(process)
}

/// Whether a process of ours carries neither an attempt's mark nor our own.
pub(super) fn is_unmarked(process: u32) -> bool {
    is_unmarked_by(&environment(process))
}

fn is_unmarked_by(environment: &[u8]) -> bool {
    !has_variable(environment, COORDINATOR, children::us()) && !has_variable(environment, OWN, children::us())
}

/// A process that is our child and that nothing waits for.
pub(super) struct Orphan {
    pub(super) process: u32,
    pub(super) start_time: u64,
    environment: Vec<u8>,
}

impl Orphan {
    pub(super) fn carries(&self, mark: &Mark) -> bool {
        mark.is_on(&self.environment)
    }

    pub(super) fn is_of(&self, run: &RunId) -> bool {
        has_variable(&self.environment, RUN, run.as_str())
    }

    pub(super) fn is_unmarked(&self) -> bool {
        is_unmarked_by(&self.environment)
    }
}

/// Kills matching stragglers until a look finds none: each death brings its children to the surface.
pub(super) async fn chase(belongs: impl Fn(&Orphan) -> bool) {
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
    children::wait_for_starts();
    for process in all {
        if children::is_waited_for(process) {
            continue;
        }
        let Some(Stat { state, start_time, .. }) = stat(process).filter(|stat| stat.parent == us) else {
            continue;
        };
        if state == 'Z' {
            collect(process);
        } else if !children::is_foreign(process, start_time)
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
    end_but(run, &RunFolder::of(folder), folder, noted, &[])
}

/// As `end_leftovers`, but for these shims and what they hold. From here on the run is driven in this folder.
pub(crate) fn end_leftovers_but(
    run: &RunId,
    folder: &Path,
    noted: &[Process],
    spared: &[(PathBuf, String)],
) -> usize {
    let here = RunFolder::of(folder);
    let ended = end_but(run, &here, folder, noted, spared);
    here.settle();
    ended
}

fn end_but(
    run: &RunId,
    here: &RunFolder,
    run_folder: &Path,
    noted: &[Process],
    spared: &[(PathBuf, String)],
) -> usize {
    let noted = noted.iter().filter(|_| !here.is_copy());
    noted.for_each(|process| end_group(*process, Signal::KILL));
    let is_spared = |environment: &[u8]| {
        spared.iter().any(|(folder, name)| {
            has_variable(environment, COORDINATOR, name)
                || folder.to_str().is_some_and(|folder| has_variable(environment, SHIM, folder))
        })
    };
    let ended = end_all(|environment| {
        has_variable(environment, RUN, run.as_str())
            && here.has_started(environment)
            && !is_spared(environment)
    });
    ended + if here.is_copy() { 0 } else { end_noted(run_folder) }
}

/// What is found only by what was written down in a run's folder.
fn end_noted(folder: &Path) -> usize {
    let of_shims: usize = shim::folders(folder).iter().map(|folder| LeftGroups::of(folder, None).end()).sum();
    Recorded::of(folder).end(false) + LeftGroups::of(folder, None).end() + of_shims
}

/// Ends what wiped its mark and was written down in a run's folder, unless a shim that lives holds it.
pub(super) fn end_recorded(folder: &Path) {
    Recorded::of(folder).end(true);
}

/// Sends a signal to the group of a process, if it still is that process.
pub(super) fn end_group(process: Process, signal: Signal) {
    if process.start_time != 0
        && start_time(process.pid) == Some(process.start_time)
        && let Some(group) = pid(process.pid)
    {
        let _ = rustix::process::kill_process_group(group, signal);
    }
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
    pub(super) folder: RunFolder,
    pub(super) coordinator: &'a str,
    /// What of it wiped its mark.
    pub(super) recorded: Recorded,
    pub(super) groups: LeftGroups,
}

impl Left<'_> {
    /// Ends those that were spoken to over its pipe, or over that of a shim that is dead: without it they can do nothing but
    /// spend.
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

    /// What a living shim holds, or another coordinator of the run has started, is not.
    fn is_on(&self, environment: &[u8]) -> bool {
        has_variable(environment, RUN, self.run.as_str())
            && variable(environment, COORDINATOR).is_some_and(|name| {
                name == self.coordinator || (!lives(name) && self.folder.has_started(environment))
            })
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

/// Whether the process of this name (see `children::us`) is alive. One that is exiting does nothing any more, though it has yet to
/// become a zombie: by then its locks are free and its pipes closed already.
pub(super) fn lives(name: &str) -> bool {
    let parts = name.split_once('.').and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse().ok()?)));
    parts.is_some_and(|(pid, start): (u32, u64)| {
        stat(pid).is_some_and(|stat| stat.start_time == start && stat.state != 'Z' && !stat.is_exiting)
    })
}

/// Living processes of a run, by number, whichever home they were started from.
pub fn alive(run: &RunId) -> Vec<u32> {
    living_with(&|environment: &[u8]| has_variable(environment, RUN, run.as_str()))
}

/// Those that were started from this folder of the run.
pub fn alive_of(run: &RunId, folder: &Path) -> Vec<u32> {
    let folder = RunFolder::of(folder);
    living_with(&|environment: &[u8]| {
        has_variable(environment, RUN, run.as_str()) && folder.has_started(environment)
    })
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
    variables(environment, name).any(|found| found == value.as_bytes())
}

fn variable<'a>(environment: &'a [u8], name: &str) -> Option<&'a str> {
    variables(environment, name).next().and_then(|value| std::str::from_utf8(value).ok())
}

pub(super) fn variables<'a>(environment: &'a [u8], name: &str) -> impl Iterator<Item = &'a [u8]> {
    environment
        .split(|&byte| byte == 0)
        .filter_map(move |entry| entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")))
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
