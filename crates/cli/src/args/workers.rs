//! Of workers on other machines than the one that drives a run.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Worker {
    /// Take orders from this queue, which its runs use, too
    #[arg(
        long,
        value_name = "URL",
        env = "CONDUCTOR_QUEUE",
        hide_env_values = true,
        required_unless_present = "drain"
    )]
    pub(crate) queue: Option<String>,
    /// Fetch code from this git remote and push work to it
    #[arg(
        long,
        value_name = "URL",
        env = "CONDUCTOR_GIT",
        hide_env_values = true,
        required_unless_present = "drain"
    )]
    pub(crate) git: Option<String>,
    /// Be taken in with a token of `conductor workers token`; needed once
    #[arg(long, value_name = "TOKEN", env = "CONDUCTOR_WORKER_TOKEN", hide_env_values = true)]
    pub(crate) join: Option<String>,
    /// Be this worker, where several were taken in on this machine
    #[arg(long, value_name = "NAME", conflicts_with = "join")]
    pub(crate) name: Option<String>,
    /// Carry out up to N attempts at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) slots: u32,
    /// Have these labels, with commas between them, which tasks can ask for (`requires:`)
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// End when no run has called for 20 seconds and nothing is at work
    #[arg(long)]
    pub(crate) exit_when_idle: bool,
    /// Have the worker that is at work on this machine take nothing more, and wait until it has finished what it is at and
    /// ended; start none
    #[arg(long, conflicts_with_all = ["slots", "labels", "exit_when_idle"])]
    pub(crate) drain: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Workers {
    /// Print a token with which one worker is let in, once, within a day
    Token(WorkersToken),
    /// List the workers that were let in; with a queue, let in those that wait
    List(WorkersList),
    /// Give a worker nothing more; what it is at is finished
    Drain(WorkersDrain),
    /// Shut a worker out: what it has is taken from it, and its word counts no more
    Revoke(WorkersRevoke),
}

#[derive(Debug, Args)]
pub(crate) struct WorkersToken {
    /// What the worker is called (default: w1, w2 and so on)
    pub(crate) name: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkersList {
    /// Let in workers that wait at this queue
    #[arg(long, value_name = "URL", env = "CONDUCTOR_QUEUE", hide_env_values = true)]
    pub(crate) queue: Option<String>,
    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkersDrain {
    /// The worker
    pub(crate) name: String,
    /// Let it have work again
    #[arg(long)]
    pub(crate) undo: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkersRevoke {
    /// The worker, or one that was only invited
    pub(crate) name: String,
    /// Take its queue away, too
    #[arg(long, value_name = "URL", env = "CONDUCTOR_QUEUE", hide_env_values = true)]
    pub(crate) queue: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
