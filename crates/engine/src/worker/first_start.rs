//! The first start of an agent that sets its home up by then: others of its kind wait until it is through with that.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

/// An agent that has said nothing by then is taken to have set up its home.
const LONGEST: Duration = Duration::from_secs(30);

/// Which agents have been on this stage.
#[derive(Default)]
pub(crate) struct FirstStarts {
    stages: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<bool>>>>,
}

impl FirstStarts {
    /// Waits while an agent of this name is in its first start. None if one has completed it.
    pub(super) async fn next(&self, agent: &str) -> Option<FirstStart> {
        let stage = {
            let mut stages = self.stages.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            stages.entry(agent.to_owned()).or_default().clone()
        };
        let been = stage.lock_owned().await;
        (!*been).then(|| FirstStart { been, until: Instant::now() + LONGEST })
    }
}

/// An agent's first start. Dropped before it is completed, it passes to the next agent of that name.
pub(super) struct FirstStart {
    been: OwnedMutexGuard<bool>,
    until: Instant,
}

impl FirstStart {
    /// An agent that says something has set up its home.
    pub(super) fn made(mut self) {
        *self.been = true;
    }

    pub(super) fn is_overdue(&self) -> bool {
        Instant::now() >= self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn others_wait_until_one_has_spoken() {
        let first_starts = FirstStarts::default();
        let first = first_starts.next("a").await.unwrap();
        assert!(first_starts.next("b").await.is_some(), "not its kind");
        let waits = tokio::time::timeout(Duration::from_millis(20), first_starts.next("a")).await;
        assert!(waits.is_err());
        drop(first);
        let second = first_starts.next("a").await.expect("the first has not made it");
        second.made();
        assert!(first_starts.next("a").await.is_none());
    }
}
