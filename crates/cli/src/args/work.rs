//! Of what runs have done: changes, workspaces, checkpoints, money, and who did it.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use conductor_core::run::costs::By;
use conductor_core::values::units::Millis;

use crate::complete;

use super::{OfTask, duration};

#[derive(Debug, Args)]
pub(crate) struct Cost {
    /// Use this run (name or prefix; default: the newest one here)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Group the costs by this
    #[arg(long, value_parser = by(), default_value = By::Task.name(), value_name = "WHAT")]
    pub(crate) by: By,
    /// Add up all runs of this repository, and plans made here that no run used
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn by() -> impl TypedValueParser<Value = By> {
    PossibleValuesParser::new(By::ALL.map(By::name))
        .try_map(|name| By::named(&name).ok_or("costs cannot be grouped so"))
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Use this run (name or prefix; default: the newest one here)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Choose the output format; otlp is the run's trace for OpenTelemetry and needs a build with the feature `otel`
    #[arg(long, value_enum, default_value_t = ReportFormat::Html)]
    pub(crate) format: ReportFormat,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Write the report here; `-` is standard output (default: html into the run's folder, others to standard
    /// output)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Send the trace (--format otlp) to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names
    #[arg(long, conflicts_with = "output")]
    pub(crate) send: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    Html,
    Md,
    Json,
    Otlp,
}

#[derive(Debug, Args)]
pub(crate) struct Prices {
    /// Show only these models (default: all)
    pub(crate) models: Vec<String>,
    /// Use the prices of this task file first
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Show only file names, and how many lines changed
    #[arg(long)]
    pub(crate) stat: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Worktree {
    /// List this repository's workspaces, and kept work that has not landed
    List(WorktreeList),
    /// Print the folder a task works in
    Path(OfTask),
    /// Remove workspaces that are no longer needed; what is in them is saved first
    Clean(WorktreeClean),
    /// Try again to merge a failed task's work into the run's branch
    Merge(WorktreeMerge),
    /// Resolve the conflict of a failed task
    Resolve(WorktreeResolve),
    /// Merge the branch you are on into the run's branch
    Sync(WorktreeSync),
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeList {
    /// List only what belongs to this run
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// List workspaces of other repositories too
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeClean {
    /// Clean up this run (default: all finished runs of this repository)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Clean up runs that could be resumed, too
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    /// Print the result as JSON
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
    /// Land this file even if it has conflict markers, by its path in the repository; repeatable
    #[arg(long = "allow-markers", value_name = "FILE")]
    pub(crate) files: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeResolve {
    #[command(flatten)]
    pub(crate) of: OfTask,
    #[command(flatten)]
    pub(crate) how: How,
    /// With --write: take one side's version of the file instead of standard input
    #[arg(long, value_enum, value_name = "SIDE", requires = "write")]
    pub(crate) take: Option<TakenSide>,
    #[command(flatten)]
    pub(crate) markers: AllowMarkers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TakenSide {
    /// What has landed
    Ours,
    /// The task's work
    Theirs,
}

/// Without any of these, the conflict is laid out in a folder for the user to resolve.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct How {
    /// Take what has landed wherever both changed the same lines
    #[arg(long)]
    pub(crate) ours: bool,
    /// Take the task's work wherever both changed the same lines
    #[arg(long)]
    pub(crate) theirs: bool,
    /// Check the resolved work, and land it
    #[arg(long = "continue")]
    pub(crate) proceed: bool,
    /// Abandon the resolution; the task's work is kept
    #[arg(long)]
    pub(crate) abort: bool,
    /// Show each file of a conflict that is laid out: as it was, both sides, and as it is in the folder
    #[arg(long)]
    pub(crate) show: bool,
    /// Write standard input to this file of a conflict that is laid out, by its path in the repository
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeSync {
    /// Use this run (name or prefix; default: the newest one here with a branch)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// List every agent: whether it is installed and logged in, and what it can do
    List(AgentsList),
    /// Have each agent write one word into a file of a scratch repository; this costs a little
    Test(AgentsTest),
}

#[derive(Debug, Args)]
pub(crate) struct AgentsList {
    /// Include the agents that this task file defines
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AgentsTest {
    /// Test these agents (default: all installed ones)
    #[arg(add = complete::agents())]
    pub(crate) names: Vec<String>,
    /// Include the agents that this task file defines
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Use this model instead of the agents' own choice
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Limit the time of each agent
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    pub(crate) timeout: Millis,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Checkpoint {
    /// Save the position of the branch you are on, or of a run's branch
    Create(CheckpointCreate),
    /// List every checkpoint, newest first
    List(CheckpointList),
    /// Set a branch back to a checkpoint; on a run's branch, a resume redoes what had landed since
    Rollback(CheckpointRollback),
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointCreate {
    /// Give the checkpoint this name
    pub(crate) name: Option<String>,
    /// Save the branch of this run
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Say what the checkpoint is for
    #[arg(short, long, value_name = "TEXT", default_value = "made by hand")]
    pub(crate) message: String,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointList {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointRollback {
    /// Roll back to this checkpoint
    pub(crate) name: String,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
