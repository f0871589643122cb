//! The full-screen view of Conductor: a run's tasks, one of them closely, and keys that ask things of the run.
//!
//! It is a view like every other: it folds a run's events and drives nothing. Leaving it, or its death, changes nothing about
//! the run. What is shown is made in `data`, what a key means is decided in `app`; `screens` and `widgets` only draw, and
//! only `feed`, `outside` and `view` touch the world.

// The terminal is drawn on; nothing may print in between.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod app;
mod data;
mod feed;
#[doc(hidden)]
pub mod frames;
pub mod inline;
mod keys;
mod outside;
mod remembered;
mod screens;
mod terminal;
mod theme;
mod view;
mod widgets;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use conductor_core::values::ids::RunId;
use conductor_engine::host::home::Home;
use conductor_engine::stores::{LogReader, StoredRun};
use thiserror::Error;

pub use data::board::Project;

/// Reads the project's file anew.
pub type ReadProject = Box<dyn Fn() -> Project>;

/// What the command line knows.
pub struct Invocation {
    pub home: Home,
    pub store: Arc<dyn LogReader>,
    /// Where the user is.
    pub directory: PathBuf,
    /// Conductor's own program.
    pub program: PathBuf,
    /// The run to look at; without one the project's board is shown.
    pub run: Option<StoredRun>,
    pub project: ReadProject,
    /// The program's commands.
    pub commands: Vec<KnownCommand>,
    /// Whether colours are wanted, as far as the command line says.
    pub colored: bool,
    /// Whether the terminal shows more than ASCII.
    pub unicode: bool,
}

/// A command of the program, as it is typed: `task retry`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownCommand {
    pub words: Vec<String>,
    pub names_run: NamesRun,
}

/// How a command is told which run is meant. What is typed in the view means the run that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamesRun {
    Never,
    /// By `--run RUN`.
    ByOption,
    /// By its only word.
    ByWord,
}

/// How the view was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    ByKey,
    Interrupted,
    /// By a signal, or because the terminal is gone.
    Terminated,
}

/// What there is to say when the view is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The run that was looked at last.
    pub run: Option<RunId>,
    /// Nothing of it is left to do; its coordinator may still be writing its reports.
    pub is_over: bool,
    pub by: Leaving,
}

#[derive(Debug, Error)]
pub enum TuiError {
    #[error("there is no terminal to draw on")]
    NoTerminal,
    #[error("run {run}: {why}")]
    Unreadable { run: RunId, why: String },
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
}

/// Whether there is a terminal to draw on.
pub fn is_possible() -> bool {
    terminal::is_there()
}

/// Shows the view until the user leaves it. The terminal is as it was afterwards, however it ends.
pub async fn show(invocation: Invocation) -> Result<Left, TuiError> {
    if !terminal::is_there() {
        return Err(TuiError::NoTerminal);
    }
    view::show(invocation).await
}
