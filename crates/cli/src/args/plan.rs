//! Of planning: `plan` and `orchestrate`.

use std::path::PathBuf;

use clap::Args;
use conductor_core::values::units::Millis;

use crate::complete;

use super::{at_once, dollars, duration};

/// What is to be planned, and by whom.
#[derive(Debug, Args)]
pub(crate) struct Planning {
    /// Describe what is to be done; `-` reads it from standard input
    pub(crate) requirements: Option<String>,

    /// Read the description from this file
    #[arg(short, long, value_name = "FILE", conflicts_with = "requirements")]
    pub(crate) file: Option<PathBuf>,

    /// Plan the issues of this file, with at least one task for each: a Markdown list, a JSON list of {id?,
    /// title, body?}, or one issue per line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["requirements", "file"])]
    pub(crate) from_issues: Option<PathBuf>,

    /// Plan for this many agents at once; does not limit the number of tasks
    #[arg(long, value_name = "M", value_parser = at_once)]
    pub(crate) budget: Option<u32>,

    /// Plan with this agent, and name it in the file for the tasks (default: the configured agent)
    #[arg(long, value_name = "NAME", add = complete::agents())]
    pub(crate) agent: Option<String>,

    /// Plan with this model, and name it in the file for the tasks
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Review the plan before it is used: approve it, drop tasks, edit it
    #[arg(short, long)]
    pub(crate) interactive: bool,

    /// Refuse a plan with more tasks than this
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max_tasks: u32,

    /// Limit the planner's time for each answer
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Millis,

    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) planning: Planning,

    /// Write the task file here, and execution_plan.json beside it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Change the task file of --plan as described here
    #[arg(long, value_name = "WISH", requires = "plan", conflicts_with_all = ["requirements", "file", "from_issues"])]
    pub(crate) refine: Option<String>,

    /// Change this task file, as --refine describes
    #[arg(long, value_name = "FILE", requires = "refine")]
    pub(crate) plan: Option<PathBuf>,

    /// Stop the planner once it has cost this much
    #[arg(long, value_name = "USD", default_value = "1", value_parser = dollars)]
    pub(crate) max_cost: f64,

    /// Print the plan and how it was made, as JSON
    #[arg(long, conflicts_with = "interactive")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Orchestrate {
    #[command(flatten)]
    pub(crate) planning: Planning,

    /// Write the task file, transcripts and reports to this folder
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Ask nothing; refuse commands that the planner proposes and the project does not use
    #[arg(short, long, conflicts_with = "interactive")]
    pub(crate) yes: bool,

    /// Allow any command that the planner proposes to check the tasks with
    #[arg(long)]
    pub(crate) allow_commands: bool,

    /// Interrupt agents and start nothing new once planner and tasks together have cost this much
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) max_cost: Option<f64>,

    /// Show at the end where time and cost went, how good the estimates were, and the ledger
    #[arg(long)]
    pub(crate) stats: bool,

    /// Print the run's events on standard output, one per line
    #[arg(long, conflicts_with = "interactive")]
    pub(crate) json: bool,

    /// Pass these options to `conductor run`
    #[arg(last = true, value_name = "RUN OPTIONS")]
    pub(crate) run: Vec<String>,
}
