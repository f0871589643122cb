//! Of planning: `plan` and `orchestrate`.

use std::path::PathBuf;

use clap::Args;
use conductor_core::units::Millis;

use crate::complete;

use super::{at_once, dollars, duration};

/// What is to be planned, and by whom.
#[derive(Debug, Args)]
pub(crate) struct Planning {
    /// What is to be done, in your words; `-` reads it from standard input
    pub(crate) requirements: Option<String>,

    /// Read what is to be done from this file
    #[arg(short, long, value_name = "FILE", conflicts_with = "requirements")]
    pub(crate) file: Option<PathBuf>,

    /// Plan the issues of this file, at least a task for each: a Markdown list, a JSON list of
    /// {id?, title, body?}, or a line each
    #[arg(long, value_name = "FILE", conflicts_with_all = ["requirements", "file"])]
    pub(crate) from_issues: Option<PathBuf>,

    /// How many agents may work at once; it does not limit the number of tasks
    #[arg(long, value_name = "M", value_parser = at_once)]
    pub(crate) budget: Option<u32>,

    /// Who plans, and is named in the file to do the tasks; whoever does tasks anyway where absent
    #[arg(long, value_name = "NAME", add = complete::agents())]
    pub(crate) agent: Option<String>,

    /// The model it plans with, and is named in the file for the tasks
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Look at the plan before it is used: approve it, drop tasks, edit it
    #[arg(short, long)]
    pub(crate) interactive: bool,

    /// Refuse a plan with more tasks than this
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max_tasks: u32,

    /// How long the planner may take for each answer
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Millis,

    /// Write over files that are there already
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) planning: Planning,

    /// Where the task file goes; execution_plan.json goes beside it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Change an existing plan in this way
    #[arg(long, value_name = "WISH", requires = "plan", conflicts_with_all = ["requirements", "file", "from_issues"])]
    pub(crate) refine: Option<String>,

    /// The task file that is to be changed
    #[arg(long, value_name = "FILE", requires = "refine")]
    pub(crate) plan: Option<PathBuf>,

    /// Stop the planner once it has cost this much
    #[arg(long, value_name = "USD", default_value = "1", value_parser = dollars)]
    pub(crate) max_cost: f64,

    /// The plan and how it came to be, as JSON
    #[arg(long, conflicts_with = "interactive")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Orchestrate {
    #[command(flatten)]
    pub(crate) planning: Planning,

    /// Where the task file, transcripts and reports go
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Ask nothing; commands that the planner proposed and the project does not use are refused
    #[arg(short, long, conflicts_with = "interactive")]
    pub(crate) yes: bool,

    /// Run whatever commands the planner proposes to check the tasks with
    #[arg(long)]
    pub(crate) allow_commands: bool,

    /// Start nothing new once planner and tasks together have cost this much
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) max_cost: Option<f64>,

    /// Tell at the end where time and cost went, how good estimates were and what the ledger counts
    #[arg(long)]
    pub(crate) stats: bool,

    /// One event of the run a line on standard output
    #[arg(long, conflicts_with = "interactive")]
    pub(crate) json: bool,

    /// Anything else that `conductor run` understands, after `--`
    #[arg(last = true, value_name = "RUN OPTIONS")]
    pub(crate) run: Vec<String>,
}
