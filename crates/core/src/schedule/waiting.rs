//! Why a task is not at work, for status queries. Changes nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Scheduler;
use super::pools::{Door, Kind};
use super::ready::Lack;
use crate::plan::graph::Node;
use crate::run::costs;
use crate::run::event::{DrainReason, Usage};
use crate::run::{Stage, Status, TaskState};
use crate::values::counted::counted;
use crate::values::ids::TaskId;
use crate::values::units::{Millis, Now, Timestamp, Usd};

/// How many others are named in a reason.
const NAMED: usize = 8;

/// What keeps a task from being at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "on")]
pub enum Wait {
    /// Tasks before it that have not ended.
    Dependencies {
        open: Vec<(TaskId, String)>,
        more: usize,
    },
    /// All slots are taken.
    Slot {
        slots: u32,
        ahead: usize,
    },
    Group(Held),
    /// The one workspace of its epic.
    Epic(Held),
    Agent(Held),
    Resource(Held),
    /// Files it would touch.
    Files {
        holders: Vec<TaskId>,
    },
    /// The time of its next try.
    Retry {
        left: Millis,
        tried: u32,
    },
    Pause,
    /// The answer to what became of another.
    Escalation {
        task: TaskId,
    },
    /// Those who race for it.
    Race {
        entrants: Vec<(TaskId, String)>,
    },
    /// Another entrant of its race is about to land.
    Rival {
        task: TaskId,
    },
    /// Its agent's provider takes nothing more.
    Provider {
        agent: String,
        left: Millis,
    },
    /// Its agent's provider may be open again; another task finds out.
    ProviderTried {
        agent: String,
        by: Vec<TaskId>,
    },
    /// A person's answer; denied when the time is over, where there is one.
    Person {
        question: String,
        left: Option<Millis>,
    },
    /// A person's review of its work.
    Review {
        commit: String,
    },
    /// The run's own cap.
    Budget {
        words: String,
    },
    /// The run is being left.
    Leaving {
        why: String,
    },
}

/// Something there is only so much of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub name: String,
    pub wants: u64,
    pub free: u64,
    pub limit: u64,
    pub holders: Vec<TaskId>,
    /// Who stands before it in line, where there would be enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<TaskId>,
}

impl Scheduler {
    /// Everything that keeps a task from being at work, what decides first; nothing where it is, has ended, or is about
    /// to begin.
    pub fn why_waiting(&self, place: usize, now: Now) -> Vec<Wait> {
        let node = place as Node;
        let left = || self.timers.of(node).map(|at| at - now.tick);
        match &self.run.progress(place).state {
            TaskState::Asking { question, .. } => {
                vec![Wait::Person { question: question.to_string(), left: left() }]
            }
            state @ TaskState::InReview { .. } => review(state).into_iter().collect(),
            TaskState::Pending | TaskState::Waiting { .. } if self.ready.is_waiting(node) => {
                self.why_ready(node, now)
            }
            TaskState::Waiting { .. } => {
                let tried = self.run.progress(place).tried;
                let retry = Wait::Retry { left: left().unwrap_or_default(), tried };
                std::iter::once(retry).chain(self.why_nothing_starts()).collect()
            }
            TaskState::Pending | TaskState::Racing if self.run.is_raced(place) => {
                let before = self.open_dependencies(place);
                let race = before.is_none().then(|| self.who_races(place));
                before.into_iter().chain(race).chain(self.why_nothing_starts()).collect()
            }
            TaskState::Pending => {
                let before = self.open_dependencies(place);
                let rival = || self.ahead_in_race(place).map(|at| self.graph.id(at as Node).clone());
                let before = before.or_else(|| rival().map(|task| Wait::Rival { task }));
                before.into_iter().chain(self.why_nothing_starts()).collect()
            }
            _ => Vec::new(),
        }
    }

    fn why_ready(&self, node: Node, now: Now) -> Vec<Wait> {
        let mut why: Vec<Wait> = self.why_nothing_starts().into_iter().collect();
        why.extend(self.ready.lacks(node).into_iter().map(|lack| self.lacking(lack, now)));
        let holders = self.ready.files_held_by(node);
        if !holders.is_empty() {
            why.push(Wait::Files { holders: self.named(&holders) });
        }
        let slots = self.run.options().at_once();
        if self.ready.working() as u32 >= slots {
            why.push(Wait::Slot { slots, ahead: self.ready.ahead_of(node) });
        }
        why
    }

    /// What keeps every task from starting.
    fn why_nothing_starts(&self) -> Option<Wait> {
        match self.run.stage() {
            Stage::Draining(DrainReason::Budget) => Some(Wait::Budget { words: self.reached() }),
            Stage::Draining(DrainReason::FailFast) => {
                Some(Wait::Leaving { why: "a task has failed".to_owned() })
            }
            Stage::Draining(DrainReason::Unauthorized) => {
                Some(Wait::Leaving { why: "an agent is not logged in".to_owned() })
            }
            Stage::Draining(_) => Some(Wait::Leaving { why: "the user asked for it".to_owned() }),
            _ if self.run.is_escalated() => match self.run.escalation() {
                Some(task) => Some(Wait::Escalation { task: task.clone() }),
                None => Some(Wait::Pause),
            },
            _ if self.run.is_paused() => Some(Wait::Pause),
            _ => None,
        }
    }

    /// Which of the run's caps.
    fn reached(&self) -> String {
        let (limits, spent) = (&self.run.options().limits, self.run.spent());
        let money = |cost: Usd| costs::words(Usage { cost, ..Usage::default() });
        let attempts = self.run.attempts() + self.ready.working() as u32;
        let caps = [
            limits
                .max_cost
                .filter(|cap| spent.cost >= *cap)
                .map(|cap| format!("{} of {}", money(spent.cost), money(cap))),
            limits
                .max_tokens
                .filter(|cap| spent.tokens >= *cap)
                .map(|cap| format!("{} of {}", spent.tokens, counted(cap, "token"))),
            limits
                .max_attempts
                .filter(|cap| attempts >= *cap)
                .map(|cap| format!("{attempts} of {}", counted(cap, "attempt"))),
        ];
        let known = caps.into_iter().flatten().next();
        known
            .or_else(|| limits.max_time.map(|cap| format!("its time of {cap}")))
            .unwrap_or_else(|| "all it may".to_owned())
    }

    fn open_dependencies(&self, place: usize) -> Option<Wait> {
        let before = self.graph.dependencies_of(place as Node);
        let open = |node: &Node| {
            let state = &self.run.progress(*node as usize).state;
            let aboard = matches!(state, TaskState::Running(running) if running.ended)
                && self.epics.of(place).is_some()
                && self.epics.of(place) == self.epics.of(*node as usize);
            !state.status().is_end() && !aboard
        };
        let open: Vec<Node> = before.into_iter().filter(open).collect();
        let more = open.len().saturating_sub(NAMED);
        let name = |node: &Node| (self.graph.id(*node).clone(), self.phase(*node as usize).to_owned());
        let first = open.iter().take(NAMED).map(name).collect();
        (!open.is_empty()).then_some(Wait::Dependencies { open: first, more })
    }

    fn who_races(&self, race: usize) -> Wait {
        let one = |&at: &usize| (self.graph.id(at as Node).clone(), self.phase(at).to_owned());
        Wait::Race { entrants: self.run.entrants(race).iter().map(one).collect() }
    }

    fn phase(&self, place: usize) -> &'static str {
        match &self.run.progress(place).state {
            TaskState::Asking { .. } => "asks a person",
            TaskState::InReview { .. } => "waits for a review",
            TaskState::Running(_) if self.is_standing_by(place) => "stands by",
            TaskState::Running(_) if self.is_stacked(place) => "lands after what it is built on",
            TaskState::Running(running) if running.ended => "waits to land",
            state => match state.status() {
                Status::Waiting => "waits to be tried again",
                status => status.name(),
            },
        }
    }

    fn lacking(&self, lack: Lack<'_>, now: Now) -> Wait {
        let Lack { look, wants, holders, behind } = lack;
        let agent = || look.name.to_owned();
        match look.door {
            Door::Closed => {
                let until = self.run.parked().get(look.name).copied().unwrap_or(Timestamp(0));
                return Wait::Provider { agent: agent(), left: until - now.at };
            }
            Door::Ajar => return Wait::ProviderTried { agent: agent(), by: self.named(&holders) },
            Door::Open => {}
        }
        let held = Held {
            name: look.name.to_owned(),
            wants,
            free: look.free,
            limit: look.capacity,
            holders: self.named(&holders),
            behind: behind.map(|node| self.graph.id(node).clone()),
        };
        match look.kind {
            Kind::Group => Wait::Group(held),
            Kind::Epic => Wait::Epic(held),
            Kind::Agent => Wait::Agent(held),
            Kind::Resource => Wait::Resource(held),
        }
    }

    fn named(&self, nodes: &[Node]) -> Vec<TaskId> {
        nodes.iter().take(NAMED).map(|&node| self.graph.id(node).clone()).collect()
    }
}

/// In words that follow "waits", or "it waits".
impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::Dependencies { open, more } => {
                let open: Vec<String> =
                    open.iter().map(|(task, phase)| format!("{task} ({phase})")).collect();
                write!(f, "for {}", open.join(", "))?;
                if *more > 0 {
                    write!(f, " and {more} more")?;
                }
                Ok(())
            }
            Wait::Race { entrants } => {
                let each: Vec<String> =
                    entrants.iter().map(|(task, phase)| format!("{task} ({phase})")).collect();
                write!(f, "for one of those who race for it: {}", each.join(", "))
            }
            Wait::Rival { task } => write!(f, "for {task}, which is about to land the same"),
            Wait::Slot { slots, ahead } => {
                let all = if *slots == 1 { "the only one is".to_owned() } else { format!("all {slots} are") };
                let ahead = match ahead {
                    0 => "it is next".to_owned(),
                    ahead => format!("{ahead} before it"),
                };
                write!(f, "for a slot: {all} taken; {ahead}")
            }
            Wait::Group(held) => {
                write!(f, "for its group {}, of which {} may run at once{held}", held.name, held.limit)
            }
            Wait::Epic(held) => write!(f, "for the workspace of its epic {}{held}", held.name),
            Wait::Agent(held) => {
                write!(f, "for agent {}, who does {} at once{held}", held.name, held.limit)
            }
            Wait::Resource(held) => {
                let Held { name, wants, free, limit, .. } = held;
                write!(f, "for resource {name}: it wants {wants}, {free} of {limit} are free{held}")
            }
            Wait::Files { holders } => {
                write!(f, "for files it would touch, which {} is to land first", list(holders))
            }
            Wait::Retry { left, tried } => {
                write!(f, "to be tried again in {left}, after {tried} that failed")
            }
            Wait::Escalation { task } => {
                write!(f, "until a person answers for {task}: conductor task approve {task}, or deny {task}")
            }
            Wait::Pause => f.write_str("because the run is paused: conductor resume"),
            Wait::Provider { agent, left } => {
                write!(f, "for agent {agent}, whose provider takes nothing more for {left}")
            }
            Wait::ProviderTried { agent, by } => {
                write!(f, "for agent {agent}, whose provider is being tried by {}", list(by))
            }
            Wait::Person { question, left } => {
                write!(f, "for a person to answer: {question}")?;
                match left {
                    Some(left) => write!(f, " (denied in {left})"),
                    None => Ok(()),
                }
            }
            Wait::Review { .. } => f.write_str("for your review of its work: conductor review"),
            Wait::Budget { words } => {
                write!(f, "because the run's budget is reached: {words}; nothing new starts")
            }
            Wait::Leaving { why } => {
                write!(f, "because the run is being left, for {why}; nothing new starts")
            }
        }
    }
}

/// Who has it, or who comes first.
impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.behind, self.holders.as_slice()) {
            (Some(behind), _) => write!(f, "; {behind} comes first"),
            (None, []) => Ok(()),
            (None, holders) => {
                write!(f, "; {} {} it", list(holders), if holders.len() == 1 { "has" } else { "have" })
            }
        }
    }
}

/// What a task in review waits for.
pub(super) fn review(state: &TaskState) -> Option<Wait> {
    let TaskState::InReview { .. } = state else { return None };
    Some(Wait::Review { commit: state.landing()?.change.commit.clone() })
}

fn list(tasks: &[TaskId]) -> String {
    let names: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
    names.join(", ")
}
