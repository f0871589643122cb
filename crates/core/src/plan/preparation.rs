//! What makes a workspace ready for a task, and what is known of the task from before.

use serde::{Deserialize, Serialize};

use super::{Task, Work, is_default};
use crate::values::units::{Millis, Usd};

/// No task is expected to change more lines than this.
pub const MAX_LINES: u32 = 1_000_000;

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
    /// Whether its command goes on where the coordinator is gone, as agents do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub survives: bool,
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

impl Task {
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

    /// Whether its work is held by a process that outlives the coordinator: what an agent does, and a command that says so.
    pub fn outlives_its_coordinator(&self) -> bool {
        match self.work {
            Work::Prompt(_) => true,
            Work::Run(_) => self.preparation.as_ref().is_some_and(|preparation| preparation.survives),
        }
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

    /// The same task for another agent: what it may fall back on was meant for the one it had.
    pub fn given_to(&self, agent: &str, model: Option<&str>) -> Task {
        let mut task = self.clone();
        (task.agent, task.model) = (Some(agent.to_owned()), model.map(str::to_owned));
        task.fallback_agents = Vec::new();
        if let Some(preparation) = &mut task.preparation {
            preparation.fallback_models = Vec::new();
        }
        task
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
}
