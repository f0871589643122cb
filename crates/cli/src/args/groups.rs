//! Of groups of tasks, and of tasks that come from elsewhere.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use conductor_core::report::groups::Status;
use conductor_core::values::units::Millis;

use crate::complete;

use super::{at_once, duration, words};

#[derive(Debug, Subcommand)]
pub(crate) enum Group {
    /// Show the groups of a file's tasks, as marked by [P:Group-X] in their text
    Detect(GroupDetect),
    /// Split the tasks of a file into groups to run in turn, without file conflicts; runs nothing
    Plan(GroupPlan),
    /// Run one group of a file, or all its groups in turn, with passing tests in between
    Execute(GroupExecute),
    /// List every group that was run here, with its status
    List(GroupList),
    /// Show the status of a group, during its run and after
    Status(GroupStatus),
    /// Wait for a group to end; exit with 0 if it completed, 100 if it failed, 4 if it is blocked
    Wait(GroupWait),
    /// Report on a group: its result, and every decision about it
    Report(GroupReport),
}

#[derive(Debug, Args)]
pub(crate) struct GroupDetect {
    /// Read the tasks from this file, a list or a task file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks_file: PathBuf,
    /// Choose the output format
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Shown::Pretty)]
    pub(crate) output: Shown,
    /// Same as --output json
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GroupPlan {
    /// Read this task file; `-` is standard input (default: the file `run` would take)
    pub(crate) file: Option<PathBuf>,
    /// Choose what comes first, where dependencies leave a choice
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Order::Topological)]
    pub(crate) strategy: Order,
    /// Put at most this many tasks into a group
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_group_size: Option<u32>,
    /// Choose the output format
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Shown::Pretty)]
    pub(crate) output: Shown,
    /// Same as --output json
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the tasks to this file, with the order as execution_order; `-` is standard output
    #[arg(short = 'o', long = "write", value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GroupExecute {
    /// Run only this group, by name or id (default: all groups, in turn)
    #[arg(long, value_name = "GROUP", add = complete::groups())]
    pub(crate) group_id: Option<String>,
    /// Read the tasks from this file, a list or a task file
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks_file: PathBuf,
    /// Run up to N tasks at once; 3 without a number (default: the whole group, up to 8)
    #[arg(short, long, value_name = "N", num_args = 0..=1, default_missing_value = words::PARALLEL_ALONE,
          value_parser = at_once)]
    pub(crate) parallel: Option<u32>,
    /// Refresh the agents before each group, with a command or a slash command of the agent; `none` turns it
    /// off (default: /flow:summary, if the agent has it)
    #[arg(long, value_name = "WHAT")]
    pub(crate) refresh: Option<String>,
    /// Limit the time of each refresh
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    pub(crate) refresh_timeout: Millis,
    /// Require this command to succeed after each group; `auto` takes what the project's files suggest,
    /// `none` runs no tests; repeatable
    #[arg(long, value_name = "COMMAND")]
    pub(crate) tests: Vec<String>,
    /// Run tasks again that have landed before
    #[arg(long)]
    pub(crate) again: bool,
    /// Choose what to print at the end: a summary of the run, or the JSON of `group status`
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Shown::Pretty)]
    pub(crate) output: Shown,
    /// Same as --output json
    #[arg(long)]
    pub(crate) json: bool,
    /// Show at the end where time and cost went, how good the estimates were, and the ledger
    #[arg(long)]
    pub(crate) stats: bool,
    /// Pass these arguments to `run`, such as --max-cost 5 or --merge branch
    #[arg(last = true, value_name = "RUN-ARGUMENTS")]
    pub(crate) run: Vec<String>,
}

/// Which group is looked at.
#[derive(Debug, Args)]
pub(crate) struct OfGroup {
    /// Use this group, by name or id
    #[arg(long, value_name = "GROUP", add = complete::groups())]
    pub(crate) group_id: String,
    /// Use this run (name or prefix; default: the newest one here with the group)
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GroupList {
    /// List only groups with this status
    #[arg(long, value_name = "STATUS", value_parser = standing())]
    pub(crate) status: Option<Status>,
    /// Choose the output format
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
    /// Choose the output format
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
    /// Wait at most this long, then exit with code 8
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "3600")]
    pub(crate) timeout: Millis,
    /// Print the group's status as JSON, as `group status` does
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GroupReport {
    #[command(flatten)]
    pub(crate) of: OfGroup,
    /// Choose the output format
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
        .try_map(|name| Status::named(&name).ok_or("there is no such status"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shown {
    /// Text for people
    Pretty,
    /// JSON for programs
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Each task as soon as its dependencies are done
    Topological,
    /// Risky tasks
    RiskFirst,
    /// Tasks that others depend on
    FoundationalFirst,
    /// Tasks with the longest chain of dependents, in as few groups as possible
    #[value(alias = "parallel-maximizing")]
    ParallelMaximising,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    /// Make tasks from the open issues of beads that are ready
    Beads(ImportTo),
    /// Make tasks from the open issues of a GitHub repository, as `gh` lists them
    Github(ImportGithub),
    /// Make tasks from a list in Markdown (`- [ ] words`)
    Markdown(ImportFile),
    /// Make tasks from the open issues in a Linear JSON export, or a file of the same form
    Linear(ImportFile),
    /// Make tasks from the open tasks of task-master
    TaskMaster(ImportTaskMaster),
    /// Make tasks from the open tasks in vibe-kanban's database
    VibeKanban(ImportVibeKanban),
    /// Make tasks with an importer plugin
    Plugin(ImportPlugin),
}

#[derive(Debug, Args)]
pub(crate) struct ImportGithub {
    /// Read the issues of this repository (default: the one of this directory)
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<String>,
    /// Read only issues with this label; repeatable
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// Read at most this many issues
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) to: ImportTo,
}

#[derive(Debug, Args)]
pub(crate) struct ImportFile {
    /// Read this file
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) to: ImportTo,
}

#[derive(Debug, Args)]
pub(crate) struct ImportTaskMaster {
    /// Read this file (default: .taskmaster/tasks/tasks.json)
    pub(crate) file: Option<PathBuf>,
    /// Read the tasks of this tag
    #[arg(long, value_name = "TAG", default_value = "master")]
    pub(crate) tag: String,
    #[command(flatten)]
    pub(crate) to: ImportTo,
}

#[derive(Debug, Args)]
pub(crate) struct ImportVibeKanban {
    /// Read this database (default: where vibe-kanban keeps it)
    pub(crate) file: Option<PathBuf>,
    /// Read only tasks of this project
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    #[command(flatten)]
    pub(crate) to: ImportTo,
}

#[derive(Debug, Args)]
pub(crate) struct ImportPlugin {
    /// Use this importer
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) to: ImportTo,
    /// Pass these arguments to the importer
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportTo {
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

/// Where tasks come from that are in no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum From {
    /// The open issues of beads; issues that land are closed there
    Beads,
}
