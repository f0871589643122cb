//! Of workers on other machines than the one that drives a run.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Worker {
    /// Take orders from this queue, the one that the runs use
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
    /// Enrol with a token from `conductor workers token`; needed once
    #[arg(long, value_name = "TOKEN", env = "CONDUCTOR_WORKER_TOKEN", hide_env_values = true)]
    pub(crate) join: Option<String>,
    /// Start the worker with this name, if several are enrolled here
    #[arg(long, value_name = "NAME", conflicts_with = "join")]
    pub(crate) name: Option<String>,
    /// Carry out up to N attempts at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) slots: u32,
    /// Offer these labels, separated by commas; tasks can require them (`requires:`)
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// Exit after 20 seconds without a run or an attempt
    #[arg(long)]
    pub(crate) exit_when_idle: bool,
    /// Let the worker that runs on this machine finish its attempts and exit, and wait for that; start none
    #[arg(long, conflicts_with_all = ["slots", "labels", "exit_when_idle"])]
    pub(crate) drain: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Workers {
    /// Print a token that enrols one worker, once, within a day
    Token(WorkersToken),
    /// List the enrolled workers; with --queue, enrol those that wait there
    List(WorkersList),
    /// Send a worker no new tasks; let running ones finish
    Drain(WorkersDrain),
    /// Revoke a worker: take its tasks back and refuse its reports
    Revoke(WorkersRevoke),
}

#[derive(Debug, Args)]
pub(crate) struct WorkersToken {
    /// Give the worker this name (default: w1, w2 and so on)
    pub(crate) name: Option<String>,
    /// Print the token as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkersList {
    /// Enrol the workers that wait at this queue
    #[arg(long, value_name = "URL", env = "CONDUCTOR_QUEUE", hide_env_values = true)]
    pub(crate) queue: Option<String>,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkersDrain {
    /// Use the worker with this name
    pub(crate) name: String,
    /// Send it tasks again
    #[arg(long)]
    pub(crate) undo: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkersRevoke {
    /// Use the worker with this name; it may still have to enrol
    pub(crate) name: String,
    /// Delete its queue, too
    #[arg(long, value_name = "URL", env = "CONDUCTOR_QUEUE", hide_env_values = true)]
    pub(crate) queue: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
