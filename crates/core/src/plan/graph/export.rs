//! The graph as text, Mermaid, DOT and JSON.

use std::fmt::Write as _;

use serde_json::json;

use super::{Graph, Node};
use crate::plan::Plan;
use crate::values::units::Millis;

/// The id of the JSON form; a new number when a key changes its meaning.
const JSON_SCHEMA: &str = "conductor.graph/1";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Mermaid,
    Dot,
    Json,
}

impl Graph {
    /// The whole graph in one of the formats; `length` gives each task's expected time for the critical path.
    pub fn export(&self, plan: &Plan, format: Format, length: impl Fn(Node) -> Millis) -> String {
        match format {
            Format::Text => self.text(length),
            Format::Mermaid => self.mermaid(plan),
            Format::Dot => self.dot(plan),
            Format::Json => self.json(plan, length),
        }
    }

    fn text(&self, length: impl Fn(Node) -> Millis) -> String {
        let mut out = String::new();
        let before = self.dependencies();
        for (level, batch) in self.batches().iter().enumerate() {
            let _ = writeln!(out, "batch {}", level + 1);
            for &task in batch {
                let _ = match before[task as usize].as_slice() {
                    [] => writeln!(out, "  {}", self.id(task)),
                    blockers => writeln!(out, "  {}  after {}", self.id(task), self.names(blockers, ", ")),
                };
            }
        }
        let path = self.critical_path(length);
        let _ = writeln!(out, "critical path ({}): {}", path.length, self.names(&path.tasks, " → "));
        out
    }

    fn mermaid(&self, plan: &Plan) -> String {
        let mut out = String::from("graph TD\n");
        for task in (0..self.len()).filter(|&task| !self.is_entrant(task as Node)) {
            let label = mermaid_text(&plan.tasks[task].name);
            let _ = writeln!(out, "  t{task}[\"{label}\"]");
        }
        self.each_edge(|from, to| {
            let _ = writeln!(out, "  t{from} --> t{to}");
        });
        out
    }

    fn dot(&self, plan: &Plan) -> String {
        let mut out = String::from("digraph conductor {\n  rankdir=LR;\n  node [shape=box];\n");
        for task in (0..self.len()).filter(|&task| !self.is_entrant(task as Node)) {
            let _ = writeln!(
                out,
                "  \"{}\" [label=\"{}\"];",
                plan.tasks[task].id,
                dot_text(&plan.tasks[task].name)
            );
        }
        self.each_edge(|from, to| {
            let _ = writeln!(out, "  \"{}\" -> \"{}\";", self.id(from), self.id(to));
        });
        out.push_str("}\n");
        out
    }

    fn json(&self, plan: &Plan, length: impl Fn(Node) -> Millis) -> String {
        let before = self.dependencies();
        let tasks: Vec<_> = plan
            .tasks
            .iter()
            .enumerate()
            .filter(|(node, _)| !self.is_entrant(*node as Node))
            .map(|(node, task)| {
                json!({
                    "id": task.id,
                    "name": task.name,
                    "priority": task.priority.0,
                    "dependencies": self.ids_of(&before[node]),
                    "estimate_ms": length(node as Node).0,
                })
            })
            .collect();
        let path = self.critical_path(&length);
        let value = json!({
            "schema": JSON_SCHEMA,
            "tasks": tasks,
            "batches": self.batches().iter().map(|batch| self.ids_of(batch)).collect::<Vec<_>>(),
            "critical_path": { "tasks": self.ids_of(&path.tasks), "length_ms": path.length.0 },
        });
        let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
        text.push('\n');
        text
    }

    fn each_edge(&self, mut edge: impl FnMut(Node, Node)) {
        for (to, before) in self.dependencies().iter().enumerate() {
            for &from in before {
                edge(from, to as Node);
            }
        }
    }

    fn names(&self, tasks: &[Node], separator: &str) -> String {
        self.ids_of(tasks).join(separator)
    }

    fn ids_of(&self, tasks: &[Node]) -> Vec<&str> {
        tasks.iter().map(|&task| self.id(task).as_str()).collect()
    }
}

/// Mermaid reads `#name;` entities and ends a label at a quote or a line break.
fn mermaid_text(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '"' => "#quot;".to_owned(),
            '#' => "#35;".to_owned(),
            '<' => "#lt;".to_owned(),
            '>' => "#gt;".to_owned(),
            c if c.is_control() => " ".to_owned(),
            c => c.to_string(),
        })
        .collect()
}

fn dot_text(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => " ".to_owned(),
            c => c.to_string(),
        })
        .collect()
}
