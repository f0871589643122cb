//! The full-screen view: how soon it shows something, how long a frame takes, and what it costs to leave it open.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use conductor_tui::frames::{self, Frames};

use super::agents::{percent, spent};
use super::graph::thousands;
use super::report::{Goal, below, time};
use super::scratch::{Scratch, conductor};
use super::view::on_terminal;
use crate::Result;

pub(super) const TITLE: &str = "The full-screen view";

const FEW: usize = 1_000;
const MANY: usize = 10_000;
const AGENTS: usize = 8;
/// How long it is left open.
const IDLE: Duration = Duration::from_secs(10);
const TURNS: usize = 3;

pub(super) struct Figures {
    /// From the start of the program to the first frame of a run of `FEW` tasks.
    start: f64,
    few: Frames,
    many: Frames,
    /// Of a core, while `AGENTS` agents are at work and nothing is pressed.
    idle: f64,
}

pub(super) fn measure(scratch: &mut Scratch) -> Result<Figures> {
    eprintln!("measuring the full-screen view");
    let ended = scratch.directory()?;
    std::fs::write(ended.join("tasks.yaml"), tasks(FEW, "'true'"))?;
    run(&ended, &["run", "--isolation", "none", "tasks.yaml", "--parallel", "8", "--ui", "plain"])?;
    let name = newest(&ended)?;
    let mut start = f64::INFINITY;
    for _ in 0..TURNS {
        start = start.min(first_frame(&ended, &name)?);
    }
    let of = |tasks| frames::measure(tasks).ok_or("a run could not be made");
    Ok(Figures { start, few: of(FEW)?, many: of(MANY)?, idle: idle(&scratch.directory()?)? })
}

fn tasks(count: usize, command: &str) -> String {
    let mut text = String::from("tasks:\n");
    for task in 0..count {
        let _ = writeln!(text, "  - {{ id: t{task}, run: {command} }}");
    }
    text
}

fn run(directory: &Path, words: &[&str]) -> Result {
    let done = conductor(directory).args(words).output()?;
    match done.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&done.stderr);
            Err(format!("conductor {} failed: {}", words.join(" "), said.trim()).into())
        }
    }
}

fn newest(directory: &Path) -> Result<String> {
    let listed = conductor(directory).args(["runs", "--json"]).output()?;
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout)?;
    Ok(listed["runs"][0]["run"].as_str().ok_or("there is no run")?.to_owned())
}

fn first_frame(directory: &Path, run: &str) -> Result<f64> {
    let begun = Instant::now();
    let (child, mut screen) = on_terminal(directory, &["tui", run])?;
    until(&mut screen, "done")?;
    let lasted = begun.elapsed().as_secs_f64();
    leave(child, screen)?;
    Ok(lasted)
}

fn idle(directory: &Path) -> Result<f64> {
    std::fs::write(directory.join("tasks.yaml"), tasks(AGENTS, "[sleep, '60']"))?;
    let slots = AGENTS.to_string();
    run(directory, &["run", "--isolation", "none", "tasks.yaml", "--parallel", &slots, "--detach"])?;
    all_at_work(directory)?;
    let (child, mut screen) = on_terminal(directory, &["tui"])?;
    // Of slots. Between words there is no space, but a step of the cursor.
    until(&mut screen, &format!("{AGENTS}/{AGENTS}"))?;
    let mut shown = screen.try_clone()?;
    std::thread::spawn(move || {
        let mut bytes = [0; 1 << 16];
        while matches!(shown.read(&mut bytes), Ok(1..)) {}
    });
    let folder = Path::new("/proc").join(child.id().to_string());
    let before = spent(&folder)?;
    std::thread::sleep(IDLE);
    let used = spent(&folder)? - before;
    leave(child, screen)?;
    run(directory, &["cancel", "--all"])?;
    Ok(used / IDLE.as_secs_f64())
}

/// What is drawn later is only what has changed: words are found in a view that is opened when they hold.
fn all_at_work(directory: &Path) -> Result {
    let begun = Instant::now();
    while begun.elapsed() < IDLE {
        let status = conductor(directory).args(["status", "--json"]).output()?;
        let status: serde_json::Value = serde_json::from_slice(&status.stdout)?;
        if status["running"].as_array().is_some_and(|running| running.len() == AGENTS) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err("not all agents began".into())
}

/// Reads what is shown until these words are.
fn until(screen: &mut File, words: &str) -> Result {
    let (mut seen, mut bytes) = (Vec::new(), [0; 1 << 16]);
    loop {
        let read = screen.read(&mut bytes)?;
        seen.extend_from_slice(&bytes[..read]);
        if String::from_utf8_lossy(&seen).contains(words) {
            return Ok(());
        }
        if read == 0 {
            return Err(format!("'{words}' was never shown").into());
        }
    }
}

fn leave(mut child: Child, mut screen: File) -> Result {
    screen.write_all(b"q")?;
    std::thread::spawn(move || {
        let mut bytes = [0; 1 << 16];
        while matches!(screen.read(&mut bytes), Ok(1..)) {}
    });
    child.wait()?;
    Ok(())
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    let (few, many) = (thousands(FEW), thousands(MANY));
    let scrolled = figures.few.longest.as_secs_f64();
    vec![
        below(format!("until the full-screen view shows {few} tasks"), figures.start, 0.1, time),
        below(format!("longest frame while {few} tasks are scrolled"), scrolled, 0.1, time),
        below(
            format!("longest frame while {many} tasks are scrolled"),
            figures.many.longest.as_secs_f64(),
            0.1,
            time,
        ),
        below(
            format!("of a core for the full-screen view, {AGENTS} agents at work"),
            figures.idle,
            0.03,
            percent,
        ),
    ]
}

pub(super) fn table(figures: &Figures) -> String {
    let mut text = String::from(
        "| run of | made from its log and drawn | a frame while scrolling | the longest | an event and its frame |\n|---|--:|--:|--:|--:|\n",
    );
    for (tasks, frames) in [(FEW, figures.few), (MANY, figures.many)] {
        let each =
            [frames.first, frames.scrolling, frames.longest, frames.news].map(|one| time(one.as_secs_f64()));
        let _ = writeln!(text, "| {} tasks | {} |", thousands(tasks), each.join(" | "));
    }
    text
}
