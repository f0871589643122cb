//! Of runs that are carried to other machines.

use clap::{Args, Subcommand};

use crate::complete;

#[derive(Debug, Subcommand)]
pub(crate) enum Sync {
    /// Push runs and what the project has taught to a git remote or a directory, encrypted
    Push(SyncPush),
    /// Pull runs and what the project has taught from a git remote or a directory
    Pull(SyncPull),
    /// Show the state of each run here and at the remote, and which machine has claimed it
    Status(SyncStatus),
    /// Claim a run for this machine until it is released
    Claim(SyncClaim),
    /// Give the claim of a run back, so that another machine can resume it
    Release(SyncClaim),
    /// Stop syncing a run: only this machine keeps it
    Forget(SyncForget),
    /// Print this machine's public key; make the key if there is none
    Key(SyncKey),
}

#[derive(Debug, Args)]
pub(crate) struct SyncPush {
    /// Push these runs (default: all of this repository)
    #[arg(value_name = "RUN", add = complete::runs())]
    pub(crate) runs: Vec<String>,
    /// Push to this git remote or directory (default: sync.remote of your config)
    #[arg(long, value_name = "REMOTE|DIR")]
    pub(crate) to: Option<String>,
    /// Push the runs of all repositories
    #[arg(long, conflicts_with = "runs")]
    pub(crate) all: bool,
    /// Push transcripts too: what agents and commands said
    #[arg(long)]
    pub(crate) transcripts: bool,
    /// Push in plain text: all who can read the remote can read the runs
    #[arg(long)]
    pub(crate) plain: bool,
    /// Show what would be pushed, and push nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Push without asking, even to a new remote
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SyncPull {
    /// Pull these runs, by their full names (default: all of them)
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Pull from this git remote or directory (default: sync.remote of your config)
    #[arg(long, value_name = "REMOTE|DIR")]
    pub(crate) from: Option<String>,
    /// Show what would be pulled, and pull nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Pull without asking, even from a new remote
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SyncStatus {
    /// Ask this git remote or directory (default: sync.remote of your config)
    #[arg(long, value_name = "REMOTE|DIR")]
    pub(crate) remote: Option<String>,
    /// Show the runs of all repositories
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SyncClaim {
    /// Use this run
    #[arg(add = complete::runs())]
    pub(crate) run: String,
    /// Use this git remote or directory (default: sync.remote of your config)
    #[arg(long, value_name = "REMOTE|DIR")]
    pub(crate) remote: Option<String>,
    /// Take the claim from another machine that is gone for good
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SyncForget {
    /// Use this run
    #[arg(add = complete::runs())]
    pub(crate) run: String,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SyncKey {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
