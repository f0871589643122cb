//! Of what a project has taught.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use conductor_core::expertise::Kind;
use conductor_core::values::units::Millis;

use crate::complete;

use super::{dollars, duration};

#[derive(Debug, Subcommand)]
pub(crate) enum Expertise {
    /// List the items that agents are given, and how well they have done
    List(ExpertiseList),
    /// Show an item with its evidence, or the page of a domain
    Show(ExpertiseShow),
    /// Add an item: one claim that agents should know
    Add(ExpertiseAdd),
    /// Change an item; its earlier versions are kept
    Edit(ExpertiseEdit),
    /// Stop giving an item to agents
    Retire(OfItem),
    /// Give a retired item to agents again, or go back to an earlier version of it
    Restore(ExpertiseRestore),
    /// List the versions of an item
    History(OfItem),
    /// Check whether items still hold (files, checks, use); changes nothing
    Validate(ExpertiseValidate),
    /// Retire the items that do not hold any more, as `validate` finds them
    Improve(ExpertiseValidate),
    /// Have a model turn what a task's agent and its tools said into items; costs money
    Learn(ExpertiseLearn),
    /// Compare tasks with items to tasks without, and show how agents and models did
    Stats(ExpertiseWhole),
    /// Show the evidence behind estimates, the choice of models and the overlap of tasks
    Evidence(ExpertiseEvidence),
    /// Give items to agents again after expertise was paused, and start measuring afresh
    Resume(ExpertiseWhole),
    /// Write the items as a file to share
    Export(ExpertiseExport),
    /// Import the items in a file
    Import(ExpertiseImport),
}

#[derive(Debug, Args)]
pub(crate) struct ExpertiseList {
    /// List only items of this domain
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: Option<String>,
    /// Include items that are retired or were seen too rarely
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExpertiseShow {
    /// Show the item with this id (or prefix), or the page of this domain
    pub(crate) what: String,
    /// Show this version of the item, byte for byte as it was written
    #[arg(long, value_name = "N")]
    pub(crate) version: Option<u32>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum KindName {
    FileMap,
    Pattern,
    Technique,
    Failure,
    Command,
}

impl From<KindName> for Kind {
    fn from(name: KindName) -> Kind {
        match name {
            KindName::FileMap => Kind::FileMap,
            KindName::Pattern => Kind::Pattern,
            KindName::Technique => Kind::Technique,
            KindName::Failure => Kind::Failure,
            KindName::Command => Kind::Command,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExpertiseAdd {
    /// State the claim in a sentence or two
    pub(crate) claim: String,
    /// Choose the kind of claim
    #[arg(long, value_enum, default_value = "pattern")]
    pub(crate) kind: KindName,
    /// Choose the part of the project it is about (database, api, frontend, testing, security, deployment, general, or your own)
    #[arg(long, value_name = "DOMAIN", default_value = "general")]
    pub(crate) domain: String,
    /// Name the files it is about; repeatable (default: all)
    #[arg(long, value_name = "GLOB")]
    pub(crate) scope: Vec<String>,
    /// A command that succeeds as long as the claim holds; run only if the task file has it under `verify:`
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExpertiseEdit {
    /// Change this item
    pub(crate) item: String,
    /// Replace the claim with this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) claim: Option<String>,
    /// Move the item to this domain
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: Option<String>,
    /// Make it about these files instead; repeatable
    #[arg(long, value_name = "GLOB", conflicts_with = "everywhere")]
    pub(crate) scope: Vec<String>,
    /// Make it about all files
    #[arg(long)]
    pub(crate) everywhere: bool,
    /// Check it with this command; an empty one removes the check
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OfItem {
    /// Use the item with this id (or prefix)
    pub(crate) item: String,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExpertiseRestore {
    /// Use the item with this id (or prefix)
    pub(crate) item: String,
    /// Go back to this version, byte for byte (see `conductor expertise history`)
    #[arg(long, value_name = "N")]
    pub(crate) version: Option<u32>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExpertiseValidate {
    /// Run checks that this task file has under `verify:` (default: the one found here)
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExpertiseLearn {
    /// Read the newest attempt of this task
    #[arg(add = complete::tasks())]
    pub(crate) task: String,
    /// Use this run (name or prefix; default: the newest one here with the task)
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run: Option<String>,
    /// Ask this agent (default: the configured agent)
    #[arg(long, value_name = "NAME", add = complete::agents())]
    pub(crate) agent: Option<String>,
    /// Ask with this model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Stop the model once it has cost this much
    #[arg(long, value_name = "USD", default_value = "0.10", value_parser = dollars)]
    pub(crate) max_cost: f64,
    /// Limit the model's time
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    pub(crate) timeout: Millis,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExpertiseWhole {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExpertiseEvidence {
    /// Show which files the tasks of this task file changed, and apply its rules about models (default: the one found here)
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExpertiseExport {
    /// Write it to this file (default: standard output)
    #[arg(short, long, value_name = "FILE", conflicts_with = "share")]
    pub(crate) output: Option<PathBuf>,
    /// Write it to .conductor/expertise.yaml of this checkout, which every run reads
    #[arg(long)]
    pub(crate) share: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExpertiseImport {
    /// Import the items in this file: all of them, or none if one is invalid; `-` is standard input
    pub(crate) file: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
