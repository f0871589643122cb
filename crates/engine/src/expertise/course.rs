//! What the log of a run says about items: who was given which, what came of it, what was learned.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use conductor_core::expertise::{ItemId, Lesson, Retirement, domain_of, words_of};
use conductor_core::plan::{Plan, Work};
use conductor_core::run::costs;
use conductor_core::run::event::{AgentChoice, Event, Outcome as Ended, Record, Usage};
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_core::values::units::{Millis, Timestamp};

use super::projecting::Outcome;

/// What an event means for the store.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    Learn { task: TaskId, attempt: Attempt, seq: u64, at: Timestamp, lessons: Vec<Lesson> },
    Settle { outcome: Box<Outcome>, given: Vec<ItemId>, withheld: Vec<ItemId> },
    Retire { item: ItemId, why: Retirement, at: Timestamp },
}

/// A task as far as the log tells.
#[derive(Debug, Default)]
struct Task {
    attempts: u32,
    mended: u32,
    sent_back: bool,
    usage: Usage,
    took: Millis,
    lines: Option<u64>,
    choice: Option<AgentChoice>,
    given: BTreeSet<ItemId>,
    withheld: BTreeSet<ItemId>,
    held_out: bool,
}

/// A fold over a log, from its first event on.
#[derive(Debug, Default)]
pub(super) struct Course {
    plan: Arc<Plan>,
    tasks: HashMap<TaskId, Task>,
}

impl Course {
    pub(super) fn apply(&mut self, record: &Record) -> Option<Effect> {
        match &record.event {
            Event::RunCreated { plan, .. } => self.plan = plan.clone(),
            Event::PlanAmended { amendment, .. } => Arc::make_mut(&mut self.plan).amend(amendment),
            Event::AttemptStarted { task, choice, .. } => {
                let known = self.tasks.entry(task.clone()).or_default();
                known.attempts += 1;
                known.choice = choice.as_deref().cloned().or(known.choice.take());
            }
            Event::UsageReported { task, usage, taken_back, .. } => {
                let known = self.tasks.entry(task.clone()).or_default();
                known.usage += *usage;
                known.usage = known.usage.less(*taken_back);
            }
            Event::AttemptEnded { task, outcome, elapsed, change, phases, .. } => {
                let known = self.tasks.entry(task.clone()).or_default();
                known.took += *elapsed;
                known.mended += phases.map_or(0, |phases| phases.mended);
                known.lines = change.as_ref().map(|change| change.touched.added + change.touched.removed);
                // What was cut short from outside is gone on with, and was no failure.
                known.attempts -= u32::from(matches!(outcome, Ended::Interrupted) && known.attempts > 0);
            }
            Event::MergeFailed { task, .. } => self.tasks.entry(task.clone()).or_default().sent_back = true,
            Event::RetryScheduled { task, .. } => {
                self.tasks.entry(task.clone()).or_default().sent_back = true
            }
            Event::ExpertiseUsed { task, given, withheld, held_out, .. } => {
                let known = self.tasks.entry(task.clone()).or_default();
                known.given.extend(given.iter().cloned());
                known.withheld.extend(withheld.iter().cloned());
                known.held_out |= held_out;
            }
            Event::ExpertiseLearned { task, attempt, lessons } => {
                return Some(Effect::Learn {
                    task: task.clone(),
                    attempt: *attempt,
                    seq: record.seq,
                    at: record.at,
                    lessons: lessons.clone(),
                });
            }
            Event::ExpertiseRetired { item, why } => {
                return Some(Effect::Retire { item: item.clone(), why: why.clone(), at: record.at });
            }
            Event::TaskCompleted { task, .. } => return self.settle(task, true, record.at),
            // What a provider did says nothing about the work.
            Event::TaskFailed { task, failure } if !failure.class.is_agents_own() => {
                return self.settle(task, false, record.at);
            }
            _ => {}
        }
        None
    }

    /// Nothing where no agent worked on it.
    fn settle(&mut self, id: &TaskId, landed: bool, at: Timestamp) -> Option<Effect> {
        let known = self.tasks.remove(id)?;
        let choice = known.choice?;
        let task = self.plan.task(id)?;
        let Work::Prompt(prompt) = &task.work else { return None };
        let words = words_of(&format!("{} {prompt}", task.name));
        let with = match (known.held_out, known.given.is_empty(), known.withheld.is_empty()) {
            (true, _, false) => Some(false),
            (false, false, _) => Some(true),
            _ => None,
        };
        let outcome = Outcome {
            task: id.clone(),
            at,
            with,
            held_out: known.held_out,
            landed,
            first_go: landed && known.attempts <= 1 && known.mended == 0 && !known.sent_back,
            cost: costs::dollars(known.usage),
            time: known.took.as_secs_f64(),
            domain: domain_of(task.files.iter().map(String::as_str), &words).to_owned(),
            agent: choice.agent,
            model: choice.model,
            estimate: task.estimate.map(Millis::as_secs_f64),
            lines: known.lines,
        };
        // One that was kept back in one attempt and given in another was given.
        let withheld = known.withheld.difference(&known.given).cloned().collect();
        Some(Effect::Settle {
            outcome: Box::new(outcome),
            given: known.given.into_iter().collect(),
            withheld,
        })
    }
}
