//! A task that the agent of another task asks for: read and checked like one of a file.
//!
//! It gets a prompt of its own and no commands that we would run ourselves; its agent, checks and limits are
//! those of the task it comes of.

use serde_json::{Map, Value, json};

use crate::file::{self, Source};
use crate::plan::{Dependency, Plan, Preparation, Task};
use crate::values::ids::TaskId;

/// What can be said of one.
pub const FIELDS: [&str; 8] =
    ["id", "name", "prompt", "expected_deliverable", "dependencies", "files", "priority", "estimate"];

/// Says that it does not build on the task it comes of.
pub const INDEPENDENT: &str = "independent";

/// Longer words are no task.
const LONGEST: usize = 64 << 10;

/// The task as it would join the plan, or everything that is wrong with it, for the agent to correct.
pub fn read(plan: &Plan, by: &Task, written: &Map<String, Value>) -> Result<Task, String> {
    let unknown = written.keys().find(|key| !FIELDS.contains(&key.as_str()) && *key != INDEPENDENT);
    if let Some(unknown) = unknown {
        return Err(format!("there is no field '{unknown}'; there are {}, {INDEPENDENT}", FIELDS.join(", ")));
    }
    if !written.get("prompt").is_some_and(Value::is_string) {
        return Err("'prompt' is missing: say what is to be done, as a text".to_owned());
    }
    let text = document(plan, written);
    if text.len() > LONGEST + plan.tasks.len() * 200 {
        return Err(format!("it is longer than {LONGEST} bytes; say it in fewer words"));
    }
    let source = Source::new("follow-up", text.into_bytes()).map_err(|found| found.message)?;
    let loaded = file::load(&source).map_err(|found| {
        let told = found.iter().map(|mistake| match &mistake.help {
            Some(help) => format!("{} ({help})", mistake.message),
            None => mistake.message.clone(),
        });
        told.collect::<Vec<_>>().join("; ")
    })?;
    let Some(draft) = loaded.plan.tasks.into_iter().next_back() else {
        return Err("it cannot be read".to_owned());
    };
    let mut task = inherited(by, draft);
    check_files(&task.files)?;
    let independent = written.get(INDEPENDENT).is_some_and(|value| *value == json!(true));
    if !independent && task.dependencies.iter().all(|on| on.id != by.id) {
        task.dependencies.push(Dependency::on(by.id.clone()));
    }
    Ok(task)
}

/// A file with every task it could wait for, and itself last.
fn document(plan: &Plan, written: &Map<String, Value>) -> String {
    let mut own = written.clone();
    own.remove(INDEPENDENT);
    let stub = |id: &TaskId| json!({ "id": id.as_str(), "run": "true" });
    let known = plan.tasks.iter().map(|task| stub(&task.id));
    json!({ "tasks": known.chain([Value::Object(own)]).collect::<Vec<_>>() }).to_string()
}

/// What it says itself; all else as the task it comes of has it.
fn inherited(by: &Task, draft: Task) -> Task {
    let touches = draft.learned_files().to_vec();
    let mut preparation = by.preparation.clone().unwrap_or_default();
    preparation.subagent_words.clear();
    (preparation.learned_files, preparation.learned_time) = (touches, None);
    Task {
        id: draft.id,
        name: draft.name,
        work: draft.work,
        expected_deliverable: draft.expected_deliverable,
        dependencies: draft.dependencies,
        files: draft.files,
        priority: draft.priority,
        estimate: draft.estimate,
        changes: draft.changes,
        subagent_type: None,
        applicable_skills: Vec::new(),
        epic: None,
        preparation: (*preparation != Preparation::default()).then_some(preparation),
        ..by.clone()
    }
}

fn check_files(files: &[String]) -> Result<(), String> {
    let leaves = |file: &&String| file.starts_with(['/', '~']) || file.split('/').any(|part| part == "..");
    match files.iter().find(leaves) {
        Some(file) => Err(format!("'{file}' is outside of the repository; name files below its root")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Priority, Work};

    fn plan() -> Plan {
        let mut api = Task::new(TaskId::parse("api").unwrap(), Work::Prompt("Build the API".into()));
        api.agent = Some("codex".into());
        api.verify = vec!["cargo test".into()];
        api.epic = Some("e".into());
        let schema = Task::new(TaskId::parse("schema").unwrap(), Work::Prompt("Write it".into()));
        Plan { tasks: vec![schema, api], ..Plan::default() }
    }

    fn reading(written: Value) -> Result<Task, String> {
        let plan = plan();
        read(&plan, &plan.tasks[1], written.as_object().unwrap())
    }

    #[test]
    fn it_is_done_and_checked_like_the_task_it_comes_of() {
        let written = json!({
            "id": "docs", "prompt": "Document the API", "dependencies": ["schema"], "files": ["docs/**"],
            "priority": "high",
        });
        let task = reading(written).unwrap();
        assert_eq!((task.agent_name(), &task.verify[..]), ("codex", &["cargo test".to_owned()][..]));
        assert_eq!((task.epic, task.priority), (None, Priority(1)));
        let on: Vec<&str> = task.dependencies.iter().map(|on| on.id.as_str()).collect();
        assert_eq!(on, ["schema", "api"]);
        let alone = reading(json!({ "id": "docs", "prompt": "x", "independent": true })).unwrap();
        assert!(alone.dependencies.is_empty());
    }

    #[test]
    fn mistakes_are_told_in_words() {
        let told = |written: Value| reading(written).unwrap_err();
        let missing = told(json!({ "id": "a", "prompt": "x", "dependencies": ["shema"] }));
        assert!(
            missing.contains("waits for 'shema'") && missing.contains("did you mean 'schema'?"),
            "{missing}"
        );
        assert!(told(json!({ "id": "schema", "prompt": "x" })).contains("schema"));
        assert!(told(json!({ "id": "../x", "prompt": "x" })).contains("../x"));
        assert!(told(json!({ "prompt": "x" })).contains("id"));
        assert!(told(json!({ "id": "a" })).contains("'prompt' is missing"));
        assert!(told(json!({ "id": "a", "run": "rm -rf /" })).contains("no field 'run'"));
        assert!(
            told(json!({ "id": "a", "prompt": "x", "verify": ["curl x | sh"] }))
                .contains("no field 'verify'")
        );
        assert!(
            told(json!({ "id": "a", "prompt": "x", "files": ["../../etc/passwd"] }))
                .contains("../../etc/passwd")
        );
        assert!(told(json!({ "id": "a", "prompt": "x".repeat(1 << 20) })).contains("fewer words"));
    }
}
