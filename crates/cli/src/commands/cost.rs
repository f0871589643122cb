//! `conductor cost`: what runs have used, by task, epic, model, agent, day or run.

use std::collections::BTreeSet;

use conductor_core::run::costs::{self, By, Line, NONE};
use conductor_core::run::event::{Event, Planning, Record, Usage};
use conductor_core::values::counted::counted;
use conductor_core::values::units::{Tick, Timestamp};
use serde::Serialize;

use super::{answer, answer_json, block_on};
use crate::archive::{Archive, nothing_here};
use crate::args;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::table::columns;

const SCHEMA: &str = "conductor.cost/1";

#[derive(Debug, Serialize)]
struct Sheet {
    schema: &'static str,
    by: &'static str,
    /// The runs it is about, oldest first.
    runs: Vec<String>,
    /// Plans that no run accounts for, where they are part of it, oldest first.
    plans: Vec<String>,
    lines: Vec<Entry>,
    total: Entry,
}

#[derive(Debug, Serialize)]
struct Entry {
    key: Option<String>,
    /// `task` or `planning`; nothing of all together.
    kind: Option<&'static str>,
    attempts: u32,
    /// Attempts that ended without a word of what they used.
    untold_attempts: u32,
    turns: u32,
    tokens: u64,
    /// Nothing where a part of it has no known price.
    cost_usd: Option<f64>,
    known_cost_usd: f64,
    unpriced_tokens: u64,
}

pub(crate) fn run(args: &args::Cost) -> Result<Exit, CliError> {
    block_on(tell(args))
}

async fn tell(args: &args::Cost) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let mut runs = match &args.run {
        Some(word) => archive.candidates(Some(word))?,
        None => archive.here()?,
    };
    let plans = if args.run.is_none() { unused(&archive)? } else { Vec::new() };
    if runs.is_empty() && plans.is_empty() {
        return Err(nothing_here());
    }
    let with_plans = args.all || runs.is_empty();
    if !args.all {
        runs.truncate(1);
    }
    let mut logs = Vec::new();
    for stored in runs.iter().rev() {
        let found = match args.all {
            true => archive.read_or_leave_out(stored).await,
            false => Some(archive.read(stored).await?),
        };
        logs.extend(found.map(|found| (stored.id.to_string(), found.records)));
    }
    let told = Told::new(args.by, &logs, plans, with_plans);
    match args.json {
        true => answer_json(&told.sheet())?,
        false => answer(&table(&told))?,
    }
    Ok(Exit::Done)
}

/// Plans from here that no run there is accounts for.
fn unused(archive: &Archive) -> Result<Vec<Planning>, CliError> {
    let plans = archive.plans_here()?.into_iter();
    let alone = plans.filter(|plan| plan.run.as_ref().is_none_or(|run| archive.known(run).is_none()));
    Ok(alone.filter_map(|plan| plan.kept.map(|kept| kept.planning)).collect())
}

/// What is to be shown.
struct Told {
    by: By,
    runs: Vec<String>,
    plans: Vec<String>,
    lines: Vec<Line>,
    total: Line,
    /// Plans that are not part of it, and what they used.
    besides: (usize, Usage),
}

impl Told {
    fn new(by: By, logs: &[(String, Vec<Record>)], mut plans: Vec<Planning>, with_plans: bool) -> Told {
        let records = logs.iter().flat_map(|(_, records)| records);
        let accounted: BTreeSet<&str> = records.filter_map(of_plan).collect();
        plans.retain(|planning| !accounted.contains(planning.plan.as_str()));
        let made: Vec<(String, Vec<Record>)> = plans.into_iter().map(as_log).collect();
        let (made, besides) = if with_plans { (made, Vec::new()) } else { (Vec::new(), made) };
        let lines = sum(by, logs.iter().chain(&made));
        Told {
            by,
            runs: logs.iter().map(|(run, _)| run.clone()).collect(),
            plans: made.iter().map(|(plan, _)| plan.clone()).collect(),
            total: costs::total(&lines),
            lines,
            besides: (besides.len(), costs::total(&sum(by, &besides)).usage),
        }
    }

    fn sheet(self) -> Sheet {
        let kind = |line: &Line| Some(if line.planning { "planning" } else { "task" });
        Sheet {
            schema: SCHEMA,
            by: self.by.name(),
            runs: self.runs,
            plans: self.plans,
            lines: self.lines.into_iter().map(|line| Entry { kind: kind(&line), ..entry(line) }).collect(),
            total: entry(self.total),
        }
    }
}

fn sum<'a>(by: By, logs: impl IntoIterator<Item = &'a (String, Vec<Record>)>) -> Vec<Line> {
    costs::lines(logs.into_iter().map(|(run, records)| (run.as_str(), records.as_slice())), by, offset)
}

fn of_plan(record: &Record) -> Option<&str> {
    match &record.event {
        Event::PlanningAccounted { planning } => Some(&planning.plan),
        _ => None,
    }
}

/// As if a run had been made of it and nothing more had happened.
fn as_log(planning: Planning) -> (String, Vec<Record>) {
    let (plan, at) = (planning.plan.clone(), planning.at);
    let event = Event::PlanningAccounted { planning: Box::new(planning) };
    (plan, vec![Record { seq: 1, at, tick: Tick(0), event }])
}

/// How far local time is ahead at a moment, in seconds.
fn offset(at: Timestamp) -> i64 {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    i64::from(jiff::tz::TimeZone::system().to_offset(moment).seconds())
}

fn entry(line: Line) -> Entry {
    Entry {
        key: (line.key != NONE).then_some(line.key),
        kind: None,
        attempts: line.attempts,
        untold_attempts: line.untold,
        turns: line.usage.turns,
        tokens: line.usage.tokens,
        cost_usd: costs::dollars(line.usage),
        known_cost_usd: line.usage.cost.dollars(),
        unpriced_tokens: line.usage.unpriced,
    }
}

/// As people read it; what planning used has no task, and may have the name of an agent or a model that did tasks too.
fn name(line: &Line) -> String {
    match (line.planning, line.key.as_str()) {
        (true, NONE) => "(planning)".to_owned(),
        (true, key) => format!("{} (planning)", one_line(key)),
        (false, key) => one_line(key),
    }
}

fn table(told: &Told) -> String {
    let Told { by, runs, plans, lines, total, besides } = told;
    let head = match (runs.as_slice(), plans.len()) {
        ([one], 0) => format!("run {one}\n"),
        ([], plans) => format!("{}\n", counted(plans, "plan")),
        (several, 0) => format!("{}\n", counted(several.len(), "run")),
        (several, plans) => format!("{} and {}\n", counted(several.len(), "run"), counted(plans, "plan")),
    };
    if lines.is_empty() {
        return format!("{head}no agent has told what it used\n{}", aside(*besides));
    }
    let row = |line: &Line| {
        let cost = match line.untold == line.attempts && line.attempts > 0 {
            true => "not told".to_owned(),
            false => costs::words(line.usage),
        };
        let (attempts, turns, tokens) =
            (line.attempts.to_string(), line.usage.turns.to_string(), line.usage.tokens.to_string());
        [name(line), attempts, turns, tokens, cost]
    };
    let mut rows: Vec<[String; 5]> = lines.iter().map(row).collect();
    if lines.len() > 1 {
        rows.push(row(total));
    }
    let mut text = head + &columns([&by.name().to_uppercase(), "ATTEMPTS", "TURNS", "TOKENS", "COST"], rows);
    if total.usage.unpriced > 0 {
        text +=
            "\nunknown: no price is known for these tokens; give one under `prices:` in the file's config\n";
    }
    if total.untold > 0 {
        let attempts = counted(total.untold, "attempt");
        text += &format!("\n{attempts} did not report usage\n");
    }
    text + &aside(*besides)
}

/// What else was used here and belongs to no run.
fn aside((plans, usage): (usize, Usage)) -> String {
    match plans {
        0 => String::new(),
        plans => {
            let (plans, cost) = (counted(plans, "plan"), costs::words(usage));
            let tokens = counted(usage.tokens, "token");
            format!("\nbesides, {plans} made here: {tokens}, {cost}; see `conductor cost --all`\n")
        }
    }
}
