//! The conflict monitor at work beside the coordinator: one look after the other, until it is stopped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use super::ConflictMonitor;
use crate::dispatch::Message;
use crate::host::logs::carried;
use crate::host::panics::caught;

/// Looking takes at most this part of the time.
const SHARE: u32 = 20;

/// Stopped when it is dropped. A look is work on a thread of its own, which cannot be cut short from outside; the program does
/// not end before it.
pub(crate) struct Looking {
    conflict_monitor: Arc<ConflictMonitor>,
    task: Option<JoinHandle<()>>,
}

impl Looking {
    pub(crate) fn begin(
        conflict_monitor: Arc<ConflictMonitor>,
        every: Duration,
        reports: UnboundedSender<Message>,
        notices: UnboundedSender<String>,
    ) -> Looking {
        let keeping = conflict_monitor.clone().keep(every, reports);
        let keeping = async move {
            if let Err(panic) = caught(keeping).await {
                let _ =
                    notices.send(format!("internal error: conflicts are not looked for any more: {panic}"));
            }
        };
        Looking { conflict_monitor, task: Some(tokio::spawn(keeping.in_current_span())) }
    }

    /// No further look begins, and the one under way soon comes to its end.
    pub(crate) fn stop(&self) {
        self.conflict_monitor.stopped.send_replace(true);
    }

    /// Until the look under way has ended. What it saw is reported by then: it has become the baseline of the next look, which
    /// does not see it again.
    pub(crate) async fn ended(mut self) {
        self.stop();
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        self.stop();
    }
}

impl ConflictMonitor {
    /// Looks again and again until it is stopped or the coordinator stops listening.
    async fn keep(self: Arc<Self>, every: Duration, reports: UnboundedSender<Message>) {
        let mut stopped = self.stopped.subscribe();
        let mut wait = every;
        loop {
            tokio::select! {
                biased;
                _ = stopped.wait_for(|stopped| *stopped) => return,
                () = tokio::time::sleep(wait) => {}
            }
            let conflict_monitor = self.clone();
            let begun = Instant::now();
            let looked = tokio::task::spawn_blocking(carried(move || conflict_monitor.look())).await;
            for input in looked.unwrap_or_default() {
                if reports.send(Message::Input(input)).is_err() {
                    return;
                }
            }
            wait = every.max(begun.elapsed() * SHARE);
        }
    }
}
