//! A plan: what is to be done, checked and with every default filled in.
//!
//! It is the only thing the scheduler, the store and the reports know of a task file. It is kept inside the run's first
//! event, so a field may be added (with a default) but never renamed or removed.

mod agents;
mod amendment;
mod bounds;
mod course;
mod execution;
pub mod file_sets;
pub mod graph;
pub mod groups;
mod measure;
pub mod mentions;
pub mod models;
pub mod ordering;
pub mod permissions;
mod race;
pub mod recovery;
pub mod select;
pub mod subagents;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::plan::groups::without_marks;
use crate::plan::models::Models;
use crate::plan::recovery::Recovery;
use crate::plan::subagents::Subagent;
use crate::values::ids::TaskId;
use crate::values::units::{Millis, Usd};

pub use agents::{Otherwise, Permissions, Program, Review};
pub use amendment::{Amendment, Edit};
pub use bounds::{Limits, NOTIFICATION_NAMES, Notification, Notifications, OnBudget, Price};
pub use course::{
    Changes, Dependency, EpicLanding, Isolation, Kind, Land, MergeStrategy, OnConflict, PrStrategy,
    RetryPolicy, Scope, When,
};
pub use execution::{Done, Execution, Stage};
pub use measure::{Coverage, Measure};
pub use race::{Entrant, Race, Racing, Wins};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    pub tasks: Vec<Task>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub epics: Vec<Epic>,
    /// Each step waits for the one before; replaces the dependencies between the tasks it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub execution_order: Vec<Vec<TaskId>>,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default, skip_serializing_if = "Notifications::is_empty")]
    pub notifications: Notifications,
    /// How many tasks run at once where the command line does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// Where tasks work, unless the task itself or the command line says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Where workspaces are made, with `{run}`, `{n}` and the like filled in; under the state directory where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_path: Option<String>,
    /// What the file says about models; nothing where each agent is to use its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Box<Models>>,
    /// Specialists: those the file describes, and, once it is settled who does what, all some task is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<Subagent>,
    /// Agents the file brings along, by their names; they come before those that are built in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Program>,
    /// What models cost, by name or by a prefix and `*`, where the file knows better than the price list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// What is known beside the tasks where groups are carried out; nothing otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Box<Execution>>,
    /// The file's free `metadata` section, kept as it was written.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

/// How often an agent may mend what our checks found, where nothing is said. A command does the same again, so it gets
/// no such round unless it asks for one.
const FIX_ROUNDS: u32 = 2;

/// No task is expected to change more lines than this.
pub const MAX_LINES: u32 = 1_000_000;

/// The agent of prompts that name none.
const DEFAULT_AGENT: &str = "claude";

impl Plan {
    pub fn place(&self, task: &TaskId) -> Option<usize> {
        self.tasks.iter().position(|known| known.id == *task)
    }

    /// The epics whose tasks share a workspace and land as one.
    pub fn shared_epics(&self) -> Vec<&str> {
        let shared = self.epics.iter().filter(|epic| epic.isolation_scope == Scope::Epic);
        shared.map(|epic| epic.id.as_str()).collect()
    }

    /// The specialist a task is for.
    pub fn subagent(&self, task: &Task) -> Option<&Subagent> {
        let name = task.subagent_type.as_ref()?;
        self.subagents.iter().find(|known| known.name == *name)
    }

    /// What stands for a group in paths and ids.
    pub fn group_id<'a>(&'a self, name: &'a str) -> &'a str {
        self.groups.iter().find(|group| group.name == name).map_or(name, Group::id)
    }

    /// The name of the group that a word means: its name, or else its id. A word that means none is given back.
    pub fn group_meant<'a>(&'a self, word: &'a str) -> &'a str {
        let is_name = self.groups.iter().any(|group| group.name == word);
        let by_id = || self.groups.iter().find(|group| group.id() == word);
        if is_name { word } else { by_id().map_or(word, |group| &group.name) }
    }

    /// Why a task cannot be done now, where that is known before the run begins.
    pub fn blocked(&self, task: &TaskId) -> Option<&str> {
        self.execution.as_ref()?.blocked.get(task).map(String::as_str)
    }

    pub fn task(&self, task: &TaskId) -> Option<&Task> {
        self.tasks.iter().find(|known| known.id == *task)
    }
}

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
    pub changes: Changes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr_strategy: Option<PrStrategy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_pr_timeout: Option<Millis>,
    /// Whether others race for it, or it is one of those who race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub racing: Option<Box<Racing>>,
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
            preempt: false,
            speculate: false,
            timeout: None,
            retry,
            recovery: None,
            env: BTreeMap::new(),
            env_pass: Vec::new(),
            permissions: None,
            max_cost: None,
            max_tokens: None,
            max_turns: None,
            resources: BTreeMap::new(),
            isolation: None,
            changes,
            estimate: None,
            repository: None,
            pr_strategy: None,
            auto_pr_timeout: None,
            racing: None,
        }
    }

    pub fn setup(&self) -> &[String] {
        self.preparation.as_ref().map_or(&[], |preparation| &preparation.setup)
    }

    /// Files in which the marks of a conflict are meant.
    pub fn conflict_markers(&self) -> &[String] {
        self.preparation.as_ref().map_or(&[], |preparation| &preparation.conflict_markers)
    }

    pub fn keep(&self) -> &[String] {
        self.preparation.as_ref().map_or(&[], |preparation| &preparation.keep)
    }

    /// Whether its agent may hand work on although what that costs is not told.
    pub fn wants_subagents(&self) -> bool {
        self.preparation.as_ref().is_some_and(|preparation| preparation.subagents)
    }

    /// Whether its checks are tried on the untouched base before an agent works.
    pub fn checks_base(&self) -> bool {
        self.preparation.as_ref().is_none_or(|preparation| !preparation.leaves_base_unchecked)
    }

    pub fn max_subagent_cost(&self) -> Option<Usd> {
        self.preparation.as_ref().and_then(|preparation| preparation.max_subagent_cost)
    }

    /// Whether its agent may hand a part of the work to subagents.
    pub fn may_delegate(&self) -> bool {
        self.max_subagent_cost() != Some(Usd(0))
    }

    pub fn has_own_agent_home(&self) -> bool {
        self.preparation.as_ref().is_some_and(|preparation| preparation.own_agent_home)
    }

    pub fn fallback_models(&self) -> &[String] {
        self.preparation.as_ref().map_or(&[], |preparation| &preparation.fallback_models)
    }

    pub fn expected_lines(&self) -> Option<u32> {
        self.preparation.as_ref().and_then(|preparation| preparation.expected_lines)
    }

    pub fn learned_files(&self) -> &[String] {
        self.preparation.as_ref().map_or(&[], |preparation| &preparation.learned_files)
    }

    pub fn learned_time(&self) -> Option<Learned> {
        self.preparation.as_ref().and_then(|preparation| preparation.learned_time)
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

    /// What its commit is called, after the custom of Conventional Commits; a name that follows it stays as it is.
    pub fn commit_title(&self) -> String {
        if self.announced_kind().is_some() {
            return self.name.clone();
        }
        let first = self.name.split_whitespace().next().unwrap_or_default();
        let id = self.entrant_of().unwrap_or(&self.id);
        format!("{}({id}): {}", kind_of(first).unwrap_or("chore"), self.name)
    }

    /// What type of work it is, in the words of Conventional Commits, by its name or else its prompt.
    pub fn kind(&self) -> Option<&'static str> {
        let first = |text: &str| kind_of(text.split(|c: char| !c.is_alphanumeric()).find(|w| !w.is_empty())?);
        let by_prompt = || match &self.work {
            Work::Prompt(prompt) => first(&without_marks(prompt)),
            Work::Run(_) => None,
        };
        self.announced_kind().or_else(|| first(&self.name)).or_else(by_prompt)
    }

    /// The type a name begins with, as in `fix(parser): …`.
    fn announced_kind(&self) -> Option<&'static str> {
        let head = self.name.split_once(": ").map(|(head, _)| head.trim_end_matches('!'))?;
        let scopeless = head.split('(').next().unwrap_or(head);
        KINDS.iter().find(|(kind, _)| *kind == scopeless).map(|(kind, _)| *kind)
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

/// Types of work, and the words that names of such tasks begin with.
pub const KINDS: [(&str, &[&str]); 8] = [
    ("fix", &["fix", "repair", "correct", "resolve"]),
    ("feat", &["add", "build", "implement", "create", "introduce", "support", "feat"]),
    ("docs", &["document", "docs", "explain", "describe"]),
    ("test", &["test", "cover"]),
    ("refactor", &["refactor", "rename", "split", "extract", "simplify", "move"]),
    ("perf", &["optimise", "optimize", "speed"]),
    ("build", &["upgrade", "bump", "update"]),
    ("chore", &["chore"]),
];

fn kind_of(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    KINDS.iter().find(|(_, words)| words.contains(&word.as_str())).map(|(kind, _)| *kind)
}

/// What makes a workspace ready for a task, and what is known of it from before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Preparation {
    /// Commands that make a workspace ready before the work begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// Ignored files that stay in a workspace when it is used again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Files in which the marks of a conflict are meant: they land.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflict_markers: Vec<String>,
    /// Whether its agent gets a home of its own for settings and conversations, instead of the user's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub own_agent_home: bool,
    /// What it touched when it was last done, or else what its words name; counts like `files`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learned_files: Vec<String>,
    /// Models its agent goes on with where the one before could not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback_models: Vec<String>,
    /// How many lines it will probably change, added and removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_lines: Option<u32>,
    /// Whether its checks are not tried on the untouched base before an agent works.
    #[serde(default, skip_serializing_if = "is_default")]
    pub leaves_base_unchecked: bool,
    /// Whether it says that its agent may have subagents.
    #[serde(default, skip_serializing_if = "is_default")]
    pub subagents: bool,
    /// What subagents of its agent may cost together; where that is nothing, it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_subagent_cost: Option<Usd>,
    /// By which words it was told who does it; nothing where the task says it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subagent_words: Vec<String>,
    /// The specialist it names, where there is none of that name and another does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_subagent: Option<String>,
    /// How long it took before, where it does not say itself how long it will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_time: Option<Learned>,
}

/// How long a task took in former runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned {
    /// The median.
    pub expected: Millis,
    /// Of so many.
    pub samples: u32,
    /// Whether those were tasks like it, for it was never done itself.
    #[serde(default, skip_serializing_if = "is_default")]
    pub similar: bool,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Command {
    /// One line, or a script, as one would type it.
    Line(String),
    /// Program and arguments, never seen by a shell.
    Argv(Vec<String>),
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
}

impl Default for Priority {
    fn default() -> Priority {
        Priority(2)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// As a person gave it.
    pub name: String,
    /// What stands for it in paths and ids, where its name cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How many of its tasks run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_parallel: Option<u32>,
}

impl Group {
    /// A group of which nothing but its name is known.
    pub fn named(name: impl Into<String>) -> Group {
        Group { name: name.into(), id: None, description: None, max_parallel: None }
    }

    /// Safe as a file name and as a part of a task id.
    pub fn id(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.name)
    }

    /// Whether a word means it, by its name or by its id.
    pub fn is(&self, word: &str) -> bool {
        self.name == word || self.id() == word
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epic {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Every task of these epics lands before the first of this one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub isolation_scope: Scope,
    /// Whether its tasks land by themselves, where they do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub land: Option<Land>,
    /// Of one with one workspace.
    #[serde(default, skip_serializing_if = "is_default")]
    pub epic_landing: EpicLanding,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
