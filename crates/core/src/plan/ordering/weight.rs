//! What a task weighs: how risky it is, or how much is built on it. Told by words, files and dependents; a guess, with
//! its reasons.

use serde::Serialize;

use super::colouring::Files;
use crate::plan::graph::{Graph, Node};
use crate::plan::groups::without_marks;
use crate::plan::{Plan, Task, Work};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Low,
    Medium,
    High,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Low => "low",
            Level::Medium => "medium",
            Level::High => "high",
        }
    }
}

/// Points and what they were given for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Weight {
    pub points: u32,
    pub why: Vec<String>,
}

impl Weight {
    pub fn level(&self) -> Level {
        match self.points {
            0 => Level::Low,
            1 => Level::Medium,
            _ => Level::High,
        }
    }

    fn add(&mut self, points: u32, why: impl FnOnce() -> String) {
        if points > 0 {
            self.points += points;
            self.why.push(why());
        }
    }
}

/// Words of work that is hard to take back, or that many others notice.
const RISKS: [&str; 40] = [
    "migration",
    "migrations",
    "migrate",
    "auth",
    "authentication",
    "authorization",
    "authorisation",
    "oauth",
    "login",
    "password",
    "passwords",
    "security",
    "vulnerability",
    "encryption",
    "crypto",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "permission",
    "permissions",
    "delete",
    "deletion",
    "drop",
    "purge",
    "truncate",
    "deploy",
    "deployment",
    "production",
    "release",
    "rollback",
    "payment",
    "payments",
    "billing",
    "checkout",
    "invoice",
    "concurrency",
    "locking",
    "transaction",
    "transactions",
];

/// Words of work that others stand on.
const FOUNDATIONS: [&str; 27] = [
    "schema",
    "schemas",
    "model",
    "models",
    "config",
    "configuration",
    "setup",
    "scaffold",
    "scaffolding",
    "skeleton",
    "types",
    "base",
    "core",
    "common",
    "shared",
    "foundation",
    "infrastructure",
    "infra",
    "interface",
    "interfaces",
    "trait",
    "traits",
    "protocol",
    "bootstrap",
    "init",
    "initialise",
    "initialize",
];

/// From so many files on a change is a wide one, and a very wide one.
const MANY_FILES: usize = 4;
const VERY_MANY_FILES: usize = 10;

pub(super) fn risks(plan: &Plan) -> Vec<Weight> {
    let of = |task: &Task| {
        let mut weight = by_words(task, &RISKS);
        let files = task.files.len().max(task.learned_files().len());
        let points = u32::from(files >= MANY_FILES) + u32::from(files >= VERY_MANY_FILES);
        weight.add(points, || format!("{files} files"));
        weight
    };
    plan.tasks.iter().map(of).collect()
}

/// From so many others on, much is built on it.
const MUCH: usize = 3;
const ENOUGH: usize = 100;

pub(super) fn foundations(plan: &Plan, graph: &Graph, files: &Files) -> Vec<Weight> {
    let all: Vec<Node> = (0..plan.tasks.len() as Node).collect();
    let meetings = files.meetings(&all);
    let points = |count: usize| u32::from(count > 0) + u32::from(count >= MUCH);
    let of = |(place, task): (usize, &Task)| {
        let mut weight = by_words(task, &FOUNDATIONS);
        let behind = behind(graph, place as Node);
        weight.add(points(behind), || format!("{} for it", counted(behind, "task waits", "tasks wait")));
        let sharing = meetings.get(&(place as Node)).map_or(0, Vec::len);
        let told = || format!("{} its files", counted(sharing, "other task touches", "other tasks touch"));
        weight.add(points(sharing), told);
        weight
    };
    plan.tasks.iter().enumerate().map(of).collect()
}

/// How many tasks wait for this one, directly or not; counting stops at [`ENOUGH`].
fn behind(graph: &Graph, task: Node) -> usize {
    let mut seen = std::collections::HashSet::from([task]);
    let mut open = vec![task];
    let mut count = 0;
    while let Some(node) = open.pop().filter(|_| count < ENOUGH) {
        for edge in graph.dependents(node) {
            if seen.insert(edge.to) {
                count += usize::from(!graph.is_gate(edge.to));
                open.push(edge.to);
            }
        }
    }
    count.min(ENOUGH)
}

fn counted(count: usize, one: &str, many: &str) -> String {
    let more = if count >= ENOUGH { " or more" } else { "" };
    format!("{count}{more} {}", if count == 1 { one } else { many })
}

/// Two points for such words in its name, else one for such words in its text.
fn by_words(task: &Task, known: &[&str]) -> Weight {
    let mut weight = Weight::default();
    let named = found(&task.name, known);
    if !named.is_empty() {
        weight.add(2, || format!("its name says {}", named.join(", ")));
        return weight;
    }
    let text = match &task.work {
        Work::Prompt(prompt) => without_marks(prompt).into_owned(),
        Work::Run(command) => command.to_string(),
    };
    let said = found(&text, known);
    if !said.is_empty() {
        weight.add(1, || format!("its text says {}", said.join(", ")));
    }
    weight
}

/// The known words in a text, each once, in the order of the text.
fn found<'k>(text: &str, known: &[&'k str]) -> Vec<&'k str> {
    let mut found = Vec::new();
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '-')) {
        let word = word.to_lowercase();
        for &known in known {
            if word.split('-').any(|part| part == known) || word == known {
                found.push(known);
            }
        }
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|word| seen.insert(*word));
    found
}
