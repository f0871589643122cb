//! Of the store that keeps the logs of runs.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    /// Copy the logs of runs from one store to another, and verify that each run replays to the same state
    Copy(StoreCopy),
}

#[derive(Debug, Args)]
pub(crate) struct StoreCopy {
    /// Copy from this store: sqlite, the state directory's own database; or postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "STORE")]
    pub(crate) from: String,
    /// Copy to this store (forms as for --from)
    #[arg(long, value_name = "STORE")]
    pub(crate) to: String,
    /// Copy only this run (name or prefix; default: all of them)
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
