//! Of what is there before a run: task files, settings, and help.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::complete;

use super::{at_once, variable, words};

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// The task file; `-` reads it from standard input. Where absent, the one `run` would take
    pub(crate) file: Option<PathBuf>,
    /// The findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// The task file; `-` reads it from standard input. Where absent, the one `run` would take
    pub(crate) file: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// Only these tasks, as for `run`
    #[arg(long, value_name = "EXPR")]
    pub(crate) only: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Mermaid,
    Dot,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct Rehearse {
    /// The task file; `-` reads it from standard input. Where absent, the one `run` would take
    pub(crate) file: Option<PathBuf>,
    /// With so many tasks at once, 3 where given without a number; with as many as there is use for where absent
    #[arg(short, long, value_name = "N", num_args = 0..=1, default_missing_value = words::PARALLEL_ALONE,
          value_parser = at_once)]
    pub(crate) parallel: Option<u32>,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A task's id; or an exit code, a failure class, or a finding's code
    #[arg(add = complete::tasks())]
    pub(crate) what: String,
    /// The task file the task is in; otherwise it is a task of a run
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub(crate) file: Option<PathBuf>,
    /// The run, or the beginning of its name; the newest one here that has the task where absent
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Print what the agent would be told, word for word
    #[arg(long, conflicts_with = "json")]
    pub(crate) prompt: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Every setting: what counts of variables, config files and what is built in
    Show(ConfigShow),
    /// Where config files are looked for, the strongest first
    Path(ConfigPath),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShow {
    /// A task file whose config comes before those of the config files
    pub(crate) file: Option<PathBuf>,
    /// And who says it: a variable, a file and its line, or nobody
    #[arg(long)]
    pub(crate) origin: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigPath {
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Ask what to write
    #[arg(long)]
    pub(crate) wizard: bool,
    /// Write over files that are there
    #[arg(long)]
    pub(crate) force: bool,
    /// The answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Mend what can be mended without a risk, and tell what was done
    #[arg(long)]
    pub(crate) fix: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Template {
    /// Every template: your own, the repository's and those that come with us
    List(TemplateList),
    /// Fill a template in and write it as a task file
    New(TemplateNew),
}

#[derive(Debug, Args)]
pub(crate) struct TemplateList {
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TemplateNew {
    /// Which template
    #[arg(add = complete::templates())]
    pub(crate) name: String,
    /// A variable of the template and its value; may be given often
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) variables: Vec<(String, String)>,
    /// Where to write it; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "tasks.yaml")]
    pub(crate) output: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// The answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Of config files instead
    #[arg(long)]
    pub(crate) config: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write a page for every command into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Version {
    #[arg(long)]
    pub(crate) json: bool,
}
