//! Tasks of task-master: `.taskmaster/tasks/tasks.json`, with a list for each tag, or a single list as older versions write
//! it. Subtasks are tasks of their own; what needs their task needs all of them.

use std::path::Path;

use serde_json::Value;

use super::{ImportError, Item, State, read_json, text, word};

const TOOL: &str = "task-master";

/// Where it keeps them, and the list that is taken where none is named.
pub const FILE: &str = ".taskmaster/tasks/tasks.json";
pub const TAG: &str = "master";

/// The tasks of a tag.
pub fn items(path: &Path, tag: &str) -> Result<Vec<Item>, ImportError> {
    let whole = read_json(path, TOOL)?;
    let foreign = |why: String| ImportError::Foreign { path: path.to_owned(), tool: TOOL, why };
    let tagged = whole[tag]["tasks"].as_array();
    let Some(tasks) = tagged.or_else(|| whole["tasks"].as_array().filter(|_| tag == TAG)) else {
        let tags = whole.as_object().into_iter().flatten().filter(|(_, list)| list["tasks"].is_array());
        let tags: Vec<&str> = tags.map(|(tag, _)| tag.as_str()).collect();
        return Err(foreign(match tags.is_empty() {
            true => "it has no `tasks`".to_owned(),
            false => format!("it has no tag '{tag}', but {}", tags.join(", ")),
        }));
    };
    let mut items: Vec<Item> = tasks.iter().flat_map(of_task).collect();
    let parts: Vec<(String, Vec<String>)> = tasks.iter().filter_map(parts).collect();
    for item in &mut items {
        item.needs =
            std::mem::take(&mut item.needs).into_iter().flat_map(|need| expanded(&parts, need)).collect();
    }
    Ok(items)
}

/// A task that is taken apart, and its open parts.
fn parts(task: &Value) -> Option<(String, Vec<String>)> {
    let id = word(&task["id"])?;
    let parts: Vec<String> =
        subtasks(task).iter().filter_map(|part| Some(format!("{id}.{}", word(&part["id"])?))).collect();
    (!parts.is_empty()).then_some((id, parts))
}

fn expanded(parts: &[(String, Vec<String>)], need: String) -> Vec<String> {
    match parts.iter().find(|(id, _)| *id == need) {
        Some((_, parts)) => parts.clone(),
        None => vec![need],
    }
}

fn subtasks(task: &Value) -> &[Value] {
    task["subtasks"].as_array().map_or(&[], Vec::as_slice)
}

fn of_task(task: &Value) -> Vec<Item> {
    let id = word(&task["id"]).unwrap_or_default();
    let needs = words(&task["dependencies"]);
    let whole = Item {
        id: id.clone(),
        title: text(&task["title"]),
        body: body(task),
        priority: priority(&task["priority"]),
        needs: needs.clone(),
        state: state(task),
        group: None,
    };
    if subtasks(task).is_empty() || whole.state != State::Open {
        let closed = |part: &Value| Item {
            id: format!("{id}.{}", word(&part["id"]).unwrap_or_default()),
            state: whole.state.clone(),
            ..Item::default()
        };
        let done = subtasks(task).iter().filter(|_| whole.state == State::Done).map(closed);
        return done.chain([whole.clone()]).collect();
    }
    let part = |part: &Value| {
        let own = words(&part["dependencies"]).into_iter();
        // A bare number is another part of the same task.
        let own = own.map(|need| if need.contains('.') { need } else { format!("{id}.{need}") });
        let context = format!("This is a part of: {}\n{}", whole.title, whole.body);
        Item {
            id: format!("{id}.{}", word(&part["id"]).unwrap_or_default()),
            title: text(&part["title"]),
            body: [body(part), context].join("\n\n").trim().to_owned(),
            priority: priority(&part["priority"]).or(whole.priority),
            needs: own.chain(needs.iter().cloned()).collect(),
            state: state(part),
            group: None,
        }
    };
    subtasks(task).iter().map(part).collect()
}

fn body(task: &Value) -> String {
    let parts = [
        text(&task["description"]),
        text(&task["details"]),
        match text(&task["testStrategy"]) {
            words if words.is_empty() => words,
            words => format!("How it is tested: {words}"),
        },
    ];
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn words(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(word).collect()
}

fn priority(value: &Value) -> Option<u8> {
    match value.as_str()?.to_lowercase().as_str() {
        "critical" => Some(0),
        "high" => Some(1),
        "medium" => Some(2),
        "low" => Some(3),
        _ => None,
    }
}

fn state(task: &Value) -> State {
    match task["status"].as_str().unwrap_or("pending") {
        "done" | "completed" => State::Done,
        "cancelled" => State::LeftOut("is cancelled".to_owned()),
        "deferred" => State::LeftOut("is deferred".to_owned()),
        "blocked" => State::LeftOut("is blocked".to_owned()),
        "review" => State::LeftOut("is in review".to_owned()),
        _ => State::Open,
    }
}
