//! Very many worktrees of a large repository: how soon a run is over when its last task is. Once with tasks that end one
//! after the other, as agents do, once with all of them ending in the same moment.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::report::{Goal, below, time};
use super::scratch::{Scratch, conductor};
use crate::Result;
use crate::steps::quietly;

const FILES: usize = 30_000;
const FOLDERS: usize = 300;

/// All tasks are at work before the first one ends, so that each has a worktree of its own.
pub(super) const TASKS: usize = 300;

/// Between the ends of two tasks, in seconds.
const APART: f64 = 0.5;

pub(super) struct Figures {
    tasks: usize,
    apart: Ended,
    at_once: Ended,
}

struct Ended {
    whole: f64,
    /// From the landing of the last task to the end of the program, in seconds; the start of the program counts too.
    after: f64,
}

pub(super) fn measure(tasks: usize, scratch: &mut Scratch) -> Result<Figures> {
    let first = scratch.directory()?;
    let apart = run(tasks, APART, &first)?;
    until_emptied(&first.join("home/trash"))?;
    Ok(Figures { tasks, apart, at_once: run(tasks, 0.0, &scratch.directory()?)? })
}

/// What a run threw away is deleted by a program that it leaves behind. The next run begins when that is done: neither
/// takes the other's time, nor its room on the disk.
fn until_emptied(trash: &Path) -> Result {
    let begun = Instant::now();
    while trash.is_dir() && std::fs::read_dir(trash)?.next().is_some() {
        if begun.elapsed() > Duration::from_secs(1_800) {
            return Err(format!("{} is not emptied", trash.display()).into());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

fn run(tasks: usize, apart: f64, directory: &Path) -> Result<Ended> {
    let repository = directory.join("repository");
    eprintln!("making a repository of {FILES} files");
    make(&repository)?;
    std::fs::write(directory.join("tasks.yaml"), task_file(directory, tasks, apart))?;
    eprintln!("measuring {tasks} worktrees of it at once");
    let said = std::fs::File::create(directory.join("said"))?;
    let mut command = conductor(directory);
    command.current_dir(&repository).args(["run", "../tasks.yaml", "--parallel", &tasks.to_string()]);
    let begun = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).status()?;
    let whole = begun.elapsed().as_secs_f64();
    if !status.success() {
        let said = std::fs::read_to_string(directory.join("said"))?;
        let last: Vec<&str> = said.lines().rev().take(10).collect();
        return Err(format!("the run ended with {status}: {last:?}").into());
    }
    Ok(Ended { whole, after: whole - worked(&repository, directory)? })
}

/// From the run's beginning to the landing of its last task, in seconds.
fn worked(repository: &Path, directory: &Path) -> Result<f64> {
    let said = conductor(directory)
        .current_dir(repository)
        .args(["status", "--json"])
        .stderr(Stdio::null())
        .output()?
        .stdout;
    let status: serde_json::Value = serde_json::from_slice(&said)?;
    Ok(status["elapsed_ms"].as_f64().ok_or("a run without its time")? / 1_000.0)
}

fn make(repository: &Path) -> Result {
    for number in 0..FILES {
        let folder = repository.join(format!("src/m{}", number % FOLDERS));
        if number < FOLDERS {
            std::fs::create_dir_all(&folder)?;
        }
        std::fs::write(folder.join(format!("f{number}.rs")), format!("fn f{number}() {{}}\n"))?;
    }
    for words in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-q", "-m", "all of it"]] {
        let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
        quietly(Command::new("git").current_dir(repository).args(who).args(words))?;
    }
    Ok(())
}

fn task_file(directory: &Path, tasks: usize, apart: f64) -> String {
    let place = directory.display();
    let mut text = String::from("tasks:\n");
    for number in 0..tasks {
        let wait = apart * number as f64;
        let _ = writeln!(
            text,
            "  - {{ id: t{number}, timeout: 3600, run: 'echo {number} > n{number}.txt; echo x >> {place}/begun; \
             while [ $(wc -l < {place}/begun) -lt {tasks} ]; do sleep 1; done; sleep {wait}' }}"
        );
    }
    text
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    let what = format!("{} worktrees of {FILES} files: the run's end after its last landing", figures.tasks);
    vec![below(what, figures.apart.after, 2.0, time)]
}

pub(super) fn table(figures: &Figures) -> String {
    let Figures { tasks, apart, at_once } = figures;
    format!(
        "| {tasks} worktrees of {FILES} files, all at once | the whole run | after its last landing |\n|---|--:|--:|\n\
         | tasks that end {APART} s apart | {} | {} |\n| tasks that all end in one moment | {} | {} |\n",
        time(apart.whole),
        time(apart.after),
        time(at_once.whole),
        time(at_once.after)
    )
}
