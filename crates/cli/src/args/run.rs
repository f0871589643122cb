//! Of a run from its start: `run` itself, the demonstration, and what is started by us alone.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use conductor_core::event::Planning;
use conductor_core::units::Millis;

use crate::complete;

use super::groups::From;
use super::{at_once, dollars, duration, words};

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The task file (YAML or JSON); `-` reads it from standard input. Where absent: conductor.yaml,
    /// .conductor/tasks.yaml or tasks.yaml of this directory, else of the repository's root
    pub(crate) file: Option<PathBuf>,

    /// Run what another tool has to do, instead of a file
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["file", "watch"])]
    pub(crate) from: Option<From>,

    /// How many tasks run at once; 3 where given without a number  [default: 1]
    #[arg(short, long, visible_alias = "max-concurrency", env = "CONDUCTOR_PARALLEL", hide_env_values = true,
          value_name = "N", num_args = 0..=1, default_missing_value = words::PARALLEL_ALONE, value_parser = at_once)]
    pub(crate) parallel: Option<u32>,

    /// How long an agent's question waits for you before it counts as denied; ten minutes where nobody is at a
    /// terminal, for ever where somebody is
    #[arg(long, value_name = "TIME", value_parser = duration, env = "CONDUCTOR_ANSWER_WITHIN", hide_env_values = true)]
    pub(crate) answer_within: Option<Millis>,

    /// Leave the run, with exit code 5, when nothing but questions is left
    #[arg(long)]
    pub(crate) leave_unanswered: bool,

    /// Only these tasks: ids, `test-*`, `group:G`, `epic:E`; `+api` with what it needs, `api+` with what needs it
    #[arg(long, value_name = "EXPR", add = complete::tasks())]
    pub(crate) only: Option<String>,

    /// Take up a run that was left: the newest of this directory, or the one named
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "", add = complete::runs())]
    pub(crate) resume: Option<String>,

    /// Take up a run and do again what failed, was skipped or cancelled; edited tasks take their new text
    #[arg(long)]
    pub(crate) retry_failed: bool,

    /// With --retry-failed: do the old text again, whatever the task file says now
    #[arg(long, requires = "retry_failed")]
    pub(crate) as_before: bool,

    /// Start nothing new after the first failure
    #[arg(long, overrides_with = "keep_going")]
    pub(crate) fail_fast: bool,

    /// Go on with everything that does not need what failed (the default)
    #[arg(long, overrides_with = "fail_fast")]
    pub(crate) keep_going: bool,

    /// How tasks follow each other beyond their dependencies
    #[arg(long, value_enum, value_name = "HOW", env = "CONDUCTOR_STRATEGY", hide_env_values = true)]
    pub(crate) strategy: Option<Strategy>,

    /// Let tasks run side by side even where they name the same files
    #[arg(long)]
    pub(crate) allow_overlap: bool,

    /// Where tasks work, whatever they say themselves (else, in a git repository: worktree)
    #[arg(long, value_enum, value_name = "WHERE", env = "CONDUCTOR_ISOLATION", hide_env_values = true)]
    pub(crate) isolation: Option<Isolation>,

    /// Whether work that passed its checks lands by itself, whatever tasks say; else see `conductor review`
    #[arg(long, value_enum, value_name = "HOW", env = "CONDUCTOR_LAND", hide_env_values = true)]
    pub(crate) land: Option<Land>,

    /// What to do with the run's branch at the end
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Merge::None,
          env = "CONDUCTOR_MERGE", hide_env_values = true)]
    pub(crate) merge: Merge,

    /// Make an empty first commit where the repository has none
    #[arg(long)]
    pub(crate) first_commit: bool,

    /// Start from a commit of everything in your checkout that is not committed and not ignored; it is on no branch but the
    /// run's own
    #[arg(long, conflicts_with_all = ["resume", "retry_failed"])]
    pub(crate) include_uncommitted: bool,

    /// How often to look for conflicts ahead and for writes into your checkout; 0 is never
    #[arg(long, value_name = "TIME", value_parser = duration, env = "CONDUCTOR_LOOKOUT",
          hide_env_values = true, default_value = "15s")]
    pub(crate) lookout: Millis,

    /// Start nothing new once this much has been spent
    #[arg(long, value_name = "USD", value_parser = dollars, env = "CONDUCTOR_MAX_COST", hide_env_values = true)]
    pub(crate) max_cost: Option<f64>,

    /// Start nothing new once this many tokens have been used
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
          env = "CONDUCTOR_MAX_TOKENS", hide_env_values = true)]
    pub(crate) max_tokens: Option<u64>,

    /// Stop after this time, such as 90m
    #[arg(long, value_name = "TIME", value_parser = duration, env = "CONDUCTOR_MAX_TIME", hide_env_values = true)]
    pub(crate) max_time: Option<Millis>,

    /// Start no more attempts than this, all tasks together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
          env = "CONDUCTOR_MAX_ATTEMPTS", hide_env_values = true)]
    pub(crate) max_attempts: Option<u32>,

    /// How long tasks wait for a provider that fails or refuses everything; 0 fails them at once  [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = duration, env = "CONDUCTOR_OUTAGE_PATIENCE",
          hide_env_values = true)]
    pub(crate) outage_patience: Option<Millis>,

    /// Take tasks that are added to the file, or changed before they start, into the run while it goes on
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) watch: bool,

    /// Show what would run, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Leave the run going in the background, and return as soon as it is there
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) detach: bool,

    /// This is the one that was left in the background
    #[arg(long, hide = true)]
    pub(crate) detached: bool,

    /// Refuse a file with commands that the project does not use already
    #[arg(long, conflicts_with_all = ["resume", "retry_failed"])]
    pub(crate) known_commands: bool,

    /// What making the plan has used, where an agent has made it for this run
    #[arg(skip)]
    pub(crate) planning: Option<Box<Planning>>,

    /// Whoever had it run tells what it came to
    #[arg(skip)]
    pub(crate) told_elsewhere: bool,

    /// How progress is shown
    #[arg(long, value_enum, default_value_t = Ui::Auto, value_name = "HOW", env = "CONDUCTOR_UI",
          hide_env_values = true)]
    pub(crate) ui: Ui,

    /// How often a line says what is running, where progress is shown in plain lines; 0 for never
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration, env = "CONDUCTOR_HEARTBEAT",
          hide_env_values = true)]
    pub(crate) heartbeat: Millis,

    /// Tell at the end where time and cost went, how good estimates were and what the ledger counts
    #[arg(long)]
    pub(crate) stats: bool,

    /// Everything is taken away after the run, so the end names nothing of it to look at
    #[arg(long, hide = true)]
    pub(crate) throw_away: bool,

    /// One event a line on standard output (same as --ui json)
    #[arg(long)]
    pub(crate) json: bool,

    /// Where transcripts and reports go
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// A task starts the moment its own dependencies are done
    Queue,
    /// A level starts when the whole level before it has ended
    Batch,
    /// One after the other, in file order
    Sequential,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Isolation {
    /// Each in a worktree of its own
    Worktree,
    /// Each in a private clone that shares the repository's objects, for work that is not trusted with it
    Clone,
    /// Here
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Land {
    /// As soon as it has passed its checks
    Auto,
    /// When a person has approved it
    Approve,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Merge {
    /// Leave it for you to look at and merge
    None,
    /// Bring the branch you started from forward, if nothing else moved it and its checkout is clean
    Branch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ui {
    /// Inline on a terminal, else plain; what GitHub shows well where it runs
    Auto,
    /// Lines that stay, and below them a small block that tells what is going on
    Inline,
    /// A line for each start and end
    Plain,
    /// One event a line on standard output
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Who plays the agent: claude, codex, gemini, opencode or builtin; the first that is installed where absent
    #[arg(long, value_name = "NAME", add = complete::agents())]
    pub(crate) agent: Option<String>,
    /// Leave the project, the run's branch and its files to be looked at
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Whoever ends what a killed run has left.
#[derive(Debug, Args)]
pub(crate) struct Keeper {
    pub(crate) run: String,
}

/// The agent of the demonstration, for whoever has no other.
#[derive(Debug, Args)]
pub(crate) struct DemoAgent {
    /// Where the stand-in listens
    pub(crate) model: std::net::SocketAddr,
    /// Where conversations are kept
    pub(crate) memory: PathBuf,
}
