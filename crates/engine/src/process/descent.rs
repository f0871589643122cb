//! Descent: processes that wiped their environment, and with it the mark, found by whose children they were.
//!
//! Orphans come back to the coordinator, so that everything its attempts started is always somewhere below it. To which
//! attempt an unmarked orphan belongs is known in two ways. While its parents live, a look at the process table every
//! half second leads from it to the main process of an attempt, and that is remembered. One that was never seen so can
//! only be of attempts whose main process is as old as itself: it is ended when none of those is at work any more.
//!
//! When the coordinator is killed, its orphans go to init and nothing leads to them. So what was seen without a mark is
//! also written to a file in the run's folder, for the reaper and for the next coordinator. A process is only ever ended
//! by number and start time, in the same boot. One that wiped its mark less than a look before the kill is not found.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use conductor_core::values::ids::RunId;
use serde::{Deserialize, Serialize};

use super::children::{self, OfAttempt};
use super::tree::{self, Stat};

/// In a run's folder: what was seen without a mark.
const FILE: &str = "descent.jsonl";

pub(super) const LOOK: Duration = Duration::from_millis(500);

/// Which processes came from attempts of one run.
#[derive(Debug)]
pub(super) struct Descent {
    run: RunId,
    seen: Mutex<Seen>,
}

/// Where what is seen is written, and what was seen.
#[derive(Debug, Default)]
struct Seen {
    file: Option<PathBuf>,
    processes: HashMap<(u32, u64), Origin>,
}

#[derive(Debug, Clone)]
struct Origin {
    from: OfAttempt,
    written: bool,
}

/// A process that had no mark when it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    pid: u32,
    start_time: u64,
    boot: String,
    /// It came from an agent that is spoken to.
    #[serde(rename = "talks")]
    converses: bool,
    /// The shim that holds that agent: as long as it lives, it sees to what the agent has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shim: Option<String>,
}

impl Entry {
    fn is_held(&self) -> bool {
        self.shim.as_deref().is_some_and(tree::lives)
    }
}

impl Descent {
    pub(super) fn of(run: RunId) -> Descent {
        Descent { run, seen: Mutex::default() }
    }

    /// From here on, what has no mark is written down in this folder of the run.
    pub(super) fn record(&self, folder: &Path) {
        *self.seen() = Seen { file: Some(folder.join(FILE)), processes: HashMap::new() };
    }

    /// Nothing is left that would have to be found again.
    pub(super) fn over(&self) {
        let file = {
            let mut seen = self.seen();
            seen.processes.clear();
            seen.file.clone()
        };
        if let Some(file) = file {
            let _ = fs::remove_file(file);
        }
    }

    /// One look: who came from whom.
    pub(super) fn look(&self) {
        let roots = children::attempts_of(&self.run);
        if roots.is_empty() {
            return;
        }
        let table: HashMap<u32, Stat> =
            tree::processes().filter_map(|process| Some((process, tree::stat(process)?))).collect();
        let mut seen = self.seen();
        seen.processes.retain(|(pid, start), _| table.get(pid).is_some_and(|stat| stat.start_time == *start));
        for (&pid, stat) in table.iter().filter(|(_, stat)| stat.state != 'Z') {
            if roots.contains_key(&pid) {
                continue;
            }
            let name = (pid, stat.start_time);
            if !seen.processes.contains_key(&name)
                && let Some(from) = origin(pid, &table, &roots, &seen.processes)
            {
                seen.processes.insert(name, Origin { from, written: false });
            }
            let Seen { file, processes } = &mut *seen;
            // One that was marked when it was seen first may have wiped that since.
            if let (Some(file), Some(origin)) = (file.as_ref(), processes.get_mut(&name))
                && !origin.written
                && tree::is_unmarked(pid)
            {
                // What cannot be written now is tried again at the next look.
                origin.written = write(file, pid, stat.start_time, &origin.from).is_ok();
            }
        }
    }

    /// Whether an unmarked orphan of ours came from an attempt that is over, of this run or of another of this process.
    pub(super) fn is_of_the_past(&self, process: u32, start_time: u64) -> bool {
        let at_work = children::attempts();
        let from = self.seen().processes.get(&(process, start_time)).map(|origin| origin.from.mark.clone());
        match from {
            Some(mark) => !at_work.values().any(|current| current.mark == mark),
            // Of two that began in the same tick of the clock, the later one has the higher number.
            None => at_work.keys().all(|&main| {
                tree::start_time(main).is_none_or(|began| (began, main) > (start_time, process))
            }),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The attempt that a process came from: the first of its parents that is known says it.
fn origin(
    process: u32,
    table: &HashMap<u32, Stat>,
    roots: &HashMap<u32, OfAttempt>,
    known: &HashMap<(u32, u64), Origin>,
) -> Option<OfAttempt> {
    let mut current = process;
    // No chain of parents is longer than there are processes, whatever changed while we looked.
    for _ in 0..table.len() {
        let stat = table.get(&current)?;
        let found = roots.get(&current).cloned();
        let recorded = || known.get(&(current, stat.start_time)).map(|origin| origin.from.clone());
        if let Some(found) = found.or_else(recorded) {
            return Some(found);
        }
        current = stat.parent;
    }
    None
}

fn write(file: &Path, pid: u32, start_time: u64, from: &OfAttempt) -> std::io::Result<()> {
    let OfAttempt { converses, shim, .. } = from.clone();
    let mut line = serde_json::to_vec(&Entry { pid, start_time, boot: boot(), converses, shim })?;
    line.push(b'\n');
    File::options().create(true).append(true).open(file)?.write_all(&line)
}

/// What a dead coordinator has written down of a run.
pub(super) struct Recorded {
    file: PathBuf,
}

impl Recorded {
    pub(super) fn of(folder: &Path) -> Recorded {
        Recorded { file: folder.join(FILE) }
    }

    fn entries(&self) -> Vec<Entry> {
        let boot = boot();
        let lines = fs::read_to_string(&self.file).unwrap_or_default();
        let entries = lines.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok());
        entries.filter(|entry| entry.boot == boot).collect()
    }

    /// Those that are alive, and all below them.
    fn alive(&self, only_talking: bool) -> HashSet<u32> {
        let entries = self.entries().into_iter();
        let entries = entries.filter(|entry| !entry.is_held() && (entry.converses || !only_talking));
        let mut alive: HashSet<u32> = entries
            .filter(|entry| {
                tree::stat(entry.pid)
                    .is_some_and(|stat| stat.start_time == entry.start_time && stat.state != 'Z')
            })
            .map(|entry| entry.pid)
            .collect();
        if alive.is_empty() {
            return alive;
        }
        let table: Vec<(u32, Stat)> =
            tree::processes().filter_map(|process| Some((process, tree::stat(process)?))).collect();
        loop {
            let below = table.iter().filter(|(pid, stat)| {
                stat.state != 'Z' && alive.contains(&stat.parent) && !alive.contains(pid)
            });
            let below: Vec<u32> = below.map(|(pid, _)| *pid).collect();
            if below.is_empty() {
                return alive;
            }
            alive.extend(below);
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.alive(false).is_empty()
    }

    /// Ends them, or those that came from agents that are spoken to. Returns how many there were.
    pub(super) fn end(&self, only_talking: bool) -> usize {
        let (start, mut found) = (Instant::now(), HashSet::new());
        loop {
            let alive = self.alive(only_talking);
            if alive.is_empty() || start.elapsed() > tree::CHASE {
                break;
            }
            for process in alive {
                found.insert(process);
                tree::kill(process);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        if !only_talking && !self.entries().iter().any(Entry::is_held) {
            let _ = fs::remove_file(&self.file);
        }
        found.len()
    }
}

/// What a run's folder says of processes is of another one's.
pub(super) fn forget(run_folder: &Path) {
    let _ = fs::remove_file(run_folder.join(FILE));
}

/// Numbers and start times say nothing after the machine was started anew.
pub(super) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use conductor_core::values::ids::{Attempt, TaskId};

    use super::super::tree::Mark;
    use super::*;

    fn sleeper() -> std::process::Child {
        std::process::Command::new("sleep").arg("600").spawn().unwrap()
    }

    #[test]
    fn a_process_is_ended_only_by_number_start_time_and_boot() {
        let folder = tempfile::tempdir().unwrap();
        let (mut theirs, mut ours) = (sleeper(), sleeper());
        let started = |child: &std::process::Child| tree::start_time(child.id()).unwrap();
        let file = folder.path().join(FILE);
        // The number of a stranger that was used before, and one of before the machine was started anew.
        let run = RunId::parse("r").unwrap();
        let (task, attempt) = (TaskId::parse("t").unwrap(), Attempt(1));
        let mark = Mark { run, task, attempt, folder: None };
        let from = OfAttempt { mark, converses: false, shim: None };
        write(&file, theirs.id(), started(&theirs) - 1, &from).unwrap();
        // What a living shim holds is its matter.
        let held = OfAttempt { shim: Some(children::us().to_owned()), ..from.clone() };
        write(&file, theirs.id(), started(&theirs), &held).unwrap();
        let (pid, start_time) = (theirs.id(), started(&theirs));
        let old = Entry { pid, start_time, boot: "another".into(), converses: false, shim: None };
        let line = format!("{}\nnot json\n", serde_json::to_string(&old).unwrap());
        File::options().append(true).open(&file).unwrap().write_all(line.as_bytes()).unwrap();
        assert!(Recorded::of(folder.path()).is_over());
        write(&file, ours.id(), started(&ours), &from).unwrap();
        let recorded = Recorded::of(folder.path());
        assert!(!recorded.is_over());
        assert_eq!(recorded.end(true), 0, "it came from a command");
        assert_eq!(recorded.end(false), 1);
        ours.wait().unwrap();
        assert_eq!(theirs.try_wait().unwrap(), None, "a stranger is never touched");
        theirs.kill().unwrap();
        theirs.wait().unwrap();
        assert!(file.exists(), "what is held is still to be found");
    }
}
