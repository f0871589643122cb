//! Of what is there before a run: task files, settings, and help.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::complete;

use super::{at_once, variable, words};

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Read this task file; `-` is standard input (default: the file `run` would take)
    pub(crate) file: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// Read this task file; `-` is standard input (default: the file `run` would take)
    pub(crate) file: Option<PathBuf>,
    /// Choose the output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// Show only these tasks, selected as with `run --only`
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
    /// Read this task file; `-` is standard input (default: the file `run` would take)
    pub(crate) file: Option<PathBuf>,
    /// Estimate for N tasks at once; 3 without a number (default: as many as shorten the run)
    #[arg(short, long, value_name = "N", num_args = 0..=1, default_missing_value = words::PARALLEL_ALONE,
          value_parser = at_once)]
    pub(crate) parallel: Option<u32>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Explain this: a task's id, an exit code, a failure class or a finding's code
    #[arg(add = complete::tasks())]
    pub(crate) what: String,
    /// Look for the task in this task file instead of in a run
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub(crate) file: Option<PathBuf>,
    /// Use this run (name or prefix; default: the newest one here with the task)
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Print the agent's prompt, word for word
    #[arg(long, conflicts_with = "json")]
    pub(crate) prompt: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Show every setting: from a variable, a config file, or built in
    Show(ConfigShow),
    /// List where config files are looked for, highest precedence first
    Path(ConfigPath),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShow {
    /// Include the config of this task file, which overrides the config files
    pub(crate) file: Option<PathBuf>,
    /// Show where each value comes from
    #[arg(long)]
    pub(crate) origin: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigPath {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Ask what to write
    #[arg(long)]
    pub(crate) wizard: bool,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Fix what can be fixed without risk, and report what was done
    #[arg(long)]
    pub(crate) fix: bool,
    /// Leave out the repository and its task file: check this machine and the state directory only
    #[arg(long)]
    pub(crate) machine: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Template {
    /// List every template: yours, the repository's and the built-in ones
    List(TemplateList),
    /// Fill in a template, and write it as a task file
    New(TemplateNew),
}

#[derive(Debug, Args)]
pub(crate) struct TemplateList {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TemplateNew {
    /// Use this template
    #[arg(add = complete::templates())]
    pub(crate) name: String,
    /// Set a variable of the template; repeatable
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) variables: Vec<(String, String)>,
    /// Write the task file here; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "tasks.yaml")]
    pub(crate) output: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Print the schema of config files instead
    #[arg(long)]
    pub(crate) config: bool,
    /// Print the description of the server's API instead, as OpenAPI
    #[arg(long, conflicts_with = "config")]
    pub(crate) openapi: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Print the script for this shell
    #[arg(value_enum)]
    pub(crate) shell: CompletingShell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompletingShell {
    Bash,
    Elvish,
    Fish,
    Nushell,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write a page for every command into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Version {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
