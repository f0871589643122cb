//! How many attempts at once the limits of this process leave room for.
//!
//! File descriptors are limited for each process, processes for each user and for each control group. Most machines
//! leave room for far more than is ever asked for; a container or a shell with a tight limit does not.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

use crate::process;

/// Descriptors for the coordinator itself, its store and its git; and for each attempt: transcript, stream, pipe, the
/// process, and its share of git's pipes.
const OWN_DESCRIPTORS: u64 = 32;
const DESCRIPTORS: u64 = 6;

/// Threads and processes for the coordinator itself; for each command, with its shell and our git; and for each agent,
/// whose runtime has a dozen threads before it does anything.
const OWN_PROCESSES: u64 = 8;
const PROCESSES: u64 = 4;
const PROCESSES_OF_AGENT: u64 = 32;

/// With a limit above this, nothing is counted.
const PLENTY: u64 = 20_000;

/// How many fit, and which limit it is that allows no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacity {
    /// At least one: where even that is too much, it waits and says for what.
    pub attempts: u32,
    pub limit: String,
}

/// The tightest of the limits. `with_agents` where attempts are agents, which need more than commands do.
pub fn capacity(with_agents: bool) -> Option<Capacity> {
    let each = if with_agents { PROCESSES_OF_AGENT } else { PROCESSES };
    let descriptors = getrlimit(Resource::Nofile).maximum.map(|most| {
        let open = fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
        fitting(most, open, OWN_DESCRIPTORS, DESCRIPTORS, || format!("{most} file descriptors (ulimit -n)"))
    });
    let of_user = getrlimit(Resource::Nproc).current.filter(|_| !rustix::process::geteuid().is_root());
    let of_user = of_user.filter(|most| *most < PLENTY).map(|most| {
        fitting(most, processes_of_user(), OWN_PROCESSES, each, || format!("{most} processes (ulimit -u)"))
    });
    let of_group = pids_of_groups().map(|(most, now, file)| {
        fitting(most, now, OWN_PROCESSES, each, || format!("{most} processes ({})", file.display()))
    });
    [descriptors, of_user, of_group].into_iter().flatten().min_by_key(|capacity| capacity.attempts)
}

fn fitting(most: u64, used: u64, own: u64, each: u64, limit: impl Fn() -> String) -> Capacity {
    let free = most.saturating_sub(used).saturating_sub(own) / each;
    Capacity { attempts: u32::try_from(free).unwrap_or(u32::MAX).max(1), limit: limit() }
}

/// Threads count like processes.
fn processes_of_user() -> u64 {
    let us = rustix::process::geteuid().as_raw();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        let is_process = entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok());
        is_process && entry.metadata().is_ok_and(|data| data.uid() == us)
    });
    ours.map(|entry| fs::read_dir(entry.path().join("task")).map_or(1, |tasks| tasks.count() as u64)).sum()
}

/// The control group of this process, or the one around it, in which the fewest processes are still allowed: how many
/// may be, how many are, and where that is said.
fn pids_of_groups() -> Option<(u64, u64, PathBuf)> {
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let here = process::control_group()?;
    let around = here.ancestors().take_while(|folder| folder.join("cgroup.procs").exists());
    let limited = around.filter_map(|folder| {
        let file = folder.join("pids.max");
        Some((number(&file)?, number(&folder.join("pids.current"))?, file))
    });
    limited.filter(|(most, ..)| *most < PLENTY).min_by_key(|(most, now, _)| most.saturating_sub(*now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_already_and_what_we_need_ourselves_is_left_out() {
        let fits = |most, used| fitting(most, used, 32, 6, String::new).attempts;
        assert_eq!(fits(64, 8), 4);
        assert_eq!(fits(1024, 8), 164);
        assert_eq!(fits(20, 30), 1, "one is always tried");
        assert_eq!(fits(u64::MAX, 0), u32::MAX);
    }
}
