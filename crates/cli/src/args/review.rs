//! A person's review before work lands.

use clap::{Args, Subcommand};

use super::OfTask;
use crate::complete;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Review {
    #[command(subcommand)]
    pub(crate) verdict: Option<Verdict>,
    /// The run, or the beginning of its name; all runs of this repository where absent
    #[arg(add = complete::runs())]
    pub(crate) run: Option<String>,
    /// List what waits as JSON, and ask nothing
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verdict {
    /// Let the work of a task land
    Approve(Approve),
    /// Send the work back to its agent with comments; the agent goes on in the same conversation
    SendBack(SendBack),
    /// Edit the work yourself, then let it land: lays it out in a folder, --continue takes it from there
    Edit(Edit),
    /// Do not let the work land; it is kept under a ref
    Drop(OfTask),
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// The commit you have looked at; refused where the work is another one now
    #[arg(long, value_name = "COMMIT")]
    pub(crate) commit: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SendBack {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// What is to be changed; "FILE:LINE: words" is about that line. Can be given several times
    #[arg(short, long, value_name = "COMMENT", required = true)]
    pub(crate) message: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Take the folder as it is now: that lands
    #[arg(long = "continue", conflicts_with = "abort")]
    pub(crate) proceed: bool,
    /// Give up what was edited; the work waits for its review as before
    #[arg(long)]
    pub(crate) abort: bool,
}
