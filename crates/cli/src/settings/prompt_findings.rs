//! What is wrong with a repository's own template of prompts, told with its line.

use std::path::Path;

use conductor_core::file::{Diagnostic, Severity, Source, Span};
use conductor_core::plan::Plan;
use conductor_engine::agents::subagents;
use conductor_engine::worker::prompt;

use crate::settings::diagnostics::Sheet;

/// Why no prompt can be made of the plan's tasks, if that is so.
pub(crate) fn of(plan: &Plan, directory: &Path) -> Option<Sheet> {
    let root = subagents::root(directory);
    let error = prompt::check(plan, &root).err()?;
    let bytes = std::fs::read(root.join(prompt::OWN)).unwrap_or_default();
    let source = Source::new(prompt::OWN, bytes).ok();
    let line = source.as_ref().zip(error.line()).and_then(|(source, line)| of_line(source.text(), line));
    let message = error.to_string();
    let found = vec![Diagnostic {
        severity: Severity::Error,
        code: "bad-prompt",
        // What follows draws the line once more.
        message: message.lines().next().unwrap_or_default().to_owned(),
        span: line.unwrap_or_default(),
        label: None,
        related: Vec::new(),
        help: Some("docs/prompts.md has the names that a template may use".to_owned()),
    }];
    Some(Sheet { source: source.filter(|_| line.is_some()), name: prompt::OWN.to_owned(), found })
}

fn of_line(text: &str, number: usize) -> Option<Span> {
    let mut start = 0;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if at + 1 == number {
            return Some(Span::new(start, start + line.trim_end().len()));
        }
        start += line.len();
    }
    None
}
