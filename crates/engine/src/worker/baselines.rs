//! What was measured before: figures of one tree, and those that several changes are held against.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use conductor_core::run::measure::{Lint, Measured, Percent, Reading};
use tokio::sync::OnceCell;

/// What was measured of commits that work started from, once for each of them, and what was told already.
#[derive(Default)]
pub(crate) struct Baselines {
    figures: Mutex<HashMap<String, Arc<OnceCell<Figures>>>>,
    told: Mutex<BTreeSet<String>>,
}

impl Baselines {
    pub(super) fn cell(&self, key: String) -> Arc<OnceCell<Figures>> {
        let mut known = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key).or_default().clone()
    }

    pub(super) fn is_new(&self, words: &str) -> bool {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(words.to_owned())
    }
}

/// Of one tree.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figures {
    pub(super) coverage: Option<Percent>,
    pub(super) lint: Option<Lint>,
}

impl Figures {
    pub(super) fn since(self, before: Figures) -> Option<Measured> {
        let coverage = self.coverage.map(|after| Reading { before: before.coverage, after });
        let lint = self.lint.map(|after| Reading { before: before.lint, after });
        (coverage.is_some() || lint.is_some()).then_some(Measured { coverage, lint })
    }
}
