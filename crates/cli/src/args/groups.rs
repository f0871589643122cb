//! Of groups of tasks, and of tasks that come from elsewhere.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use conductor_core::groups::Status;
use conductor_core::units::Millis;

use crate::complete;

use super::{at_once, duration, words};

#[derive(Debug, Subcommand)]
pub(crate) enum Group {
    /// Show which tasks of a file belong together, by the marks [P:Group-X] in their words
    Detect(GroupDetect),
    /// Put the tasks of a file in groups, one after the other, that touch no file twice; runs nothing
    Plan(GroupPlan),
    /// Carry out a group of a file, or all its groups one after the other, with green tests in between
    Execute(GroupExecute),
    /// Every group that was carried out here, and how it stands
    List(GroupList),
    /// How a group stands, during and after
    Status(GroupStatus),
    /// Wait for a group to end: exits with 0 if it is completed, 100 if it failed, 4 if it is blocked
    Wait(GroupWait),
    /// What a group came to, with every decision about it
    Report(GroupReport),
}

#[derive(Debug, Args)]
pub(crate) struct GroupDetect {
    /// The tasks: a list of them, or a task file; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks_file: PathBuf,
    /// How they are shown
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Shown::Pretty)]
    pub(crate) output: Shown,
    /// Same as --output json
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GroupPlan {
    /// The task file; `-` reads it from standard input. Where absent, the one `run` would take
    pub(crate) file: Option<PathBuf>,
    /// What comes first, where dependencies leave a choice
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Order::Topological)]
    pub(crate) strategy: Order,
    /// How many tasks a group has at the most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_group_size: Option<u32>,
    /// How they are shown
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Shown::Pretty)]
    pub(crate) output: Shown,
    /// Same as --output json
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the tasks with this order as their execution_order; `-` is standard output
    #[arg(short = 'o', long = "write", value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GroupExecute {
    /// Which group, by its name or its id; all of them, one after the other, where absent
    #[arg(long, value_name = "GROUP", add = complete::groups())]
    pub(crate) group_id: Option<String>,
    /// The tasks: a list of them, or a task file
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks_file: PathBuf,
    /// How many tasks are at work at once, 3 where given without a number; a whole group, up to 8, where absent
    #[arg(short, long, value_name = "N", num_args = 0..=1, default_missing_value = words::PARALLEL_ALONE,
          value_parser = at_once)]
    pub(crate) parallel: Option<u32>,
    /// What brings agents up to date before each group: a command, a slash command of the agent, or `none`;
    /// /flow:summary where the agent has it
    #[arg(long, value_name = "WHAT")]
    pub(crate) refresh: Option<String>,
    /// How long that may take
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    pub(crate) refresh_timeout: Millis,
    /// What must succeed after each group: a command, `auto` for what the project's files suggest, or
    /// `none`; may be given often
    #[arg(long, value_name = "COMMAND")]
    pub(crate) tests: Vec<String>,
    /// Do again what has landed before
    #[arg(long)]
    pub(crate) again: bool,
    /// What is told at the end: the run in words, or how the group stands, as `group status` tells it
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Shown::Pretty)]
    pub(crate) output: Shown,
    /// Same as --output json
    #[arg(long)]
    pub(crate) json: bool,
    /// Tell at the end where time and cost went, how good estimates were and what the ledger counts
    #[arg(long)]
    pub(crate) stats: bool,
    /// Further arguments for `run`, such as --max-cost 5 or --merge branch
    #[arg(last = true, value_name = "RUN-ARGUMENTS")]
    pub(crate) run: Vec<String>,
}

/// Which group is looked at.
#[derive(Debug, Args)]
pub(crate) struct OfGroup {
    /// The group, by its name or its id
    #[arg(long, value_name = "GROUP", add = complete::groups())]
    pub(crate) group_id: String,
    /// The run that carried it out, or the beginning of its name; the newest one here where absent
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GroupList {
    /// Only those that stand so
    #[arg(long, value_name = "STATUS", value_parser = standing())]
    pub(crate) status: Option<Status>,
    /// How they are shown
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Shown::Pretty)]
    pub(crate) output: Shown,
    /// Same as --output json
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GroupStatus {
    #[command(flatten)]
    pub(crate) of: OfGroup,
    /// How it is shown
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Shown::Pretty)]
    pub(crate) output: Shown,
    /// Same as --output json
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GroupWait {
    #[command(flatten)]
    pub(crate) of: OfGroup,
    /// How long at the most; after that the exit code is 8
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "3600")]
    pub(crate) timeout: Millis,
    /// How the group stands as JSON, as `group status` tells it
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GroupReport {
    #[command(flatten)]
    pub(crate) of: OfGroup,
    /// Markdown, or JSON
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = GroupReportFormat::Md)]
    pub(crate) format: GroupReportFormat,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupReportFormat {
    Md,
    Json,
}

fn standing() -> impl TypedValueParser<Value = Status> {
    PossibleValuesParser::new(Status::ALL.map(Status::name))
        .try_map(|name| Status::named(&name).ok_or("groups do not stand so"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shown {
    /// For people
    Pretty,
    /// For programs
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Everything as soon as what it waits for is done
    Topological,
    /// What can go wrong badly
    RiskFirst,
    /// What others build on
    FoundationalFirst,
    /// What has the longest way behind it, in as few groups as can be
    #[value(alias = "parallel-maximizing")]
    ParallelMaximising,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    /// The open issues of beads that can be done now, as a task file
    Beads(ImportBeads),
}

#[derive(Debug, Args)]
pub(crate) struct ImportBeads {
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

/// Where tasks come from that are in no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum From {
    /// The open issues of beads; what lands is closed there
    Beads,
}
