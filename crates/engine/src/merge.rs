//! Merging one task's work onto the run's branch, in memory, and checking the combined tree before anything moves.

use std::sync::Arc;

use conductor_core::event::{Change, Failure, FailureClass};
use conductor_core::plan::Task;

use crate::git::Merge;
use crate::workspaces::{WorkspaceError, Worktrees, run_branch};

/// A merge that could land: the branch's place before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    pub from: String,
    pub to: String,
    /// The folder that holds the combined tree, where that is not the tree the task was verified on.
    pub unverified: Option<std::path::PathBuf>,
}

#[derive(Debug)]
pub enum Unmerged {
    Conflict(Failure),
    Broken(WorkspaceError),
}

impl From<WorkspaceError> for Unmerged {
    fn from(error: WorkspaceError) -> Unmerged {
        Unmerged::Broken(error)
    }
}

impl From<crate::git::GitError> for Unmerged {
    fn from(error: crate::git::GitError) -> Unmerged {
        Unmerged::Broken(error.into())
    }
}

/// Merges onto wherever the branch is now. Blocks.
pub fn prepare(worktrees: &Arc<Worktrees>, task: &Task, change: &Change) -> Result<Prepared, Unmerged> {
    let from = worktrees.tip()?;
    let shadow = worktrees.shadow();
    if shadow.contains(&change.commit, &from)? {
        // Nothing has landed since it started: its own tree is the combined tree.
        return Ok(Prepared { from, to: change.commit.clone(), unverified: None });
    }
    let tree = match shadow.merge(&from, &change.commit)? {
        Merge::Clean { tree } => tree,
        Merge::Conflict { files, messages } => return Err(Unmerged::Conflict(conflict(&files, &messages))),
    };
    let message = format!("Merge task {}: {}\n\nConductor-Task: {}\n", task.id, task.name, task.id);
    let to = shadow.commit(&tree, &[&from, &change.commit], &message)?;
    let unverified = match task.verify.is_empty() {
        true => None,
        false => Some(worktrees.scratch(&to)?),
    };
    Ok(Prepared { from, to, unverified })
}

/// Moves the run's branch if it still is where it was, or finds that it has been moved so already. Blocks.
pub fn move_branch(worktrees: &Worktrees, from: &str, to: &str) -> Result<bool, WorkspaceError> {
    let branch = run_branch(worktrees.run());
    if worktrees.repository().move_ref(&branch, to, from)? {
        return Ok(true);
    }
    let tip = worktrees.tip()?;
    Ok(worktrees.shadow().contains(&tip, to)?)
}

/// What became of the run's branch at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// No task changed anything; the branch is gone again.
    Unchanged,
    /// It waits for the user, who did not ask for more, or could not be given more because of this.
    Left { branch: String, why: Option<String> },
    /// The user's own branch holds it now.
    Merged { branch: String, into: String },
}

/// Puts the run's work where the user wants it. Their branch is only ever brought forward, and only when nobody else
/// moved it and its checkout, if there is one, has nothing uncommitted. Blocks.
pub fn bring_home(worktrees: &Worktrees, into_branch: bool) -> Result<Ending, WorkspaceError> {
    let (repository, full) = (worktrees.repository(), run_branch(worktrees.run()));
    let tip = worktrees.tip()?;
    let branch = short(&full);
    if worktrees.shadow().contains(&repository.head, &tip)? {
        repository.delete_ref(&full)?;
        return Ok(Ending::Unchanged);
    }
    if !into_branch {
        return Ok(Ending::Left { branch, why: None });
    }
    let left = |why: &str| Ok(Ending::Left { branch: branch.clone(), why: Some(why.to_owned()) });
    let Some(target) = &repository.branch else { return left("no branch is checked out") };
    let Some(now) = repository.read_ref(target)? else { return left("the branch it started from is gone") };
    if !worktrees.shadow().contains(&tip, &now)? {
        return left("the branch it started from has moved");
    }
    match repository.checkout_of(target)? {
        Some(checkout) if repository.is_dirty(&checkout)? => {
            return left("its checkout has uncommitted changes");
        }
        Some(checkout) => repository.fast_forward(&checkout, &tip)?,
        None if repository.move_ref(target, &tip, &now)? => {}
        None => return left("the branch it started from has moved"),
    }
    Ok(Ending::Merged { branch, into: short(target) })
}

fn short(name: &str) -> String {
    name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()
}

fn conflict(files: &[String], messages: &str) -> Failure {
    let named = match files {
        [] => "its work".to_owned(),
        [one] => one.clone(),
        [one, rest @ ..] => format!("{one} and {} more", rest.len()),
    };
    let mut message = format!("conflicts with what landed meanwhile in {named}");
    if !messages.is_empty() {
        message.push_str(": ");
        message.push_str(messages);
    }
    Failure::new(FailureClass::Conflict, message)
}
