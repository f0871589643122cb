//! How much of the code is tested, as the tools tell it: lcov, Cobertura, JSON of llvm-cov, coverage.py and Istanbul,
//! and the tables and lines that these, Go, lcov and tarpaulin print.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::documents::documents;
use super::{Percent, plain};

/// Of lines, or of statements where the tool counts those; nothing where no total is found.
pub fn read(text: &str) -> Option<Percent> {
    let text = plain(text);
    json(&text).or_else(|| cobertura(&text)).or_else(|| lcov(&text)).or_else(|| printed(&text))
}

/// One of three: `data` is llvm-cov's, `totals` coverage.py's, `total` Istanbul's.
#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    data: Vec<Export>,
    totals: Option<PythonTotals>,
    total: Option<IstanbulTotal>,
}

#[derive(Deserialize)]
struct Export {
    totals: ExportTotals,
}

#[derive(Deserialize)]
struct ExportTotals {
    lines: Counted,
}

#[derive(Deserialize)]
struct Counted {
    count: u64,
    covered: u64,
}

#[derive(Deserialize)]
struct PythonTotals {
    percent_covered: f64,
}

#[derive(Deserialize)]
struct IstanbulTotal {
    lines: Pct,
}

/// `"Unknown"` where there is nothing to cover.
#[derive(Deserialize)]
struct Pct {
    pct: Value,
}

fn json(text: &str) -> Option<Percent> {
    documents::<Report>(text, '{').find_map(|(report, _)| {
        if !report.data.is_empty() {
            let sum = |part: fn(&Counted) -> u64| {
                report.data.iter().map(|one| part(&one.totals.lines)).fold(0, u64::saturating_add)
            };
            return Percent::of(sum(|lines| lines.covered), sum(|lines| lines.count));
        }
        let python = report.totals.and_then(|totals| Percent::new(totals.percent_covered));
        python.or_else(|| Percent::new(report.total?.lines.pct.as_f64()?))
    })
}

fn cobertura(text: &str) -> Option<Percent> {
    let tag = text.split("<coverage").skip(1).find_map(|rest| {
        let tag = rest.split('>').next()?;
        tag.contains("line-rate=").then_some(tag)
    })?;
    let number = |name: &str| -> Option<f64> {
        let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
        rest.split('"').next()?.trim().parse().ok()
    };
    let counted = number("lines-covered").zip(number("lines-valid"));
    let exact = counted.and_then(|(covered, valid)| Percent::of(covered as u64, valid as u64));
    exact.or_else(|| Percent::new(number("line-rate")? * 100.0))
}

/// A file may be told of several times: a line counts once, and as covered where any of them has it so.
fn lcov(text: &str) -> Option<Percent> {
    let (mut file, mut found, mut hit) = (None, 0_u64, 0_u64);
    let mut lines: HashMap<(&str, u64), bool> = HashMap::new();
    for line in text.lines().map(str::trim) {
        let Some((key, value)) = line.split_once(':') else { continue };
        match (key, file) {
            ("SF", _) => file = Some(value),
            ("DA", Some(file)) => {
                let mut parts = value.split(',');
                let number = parts.next().and_then(|part| part.trim().parse().ok());
                let hits = parts.next().and_then(|part| part.trim().parse::<f64>().ok());
                if let (Some(number), Some(hits)) = (number, hits) {
                    *lines.entry((file, number)).or_default() |= hits > 0.0;
                }
            }
            ("LF", Some(_)) => found = found.saturating_add(value.trim().parse().unwrap_or(0)),
            ("LH", Some(_)) => hit = hit.saturating_add(value.trim().parse().unwrap_or(0)),
            _ => {}
        }
    }
    match lines.is_empty() {
        false => Percent::of(lines.values().filter(|hit| **hit).count() as u64, lines.len() as u64),
        true => Percent::of(hit, found),
    }
}

/// The last total that is printed. Go tells one for each package and none of them all, unless it is asked for it: several
/// that differ make no figure.
fn printed(text: &str) -> Option<Percent> {
    let (mut total, mut column, mut packages) = (None, None, Vec::new());
    for line in text.lines() {
        if line.contains("% Lines") {
            column = line.split('|').position(|name| name.trim() == "% Lines");
        }
        total = row(line, column).or(total);
        packages.extend(package(line));
    }
    packages.dedup();
    match (total, packages.as_slice()) {
        (None, [one]) => Some(*one),
        (total, _) => total,
    }
}

fn row(line: &str, column: Option<usize>) -> Option<Percent> {
    let line = line.trim();
    if line.starts_with("All files") {
        return Percent::new(line.split('|').nth(column?)?.trim().parse().ok()?);
    }
    let mut words = line.split([' ', '\t', '|', '*']).filter(|word| !word.is_empty());
    let first = words.next()?;
    match first {
        // coverage.py has one column of shares, llvm-cov has those of regions, functions and lines.
        "TOTAL" => {
            let shares = words.filter(|word| word.ends_with('%')).map(share);
            match shares.collect::<Option<Vec<_>>>()?.as_slice() {
                [one] => Some(*one),
                [_, _, lines, ..] => Some(*lines),
                _ => None,
            }
        }
        "total:" => line.contains("(statements)").then(|| words.filter_map(share).next_back()).flatten(),
        _ if share(first).is_some() => words.next().filter(|word| *word == "coverage,").and(share(first)),
        // `Lines        : 66.66% ( 4/6 )`, `lines......: 85.7% (6 of 7 lines)`, `Line Coverage: 87.5%`.
        _ if first.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("line")) => {
            line.split_once(':')?.1.split_whitespace().next().and_then(share)
        }
        _ => None,
    }
}

fn package(line: &str) -> Option<Percent> {
    let (_, rest) = line.split_once("coverage: ")?;
    let (share, _) = rest.split_once("% of statements")?;
    Percent::new(share.trim().parse().ok()?)
}

fn share(word: &str) -> Option<Percent> {
    Percent::new(word.strip_suffix('%')?.parse().ok()?)
}
