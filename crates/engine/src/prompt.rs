//! The words an agent gets: the task and what it should know, by a template that users can replace.

use std::path::Path;

use conductor_core::plan::{Task, Work};
use minijinja::{Environment, context};
use thiserror::Error;

/// Ours, where the repository has none of its own.
const TEMPLATE: &str = include_str!("prompt.md.j2");

/// A repository's own template, below its root.
pub const OWN: &str = ".conductor/prompt.md.j2";

#[derive(Debug, Error)]
#[error("{OWN}: {0:#}")]
pub struct PromptError(#[from] minijinja::Error);

/// What is worth saying beyond the task itself.
#[derive(Debug, Clone, Default)]
pub struct Facts<'a> {
    /// Tasks it builds on, with what they were about.
    pub landed: Vec<(&'a str, &'a str)>,
    /// What an earlier round found, and its number.
    pub feedback: Option<(u32, &'a str)>,
    pub ports: Option<&'a str>,
    /// The conversation has begun before: what the task is has been said.
    pub known: bool,
}

pub fn words(task: &Task, facts: &Facts<'_>, root: &Path) -> Result<String, PromptError> {
    let Work::Prompt(prompt) = &task.work else { return Ok(String::new()) };
    let own = std::fs::read_to_string(root.join(OWN)).ok();
    let environment = Environment::new();
    let rendered = environment.render_str(
        own.as_deref().unwrap_or(TEMPLATE),
        context! {
            task => context! {
                id => task.id.to_string(),
                name => task.name.clone(),
                prompt => prompt.clone(),
                expected_deliverable => task.expected_deliverable.clone(),
                files => task.files.clone(),
                verify => task.verify.clone(),
                epic => task.epic.clone(),
            },
            landed => facts.landed.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned())).collect::<Vec<_>>(),
            round => facts.feedback.map(|(round, _)| round),
            feedback => facts.feedback.map(|(_, words)| words.to_owned()),
            ports => facts.ports.map(str::to_owned),
            known => facts.known,
        },
    )?;
    Ok(rendered)
}

#[cfg(test)]
mod tests {
    use conductor_core::ids::TaskId;

    use super::*;

    fn task() -> Task {
        let mut task = Task::new(TaskId::parse("api").unwrap(), Work::Prompt("Build the API.".into()));
        task.expected_deliverable = Some("src/api.rs with tests".into());
        task.verify = vec!["cargo test".into()];
        task
    }

    #[test]
    fn a_prompt_says_what_there_is_to_know() {
        let facts = Facts {
            landed: vec![("schema", "Design the schema")],
            ports: Some("20000-20009"),
            ..Facts::default()
        };
        let first = words(&task(), &facts, Path::new("/nowhere")).unwrap();
        let facts = Facts { feedback: Some((1, "`cargo test` failed: exit code 101")), ..facts };
        let second = words(&task(), &facts, Path::new("/nowhere")).unwrap();
        let facts = Facts { known: true, ..facts };
        let third = words(&task(), &facts, Path::new("/nowhere")).unwrap();
        insta::assert_snapshot!(format!("{first}\n--------\n{second}\n--------\n{third}"));
    }

    #[test]
    fn a_repository_can_have_its_own_words() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".conductor")).unwrap();
        std::fs::write(dir.path().join(OWN), "{{ task.id }}: {{ task.prompt }}").unwrap();
        assert_eq!(words(&task(), &Facts::default(), dir.path()).unwrap(), "api: Build the API.");
        std::fs::write(dir.path().join(OWN), "{{ task.id ").unwrap();
        assert!(words(&task(), &Facts::default(), dir.path()).unwrap_err().to_string().starts_with(OWN));
    }
}
