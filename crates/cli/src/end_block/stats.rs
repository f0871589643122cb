//! Where a run's time and money went, what it was expected to take, and what its ledger counts.

use std::fmt::Write as _;

use conductor_core::report::ledger::Ledger;
use conductor_core::report::{Accuracy, Summary, TimeSpent};
use conductor_core::run::Run;
use conductor_core::run::costs;
use conductor_core::values::counted::{counted, size};

use super::{Block, Page, one_line};

const MODELS: usize = 5;
/// With more slots than this, each is not worth a word.
const NAMED_SLOTS: usize = 6;

pub(super) fn all(page: &mut Page, block: &Block<'_>, summary: &Summary) {
    times(page, summary, &TimeSpent::of(block.run, block.graph));
    models(page, block.run);
    let accuracy = Accuracy::of(block.run);
    if accuracy.median_error().is_some() {
        page.say("guess", &accuracy.words());
    }
    if let Some(ledger) = block.ledger {
        page.say("ledger", &counts(ledger));
    }
    page.gap();
}

/// What was said, and what is there.
pub(super) fn counts(ledger: &Ledger) -> String {
    let Ledger { claimed, verified, landed, .. } = ledger;
    let (lost, leaked) = (ledger.lost.len(), ledger.leaked.len());
    format!("{claimed} claimed, {verified} verified, {landed} landed; {lost} lost, {leaked} leaked")
}

/// How long it took and could have taken, where that went, and who did it. What was not measured is not here.
fn times(page: &mut Page, summary: &Summary, spent: &TimeSpent) {
    let time = format!(
        "{} in {}; at best {} with {} at a time, critical path {}",
        summary.elapsed,
        counted(summary.executors, "slot"),
        spent.at_best,
        spent.slots,
        summary.critical_path
    );
    page.say("time", &time);
    let (after, parts): (Vec<_>, Vec<_>) =
        spent.parts().into_iter().partition(|(name, _)| *name == "merging");
    let list = |waiting: bool| {
        let some = parts.iter().filter(|(name, _)| name.starts_with("waiting") == waiting);
        let words = some.map(|(name, length)| format!("{length} {}", name.trim_start_matches("waiting ")));
        words.collect::<Vec<_>>().join(", ")
    };
    let mut work = summary.worked.to_string();
    if !list(false).is_empty() {
        let _ = write!(work, ": {}", list(false));
    }
    for (name, length) in after {
        let _ = write!(work, "; then {length} {name}");
    }
    page.say("work", &work);
    if let Some(processes) = spent.times.processes {
        let together =
            processes.peak_together().map(|memory| format!(", {} at most in one task", size(memory)));
        let memory = processes.peak().map(|memory| format!(", {} at most in one process", size(memory)));
        let memory = together.or(memory);
        page.say("cpu", &format!("{} of processor time{}", processes.cpu, memory.unwrap_or_default()));
    }
    if !list(true).is_empty() {
        page.say("waited", &list(true));
    }
    if let Some(shares) = shares(&spent.per_slot) {
        page.say("shares", &shares);
    }
}

/// How many tasks were done in each of several slots.
fn shares(done: &[u32]) -> Option<String> {
    let (least, most) = (done.iter().min()?, done.iter().max()?);
    match done.len() {
        1 => None,
        2..=NAMED_SLOTS => {
            let each = done.iter().enumerate().map(|(at, done)| {
                let tasks = if at == 0 { counted(*done, "task") } else { done.to_string() };
                format!("{tasks} in slot {}", at + 1)
            });
            Some(each.collect::<Vec<_>>().join(", "))
        }
        slots if least == most => Some(format!("{} in each of {slots} slots", counted(*least, "task"))),
        slots => Some(format!("{least} to {} in each of {slots} slots", counted(*most, "task"))),
    }
}

/// What each of several models cost.
fn models(page: &mut Page, run: &Run) {
    let mut models: Vec<_> = run.models().iter().collect();
    models.sort_by_key(|(_, usage)| std::cmp::Reverse((usage.cost, usage.tokens)));
    if models.len() < 2 {
        return;
    }
    for (at, (model, usage)) in models.iter().take(MODELS).enumerate() {
        let (model, cost) = (one_line(model), costs::words(**usage));
        let words = format!("{model} {cost}, {}", counted(usage.tokens, "token"));
        page.say(if at == 0 { "models" } else { "" }, &words);
    }
    let rest = models.len().saturating_sub(MODELS);
    if rest > 0 {
        page.say("", &format!("and {rest} more: conductor cost --by model"));
    }
}
