//! Files of the user's checkout that are not committed: tasks start from a commit and do not see them, unless the user has
//! one made of them.

use std::path::{Path, PathBuf};

use conductor_core::run::event::Options;
use conductor_core::values::counted::counted;
use conductor_engine::git::{Repository, Uncommitted};
use conductor_engine::host::access;
use conductor_engine::host::home::Home;

use super::super::talk;
use super::arguments::Resolved;
use super::pipeline;
use crate::error::{CliError, Exit};

/// Where a run writes itself, or what it was given: its task file, its files and state, and wherever what it says was sent.
/// None of it is a change in the checkout.
pub(super) fn ours(
    args: &Resolved<'_>,
    source: &str,
    options: &Options,
    directory: &Path,
    repository: Option<&Repository>,
) -> Vec<PathBuf> {
    let output = options.output.iter().map(PathBuf::from);
    let roots = repository.map(|repository| repository.root.as_path()).into_iter().chain([directory]);
    let flow = roots.map(|root| root.join(conductor_core::plan::groups::ROOT));
    let metrics = args.metrics_file.iter().flat_map(|path| [path.clone(), access::unfinished(path)]);
    let all =
        output.chain(Home::root_of_environment().ok()).chain(flow).chain(pipeline::files()).chain(metrics);
    // What tasks come from can be another program as well, and then there is no such file.
    let all = all.chain([directory.join(source)].into_iter().filter(|path| path.is_file()));
    all.map(|path| path.canonicalize().or_else(|_| std::path::absolute(&path)).unwrap_or(path)).collect()
}

/// What to include, where the user wants that; else a notice says once that there are uncommitted files.
pub(super) fn find(
    args: &Resolved<'_>,
    repository: Option<&Repository>,
    ours: &[PathBuf],
) -> Result<Option<Uncommitted>, CliError> {
    let wanted = args.typed.include_uncommitted;
    let found = match (repository, wanted) {
        (None, false) => return Ok(None),
        (None, true) => {
            let message = "--include-uncommitted has no effect here: tasks work on the files as they are";
            return Err(CliError::new(Exit::Usage, message).help("leave it out, or run it in a git checkout"));
        }
        (Some(repository), _) => repository.uncommitted(ours),
    };
    if let Ok(found) = &found
        && wanted
    {
        for nested in &found.nested {
            talk(format!(
                "{} is a repository of its own and is not included: tasks do not see it",
                nested.display()
            ));
        }
    }
    match found {
        Ok(found) if wanted && !found.unmerged.is_empty() => {
            let names: Vec<String> = found.unmerged.iter().map(|name| name.display().to_string()).collect();
            let message = format!("there are unmerged files in your checkout: {}", names.join(", "));
            Err(CliError::new(Exit::InvalidFile, format!("{message}; nothing was started"))
                .help("finish the merge, or start without --include-uncommitted"))
        }
        Ok(found) if found.files.is_empty() => Ok(None),
        Ok(found) if wanted => Ok(Some(found)),
        Ok(found) => {
            talk(unseen(found.files.len()));
            Ok(None)
        }
        Err(error) if wanted => {
            Err(CliError::new(Exit::InvalidFile, format!("{error}; nothing was started")))
        }
        Err(error) => {
            talk(format!("whether your checkout has uncommitted files could not be told: {error}"));
            Ok(None)
        }
    }
}

fn unseen(files: usize) -> String {
    let (are, them) = if files == 1 { ("is", "it") } else { ("are", "them") };
    let files = counted(files, "uncommitted file");
    format!("{files} {are} not seen by tasks; --include-uncommitted starts from {them}")
}

/// The run starts from a commit that holds them.
pub(super) fn include(
    found: &Uncommitted,
    repository: &mut Repository,
    state: &Path,
) -> Result<(), CliError> {
    let commit = repository.commit_uncommitted(found, &state.join("uncommitted.index"));
    let commit = commit.map_err(|error| CliError::new(Exit::Unexpected, error))?;
    let files = counted(found.files.len(), "uncommitted file");
    let short = &commit[..10.min(commit.len())];
    talk(format!(
        "tasks start from {short}, made of {files}; commit or stash them before you merge the run's branch"
    ));
    repository.head = commit;
    Ok(())
}
