//! What is left of an attempt whose worker was lost is taken back: its processes are ended, what it used is counted, its
//! transcript and its work are saved. Then its task can be started again.

use std::sync::Arc;

use conductor_core::plan::Work;
use conductor_core::run::TaskState;
use conductor_core::run::event::{Change, ModelUsage, Outcome, Usage};
use conductor_core::schedule::Input;
use conductor_core::values::ids::{Attempt, TaskId};
use tracing::Instrument as _;

use super::Coordinator;
use crate::dispatch::Link;
use crate::git::workspaces::{WorkspaceBackend, WorkspaceRequest};
use crate::host::redact;
use crate::process::Mark;
use crate::process::transcript::Speaker;
use crate::worker::left_usage_of;

impl Coordinator {
    pub(super) fn reclaim(&mut self, task: TaskId, attempt: Attempt) {
        self.dispatch.forget(&task, attempt);
        let run = self.scheduler.run();
        let Some(place) = run.place(&task) else { return };
        let TaskState::Running(running) = &run.progress(place).state else { return };
        let (planned, executor, plan) = (run.task(place).0.clone(), running.executor, run.plan().clone());
        let recorded = run.agent_choice(place).map(|_| run.used_in_attempt(place).to_vec());
        let left = self.worker.workspaces.left_in(run, &planned, running);
        let (worker, link) = (self.worker.clone(), self.worker.link.clone());
        let mark = Mark { run: self.id.clone(), task: task.clone(), attempt, folder: None };
        let reclaiming = async move {
            worker.services.processes.end_attempt(&mark).await;
            let output = worker.context.output.clone();
            let redactor = worker.caller.redactor(&plan, &planned);
            let reclaimed = tokio::task::spawn_blocking(move || {
                let speaker = Speaker { output: &output, executor, task: &planned.id, attempt };
                let used = recorded.map(|recorded| left_usage_of(&plan, &planned, &speaker, &recorded));
                // One that cannot be moved stays in its spool.
                let _ = speaker.rescue(&redactor);
                let goes_on = matches!(planned.work, Work::Prompt(_));
                (used.transpose(), left.map(|left| rescued(left, goes_on)).transpose())
            });
            let (used, change) = reclaimed.await.unwrap_or_else(|panic| (Err(panic.to_string()), Ok(None)));
            match used {
                Ok(used) => report_usage(&link, &task, attempt, used.unwrap_or_default()),
                Err(why) => {
                    link.notice(format!("what {task} used before its worker was lost is not counted: {why}"));
                }
            }
            let change = change.unwrap_or_else(|why| {
                link.notice(format!("what {task} had done could not be saved: {why}"));
                None
            });
            let change = change.flatten().map(|change| Box::new(redact::known().change(change)));
            let outcome = Outcome::Interrupted;
            link.report(Input::AttemptEnded { task, attempt, outcome, change, phases: None });
        };
        tokio::spawn(reclaiming.in_current_span());
    }
}

/// What it had done; kept for its next attempt where that can go on with it.
fn rescued(
    (workspaces, request): (Arc<dyn WorkspaceBackend>, WorkspaceRequest),
    goes_on: bool,
) -> Result<Option<Change>, String> {
    let rescued = workspaces.rescue(&request).map_err(|error| error.to_string())?;
    Ok(rescued.filter(|_| goes_on).map(|rescued| rescued.change))
}

fn report_usage(link: &Link, task: &TaskId, attempt: Attempt, used: Vec<ModelUsage>) {
    for ModelUsage { model, usage } in used {
        let (task, taken_back) = (task.clone(), Usage::default());
        link.report(Input::UsageReported { task, attempt, usage, model, taken_back });
    }
}
