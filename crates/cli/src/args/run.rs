//! Of a run from its start: `run` itself, the demonstration, and what is started by us alone.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use conductor_core::plan::Network;
use conductor_core::run::event::Planning;
use conductor_core::values::units::Millis;

use crate::complete;

use super::groups::From;
use super::{at_once, dollars, duration, network, repository, some_time, words};

#[derive(Debug, Clone, Args)]
pub(crate) struct Run {
    /// Run this task file (YAML or JSON); `-` is standard input (default: conductor.yaml,
    /// .conductor/tasks.yaml or tasks.yaml of this directory, else of the repository's root)
    pub(crate) file: Option<PathBuf>,

    /// Run the open issues of another tool instead of a file
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["file", "watch"])]
    pub(crate) from: Option<From>,

    /// Run up to N tasks at once; 3 without a number  [default: 1]
    #[arg(short, long, visible_alias = "max-concurrency", env = "CONDUCTOR_PARALLEL", hide_env_values = true,
          value_name = "N", num_args = 0..=1, default_missing_value = words::PARALLEL_ALONE, value_parser = at_once)]
    pub(crate) parallel: Option<u32>,

    /// Deny an agent's question if you do not answer it within this time (default: never on a terminal, else
    /// 10m)
    #[arg(long, value_name = "TIME", value_parser = duration, env = "CONDUCTOR_ANSWER_WITHIN", hide_env_values = true)]
    pub(crate) answer_within: Option<Millis>,

    /// Exit with code 5 when only unanswered questions are left; the run can be resumed
    #[arg(long)]
    pub(crate) leave_unanswered: bool,

    /// Run only these tasks: ids, `test-*`, `group:G`, `epic:E`; `+api` adds what api needs, `api+` adds what
    /// needs api
    #[arg(long, value_name = "EXPR", add = complete::tasks())]
    pub(crate) only: Option<String>,

    /// Leave out tasks whose work has landed already
    #[arg(long, conflicts_with_all = ["resume", "retry_failed", "from"])]
    pub(crate) skip_done: bool,

    /// Resume an unfinished run: the one named, or the newest of this directory
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "", add = complete::runs())]
    pub(crate) resume: Option<String>,

    /// Resume a run and retry what failed, was skipped or cancelled; edited tasks use their new text
    #[arg(long)]
    pub(crate) retry_failed: bool,

    /// With --retry-failed: use the tasks' old text, even if the task file has changed
    #[arg(long, requires = "retry_failed")]
    pub(crate) as_before: bool,

    /// Start nothing new after the first failure
    #[arg(long, overrides_with = "keep_going")]
    pub(crate) fail_fast: bool,

    /// Continue with every task that does not need what failed (the default)
    #[arg(long, overrides_with = "fail_fast")]
    pub(crate) keep_going: bool,

    /// Have this agent do the prompts for which neither task nor config names one
    #[arg(long, value_name = "NAME", add = complete::agents())]
    pub(crate) agent: Option<String>,

    /// Use this model for the prompts for which neither task nor config names one
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Choose when a task may start, beyond its dependencies
    #[arg(long, value_enum, value_name = "HOW", env = "CONDUCTOR_STRATEGY", hide_env_values = true)]
    pub(crate) strategy: Option<Strategy>,

    /// Let tasks run side by side even if they name the same files
    #[arg(long)]
    pub(crate) allow_overlap: bool,

    /// Choose where tasks work; overrides the tasks (default in a git repository: worktree)
    #[arg(long, value_enum, value_name = "WHERE", env = "CONDUCTOR_ISOLATION", hide_env_values = true)]
    pub(crate) isolation: Option<Isolation>,

    /// Choose how agents are confined; overrides the tasks (default: prefer)
    #[arg(long, value_enum, value_name = "MODE", env = "CONDUCTOR_SANDBOX", hide_env_values = true)]
    pub(crate) sandbox: Option<Sandbox>,

    /// Choose what agents can reach on the network: full, off, or hosts separated by commas; overrides the tasks
    #[arg(long, value_name = "WHAT", value_parser = network, env = "CONDUCTOR_NETWORK", hide_env_values = true)]
    pub(crate) network: Option<Network>,

    /// Choose when checked work lands; overrides the tasks
    #[arg(long, value_enum, value_name = "HOW", env = "CONDUCTOR_LAND", hide_env_values = true)]
    pub(crate) land: Option<Land>,

    /// Choose what to do with the run's branch at the end (default: none; of a resumed run, as before)
    #[arg(long, value_enum, value_name = "HOW", env = "CONDUCTOR_MERGE", hide_env_values = true)]
    pub(crate) merge: Option<Merge>,

    /// Wait up to this long for pull request checks; 0 reports their status without waiting
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30m")]
    pub(crate) checks_within: Millis,

    /// Let failing checks of pull requests add up to N tasks in all, each done by the agent of the task at fault
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) check_fixes: u32,

    /// Use this repository for cloud tasks and pull requests where neither task nor config names one
    #[arg(short = 'r', long = "repo", value_name = "OWNER/NAME", value_parser = repository)]
    pub(crate) repository: Option<String>,

    /// Run tasks on workers reached over this queue (redis:// or amqp://, encrypted rediss:// or amqps://); tasks with
    /// `isolation: none` stay here; `none` uses this machine alone (default of a resumed run: as before)
    #[arg(long, value_name = "URL", env = "CONDUCTOR_QUEUE", hide_env_values = true)]
    pub(crate) queue: Option<String>,

    /// Exchange code with workers over this git remote, under refs/conductor/
    #[arg(long, value_name = "URL", env = "CONDUCTOR_GIT", hide_env_values = true)]
    pub(crate) git: Option<String>,

    /// Make an empty first commit if the repository has none
    #[arg(long)]
    pub(crate) first_commit: bool,

    /// Start from your uncommitted changes too (not from ignored files), in a commit that is only on the
    /// run's branch
    #[arg(long, conflicts_with_all = ["resume", "retry_failed"])]
    pub(crate) include_uncommitted: bool,

    /// Look this often for coming conflicts and for writes into your checkout; 0 is never  [default: 15s]
    #[arg(long, alias = "lookout", value_name = "TIME", value_parser = duration, env = "CONDUCTOR_CONFLICT_MONITOR",
          hide_env_values = true)]
    pub(crate) conflict_monitor: Option<Millis>,

    /// Interrupt agents and start nothing new once this much has been spent
    #[arg(long, value_name = "USD", value_parser = dollars, env = "CONDUCTOR_MAX_COST", hide_env_values = true)]
    pub(crate) max_cost: Option<f64>,

    /// Interrupt agents and start nothing new once this many tokens have been used
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
          env = "CONDUCTOR_MAX_TOKENS", hide_env_values = true)]
    pub(crate) max_tokens: Option<u64>,

    /// Stop the run after this time, such as 90m
    #[arg(long, value_name = "TIME", value_parser = some_time, env = "CONDUCTOR_MAX_TIME", hide_env_values = true)]
    pub(crate) max_time: Option<Millis>,

    /// Start no more attempts than this, all tasks together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
          env = "CONDUCTOR_MAX_ATTEMPTS", hide_env_values = true)]
    pub(crate) max_attempts: Option<u32>,

    /// Wait this long for a provider that fails or refuses everything; 0 fails its tasks at once  [default:
    /// 1h]
    #[arg(long, value_name = "TIME", value_parser = duration, env = "CONDUCTOR_OUTAGE_PATIENCE",
          hide_env_values = true)]
    pub(crate) outage_patience: Option<Millis>,

    /// Keep agents running this long after Conductor exits, so that a resume can reattach; 0 stops them at once
    /// [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = duration, env = "CONDUCTOR_ORPHAN_GRACE",
          hide_env_values = true)]
    pub(crate) orphan_grace: Option<Millis>,

    /// Watch the task file: add new tasks to the run, and update tasks that have not started
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) watch: bool,

    /// Show what would run, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Run in the background, and return as soon as the run has started
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) detach: bool,
    /// Run the browser without a window; you cannot sign in by hand
    #[arg(long)]
    pub(crate) headless: bool,

    /// Record who took the run up; the server sets it
    #[arg(long, value_name = "USER", hide = true)]
    pub(crate) by: Option<String>,

    /// Mark this process as the one in the background; --detach sets it
    #[arg(long, hide = true)]
    pub(crate) detached: bool,

    /// Take the run over from its process, which may be held up for so long; `handover` sets it
    #[arg(long, hide = true, value_name = "TIME", value_parser = duration, requires_all = ["resume", "detached"])]
    pub(crate) taking_over: Option<Millis>,

    /// Refuse a file that starts, passes on or allows anything the project does not use yet
    #[arg(long)]
    pub(crate) known_commands: bool,

    /// What making the plan has used, where an agent made it for this run
    #[arg(skip)]
    pub(crate) planning: Option<Box<Planning>>,

    /// Whether the caller prints the result itself
    #[arg(skip)]
    pub(crate) told_elsewhere: bool,

    /// Choose how to show progress
    #[arg(long, value_enum, default_value_t = Ui::Auto, value_name = "HOW", env = "CONDUCTOR_UI",
          hide_env_values = true)]
    pub(crate) ui: Ui,

    /// Print what is running this often, where progress is shown in plain lines; 0 is never
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration, env = "CONDUCTOR_HEARTBEAT",
          hide_env_values = true)]
    pub(crate) heartbeat: Millis,

    /// Show at the end where time and cost went, how good the estimates were, and the ledger
    #[arg(long)]
    pub(crate) stats: bool,

    /// Name no files or branches at the end: the caller removes them after the run
    #[arg(long, hide = true)]
    pub(crate) throw_away: bool,

    /// Print one event per line on standard output (same as --ui json)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write transcripts and reports to this folder
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Keep metrics of the run in this file, in the text format of Prometheus
    #[arg(long, value_name = "PATH", env = "CONDUCTOR_METRICS_FILE", hide_env_values = true)]
    pub(crate) metrics_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// Start a task as soon as its own dependencies are done
    Queue,
    /// Start a level when the whole level before it has ended
    Batch,
    /// Run one task after the other, in file order
    Sequential,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Isolation {
    /// Each task in its own worktree
    Worktree,
    /// Each task in its own clone that shares the repository's objects, to keep untrusted work out of the
    /// repository
    Clone,
    /// All tasks in this directory
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sandbox {
    /// Start no agent that cannot be confined (docs/security.md)
    Require,
    /// Confine agents as far as this machine can
    Prefer,
    /// Let agents reach all that you can
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Land {
    /// At once
    Auto,
    /// When you have approved it with `conductor review`
    Approve,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Merge {
    /// Leave it for you to review and merge
    None,
    /// Fast-forward the branch you started from, if nothing else moved it and its checkout is clean
    Branch,
    /// Push it and open a pull request, brought up to date on each landing
    Pr,
    /// Push each task's work as it lands and open a pull request for each task, stacked in their order
    PrPerTask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ui {
    /// Inline on a terminal, annotations in GitHub Actions, else plain
    Auto,
    /// Lines that stay, above a small block that shows what is going on
    Inline,
    /// The whole terminal, with the run in the background; q leaves it going
    Tui,
    /// A line for each start and end
    Plain,
    /// One event per line on standard output
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Use this agent: claude, codex, gemini, opencode or builtin (default: the first installed)
    #[arg(long, value_name = "NAME", add = complete::agents())]
    pub(crate) agent: Option<String>,
    /// Keep the project, the run's branch and its files afterwards
    #[arg(long)]
    pub(crate) keep: bool,
}

/// The process that ends what a killed run has left.
#[derive(Debug, Args)]
pub(crate) struct Reaper {
    pub(crate) run: String,
}

/// The demonstration's own agent, where no other is installed.
#[derive(Debug, Args)]
pub(crate) struct DemoAgent {
    /// Ask the stand-in at this address
    pub(crate) model: std::net::SocketAddr,
    /// Keep conversations in this folder
    pub(crate) memory: PathBuf,
}
