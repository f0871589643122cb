//! A person's review before work lands.

use clap::{Args, Subcommand};

use super::OfTask;
use crate::complete;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Review {
    #[command(subcommand)]
    pub(crate) verdict: Option<Verdict>,
    /// Use this run (name or prefix; default: all runs of this repository)
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// List the waiting work as JSON, and ask nothing
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verdict {
    /// Let the work of a task land
    Approve(Approve),
    /// Send the work back to its agent with comments; the agent continues in the same conversation
    SendBack(SendBack),
    /// Edit the work yourself in a folder, then land it with --continue
    Edit(Edit),
    /// Reject the work: it does not land, and is kept under a ref
    Drop(OfTask),
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Approve only this commit; refused if the work has changed since
    #[arg(long, value_name = "COMMIT")]
    pub(crate) commit: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SendBack {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Say what to change; "FILE:LINE: words" is about that line; repeatable
    #[arg(short, long, value_name = "COMMENT", required = true)]
    pub(crate) message: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Land the work as it is in the folder now
    #[arg(long = "continue", conflicts_with = "abort")]
    pub(crate) proceed: bool,
    /// Discard your edits; the work waits for its review as before
    #[arg(long)]
    pub(crate) abort: bool,
}
