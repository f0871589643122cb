//! `cargo xtask bench`: what Conductor costs, measured in one go beside what others cost.
//!
//! The programs are built once as they are installed (profile `dist`), this one included; that build of this program
//! then measures.
//! A missed goal is shown, not punished: this is a measurement, and machines differ.

mod agents;
mod contest;
mod core;
mod expertise;
mod git;
mod graph;
mod plugins;
mod report;
mod scratch;
mod screen;
mod server;
mod single;
mod view;

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::Result;
use crate::steps::{DIST, cargo, dist, openly, root};
use crate::tools;
use scratch::Scratch;

pub(crate) use agents::play_agent;
pub(crate) use core::print_core;
pub(crate) use single::print_peak;

/// What this program is called with by itself, so that each figure is of a process of its own.
pub(crate) const MEASURE: &str = "bench-measure";
pub(crate) const PEAK: &str = "bench-peak";
pub(crate) const CORE: &str = "bench-core";
pub(crate) const AGENT: &str = "bench-agent";

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
/// Expertise alone, only printed.
const EXPERTISE: &str = "--expertise";
/// The full-screen view alone, only printed.
const SCREEN: &str = "--screen";
pub(crate) const OPTIONS: [&str; 8] = [QUICK, GIT, AGENTS, SINGLE, SERVER, PLUGINS, EXPERTISE, SCREEN];
/// Those that need nothing of others.
const ALONE: [&str; 7] = [GIT, AGENTS, SINGLE, SERVER, PLUGINS, EXPERTISE, SCREEN];

pub(crate) fn run(options: &[&str]) -> Result {
    if !options.iter().any(|option| ALONE.contains(option))
        && let Err(why) = tools::provide(&tools::FOR_BENCH)
    {
        eprintln!("{why}; measuring without");
    }
    openly(cargo(&["build", "--locked", "--profile", DIST]).args(["-p", "conductor", "-p", "xtask"]))?;
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
    expertise: expertise::Figures,
    screen: screen::Figures,
}

pub(crate) fn measure(options: &[&str]) -> Result {
    let quick = options.contains(&QUICK);
    let machine = report::machine();
    let mut scratch = Scratch::new()?;
    if options.contains(&GIT) {
        let figures = git::measure(git::Size::new(quick), &mut scratch)?;
        println!("{}", report::git_text(&machine, &figures));
        return scratch.remove();
    }
    if options.contains(&AGENTS) {
        let figures = agents::measure(quick, &mut scratch)?;
        println!("{}", report::agents_text(&machine, &figures));
        return scratch.remove();
    }
    let many = if quick { 1_000 } else { 10_000 };
    if options.contains(&SINGLE) {
        let (singles, view) = (single::measure(many, &mut scratch)?, view::measure(&mut scratch)?);
        println!("{}", report::single_text(&machine, &singles, &view, many));
        return scratch.remove();
    }
    if options.contains(&SERVER) {
        let figures = server::measure(many, &mut scratch)?;
        println!("{}", report::server_text(&machine, &figures));
        return scratch.remove();
    }
    if options.contains(&PLUGINS) {
        println!("{}", report::plugins_text(&machine, &plugins::measure(&mut scratch)?));
    }
    if options.contains(&EXPERTISE) {
        let figures = expertise::measure(&mut scratch)?;
        println!("{}", report::expertise_text(&machine, &figures));
    }
    if options.contains(&SCREEN) {
        let figures = screen::measure(&mut scratch)?;
        println!("{}", report::screen_text(&machine, &figures));
        return scratch.remove();
    }
    let figures = Figures {
        cells: contest::hold(many, &mut scratch)?,
        singles: single::measure(many, &mut scratch)?,
        cores: core::measure(many)?,
        git: git::measure(git::Size::new(quick), &mut scratch)?,
        agents: agents::measure(quick, &mut scratch)?,
        view: view::measure(&mut scratch)?,
        server: server::measure(many, &mut scratch)?,
        plugins: plugins::measure(&mut scratch)?,
        expertise: expertise::measure(&mut scratch)?,
        screen: screen::measure(&mut scratch)?,
    };
    let text = report::text(&machine, &figures, many);
    println!("{text}");
    if !quick {
        std::fs::write(root().join("docs/BENCHMARKS.md"), text)?;
    }
    scratch.remove()
}
