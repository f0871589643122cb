use conductor_core::plan::graph::{Graph, Strategy};
use conductor_core::values::counted::counted;
use conductor_engine::git::{GitError, Repository};

use super::doctor::troubles;
use super::{answer, answer_json, talk};
use crate::args::Validate;
use crate::error::{CliError, Exit};
use crate::settings::diagnostics;
use crate::settings::taskfile;
use crate::settings::variables;

/// Reports what would fail because of git's configuration here, before anything starts.
fn tell_of_git() {
    let Ok(here) = std::env::current_dir() else { return };
    match Repository::of(&here) {
        Ok(repository) => {
            for (told, remedy) in repository.content().iter().flat_map(troubles) {
                talk(format!("{told}; {remedy}"));
            }
        }
        Err(error @ (GitError::Unreadable { .. } | GitError::Missing(_))) => {
            talk(format!("{error}; {}", error.remedy().unwrap_or_default()));
        }
        Err(_) => {}
    }
}

pub(crate) fn run(args: &Validate) -> Result<Exit, CliError> {
    variables::warn_of_unknown();
    let file = taskfile::meant(args.file.as_deref())?;
    let (plan, mut findings) = diagnostics::check(&file)?;
    if let Some(plan) = &plan {
        findings.tell_of_missing(plan);
    }
    if args.json {
        answer_json(&findings.json())?;
        return Ok(if plan.is_some() { Exit::Done } else { Exit::InvalidFile });
    }
    findings.show();
    let plan = plan.ok_or_else(|| findings.cli_error())?;
    tell_of_git();
    let batches = Graph::new(&plan, Strategy::Queue).map_or(0, |graph| graph.batches().len());
    answer(&format!(
        "{} is valid: {} in {}",
        file.display(),
        counted(plan.asked().count(), "task"),
        counted(batches, "batch"),
    ))?;
    Ok(Exit::Done)
}
