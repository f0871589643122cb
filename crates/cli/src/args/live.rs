//! Of a run that goes on or is over: looking at it, steering it, answering it.

use clap::{Args, Subcommand, ValueEnum};
use conductor_core::units::Millis;

use crate::complete;

use super::{at_once, days, duration};

/// A run, by name.
#[derive(Debug, Args)]
pub(crate) struct OfRun {
    /// The run, or the beginning of its name; the newest live one here where absent
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// The answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The run, or the beginning of its name; the newest live one here where absent, or the newest
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Show it again and again until the run ends, then exit as the run does
    #[arg(short, long)]
    pub(crate) watch: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Go on until the task ends, through all its attempts
    #[arg(short, long, conflicts_with = "attempt")]
    pub(crate) follow: bool,
    /// Which attempt; the newest where absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) attempt: Option<u32>,
    /// What its agent said to us, word by word
    #[arg(long)]
    pub(crate) stream: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// The run, or the beginning of its name; the newest live one here where absent, or the newest
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Go on until the run ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only those after the event of this number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) since: u64,
    /// One JSON object a line, which is what is printed without it too
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Wait {
    /// The run, or the beginning of its name; the newest live one here where absent, or the newest
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// What to wait for
    #[arg(long = "for", value_enum, value_name = "WHAT", default_value_t = Awaited::Done)]
    pub(crate) what: Awaited,
    /// How long at the most; after that the exit code is 8
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Millis>,
    /// The answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Awaited {
    /// The end of the run
    Done,
    /// The end of any task, whichever is first
    Any,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("which").required(true)))]
pub(crate) struct Cancel {
    /// The task's id
    #[arg(group = "which", add = complete::tasks())]
    pub(crate) task: Option<String>,
    /// Every task of this group that has not ended
    #[arg(long, value_name = "GROUP", group = "which", add = complete::groups())]
    pub(crate) group: Option<String>,
    /// Every task that has not ended
    #[arg(long, group = "which")]
    pub(crate) all: bool,
    /// The run, or the beginning of its name, active or left; the newest live one here where absent
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// The answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Parallel {
    /// How many tasks are at work at once
    #[arg(value_name = "N", value_parser = at_once)]
    pub(crate) slots: u32,
    /// The run, or the beginning of its name; the newest live one here where absent
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// The answer as JSON
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
    /// List every run, newest first; the same as `runs` alone
    List(RunsList),
    /// What a run came to, or what it is doing
    Show(RunsShow),
    /// Take away what old runs and planners have left: their folders and their records. Shows what would go; --yes does
    /// it
    Prune(RunsPrune),
}

#[derive(Debug, Args)]
pub(crate) struct RunsList {
    /// Only those of the repository you are in
    #[arg(long)]
    pub(crate) here: bool,
    /// How many at the most; 0 is all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) last: usize,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsShow {
    /// The run, or the beginning of its name; the newest one here where absent
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Tell where time and cost went, how good estimates were and what the ledger counts
    #[arg(long)]
    pub(crate) stats: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsPrune {
    /// Those that were started longer ago than this, such as 30d or 12h; plans as well, but for those of runs that stay
    #[arg(long, value_name = "TIME", value_parser = days)]
    pub(crate) older_than: Option<Millis>,
    /// All but the newest so many
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Only those of the repository you are in
    #[arg(long)]
    pub(crate) here: bool,
    /// Their branches conductor/RUN as well, where a branch or tag of yours holds all of it
    #[arg(long)]
    pub(crate) branches: bool,
    /// The work they kept and the checkpoints they made in their repositories as well, where a branch or tag of yours holds
    /// all of it
    #[arg(long)]
    pub(crate) refs: bool,
    /// With --branches or --refs: also what no branch or tag of yours holds, which then is lost
    #[arg(long)]
    pub(crate) unreachable: bool,
    /// Those too that could be resumed, or have work in them that is kept nowhere else
    #[arg(long)]
    pub(crate) force: bool,
    /// Do it
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

/// A task of a run.
#[derive(Debug, Args)]
pub(crate) struct OfTask {
    /// The task's id
    #[arg(add = complete::tasks())]
    pub(crate) task: String,
    /// The run, or the beginning of its name; the newest one here that fits where absent
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// The answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Allow what its agent asks to do
    Approve(Answered),
    /// Do not allow what its agent asks to do
    Deny(Answered),
    /// Say something to the agent that works on it, now or when it next begins
    Send(Send),
    /// Do it again, with its tries counted anew, and what was skipped because of it
    Retry(OfTask),
    /// Do not do it
    Skip(OfTask),
    /// Stop it and do not do it
    Cancel(OfTask),
}

#[derive(Debug, Args)]
pub(crate) struct Answered {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// What the agent is told with it
    #[arg(short, long, value_name = "WORDS")]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// What to say
    pub(crate) words: String,
}
