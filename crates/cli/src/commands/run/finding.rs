//! Which run `--resume` means, and whether there is anything left of it to do.

use std::path::{Path, PathBuf};

use conductor_core::plan::graph::Graph;
use conductor_core::report::Subject;
use conductor_core::run::{Run, Stage, Status};
use conductor_engine::host::home::Home;
use conductor_engine::records::beads;
use conductor_engine::records::output;
use conductor_engine::runs::archive::{to_resume, unmerged_branch, was_cut_short};
use conductor_engine::stores::{StoredRun, source_of};

use super::arguments::Resolved;
use crate::args;
use crate::error::{CliError, Exit};

/// The run that is meant: by (the beginning of) its name, or the newest of this directory that is not done.
pub(super) fn find(args: &Resolved<'_>, home: &Home, runs: &[StoredRun]) -> Result<StoredRun, CliError> {
    let sources = match (&args.file, args.typed.from) {
        (Some(file), _) => vec![full_name(&args.directory, file)],
        (None, Some(crate::args::From::Beads)) => {
            vec![beads::source(&args.directory), beads::export_source(&args.directory)]
        }
        (None, None) => Vec::new(),
    };
    Ok(to_resume(home, runs, args.resume.as_deref(), &sources, &args.directory)?)
}

/// Whether a run whose tasks are all over was killed before its last steps were done: its workspaces cleared, its files
/// written, its branch brought home, its exit code noted. Or its branch is to be brought home now, and was not then.
pub(super) fn is_unfinished(args: &Resolved<'_>, stored: &StoredRun, run: &Run, state: &Path) -> bool {
    run.all_ended()
        && (was_cut_short(state)
            || (args.typed.merge == Some(args::Merge::Branch) && unmerged_branch(stored, run).is_some()))
}

pub(super) fn nothing_to_do(args: &Resolved<'_>, stored: &StoredRun, run: &Run) -> Option<CliError> {
    let bad = run.count(Status::Failed) + run.count(Status::Skipped) + run.count(Status::Cancelled);
    if !matches!(run.stage(), Stage::Finished(_)) || (args.typed.retry_failed && bad > 0) {
        return None;
    }
    let cli_error = CliError::new(Exit::NothingToDo, format!("run {} has nothing left to do", stored.id));
    let again = format!("to do again what failed: conductor run --resume {} --retry-failed", stored.id);
    Some(if bad == 0 { cli_error } else { cli_error.help(again) })
}

/// A coordinator that was killed after the last event has left no report; the next `--resume` writes it.
pub(super) fn complete_files(stored: &StoredRun, run: &Run, state: &Path) -> Result<(), CliError> {
    let directory = run.options().output.as_ref().map_or_else(|| state.to_owned(), PathBuf::from);
    if !directory.join("execution_summary.json").exists() {
        let graph = Graph::new(run.plan(), run.options().strategy)
            .map_err(|error| CliError::new(Exit::Unexpected, error))?;
        let (voices, source) = (output::voices(&directory, run), stored.file_name());
        let subject = Subject {
            id: &stored.id,
            run,
            graph: &graph,
            ledger: None,
            source,
            voices: &voices,
            aggregation: None,
        };
        output::write_summary(&directory, &subject)?;
    }
    Ok(())
}

/// What a run of this file is known by.
pub(crate) fn full_name(directory: &Path, file: &Path) -> String {
    source_of(&directory.join(file))
}
