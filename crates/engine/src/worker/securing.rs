//! What is made safe before risky work: the run's branch is remembered, so that it can be set back.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use conductor_core::plan::Task;
use conductor_core::run::event::{Failure, FailureClass, Outcome};
use conductor_core::schedule::Input;
use conductor_core::schedule::recovery;
use tokio::sync::{oneshot, watch};

use super::{AttemptContext, Order, Stop, Worker};
use crate::agents::Questions;
use crate::dispatch::Message;
use crate::git::checkpoints::{self, Checkpoint};

impl Worker {
    /// Before anything of a risky attempt begins, and recorded by then. Outside of a repository there is no branch.
    pub(super) async fn secure(
        &self,
        order: &Order,
        task: &Task,
        stop: &watch::Receiver<Stop>,
    ) -> Result<(), Outcome> {
        let reason = order.start_from.as_ref().and_then(|start_from| start_from.secure.as_deref());
        let (Some(reason), Some(run_repo)) = (reason, self.workspaces.run_repo().cloned()) else {
            return Ok(());
        };
        let reason = self.caller.redactor(&order.plan, task).text(reason).into_owned();
        let what = format!("{}: {reason}", order.task);
        let last = self.services.secured.clone();
        let made = self.patiently(stop, move || checkpoints::secure(&run_repo, &last, &what)).await;
        let made = made.map_err(|error| unsafe_to_begin(&reason, &error))?;
        let (waits, recorded) = oneshot::channel();
        let _ = self.link.reports.send(Message::Told(told(order, made, reason), waits));
        // The coordinator is gone only while the whole run is torn down.
        recorded.await.map(drop).map_err(|_| Outcome::Interrupted)
    }

    /// What an agent is allowed to do is made safe before it does it, once for each risk in an attempt. The event follows:
    /// an agent that waits for leave is not kept until the log is written.
    pub(super) fn guarded(&self, context: &AttemptContext<'_>, questions: Questions) -> Questions {
        let Some(run_repo) = self.workspaces.run_repo().cloned() else { return questions };
        let (order, last, reports) =
            (context.order.clone(), self.services.secured.clone(), self.link.reports.clone());
        let redactor = self.caller.redactor(context.plan, context.task);
        let known = Mutex::new(BTreeSet::new());
        questions.guarded(move |tool, what| {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            // Before it is quoted in part.
            for (risk, words) in recovery::of_tool(tool, &redactor.text(what)) {
                if !known.insert(risk) {
                    continue;
                }
                let reason = format!("{} ({words})", risk.name());
                match checkpoints::secure(&run_repo, &last, &format!("{}: {reason}", order.task)) {
                    Ok(made) => drop(reports.send(Message::Input(told(&order, made, reason)))),
                    Err(error) => {
                        known.remove(&risk);
                        return Some(format!("no checkpoint can be made before it: {error}"));
                    }
                }
            }
            None
        })
    }
}

fn told(order: &Order, made: Checkpoint, reason: String) -> Input {
    let (task, attempt) = (order.task.clone(), order.attempt);
    Input::CheckpointMade { task, attempt, commit: made.commit, name: made.name, reason }
}

fn unsafe_to_begin(reason: &str, error: &crate::git::workspaces::WorkspaceError) -> Outcome {
    let message = format!("no checkpoint could be made before {reason}: {error}");
    Outcome::Failed(Failure::new(FailureClass::Unstartable, message))
}
