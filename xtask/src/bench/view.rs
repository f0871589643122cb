//! What it costs the coordinator to be looked at: the same run with the inline view and with plain lines, on a terminal
//! each.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

use super::agents::{percent, spent};
use super::graph::thousands;
use super::report::{Goal, below};
use super::scratch::{Scratch, conductor};
use crate::Result;

pub(super) const TITLE: &str = "Being looked at";

const TASKS: usize = 1_000;
const AT_ONCE: usize = 200;
const TURNS: usize = 2;
const TERMINAL: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// What the inline view's thread is called.
const THREAD: &str = "view";

/// Of a core, from the coordinator's start to its end.
pub(super) struct Figures {
    /// The thread that draws, alone.
    view: f64,
    /// The whole coordinator, which also starts a thousand processes.
    inline: f64,
    plain: f64,
}

pub(super) fn measure(scratch: &mut Scratch) -> Result<Figures> {
    eprintln!("measuring what it costs to be looked at");
    let mut figures = Figures { view: f64::INFINITY, inline: f64::INFINITY, plain: f64::INFINITY };
    for _ in 0..TURNS {
        let (plain, _) = shares("plain", &scratch.directory()?)?;
        let (inline, view) = shares("inline", &scratch.directory()?)?;
        let view = view.ok_or("the inline view was not shown")?;
        figures = Figures {
            view: figures.view.min(view),
            inline: figures.inline.min(inline),
            plain: figures.plain.min(plain),
        };
    }
    Ok(figures)
}

/// Of the whole coordinator, and of the inline view where it is shown.
fn shares(ui: &str, directory: &Path) -> Result<(f64, Option<f64>)> {
    std::fs::write(directory.join("tasks.yaml"), tasks())?;
    let at_once = AT_ONCE.to_string();
    let words = ["run", "--isolation", "none", "tasks.yaml", "--ui", ui, "--parallel", &at_once];
    let (child, mut screen) = on_terminal(directory, &words)?;
    std::thread::spawn(move || {
        let mut bytes = [0; 1 << 16];
        while matches!(screen.read(&mut bytes), Ok(1..)) {}
    });
    watch(child)
}

/// Conductor on a terminal of its own, as a shell gives it; and what it shows there.
pub(super) fn on_terminal(directory: &Path, words: &[&str]) -> Result<(Child, File)> {
    let terminal = openpty(&TERMINAL, None)?;
    let run = conductor(directory);
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(run.get_program()).current_dir(directory);
    for (name, value) in run.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8")
        .env_remove("CI")
        .env_remove("GITHUB_ACTIONS")
        .args(words);
    let end = || Ok::<_, std::io::Error>(Stdio::from(terminal.slave.try_clone()?));
    let child = command.stdin(end()?).stdout(end()?).stderr(end()?).spawn()?;
    Ok((child, File::from(terminal.master)))
}

/// Their ends are spread over the seconds, so that there is always something new to draw.
fn tasks() -> String {
    let mut text = String::from("tasks:\n");
    for task in 0..TASKS {
        let millis = 1_000 + task * 7 % 1_000;
        let _ =
            writeln!(text, "  - {{ id: t{task}, run: [sleep, '{}.{:03}'] }}", millis / 1_000, millis % 1_000);
    }
    text
}

fn watch(mut child: Child) -> Result<(f64, Option<f64>)> {
    let begun = Instant::now();
    let folder = Path::new("/proc").join(child.id().to_string());
    let (mut used, mut drawn) = (0.0, None);
    loop {
        // It may end while it is looked at.
        if let Ok(now) = spent(&folder) {
            used = now;
            drawn = drawing(&folder).or(drawn);
        }
        if let Some(status) = child.try_wait()? {
            return match status.success() {
                true => {
                    let lasted = begun.elapsed().as_secs_f64();
                    Ok((used / lasted, drawn.map(|drawn| drawn / lasted)))
                }
                false => Err(format!("a run that was looked at: {status}").into()),
            };
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Processor time of the thread that draws, in seconds.
fn drawing(folder: &Path) -> Option<f64> {
    let mut threads = std::fs::read_dir(folder.join("task")).ok()?.flatten().map(|thread| thread.path());
    let is_drawing = |thread: &PathBuf| {
        std::fs::read_to_string(thread.join("comm")).is_ok_and(|name| name.trim_end() == THREAD)
    };
    let thread = threads.find(is_drawing)?;
    let told = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    Some(told.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    let what = format!("of a core for the inline view, {} tasks", thousands(TASKS));
    vec![below(what, figures.view, 0.03, percent)]
}

pub(super) fn table(figures: &Figures) -> String {
    format!(
        "| {} tasks, {AT_ONCE} at once | of a core |\n|---|--:|\n\
         | the thread that draws the inline view | {} |\n\
         | the whole coordinator with it | {} |\n\
         | the whole coordinator with plain lines | {} |\n",
        thousands(TASKS),
        percent(figures.view),
        percent(figures.inline),
        percent(figures.plain),
    )
}
