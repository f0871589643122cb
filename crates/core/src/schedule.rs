//! What happens next: inputs in, events and actions out.
//!
//! Synchronous and deterministic. It holds the run and what can be derived from it (who waits on how many, who is ready,
//! which deadline is next); all of that is rebuilt from the run alone, so a resumed scheduler behaves as the one that
//! died. It starts no process, reads no clock and writes nothing: the engine performs the actions after the events are
//! durable.

mod agent_choice;
pub mod amend;
mod amending;
mod batches;
mod budget;
pub mod conflict_markers;
pub mod divergence;
mod ending;
mod epics;
mod examining;
mod exchange;
mod executors;
mod expertise;
pub(crate) mod following;
mod handing_over;
mod landing;
mod leases;
mod left;
mod losing;
mod monitoring;
mod pools;
mod preempting;
mod providers;
pub mod quality;
mod questions;
mod race;
mod ready;
mod reattaching;
mod recovering;
pub mod recovery;
mod release;
mod requests;
pub mod retry;
pub mod review;
mod reviews;
pub mod slices;
mod snapshot;
mod stacks;
mod starting;
mod stopping;
#[cfg(test)]
mod tests;
mod timers;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::Plan;
use crate::plan::graph::{Graph, GraphError, Node};
use crate::run::event::{Change, DrainReason, Event, Options, Outcome, Process, Record, StopReason};
use crate::run::{IllegalEvent, Run, Running, Stage, Status, TaskState};
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::{Millis, Now, Tick};

pub use agent_choice::{before, circumstances};
pub use amending::objection;
pub use exchange::{Action, Attached, Decision, Input, LeftUsage, ResumeState, StartFrom};
pub use landing::{Car, LeftBehind, Side, Stacked};
pub use leases::LEASE;
pub use left::is_called_off;
pub use reattaching::can_be_reattached;
pub use requests::{Refusal, Request};
pub use snapshot::{AtWork, Counts, Phase, Snapshot, Waiting, Words};
pub use stacks::Unlanded;
pub use waiting::{Held, Wait};

pub(crate) use ready::lonely;
pub(crate) use recovering::failure_asked_about;

use batches::Batches;
use epics::Epics;
use examining::Examining;
use executors::Executors;
use landing::Train;
use leases::Leases;
use ready::Ready;
use release::Blockers;
use stacks::Stacks;
use timers::Timers;

pub struct Scheduler {
    run: Run,
    graph: Graph,
    blockers: Blockers,
    ready: Ready,
    timers: Timers,
    leases: Leases,
    executors: Executors,
    train: Train,
    epics: Epics,
    examining: Examining,
    batches: Batches,
    stacks: Stacks,
    /// Tasks with more than one agent, in order.
    shared: Vec<Node>,
    /// Each task's timeout; empty where no task has one, which spares the look at every start.
    timeouts: Vec<Option<Millis>>,
    /// Tasks whose work is good and only measured any more.
    accepted: BTreeSet<Node>,
    /// Tasks whose agent is done, and whose work is looked at.
    handed_in: BTreeSet<Node>,
    done: bool,
    /// Nothing new begins: the run is about to be left to another coordinator.
    held_back: bool,
    /// An event that the run refused: what is held here does not fit it any more.
    illegal: Option<IllegalEvent>,
    out: Decision,
}

impl Scheduler {
    /// Takes a run up, new or replayed. Whatever ran when it was left counts as interrupted, but for what is attached again.
    pub fn start(run: Run, options: Options, now: Now) -> Result<(Scheduler, Decision), GraphError> {
        Scheduler::take_up(run, options, now, ResumeState::default())
    }

    /// As `start`, with what is known of the one who left it.
    pub fn take_up(
        run: Run,
        options: Options,
        now: Now,
        resume_state: ResumeState,
    ) -> Result<(Scheduler, Decision), GraphError> {
        let graph = Graph::with_places(run.plan(), options.strategy, run.places())?;
        let mut scheduler = Scheduler::over(run, graph);
        scheduler.tell_taken_over(now, resume_state.taken_over);
        scheduler.emit(now, Event::RunStarted { options: Box::new(options) });
        scheduler.stacks = Stacks::new(&scheduler.run);
        if resume_state.reopen {
            scheduler.reopen(now, |status| status.is_end() && status != Status::Completed);
        }
        scheduler.skip_blocked(now);
        scheduler.rebuild(now);
        scheduler.board_leftovers(now);
        scheduler.count_leftovers(now, resume_state.used);
        scheduler.reattach(now, &resume_state.attached);
        scheduler.interrupt_leftovers(now, &resume_state.attached, resume_state.left);
        scheduler.arm_run_deadline(now);
        scheduler.pause_for_escalation(now);
        let decision = scheduler.conclude(now);
        Ok((scheduler, decision))
    }

    /// With nothing derived yet.
    fn over(run: Run, graph: Graph) -> Scheduler {
        Scheduler {
            blockers: Blockers::none(&graph),
            ready: Ready::default(),
            timers: Timers::default(),
            leases: Leases::default(),
            executors: Executors::default(),
            train: Train::default(),
            epics: Epics::new(run.plan()),
            examining: Examining::new(run.plan()),
            batches: Batches::default(),
            stacks: Stacks::new(&run),
            shared: agent_choice::shared(run.plan()),
            timeouts: timeouts(run.plan()),
            accepted: BTreeSet::new(),
            handed_in: BTreeSet::new(),
            done: false,
            held_back: false,
            illegal: None,
            out: Decision::default(),
            run,
            graph,
        }
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn into_run(self) -> Run {
        self.run
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// When `Input::TimerDue` should come at the latest.
    pub fn next_deadline(&self) -> Option<Tick> {
        self.timers.next().into_iter().chain(self.leases.next()).min()
    }

    /// Executors that nothing will need any more, as far as is known.
    pub fn spare_executors(&self) -> impl Iterator<Item = u32> {
        self.executors.spare(self.run.unended().saturating_sub(self.ready.working()))
    }

    pub fn handle(&mut self, now: Now, input: Input) -> Decision {
        match input {
            Input::ProcessStarted { task, attempt, process } => {
                self.on_process_started(now, task, attempt, process);
            }
            Input::LeaseRenewed { task, attempt, worker } => {
                self.on_lease_renewed(now, task, attempt, worker);
            }
            Input::ShimLost { task, attempt } => self.on_shim_lost(now, task, attempt),
            Input::WorkerLost { worker } => self.on_worker_lost(now, &worker),
            Input::SessionStarted { task, attempt, session } => {
                if self.current(&task, attempt).is_some() {
                    self.emit(now, Event::SessionStarted { task, attempt, session });
                }
            }
            Input::ProviderParked { agent, until } => self.on_provider_parked(now, agent, until),
            Input::UsageReported { task, attempt, usage, model, taken_back } => {
                self.on_usage(now, task, attempt, (usage, taken_back), model);
            }
            Input::WorkHandedIn { task, attempt } => {
                if let Some((place, _)) = self.current(&task, attempt) {
                    self.handed_in.insert(place as Node);
                }
            }
            Input::WorkGivenBack { task, attempt } => {
                if let Some((place, _)) = self.current(&task, attempt) {
                    self.handed_in.remove(&(place as Node));
                }
            }
            Input::WorkAccepted { task, attempt } => {
                if let Some((place, _)) = self.current(&task, attempt) {
                    self.timers.disarm(place as Node);
                    self.accepted.insert(place as Node);
                }
            }
            Input::AttemptEnded { task, attempt, outcome, change, phases } => {
                self.on_attempt_ended(now, &task, attempt, outcome, (change, phases));
            }
            Input::MergesPrepared { from, stacked, failed } => {
                self.on_merges_prepared(now, from, stacked, failed);
            }
            Input::MergesPutOff => self.on_merges_put_off(),
            Input::BranchMoved { to, moved } => self.on_branch_moved(now, &to, moved),
            Input::BranchStuck { to, failure } => self.on_branch_stuck(now, &to, &failure),
            Input::ConflictForeseen { task, with, files } => self.on_foreseen(now, task, with, files),
            Input::CheckoutTouched { tasks, what } => {
                self.emit(now, Event::CheckoutTouched { tasks, what });
            }
            Input::GitSettingsTouched { what, undo, earlier } => self.on_settings(now, what, undo, earlier),
            Input::StageExamined { stage, blocked } => self.on_examined(now, stage, blocked),
            Input::Reported { task, attempt, report } => self.on_report(now, task, attempt, report),
            Input::CheckpointMade { task, attempt, commit, name, reason } => {
                self.on_checkpoint(now, task, attempt, (commit, name, reason));
            }
            input @ (Input::ExpertiseUsed { .. }
            | Input::ExpertiseLearned { .. }
            | Input::ExpertiseRetired { .. }) => self.on_expertise(now, input),
            Input::Asked(request) => self.on_request(now, request),
            Input::HeldBack(held_back) => self.hold_all_back(held_back),
            Input::HandedOver { from, to } => self.emit(now, Event::RunHandedOver { from, to }),
            Input::TimerDue => self.on_timer(now),
        }
        self.conclude(now)
    }

    fn conclude(&mut self, now: Now) -> Decision {
        self.see_to_stacks(now);
        // Who starts may depend on how a race came out, and how it comes out on who cannot start any more. Where an event
        // was refused nothing changes any more, so a race would be seen to for ever.
        while self.illegal.is_none() && self.see_to_races(now) {}
        self.lift_escalation(now);
        self.see_to_batches(now);
        self.dispatch(now);
        while self.illegal.is_none() && self.see_to_races(now) {
            self.dispatch(now);
        }
        self.make_room(now);
        self.board_epics(now);
        self.see_to_batches(now);
        self.settle(now);
        let decision = std::mem::take(&mut self.out);
        match &self.illegal {
            None => decision,
            Some(_) => Decision { illegal: self.illegal.clone(), ..Decision::default() },
        }
    }

    /// Makes an event part of the run and of the decision.
    fn emit(&mut self, now: Now, event: Event) {
        self.emit_about(now, None, event);
    }

    /// After one that the run refuses none is emitted any more.
    fn emit_about(&mut self, now: Now, place: Option<usize>, event: Event) {
        if self.illegal.is_some() {
            return;
        }
        let record = Record { seq: self.run.seq() + 1, at: now.at, tick: now.tick, event };
        match self.run.apply_at(&record, place) {
            Ok(()) => self.out.records.push(record),
            Err(illegal) => self.illegal = Some(illegal),
        }
    }

    fn act(&mut self, action: Action) {
        self.out.actions.push(action);
    }

    /// Its place and what it is doing, if this very attempt is the one that runs; late and doubled reports give `None`.
    fn current(&self, task: &TaskId, attempt: Attempt) -> Option<(usize, &Running)> {
        let place = self.run.place(task)?;
        match &self.run.progress(place).state {
            TaskState::Running(running) if running.attempt == attempt && !running.ended => {
                Some((place, running))
            }
            _ => None,
        }
    }

    fn on_process_started(&mut self, now: Now, task: TaskId, attempt: Attempt, process: Process) {
        let Some((place, running)) = self.current(&task, attempt) else { return };
        if running.process.is_none() {
            self.arm_timeout(now, place);
            self.emit(now, Event::ProcessStarted { task, attempt, process });
        }
    }

    fn on_timer(&mut self, now: Now) {
        self.end_leases(now);
        while let Some(due) = self.timers.pop_due(now.tick) {
            match due {
                timers::Due::Providers => self.open_providers(now),
                timers::Due::RunNear => self.tell_time_of_run(now),
                timers::Due::TaskNear(node) => self.tell_time(now, node as usize),
                timers::Due::Run => {
                    self.drain(now, DrainReason::Budget);
                    self.stop_all(now, StopReason::Interrupted);
                }
                timers::Due::Task(node) => match self.run.progress(node as usize).state.status() {
                    Status::Running => self.stop(now, node as usize, StopReason::TimedOut),
                    Status::Waiting => self.on_waited(now, node),
                    _ => {}
                },
            }
        }
    }

    fn on_waited(&mut self, now: Now, node: Node) {
        match self.run.progress(node as usize).state {
            TaskState::Asking { .. } => self.on_no_answer(now, node as usize),
            _ => self.enqueue(now, node),
        }
    }

    fn running(&self) -> Vec<usize> {
        self.ready.holders().map(|node| node as usize).collect()
    }

    /// Ends the run where nothing is left, or leaves it where nothing more may start.
    fn settle(&mut self, now: Now) {
        if self.done
            || self.run.under_way() > self.parked() + self.put_off() + self.standing_by() + self.stacked()
        {
            return;
        }
        match self.run.stage() {
            _ if self.run.all_ended() => {
                let outcome = self.run.outcome();
                self.emit(now, Event::RunFinished { outcome });
            }
            _ if self.held_back => return,
            Stage::Draining(why) => self.emit(now, Event::RunStopped { why }),
            Stage::Active if self.only_questions_are_left() || self.only_reviews_are_left() => {
                self.emit(now, Event::RunStopped { why: DrainReason::Person });
            }
            _ => return,
        }
        self.done = true;
        self.act(Action::Finish);
    }

    fn interrupt_leftovers(
        &mut self,
        now: Now,
        attached: &BTreeMap<TaskId, Attached>,
        mut left: BTreeMap<TaskId, Change>,
    ) {
        for place in self.running() {
            let (task, progress) = self.run.task(place);
            if self.is_attached(place, attached) {
                continue;
            }
            if let TaskState::Running(Running { attempt, .. }) = progress.state {
                let task = task.id.clone();
                let change = left.remove(&task).map(Box::new);
                self.on_attempt_ended(now, &task, attempt, Outcome::Interrupted, (change, None));
            }
        }
    }

    /// Everything that is derived, from the run alone.
    fn rebuild(&mut self, now: Now) {
        self.ready = Ready::new(&self.run, &self.graph);
        self.batches = Batches::new(&self.run, &self.graph);
        let mut deadlines = self.timers.take_tasks();
        self.executors = Executors::default();
        self.open_providers(now);
        self.rebuild_blockers(now);
        for place in 0..self.graph.len() {
            let node = place as Node;
            match self.run.progress(place).state.clone() {
                TaskState::Running(running) if running.ended && self.epics.of(place).is_some() => {}
                TaskState::Running(running) if running.ended && self.is_standing_by(place) => {}
                TaskState::Running(_) if self.is_stacked(place) => {}
                TaskState::Running(running) if running.ended => {
                    self.ready.hold(node);
                    self.ready.release_all_but_files(node);
                }
                TaskState::Running(running) => {
                    self.assign_running(node);
                    self.ready.hold(node);
                    self.executors.claim(running.executor);
                    match deadlines.remove(&node) {
                        Some(at) => {
                            self.arm_until(
                                place,
                                at,
                                self.timeouts.get(place).copied().flatten().unwrap_or_default(),
                            );
                        }
                        None if running.stopping.is_none() => self.arm_timeout(now, place),
                        None => {}
                    }
                }
                TaskState::Waiting { delay, since } => {
                    let waited = (now.at - since).0.min(delay.0);
                    self.timers.arm(node, now.tick + Millis(delay.0 - waited));
                }
                TaskState::Asking { since, .. } => self.await_answer(now, place, since),
                TaskState::Pending if self.blockers.is_free(node) => self.enqueue(now, node),
                _ => {}
            }
        }
    }
}

fn timeouts(plan: &Plan) -> Vec<Option<Millis>> {
    match plan.tasks.iter().any(|task| task.timeout.is_some()) {
        true => plan.tasks.iter().map(|task| task.timeout).collect(),
        false => Vec::new(),
    }
}
