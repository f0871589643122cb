//! Settings one by one: what each config says, in which line, and which of them counts.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::diagnostic::Report;
use super::parse;
use super::source::Source;
use super::tree::Node;

/// A setting as it is written, by the path of its keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    pub key: String,
    pub value: Json,
    pub line: usize,
}

/// A setting that counts, and which of the layers it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective<'w> {
    pub written: &'w Written,
    pub layer: usize,
}

/// Mappings of which the parts are settings of their own. Everything else is taken or replaced as a whole.
const PARTED: [&str; 18] = [
    "retry_policy",
    "recovery",
    "env",
    "resources",
    "agents",
    "agent_resources",
    "prices",
    "subagents",
    "notifications",
    "execution",
    "limits",
    "limits.agents",
    "limits.groups",
    "limits.resources",
    "mcp",
    "auth",
    "browser",
    "sync",
];

/// What a task file sets for all of its tasks. Nothing where it cannot be read, which others report.
pub fn written_in_file(source: &Source) -> Vec<Written> {
    let mut report = Report::new(source);
    let Some(root) = parse::parse(&mut report) else { return Vec::new() };
    let mut found = Vec::new();
    for (key, node) in root.entries().into_iter().flatten() {
        match &*key.text {
            "config" => found.extend(written(source, node)),
            "limits" | "notifications" => collect(source, &key.text, node, key.span.start, &mut found),
            _ => {}
        }
    }
    found
}

pub(super) fn written(source: &Source, root: &Node) -> Vec<Written> {
    let mut found = Vec::new();
    for (key, node) in root.entries().into_iter().flatten() {
        let name = key.text.trim_start_matches("default_");
        let name = if name == "retry" { "retry_policy" } else { name };
        if name != "$schema" && !name.starts_with("x-") {
            collect(source, name, node, key.span.start, &mut found);
        }
    }
    found
}

fn collect(source: &Source, path: &str, node: &Node, at: usize, found: &mut Vec<Written>) {
    let entries = node.entries().filter(|_| PARTED.contains(&path));
    match entries {
        // Two levels at most, for no deeper path is in the table.
        Some(entries) => {
            for (key, node) in entries {
                collect(source, &format!("{path}.{}", key.text), node, key.span.start, found);
            }
        }
        None if node.is_null() => {}
        None => {
            let (line, _) = source.position(at);
            found.push(Written { key: path.to_owned(), value: node.to_json(), line });
        }
    }
}

/// What counts, by key: of several that say it, the first.
pub fn effective<'w>(layers: &[&'w [Written]]) -> BTreeMap<&'w str, Effective<'w>> {
    let mut counts: BTreeMap<&str, Effective<'_>> = BTreeMap::new();
    for (layer, written) in layers.iter().enumerate() {
        for written in *written {
            counts.entry(&written.key).or_insert(Effective { written, layer });
        }
    }
    counts
}
