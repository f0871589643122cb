//! Where a run was started, as other machines can understand it; and whether its code is here.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use conductor_core::run::event::{Event, Record};
use conductor_core::run::{Run, Status};
use conductor_core::sync::{Held, Origin};
use conductor_core::values::ids::{RunId, TaskId};

use super::error::SyncError;
use crate::git::workspaces::{RunRefs, branch_word, rescue_refs};
use crate::git::{GitError, Repository};
use crate::stores::StoredRun;

/// A repository and its first commit, which takes a walk through all of its history to find.
#[derive(Default)]
pub(super) struct Repositories(HashMap<PathBuf, Option<(Repository, Option<String>)>>);

impl Repositories {
    /// The repository a directory is in; nothing outside of any, or where git cannot read it.
    pub(super) fn of(&mut self, directory: &Path) -> Option<&(Repository, Option<String>)> {
        let found = self.0.entry(directory.to_owned()).or_insert_with(|| {
            let repository = Repository::of(directory).ok()?;
            let first = repository.first_commit().ok()?;
            Some((repository, first))
        });
        found.as_ref()
    }
}

/// Of a run of this machine.
pub(super) fn of(
    stored: &StoredRun,
    run: &Run,
    repositories: &mut Repositories,
) -> Result<Origin, SyncError> {
    let mut origin = Origin {
        directory: stored.directory.to_string_lossy().into_owned(),
        source: stored.source.clone(),
        ..Origin::default()
    };
    let Some((repository, first)) = repositories.of(&stored.directory) else { return Ok(origin) };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (directory, root) = (real(&stored.directory), real(&repository.root));
    origin.below =
        directory.strip_prefix(&root).map(|below| below.to_string_lossy().into_owned()).unwrap_or_default();
    origin.repository = first.clone();
    let names = RunRefs::of(repository, &stored.id)?;
    origin.branch =
        repository.read_ref(&names.branch)?.map(|commit| Held { name: names.branch.clone(), commit });
    let open: Vec<String> = run
        .tasks()
        .filter(|(_, progress)| progress.state.status() != Status::Completed)
        .map(|(task, _)| branch_word(task.id.as_str()))
        .collect();
    let rescue = rescue_refs(&stored.id);
    for prefix in [&names.tasks, &rescue] {
        for (name, commit) in repository.refs(prefix)? {
            let of_task = |word: &String| {
                let rest = name.strip_prefix(prefix.as_str()).unwrap_or_default();
                rest == word || rest.strip_prefix(word.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            if open.iter().any(of_task) {
                origin.work.push(Held { name, commit });
            }
        }
    }
    Ok(origin)
}

/// Commits without which a run cannot go on: its branch, and work of its tasks that has not landed.
pub(super) fn needed(run: &Run, records: &[Record], origin: &Origin) -> BTreeSet<String> {
    let is_open =
        |task: &TaskId| run.place(task).is_some_and(|place| !run.progress(place).state.status().is_end());
    let work = records.iter().filter_map(|record| match &record.event {
        Event::AttemptEnded { task, change: Some(change), .. } if is_open(task) => {
            Some(change.commit.clone())
        }
        _ => None,
    });
    let tip = run.tip().map(str::to_owned).or_else(|| Some(origin.branch.as_ref()?.commit.clone()));
    let begun = run.options().begun_on.clone();
    work.chain(tip.or(begun)).collect()
}

/// Refuses where a commit that the run needs is not in a repository.
pub(super) fn check_code(
    repository: &Repository,
    id: &RunId,
    (run, records, origin): (&Run, &[Record], &Origin),
) -> Result<(), SyncError> {
    let needed = needed(run, records, origin);
    let lacking = repository.lacking(needed.iter().map(String::as_str))?;
    if lacking.is_empty() {
        return Ok(());
    }
    let usual = RunRefs::usual(id);
    let branch = origin.branch.as_ref().map_or(usual.branch, |branch| branch.name.clone());
    let missing = lacking.iter().map(|commit| format!("{commit:.12}")).collect();
    // Work that has not landed is below the refs of its tasks, or kept; each place may be empty, and git does not mind.
    let mut refs = vec![branch];
    refs.extend(origin.work.iter().map(|held| held.name.clone()));
    Err(SyncError::CodeMissing { run: id.clone(), missing, repository: repository.root.clone(), refs })
}

/// The run's branch is made where it was; one that is there is the run's own already.
pub(super) fn make_branch(
    repository: &Repository,
    run: &Run,
    origin: &Origin,
    id: &RunId,
) -> Result<(), GitError> {
    let there = origin.branch.as_ref().map(|branch| branch.commit.as_str());
    let Some(commit) = run.tip().or(there) else { return Ok(()) };
    let names = RunRefs::of(repository, id)?;
    if repository.read_ref(&names.branch)?.is_none() {
        repository.move_ref(&names.branch, commit, "")?;
    }
    Ok(())
}
