//! Of a run that goes on or is over: looking at it, steering it, answering it.

use clap::{Args, Subcommand, ValueEnum};
use conductor_core::plan::Priority;
use conductor_core::values::units::Millis;

use crate::complete;

use super::{at_once, days, dollars, duration, priority, some_time};

/// A run, by name.
#[derive(Debug, Args)]
pub(crate) struct OfRun {
    /// Use this run (name or prefix; default: the newest active one here)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Use this run (name or prefix; default: the newest active one here, else the newest)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Keep showing the status until the run ends, then exit with its exit code
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The view is for people; what programs read of a run is `status --json`.
#[derive(Debug, Args)]
pub(crate) struct Tui {
    /// Show this run (name or prefix; default: the newest active one here, else the board)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// Show this run (name or prefix; default: the newest active one here)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Handover {
    /// Take this run over (name or prefix; default: the newest active one here)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Leave the run where it is if commands, checks or a landing hold it up for longer than this
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    pub(crate) timeout: Millis,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// Use the task with this id
    #[arg(add = complete::tasks(), required_unless_present = "coordinator")]
    pub(crate) task: Option<String>,
    /// Use this run (name or prefix; default: the newest one here that fits)
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Follow the task until it ends, through all its attempts
    #[arg(short, long, conflicts_with = "attempt")]
    pub(crate) follow: bool,
    /// Show this attempt (default: the newest)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) attempt: Option<u32>,
    /// Show the agent's raw messages instead
    #[arg(long)]
    pub(crate) stream: bool,
    /// Show what Conductor itself logged about the run instead: its steps, its git commands, and how long they took
    #[arg(long, conflicts_with_all = ["task", "json", "follow", "attempt", "stream"])]
    pub(crate) coordinator: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Use this run (name or prefix; default: the newest active one here, else the newest)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Follow the events until the run ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print only events after the one with this number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) since: u64,
    /// Print one JSON object per line (also the default)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Wait {
    /// Use this run (name or prefix; default: the newest active one here, else the newest)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Choose what to wait for
    #[arg(long = "for", value_enum, value_name = "WHAT", default_value_t = Awaited::Done)]
    pub(crate) what: Awaited,
    /// Wait at most this long, then exit with code 8
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Millis>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Awaited {
    /// The end of the run
    Done,
    /// The first task that ends
    Any,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("which").required(true)))]
pub(crate) struct Cancel {
    /// Cancel the task with this id
    #[arg(group = "which", add = complete::tasks())]
    pub(crate) task: Option<String>,
    /// Cancel every task of this group that has not ended
    #[arg(long, value_name = "GROUP", group = "which", add = complete::groups())]
    pub(crate) group: Option<String>,
    /// Cancel every task that has not ended
    #[arg(long, group = "which")]
    pub(crate) all: bool,
    /// Use this run, active or not (name or prefix; default: the newest active one here)
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Parallel {
    /// Run up to this many tasks at once
    #[arg(value_name = "N", value_parser = at_once)]
    pub(crate) slots: u32,
    /// Use this run (name or prefix; default: the newest active one here)
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a run may use; at least one of them.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("caps").required(true).multiple(true)))]
pub(crate) struct Cap {
    /// Use this run, active or not (name or prefix; default: the newest active one here)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Interrupt agents and start nothing new once this much has been spent
    #[arg(long, value_name = "USD", value_parser = dollars, group = "caps")]
    pub(crate) max_cost: Option<f64>,
    /// Interrupt agents and start nothing new once this many tokens have been used
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), group = "caps")]
    pub(crate) max_tokens: Option<u64>,
    /// Stop after this much time
    #[arg(long, value_name = "TIME", value_parser = some_time, group = "caps")]
    pub(crate) max_time: Option<Millis>,
    /// Start nothing new after this many attempts of all tasks together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), group = "caps")]
    pub(crate) max_attempts: Option<u32>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RunsOrList {
    #[command(subcommand)]
    pub(crate) verb: Option<Runs>,
    #[command(flatten)]
    pub(crate) list: RunsList,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    /// List the runs, newest first; same as `runs` alone
    List(RunsList),
    /// Show the result of a run, or what it is doing
    Show(RunsShow),
    /// Remove the folders and records of old runs and planners; only lists them without --yes
    Prune(RunsPrune),
}

#[derive(Debug, Args)]
pub(crate) struct RunsList {
    /// Leave out runs of other repositories
    #[arg(long)]
    pub(crate) here: bool,
    /// List at most this many; 0 lists all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) last: usize,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsShow {
    /// Use this run (name or prefix; default: the newest one here)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Show where time and cost went, how good the estimates were, and the ledger
    #[arg(long)]
    pub(crate) stats: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsPrune {
    /// Remove runs started longer ago than this, such as 30d or 12h, and plans of that age that no remaining run
    /// uses
    #[arg(long, value_name = "TIME", value_parser = days)]
    pub(crate) older_than: Option<Millis>,
    /// Keep the newest N runs
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Leave out runs of other repositories
    #[arg(long)]
    pub(crate) here: bool,
    /// Also remove their branches conductor/RUN, if a branch or tag of yours has all of their work
    #[arg(long)]
    pub(crate) branches: bool,
    /// Also remove the work they kept and their checkpoints, if a branch or tag of yours has all of it
    #[arg(long)]
    pub(crate) refs: bool,
    /// With --branches or --refs: also remove work that no branch or tag of yours has; it is lost
    #[arg(long)]
    pub(crate) unreachable: bool,
    /// Also remove runs that could be resumed, or that have work kept nowhere else
    #[arg(long)]
    pub(crate) force: bool,
    /// Remove them; without this, only list them
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A task of a run.
#[derive(Debug, Args)]
pub(crate) struct OfTask {
    /// Use the task with this id
    #[arg(add = complete::tasks())]
    pub(crate) task: String,
    /// Use this run (name or prefix; default: the newest one here that fits)
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Allow what a task's agent asks to do
    Approve(Answered),
    /// Deny what a task's agent asks to do
    Deny(Answered),
    /// Send a message to a task's agent, now or when its next attempt starts
    Send(Send),
    /// Run a task again with a fresh count of attempts, and the tasks skipped because of it
    Retry(Retried),
    /// Skip a task that has not started
    Skip(OfTask),
    /// Cancel a task, and stop it if it is running
    Cancel(OfTask),
    /// Change how urgent a task is, and with it which task starts next
    Priority(OfPriority),
}

#[derive(Debug, Args)]
pub(crate) struct Retried {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Use this agent instead; ignore the task's fallback agents
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Use this model of that agent (default: the agent's usual one)
    #[arg(long, value_name = "NAME", requires = "agent")]
    pub(crate) model: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OfPriority {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Give it this priority: critical, high, medium, low, backlog, or 0 to 4
    #[arg(value_parser = priority)]
    pub(crate) priority: Priority,
}

#[derive(Debug, Args)]
pub(crate) struct Answered {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Send this message to the agent with the answer
    #[arg(short, long, value_name = "WORDS")]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Send this message
    pub(crate) words: String,
}
