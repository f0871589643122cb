//! Which directories belong to where the user is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Notice;
use crate::git::{GitError, Repository};

/// The repository we are in, with all of its checkouts; outside of one, this very directory alone.
pub struct Surroundings {
    /// The git directory that all checkouts share.
    common: Option<PathBuf>,
    /// Answers so far: each costs a call of git.
    asked: HashMap<PathBuf, bool>,
}

impl Surroundings {
    /// Where git refuses to say which repository this is, a notice comes along.
    pub fn of(directory: &Path) -> Result<(Surroundings, Option<Notice>), GitError> {
        let (common, notice) = match Repository::common_of(directory) {
            Ok(common) => (Some(common), None),
            Err(GitError::NotOne(_)) => (None, None),
            Err(error) if error.is_unusable() => (None, Some(Notice::OnlyThisDirectory(error))),
            Err(error) => return Err(error),
        };
        let asked = HashMap::from([(directory.to_owned(), true)]);
        Ok((Surroundings { common, asked }, notice))
    }

    pub fn include(&mut self, directory: &Path) -> bool {
        if let Some(known) = self.asked.get(directory) {
            return *known;
        }
        let same = self.common.is_some() && Repository::common_of(directory).ok() == self.common;
        self.asked.insert(directory.to_owned(), same);
        same
    }
}
