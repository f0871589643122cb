//! Options that every command takes, before or after its name.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const HEADING: &str = "Global options";

#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Change to this directory first; each further -C is relative to the one before
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = HEADING)]
    pub(crate) directories: Vec<PathBuf>,

    /// Print only answers, questions and errors: no progress, no notices
    #[arg(short, long, global = true, help_heading = HEADING, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print more: where files are looked for, every git command, and the exit code
    #[arg(short, long, global = true, help_heading = HEADING)]
    pub(crate) verbose: bool,

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

impl Global {
    /// Whether none of them was typed.
    pub(crate) fn is_untouched(&self) -> bool {
        self.directories.is_empty() && !self.quiet && !self.verbose && self.color == Color::Auto
    }
}
