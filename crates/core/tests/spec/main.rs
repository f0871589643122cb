//! Task files through the public door: text in, a plan or everything that is wrong with it out.

mod amounts;
mod corpus;
mod dialects;
mod edit;
mod edit_random;
mod full;
mod hostile;
mod idle;
mod layers;
mod mistakes;
mod names;
mod own_plan;
mod race;
mod schema;
mod trust;
mod yaml;

use conductor_core::file::{Diagnostic, Severity, Source, load};
use conductor_core::plan::{Plan, Task};

pub fn source(text: &str) -> Source {
    Source::new("tasks.yaml", text.as_bytes().to_vec()).expect("readable text")
}

/// The plan of a file that has no errors.
pub fn plan(text: &str) -> Plan {
    let source = source(text);
    load(&source).unwrap_or_else(|found| panic!("{}", render(&source, &found))).plan
}

pub fn task(text: &str) -> Task {
    plan(text).tasks.into_iter().next().expect("one task")
}

/// Everything said about a file, also when it loads.
pub fn said(text: &str) -> String {
    let source = source(text);
    match load(&source) {
        Ok(loaded) => render(&source, &loaded.warnings),
        Err(found) => render(&source, &found),
    }
}

/// `line:column code message [other places] (help)`, a warning marked by a `?`.
pub fn render(source: &Source, found: &[Diagnostic]) -> String {
    found.iter().map(|found| line(source, found)).collect::<Vec<_>>().join("\n")
}

fn line(source: &Source, found: &Diagnostic) -> String {
    let place = |byte| {
        let (line, column) = source.position(byte);
        format!("{line}:{column}")
    };
    let mark = if found.severity == Severity::Warning { "?" } else { "" };
    let mut text = format!("{} {}{mark} {}", place(found.span.start), found.code, found.message);
    for (span, note) in &found.related {
        text += &format!(" [{} {note}]", place(span.start));
    }
    if let Some(help) = &found.help {
        text += &format!(" ({help})");
    }
    text
}

#[track_caller]
pub fn check(text: &str, expect: &str) {
    assert_eq!(said(text), expect, "\n--- said of:\n{text}\n---");
}

/// A file of one task with the given lines added to it.
pub fn with(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("tasks:\n  - id: a\n    prompt: do it\n{lines}")
}
