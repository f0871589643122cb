//! `conductor cost`: what runs have used, by task, epic, model, agent, day or run.

use conductor_core::costs::{self, By, Line, NONE};
use conductor_core::units::Timestamp;
use serde::Serialize;

use super::{answer, answer_json, block_on};
use crate::archive::Archive;
use crate::args;
use crate::end_block::one_line;
use crate::fault::{Exit, Fault};
use crate::table::columns;

const SCHEMA: &str = "conductor.cost/1";

#[derive(Debug, Serialize)]
struct Sheet {
    schema: &'static str,
    by: &'static str,
    /// The runs it is about, oldest first.
    runs: Vec<String>,
    lines: Vec<Entry>,
    total: Entry,
}

#[derive(Debug, Serialize)]
struct Entry {
    key: Option<String>,
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

pub(crate) fn run(args: &args::Cost) -> Result<Exit, Fault> {
    block_on(tell(args))
}

async fn tell(args: &args::Cost) -> Result<Exit, Fault> {
    let archive = Archive::open().await?;
    let mut runs = archive.candidates(args.run.as_deref())?;
    if !args.all {
        runs.truncate(1);
    }
    let mut logs = Vec::new();
    for stored in runs.iter().rev() {
        logs.push((stored.id.to_string(), archive.read(stored).await?.records));
    }
    let told = logs.iter().map(|(run, records)| (run.as_str(), records.as_slice()));
    let lines = costs::lines(told, args.by, offset);
    let total = costs::total(&lines);
    let runs: Vec<String> = logs.into_iter().map(|(run, _)| run).collect();
    match args.json {
        true => answer_json(&Sheet {
            schema: SCHEMA,
            by: args.by.name(),
            runs,
            lines: lines.into_iter().map(entry).collect(),
            total: entry(total),
        })?,
        false => answer(&table(args.by, &runs, &lines, &total))?,
    }
    Ok(Exit::Done)
}

/// How far local time is ahead at a moment, in seconds.
fn offset(at: Timestamp) -> i64 {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    i64::from(jiff::tz::TimeZone::system().to_offset(moment).seconds())
}

fn entry(line: Line) -> Entry {
    Entry {
        key: (line.key != NONE).then_some(line.key),
        attempts: line.attempts,
        untold_attempts: line.untold,
        turns: line.usage.turns,
        tokens: line.usage.tokens,
        cost_usd: costs::dollars(line.usage),
        known_cost_usd: line.usage.cost.dollars(),
        unpriced_tokens: line.usage.unpriced,
    }
}

fn table(by: By, runs: &[String], lines: &[Line], total: &Line) -> String {
    let head = match runs {
        [one] => format!("run {one}\n"),
        several => format!("{} runs\n", several.len()),
    };
    if lines.is_empty() {
        return format!("{head}no agent was at work\n");
    }
    let row = |line: &Line| {
        let cost = match line.untold == line.attempts && line.attempts > 0 {
            true => "not told".to_owned(),
            false => costs::words(line.usage),
        };
        let (attempts, turns, tokens) =
            (line.attempts.to_string(), line.usage.turns.to_string(), line.usage.tokens.to_string());
        [one_line(&line.key), attempts, turns, tokens, cost]
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
        let plural = if total.untold == 1 { "" } else { "s" };
        text += &format!("\n{} attempt{plural} ended without a word of what was used\n", total.untold);
    }
    text
}
