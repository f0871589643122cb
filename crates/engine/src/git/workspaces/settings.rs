//! What the user's git is configured by, held against what it was when the run started.

use std::collections::HashSet;

use super::run_repo::{RunRepo, locked};
use crate::git::Refused;

/// What differs and was not told before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsNews {
    /// Files, with their keys.
    pub what: Vec<String>,
    /// Commands that put them back.
    pub undo: Vec<String>,
    /// It was so already when the run was taken up.
    pub earlier: bool,
}

#[derive(Debug, Default)]
pub(super) struct ToldSettings {
    told: HashSet<String>,
    /// What was different when the run was taken up, until it is recorded.
    earlier: Option<SettingsNews>,
    /// The run is older than what is kept of its start.
    late: bool,
}

impl RunRepo {
    /// Compares once when a run is taken up: our git goes by what was, and the user is told what is.
    pub(super) fn compare_settings(&self, goes_on: bool) {
        let baseline = self.shadow.baseline();
        let mut settings = locked(&self.settings);
        settings.late = goes_on && !baseline.is_taken_up();
        drop(settings);
        if baseline.is_taken_up() {
            let earlier = self.settings_news().map(|news| SettingsNews { earlier: true, ..news });
            locked(&self.settings).earlier = earlier;
        }
    }

    pub(super) fn tell_settings(&self) {
        let (earlier, late) = {
            let settings = locked(&self.settings);
            (settings.earlier.clone(), settings.late)
        };
        for Refused { filter, why } in self.shadow.baseline().all_refused() {
            self.notice(format!(
                "git's filter '{filter}' is not run, and tasks that change files under it fail: {why}"
            ));
        }
        if late {
            self.notice(
                "how git was configured when this run started is not known on this machine; what is \
                 configured now counts from now on"
                    .to_owned(),
            );
        }
        if let Some(SettingsNews { what, .. }) = earlier {
            self.notice(format!(
                "git's configuration is not what it was when this run started: {}; the run goes by what it was",
                what.join(", ")
            ));
        }
    }

    /// What has changed since it was asked last.
    pub fn settings_news(&self) -> Option<SettingsNews> {
        if let Some(earlier) = locked(&self.settings).earlier.take() {
            return Some(earlier);
        }
        let differences = self.shadow.baseline().news()?;
        let mut settings = locked(&self.settings);
        let new: Vec<_> =
            differences.into_iter().filter(|differs| settings.told.insert(differs.words.clone())).collect();
        let mut undo: Vec<String> = new.iter().map(|differs| differs.undo.clone()).collect();
        undo.dedup();
        let what: Vec<String> = new.into_iter().map(|differs| differs.words).collect();
        (!what.is_empty()).then_some(SettingsNews { what, undo, earlier: false })
    }
}
