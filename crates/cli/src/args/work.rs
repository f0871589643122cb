//! Of what runs have done: changes, workspaces, checkpoints, money, and who did it.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use conductor_core::costs::By;
use conductor_core::units::Millis;

use crate::complete;

use super::{OfTask, duration};

#[derive(Debug, Args)]
pub(crate) struct Cost {
    /// The run, or the beginning of its name; the newest one here where absent
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// What the lines are by
    #[arg(long, value_parser = by(), default_value = By::Task.name(), value_name = "WHAT")]
    pub(crate) by: By,
    /// All runs of this repository together, and the plans that were made here and not run at once
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

fn by() -> impl TypedValueParser<Value = By> {
    PossibleValuesParser::new(By::ALL.map(By::name))
        .try_map(|name| By::named(&name).ok_or("there are no such lines"))
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The run, or the beginning of its name; the newest one here where absent
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// A page to send on, Markdown, or JSON
    #[arg(long, value_enum, default_value_t = ReportFormat::Html)]
    pub(crate) format: ReportFormat,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Write it there, `-` for standard output; else the page goes to the run's own files, the others to standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    Html,
    Md,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct Prices {
    /// Models by name; all of them where absent
    pub(crate) models: Vec<String>,
    /// A task file whose own prices come first
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Only the names of the files, and how many lines changed
    #[arg(long)]
    pub(crate) stat: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Worktree {
    /// List this repository's workspaces, and all work that is kept and has not landed
    List(WorktreeList),
    /// Print the folder a task works in
    Path(OfTask),
    /// Take away workspaces that nobody needs any more; what is in them is saved first
    Clean(WorktreeClean),
    /// Try again to bring a failed task's work onto the run's branch
    Merge(WorktreeMerge),
    /// Solve the conflict of a failed task
    Resolve(WorktreeResolve),
    /// Merge the branch you are on into the run's branch
    Sync(WorktreeSync),
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeList {
    /// Only of this run
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Workspaces of other repositories too
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeClean {
    /// The run; all finished ones of this repository where absent
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Those of runs that could be resumed as well
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    /// The answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeMerge {
    #[command(flatten)]
    pub(crate) of: OfTask,
    #[command(flatten)]
    pub(crate) markers: AllowMarkers,
}

#[derive(Debug, Args)]
pub(crate) struct AllowMarkers {
    /// Land this file although the marks of a conflict are in it; its path in the repository. May be given several times
    #[arg(long = "allow-markers", value_name = "FILE")]
    pub(crate) files: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeResolve {
    #[command(flatten)]
    pub(crate) of: OfTask,
    #[command(flatten)]
    pub(crate) how: How,
    #[command(flatten)]
    pub(crate) markers: AllowMarkers,
}

/// Without any of these, the conflict is laid out in a folder to be solved there.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct How {
    /// What has landed wins wherever both changed the same lines
    #[arg(long)]
    pub(crate) ours: bool,
    /// The task wins wherever both changed the same lines
    #[arg(long)]
    pub(crate) theirs: bool,
    /// It is solved: check it and land it
    #[arg(long = "continue")]
    pub(crate) proceed: bool,
    /// Give it up; the task's work stays kept
    #[arg(long)]
    pub(crate) abort: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeSync {
    /// The run, or the beginning of its name; the newest one here that has a branch where absent
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// The answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// Every agent: whether it is installed and logged in, and what it can do
    List(AgentsList),
    /// Have agents write one word into a file of a repository made for that; this costs a little
    Test(AgentsTest),
}

#[derive(Debug, Args)]
pub(crate) struct AgentsList {
    /// A task file whose own agents count too
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AgentsTest {
    /// Who; everybody who is installed where absent
    #[arg(add = complete::agents())]
    pub(crate) names: Vec<String>,
    /// A task file whose own agents count too
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// With this model instead of their own choice
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How long each may take
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    pub(crate) timeout: Millis,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Checkpoint {
    /// Remember where the branch you are on is, or a run's
    Create(CheckpointCreate),
    /// Every checkpoint, newest first
    List(CheckpointList),
    /// Set a branch back; where it is a run's, what had landed since is to be done again
    Rollback(CheckpointRollback),
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointCreate {
    /// What to call it
    pub(crate) name: Option<String>,
    /// The run whose branch is meant
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// What it is for
    #[arg(short, long, value_name = "TEXT", default_value = "made by hand")]
    pub(crate) message: String,
    /// The answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointList {
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointRollback {
    pub(crate) name: String,
    /// The answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
