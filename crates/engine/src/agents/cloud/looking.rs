//! What a session has really done, as the remote tells it: branches that descend from its anchor.

use std::collections::HashSet;

use super::record::Submission;
use super::words;
use crate::git::GitError;
use crate::git::courier::{Courier, Tip};

/// The branch that has a session's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) tip: Tip,
    /// Its last commit says that all is done.
    pub(super) is_last: bool,
}

#[derive(Debug)]
pub(super) enum Look {
    Nothing,
    Found(Found),
    /// Several branches, none of which holds all the others.
    Several(Vec<String>),
}

/// Remembers what does not descend, so that nothing is fetched twice.
#[derive(Default)]
pub(super) struct Looking {
    ruled_out: HashSet<(String, String)>,
}

impl Looking {
    /// Names count for nothing here: only ancestry does.
    pub(super) fn look(&mut self, courier: &Courier, of: &Submission) -> Result<Look, GitError> {
        let mut found: Vec<Tip> = Vec::new();
        for tip in courier.tips()? {
            let key = (tip.branch.clone(), tip.commit.clone());
            if tip.branch == of.branch || of.before.contains(&tip) || self.ruled_out.contains(&key) {
                continue;
            }
            match courier.descends(&tip, &of.anchor)? {
                true => found.push(tip),
                false => drop(self.ruled_out.insert(key)),
            }
        }
        let Some(last) = newest(courier, &found)? else {
            return Ok(match found.is_empty() {
                true => Look::Nothing,
                false => Look::Several(found.into_iter().map(|tip| tip.branch).collect()),
            });
        };
        let is_last = words::is_last(&courier.message(&last.commit)?, &of.mark);
        Ok(Look::Found(Found { tip: last, is_last }))
    }
}

/// The one that holds all others.
fn newest(courier: &Courier, tips: &[Tip]) -> Result<Option<Tip>, GitError> {
    for tip in tips {
        let mut holds = true;
        for other in tips {
            holds = holds && courier.contains(&tip.commit, &other.commit)?;
        }
        if holds {
            return Ok(Some(tip.clone()));
        }
    }
    Ok(None)
}
