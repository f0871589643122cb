//! Caps on cost, tokens, turns, attempts and time, of one task and of the whole run.

use std::collections::BTreeMap;

use super::{LeftUsage, Refusal, Scheduler};
use crate::plan::graph::Node;
use crate::plan::recovery::{Nature, Strategy};
use crate::plan::{OnBudget, Work};
use crate::run::costs;
use crate::run::event::{Capped, DrainReason, Event, Failure, FailureClass, StopReason, Usage};
use crate::run::{Stage, TaskState};
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::{Millis, Now, Tick, Usd};

impl Scheduler {
    pub(super) fn on_usage(
        &mut self,
        now: Now,
        task: TaskId,
        attempt: Attempt,
        (usage, taken_back): (Usage, Usage),
        model: Option<Box<str>>,
    ) {
        let Some((place, _)) = self.current(&task, attempt) else { return };
        let doubted = self
            .run
            .agent_choice(place)
            .map(|choice| &choice.agent)
            .filter(|agent| self.run.parked().contains_key(*agent));
        let doubted = doubted.cloned();
        self.emit(now, Event::UsageReported { task, attempt, usage, model, taken_back });
        doubted.inspect(|agent| self.heard_of(agent));
        self.tell_what_is_near(now, place);
        for place in self.run.rivals(place) {
            if self.task_is_over_budget(place) {
                self.stop(now, place, StopReason::Budget);
            }
        }
        self.leave_if_spent(now);
    }

    fn leave_if_spent(&mut self, now: Now) {
        if self.run_is_over_budget() {
            self.drain(now, DrainReason::Budget);
            if self.run.options().limits.on_budget == OnBudget::Stop {
                self.stop_paid_attempts(now);
            }
        }
    }

    /// A run that was being left for a cap goes on where none is reached any more; one that has used more than it may
    /// from now on is left.
    pub(super) fn on_caps(&mut self, now: Now, caps: BTreeMap<Capped, u64>) -> Result<(), Refusal> {
        if self.done || matches!(self.run.stage(), Stage::Finished(_)) {
            return Err(Refusal::Over);
        }
        if caps.contains_key(&Capped::Turns) {
            return Err(Refusal::NotPossible("a run has no cap on turns; a task has one".to_owned()));
        }
        if caps.values().any(|cap| *cap == 0) {
            return Err(Refusal::NotPossible("a cap is more than 0".to_owned()));
        }
        for (what, cap) in caps {
            if self.run.options().cap(what) != Some(cap) {
                self.emit(now, Event::CapChanged { what, cap });
            }
        }
        self.arm_run_deadline(now);
        match self.run.stage() {
            Stage::Draining(DrainReason::Budget)
                if !self.run_is_over_budget() && !self.is_out_of_time(now) =>
            {
                self.emit(now, Event::DrainLifted {});
            }
            _ => self.leave_if_spent(now),
        }
        Ok(())
    }

    fn is_out_of_time(&self, now: Now) -> bool {
        let limit = self.run.options().limits.max_time;
        limit.is_some_and(|limit| self.run.active_until(now.tick) >= limit)
    }

    /// Whether what this task uses can reach a cap: then it counts as soon as it is known.
    pub fn is_capped(&self, task: &TaskId) -> bool {
        let limits = &self.run.options().limits;
        let of_task = |place: usize| {
            let task = &self.run.plan().tasks[place];
            task.max_cost.is_some() || task.max_tokens.is_some() || task.max_turns.is_some()
        };
        limits.max_cost.is_some() || limits.max_tokens.is_some() || self.run.place(task).is_some_and(of_task)
    }

    /// What attempts of a dead coordinator have used counts before anything starts. They are dead: there is none to stop,
    /// and whether their tasks or the run may go on is asked when they would start again.
    pub(super) fn count_leftovers(&mut self, now: Now, used: Vec<LeftUsage>) {
        for LeftUsage { task, attempt, usage, model } in used {
            let Some((place, _)) = self.current(&task, attempt) else { continue };
            let taken_back = Usage::default();
            self.emit(now, Event::UsageReported { task, attempt, usage, model, taken_back });
            self.tell_what_is_near(now, place);
        }
    }

    /// Once for each cap, however often the run is taken up.
    fn tell_what_is_near(&mut self, now: Now, place: usize) {
        let (task, progress) = self.run.task(place);
        let limits = &self.run.options().limits;
        let (race, turns) = (self.run.raced_by(place).unwrap_or(place), progress.usage);
        let caps = [
            (Some(race), self.counted(place), task.max_cost, task.max_tokens, None),
            (Some(place), turns, None, None, task.max_turns),
            (None, self.run.spent(), limits.max_cost, limits.max_tokens, None),
        ];
        let mut near = Vec::new();
        for (place, usage, cost, tokens, turns) in caps {
            let each = [
                (Capped::Cost, usage.cost.0, cost.map(|cap| cap.0)),
                (Capped::Tokens, usage.tokens, tokens),
                (Capped::Turns, u64::from(usage.turns), turns.map(u64::from)),
            ];
            for (what, used, cap) in each {
                if let Some(cap) =
                    cap.filter(|cap| is_near(used, *cap) && !self.run.is_neared(place, what, *cap))
                {
                    let task = place.map(|place| self.graph.id(place as Node).clone());
                    near.push(Event::BudgetNeared { task, what, used, cap });
                }
            }
        }
        for event in near {
            self.emit(now, event);
        }
    }

    /// A task that has reached its cap is not begun again, by any of its agents.
    pub(super) fn give_up(&mut self, now: Now, place: usize) {
        let cap = self.cap_words(place);
        let message = format!("had reached {cap} before");
        self.ready.release(place as Node);
        self.decide(now, place, Nature::Permanent, Strategy::Fail, &format!("it reached {cap}"));
        self.fail(now, place, Failure::new(FailureClass::Budget, message));
    }

    /// Commands cost no money and may end in peace.
    fn stop_paid_attempts(&mut self, now: Now) {
        for place in self.running() {
            if matches!(self.run.plan().tasks[place].work, Work::Prompt(_)) {
                self.stop(now, place, StopReason::Interrupted);
            }
        }
    }

    pub(super) fn arm_run_deadline(&mut self, now: Now) {
        let limit = self.run.options().limits.max_time;
        let when = |length: Millis| now.tick + (Tick(length.0) - Tick(self.run.active_until(now.tick).0));
        let told = |limit: &Millis| self.run.is_neared(None, Capped::Time, limit.0);
        let near = limit.filter(|limit| !told(limit)).map(|limit| when(most_of(limit)));
        self.timers.arm_run(near, limit.map(when));
    }

    pub(super) fn tell_time_of_run(&mut self, now: Now) {
        let Some(cap) = self.run.options().limits.max_time else { return };
        let (what, used) = (Capped::Time, self.run.active_until(now.tick).0);
        self.emit(now, Event::BudgetNeared { task: None, what, used, cap: cap.0 });
    }

    pub(super) fn arm_timeout(&mut self, now: Now, place: usize) {
        let is_accepted = self.accepted.contains(&(place as Node));
        if let Some(timeout) = self.timeouts.get(place).copied().flatten().filter(|_| !is_accepted) {
            let worked = match &self.run.progress(place).state {
                TaskState::Running(running) => running.worked,
                _ => Millis(0),
            };
            self.arm_until(place, now.tick + Millis(timeout.0.saturating_sub(worked.0)), timeout);
        }
    }

    /// A deadline of a task's attempt that began `timeout` before it.
    pub(super) fn arm_until(&mut self, place: usize, at: Tick, timeout: Millis) {
        let left = Millis(timeout.0 - most_of(timeout).0);
        let near = Tick(at.0.saturating_sub(left.0));
        match self.run.is_neared(Some(place), Capped::Time, timeout.0) {
            true => self.timers.arm(place as Node, at),
            false => self.timers.arm_warned(place as Node, near, at),
        }
    }

    pub(super) fn tell_time(&mut self, now: Now, place: usize) {
        let (task, progress) = self.run.task(place);
        let (Some(cap), TaskState::Running(running)) = (task.timeout, &progress.state) else { return };
        let Some(at) = self.timers.of(place as Node).filter(|_| !running.ended) else { return };
        let used = cap.0.saturating_sub((at - now.tick).0);
        let (task, what) = (Some(task.id.clone()), Capped::Time);
        self.emit(now, Event::BudgetNeared { task, what, used, cap: cap.0 });
    }

    pub(super) fn tell_attempts(&mut self, now: Now) {
        let Some(cap) = self.run.options().limits.max_attempts.map(u64::from) else { return };
        let used = u64::from(self.run.attempts());
        if is_near(used, cap) && !self.run.is_neared(None, Capped::Attempts, cap) {
            self.emit(now, Event::BudgetNeared { task: None, what: Capped::Attempts, used, cap });
        }
    }

    /// What counts towards a task's caps on money and tokens: of those who race for one, what all of them have used.
    pub(super) fn counted(&self, place: usize) -> Usage {
        self.run.usage(self.run.raced_by(place).unwrap_or(place))
    }

    pub(super) fn task_is_over_budget(&self, place: usize) -> bool {
        self.cap_reached(place).is_some()
    }

    /// The cap that stopped it. By now it may be known that it used less than was feared.
    pub(super) fn cap_words(&self, place: usize) -> String {
        let (task, _) = self.run.task(place);
        let money = |cost: Usd| costs::words(Usage { cost, ..Usage::default() });
        let caps = [
            task.max_subagent_cost().map(|cap| format!("max_subagent_cost {}", money(cap))),
            task.max_cost.map(|cap| format!("max_cost {}", money(cap))),
            task.max_tokens.map(|cap| format!("max_tokens {cap}")),
        ];
        let feared = || {
            let caps: Vec<String> = caps.into_iter().flatten().collect();
            format!("{}, by an estimate from above", caps.join(" or "))
        };
        self.cap_reached(place).unwrap_or_else(feared)
    }

    /// The cap of its own that a task has reached, and how far it came.
    fn cap_reached(&self, place: usize) -> Option<String> {
        let (task, progress) = self.run.task(place);
        let counted = self.counted(place);
        let money = |cost: Usd| costs::words(Usage { cost, ..Usage::default() });
        if let Some(cap) = task.max_cost.filter(|cap| counted.cost >= *cap) {
            return Some(format!("max_cost {}, after {}", money(cap), money(counted.cost)));
        }
        if let Some(cap) = task.max_tokens.filter(|cap| counted.tokens >= *cap) {
            return Some(format!("max_tokens {cap}, after {}", counted.tokens));
        }
        let subagents = task.max_subagent_cost().filter(|_| task.may_delegate());
        if let Some(cap) = subagents.filter(|cap| counted.delegated >= *cap) {
            return Some(format!("max_subagent_cost {}, after {}", money(cap), money(counted.delegated)));
        }
        // The last turn it may take is to come to its end; some count it when it begins.
        let turns = task.max_turns.filter(|cap| progress.usage.turns > *cap);
        turns.map(|cap| format!("max_turns {cap}"))
    }

    pub(super) fn run_is_over_budget(&self) -> bool {
        let limits = &self.run.options().limits;
        let spent = self.run.spent();
        let attempts = self.run.attempts() + self.ready.working() as u32;
        limits.max_cost.is_some_and(|cap| spent.cost >= cap)
            || limits.max_tokens.is_some_and(|cap| spent.tokens >= cap)
            || limits.max_attempts.is_some_and(|cap| attempts >= cap)
    }
}

fn most_of(limit: Millis) -> Millis {
    Millis(limit.0 - limit.0 / 5)
}

/// Four fifths of it.
fn is_near(used: u64, cap: u64) -> bool {
    u128::from(used) * 5 >= u128::from(cap) * 4
}
