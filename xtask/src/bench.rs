//! `cargo xtask bench`: what Conductor costs, measured in one go beside what others cost.
//!
//! The programs are built once as they are installed (profile `dist`), this one included; that build of this program
//! then measures.
//! A missed goal is shown, not punished: this is a measurement, and machines differ.

mod agents;
mod confinement;
mod contest;
mod core;
mod expertise;
mod git;
mod graph;
mod hogs;
mod plugins;
mod report;
mod scratch;
mod screen;
mod server;
mod shims;
mod single;
mod view;
mod workers;
mod worktrees;

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::Result;
use crate::steps::{DIST, cargo, dist, openly, root};
use crate::tools;
use scratch::Scratch;

pub(crate) use agents::play_agent;
pub(crate) use confinement::print_landlock;
pub(crate) use core::print_core;
pub(crate) use single::print_peak;

/// What this program is called with by itself, so that each figure is of a process of its own.
pub(crate) const MEASURE: &str = "bench-measure";
pub(crate) const PEAK: &str = "bench-peak";
pub(crate) const CORE: &str = "bench-core";
pub(crate) const AGENT: &str = "bench-agent";
pub(crate) const CONFINED: &str = "bench-confined";

/// Fewer tasks and turns, only printed.
const QUICK: &str = "--quick";
/// Workspaces and merging alone, only printed.
const GIT: &str = "--git";
/// Listening to agents alone, only printed.
const AGENTS: &str = "--agents";
/// Single commands and being looked at alone, only printed.
const SINGLE: &str = "--single";
/// The server alone, only printed.
const SERVER: &str = "--server";
/// Plugins alone, only printed.
const PLUGINS: &str = "--plugins";
/// Confinement alone, only printed.
const CONFINEMENT: &str = "--confinement";
/// Expertise alone, only printed.
const EXPERTISE: &str = "--expertise";
/// The full-screen view alone, only printed.
const SCREEN: &str = "--screen";
/// Shims alone, only printed.
const SHIMS: &str = "--shims";
/// Very many worktrees of a large repository alone, only printed; it is no part of the whole, for it needs 40 GB of room.
const WORKTREES: &str = "--worktrees";
/// Workers on other machines alone, only printed; it is no part of the whole, for it needs Redis, RabbitMQ and PostgreSQL.
const WORKERS: &str = "--workers";
pub(crate) const OPTIONS: [&str; 12] =
    [QUICK, GIT, AGENTS, SINGLE, SERVER, PLUGINS, CONFINEMENT, EXPERTISE, SCREEN, SHIMS, WORKTREES, WORKERS];
/// Those that need nothing of others.
const ALONE: [&str; 10] =
    [GIT, AGENTS, SINGLE, SERVER, PLUGINS, CONFINEMENT, EXPERTISE, SCREEN, SHIMS, WORKTREES];

pub(crate) fn run(options: &[&str]) -> Result {
    if options.contains(&WORKERS) {
        let figures = workers::measure(options.contains(&QUICK))?;
        println!("{}", report::workers_text(&report::machine(), &figures));
        return Ok(());
    }
    if !options.iter().any(|option| ALONE.contains(option))
        && let Err(why) = tools::provide(&tools::FOR_BENCH)
    {
        eprintln!("{why}; measuring without");
    }
    openly(cargo(&["build", "--locked", "--profile", DIST]).args(["-p", "conductor-agents", "-p", "xtask"]))?;
    let mut command = Command::new(dist("xtask"));
    Err(command.arg(MEASURE).args(options).exec().into())
}

/// Everything that was measured.
struct Figures {
    cells: Vec<contest::Cell>,
    singles: single::Singles,
    cores: Vec<core::Figure>,
    git: git::Figures,
    agents: agents::Figures,
    view: view::Figures,
    server: server::Figures,
    plugins: plugins::Figures,
    confinement: confinement::Figures,
    expertise: expertise::Figures,
    screen: screen::Figures,
    shims: shims::Figures,
}

pub(crate) fn measure(options: &[&str]) -> Result {
    let quick = options.contains(&QUICK);
    let machine = report::machine();
    let mut scratch = Scratch::new()?;
    if let Some(text) = alone(options, quick, &machine, &mut scratch)? {
        println!("{text}");
        return scratch.remove();
    }
    let many = many(quick);
    let figures = Figures {
        cells: contest::hold(many, &mut scratch)?,
        singles: single::measure(many, &mut scratch)?,
        cores: core::measure(many)?,
        git: git::measure(git::Size::new(quick), &mut scratch)?,
        agents: agents::measure(quick, &mut scratch)?,
        view: view::measure(&mut scratch)?,
        server: server::measure(many, &mut scratch)?,
        plugins: plugins::measure(&mut scratch)?,
        confinement: confinement::measure(&mut scratch)?,
        expertise: expertise::measure(&mut scratch)?,
        screen: screen::measure(&mut scratch)?,
        shims: shims::measure(&mut scratch)?,
    };
    let text = report::text(&machine, &figures, many);
    println!("{text}");
    if !quick {
        std::fs::write(root().join("docs/BENCHMARKS.md"), text)?;
    }
    scratch.remove()
}

fn many(quick: bool) -> usize {
    if quick { 1_000 } else { 10_000 }
}

/// The one part that was asked for.
fn alone(options: &[&str], quick: bool, machine: &str, scratch: &mut Scratch) -> Result<Option<String>> {
    let Some(option) = options.iter().find(|option| ALONE.contains(option)) else { return Ok(None) };
    let many = many(quick);
    Ok(Some(match *option {
        GIT => report::git_text(machine, &git::measure(git::Size::new(quick), scratch)?),
        AGENTS => report::agents_text(machine, &agents::measure(quick, scratch)?),
        SINGLE => {
            let (singles, view) = (single::measure(many, scratch)?, view::measure(scratch)?);
            report::single_text(machine, &singles, &view, many)
        }
        SERVER => report::server_text(machine, &server::measure(many, scratch)?),
        PLUGINS => report::plugins_text(machine, &plugins::measure(scratch)?),
        CONFINEMENT => report::confinement_text(machine, &confinement::measure(scratch)?),
        EXPERTISE => report::expertise_text(machine, &expertise::measure(scratch)?),
        SCREEN => report::screen_text(machine, &screen::measure(scratch)?),
        SHIMS => report::shims_text(machine, &shims::measure(scratch)?),
        WORKTREES => {
            let tasks = if quick { worktrees::TASKS / 10 } else { worktrees::TASKS };
            report::worktrees_text(machine, &worktrees::measure(tasks, scratch)?)
        }
        _ => return Ok(None),
    }))
}
