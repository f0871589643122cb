//! Where agents and tasks are named in a file, for those who know which agents there are.

use std::collections::BTreeMap;

use super::diagnostic::Report;
use super::parse;
use super::source::{Source, Span};
use super::tree::{Node, Value};

/// Names and their places, as they are written in a task file or a config file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// In the order of the file; a specialist among `fallback_agents` stands here too.
    pub agents: Vec<(String, Span)>,
    /// Agents that something is said of, in `limits.agents`, `models.tiers` and `agent_resources`.
    pub told_of: Vec<(String, Span)>,
    /// By id, each where it stands first.
    pub tasks: BTreeMap<String, Span>,
}

/// Nothing where the file cannot be read, which others report.
pub fn places(source: &Source) -> Places {
    let mut report = Report::new(source);
    let Some(root) = parse::parse(&mut report) else { return Places::default() };
    let mut found = Places::default();
    found.settings(source, &root);
    if let Some(config) = value_of(&root, "config") {
        found.settings(source, config);
    }
    for task in value_of(&root, "tasks").map_or_else(|| items(&root), items) {
        found.settings(source, task);
        if let Some((id, span)) = value_of(task, "id").and_then(|node| word(source, node)) {
            found.tasks.entry(id).or_insert(span);
        }
    }
    found.agents.sort_by_key(|(_, span)| span.start);
    found
}

impl Places {
    /// Where an agent is first named.
    pub fn agent(&self, name: &str) -> Option<Span> {
        self.agents.iter().find(|(known, _)| known == name).map(|(_, span)| *span)
    }

    /// Every key of a mapping that names agents.
    fn settings(&mut self, source: &Source, node: &Node) {
        let mut named: Vec<&Node> = Vec::new();
        named.extend(value_of(node, "agent"));
        for list in ["fallback_agents", "race"].iter().filter_map(|key| value_of(node, key)) {
            let one = std::slice::from_ref(list);
            let entries = if items(list).is_empty() { one } else { items(list) };
            named.extend(entries.iter().map(|entry| value_of(entry, "agent").unwrap_or(entry)));
        }
        named.extend(value_of(node, "review").and_then(|review| value_of(review, "agent")));
        let specialists = value_of(node, "subagents").and_then(Node::entries).unwrap_or_default();
        named.extend(specialists.iter().filter_map(|(_, node)| value_of(node, "agent")));
        let inner = |section, key| value_of(node, section).and_then(|section| value_of(section, key));
        let of_agents =
            [inner("limits", "agents"), inner("models", "tiers"), value_of(node, "agent_resources")];
        for told in of_agents.into_iter().flatten() {
            let names =
                told.entries().unwrap_or_default().iter().map(|(key, _)| (key.text.to_string(), key.span));
            self.told_of.extend(names);
        }
        self.agents.extend(named.into_iter().filter_map(|node| word(source, node)));
    }
}

fn word(source: &Source, node: &Node) -> Option<(String, Span)> {
    Some((node.text(source)?.to_owned(), node.span))
}

fn value_of<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    node.entries()?.iter().find(|(key, _)| *key.text == *name).map(|(_, node)| node)
}

fn items(node: &Node) -> &[Node] {
    match &node.value {
        Value::Seq(items) => items,
        _ => &[],
    }
}
