//! One task of a plan: what is to be done, by which agent, and within which bounds.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::recovery::Recovery;
use super::{
    Changes, Cloud, Dependency, Isolation, Land, Measure, MergeStrategy, Network, OnConflict, Permissions,
    PrStrategy, Preparation, Racing, RetryPolicy, Review, Sandbox, is_default,
};
use crate::values::ids::TaskId;
use crate::values::units::{Millis, Usd};

/// How often an agent may mend what our checks found, where nothing is said. A command does the same again,
/// so it gets no such round unless it asks for one.
const FIX_ROUNDS: u32 = 2;

/// The agent of prompts that name none.
const DEFAULT_AGENT: &str = "claude";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub name: String,
    pub work: Work,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_deliverable: Option<String>,
    #[serde(default)]
    pub priority: Priority,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Dependency>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Who does it: `shell` for a command unless told otherwise; for a prompt, chosen later where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback_agents: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent_type: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applicable_skills: Vec<String>,
    /// Globs of what it will touch. Tasks whose sets meet do not run side by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What few tasks have, kept apart: every pass over a large plan is as long as its tasks are wide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<Box<Preparation>>,
    /// Commands that must succeed on the result; the word `auto` stands for what the project's files suggest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// How often failing checks or a conflict go back to the agent or command, within one attempt.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fix_rounds: u32,
    /// Whether `verify` is itself put to the test: it must fail where the work is damaged.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gate_proof: bool,
    /// The review by an agent before the work lands; none where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<Review>>,
    /// What is measured of the work before it lands; nothing where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<Box<Measure>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub merge_strategy: MergeStrategy,
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_conflict: OnConflict,
    #[serde(default, skip_serializing_if = "is_default")]
    pub land: Land,
    /// Whether its agent is offered tools to report with, where the run takes no follow-ups either.
    #[serde(default, skip_serializing_if = "is_default")]
    pub report: bool,
    /// Whether its agent is given what earlier tasks of the project taught, and teaches in turn.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub expertise: bool,
    /// Whether an agent at something less urgent is stopped where there is no room for it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preempt: bool,
    /// Whether it begins on work that waits for a person's approval.
    #[serde(default, skip_serializing_if = "is_default")]
    pub speculate: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    #[serde(default)]
    pub retry: RetryPolicy,
    /// What is done about its failures, where that is not just the usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Box<Recovery>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names (a trailing `*` matches a prefix) of variables handed through from the caller's environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_pass: Vec<String>,
    /// Labels of the worker that carries it out; any worker where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// What its agent may do, where that is not just the usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Box<Permissions>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// How much of each named resource it holds while it runs; `memory` in bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Whether its processes are confined, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Box<Sandbox>>,
    /// What of the network they reach; all of it where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Box<Network>>,
    pub changes: Changes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr_strategy: Option<PrStrategy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_pr_timeout: Option<Millis>,
    /// Of an agent in the cloud: by which route, and what it may do there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud: Option<Box<Cloud>>,
    /// Whether others race for it, or it is one of those who race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub racing: Option<Box<Racing>>,
}

fn yes() -> bool {
    true
}

fn is_yes(flag: &bool) -> bool {
    *flag
}

impl Task {
    /// A task with nothing but an id and its work, every other field at its default.
    pub fn new(id: TaskId, work: Work) -> Task {
        let changes = match work {
            Work::Prompt(_) => Changes::Required,
            Work::Run(_) => Changes::Optional,
        };
        let (retry, fix_rounds) = match work {
            Work::Prompt(_) => (RetryPolicy::default(), FIX_ROUNDS),
            Work::Run(_) => (RetryPolicy::once(), 0),
        };
        Task {
            name: id.to_string(),
            id,
            work,
            expected_deliverable: None,
            priority: Priority::default(),
            dependencies: Vec::new(),
            epic: None,
            group: None,
            agent: None,
            fallback_agents: Vec::new(),
            model: None,
            subagent_type: None,
            applicable_skills: Vec::new(),
            files: Vec::new(),
            preparation: None,
            verify: Vec::new(),
            fix_rounds,
            gate_proof: false,
            review: None,
            measure: None,
            merge_strategy: MergeStrategy::default(),
            on_conflict: OnConflict::default(),
            land: Land::default(),
            report: false,
            expertise: true,
            preempt: false,
            speculate: false,
            timeout: None,
            retry,
            recovery: None,
            env: BTreeMap::new(),
            env_pass: Vec::new(),
            requires: Vec::new(),
            permissions: None,
            max_cost: None,
            max_tokens: None,
            max_turns: None,
            resources: BTreeMap::new(),
            isolation: None,
            sandbox: None,
            network: None,
            changes,
            estimate: None,
            repository: None,
            pr_strategy: None,
            auto_pr_timeout: None,
            cloud: None,
            racing: None,
        }
    }

    /// How long it takes by its own word, or else by former runs; nothing where neither says.
    pub fn estimated(&self) -> Option<Millis> {
        self.estimate.or_else(|| self.learned_time().map(|learned| learned.expected))
    }

    /// How long it is taken to last. It only orders; it never ends anything.
    pub fn expected(&self) -> Millis {
        self.estimated().unwrap_or_else(|| self.usual())
    }

    /// How long such tasks take where nothing better is known.
    pub fn usual(&self) -> Millis {
        const PROMPT: Millis = Millis::from_secs(10 * 60);
        const COMMAND: Millis = Millis::from_secs(60);
        match self.work {
            Work::Prompt(_) => PROMPT,
            Work::Run(_) => COMMAND,
        }
    }

    /// All agents that may do it, in the order in which they are asked.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.agent_name()).chain(self.fallback_agents.iter().map(String::as_str))
    }

    /// The agent that does it, as limits and reports name it.
    pub fn agent_name(&self) -> &str {
        match (&self.agent, &self.work) {
            (Some(agent), _) => agent,
            (None, Work::Run(_)) => "shell",
            (None, Work::Prompt(_)) => DEFAULT_AGENT,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Words for an agent.
    Prompt(String),
    /// A command, run as it is.
    Run(Command),
}

/// What is to be done, in words or as a command.
impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Prompt(prompt) => f.write_str(prompt),
            Work::Run(command) => command.fmt(f),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Command {
    /// One line, or a script, as one would type it.
    Line(String),
    /// Program and arguments, never seen by a shell.
    Argv(Vec<String>),
}

/// Told apart by what is there, without a try at each: a log has one for every task.
impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Command, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Command;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a line, or a program and its arguments")
            }

            fn visit_str<E: de::Error>(self, line: &str) -> Result<Command, E> {
                Ok(Command::Line(line.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, words: A) -> Result<Command, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(words)).map(Command::Argv)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Line(line) => f.write_str(line),
            Command::Argv(argv) => f.write_str(&argv.join(" ")),
        }
    }
}

/// 0 is the most urgent, 4 the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priority(pub u8);

impl Priority {
    pub const NAMES: [&'static str; 5] = ["critical", "high", "medium", "low", "backlog"];

    pub fn name(self) -> &'static str {
        Priority::NAMES[usize::from(self.0).min(4)]
    }

    /// By name or by number, as in a task file.
    pub fn named(word: &str) -> Option<Priority> {
        let named = Priority::NAMES.iter().position(|name| name.eq_ignore_ascii_case(word));
        let place = named.or_else(|| word.parse().ok().filter(|number| *number < Priority::NAMES.len()))?;
        u8::try_from(place).ok().map(Priority)
    }
}

impl Default for Priority {
    fn default() -> Priority {
        Priority(2)
    }
}
