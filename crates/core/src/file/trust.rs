//! Which settings of a repository's config only count when the user trusts it: those that run a program, hand out what the
//! user has, let agents do more than usual, or make caps on money worthless. A repository comes from others; its config must
//! not do this unasked. `Plan::demands` is the same list for a plan.

use serde_json::{Value as Json, json};

use super::effective::Written;
use crate::plan::{ACP, ON_SCREEN};

/// Whether a setting needs the user's trust.
pub fn needs_trust(written: &Written) -> bool {
    let value = &written.value;
    match written.key.split('.').next().unwrap_or_default() {
        "setup" | "verify" | "measure" | "env_pass" | "permissions" | "workspace_path" => {
            says_something(value)
        }
        // Where work and runs are pushed to, which server drives the user's browser, and which program that is.
        "env" | "agents" | "cloud" | "mcp" | "auth" | "browser" | "sync" => true,
        // A price near nothing makes every cap on money worthless.
        "prices" => true,
        "agent" | "fallback_agents" => names_a_program(value),
        "review" | "subagents" => names_a_program(&value["agent"]),
        "isolation" => value == "none",
        // The user's own config may ask for more; only the strongest word weakens none.
        "sandbox" => value != "require" && *value != json!({ "mode": "require" }),
        "network" => value != "off",
        "notifications" => leaves_the_screen(value),
        // A model that the user would pay for without having asked for it.
        "limits" => written.key == "limits.learn_cost",
        _ => false,
    }
}

fn says_something(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(on) => *on,
        Json::Array(list) => !list.is_empty(),
        Json::Object(map) => !map.is_empty(),
        Json::String(_) | Json::Number(_) => true,
    }
}

fn names_a_program(value: &Json) -> bool {
    match value {
        Json::String(name) => name.starts_with(ACP),
        Json::Array(names) => {
            names.iter().any(|name| name.as_str().is_some_and(|name| name.starts_with(ACP)))
        }
        _ => false,
    }
}

fn leaves_the_screen(value: &Json) -> bool {
    let leaves = |one: &Json| one["type"].as_str().is_none_or(|way| !ON_SCREEN.contains(&way));
    match value {
        Json::Array(list) => list.iter().any(leaves),
        Json::Object(_) => leaves(value),
        _ => false,
    }
}
