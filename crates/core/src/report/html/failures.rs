//! What failed, with what was said last.

use super::markup::{Markup, cut, put};
use crate::report::{Subject, words};
use crate::run::TaskState;

/// How many are told in full, and how many of them without being asked.
const FAILURES: usize = 50;
const OPEN: usize = 3;
/// How much of an error stands in its heading.
const HEADING: usize = 120;
/// How much of an error and of what there is to see of it.
const MESSAGE: usize = 2000;
const EVIDENCE: usize = 40;

pub(super) fn failures(out: &mut Markup, subject: &Subject<'_>) {
    let failed = words::failed(subject);
    if failed.is_empty() {
        return;
    }
    put!(out; "<section id=\"failures\"><h2>Failures</h2>");
    for (at, &place) in failed.iter().take(FAILURES).enumerate() {
        failure(out, subject, place, at < OPEN);
    }
    let more = failed.len().saturating_sub(FAILURES);
    if more > 0 {
        put!(out; "<p class=\"note\">And " (more) " more, in the table of tasks.</p>");
    }
    put!(out; "</section>\n");
}

fn failure(out: &mut Markup, subject: &Subject<'_>, place: usize, open: bool) {
    let (task, progress) = subject.run.task(place);
    let TaskState::Failed(failure) = &progress.state else { return };
    put!(out; "<details class=\"failure\"");
    out.raw(if open { " open=\"open\"" } else { "" });
    put!(out; "><summary><strong><bdi>" (task.id) "</bdi></strong>");
    if task.name != task.id.as_str() {
        put!(out; " <bdi>" (task.name) "</bdi>");
    }
    put!(out; "<small dir=\"auto\">" (cut(&failure.message, HEADING)) "</small></summary>");
    if failure.message.chars().count() > HEADING {
        put!(out; "<p dir=\"auto\">" (cut(&failure.message, MESSAGE)) "</p>");
    }
    if !failure.evidence.is_empty() {
        put!(out; "<pre tabindex=\"0\">");
        for line in failure.evidence.lines().take(EVIDENCE) {
            put!(out; (line) "\n");
        }
        put!(out; "</pre>");
    }
    match words::voice(subject, place) {
        Some(voice) => {
            put!(out; "<p class=\"note\">It said last:</p><pre tabindex=\"0\">");
            for line in &voice.lines {
                put!(out; (line) "\n");
            }
            put!(out; "</pre><p class=\"note\">All of it is in <code>" (voice.transcript) "</code>.</p>");
        }
        None => put!(out; "<p class=\"note\">It said nothing, or that is not kept any more.</p>"),
    }
    put!(out; "</details>");
}
