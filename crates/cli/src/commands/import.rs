//! `conductor import`: what another tool has to do, as a task file.

mod others;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use conductor_core::plan::subagents::Known;
use conductor_core::values::counted::counted;
use conductor_engine::agents::subagents;
use conductor_engine::host::for_shell;
use conductor_engine::host::home::Home;
use conductor_engine::records::beads::{self, Bd, BdError, Drafted, Issue, LeftOut};
use serde_json::json;

use super::{answer_either, talk};
use crate::args::{self, ImportTo};
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::writing;
use crate::settings::diagnostics;

/// More than these are counted only.
const MOST: usize = 20;

pub(crate) fn run(import: &args::Import) -> Result<Exit, CliError> {
    match import {
        args::Import::Beads(args) => import_beads(args),
        other => others::import(other),
    }
}

fn import_beads(args: &ImportTo) -> Result<Exit, CliError> {
    let directory = std::env::current_dir()?;
    may_write(args)?;
    let tracker = Tracker::find(&directory, &Home::open()?)?;
    let drafted = tracker.draft(&directory, &BTreeMap::new())?;
    tell(&drafted.left_out);
    some(&drafted)?;
    write(args, &drafted, beads::text(&drafted, &tracker.name()))
}

/// Before anything is asked for.
fn may_write(args: &ImportTo) -> Result<(), CliError> {
    match args.output.as_os_str() == "-" {
        true => Ok(()),
        false => writing::may_write(&[&args.output], args.force, writing::ANOTHER_FILE),
    }
}

/// Writes the task file, which is read first as any other is.
fn write(args: &ImportTo, drafted: &Drafted, text: String) -> Result<Exit, CliError> {
    let to_file = args.output.as_os_str() != "-";
    let name = if to_file { args.output.display().to_string() } else { "<stdout>".to_owned() };
    diagnostics::load_text(&name, text.clone())?;
    const SCHEMA: &str = "conductor.import/1";
    let count = drafted.tasks.len();
    if !to_file {
        answer_either(args.json, &text, SCHEMA, json!({ "issues": count, "written": null, "text": text }))?;
        return Ok(Exit::Done);
    }
    writing::write(&args.output, &text)?;
    let issues = counted(count, "issue");
    let words = format!("wrote {name} with {issues}; next: conductor run {}", for_shell(&args.output));
    answer_either(args.json, &words, SCHEMA, json!({ "issues": count, "written": name }))?;
    Ok(Exit::Done)
}

/// Where the issues are.
pub(super) enum Tracker {
    Bd(Bd),
    /// Only to be read.
    Export(std::path::PathBuf),
}

impl Tracker {
    pub(super) fn find(directory: &Path, home: &Home) -> Result<Tracker, CliError> {
        if let Some(bd) = Bd::find(directory, home.root()) {
            return Ok(Tracker::Bd(bd));
        }
        match beads::find_export(directory) {
            Some(export) => {
                talk(format!(
                    "there is no bd on PATH: reading {}, which may be older than the issues; nothing will be \
                     closed there",
                    export.display()
                ));
                Ok(Tracker::Export(export))
            }
            None => {
                let message = format!("there is no bd on PATH, and no {} here either", beads::EXPORT);
                Err(CliError::new(Exit::Usage, message)
                    .help("install beads, or bring its export along: bd export -o .beads/issues.jsonl"))
            }
        }
    }

    /// Every issue there is.
    pub(super) fn all(&self) -> Result<Vec<Issue>, CliError> {
        match self {
            Tracker::Bd(bd) => Ok(bd.all()?),
            Tracker::Export(path) => {
                beads::read_export(path).map_err(|error| CliError::new(Exit::InvalidFile, error))
            }
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Tracker::Bd(_) => "bd".to_owned(),
            Tracker::Export(path) => path.display().to_string(),
        }
    }

    /// The issues that can be done and are free.
    pub(super) fn draft(
        &self,
        directory: &Path,
        claimed: &BTreeMap<String, String>,
    ) -> Result<Drafted, CliError> {
        let known = Known::new(&diagnostics::without_file()?.subagents, &subagents::found(directory));
        let issues = self.all()?;
        let ready: Option<HashSet<String>> = match self {
            Tracker::Bd(bd) => Some(bd.ready()?.into_iter().collect()),
            Tracker::Export(_) => None,
        };
        Ok(beads::draft(&issues, ready.as_ref(), claimed, &known))
    }
}

impl From<BdError> for CliError {
    fn from(error: BdError) -> CliError {
        let help = match &error {
            BdError::Locked { .. } => "nothing was started; try again when no other process uses it",
            BdError::Unstartable(_) => "see whether `bd version` works in a shell",
            _ => "see what `bd list --json` says here",
        };
        CliError::new(Exit::Unexpected, error).help(help)
    }
}

pub(super) fn tell(left_out: &[LeftOut]) {
    for left in left_out.iter().take(MOST) {
        talk(format!("left out: {} {}", one_line(&left.id), one_line(&left.why)));
    }
    if left_out.len() > MOST {
        talk(format!("left out: {} more", left_out.len() - MOST));
    }
}

pub(super) fn some(drafted: &Drafted) -> Result<(), CliError> {
    match drafted.tasks.is_empty() {
        true => Err(CliError::new(Exit::NothingToDo, "beads has no open issue that can be done now")),
        false => Ok(()),
    }
}
