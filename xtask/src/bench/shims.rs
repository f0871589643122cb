//! What it costs that agents outlive their coordinator: a start by way of a shim, the memory of one, and how soon a coordinator
//! that comes later has taken hold of fifty.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::contest::timed;
use super::report::{Goal, below, time};
use super::scratch::{Scratch, conductor};
use super::single::best;
use crate::Result;

const TURNS: usize = 3;

/// Commands one after the other, each of which does nothing.
const STARTS: usize = 100;

/// Agents that are taken hold of.
const AGENTS: usize = 50;

/// What a machine that is measured on may take for a part of that.
const PATIENCE: Duration = Duration::from_secs(60);

/// Says something, and then nothing more.
const WAITER: &str = r#"#!/bin/sh
read -r task
echo '{"type":"text","text":"at work"}'
exec sleep 600
"#;

pub(super) struct Figures {
    /// Seconds that a start takes longer by way of a shim.
    start: f64,
    /// KiB that a shim has for itself alone, the largest of them.
    memory: f64,
    /// Seconds from a coordinator's start until it has all of them.
    taken: f64,
}

pub(super) fn measure(scratch: &mut Scratch) -> Result<Figures> {
    eprintln!("measuring what shims cost");
    let bare = best(TURNS, || starts(false, &scratch.directory()?))?;
    let held = best(TURNS, || starts(true, &scratch.directory()?))?;
    let (memory, taken) = agents(&scratch.directory()?)?;
    Ok(Figures { start: (held - bare) / STARTS as f64, memory, taken })
}

/// The seconds of all of them, one after the other.
fn starts(survives: bool, directory: &Path) -> Result<f64> {
    let task = |number| format!("  - {{ id: t{number}, run: 'true', survive: {survives} }}\n");
    let tasks: String = (0..STARTS).map(task).collect();
    std::fs::write(directory.join("tasks.yaml"), format!("tasks:\n{tasks}"))?;
    timed(conductor(directory).args(["run", "tasks.yaml", "--isolation", "none", "--parallel", "1"]))
}

/// What the largest shim of fifty has for itself, and how soon they are taken hold of.
fn agents(directory: &Path) -> Result<(f64, f64)> {
    let program = directory.join("conductor-agent-waiter");
    std::fs::write(&program, WAITER)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    let task = |number| format!("  - {{ id: t{number}, prompt: wait }}\n");
    let tasks: String = (0..AGENTS).map(task).collect();
    std::fs::write(
        directory.join("tasks.yaml"),
        format!("config: {{ agent: waiter, retry_policy: {{ max_attempts: 1 }} }}\ntasks:\n{tasks}"),
    )?;
    let at_once = AGENTS.to_string();
    let options = ["--sandbox", "off", "--isolation", "none", "--parallel", &at_once, "--orphan-grace", "5m"];
    let mut first = started(directory, &[&["tasks.yaml"], options.as_slice()].concat(), Stdio::null())?;
    let shims = all_shims(directory)?;
    let memory = shims.iter().map(|&shim| private(shim)).collect::<Result<Vec<f64>>>()?;
    let largest = memory.iter().copied().fold(0.0, f64::max);
    first.kill()?;
    first.wait()?;
    let begun = Instant::now();
    let mut next = started(directory, &[&["--resume"], options.as_slice()].concat(), Stdio::piped())?;
    let heard = reattached(&mut next);
    let taken = begun.elapsed().as_secs_f64();
    // They wait for nothing: whatever was found, they are ended.
    for shim in shims {
        let _ = kill(Pid::from_raw(shim), Signal::SIGKILL);
    }
    next.kill()?;
    next.wait()?;
    match heard? {
        AGENTS => Ok((largest, taken)),
        count => Err(format!("{count} of {AGENTS} agents were taken hold of").into()),
    }
}

fn started(directory: &Path, words: &[&str], told: Stdio) -> Result<Child> {
    let path = std::env::join_paths(
        [directory.to_owned()]
            .into_iter()
            .chain(std::env::var_os("PATH").iter().flat_map(std::env::split_paths)),
    )?;
    let mut command = conductor(directory);
    command.env("PATH", path).arg("run").args(words).args(["--ui", "json"]);
    Ok(command.stdin(Stdio::null()).stdout(told).stderr(Stdio::null()).spawn()?)
}

/// How many a coordinator tells of that it has taken hold of, until that is all.
fn reattached(coordinator: &mut Child) -> Result<usize> {
    let told = coordinator.stdout.take().ok_or("no pipe to hear it by")?;
    let mut count = 0;
    for line in BufReader::new(told).lines() {
        count += usize::from(line?.contains("attempt_reattached"));
        if count == AGENTS {
            break;
        }
    }
    Ok(count)
}

/// The numbers of the shims, once all are there.
fn all_shims(directory: &Path) -> Result<Vec<i32>> {
    let begun = Instant::now();
    loop {
        let found: Vec<i32> = records(directory).iter().filter_map(|path| shim_in(path)).collect();
        if found.len() == AGENTS {
            return Ok(found);
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("{} of {AGENTS} agents were started", found.len()).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn records(directory: &Path) -> Vec<PathBuf> {
    let below =
        |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let runs = below(directory.join("home/runs"));
    runs.flat_map(|run| below(run.join("shims"))).map(|shim| shim.join("shim.json")).collect()
}

fn shim_in(record: &Path) -> Option<i32> {
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(record).ok()?).ok()?;
    record["shim"]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok())
}

/// KiB of a process that no other process shares.
fn private(process: i32) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let amount = |line: &str| line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok());
    Ok(text.lines().filter(|line| line.starts_with("Private_")).filter_map(amount).sum())
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    vec![
        below("a start by way of a shim, more than a bare one".to_owned(), figures.start, 0.010, time),
        below("memory that a shim has for itself".to_owned(), figures.memory, 5.0 * 1024.0, |kib| {
            format!("{:.1} MiB", kib / 1024.0)
        }),
        below(
            format!("from a coordinator's start until it has taken hold of {AGENTS} agents"),
            figures.taken,
            1.0,
            time,
        ),
    ]
}
