//! A task's failures explained: which ways out it names, what is risky about it, what was decided.

use conductor_core::plan::Task;
use conductor_core::plan::recovery::Strategy;
use conductor_core::schedule::recovery::{self};
use serde_json::{Value, json};

use super::Subject;
use crate::end_block::one_line;

/// What it says itself about its failures.
pub(super) fn ways(task: &Task) -> String {
    let Some(own) = &task.recovery else { return String::new() };
    let listed = |ways: &[Strategy]| ways.iter().map(|way| way.name()).collect::<Vec<_>>().join(", then ");
    let natures =
        [("transient", &own.transient), ("permanent", &own.permanent), ("ambiguous", &own.ambiguous)];
    let natures = natures.into_iter().filter(|(_, ways)| !ways.is_empty());
    let natures = natures.map(|(name, ways)| format!("{name}: {}", listed(ways)));
    let patterns = own
        .patterns
        .iter()
        .map(|pattern| format!("\"{}\" is {}", one_line(&pattern.words), pattern.nature.name()));
    natures.chain(patterns).collect::<Vec<_>>().join("\n")
}

pub(super) fn risks(task: &Task) -> String {
    let told = recovery::risks(task)
        .into_iter()
        .map(|(risk, words)| format!("{}: {}", risk.name(), one_line(&words)));
    let told = told.collect::<Vec<_>>().join("\n");
    if told.is_empty() { told } else { told + "\na checkpoint is made before it begins, in a repository" }
}

/// What was done about its failures.
pub(super) fn decided(subject: &Subject) -> Vec<String> {
    let Some(found) = &subject.found else { return Vec::new() };
    let own = found.found.run.decisions().iter().filter(|one| one.task == subject.task().id);
    own.map(|one| format!("attempt {}, {}: {}", one.attempt, one.strategy.name(), one_line(&one.words())))
        .collect()
}

pub(super) fn decided_json(subject: &Subject) -> Vec<Value> {
    let all = subject.found.as_ref().map_or(&[][..], |found| found.found.run.decisions());
    let own = all.iter().filter(|one| one.task == subject.task().id);
    own.map(|one| {
        json!({ "attempt": one.attempt, "nature": one.nature, "strategy": one.strategy, "reason": one.reason })
    })
    .collect()
}
