//! `race`, `attempts_in_parallel` and `race_for`: one task done several ways.

use std::collections::HashMap;

use crate::plan::{Changes, Entrant, Isolation, Plan, Task, Wins, Work};
use crate::values::ids::TaskId;

use super::decode::{choice, count, each, text};
use super::diagnostic::{Report, shown};
use super::fields::Fields;
use super::keys::{ENTRANT, MAX_ENTRANTS, MIN_ENTRANTS};
use super::source::Span;
use super::tree::{Node, Value};

/// A race as it is written.
pub(super) struct RaceDraft {
    entrants: Vec<Entrant>,
    wins: Wins,
    span: Span,
}

pub(super) fn read(r: &mut Report<'_>, fields: &mut Fields<'_>) -> Option<RaceDraft> {
    let race = fields.take("race").filter(|(_, node)| !node.is_null());
    let copies = fields.take("attempts_in_parallel").filter(|(_, node)| !node.is_null());
    let by = fields.take("race_for").filter(|(_, node)| !node.is_null());
    let wins =
        by.and_then(|(_, node)| choice(&[("first", Wins::First), ("best", Wins::Best)])(r, "race_for", node));
    let (entrants, span) = match (race, copies) {
        (Some((first, _)), Some((second, _))) => {
            r.error("bad-race", second.span, "a task is raced for by agents or by attempts, not both")
                .also(first.span, "the agents are here")
                .help("a name may stand in 'race' several times");
            return None;
        }
        (Some((key, node)), None) => (listed(r, node)?, key.span),
        (None, Some((key, node))) => {
            let copies: usize = count(MIN_ENTRANTS..=MAX_ENTRANTS)(r, "attempts_in_parallel", node)?;
            (vec![Entrant::default(); copies], key.span)
        }
        (None, None) => {
            if let Some((key, _)) = by {
                r.error("bad-race", key.span, "'race_for' says who wins a race, but this task has no race")
                    .help("name the agents in 'race', or their number in 'attempts_in_parallel'");
            }
            return None;
        }
    };
    Some(RaceDraft { entrants, wins: wins.unwrap_or_default(), span })
}

fn listed(r: &mut Report<'_>, node: &Node) -> Option<Vec<Entrant>> {
    let written = match &node.value {
        Value::Seq(items) => items.len(),
        _ => 1,
    };
    if !(MIN_ENTRANTS..=MAX_ENTRANTS).contains(&(written as u64)) {
        let message = format!("'race' wants {MIN_ENTRANTS} to {MAX_ENTRANTS} agents, found {written}");
        r.error("out-of-range", node.span, message).help("a list such as [claude, codex]");
        return None;
    }
    let entrants = each(r, "race", node, "a list of agents", entrant)?;
    (entrants.len() == written).then_some(entrants)
}

fn entrant(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Entrant> {
    if node.entries().is_none() {
        return Some(Entrant { agent: Some(text(r, what, node)?), model: None });
    }
    let mut fields = Fields::of(r, "one who races", ENTRANT, node)?;
    let agent = fields.need(r, "agent", text);
    let model = fields.get(r, "model", text);
    fields.finish(r, |_| false);
    Some(Entrant { agent: Some(agent?), model })
}

/// Puts those who race behind the task they race for. Everything that is wrong with one is reported.
pub(super) fn enter(r: &mut Report<'_>, plan: &mut Plan, races: Vec<Option<RaceDraft>>) {
    if races.iter().all(Option::is_none) {
        return;
    }
    let shared: Vec<String> = plan.shared_epics().into_iter().map(str::to_owned).collect();
    let mut taken: HashMap<String, TaskId> =
        plan.tasks.iter().map(|task| (task.id.as_str().to_lowercase(), task.id.clone())).collect();
    let tasks = std::mem::take(&mut plan.tasks);
    for (mut task, race) in tasks.into_iter().zip(races) {
        let entrants = race.filter(|race| fits(r, &task, race, &shared)).map(|race| {
            let entrants = named(r, &task, &race, &mut taken).then(|| task.raced(&race.entrants, race.wins));
            entrants.and_then(Result::ok).unwrap_or_default()
        });
        plan.tasks.push(task);
        plan.tasks.extend(entrants.unwrap_or_default());
    }
}

/// Whether such a task can be done several ways at once.
fn fits(r: &mut Report<'_>, task: &Task, race: &RaceDraft, shared: &[String]) -> bool {
    let epic = task.epic.as_ref().filter(|epic| shared.contains(epic));
    let wrong = [
        (matches!(task.work, Work::Run(_)), "a command is not raced for", "give the task a prompt"),
        (
            task.changes == Changes::Forbidden,
            "a task that may change nothing has nothing to land, and so is not raced for",
            "leave 'changes: forbidden' out, or the race",
        ),
        (
            task.isolation == Some(Isolation::None),
            "who races needs a workspace of its own",
            "leave 'isolation: none' out, or the race",
        ),
        (
            epic.is_some(),
            "its epic shares one workspace, in which only one can work",
            "give the epic isolation_scope: task",
        ),
    ];
    let wrong: Vec<_> = wrong.into_iter().filter(|(is_so, _, _)| *is_so).collect();
    for (_, message, help) in &wrong {
        r.error("bad-race", race.span, format!("task {}: {message}", shown(task.id.as_str()))).help(*help);
    }
    wrong.is_empty()
}

/// Whether the entrants' ids are valid and not taken.
fn named(r: &mut Report<'_>, task: &Task, race: &RaceDraft, taken: &mut HashMap<String, TaskId>) -> bool {
    let own = shown(task.id.as_str());
    let ids = match task.entrant_ids(&race.entrants) {
        Ok(ids) => ids,
        Err(bad) => {
            r.error("bad-id", race.span, format!("those who race for task {own} cannot be named: {bad}"))
                .help("they are called by the task's id and their agent's name; give the task a shorter id");
            return false;
        }
    };
    let mut free = true;
    for id in ids {
        if let Some(other) = taken.insert(id.as_str().to_lowercase(), id.clone()) {
            let message = format!("one who races for task {own} would be called {}", shown(id.as_str()));
            r.error("duplicate-id", race.span, message)
                .help(format!("there is a task {} already; rename that one", shown(other.as_str())));
            free = false;
        }
    }
    free
}
