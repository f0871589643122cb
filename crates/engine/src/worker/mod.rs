//! One attempt at one task: workspace, process, transcript, our own look at the result, report.

mod accounts;
mod agent_limits;
mod asking;
mod base;
mod baselines;
mod bill;
mod checks;
mod conversation;
mod engaging;
mod first_start;
pub mod gates;
mod judging;
mod lines;
pub(crate) mod log_lines;
mod measuring;
mod message_queue;
mod parking;
mod plan;
pub mod prompt;
mod repetition;
mod reviewing;
mod rounds;
mod running;
mod securing;
mod session_state;
mod skills;
mod supplies;
pub(crate) mod tools;
pub(crate) mod train;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use conductor_core::plan::{Changes, Limits, Plan, Task, Work};
use conductor_core::run::costs;
use conductor_core::run::event::{AgentChoice, Change, Failure, FailureClass, Outcome, Usage};
use conductor_core::schedule::{Input, StartFrom};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_core::values::units::Usd;
use tokio::sync::{mpsc, watch};

use crate::agents::skills::Applied;
use crate::agents::{AgentError, Caller};
use crate::dispatch::Message;
use crate::dispatch::board::{Board, PhaseTimer};
use crate::git::checkpoints::Checkpoint;
use crate::git::workspaces::{
    SettingsNews, Workspace, WorkspaceBackend, WorkspaceError, WorkspaceRequest, Workspaces,
};
use crate::host::logs::carried;
use crate::host::redact;
use crate::process::transcript::{Marks, Speaker};
use crate::process::{self, Mark};
use crate::worker::tools::ToolServer;
use bill::Difference;
use judging::Watched;

pub(crate) use accounts::{Accounts, left_usage};
pub(crate) use agent_limits::AgentLimits;
pub(crate) use base::BaseChecks;
pub(crate) use baselines::Baselines;
pub(crate) use checks::Check;
pub use conversation::overhear;
pub(crate) use first_start::FirstStarts;
pub(crate) use message_queue::MessageQueue;
pub use plan::CurrentPlan;
pub(crate) use supplies::Supplies;

/// What is to be done, by whom, as which try, from where.
#[derive(Debug, Clone)]
pub struct Order {
    pub place: usize,
    pub task: TaskId,
    pub attempt: Attempt,
    pub executor: u32,
    /// None for a command.
    pub choice: Option<Box<AgentChoice>>,
    pub start_from: Option<Box<StartFrom>>,
}

impl Order {
    /// The task with the agent and model that were chosen for this attempt.
    fn task<'p>(&self, plan: &'p Plan) -> Cow<'p, Task> {
        let task = &plan.tasks[self.place];
        match self.choice.as_deref() {
            Some(choice) if task.agent.as_ref() != Some(&choice.agent) || task.model != choice.model => {
                let (agent, model) = (Some(choice.agent.clone()), choice.model.clone());
                Cow::Owned(Task { agent, model, ..task.clone() })
            }
            _ => Cow::Borrowed(task),
        }
    }
}

/// How urgently an attempt is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    No,
    Ask,
    Kill,
}

/// Everything attempts of one run share.
pub struct Worker {
    pub run: RunId,
    pub plan: CurrentPlan,
    pub workspaces: Workspaces,
    pub caller: Caller,
    pub output: PathBuf,
    /// Files and folders in the user's directory that are ours to write to.
    pub(crate) ours: Vec<PathBuf>,
    pub(crate) message_queue: MessageQueue,
    pub(crate) marks: Marks,
    pub(crate) board: Board,
    pub(crate) notices: mpsc::UnboundedSender<String>,
    pub(crate) reports: mpsc::UnboundedSender<Message>,
    /// What the user was told and need not hear again.
    pub(crate) warned: std::sync::Mutex<std::collections::BTreeSet<String>>,
    pub(crate) accounts: Accounts,
    pub(crate) first_starts: FirstStarts,
    pub(crate) baselines: Baselines,
    pub(crate) base_checks: BaseChecks,
    pub(crate) agent_limits: AgentLimits,
    pub(crate) tool_server: ToolServer,
    pub(crate) supplies: Supplies,
    /// The checkpoint that was made last before something risky.
    pub(crate) secured: Arc<std::sync::Mutex<Option<Checkpoint>>>,
    /// Of the run as it was taken up.
    pub(crate) limits: Limits,
}

/// An attempt under way: who works where.
struct AttemptContext<'a> {
    order: &'a Order,
    /// As it was when the attempt began: nothing about its own task changes after that.
    plan: &'a Plan,
    task: &'a Task,
    request: WorkspaceRequest,
    workspace: Workspace,
    workspaces: Arc<dyn WorkspaceBackend>,
    blocks: bool,
    /// What was in the directory before the work, where a change in it is due and cannot be told otherwise.
    in_place: OnceLock<Watched>,
    skills: OnceLock<Vec<Applied>>,
    timer: &'a PhaseTimer<'a>,
}

impl Worker {
    /// Carries the order out and reports how it ended, whatever happens.
    pub async fn work(self: Arc<Self>, order: Order, stop: watch::Receiver<Stop>) {
        let timer = PhaseTimer::begin(&self.board, &order.task, order.attempt);
        let begun = Instant::now();
        let is_apart = self.workspaces.is_apart(&self.plan.get().tasks[order.place]);
        log_lines::attempt_began(&order, is_apart);
        let (outcome, change): (Outcome, Option<Change>) = match self.attempt(&order, &timer, stop).await {
            Ok(change) => (Outcome::Succeeded, change),
            Err((outcome, kept)) => {
                let plan = self.plan.get();
                let outcome = self.caller.redactor(&plan, &plan.tasks[order.place]).outcome(outcome);
                (self.excused(&order.task, begun, outcome), kept)
            }
        };
        let phases = timer.finish();
        log_lines::attempt_ended(&outcome, &phases, order.choice.is_none() && !is_apart, begun);
        let (phases, change) = (Some(phases), change.map(Box::new));
        let (task, attempt) = (order.task, order.attempt);
        self.report(Input::AttemptEnded { task, attempt, outcome, change, phases });
    }

    /// A failed attempt also returns the work it left, so that the next attempt can continue from it.
    async fn attempt(
        &self,
        order: &Order,
        timer: &PhaseTimer<'_>,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<Option<Change>, (Outcome, Option<Change>)> {
        let plan = &*self.plan.get();
        let task = &*order.task(plan);
        self.secure(order, task, &stop).await.map_err(|outcome| (outcome, None))?;
        let (workspaces, blocks) = self.workspaces.of(task).map_err(|error| (no_workspace(&error), None))?;
        let request = self.request(order);
        let workspace = {
            let (workspaces, request) = (workspaces.clone(), request.clone());
            let started_at = self.started_at(blocks, &stop, move || workspaces.prepare(&request)).await;
            started_at.map_err(|outcome| (outcome, None))?
        };
        // Not before: making its workspace takes away what the last attempt left there.
        self.wait_for_room(&stop).await;
        let workspace = self.at_home(task, workspace, &stop).await.map_err(|outcome| (outcome, None))?;
        let context = AttemptContext {
            order,
            plan,
            task,
            request,
            workspace,
            workspaces,
            blocks,
            in_place: OnceLock::new(),
            skills: OnceLock::new(),
            timer,
        };
        let goes_on = matches!(task.work, Work::Prompt(_));
        let done = self.perform(&context, &mut stop).await;
        self.look_at_settings(blocks);
        match done {
            done if blocks && task.changes == Changes::Discarded => {
                self.discard(context, &stop).await;
                done.map_err(|outcome| (outcome, None))
            }
            Err(outcome) if blocks => {
                let kept = self.rescue(context, &stop).await;
                Err((outcome, kept.filter(|_| goes_on)))
            }
            ended => ended.map_err(|outcome| (outcome, None)),
        }
    }

    /// Whether what the user's git is configured by is still what it was: told before anything comes of the work.
    fn look_at_settings(&self, is_apart: bool) {
        let news =
            self.workspaces.run_repo().filter(|_| is_apart).and_then(|run_repo| run_repo.settings_news());
        if let Some(SettingsNews { what, undo, earlier }) = news {
            self.report(Input::GitSettingsTouched { what, undo, earlier });
        }
    }

    /// Setting up, the work and our look at it; where that finds something, again, as often as the task allows. What
    /// comes of it is collected while the transcript can still be written to.
    async fn perform(
        &self,
        context: &AttemptContext<'_>,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<Change>, Outcome> {
        let transcript = self.open_transcript(&self.speaker(context.order), stop).await?;
        self.marks.begin(context.order.executor);
        let mark = self.marks.transcript(context.order.executor);
        let mut transcript =
            transcript.redacted(self.caller.redactor(context.plan, context.task)).marked(mark);
        let done = self.rounds(context, &mut transcript, stop).await;
        // The outcome stands whether or not the transcript could be moved; where not, it stays where it was written.
        let _ = transcript.finish();
        done
    }

    /// Who sits where, and what is to be done there.
    pub fn request(&self, order: &Order) -> WorkspaceRequest {
        let plan = self.plan.get();
        let task = &plan.tasks[order.place];
        let start_from = order.start_from.as_deref().cloned().unwrap_or_default();
        let isolation = self.workspaces.isolation(task);
        let request = WorkspaceRequest::of(&plan, isolation, task, order.executor, order.attempt);
        WorkspaceRequest {
            onto: start_from.onto,
            stack: start_from.stack,
            round: start_from.round,
            ..request
        }
    }

    async fn started_at<T: Send + 'static>(
        &self,
        blocks: bool,
        stop: &watch::Receiver<Stop>,
        work: impl FnMut() -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, Outcome> {
        let done = match blocks {
            true => self.patiently(stop, work).await,
            false => aside(false, work).await,
        };
        done.map_err(|error| no_workspace(&error))
    }

    fn speaker<'a>(&'a self, order: &'a Order) -> Speaker<'a> {
        Speaker { output: &self.output, executor: order.executor, task: &order.task, attempt: order.attempt }
    }

    /// Sending fails only while the whole run is torn down; then the report does not matter.
    pub(crate) fn report(&self, input: Input) {
        let _ = self.reports.send(Message::Input(input));
    }

    /// Once for each model.
    fn warn_unpriced(&self, model: Option<&str>) {
        let model = model.unwrap_or("the model, which is not named,");
        self.warn_once(format!(
            "no price is known for {model}: its cost is not counted and cost caps do not apply to it; give it one \
             under `prices:` in the file's config"
        ));
    }

    fn warn_different(&self, task: &TaskId, difference: Difference) {
        let money = |cost: Usd| costs::words(Usage { cost, ..Usage::default() });
        let (ours, theirs) = (money(difference.ours), money(difference.theirs));
        self.warn_once(format!(
            "{task}: its agent says that it cost {theirs}, and by the prices known here it is {ours}; the larger counts. \
             Prices of your own go under `prices:` in the file's config"
        ));
    }

    fn warn_once(&self, text: String) {
        let mut warned = self.warned.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if warned.insert(text.clone()) {
            self.notice(text);
        }
    }

    pub(crate) fn notice(&self, text: String) {
        let text = redact::known().string(text);
        tracing::info!(notice = text, "told the user");
        let _ = self.notices.send(text);
    }

    /// Ends what is left of an attempt that could not come to its own end.
    pub(crate) async fn sweep(&self, order: &Order) {
        process::sweep(&self.mark(order)).await;
    }

    fn mark(&self, order: &Order) -> Mark {
        Mark { run: self.run.clone(), task: order.task.clone(), attempt: order.attempt }
    }
}

/// Runs what blocks on a thread for that, and what does not right here.
pub(crate) async fn aside<T: Send + 'static>(
    blocks: bool,
    mut work: impl FnMut() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    match blocks {
        false => work(),
        true => tokio::task::spawn_blocking(carried(work))
            .await
            .unwrap_or_else(|error| Err(WorkspaceError::Broken(error.to_string()))),
    }
}

fn no_workspace(error: &WorkspaceError) -> Outcome {
    let (class, message) = match error {
        WorkspaceError::Markers(_)
        | WorkspaceError::Unmerged(_)
        | WorkspaceError::EpicConflict(_)
        | WorkspaceError::StackConflict { .. } => (FailureClass::Conflict, error.to_string()),
        WorkspaceError::Git(error) if error.is_of_filters() => (FailureClass::Unstartable, error.to_string()),
        WorkspaceError::Diverged { .. } => (FailureClass::Diverged, error.to_string()),
        error => (FailureClass::Unstartable, format!("no workspace: {error}")),
    };
    Outcome::Failed(Failure::new(class, message))
}

fn unfit_stream(error: &std::io::Error) -> Outcome {
    Outcome::Failed(Failure::new(FailureClass::Unstartable, format!("cannot open the transcript: {error}")))
}

fn unfit(error: AgentError) -> Outcome {
    Outcome::Failed(Failure::new(FailureClass::Unstartable, error.to_string()))
}
