//! The tools by name: what each is for, and what it wants.

use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

pub(super) const GET_TASK: &str = "get_task";
pub(super) const LIST_TASKS: &str = "list_tasks";
pub(super) const GRAPH: &str = "get_dependency_graph";
pub(super) const UPDATE_STATUS: &str = "update_status";
pub(super) const LOG_ISSUE: &str = "log_issue";
pub(super) const ADD_TASK: &str = "add_task";
pub(super) use conductor_core::run::event::ASK_HUMAN;

/// What every agent is told of the server as a whole.
pub(super) const INSTRUCTIONS: &str = "You work on one task of a run of many. These tools tell how the run stands and \
    let you report. Do your own task first; add a task only for work that is needed and is not yours.";

pub(super) fn tools(adds: bool) -> Vec<Tool> {
    let mut tools = all();
    tools.retain(|tool| adds || tool.name != ADD_TASK);
    tools
}

fn all() -> Vec<Tool> {
    let none = json!({ "type": "object", "properties": {} });
    vec![
        tool(
            GET_TASK,
            "Your own task: what is to be done, what it builds on, what it may use.",
            none.clone(),
        ),
        tool(LIST_TASKS, "All tasks of this run with how they stand.", none.clone()),
        tool(GRAPH, "Which task of this run waits for which.", none),
        tool(
            UPDATE_STATUS,
            "Tell in one line how your task stands. It is shown to people who look on.",
            wants(&["status"], json!({ "status": text("One line.") })),
        ),
        tool(
            LOG_ISSUE,
            "Report something beside your task that a person should look at: a bug, a risk, a contradiction. It is in the \
             run's report; nothing is done about it now.",
            wants(
                &["description"],
                json!({
                    "description": text("What is wrong, and where."),
                    "severity": { "type": "string", "enum": ["low", "medium", "high"] },
                }),
            ),
        ),
        tool(
            ADD_TASK,
            "Add a task to this run, for an agent like you. It starts when what it waits for has landed; it waits for \
             your own task unless it is independent. A person may have to allow it first.",
            wants(&["id", "prompt"], follow_up()),
        ),
        tool(
            ASK_HUMAN,
            "Ask a person something you cannot find out or decide yourself. You are stopped after this, and go on with \
             the answer.",
            wants(&["question"], json!({ "question": text("With all a person needs to answer it.") })),
        ),
    ]
}

fn follow_up() -> Value {
    let names = |words: &str| json!({ "type": "array", "items": { "type": "string" }, "description": words });
    json!({
        "id": text("Short and new: letters, digits, hyphens."),
        "name": text("A line for people."),
        "prompt": text("What is to be done, complete in itself: its agent does not know your conversation."),
        "expected_deliverable": text("What there is to be in the end."),
        "dependencies": names("Ids of tasks that must have landed before."),
        "files": names("Globs of the files it will touch, from the root of the repository."),
        "priority": { "type": "string", "enum": ["critical", "high", "medium", "low"] },
        "estimate": text("How long it will take, such as 20m."),
        "independent": { "type": "boolean", "description": "It does not build on your own task." },
    })
}

fn text(words: &str) -> Value {
    json!({ "type": "string", "description": words })
}

fn wants(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn tool(name: &'static str, words: &'static str, schema: Value) -> Tool {
    let schema: JsonObject = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, words, schema)
}
