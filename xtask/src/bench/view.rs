//! What it costs the coordinator to be looked at: the same run with the inline view and with plain lines, on a terminal
//! each.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
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

/// Of a core, by the coordinator alone, from its start to its end.
pub(super) struct Figures {
    inline: f64,
    plain: f64,
}

pub(super) fn measure(scratch: &mut Scratch) -> Result<Figures> {
    eprintln!("measuring what it costs to be looked at");
    let mut figures = Figures { inline: f64::INFINITY, plain: f64::INFINITY };
    for _ in 0..TURNS {
        figures.plain = figures.plain.min(share("plain", &scratch.directory()?)?);
        figures.inline = figures.inline.min(share("inline", &scratch.directory()?)?);
    }
    Ok(figures)
}

fn share(ui: &str, directory: &Path) -> Result<f64> {
    std::fs::write(directory.join("tasks.yaml"), tasks())?;
    let terminal = openpty(&TERMINAL, None)?;
    let run = conductor(directory);
    // A terminal of its own, as a shell gives it.
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
        .env_remove("GITHUB_ACTIONS");
    command.args(["run", "--isolation", "none", "tasks.yaml", "--ui", ui, "--parallel"]);
    command.arg(AT_ONCE.to_string());
    let end = || Ok::<_, std::io::Error>(Stdio::from(terminal.slave.try_clone()?));
    let child = command.stdin(end()?).stdout(end()?).stderr(end()?).spawn()?;
    let mut screen = File::from(terminal.master);
    std::thread::spawn(move || {
        let mut bytes = [0; 1 << 16];
        while matches!(screen.read(&mut bytes), Ok(1..)) {}
    });
    watch(child)
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

fn watch(mut child: Child) -> Result<f64> {
    let begun = Instant::now();
    let folder = Path::new("/proc").join(child.id().to_string());
    let mut used = 0.0;
    loop {
        if let Ok(now) = spent(&folder) {
            used = now;
        }
        if let Some(status) = child.try_wait()? {
            return match status.success() {
                true => Ok(used / begun.elapsed().as_secs_f64()),
                false => Err(format!("a run that was looked at: {status}").into()),
            };
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    let what = format!("of a core for the inline view, {} tasks", thousands(TASKS));
    vec![below(what, (figures.inline - figures.plain).max(0.0), 0.03, percent)]
}

pub(super) fn table(figures: &Figures) -> String {
    format!(
        "| {} tasks, {AT_ONCE} at once | of a core |\n|---|--:|\n| inline view | {} |\n| plain lines | {} |\n",
        thousands(TASKS),
        percent(figures.inline),
        percent(figures.plain),
    )
}
