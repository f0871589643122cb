//! What is shown while a run goes on: one small trait, one file for each way.

mod block;
mod github;
mod inline;
pub(crate) mod json;
mod lines;
mod log;
mod plain;
mod quiet;
pub(crate) mod terminal;

pub(crate) use lines::amount;

use std::path::Path;

use conductor_core::plan::graph::Graph;
use conductor_core::report::ledger::Ledger;
use conductor_core::run::Run;
use conductor_core::run::event::Options;
use conductor_core::values::ids::RunId;
use conductor_engine::dispatch::board::Board;
use conductor_engine::stores::bus::Records;

use crate::args::Ui;
use crate::console;
use crate::logging;

pub(crate) trait Progress {
    fn show(&mut self, records: &Records);
    /// Something worth knowing that is no event: the store is waiting for space, a request was refused.
    fn notice(&mut self, text: &str);
    /// Lines that the task file or the user at the terminal asked for.
    fn tell(&mut self, text: &str);
    /// Time has passed, for those who show it.
    fn beat(&mut self) {}
    fn finish(&mut self, id: &RunId, run: &Run, graph: &Graph, ledger: Option<&Ledger>);
}

/// What there is to be shown.
pub(crate) struct Stage<'a> {
    pub(crate) id: &'a RunId,
    /// As it is before the first record.
    pub(crate) run: &'a Run,
    pub(crate) options: &'a Options,
    pub(crate) graph: &'a Graph,
    pub(crate) board: Board,
    /// Where transcripts go.
    pub(crate) output: &'a Path,
    /// Whether this process drives it.
    pub(crate) is_own: bool,
}

/// In the way that is asked for; by the process that drives it in the run's own log, too.
pub(crate) fn of(ui: Ui, stage: &Stage<'_>) -> Box<dyn Progress> {
    match stage.is_own {
        true => Box::new(log::Logged::new(shown(ui, stage), stage)),
        false => shown(ui, stage),
    }
}

fn shown(ui: Ui, stage: &Stage<'_>) -> Box<dyn Progress> {
    match ui {
        Ui::Json => Box::new(json::Json::new(stage.id)),
        _ if console::is_quiet() => Box::new(quiet::Quiet::new(stage)),
        // Notices from everywhere would break what is drawn.
        _ if console::is_verbose() || logging::is_shown() => Box::new(plain::Plain::new(stage)),
        // The whole terminal is another process's; where there is none (`orchestrate`), this is the nearest to it.
        Ui::Inline | Ui::Tui if terminal::is_ours() => Box::new(inline::Inline::new(stage)),
        Ui::Auto if terminal::is_ours() && !is_watched_later() => Box::new(inline::Inline::new(stage)),
        Ui::Auto if github::is_here() => Box::new(github::GitHub::new(stage)),
        Ui::Auto | Ui::Inline | Ui::Tui | Ui::Plain => Box::new(plain::Plain::new(stage)),
    }
}

/// Some CI services give their jobs a terminal that no user watches: it ends as a log.
fn is_watched_later() -> bool {
    std::env::var("CI").is_ok_and(|ci| !matches!(ci.as_str(), "" | "0" | "false"))
}
