//! What beads knows of tasks that are in some other file: whether they are issues, and what holds those back.

use std::collections::BTreeSet;
use std::path::Path;

use conductor_core::plan::subagents::Known;

use super::draft::{TaskDraft, Tracker, task};
use super::issue::Issue;

/// Whether a directory, or one around it, has issues of beads.
pub fn is_here(directory: &Path) -> bool {
    directory.ancestors().any(|folder| folder.join(".beads").is_dir())
}

/// All issues, to be asked about.
pub struct Inquiry<'i> {
    tracker: Tracker<'i>,
}

impl<'i> Inquiry<'i> {
    pub fn of(issues: &'i [Issue]) -> Inquiry<'i> {
        Inquiry { tracker: Tracker::new(issues) }
    }

    pub fn issue(&self, id: &str) -> Option<&'i Issue> {
        self.tracker.by_id.get(id).copied()
    }

    /// The open issues one waits for; why it cannot be done, where none of those could change that.
    pub fn held_by(&self, issue: &'i Issue) -> Result<BTreeSet<&'i str>, String> {
        match issue.status.as_str() {
            "blocked" | "deferred" => Err(format!("it is {} in beads", issue.status)),
            _ => self.tracker.held_by(issue),
        }
    }

    /// The issue as a task: its specialist, its skills.
    pub fn as_task(&self, issue: &Issue, known: &Known) -> TaskDraft {
        task(issue, Vec::new(), None, known)
    }
}
