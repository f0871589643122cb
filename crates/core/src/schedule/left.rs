//! What a person asks of a run that is not active: the same rules decide, and nothing starts.
//!
//! What was at work when the coordinator died still is, as far as the log goes. It is told to stop, and the next
//! coordinator ends it by that word: with its processes, its work and what it has used seen to.

use super::{Refusal, Request, Scheduler, objection};
use crate::plan::Amendment;
use crate::plan::graph::Graph;
use crate::run::event::{DrainReason, Event, StopReason};
use crate::run::{Run, Stage, Status, TaskState};
use crate::values::units::Now;

impl Scheduler {
    /// What is recorded when this is asked of a run that is not active.
    pub fn ask_left(run: &Run, request: Request, now: Now) -> Result<Vec<Event>, Refusal> {
        let known = matches!(
            request,
            Request::Cancel(_)
                | Request::CancelGroup(_)
                | Request::CancelAll
                | Request::Retry(_)
                | Request::RetryWith { .. }
                | Request::Skip(_)
                | Request::Review { .. }
                | Request::SetCaps(_)
                | Request::SetPriority { .. }
        );
        if !known {
            return Err(Refusal::NotPossible("the run is not active".to_owned()));
        }
        if request == Request::CancelAll && run.all_ended() {
            return Err(Refusal::Over);
        }
        let mut scheduler = Scheduler::of_left(run, now)?;
        scheduler.on_request(now, request);
        if let Some(refusal) = scheduler.out.refused.take() {
            return Err(refusal);
        }
        scheduler.see_to_stacks(now);
        while scheduler.see_to_races(now) {}
        scheduler.open_again(now);
        Ok(scheduler.told())
    }

    /// Sets back to pending what failed, was skipped or cancelled, and takes an edit of the plan over.
    pub fn retry_edited(run: &Run, amendment: Amendment, now: Now) -> Result<Vec<Event>, Refusal> {
        let mut scheduler = Scheduler::of_left(run, now)?;
        scheduler.reopen(now, |status| status.is_end() && status != Status::Completed);
        scheduler.open_again(now);
        scheduler.on_amend(now, amendment)?;
        Ok(scheduler.told())
    }

    /// Tasks join a run that is not active. One that was over is open again by that; what has ended stays ended.
    pub fn join_left(run: &Run, amendment: Amendment, now: Now) -> Result<Vec<Event>, Refusal> {
        let mut scheduler = Scheduler::of_left(run, now)?;
        if matches!(scheduler.run.stage(), Stage::Finished(_)) {
            scheduler.emit(now, Event::RunStopped { why: DrainReason::User });
        }
        scheduler.on_amend(now, amendment)?;
        Ok(scheduler.told())
    }

    fn of_left(run: &Run, now: Now) -> Result<Scheduler, Refusal> {
        let graph = Graph::with_places(run.plan(), run.options().strategy, run.places())
            .map_err(|error| Refusal::NotPossible(objection(run.plan(), &error)))?;
        let mut scheduler = Scheduler::over(run.clone(), graph);
        scheduler.rebuild(now);
        scheduler.board_leftovers(now);
        Ok(scheduler)
    }

    /// A run that has something to do again is not over any more.
    pub(super) fn open_again(&mut self, now: Now) {
        if matches!(self.run.stage(), Stage::Finished(_)) && !self.run.all_ended() {
            self.emit(now, Event::RunStopped { why: DrainReason::User });
        }
    }

    fn told(self) -> Vec<Event> {
        self.out.records.into_iter().map(|record| record.event).collect()
    }
}

/// Whether nothing of a run that is not active could begin any more: all has ended, or is to be ended for good.
pub fn is_called_off(run: &Run) -> bool {
    run.tasks().all(|(_, progress)| match &progress.state {
        TaskState::Running(running) => {
            matches!(running.stopping, Some(StopReason::Cancelled | StopReason::Outrun)) && !running.ended
        }
        // How a race comes out is seen by those who race.
        TaskState::Racing => true,
        state => state.status().is_end(),
    })
}
