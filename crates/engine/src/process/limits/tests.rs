//! Hogs, with the limits that the kernel keeps where this machine has such, and always with those that are looked at.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use conductor_core::values::ids::{Attempt, TaskId};

use super::super::{children, pid, tree};
use super::*;

const MIB: u64 = 1 << 20;

/// Holds 200 MiB, or more, until it is ended.
const MEMORY_HOG: &str = "x=$(head -c 209715200 /dev/zero | tr '\\0' a); sleep 600";

/// Most of what they have is one and the same: counted for each, it would be 8 times as much.
const SHARING: &str = "x=$(head -c 20971520 /dev/zero | tr '\\0' a); for i in 1 2 3 4 5 6 7; do (sleep 0.2; sleep 0.6) & done; wait";

const PROCESS_HOG: &str = "i=0; while [ $i -lt 100 ]; do sleep 600 & i=$((i+1)); done; wait";

struct Seen {
    exit: Exit,
    took: Processes,
    reached: Option<Reached>,
}

fn limits() -> TaskLimits {
    TaskLimits::default()
}

fn mark(task: &str) -> Mark {
    // Tests that run at the same time do not find each other's processes.
    let run = RunId::parse(&format!("limited{}", std::process::id())).unwrap();
    Mark { run, task: TaskId::parse(task).unwrap(), attempt: Attempt(1), folder: None }
}

fn run(of: TaskLimits, folders: &[&Path], script: &str, group: Option<Group>) -> Seen {
    let mark = mark("hog");
    let folders = folders.iter().map(|folder| folder.to_path_buf()).collect();
    let guard = Guard::new(&Limits { of, folders }, &mark, group).unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).envs(mark.variables(false)).process_group(0);
    guard.enter(&mut command).unwrap();
    let starting = children::starting();
    let mut child = command.spawn().unwrap();
    children::remember(child.id());
    drop(starting);
    guard.watch(child.id());
    let main = pid(child.id()).unwrap();
    let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
    rustix::process::waitid(rustix::process::WaitId::Pid(main), options).unwrap();
    guard.over();
    let exit = Exit::from(child.wait().unwrap());
    children::forget(child.id());
    let mut took = Processes::default();
    let reached = guard.finish(exit, &mut took);
    Seen { exit, took, reached }
}

/// Nothing, and said so, where this machine lets us make no groups.
fn roots(name: &str) -> Option<Roots> {
    match Roots::make(&RunId::parse(name).unwrap(), None) {
        Ok(roots) => Some(roots),
        Err(why) => {
            eprintln!("SKIPPED: no control groups here: {why}");
            None
        }
    }
}

fn has(roots: &Roots, resource: Resource) -> bool {
    let has = roots.controllers().any(|controller| controller.resource() == resource);
    if !has {
        eprintln!("SKIPPED: the control groups here have no limit of {resource}");
    }
    has
}

fn ended_for(seen: &Seen, resource: Resource) {
    assert_eq!(seen.exit, Exit::Signal(9), "{:?}", seen.reached);
    assert_eq!(seen.reached.map(|reached| reached.resource), Some(resource));
}

#[test]
fn a_hog_of_memory_is_ended_by_the_kernel_with_all_that_it_started() {
    let Some(roots) = roots("kernelmemory").filter(|roots| has(roots, Resource::Memory)) else { return };
    let of = TaskLimits { memory: Some(64 * MIB), ..limits() };
    let group = roots.group(&of).unwrap().unwrap();
    let folders = group.folders();
    // The hog is below another process, and one beside it is to end with it.
    let seen = run(of, &[], &format!("sleep 600 & ({MEMORY_HOG}) & wait"), Some(group));
    ended_for(&seen, Resource::Memory);
    let peak = seen.reached.unwrap().peak.unwrap_or(64 * MIB);
    assert!((32 * MIB..=64 * MIB).contains(&peak), "{peak}");
    assert!(seen.took.memory_together > 32 * MIB, "{:?}", seen.took);
    assert_eq!(tree::living(&mark("hog")), 0);
    assert!(folders.iter().all(|folder| !folder.exists()), "the groups of an attempt are taken away");
}

#[test]
fn a_hog_of_processes_is_refused_more_by_the_kernel_and_ended() {
    let Some(roots) = roots("kernelpids").filter(|roots| has(roots, Resource::Processes)) else { return };
    let of = TaskLimits { processes: Some(20), ..limits() };
    let group = roots.group(&of).unwrap().unwrap();
    let seen = run(of, &[], PROCESS_HOG, Some(group));
    // A shell that is refused another process may give up before we look.
    assert_ne!(seen.exit, Exit::Code(0));
    assert_eq!(seen.reached, Some(Reached { resource: Resource::Processes, limit: 20, peak: None }));
}

#[test]
fn processors_are_shared_out_by_the_kernel() {
    let Some(roots) = roots("kernelcpu").filter(|roots| has(roots, Resource::Cpu)) else { return };
    let of = TaskLimits { cpu: Some(2), ..limits() };
    let group = roots.group(&of).unwrap().unwrap();
    let said = group.folders().iter().find_map(|folder| {
        let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
        read("cpu.max")
            .or_else(|| Some(format!("{} {}", read("cpu.cfs_quota_us")?.trim(), read("cpu.cfs_period_us")?)))
    });
    assert_eq!(said.unwrap().trim(), "200000 100000");
    let seen = run(of, &[], "exit 0", Some(group));
    assert_eq!((seen.exit, seen.reached), (Exit::Code(0), None));
}

#[test]
fn what_stays_within_its_limits_ends_as_it_would_without() {
    let of = TaskLimits { memory: Some(512 * MIB), processes: Some(64), cpu: Some(1), ..limits() };
    let roots = roots("modest");
    let group = roots.as_ref().and_then(|roots| roots.group(&of).unwrap());
    for group in [None, group] {
        let seen = run(of, &[], "x=$(head -c 1048576 /dev/zero | tr '\\0' a); sleep 0.5; exit 3", group);
        assert_eq!((seen.exit, seen.reached), (Exit::Code(3), None));
        assert!(seen.took.memory_together > MIB, "{:?}", seen.took);
    }
}

#[test]
fn a_hog_of_memory_is_found_by_a_look_at_its_tree() {
    let of = TaskLimits { memory: Some(64 * MIB), ..limits() };
    let seen = run(
        of,
        &[],
        &format!(
            "sleep 600 & (setsid sh -c \"{}\") & wait",
            MEMORY_HOG.replace('"', "\\\"").replace('$', "\\$")
        ),
        None,
    );
    ended_for(&seen, Resource::Memory);
    assert!(seen.reached.unwrap().peak.unwrap() > 64 * MIB);
    assert_eq!(tree::living(&mark("hog")), 0);
}

#[test]
fn memory_that_processes_share_is_counted_once() {
    let of = TaskLimits { memory: Some(100 * MIB), ..limits() };
    let seen = run(of, &[], SHARING, None);
    assert_eq!((seen.exit, seen.reached), (Exit::Code(0), None));
}

#[test]
fn a_hog_of_processes_is_found_by_a_look_at_its_tree() {
    let of = TaskLimits { processes: Some(20), ..limits() };
    let seen = run(of, &[], PROCESS_HOG, None);
    ended_for(&seen, Resource::Processes);
    assert_eq!(tree::living(&mark("hog")), 0);
}

#[test]
fn a_hog_of_the_disk_is_ended_and_what_was_there_before_is_not_its_doing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("before"), vec![0; 8 << 20]).unwrap();
    let of = TaskLimits { disk: Some(4 * MIB), ..limits() };
    let write = |mib: u32| format!("head -c {}M /dev/zero > {}/new; ", mib, folder.path().display());
    let seen = run(of, &[folder.path()], &(write(1) + "sleep 1.5; exit 0"), None);
    assert_eq!((seen.exit, seen.reached), (Exit::Code(0), None));
    let seen = run(of, &[folder.path()], &(write(16) + "sleep 600"), None);
    ended_for(&seen, Resource::Disk);
}

#[test]
fn files_are_limited_for_each_process() {
    let seen = run(TaskLimits { open_files: Some(32), ..limits() }, &[], "exit $(ulimit -n)", None);
    assert_eq!(seen.exit, Exit::Code(32));
    let seen = run(TaskLimits { open_files: Some(32), ..limits() }, &[], "ulimit -n 64 || exit 7", None);
    assert!(
        matches!(seen.exit, Exit::Code(2 | 7)) || rustix::process::geteuid().is_root(),
        "{:?}",
        seen.exit
    );
}

/// A coordinator that was killed left them.
#[test]
fn groups_of_dead_coordinators_are_found_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_) = roots("probing") else { return };
    let made = Roots::make(&RunId::parse("left").unwrap(), Some(folder.path())).unwrap();
    let group =
        made.group(&TaskLimits { memory: Some(64 * MIB), cpu: Some(1), processes: Some(9), ..limits() });
    let folders = group.unwrap().unwrap().folders();
    // As if it were another's: nothing of ours removes it.
    std::mem::forget(made);
    let notes: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|note| note.unwrap().path()).collect();
    assert!(!notes.is_empty());
    for note in &notes {
        let of_us = PathBuf::from(fs::read_to_string(note).unwrap());
        let of_dead =
            of_us.with_file_name(of_us.file_name().unwrap().to_str().unwrap().replace(children::us(), "1.1"));
        fs::rename(&of_us, &of_dead).or_else(|_| fs::create_dir(&of_dead)).unwrap();
        let _ = super::super::control_group::remove(&of_us);
        fs::write(note, of_dead.to_str().unwrap()).unwrap();
    }
    super::super::control_group::LeftGroups::of(folder.path(), None).end();
    assert!(folders.iter().all(|folder| !folder.exists()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left to be looked for");
}
