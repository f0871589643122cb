//! Git LFS in workspaces: reports missing contents and collects new ones.

use std::path::Path;

use super::WorkspaceError;
use super::run_repo::RunRepo;
use crate::git::Shadow;
use crate::host::shortage::Passing as _;

impl RunRepo {
    /// Says how many files of a checkout are not what they seem.
    pub(super) fn tell_pointers(&self, count: usize) {
        if count > 0 {
            let files = if count == 1 { "file is" } else { "files are" };
            self.notice_once(format!(
                "{count} {files} only a pointer of Git LFS to the tasks, for the content is not on this machine; \
                 `git lfs fetch` gets it"
            ));
        }
    }

    /// Takes over what is kept for commits made in a git directory of an attempt's own. Only these commits would miss it.
    pub(super) fn take_contents(&self, shadow: &Shadow, git: &Path) -> Result<(), WorkspaceError> {
        match shadow.take_contents(git) {
            Err(error) if error.shortage().is_none() => {
                self.notice(format!(
                    "not all that Git LFS keeps for a task's own commits was there: {error}"
                ));
                Ok(())
            }
            done => Ok(done?),
        }
    }
}
