//! Workspaces that nothing will need any more go while others still work, so that a run does not end with a long wait.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use super::Coordinator;
use crate::git::workspaces::RunRepo;
use crate::host::logs::carried;

pub(super) struct Sweeps {
    /// By executor: being cleared, or cleared and not used since.
    begun: HashMap<u32, JoinHandle<()>>,
    /// One at a time: the tasks at work come first.
    turn: Arc<Semaphore>,
}

impl Default for Sweeps {
    fn default() -> Sweeps {
        Sweeps { begun: HashMap::new(), turn: Arc::new(Semaphore::new(1)) }
    }
}

impl Sweeps {
    fn begin(&mut self, run_repo: &Arc<RunRepo>, executor: u32) {
        let (run_repo, turn) = (run_repo.clone(), self.turn.clone());
        self.begun.entry(executor).or_insert_with(|| {
            let sweep = async move {
                let Ok(_turn) = turn.acquire_owned().await else { return };
                // What cannot be cleared now is tried again, and told, at the end of the run.
                let _ = tokio::task::spawn_blocking(carried(move || run_repo.clear_spare(executor))).await;
            };
            tokio::spawn(sweep.in_current_span())
        });
    }

    /// What is under way in an executor's workspace has to end before that is used again.
    pub(super) fn reuse(&mut self, executor: u32) -> Option<JoinHandle<()>> {
        self.begun.remove(&executor)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.begun.values().any(|sweep| !sweep.is_finished())
    }

    /// Those that have not begun are left to the end of the run, which clears side by side.
    pub(super) async fn end(&mut self) {
        self.turn.close();
        for (_, sweep) in self.begun.drain() {
            let _ = sweep.await;
        }
    }
}

impl Coordinator {
    pub(super) fn sweep_spare(&mut self) {
        let Some(run_repo) = self.run_repo() else { return };
        for executor in self.scheduler.spare_executors() {
            self.sweeps.begin(&run_repo, executor);
        }
    }
}
