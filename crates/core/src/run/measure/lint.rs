//! How many findings a linter has, as the linters tell it: JSON of eslint, ruff, pylint, golangci-lint and shellcheck,
//! cargo's and rustc's messages, SARIF, lines with a place and a message, and what some print in the end.

use std::collections::HashSet;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::documents::documents;
use super::{Lint, plain};

/// `passed` is whether its exit code was 0.
pub fn read(text: &str, passed: bool) -> Lint {
    let text = plain(text);
    let findings = objects(&text).or_else(|| lists(&text)).or_else(|| printed(&text));
    // Silence is the one way in which all of them say that there is nothing.
    let silent = || (passed && text.trim().is_empty()).then_some(0);
    Lint { findings: findings.or_else(silent), passed }
}

/// One of several: which of them is told by the keys it has.
#[derive(Deserialize)]
struct Object {
    runs: Option<Vec<SarifRun>>,
    comments: Option<Vec<IgnoredAny>>,
    #[serde(rename = "Issues")]
    issues: Option<Vec<IgnoredAny>>,
    #[serde(rename = "Report")]
    report: Option<IgnoredAny>,
    reason: Option<String>,
    #[serde(rename = "$message_type")]
    message_type: Option<String>,
}

#[derive(Deserialize)]
struct SarifRun {
    #[serde(default)]
    results: Vec<SarifResult>,
}

#[derive(Deserialize)]
struct SarifResult {
    kind: Option<String>,
    #[serde(default)]
    suppressions: Vec<IgnoredAny>,
}

impl SarifResult {
    fn counts(&self) -> bool {
        self.suppressions.is_empty() && self.kind.as_deref().is_none_or(|kind| kind == "fail")
    }
}

#[derive(Deserialize)]
struct CargoMessage {
    message: Diagnostic,
}

#[derive(Deserialize)]
struct Diagnostic {
    message: String,
    level: String,
    #[serde(default)]
    spans: Vec<RustSpan>,
}

#[derive(Deserialize, PartialEq, Eq, Hash)]
struct RustSpan {
    file_name: String,
    line_start: u64,
    column_start: u64,
}

fn objects(text: &str) -> Option<u64> {
    let (mut known, mut count) = (false, 0_u64);
    let mut seen: HashSet<(String, Vec<RustSpan>)> = HashSet::new();
    for (object, own) in documents::<Object>(text, '{') {
        let rust = match (object.reason.as_deref(), object.message_type.as_deref()) {
            (Some("compiler-message"), _) => {
                serde_json::from_str(own).ok().map(|cargo: CargoMessage| cargo.message)
            }
            (None, Some("diagnostic")) => serde_json::from_str(own).ok(),
            _ => None,
        };
        known |= object.reason.is_some() || object.message_type.is_some();
        // A library and its tests are compiled both, and each tells the same.
        let is_new = |one: Diagnostic| is_finding(&one) && seen.insert((one.message, one.spans));
        count += u64::from(rust.is_some_and(is_new));
        let told = match object {
            Object { runs: Some(runs), .. } => {
                Some(runs.iter().flat_map(|run| &run.results).filter(|result| result.counts()).count())
            }
            Object { comments: Some(comments), .. } => Some(comments.len()),
            Object { issues: Some(issues), .. } => Some(issues.len()),
            Object { report: Some(_), .. } => Some(0),
            _ => None,
        };
        known |= told.is_some();
        count = count.saturating_add(told.unwrap_or_default() as u64);
    }
    known.then_some(count)
}

/// Sums such as "2 warnings emitted" have no place.
fn is_finding(one: &Diagnostic) -> bool {
    !one.spans.is_empty() && (one.level == "warning" || one.level.starts_with("error"))
}

/// A file with its findings, or one finding.
#[derive(Deserialize)]
struct Entry {
    messages: Option<Vec<IgnoredAny>>,
    #[serde(alias = "file", alias = "path")]
    filename: Option<String>,
}

fn lists(text: &str) -> Option<u64> {
    documents::<Vec<Entry>>(text, '[').find_map(|(entries, _)| {
        let each = entries.into_iter().map(|entry| match entry {
            Entry { messages: Some(messages), .. } => Some(messages.len() as u64),
            Entry { filename: Some(_), .. } => Some(1),
            Entry { .. } => None,
        });
        each.sum()
    })
}

fn printed(text: &str) -> Option<u64> {
    let mut places: HashSet<&str> = HashSet::new();
    let (mut summed, mut shown, mut clean, mut before) = (None, 0_u64, false, "");
    for line in text.lines() {
        if is_located(line) {
            places.insert(line);
        }
        summed = sum(line).or(summed);
        clean |= line.trim_start().starts_with("Finished `");
        let is_head = before.starts_with("warning") || before.starts_with("error");
        shown += u64::from(is_head && line.trim_start().starts_with("--> "));
        before = line;
    }
    match (places.len() as u64, summed, shown) {
        (0, None, 0) => clean.then_some(0),
        (0, None, shown) => Some(shown),
        (0, summed, _) => summed,
        (places, ..) => Some(places),
    }
}

/// `path:line: message` or `path:line:column: message`; remarks to another finding do not count.
fn is_located(line: &str) -> bool {
    let Some((path, message)) = located(line) else { return false };
    let is_path = !path.starts_with(char::is_whitespace)
        && !path.contains("://")
        && path.contains(['.', '/'])
        && path.contains(char::is_alphabetic);
    // Shellcheck calls its lesser findings so; with all others it belongs to the line before.
    let is_remark = (message.starts_with("note:") && !message.contains("[SC"))
        || message.starts_with("help:")
        || message.starts_with("In ");
    is_path && !message.is_empty() && !is_remark
}

fn located(line: &str) -> Option<(&str, &str)> {
    line.match_indices(':').find_map(|(at, _)| {
        let (path, rest) = (line.get(..at)?, line.get(at + 1..)?);
        let rest = numbered(rest)?;
        let rest = numbered(rest).unwrap_or(rest);
        Some((path, rest.strip_prefix(' ')?.trim()))
    })
}

/// What follows digits and a colon.
fn numbered(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < text.len()).then(|| rest.strip_prefix(':')).flatten()
}

/// What is said of all of them in the end: `✖ 7 problems (…`, `Found 4 errors.`, `3 issues:`, `7 problems`,
/// `2 files inspected, 1 offense detected`, `All checks passed!`.
fn sum(line: &str) -> Option<u64> {
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    if line.starts_with("All checks passed!") || line.ends_with(", no offenses detected") {
        return Some(0);
    }
    let line = line.strip_prefix('✖').or_else(|| line.strip_prefix("Found")).unwrap_or(line);
    let line = match line.split_once("inspected, ") {
        Some((_, offenses)) => offenses,
        None => line,
    };
    let mut words = line.split_whitespace();
    let (count, what) = (words.next()?.parse().ok()?, words.next()?);
    let what = what.trim_end_matches(['.', ':', ',']).trim_end_matches('s');
    ["problem", "error", "issue", "offense"].contains(&what).then_some(count)
}
