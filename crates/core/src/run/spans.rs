//! The course of a run: each attempt, by whom and when; and what each agent used.

use std::collections::BTreeMap;

use super::{Run, TaskState};
use crate::plan::Work;
use crate::plan::graph::Node;
use crate::run::event::{Event, Outcome, Phases, Record, Usage};
use crate::values::ids::Attempt;
use crate::values::units::Millis;

/// One attempt. Times count from the run's beginning, as far as a coordinator was awake.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub task: Node,
    pub attempt: Attempt,
    pub executor: u32,
    pub from: Millis,
    /// Nothing while it is under way.
    pub to: Option<Millis>,
    pub end: Option<End>,
    /// Nothing where they were not measured.
    pub phases: Option<Phases>,
    /// When its work was on the run's branch, or was not to be.
    pub merged: Option<Millis>,
    /// Whether the agent reported what it used.
    told: bool,
    /// Where the same task's attempt before this one is.
    before: Option<u32>,
}

/// How an attempt ended, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Succeeded,
    Failed,
    Interrupted,
    Cancelled,
    Asked,
}

impl End {
    pub const ALL: [End; 5] = [End::Succeeded, End::Failed, End::Interrupted, End::Cancelled, End::Asked];

    pub fn name(self) -> &'static str {
        match self {
            End::Succeeded => "succeeded",
            End::Failed => "failed",
            End::Interrupted => "interrupted",
            End::Cancelled => "cancelled",
            End::Asked => "stopped to ask",
        }
    }
}

/// What an agent used in all its attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentUse {
    /// Those that ended.
    pub attempts: u32,
    /// Those that ended without a word of what they used.
    pub untold: u32,
    pub usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Spans {
    all: Vec<Span>,
    /// Where each task's newest is, by the task's place.
    newest: Vec<Option<u32>>,
    agents: BTreeMap<Box<str>, AgentUse>,
}

impl Spans {
    fn newest_of(&self, place: usize) -> Option<u32> {
        self.newest.get(place).copied().flatten()
    }

    /// The next attempt is this task's; where its last one is.
    fn begin(&mut self, place: usize) -> Option<u32> {
        if self.newest.len() <= place {
            self.newest.resize(place + 1, None);
        }
        self.newest[place].replace(self.all.len() as u32)
    }
}

impl Run {
    /// Every attempt at one task, from the last to the first.
    pub fn spans_of(&self, place: usize) -> impl Iterator<Item = &Span> {
        let at = |number: Option<u32>| number.and_then(|number| self.spans.all.get(number as usize));
        std::iter::successors(at(self.spans.newest_of(place)), move |span| at(span.before))
    }

    /// Every attempt, in the order in which they began.
    pub fn spans(&self) -> &[Span] {
        &self.spans.all
    }

    /// What each agent used; commands have none.
    pub fn agents(&self) -> &BTreeMap<Box<str>, AgentUse> {
        &self.spans.agents
    }

    /// Looks at the task as it was before the event.
    pub(super) fn account_course(&mut self, place: usize, event: &Event, record: &Record) {
        let now = self.active_until(record.tick);
        match event {
            Event::AttemptStarted { attempt, executor, .. } => {
                let before = self.spans.begin(place);
                self.spans.all.push(Span {
                    task: place as Node,
                    attempt: *attempt,
                    executor: *executor,
                    from: now,
                    to: None,
                    end: None,
                    phases: None,
                    merged: None,
                    told: false,
                    before,
                });
            }
            Event::UsageReported { usage, taken_back, .. } => {
                self.newest(place, |span| span.told = true);
                if let Some(agent) = self.engaged(place) {
                    self.spans.agents.entry(agent).or_default().usage.report(*usage, *taken_back);
                }
            }
            Event::AttemptEnded { outcome, phases, .. } => {
                let mut told = true;
                self.newest(place, |span| {
                    (span.to, span.end, span.phases) = (Some(now), Some(end(outcome)), *phases);
                    told = span.told;
                });
                if let Some(agent) = self.engaged(place) {
                    let used = self.spans.agents.entry(agent).or_default();
                    used.attempts += 1;
                    used.untold += u32::from(!told);
                }
            }
            Event::TaskCompleted { .. } | Event::MergeFailed { .. } => {
                let landing = matches!(&self.tasks[place].state, TaskState::Running(running) if running.landing.is_some());
                if landing {
                    self.newest(place, |span| span.merged = Some(now));
                }
            }
            _ => {}
        }
    }

    fn newest(&mut self, place: usize, change: impl FnOnce(&mut Span)) {
        let newest = self.spans.newest_of(place);
        if let Some(span) = newest.and_then(|newest| self.spans.all.get_mut(newest as usize)) {
            change(span);
        }
    }

    /// Who does a prompt, by the plan where the log does not say it.
    fn engaged(&self, place: usize) -> Option<Box<str>> {
        let task = &self.plan.tasks[place];
        let by_plan = || matches!(task.work, Work::Prompt(_)).then(|| task.agent_name());
        self.agent_choice(place).map(|choice| choice.agent.as_str()).or_else(by_plan).map(Box::from)
    }
}

fn end(outcome: &Outcome) -> End {
    match outcome {
        Outcome::Succeeded => End::Succeeded,
        Outcome::Failed(_) => End::Failed,
        Outcome::Interrupted => End::Interrupted,
        Outcome::Cancelled => End::Cancelled,
        Outcome::Asked(_) => End::Asked,
    }
}
