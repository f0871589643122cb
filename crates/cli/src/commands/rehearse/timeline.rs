//! A run as bars on a line, as wide as the terminal and no wider.

use std::collections::HashSet;

use conductor_core::forecast::{Basis, Estimate, Forecast};
use conductor_core::plan::Plan;
use conductor_core::plan::graph::Node;
use conductor_core::values::counted::counted;

/// A chart narrower than this shows nothing.
const NARROWEST: usize = 10;
/// More rows than these cannot be read; then only the critical path is drawn.
const MOST: usize = 40;
const WIDEST_NAME: usize = 20;

struct Row<'a> {
    name: &'a str,
    start: u64,
    estimate: Estimate,
    critical: bool,
}

/// One line a task, in the order of their starts; what is on the critical path is drawn solid.
pub(super) fn draw(plan: &Plan, told: &Forecast, width: usize) -> String {
    let critical: HashSet<Node> = told.critical_path.tasks.iter().copied().collect();
    let places: std::collections::HashMap<_, _> =
        plan.tasks.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
    let rows: Vec<Row<'_>> = told
        .rehearsal
        .starts
        .iter()
        .map(|(id, start)| Row {
            name: id.as_str(),
            start: start.0,
            estimate: told.estimates[places[id]],
            critical: critical.contains(&(places[id] as Node)),
        })
        .collect();
    let all = rows.len();
    let rows: Vec<Row<'_>> = rows.into_iter().filter(|row| all <= MOST || row.critical).take(MOST).collect();
    let mut text = lines(&rows, told.rehearsal.makespan.0.max(1), width);
    if rows.len() < all {
        text += &format!("and {} more\n", all - rows.len());
    }
    text
}

fn lines(rows: &[Row<'_>], makespan: u64, width: usize) -> String {
    let names = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).min(WIDEST_NAME);
    let notes: Vec<String> = rows.iter().map(|row| note(row.estimate)).collect();
    let widest = notes.iter().map(|note| note.chars().count()).max().unwrap_or(0);
    let wanted = names + 2 + NARROWEST + 2 + widest;
    // Where it is tight the notes go first, for they are in --json too.
    let (notes, widest) = match wanted <= width {
        true => (notes, widest),
        false => (rows.iter().map(|row| row.estimate.expected.to_string()).collect(), 7),
    };
    let chart = width.saturating_sub(names + 2 + 2 + widest).max(NARROWEST);
    let mut text = String::new();
    for (row, note) in rows.iter().zip(notes) {
        let line = format!("{:<names$}  {}  {note}", short(row.name, names), bar(row, makespan, chart));
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn short(name: &str, most: usize) -> String {
    match name.len() <= most {
        true => name.to_owned(),
        false => format!("{}…", &name[..most.saturating_sub(1)]),
    }
}

fn bar(row: &Row<'_>, makespan: u64, width: usize) -> String {
    let column = |at: u64| (u128::from(at) * width as u128 / u128::from(makespan)) as usize;
    let from = column(row.start).min(width - 1);
    let to = column(row.start + row.estimate.expected.0).clamp(from + 1, width);
    let mark = if row.critical { "█" } else { "░" };
    format!("{}{}{}", " ".repeat(from), mark.repeat(to - from), " ".repeat(width - to))
}

/// What the length of a bar rests on.
fn note(estimate: Estimate) -> String {
    let Estimate { expected, low, high, basis } = estimate;
    match basis {
        Basis::Given => format!("{expected} estimate"),
        Basis::History(1) => format!("{expected} 1 run"),
        Basis::History(samples) => format!("{expected} ({low}–{high}) {}", counted(samples, "run")),
        Basis::Similar(samples) => format!("{expected} ({low}–{high}) {samples} alike"),
        Basis::Default => format!("{expected} ({low}–{high}) guess"),
    }
}

#[cfg(test)]
mod tests {
    use conductor_core::values::units::Millis;

    use super::*;

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let estimate = |seconds, basis| {
            let expected = Millis::from_secs(seconds);
            Estimate { expected, low: Millis(expected.0 / 3), high: Millis(expected.0 * 3), basis }
        };
        let rows = [
            Row { name: "a", start: 0, estimate: estimate(60, Basis::Default), critical: true },
            Row {
                name: "a-task-with-a-name-as-long-as-they-may-be-in-a-file",
                start: 60_000,
                estimate: estimate(600, Basis::History(3)),
                critical: false,
            },
            Row { name: "instant", start: 660_000, estimate: estimate(0, Basis::Given), critical: false },
        ];
        for width in [40, 60, 80, 200] {
            let drawn = lines(&rows, 660_000, width);
            let widest = drawn.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{width}:\n{drawn}");
            assert_eq!(drawn.lines().count(), 3);
        }
        insta::assert_snapshot!(lines(&rows, 660_000, 80));
    }
}
