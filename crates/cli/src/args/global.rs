//! Options that every command takes, before or after its name.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use conductor_engine::host::logs::{Wanted, WantedError};

use crate::settings::trust;

const HEADING: &str = "Global options";

#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Change to this directory first; each further -C is relative to the one before
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = HEADING)]
    pub(crate) directories: Vec<PathBuf>,

    /// Print only answers, questions and errors: no progress, no notices
    #[arg(short, long, global = true, help_heading = HEADING, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print more: where files are looked for, every git command, and the exit code; -vv prints what is logged, too
    #[arg(short, long, global = true, help_heading = HEADING, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Print what is logged, from this level on: off, error, warn, info, debug, trace, or levels of modules
    /// (info,conductor_engine::git=trace) [env: CONDUCTOR_LOG]
    #[arg(long, value_name = "LEVEL", global = true, help_heading = HEADING, value_parser = log_level)]
    pub(crate) log_level: Option<LogLevel>,

    /// Choose how log lines are written [env: CONDUCTOR_LOG_FORMAT] [default: text]
    #[arg(long, value_enum, value_name = "FORMAT", global = true, help_heading = HEADING)]
    pub(crate) log_format: Option<LogFormat>,

    /// Trust what this repository brings along if it has this hash, as `conductor trust --show` prints it; none leaves
    /// out what is not trusted [env: CONDUCTOR_TRUST]
    #[arg(long, value_name = "HASH", global = true, help_heading = HEADING, value_parser = trust::hash)]
    pub(crate) trust: Vec<String>,

    /// Choose when to use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto, global = true, help_heading = HEADING)]
    pub(crate) color: Color,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// What is wanted of the log, and how it was said.
#[derive(Debug, Clone)]
pub(crate) struct LogLevel {
    pub(crate) said: String,
    pub(crate) wanted: Wanted,
}

pub(crate) fn log_level(said: &str) -> Result<LogLevel, WantedError> {
    Ok(LogLevel { said: said.to_owned(), wanted: said.parse()? })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl Global {
    /// Whether none of them was typed.
    pub(crate) fn is_untouched(&self) -> bool {
        self.directories.is_empty()
            && !self.quiet
            && self.verbose == 0
            && self.log_level.is_none()
            && self.log_format.is_none()
            && self.trust.is_empty()
            && self.color == Color::Auto
    }
}
