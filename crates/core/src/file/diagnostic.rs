//! One thing to say about a task file, and the growing list of them.
//!
//! Says what, where and how to mend it; how that looks on a screen is the command line's business.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, Span};
use crate::values::ids::TaskId;
use crate::values::suggest;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// One of [`super::CODES`].
    pub code: &'static str,
    pub message: String,
    pub span: Span,
    /// Words to stand beside the mark.
    pub label: Option<String>,
    /// Other places that belong to it.
    pub related: Vec<(Span, String)>,
    pub help: Option<String>,
}

impl Diagnostic {
    pub(super) fn new(
        severity: Severity,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> Diagnostic {
        let message = message.into();
        Diagnostic { severity, code, message, span, label: None, related: Vec::new(), help: None }
    }

    pub(super) fn label(&mut self, label: impl Into<String>) -> &mut Diagnostic {
        self.label = Some(label.into());
        self
    }

    pub(super) fn help(&mut self, help: impl Into<String>) -> &mut Diagnostic {
        self.help = Some(help.into());
        self
    }

    pub(super) fn also(&mut self, span: Span, note: impl Into<String>) -> &mut Diagnostic {
        self.related.push((span, note.into()));
        self
    }
}

/// By each task that waits for them.
pub type Elsewhere = BTreeMap<TaskId, BTreeSet<String>>;

/// What has been found so far in one file.
pub(super) struct Report<'s> {
    pub(super) source: &'s Source,
    found: Vec<Diagnostic>,
    /// Names still to be compared for a did-you-mean: a file that is wrong ten thousand times must not take a minute.
    comparisons: usize,
    /// What specialists that are described in it are said to be from.
    pub(super) subagents_from: &'s str,
    /// What tasks wait for that is not in the file, where that may be somewhere else; otherwise it is an error.
    pub(super) elsewhere: Option<Elsewhere>,
}

const MAX_COMPARISONS: usize = 300_000;
const PATIENCE: usize = 1000;

impl<'s> Report<'s> {
    pub(super) fn new(source: &'s Source) -> Report<'s> {
        let subagents_from = "the file's config";
        Report { source, found: Vec::new(), comparisons: MAX_COMPARISONS, subagents_from, elsewhere: None }
    }

    pub(super) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Severity::Error, code, span, message.into())
    }

    pub(super) fn warning(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Severity::Warning, code, span, message.into())
    }

    fn push(
        &mut self,
        severity: Severity,
        code: &'static str,
        span: Span,
        message: String,
    ) -> &mut Diagnostic {
        debug_assert!(super::explain(code).is_some(), "code {code} is not in the table");
        let place = self.found.len();
        self.found.push(Diagnostic::new(severity, code, self.source.first_line(span), message));
        &mut self.found[place]
    }

    /// `did you mean 'x'?` for the candidate nearest to a word, if one is near.
    pub(super) fn did_you_mean<'c>(
        &mut self,
        word: &str,
        candidates: impl IntoIterator<Item = &'c str>,
    ) -> Option<String> {
        let best = suggest::nearest(word, candidates, &mut self.comparisons)?;
        Some(format!("did you mean '{best}'?"))
    }

    /// Whether so little is wrong so far that long explanations are worth their space.
    pub(super) fn is_patient(&self) -> bool {
        self.comparisons > 0 && self.found.len() < PATIENCE
    }

    pub(super) fn has_errors(&self) -> bool {
        self.found.iter().any(|found| found.severity == Severity::Error)
    }

    /// Everything in the order of the file, and whether any of it is an error.
    pub(super) fn finish(mut self) -> (Vec<Diagnostic>, bool) {
        self.found.sort_by_key(|found| (found.span.start, found.severity));
        let failed = self.has_errors();
        (self.found, failed)
    }
}

/// A value as a message quotes it: short, and nothing in it that a terminal would obey.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut short: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    format!("'{short}'")
}
