//! The one gate that all work passes before it is on the run's branch: text that git marked as a conflict stays out.
//!
//! What an attempt left is looked at when it is collected, so that its agent can be asked to put it right. Whatever is to
//! land is looked at when it is stacked, wherever it comes from: the merge train, a task brought in or solved by hand, an
//! epic, a conflict in which one side was favoured. A person lets a file pass by naming it.

use conductor_core::plan::Task;
use conductor_core::run::event::{Change, Failure, FailureClass};

use crate::git::merge::hunks;
use crate::git::workspaces::{RunRepo, WorkspaceError};

/// Fewer added lines hold no conflict.
const SHORTEST: u64 = 3;

/// What is looked for, and what is let pass.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look<'a> {
    /// Files that a person has named.
    pub(crate) allowed: &'a [String],
    /// A conflict was laid out there to be solved: a single mark is left over.
    pub(crate) laid_out: bool,
}

/// The files of a change that hold a conflict which the user did not let pass by name. Blocks.
pub(crate) fn of_change(
    run_repo: &RunRepo,
    change: &Change,
    look: Look<'_>,
) -> Result<Vec<String>, WorkspaceError> {
    let is_counted = !change.touched.files.is_empty() && !look.laid_out;
    let marked = match is_counted && change.touched.added < SHORTEST {
        true => Vec::new(),
        false => between(run_repo, &change.base, &change.commit, look)?,
    };
    if marked.is_empty() {
        run_repo.note_cleared(&change.commit);
    }
    Ok(marked)
}

/// The same for what differs between any two commits or trees.
pub(crate) fn between(
    run_repo: &RunRepo,
    from: &str,
    to: &str,
    look: Look<'_>,
) -> Result<Vec<String>, WorkspaceError> {
    // What the user has on their own branch came to it by their own hand.
    let users = match &run_repo.repository().branch {
        Some(branch) => run_repo.repository().read_ref(branch)?,
        None => None,
    };
    let users = users.as_deref().unwrap_or(&run_repo.repository().head);
    let mut marked = run_repo.shadow().marked(from, to, &[users], look.laid_out)?;
    marked.retain(|path| !look.allowed.contains(path));
    Ok(marked)
}

/// Why a commit may not follow another on the branch, if so. What was found clean when it was collected is not looked at
/// again: a merge without conflicts makes no marks. Blocks.
pub(crate) fn refused(
    run_repo: &RunRepo,
    task: &Task,
    change: &Change,
    tip: &str,
    to: &str,
) -> Result<Option<Failure>, WorkspaceError> {
    if run_repo.is_cleared(&change.commit) {
        return Ok(None);
    }
    let look = Look { allowed: task.conflict_markers(), laid_out: false };
    let marked = between(run_repo, tip, to, look)?;
    if marked.is_empty() {
        return Ok(None);
    }
    let text = |path: &String| {
        let text = run_repo.shadow().blob(to, path).unwrap_or_default();
        hunks(path, &String::from_utf8_lossy(&text), task.id.as_str())
    };
    let evidence: String = marked.iter().take(5).map(text).collect();
    let failure =
        Failure::new(FailureClass::Conflict, WorkspaceError::Markers(marked.join(", ")).to_string());
    Ok(Some(failure.with(evidence)))
}
