//! What a person can ask of a live run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Scheduler;
use crate::plan::{Amendment, Priority, Task, Work};
use crate::run::event::{Answer, Capped, DrainReason, Event, ReviewVerdict, StopReason};
use crate::run::{Stage, Status, TaskState};
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::Now;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    Pause,
    Continue,
    SetSlots(u32),
    /// What the run may use from now on; caps that are not named stay. In the units of `Event::BudgetNeared`.
    SetCaps(BTreeMap<Capped, u64>),
    SetPriority {
        task: TaskId,
        priority: Priority,
    },
    Cancel(TaskId),
    /// Every task of a group that has not ended.
    CancelGroup(String),
    CancelAll,
    Retry(TaskId),
    /// Done again by another agent, and with that one's usual model where none is named.
    RetryWith {
        task: TaskId,
        agent: String,
        model: Option<String>,
    },
    Skip(TaskId),
    /// What its agent asked to do.
    Answer {
        task: TaskId,
        answer: Answer,
    },
    /// A verdict on work that waits for a review.
    Review {
        task: TaskId,
        verdict: ReviewVerdict,
    },
    /// A message to the agent that works on it, now or later.
    Tell {
        task: TaskId,
        words: String,
    },
    /// Tasks that are to join, or that are updated.
    Amend(Box<Amendment>),
    /// Tasks that the agent at work on another one proposes.
    Propose {
        by: TaskId,
        attempt: Attempt,
        tasks: Vec<Task>,
    },
    /// Start nothing new; leave when what runs has ended.
    Drain,
    /// Drain, and end what runs; it is taken up again on resume.
    Stop,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("there is no task '{0}' in this run")]
    UnknownTask(TaskId),
    #[error("task '{task}' is {status}; {wants}")]
    WrongStatus { task: TaskId, status: Status, wants: &'static str },
    #[error("there is no group '{0}' in this run")]
    UnknownGroup(String),
    #[error("group '{0}' has no task that has not ended")]
    GroupEnded(String),
    #[error("a run needs at least one slot")]
    NoSlots,
    #[error("task '{0}' has begun and stays as it is")]
    Begun(TaskId),
    #[error("{0}")]
    NotPossible(String),
    #[error("the run is over")]
    Over,
}

impl Scheduler {
    pub(super) fn on_request(&mut self, now: Now, request: Request) {
        let done = match request {
            Request::Pause => self.on_pause(now),
            Request::Continue => self.on_continue(now),
            Request::SetSlots(slots) => self.on_slots(now, slots),
            Request::SetCaps(caps) => self.on_caps(now, caps),
            Request::SetPriority { task, priority } => self.on_priority(now, task, priority),
            Request::Cancel(task) => self.on_cancel(now, &task),
            Request::CancelGroup(group) => self.on_cancel_group(now, group),
            Request::CancelAll => self.on_cancel_all(now),
            Request::Retry(task) => self.on_retry(now, &task),
            Request::RetryWith { task, agent, model } => {
                self.on_retry_with(now, &task, &agent, model.as_deref())
            }
            Request::Skip(task) => self.on_skip(now, &task),
            Request::Answer { task, answer } => self.on_answer(now, &task, answer),
            Request::Review { task, verdict } => self.on_review(now, &task, verdict),
            Request::Tell { task, words } => self.on_words(now, &task, words),
            Request::Amend(amendment) => self.on_amend(now, *amendment),
            Request::Propose { by, attempt, tasks } => self.on_proposal(now, &by, attempt, tasks),
            Request::Drain => {
                self.drain(now, DrainReason::User);
                Ok(())
            }
            Request::Stop => {
                self.drain(now, DrainReason::User);
                self.stop_all(now, StopReason::Interrupted);
                Ok(())
            }
        };
        self.out.refused = done.err();
    }

    fn on_pause(&mut self, now: Now) -> Result<(), Refusal> {
        let is_wanted = self.run.is_paused() && !self.run.is_escalated();
        if !is_wanted && self.run.stage() == Stage::Active {
            self.emit(now, Event::RunPaused { by: None });
        }
        Ok(())
    }

    fn on_continue(&mut self, now: Now) -> Result<(), Refusal> {
        if self.run.is_paused() {
            self.emit(now, Event::RunContinued {});
        }
        Ok(())
    }

    fn on_slots(&mut self, now: Now, slots: u32) -> Result<(), Refusal> {
        if slots == 0 {
            return Err(Refusal::NoSlots);
        }
        if slots != self.run.options().slots {
            self.emit(now, Event::ParallelChanged { slots });
        }
        Ok(())
    }

    /// Those that could start stand in another order from now on; what is at work goes on.
    fn on_priority(&mut self, now: Now, task: TaskId, priority: Priority) -> Result<(), Refusal> {
        let place = self.known(&task)?;
        if usize::from(priority.0) >= Priority::NAMES.len() {
            return Err(Refusal::NotPossible("a priority is 0 (critical) to 4 (backlog)".to_owned()));
        }
        if let Some(race) = self.run.raced_by(place) {
            let race = self.graph.id(race as u32);
            let why = format!("task '{task}' races for '{race}' and is as urgent as that; name '{race}'");
            return Err(Refusal::NotPossible(why));
        }
        let status = self.run.progress(place).state.status();
        if status.is_end() {
            return Err(wrong(&task, status, "only a task that has not ended has a priority to change"));
        }
        if priority != self.run.priority(place) {
            self.emit(now, Event::PriorityChanged { task, priority });
            self.rebuild(now);
        }
        Ok(())
    }

    fn on_cancel(&mut self, now: Now, task: &TaskId) -> Result<(), Refusal> {
        let place = self.known(task)?;
        match self.run.progress(place).state.status() {
            status if self.run.is_raced(place) && !status.is_end() => {
                self.call_off(now, place, Event::TaskCancelled { task: task.clone() });
            }
            Status::Waiting if self.is_in_review(place) => self.drop_work(now, place),
            Status::Running if self.is_stacked(place) => self.drop_work(now, place),
            Status::Running if self.is_standing_by(place) => {
                self.dismiss(now, place, StopReason::Cancelled);
            }
            Status::Running if self.is_merging(place) => {
                return Err(wrong(
                    task,
                    Status::Running,
                    "its work is being merged, which is not stopped half-way",
                ));
            }
            Status::Running => self.stop(now, place, StopReason::Cancelled),
            Status::Pending | Status::Waiting => {
                self.forget(place);
                self.end(now, place, Event::TaskCancelled { task: task.clone() });
            }
            status => return Err(wrong(task, status, "only a task that has not ended can be cancelled")),
        }
        Ok(())
    }

    fn on_cancel_group(&mut self, now: Now, group: String) -> Result<(), Refusal> {
        let group = self.run.plan().group_meant(&group).to_owned();
        let members = |task: &crate::plan::Task| task.group.as_ref() == Some(&group);
        let places: Vec<usize> =
            (0..self.graph.len()).filter(|&at| members(&self.run.plan().tasks[at])).collect();
        if places.is_empty() && !self.run.plan().groups.iter().any(|known| known.name == group) {
            return Err(Refusal::UnknownGroup(group));
        }
        let open = |place: &usize| !self.run.progress(*place).state.status().is_end();
        let open: Vec<usize> = places.into_iter().filter(open).collect();
        if open.is_empty() {
            return Err(Refusal::GroupEnded(group));
        }
        for place in open {
            let task = self.graph.id(place as u32).clone();
            // One may have been skipped with the one before it.
            let _ = self.on_cancel(now, &task);
        }
        Ok(())
    }

    fn on_cancel_all(&mut self, now: Now) -> Result<(), Refusal> {
        self.stop_all(now, StopReason::Cancelled);
        for place in 0..self.graph.len() {
            let is_done = self.is_in_review(place) || self.is_stacked(place);
            if is_done && self.run.raced_by(place).is_none() {
                self.drop_work(now, place);
            }
        }
        let open = |race: &usize| !self.run.progress(*race).state.status().is_end();
        for race in self.run.races().filter(open).collect::<Vec<_>>() {
            let task = self.graph.id(race as u32).clone();
            self.call_off(now, race, Event::TaskCancelled { task });
        }
        for place in 0..self.graph.len() {
            if matches!(self.run.progress(place).state.status(), Status::Pending | Status::Waiting) {
                self.forget(place);
                let task = self.run.plan().tasks[place].id.clone();
                self.emit(now, Event::TaskCancelled { task });
            }
        }
        Ok(())
    }

    fn on_skip(&mut self, now: Now, task: &TaskId) -> Result<(), Refusal> {
        let place = self.known(task)?;
        match self.run.progress(place).state.status() {
            Status::Pending if self.run.is_raced(place) => {
                self.call_off(now, place, Event::TaskSkipped { task: task.clone(), culprit: None });
                Ok(())
            }
            Status::Waiting if self.is_in_review(place) => {
                Err(wrong(task, Status::Waiting, "its work waits for your review: conductor review drop"))
            }
            Status::Pending | Status::Waiting => {
                self.forget(place);
                self.end(now, place, Event::TaskSkipped { task: task.clone(), culprit: None });
                Ok(())
            }
            status => Err(wrong(task, status, "only a task that has not started can be skipped")),
        }
    }

    fn on_retry(&mut self, now: Now, task: &TaskId) -> Result<(), Refusal> {
        let place = self.known(task)?;
        if let Some(race) = self.run.raced_by(place).filter(|_| self.is_outrun(place)) {
            let race = self.graph.id(race as u32);
            let why = format!("the race for task '{race}' is over; retry '{race}' where it ended badly");
            return Err(Refusal::NotPossible(why));
        }
        if let Some(culprit) = self.still_blocking(place) {
            let status = self.run.progress(culprit).state.status();
            let culprit = self.graph.id(culprit as u32);
            let why = format!(
                "task '{task}' needs '{culprit}', which is {status}; retry '{culprit}', and '{task}' is done after it"
            );
            return Err(Refusal::NotPossible(why));
        }
        if self.is_withheld(place)
            && let Some(culprit) = self.culprit_of_epic(place)
        {
            let why = format!("task '{task}' is held back by '{culprit}'; retry '{culprit}', and both land");
            return Err(Refusal::NotPossible(why));
        }
        match self.run.progress(place).state.status() {
            Status::Waiting if matches!(self.run.progress(place).state, TaskState::Asking { .. }) => {
                return Err(wrong(
                    task,
                    Status::Waiting,
                    "it has asked a person, and goes on when it is answered",
                ));
            }
            Status::Waiting if self.is_in_review(place) => {
                return Err(wrong(task, Status::Waiting, "its work waits for your review: conductor review"));
            }
            Status::Waiting => {
                self.timers.disarm(place as u32);
                self.enqueue(now, place as u32);
            }
            Status::Failed | Status::Skipped | Status::Cancelled => {
                let withheld = self.withheld_with(place);
                let together = std::iter::once(place).chain(withheld.iter().copied());
                let behind: Vec<u32> =
                    together.flat_map(|place| self.graph.all_dependents(place as u32)).collect();
                self.emit(now, Event::TaskReopened { task: task.clone() });
                self.reopen_some(now, withheld.into_iter(), Status::is_end);
                let entrants = self.run.entrants(place).to_vec();
                self.reopen_some(now, entrants.into_iter(), Status::is_end);
                self.reopen_some(now, behind.into_iter().map(|node| node as usize), |status| {
                    status == Status::Skipped
                });
                self.rebuild(now);
            }
            status => return Err(wrong(task, status, "only a task that has ended badly can be retried")),
        }
        Ok(())
    }

    /// A retry of the same task, put another way before it can start.
    fn on_retry_with(
        &mut self,
        now: Now,
        task: &TaskId,
        agent: &str,
        model: Option<&str>,
    ) -> Result<(), Refusal> {
        let place = self.known(task)?;
        let known = &self.run.plan().tasks[place];
        if matches!(known.work, Work::Run(_)) {
            let why = format!("task '{task}' is a command, which no agent carries out");
            return Err(Refusal::NotPossible(why));
        }
        if self.run.is_raced(place) || self.run.raced_by(place).is_some() {
            let why = format!("who races for task '{task}' stays as it is as long as the run goes on");
            return Err(Refusal::NotPossible(why));
        }
        let (tasks, status) = (vec![known.given_to(agent, model)], self.run.progress(place).state.status());
        if !matches!(status, Status::Failed | Status::Skipped | Status::Cancelled) {
            return Err(wrong(task, status, "only a task that has ended badly is given to another agent"));
        }
        self.on_retry(now, task)?;
        self.open_again(now);
        self.amend_with(now, Amendment { tasks, ..Amendment::default() }, |_| {})
    }

    /// Another task of its epic that has not come to a good end, by its own doing.
    fn culprit_of_epic(&self, place: usize) -> Option<TaskId> {
        let is_bad = |member: &&usize| {
            let status = self.run.progress(**member).state.status();
            matches!(status, Status::Failed | Status::Cancelled) && !self.is_withheld(**member)
        };
        let culprit = self.epics.members_with(place).iter().find(is_bad)?;
        Some(self.graph.id(*culprit as u32).clone())
    }

    /// The task for which this one was skipped, where that one would have it skipped again.
    fn still_blocking(&self, place: usize) -> Option<usize> {
        let TaskState::Skipped { culprit: Some(culprit) } = &self.run.progress(place).state else {
            return None;
        };
        let culprit = self.run.place(culprit)?;
        let status = self.run.progress(culprit).state.status();
        let is_bad = matches!(status, Status::Failed | Status::Skipped | Status::Cancelled);
        (is_bad && self.graph.all_dependents(culprit as u32).contains(&(place as u32))).then_some(culprit)
    }

    /// Sets every task of these statuses back to pending; those who race for a task only with it. The derived state is stale until `rebuild`.
    pub(super) fn reopen(&mut self, now: Now, which: impl Fn(Status) -> bool) {
        self.reopen_some(now, 0..self.graph.len(), which);
    }

    fn reopen_some(&mut self, now: Now, places: impl Iterator<Item = usize>, which: impl Fn(Status) -> bool) {
        for place in places {
            if which(self.run.progress(place).state.status()) && !self.is_outrun(place) {
                let task = self.run.plan().tasks[place].id.clone();
                self.emit(now, Event::TaskReopened { task });
            }
        }
    }

    /// Whether its attempt is over and good, and only its landing is outstanding.
    fn is_merging(&self, place: usize) -> bool {
        matches!(&self.run.progress(place).state, TaskState::Running(running) if running.ended)
    }

    pub(super) fn known(&self, task: &TaskId) -> Result<usize, Refusal> {
        self.run.place(task).ok_or_else(|| Refusal::UnknownTask(task.clone()))
    }

    /// It will not start any more: out of the ready ones and the timers.
    pub(super) fn forget(&mut self, place: usize) {
        self.ready.remove(place as u32);
        self.timers.disarm(place as u32);
    }
}

pub(super) fn wrong(task: &TaskId, status: Status, wants: &'static str) -> Refusal {
    Refusal::WrongStatus { task: task.clone(), status, wants }
}
