//! The task file: from the text a person wrote to a checked [`Plan`], or to everything that is wrong with it.
//!
//! The walk is `source` (bytes to text), `parse` (text to a tree that remembers places), `forms` and its sections (tree
//! to drafts), `check` (drafts to a plan whose parts fit together). Every step goes on after a mistake, so that one
//! reading names them all. Nothing here opens files, draws excerpts or knows which agents are installed.

mod amount;
mod browser;
mod check;
mod codes;
mod decode;
mod diagnostic;
pub mod edit;
mod effective;
mod epics;
mod fields;
mod filled;
pub mod follow_up;
mod foreign;
mod forms;
mod groups;
mod idle;
mod keys;
mod layers;
mod models;
mod order;
mod origins;
mod own_plan;
mod parse;
mod places;
mod programs;
mod race;
mod schema;
mod sections;
mod settings;
mod source;
mod syncing;
mod syntax;
mod task;
mod tree;
mod trust;

use crate::plan::Plan;
use crate::plan::subagents::Subagent;

pub use amount::{BadDuration, BadSize, parse_duration, parse_size};
pub use browser::Browser;
pub use codes::{CODES, explain};
pub use diagnostic::{Diagnostic, Elsewhere, Severity};
pub use effective::{Effective, Written, effective, written_in_file};
pub(crate) use filled::{sections, task as settings};
pub use layers::{Layer, layer, plan_without_tasks};
pub use origins::{Origin, add_origins, origins, put_origins};
pub use own_plan::PLAN_SCHEMA;
pub use places::{Places, places};
pub use schema::{config_schema, schema};
pub use settings::is_repository;
pub use source::{Source, Span};
pub use syncing::SyncKeys;
pub use trust::needs_trust;

/// A plan that may be run, and what its author may want to know first.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    pub plan: Plan,
    pub warnings: Vec<Diagnostic>,
    /// What tasks wait for that is not in the file, where that was let pass.
    pub elsewhere: Elsewhere,
}

/// Reads a whole task file. On failure, every error and warning in the order of their places.
pub fn load(source: &Source) -> Result<Loaded, Vec<Diagnostic>> {
    read(source, None, &[])
}

/// As `load`, where it is known which specialists the repository has: says whom each task is for.
pub fn load_among(source: &Source, found: &[Subagent]) -> Result<Loaded, Vec<Diagnostic>> {
    read(source, Some(found), &[])
}

/// As `load_among`, laid over config files, of which the first is the strongest.
pub fn load_over(source: &Source, layers: &[Layer], found: &[Subagent]) -> Result<Loaded, Vec<Diagnostic>> {
    read(source, Some(found), layers)
}

/// As `load_over`, where tasks may wait for what is somewhere else.
pub fn load_open(source: &Source, layers: &[Layer], found: &[Subagent]) -> Result<Loaded, Vec<Diagnostic>> {
    let mut report = diagnostic::Report::new(source);
    report.elsewhere = Some(Elsewhere::new());
    read_into(report, Some(found), layers)
}

/// A file as plain values, whatever they mean; every mistake in how it is written otherwise.
pub fn value(source: &Source) -> Result<serde_json::Value, Vec<Diagnostic>> {
    let mut report = diagnostic::Report::new(source);
    let value = parse::parse(&mut report).map(|root| root.to_json());
    let (found, failed) = report.finish();
    match value {
        Some(value) if !failed => Ok(value),
        _ => Err(found),
    }
}

fn read(
    source: &Source,
    subagents: Option<&[Subagent]>,
    layers: &[Layer],
) -> Result<Loaded, Vec<Diagnostic>> {
    read_into(diagnostic::Report::new(source), subagents, layers)
}

fn read_into(
    mut report: diagnostic::Report<'_>,
    subagents: Option<&[Subagent]>,
    layers: &[Layer],
) -> Result<Loaded, Vec<Diagnostic>> {
    let plan = parse::parse(&mut report).map(|root| {
        let plan = forms::read(&mut report, &root, subagents, layers);
        let of_file = idle::OfFile::new(&root, &plan);
        let settings = of_file.settings(report.source);
        idle::report(&mut report, settings);
        of_file.report_unheeded(&mut report);
        plan
    });
    let elsewhere = report.elsewhere.take().unwrap_or_default();
    let (found, failed) = report.finish();
    match plan {
        Some(plan) if !failed => Ok(Loaded { plan, warnings: found, elsewhere }),
        _ => Err(found),
    }
}
