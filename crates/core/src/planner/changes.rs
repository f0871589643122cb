//! An existing plan as a draft, and what another draft changes about it.

use super::answer::{Draft, DraftTask};
use crate::plan::{Plan, Task, Work};

impl Draft {
    /// A plan as a planner would have written it.
    pub fn of(plan: &Plan) -> Draft {
        let notes = plan.metadata.get("notes").and_then(|notes| notes.as_str()).map(str::to_owned);
        Draft { tasks: plan.asked().map(DraftTask::of).collect(), notes, ..Draft::default() }
    }
}

impl DraftTask {
    fn of(task: &Task) -> DraftTask {
        DraftTask {
            id: task.id.to_string(),
            name: task.name.clone(),
            description: match &task.work {
                Work::Prompt(prompt) => prompt.trim().to_owned(),
                Work::Run(command) => command.to_string(),
            },
            priority: task.priority.0,
            dependencies: task.dependencies.iter().map(|on| on.id.to_string()).collect(),
            effort: None,
            duration: task.estimate,
            lines: task.expected_lines(),
            files: task.files.clone(),
            verify: task.verify.clone(),
        }
    }
}

/// What one plan has that another has not.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Changes {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    /// With the names of what is different.
    pub changed: Vec<(String, Vec<&'static str>)>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

pub fn changes(before: &Draft, after: &Draft) -> Changes {
    let find = |draft: &'_ Draft, id: &str| draft.tasks.iter().position(|task| task.id == id);
    let gone = before.tasks.iter().filter(|task| find(after, &task.id).is_none());
    let mut changes = Changes { removed: gone.map(|task| task.id.clone()).collect(), ..Changes::default() };
    for task in &after.tasks {
        match find(before, &task.id) {
            None => changes.added.push(task.id.clone()),
            Some(place) => {
                let different = different(&before.tasks[place], task);
                if !different.is_empty() {
                    changes.changed.push((task.id.clone(), different));
                }
            }
        }
    }
    changes
}

fn different(before: &DraftTask, after: &DraftTask) -> Vec<&'static str> {
    let sorted = |ids: &[String]| {
        let mut ids = ids.to_vec();
        ids.sort();
        ids
    };
    let parts = [
        ("name", before.name != after.name),
        ("description", before.description != after.description),
        ("priority", before.priority != after.priority),
        ("dependencies", sorted(&before.dependencies) != sorted(&after.dependencies)),
        ("estimate", before.duration != after.duration),
        ("expected_lines", before.lines != after.lines),
        ("files", sorted(&before.files) != sorted(&after.files)),
        ("verify", before.verify != after.verify),
    ];
    parts.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_gone_and_different_is_told() {
        let task = |id: &str, description: &str, on: &[&str]| DraftTask {
            id: id.into(),
            description: description.into(),
            dependencies: on.iter().map(|id| (*id).to_owned()).collect(),
            ..DraftTask::default()
        };
        let before = Draft {
            tasks: vec![task("a", "x", &[]), task("b", "x", &["a"]), task("c", "x", &["a", "b"])],
            ..Draft::default()
        };
        let after = Draft {
            tasks: vec![task("c", "x", &["b", "a"]), task("b", "y", &[]), task("d", "x", &[])],
            ..Draft::default()
        };
        let found = changes(&before, &after);
        assert_eq!((found.added.join(" "), found.removed.join(" ")), ("d".into(), "a".into()));
        assert_eq!(found.changed, [("b".to_owned(), vec!["description", "dependencies"])]);
        assert!(changes(&before, &before).is_empty());
    }
}
