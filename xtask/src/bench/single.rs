//! What one waits for outside the contest: checking a file, rehearsing it, taking a run up again, memory, the first answer.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

use super::PEAK;
use super::contest::timed;
use super::graph::{Draw, NOTHING, Shape};
use super::scratch::{Scratch, conductor};
use crate::Result;

/// The exit code of a run that a limit has ended.
const LIMIT_REACHED: i32 = 6;

const STARTED: &str = "\"type\":\"attempt_started\"";

pub(super) struct Singles {
    pub(super) validate: f64,
    pub(super) rehearse: f64,
    pub(super) version: f64,
    /// From the start of `run --resume` until the first task is started.
    pub(super) resume: f64,
    /// Peak resident memory of the coordinator alone, in KiB.
    pub(super) peak: u64,
    pub(super) scale: Scale,
}

/// Two runs of tasks that do nothing, one of few and one of very many.
pub(super) struct Scale {
    pub(super) tasks: [usize; 2],
    /// Seconds of each.
    pub(super) few: f64,
    pub(super) most: f64,
    /// Of the larger, in KiB.
    pub(super) peak: u64,
}

impl Scale {
    /// How much more a task takes among very many than among few.
    pub(super) fn growth(&self) -> f64 {
        let [few, most] = self.tasks.map(|tasks| tasks as f64);
        (self.most / most) / (self.few / few)
    }
}

fn scale(many: usize, scratch: &mut Scratch) -> Result<Scale> {
    let tasks = [many / 10, many * 10];
    eprintln!("measuring runs of {} and {} tasks", tasks[0], tasks[1]);
    let [few, most] = tasks.map(Shape::Independent);
    let seconds = |shape: Shape, scratch: &mut Scratch| {
        let directory = directory(scratch, shape)?;
        let mut command = conductor(&directory);
        timed(command.args(["run", "--isolation", "none", "tasks.yaml", "--parallel", "8"]))
    };
    Ok(Scale {
        tasks,
        few: best(3, || seconds(few, scratch))?,
        most: best(1, || seconds(most, scratch))?,
        peak: peak(&directory(scratch, most)?)?,
    })
}

pub(super) fn measure(many: usize, scratch: &mut Scratch) -> Result<Singles> {
    eprintln!("measuring validate, rehearse, version, resume and memory");
    let checked = directory(scratch, Shape::Random(many))?;
    let independent = Shape::Independent(many);
    Ok(Singles {
        validate: best(5, || timed(conductor(&checked).args(["validate", "tasks.yaml"])))?,
        rehearse: rehearse(many, &scratch.directory()?)?,
        version: best(20, || timed(conductor(&checked).arg("version")))?,
        resume: resume(many, &directory(scratch, independent)?)?,
        peak: peak(&directory(scratch, independent)?)?,
        scale: scale(many, scratch)?,
    })
}

fn rehearse(many: usize, directory: &Path) -> Result<f64> {
    let mut draw = Draw::new();
    let mut text = String::from("tasks:\n");
    for task in 0..many {
        let (folder, seconds) = (task % 100, 60 + draw.below(3_600));
        text += &format!(
            "  - {{id: t{task}, run: {NOTHING}, estimate: {seconds}s, files: [src/module_{folder}/file_{task}.rs]}}\n"
        );
    }
    std::fs::write(directory.join("tasks.yaml"), text)?;
    best(3, || timed(conductor(directory).args(["rehearse", "tasks.yaml"])))
}

fn directory(scratch: &mut Scratch, shape: Shape) -> Result<std::path::PathBuf> {
    let directory = scratch.directory()?;
    std::fs::write(directory.join("tasks.yaml"), shape.task_file())?;
    Ok(directory)
}

pub(super) fn best(turns: usize, mut measure: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..turns {
        best = best.min(measure()?);
    }
    Ok(best)
}

/// Leaves a run half done, then takes it up three times, each time only until something starts.
fn resume(many: usize, directory: &Path) -> Result<f64> {
    let mut half = conductor(directory);
    half.args(["run", "--isolation", "none", "tasks.yaml", "--parallel", "8", "--max-attempts"])
        .arg((many / 2).to_string());
    let status = half.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if status.code() != Some(LIMIT_REACHED) {
        return Err(format!("half a run was to end with {LIMIT_REACHED}: {status}").into());
    }
    best(3, || first_start(directory))
}

fn first_start(directory: &Path) -> Result<f64> {
    let mut command = conductor(directory);
    command.args(["run", "--isolation", "none", "--resume", "--json", "--max-attempts", "100000"]);
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let output = child.stdout.take().ok_or("no output to read")?;
    let mut lines = BufReader::new(output).lines().map_while(std::result::Result::ok);
    let started = lines.any(|line| line.contains(STARTED));
    let seconds = begun.elapsed().as_secs_f64();
    child.kill()?;
    child.wait()?;
    if started { Ok(seconds) } else { Err("the resumed run started nothing".into()) }
}

/// Asked of a small process in between: a child's peak counts from the size its parent had when it was started.
fn peak(directory: &Path) -> Result<u64> {
    let run = conductor(directory);
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(PEAK).arg(run.get_program()).args([
        "run",
        "--isolation",
        "none",
        "tasks.yaml",
        "--parallel",
        "8",
    ]);
    command.current_dir(directory).env("CONDUCTOR_HOME", directory.join("home"));
    Ok(String::from_utf8(command.stderr(Stdio::null()).output()?.stdout)?.trim().parse()?)
}

/// Runs a program and prints the largest peak among it and what it started, in KiB: here always its own. A task that
/// failed does not change the figure, so the exit code does not matter.
pub(crate) fn print_peak(words: &[&str]) -> Result {
    let (program, args) = words.split_first().ok_or("no program to measure")?;
    Command::new(program).args(args).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    println!("{}", getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss());
    Ok(())
}
