//! Which slices of the run's budget the shims of this run hold, and what they are told when that is to be another.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use conductor_core::plan::{Limits, OnBudget, Task, Work};
use conductor_core::run::{Run, TaskState};
use conductor_core::schedule::slices::{Slice, slices, used_in_attempt};
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_core::values::units::Tick;

use crate::process::shim::Notes;

/// A moment is the same as another that is as near to it as this: turns are not told of as they come.
const LITTLE: Duration = Duration::from_millis(500);

#[derive(Default)]
pub(crate) struct Slices {
    entries: Mutex<Vec<Entry>>,
    /// A cap of the run holds.
    has_caps: AtomicBool,
}

struct Entry {
    task: TaskId,
    attempt: Attempt,
    notes: Notes,
    confirmed: Slice,
    /// Told and not confirmed yet; its number.
    on_the_way: Option<(u64, Slice)>,
    told: u64,
    /// It could go on alone by now, and that is in the log.
    can_go_on: bool,
    /// When the run's time is up, as it was told.
    ends: Option<Option<Instant>>,
}

impl Entry {
    /// The most it may use by all that it was told.
    fn most(&self) -> Slice {
        self.on_the_way.map_or(self.confirmed, |(_, slice)| self.confirmed.or(&slice))
    }

    fn hear(&mut self) {
        if let Some((_, slice)) = self.on_the_way.take_if(|(number, _)| *number <= self.notes.confirmed()) {
            self.confirmed = slice;
        }
    }

    /// Once: from here on a kill of ours is no end of its work.
    fn note_that_it_can_go_on(&mut self, run: &Run) {
        let place = run.place(&self.task).filter(|_| !self.can_go_on);
        if place.is_some_and(|place| !self.confirmed.is_used_up(&used_in_attempt(run, place))) {
            self.can_go_on = true;
            tracing::info!(task = %self.task, "its shim holds a slice of what is left");
        }
    }

    /// Where that is another moment than it knows.
    fn tell_end(&mut self, now: Instant, ends: Option<Instant>) {
        let is_known = match (self.ends, ends) {
            (Some(Some(told)), Some(ends)) => told.max(ends) - told.min(ends) <= LITTLE,
            (told, ends) => told == Some(ends),
        };
        if !is_known {
            self.ends = Some(ends);
            self.notes.until(ends.map(|ends| ends.saturating_duration_since(now)));
        }
    }

    fn tell(&mut self, slice: Slice) {
        if self.on_the_way.is_none() {
            self.told += 1;
            self.on_the_way = Some((self.told, slice));
            self.notes.grant(self.told, &slice);
        }
    }
}

impl Slices {
    /// What an agent starts with: nothing, where anything is capped, until it is known how much it may be.
    pub(super) fn first(&self, task: &Task) -> Slice {
        if let Work::Run(_) = task.work {
            return Slice::WITHOUT_END;
        }
        let of_task = task.max_cost.is_some()
            || task.max_tokens.is_some()
            || task.max_turns.is_some()
            || task.max_subagent_cost().is_some();
        match of_task || self.has_caps.load(Ordering::Relaxed) {
            true => Slice::NOTHING,
            false => Slice::WITHOUT_END,
        }
    }

    /// An agent is at work whose shim holds this slice.
    pub(super) fn enter(&self, task: &TaskId, attempt: Attempt, notes: Notes, holds: Slice) {
        self.leave(task, attempt);
        let (task, told) = (task.clone(), notes.confirmed());
        let (confirmed, on_the_way, can_go_on, ends) = (holds, None, false, None);
        self.all().push(Entry { task, attempt, notes, confirmed, on_the_way, told, can_go_on, ends });
    }

    pub(super) fn leave(&self, task: &TaskId, attempt: Attempt) {
        self.all().retain(|entry| entry.task != *task || entry.attempt != attempt);
    }

    /// Before anything starts, and whenever a cap may be another.
    pub(crate) fn look_at(&self, limits: &Limits) {
        let has_caps = limits.max_cost.is_some() || limits.max_tokens.is_some();
        self.has_caps.store(has_caps && limits.on_budget == OnBudget::Stop, Ordering::Relaxed);
    }

    /// After every turn of the run: who holds more or less than its share by now is told so, and until when the run has time.
    pub(crate) fn settle(&self, run: &Run, tick: Tick) {
        self.look_at(&run.options().limits);
        let mut all = self.all();
        all.retain(|entry| is_at_work(run, entry));
        if all.is_empty() {
            return;
        }
        for entry in all.iter_mut() {
            entry.hear();
            entry.note_that_it_can_go_on(run);
        }
        let (now, left) = (Instant::now(), time_left(run, tick));
        let ends = left.and_then(|left| now.checked_add(left));
        all.iter_mut().for_each(|entry| entry.tell_end(now, ends));
        let place = |entry: &Entry| run.place(&entry.task).unwrap_or_default();
        // A command uses nothing that a cap is about.
        let mut agents: Vec<&mut Entry> =
            all.iter_mut().filter(|entry| is_agent(run, place(entry))).collect();
        let held: Vec<(usize, Slice)> = agents.iter().map(|entry| (place(entry), entry.most())).collect();
        for (entry, slice) in agents.iter_mut().zip(slices(run, &held)) {
            slice.into_iter().for_each(|slice| entry.tell(slice));
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn time_left(run: &Run, tick: Tick) -> Option<Duration> {
    let cap = run.options().limits.max_time?;
    Some(Duration::from_millis(cap.0.saturating_sub(run.active_until(tick).0)))
}

fn is_agent(run: &Run, place: usize) -> bool {
    matches!(run.plan().tasks[place].work, Work::Prompt(_))
}

fn is_at_work(run: &Run, entry: &Entry) -> bool {
    let state = run.place(&entry.task).map(|place| &run.progress(place).state);
    matches!(state, Some(TaskState::Running(running)) if running.attempt == entry.attempt && !running.ended)
}
