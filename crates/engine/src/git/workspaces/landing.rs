//! The run's branch at the moment when work lands, and the checkout that the user may have of it meanwhile.

use std::path::{Path, PathBuf};

use conductor_core::values::ids::TaskId;

use super::WorkspaceError;
use super::run_repo::{RunRepo, locked};
use crate::git::merge::short;
use crate::git::{Forward, Forwarded, GitError};
use crate::host::shortage::Passing as _;

impl RunRepo {
    /// Work that was done on another machine is the task's from now on, as if it had been done here.
    pub(crate) fn take_in_work(&self, task: &TaskId, commit: &str) -> Result<(), WorkspaceError> {
        Ok(self.repository.set_ref(&self.task_branch(task), commit)?)
    }

    /// On a worker's machine: the run's branch is where its coordinator says that it is. Where that is older than what is
    /// known, it stays.
    pub(crate) fn follow(&self, to: &str) -> Result<(), WorkspaceError> {
        let mut known = locked(&self.tip);
        let now = self.repository.read_ref(self.branch())?;
        let is_behind = match &now {
            Some(now) => *now != to && !self.shadow.contains(now, to)?,
            None => true,
        };
        if is_behind {
            self.repository.set_ref(self.branch(), to)?;
            *known = Some(to.to_owned());
        }
        Ok(())
    }

    /// Moves the run's branch as `move_tip` does, and with it a clean checkout of it. Any other stays as it is, and the
    /// user is told.
    pub fn land(&self, from: &str, to: &str) -> Result<bool, WorkspaceError> {
        let Some(checkout) = self.users_checkout()? else { return self.move_tip(from, to) };
        let branch = self.branch().to_owned();
        let forward = Forward { checkout, branch, from: from.to_owned(), to: to.to_owned() };
        let why = match self.repository.bring_forward(&forward) {
            Ok(Forwarded::Done { .. } | Forwarded::Moved) => return self.move_tip(from, to),
            Ok(Forwarded::InTheWay(files)) => format!("untracked files are in the way: {}", files.join(", ")),
            Ok(Forwarded::Held(why)) => why,
            Err(error) if error.shortage().is_some() => return Err(error.into()),
            Err(error) => error.to_string(),
        };
        let moved = self.move_tip(from, to)?;
        if moved {
            self.tell_left_behind(&forward.checkout, from, &why);
        }
        Ok(moved)
    }

    /// Told once of each: its files are those of this commit until the user brings them along.
    fn tell_left_behind(&self, checkout: &Path, from: &str, why: &str) {
        let place = checkout.display();
        if locked(&self.told).insert(format!("left behind: {place}")) {
            self.notice(format!(
                "{place} is on {} and its files were not brought along ({why}): a commit made there would take back \
                 what lands; before you commit: git -C '{place}' read-tree -m -u {from:.10} HEAD",
                short(self.branch())
            ));
        }
    }

    /// Git is asked only where a file says that there is one. A workspace whose agent has checked the branch out is left
    /// alone.
    fn users_checkout(&self) -> Result<Option<PathBuf>, GitError> {
        if !self.repository.may_be_checked_out(self.branch()) {
            return Ok(None);
        }
        let checkout = self.repository.checkout_of(self.branch())?;
        Ok(checkout.filter(|checkout| !self.is_workspace(checkout)))
    }
}
