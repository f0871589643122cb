//! Of groups of tasks, and of tasks that come from elsewhere.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum Group {
    /// Show which tasks of a file belong together, by the marks [P:Group-X] in their words
    Detect(GroupDetect),
    /// Put the tasks of a file in groups, one after the other, that touch no file twice; runs nothing
    Plan(GroupPlan),
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
    /// The task file; `-` reads it from standard input
    pub(crate) file: PathBuf,
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
}

/// Where tasks come from that are in no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum From {
    /// The open issues of beads; what lands is closed there
    Beads,
}
