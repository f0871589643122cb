//! How many processes of one agent may run at once, reviewers included. An attempt holds one place at most,
//! its own or its reviewer's, so that attempts cannot deadlock.

use std::collections::BTreeMap;
use std::sync::Arc;

use conductor_core::plan::Limits;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Places at the agents that have a limit.
#[derive(Default)]
pub(crate) struct AgentLimits {
    places: BTreeMap<String, Arc<Semaphore>>,
}

impl AgentLimits {
    pub(crate) fn new(limits: &Limits) -> AgentLimits {
        let place =
            |limit: u32| Arc::new(Semaphore::new((limit.max(1) as usize).min(Semaphore::MAX_PERMITS)));
        AgentLimits {
            places: limits.agents.iter().map(|(agent, limit)| (agent.clone(), place(*limit))).collect(),
        }
    }

    /// Waits for a place, which is held until it is dropped. Nothing where there is no limit.
    pub(super) async fn place(&self, agent: &str) -> Option<OwnedSemaphorePermit> {
        self.places.get(agent)?.clone().acquire_owned().await.ok()
    }
}
