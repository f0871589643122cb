//! Whether items still hold: their files are there, and their checks succeed.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use conductor_core::expertise::{Candidate, Item, ItemId, Retirement, UNUSED_DAYS, Verdict, verdict};
use conductor_core::values::units::Timestamp;
use serde::Serialize;

use super::error::ExpertiseError;
use super::selecting::starts;
use super::store::Expertise;

/// A check that takes longer says nothing.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(20);

/// What was found about one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub item: ItemId,
    /// Why it is to go; nothing where it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goes: Option<Retirement>,
    /// What could not be looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Validated {
    pub items: usize,
    pub findings: Vec<Finding>,
}

impl Expertise {
    /// Whether one of the files an item is about exists; nothing where it names none, or all of them by a pattern.
    pub(super) fn is_there(&self, item: &Item) -> Option<bool> {
        let starts = starts(&item.draft.scope);
        let named: Vec<&String> = starts.iter().filter(|start| !start.is_empty()).collect();
        if named.is_empty() || named.len() < starts.len() {
            return None;
        }
        Some(named.iter().any(|start| self.project.root.join(start).symlink_metadata().is_ok()))
    }

    /// Looks every item up. A check is run only where it is, letter by letter, one of the project's own.
    pub async fn validate(
        &self,
        own_checks: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<Validated, ExpertiseError> {
        let all: Vec<Candidate> =
            self.all().await?.into_iter().filter(|one| one.item.retired.is_none()).collect();
        let mut findings = Vec::new();
        let mut failing: BTreeSet<String> = BTreeSet::new();
        let mut passing: BTreeSet<String> = BTreeSet::new();
        for one in &all {
            let item = one.item.id.clone();
            if let Verdict::Goes(why) =
                verdict(&one.item, &one.tally, now, UNUSED_DAYS, self.is_there(&one.item))
            {
                findings.push(Finding { item, goes: Some(why), note: None });
                continue;
            }
            let Some(command) = one.item.draft.check.clone() else { continue };
            if !own_checks.contains(&command) {
                let note = format!(
                    "its check `{command}` is no `verify:` command of the task file, so it was not run"
                );
                findings.push(Finding { item, goes: None, note: Some(note) });
                continue;
            }
            if !failing.contains(&command) && !passing.contains(&command) {
                let known = if self.succeeds(&command) { &mut passing } else { &mut failing };
                known.insert(command.clone());
            }
            if failing.contains(&command) {
                findings.push(Finding { item, goes: Some(Retirement::CheckFails { command }), note: None });
            }
        }
        Ok(Validated { items: all.len(), findings })
    }

    fn succeeds(&self, command: &str) -> bool {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(&self.project.root);
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(mut child) = shell.spawn() else { return false };
        let begun = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if begun.elapsed() < PATIENCE => std::thread::sleep(LOOK),
                Ok(None) | Err(_) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return false;
                }
            }
        }
    }
}
