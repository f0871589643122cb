//! How hard a task looks, by its words and its shape. A guess: it orders, and never forbids anything.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::plan::groups::without_marks;
use crate::plan::{Task, Work};

/// How much each part counts. They need not add up to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Weights {
    pub reasoning: f64,
    pub code: f64,
    pub domain: f64,
    pub context: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights { reasoning: 0.35, code: 0.30, domain: 0.20, context: 0.15 }
    }
}

/// Each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// How much is to be thought out before anything is written.
    pub reasoning: f64,
    /// How much is to be written.
    pub code: f64,
    /// How much special knowledge it takes.
    pub domain: f64,
    /// How much else has to be known of the project.
    pub context: f64,
    pub total: f64,
}

/// Beginnings of words, so that "refactoring" counts like "refactor".
const REASONING: [&str; 28] = [
    "algorithm",
    "analys",
    "analyz",
    "architect",
    "bottleneck",
    "concurren",
    "consisten",
    "deadlock",
    "debug",
    "design",
    "diagnos",
    "distribut",
    "edge",
    "flaky",
    "invariant",
    "investigat",
    "leak",
    "migrat",
    "optimi",
    "prove",
    "race",
    "redesign",
    "refactor",
    "regress",
    "restructur",
    "rethink",
    "strateg",
    "trade",
];
const CODE: [&str; 17] = [
    "class",
    "compil",
    "endpoint",
    "engine",
    "feature",
    "framework",
    "function",
    "implement",
    "integrat",
    "interface",
    "library",
    "module",
    "parser",
    "port",
    "rewrite",
    "service",
    "system",
];
const DOMAIN: [&str; 26] = [
    "accessib",
    "auth",
    "billing",
    "cache",
    "cluster",
    "crypto",
    "database",
    "encrypt",
    "financ",
    "gpu",
    "graph",
    "kernel",
    "kubernetes",
    "legal",
    "medical",
    "network",
    "numeric",
    "payment",
    "privacy",
    "protocol",
    "realtime",
    "replicat",
    "secur",
    "sql",
    "transaction",
    "unsafe",
];

/// Further than this a text is not looked through: it is as long as can be by then.
const ENOUGH: usize = 64 << 10;

pub fn score(task: &Task, weights: &Weights) -> Score {
    let text = match &task.work {
        Work::Prompt(prompt) => without_marks(&prompt[..prompt.floor_char_boundary(ENOUGH)]),
        Work::Run(_) => Cow::Borrowed(""),
    };
    let text: &str = &text;
    let words: BTreeSet<String> =
        [task.name.as_str(), text, task.expected_deliverable.as_deref().unwrap_or("")]
            .iter()
            .flat_map(|text| text.split(|c: char| !c.is_alphanumeric()))
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
    let hits = |known: &[&str]| {
        known.iter().filter(|stem| words.iter().any(|word| word.starts_with(**stem))).count()
    };
    let files = task.files.len().max(task.learned_files().len());
    let length = text.split_whitespace().count();
    let steps = text.lines().filter(|line| is_step(line)).count();
    let reasoning = sum([part(hits(&REASONING), 2) * 0.9, part(length, 500)]);
    let code = sum([part(hits(&CODE), 3), part(files, 5), part(steps, 6)]);
    let domain = part(hits(&DOMAIN), 2);
    let context = sum([part(task.dependencies.len(), 4), part(length, 300), part(task.verify.len(), 8)]);
    let total = weighed(weights, [reasoning, code, domain, context]);
    Score { reasoning, code, domain, context, total }
}

/// How much of what is plenty there is.
fn part(count: usize, plenty: usize) -> f64 {
    count.min(plenty) as f64 / plenty as f64
}

/// Each of them alone can be enough.
fn sum<const N: usize>(parts: [f64; N]) -> f64 {
    parts.iter().sum::<f64>().min(1.0)
}

fn is_step(line: &str) -> bool {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ") || line.starts_with("* ") || (number != line && number.starts_with(['.', ')']))
}

fn weighed(weights: &Weights, parts: [f64; 4]) -> f64 {
    let weights = [weights.reasoning, weights.code, weights.domain, weights.context];
    let all: f64 = weights.iter().sum();
    if all <= 0.0 {
        return 0.0;
    }
    weights.iter().zip(parts).map(|(weight, part)| weight * part).sum::<f64>() / all
}
