//! Issues of Linear, and of tools that export them alike, as JSON: a list of issues, or the answer of Linear's API.

use std::path::Path;

use serde_json::Value;

use super::{ImportError, Item, State, read_json, text, word};

const TOOL: &str = "Linear";

/// The issues of a file.
pub fn items(path: &Path) -> Result<Vec<Item>, ImportError> {
    let whole = read_json(path, TOOL)?;
    let list = list(&whole).ok_or_else(|| {
        let why = "it has no list of issues (an array, `issues`, `nodes`, or `data.issues.nodes`)".to_owned();
        ImportError::Foreign { path: path.to_owned(), tool: TOOL, why }
    })?;
    let mut items: Vec<Item> = list.iter().map(item).collect();
    // `blocks` stands with the one that comes first.
    for issue in list {
        for blocked in related(issue, "relations", "blocks", "relatedIssue") {
            let first = name(issue);
            if let Some(item) = items.iter_mut().find(|item| item.id == blocked) {
                item.needs.push(first);
            }
        }
    }
    Ok(items)
}

fn list(whole: &Value) -> Option<&Vec<Value>> {
    let places = [
        whole,
        &whole["issues"],
        &whole["nodes"],
        &whole["issues"]["nodes"],
        &whole["data"]["issues"]["nodes"],
    ];
    places.into_iter().find_map(Value::as_array)
}

fn name(issue: &Value) -> String {
    word(&issue["identifier"]).or_else(|| word(&issue["id"])).unwrap_or_default()
}

fn item(issue: &Value) -> Item {
    let mut needs = related(issue, "inverseRelations", "blocks", "issue");
    needs.extend(related(issue, "relations", "blocked_by", "relatedIssue"));
    needs.extend(issue["blockedBy"].as_array().into_iter().flatten().filter_map(word));
    Item {
        id: name(issue),
        title: text(&issue["title"]),
        body: text(&issue["description"]),
        priority: priority(issue),
        needs,
        state: state(issue),
        group: None,
    }
}

/// 1 is urgent and 4 is low there; 0 is none.
fn priority(issue: &Value) -> Option<u8> {
    let priority = &issue["priority"];
    // Its schema has a `Float` for it.
    let number = priority.as_f64().or_else(|| priority["value"].as_f64());
    match number {
        Some(1.0) => Some(0),
        Some(2.0) => Some(1),
        Some(3.0) => Some(2),
        Some(4.0) => Some(3),
        _ => None,
    }
}

fn state(issue: &Value) -> State {
    let state = &issue["state"];
    let kind = state["type"].as_str().or_else(|| issue["status"].as_str()).or_else(|| state.as_str());
    match kind.unwrap_or_default().to_lowercase().as_str() {
        "completed" | "done" => State::Done,
        "canceled" | "cancelled" | "duplicate" => State::LeftOut("is cancelled".to_owned()),
        "triage" => State::LeftOut("is in triage".to_owned()),
        _ => State::Open,
    }
}

/// The issues that one is related to in a way.
fn related(issue: &Value, list: &str, kind: &str, end: &str) -> Vec<String> {
    let all = &issue[list];
    let all = all.as_array().or_else(|| all["nodes"].as_array()).map_or(&[][..], Vec::as_slice);
    all.iter()
        .filter(|one| one["type"] == kind)
        .map(|one| name(&one[end]))
        .filter(|name| !name.is_empty())
        .collect()
}
