//! One attempt at one task: workspace, process, transcript, our own look at the result, report.

mod accounts;
mod agent_limits;
mod asking;
mod base;
mod baselines;
mod bill;
mod checks;
mod confining;
mod conversation;
pub mod distant;
mod engaging;
pub mod feedback;
mod first_start;
pub mod gates;
mod judging;
pub(crate) mod learning;
mod lines;
pub(crate) mod local;
pub(crate) mod log_lines;
mod measuring;
mod message_queue;
mod metering;
mod parking;
mod plan;
pub mod prompt;
mod reattaching;
mod repetition;
mod replay;
mod reviewing;
mod rounds;
mod running;
mod securing;
mod services;
mod serving;
mod session_state;
mod skills;
mod slices;
mod standstill;
mod supplies;
pub(crate) mod tools;
pub(crate) mod train;
pub mod verifiers;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use conductor_core::plan::{Changes, Plan, Task, Work};
use conductor_core::run::costs;
use conductor_core::run::event::{Change, Failure, FailureClass, Finding, Outcome, Usage};
use conductor_core::schedule::Input;
use conductor_core::values::ids::TaskId;
use conductor_core::values::units::Usd;
use tokio::sync::watch;

use crate::agents::skills::Applied;
use crate::agents::{AgentError, Caller};
use crate::dispatch::board::PhaseTimer;
use crate::dispatch::{Link, RunContext};
use crate::git::workspaces::{
    SettingsNews, Workspace, WorkspaceBackend, WorkspaceError, WorkspaceRequest, Workspaces,
};
use crate::host::logs::carried;
use crate::process::Mark;
use crate::process::confinement::Place;
use crate::process::transcript::Speaker;
use bill::Difference;
use judging::Watched;
use learning::Trail;
use reattaching::LeftAtWork;

pub use crate::dispatch::{Order, Stop};
pub(crate) use accounts::{left_usage, left_usage_of};
pub(crate) use checks::Check;
pub use conversation::overhear;
pub(crate) use local::Local;
pub(crate) use message_queue::MessageQueue;
pub use metering::meter;
pub use plan::CurrentPlan;
pub use reattaching::readable;
pub(crate) use reattaching::{Reattaching, ShimPlace};
pub(crate) use services::Services;
pub use serving::serve;
pub(crate) use standstill::Wish;

/// What attempts of one run need in the process that carries them out.
pub struct Worker {
    pub(crate) context: Arc<RunContext>,
    /// As it is now, for what agents are told of the run and for what lands.
    pub(crate) plan: CurrentPlan,
    pub(crate) workspaces: Workspaces,
    pub(crate) caller: Caller,
    pub(crate) link: Link,
    pub(crate) message_queue: MessageQueue,
    pub(crate) services: Services,
}

/// An attempt under way: who works where.
struct AttemptContext<'a> {
    order: &'a Order,
    plan: &'a Plan,
    task: &'a Task,
    request: WorkspaceRequest,
    workspace: Workspace,
    workspaces: Arc<dyn WorkspaceBackend>,
    blocks: bool,
    /// What was in the directory before the work, where a change in it is due and cannot be told otherwise.
    in_place: OnceLock<Watched>,
    skills: OnceLock<Vec<Applied>>,
    /// What verifiers found in the work as it is now, and let pass.
    findings: Mutex<Vec<Finding>>,
    trail: Trail,
    /// The files of its confinement, once it is confined.
    confined: OnceLock<Place>,
    timer: &'a PhaseTimer<'a>,
    /// When this coordinator took it up, and how long it had been at work by then.
    since: (Instant, Duration),
    /// What another coordinator has left of it at work, until it is gone on with.
    left: Mutex<Option<Box<LeftAtWork>>>,
}

impl AttemptContext<'_> {
    /// How long it has been at work, whichever coordinators have watched it.
    fn worked(&self) -> Duration {
        self.since.1 + self.since.0.elapsed()
    }

    fn left(&self) -> MutexGuard<'_, Option<Box<LeftAtWork>>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worker {
    pub(crate) fn new(
        context: Arc<RunContext>,
        plan: Arc<Plan>,
        workspaces: Workspaces,
        caller: Caller,
        link: Link,
    ) -> Worker {
        let services = Services::new(&context.run, &context.limits);
        let message_queue = MessageQueue::default();
        Worker { context, plan: plan.into(), workspaces, caller, link, message_queue, services }
    }

    /// Carries the order out and says how it ended, whatever happens.
    pub(crate) async fn work(&self, order: &Order, stop: watch::Receiver<Stop>) -> Input {
        let timer = PhaseTimer::begin(&self.link.board, &order.task, order.attempt);
        let begun = Instant::now();
        let is_apart = self.workspaces.is_apart(&order.plan.tasks[order.place]);
        log_lines::attempt_began(order, is_apart);
        let (outcome, change): (Outcome, Option<Change>) = match self.attempt(order, &timer, stop).await {
            Ok(change) => (Outcome::Succeeded, change),
            Err((outcome, kept)) => {
                let redactor = self.caller.redactor(&order.plan, &order.plan.tasks[order.place]);
                (self.excused(&order.task, begun, redactor.outcome(outcome)), kept)
            }
        };
        let phases = timer.finish();
        log_lines::attempt_ended(&outcome, &phases, order.choice.is_none() && !is_apart, begun);
        let (phases, change) = (Some(phases), change.map(Box::new));
        let (task, attempt) = (order.task.clone(), order.attempt);
        Input::AttemptEnded { task, attempt, outcome, change, phases }
    }

    /// A failed attempt also returns the work it left, so that the next attempt can continue from it.
    async fn attempt(
        &self,
        order: &Order,
        timer: &PhaseTimer<'_>,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<Option<Change>, (Outcome, Option<Change>)> {
        let plan = &*order.plan;
        let task = &*order.chosen_task();
        let left = self.services.reattaching.take(&order.task, order.attempt).map(Box::new);
        let (workspaces, blocks) = self.workspaces.of(task).map_err(|error| (no_workspace(&error), None))?;
        let request = self.request(order);
        let workspace = match &left {
            Some(left) => left.begun.workspace.clone(),
            None => {
                let made = self.make_ready(order, task, (&workspaces, blocks), &request, &stop).await;
                made.map_err(|outcome| (outcome, None))?
            }
        };
        let worked = left.as_ref().map_or(Duration::ZERO, |left| left.worked());
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
            findings: Mutex::default(),
            trail: Trail::default(),
            confined: OnceLock::new(),
            timer,
            since: (Instant::now(), worked),
            left: Mutex::new(left),
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

    /// The place an attempt works in, with what it is started from.
    async fn make_ready(
        &self,
        order: &Order,
        task: &Task,
        (workspaces, blocks): (&Arc<dyn WorkspaceBackend>, bool),
        request: &WorkspaceRequest,
        stop: &watch::Receiver<Stop>,
    ) -> Result<Workspace, Outcome> {
        self.secure(order, task, stop).await?;
        let (workspaces, request) = (workspaces.clone(), request.clone());
        let workspace = self.started_at(blocks, stop, move || workspaces.prepare(&request)).await?;
        // Not before: making its workspace takes away what the last attempt left there.
        self.wait_for_room(stop).await;
        self.at_home(&order.plan, task, workspace, stop).await
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
        let is_new = context.left().is_none();
        let transcript = self.open_transcript(&self.speaker(context.order), is_new, stop).await?;
        self.link.marks.begin(context.order.executor);
        let mark = self.link.marks.transcript(context.order.executor);
        let mut transcript =
            transcript.redacted(self.caller.redactor(context.plan, context.task)).marked(mark);
        let done = self.rounds(context, &mut transcript, stop).await;
        self.learn(context, &done).await;
        context.timer.note_mended(context.trail.rounds());
        // The outcome stands whether or not the transcript could be moved; where not, it stays where it was written.
        let _ = transcript.finish();
        done
    }

    /// Who sits where, and what is to be done there.
    pub fn request(&self, order: &Order) -> WorkspaceRequest {
        let task = &order.plan.tasks[order.place];
        let start_from = order.start_from.as_deref().cloned().unwrap_or_default();
        let isolation = self.workspaces.isolation(task);
        let request = WorkspaceRequest::of(&order.plan, isolation, task, order.executor, order.attempt);
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
        Speaker {
            output: &self.context.output,
            executor: order.executor,
            task: &order.task,
            attempt: order.attempt,
        }
    }

    pub(crate) fn report(&self, input: Input) {
        self.link.report(input);
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

    pub(super) fn warn_once(&self, text: String) {
        let mut warned = self.services.warned.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if warned.insert(text.clone()) {
            self.notice(text);
        }
    }

    pub(crate) fn notice(&self, text: String) {
        self.link.notice(text);
    }

    /// Ends what is left of an attempt that could not come to its own end.
    pub(crate) async fn sweep(&self, order: &Order) {
        self.services.processes.sweep(&self.mark(order)).await;
    }

    fn mark(&self, order: &Order) -> Mark {
        let folder = self.services.processes.origin();
        Mark { run: self.context.run.clone(), task: order.task.clone(), attempt: order.attempt, folder }
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
