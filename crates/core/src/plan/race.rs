//! One task done several ways, of which one lands.

use serde::{Deserialize, Serialize};

use super::{Plan, Task};
use crate::values::ids::{BadTaskId, TaskId};

/// What a task has to do with a race.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Racing {
    /// It is done by others, and never started itself.
    By(Race),
    /// It is one of those who do that task.
    For(TaskId),
}

/// Who races for a task, and what wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Race {
    /// In the order of the file.
    pub entrants: Vec<TaskId>,
    #[serde(default)]
    pub wins: Wins,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wins {
    /// The first entrant to land.
    #[default]
    First,
    /// The entrant with the best score when all have ended.
    Best,
}

/// One way to do a task; what is absent is as the task has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entrant {
    pub agent: Option<String>,
    pub model: Option<String>,
}

impl Task {
    /// Who races for it, where it is done so.
    pub fn race(&self) -> Option<&Race> {
        match self.racing.as_deref() {
            Some(Racing::By(race)) => Some(race),
            _ => None,
        }
    }

    /// The task it races for. Such tasks are ways to do another one, and are not counted beside it.
    pub fn entrant_of(&self) -> Option<&TaskId> {
        match self.racing.as_deref() {
            Some(Racing::For(task)) => Some(task),
            _ => None,
        }
    }

    pub fn is_entrant(&self) -> bool {
        self.entrant_of().is_some()
    }

    /// What each of these would be called as a task.
    pub fn entrant_ids(&self, entrants: &[Entrant]) -> Result<Vec<TaskId>, BadTaskId> {
        let id = |(at, entrant): (usize, &Entrant)| match &entrant.agent {
            None => TaskId::parse(&format!("{}.{}", self.id, at + 1)),
            Some(agent) => {
                let before = entrants[..at].iter().filter(|other| other.agent == entrant.agent).count();
                let number = if before == 0 { String::new() } else { format!("-{}", before + 1) };
                TaskId::parse(&format!("{}.{}{number}", self.id, tame(agent)))
            }
        };
        entrants.iter().enumerate().map(id).collect()
    }

    /// Makes it a task that these race for, and gives them.
    pub fn raced(&mut self, entrants: &[Entrant], wins: Wins) -> Result<Vec<Task>, BadTaskId> {
        let ids = self.entrant_ids(entrants)?;
        let each = ids.iter().zip(entrants).map(|(id, entrant)| self.entrant(id.clone(), entrant)).collect();
        self.racing = Some(Box::new(Racing::By(Race { entrants: ids, wins })));
        Ok(each)
    }

    /// The same in everything but who does it. A model is its agent's: another agent has its own.
    fn entrant(&self, id: TaskId, entrant: &Entrant) -> Task {
        let own = entrant.agent.as_deref().is_none_or(|agent| agent == self.agent_name());
        Task {
            id,
            agent: entrant.agent.clone().or_else(|| self.agent.clone()),
            model: entrant.model.clone().or_else(|| self.model.clone().filter(|_| own)),
            fallback_agents: Vec::new(),
            racing: Some(Box::new(Racing::For(self.id.clone()))),
            ..self.clone()
        }
    }
}

/// Agents may be called by paths and the like; ids may not.
fn tame(agent: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    agent.chars().map(|c| if fits(c) { c } else { '-' }).collect()
}

impl Plan {
    /// The tasks that were asked for: all but those who race for one of them.
    pub fn asked(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| !task.is_entrant())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Work;

    #[test]
    fn entrants_are_named_after_who_they_are() {
        let mut task = Task::new(TaskId::parse("api").unwrap(), Work::Prompt("do it".into()));
        (task.model, task.fallback_agents) = (Some("opus".into()), vec!["gemini".into()]);
        let by = |agent: &str| Entrant { agent: Some(agent.into()), model: None };
        let tuned = Entrant { model: Some("o9".into()), ..by("codex") };
        let entrants = task.raced(&[by("claude"), by("codex"), tuned, by("claude")], Wins::Best).unwrap();
        let told: Vec<(&str, &str, Option<&str>)> = entrants
            .iter()
            .map(|entrant| (entrant.id.as_str(), entrant.agent_name(), entrant.model.as_deref()))
            .collect();
        let expected = [
            ("api.claude", "claude", Some("opus")),
            ("api.codex", "codex", None),
            ("api.codex-2", "codex", Some("o9")),
            ("api.claude-2", "claude", Some("opus")),
        ];
        assert_eq!(told, expected);
        assert!(entrants.iter().all(|entrant| entrant.fallback_agents.is_empty() && entrant.is_entrant()));
        assert_eq!(task.race().map(|race| (race.entrants.len(), race.wins)), Some((4, Wins::Best)));
        let numbered = task.entrant_ids(&[Entrant::default(), Entrant::default()]).unwrap();
        assert_eq!(numbered.iter().map(TaskId::as_str).collect::<Vec<_>>(), ["api.1", "api.2"]);
    }
}
