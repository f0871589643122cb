//! `report.html`: the report as one page to send on. It needs nothing but itself: no network, no script, no font.

mod failures;
mod graph;
mod markup;
mod tables;
mod timeline;

use markup::{Markup, put};

use super::{Accuracy, Subject, Summary, TimeSpent, outcome_name, stray_words, words};
use crate::run::Stage;
use crate::run::event::RunOutcome;
use crate::values::counted::counted;
use crate::values::ids::TaskId;

/// How many names a list in the ledger has at most.
const LISTED: usize = 50;

pub fn html(subject: &Subject<'_>) -> String {
    let mut out = Markup::default();
    let title = format!("Run {}: {}", subject.id, outcome_name(subject.run.stage()));
    put!(out; "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n\
        <meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
        <meta http-equiv=\"Content-Security-Policy\" \
        content=\"default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;\"/>\n\
        <meta name=\"color-scheme\" content=\"light dark\"/>\n<meta name=\"generator\" content=\"conductor\"/>\n\
        <title>" (title) "</title>\n<style>\n");
    out.raw(include_str!("html/style.css"));
    put!(out; "</style>\n</head>\n<body>\n<main>\n");
    head(&mut out, subject);
    cards(&mut out, subject);
    ledger(&mut out, subject);
    failures::failures(&mut out, subject);
    tables::findings(&mut out, subject);
    tables::decisions(&mut out, subject);
    tables::secured(&mut out, subject);
    tables::issues(&mut out, subject);
    timeline::timeline(&mut out, subject);
    graph::graph(&mut out, subject);
    tables::times(&mut out, subject);
    tables::cost(&mut out, subject);
    tables::estimates(&mut out, subject);
    tables::quality(&mut out, subject);
    tables::races(&mut out, subject);
    tables::tasks(&mut out, subject);
    put!(out; "</main>\n<footer><p>Made by Conductor from the log of the run. Every figure is measured; \
        what was not is called so.</p></footer>\n</body>\n</html>\n");
    out.finish()
}

fn head(out: &mut Markup, subject: &Subject<'_>) {
    let run = subject.run;
    put!(out; "<header><h1>Run <bdi>" (subject.id) "</bdi> <span class=\"badge ");
    out.raw(match run.stage() {
        Stage::Finished(RunOutcome::Completed) => "completed",
        Stage::Finished(RunOutcome::Failed) => "failed",
        Stage::Finished(RunOutcome::Cancelled) => "cancelled",
        Stage::Stopped(_) => "waiting",
        Stage::Created | Stage::Active | Stage::Draining(_) => "running",
    });
    put!(out; "\">" (outcome_name(run.stage())) "</span></h1><p>");
    if let Some(source) = subject.source {
        put!(out; "<bdi>" (source) "</bdi>, ");
    }
    put!(out; "started " (words::moment(run.created())));
    match run.ended() {
        Some(ended) => put!(out; ", ended " (words::moment(ended))),
        None => put!(out; ", and not ended when this was written: it tells what the log said then"),
    }
    put!(out; "</p></header>\n");
}

fn cards(out: &mut Markup, subject: &Subject<'_>) {
    let Subject { run, graph, .. } = subject;
    let (summary, spent) = (Summary::of(run, graph), TimeSpent::of(run, graph));
    let accuracy = Accuracy::of(run);
    let rest = words::rest(&summary);
    let slots = spent.slots;
    let (cost, about) = words::cost(run);
    let error = match accuracy.median_error() {
        Some(error) => format!("±{error:.0} %"),
        None => "none".to_owned(),
    };
    let cards = [
        (
            "Tasks completed",
            format!("{} of {}", summary.completed, summary.total),
            if rest.is_empty() { "all of them".to_owned() } else { rest },
        ),
        (
            "Duration",
            summary.elapsed.to_string(),
            format!(
                "at best {} with {slots} at a time; critical path {}",
                spent.at_best, summary.critical_path
            ),
        ),
        ("Cost", cost, about),
        (
            "Slots used",
            format!("{} of {slots}", summary.executors),
            format!("{}, {} of work", counted(summary.attempts, "attempt"), summary.worked),
        ),
        ("Estimates", error, accuracy.words().replace(" %", "\u{a0}%")),
    ];
    put!(out; "<dl class=\"cards\">");
    for (name, figure, about) in cards {
        put!(out; "<div><dt>" (name) "</dt><dd><strong>" (figure) "</strong>");
        put!(out; "<span>" (about) "</span></dd></div>");
    }
    put!(out; "</dl>\n");
}

fn ledger(out: &mut Markup, subject: &Subject<'_>) {
    put!(out; "<section id=\"ledger\"><h2>Ledger</h2>");
    match subject.ledger {
        None => put!(out; "<p>" (words::no_ledger(subject.run)) "</p>"),
        Some(ledger) => {
            let (lost, leaked) = (ledger.lost.len() as u32, ledger.leaked.len() as u32);
            put!(out; "<dl class=\"ledger\">");
            for (name, count, about, bad) in [
                ("claimed", ledger.claimed, "said to be done", false),
                ("verified", ledger.verified, "checks run by us passed", false),
                ("landed", ledger.landed, "on the branch, as git says", false),
                ("nothing to land", ledger.unchanged, "changed nothing", false),
                ("lost", lost, "landed and not there", lost > 0),
                ("leaked", leaked, "left behind", leaked > 0),
            ] {
                put!(out; "<div");
                out.raw(if bad { " class=\"bad\"" } else { "" });
                put!(out; "><dt>" (name) "</dt><dd><strong>" (count) "</strong>");
                put!(out; "<span>" (about) "</span></dd></div>");
            }
            put!(out; "</dl>");
            list(out, "Lost", &ledger.lost);
            list(out, "Leaked", &ledger.leaked);
            list(out, "Kept under rescue refs", &ledger.rescued);
            list(out, "Still in use", &ledger.parked);
            let unproven: Vec<String> = ledger.unproven.iter().map(TaskId::to_string).collect();
            list(out, "Checks that prove nothing: they pass on damaged work too", &unproven);
        }
    }
    for stray in subject.run.strays().iter().take(LISTED) {
        put!(out; "<p class=\"warning\" dir=\"auto\">" (stray_words(stray)) "</p>");
    }
    for touched in subject.run.settings().iter().take(LISTED) {
        put!(out; "<p class=\"warning\" dir=\"auto\">" (touched.words()) "</p>");
    }
    put!(out; "</section>\n");
}

fn list(out: &mut Markup, name: &str, entries: &[String]) {
    if entries.is_empty() {
        return;
    }
    put!(out; "<p class=\"note\">" (name) ":</p><ul class=\"list\">");
    for entry in entries.iter().take(LISTED) {
        put!(out; "<li><code>" (entry) "</code></li>");
    }
    put!(out; "</ul>");
    let more = entries.len().saturating_sub(LISTED);
    if more > 0 {
        put!(out; "<p class=\"note\">And " (more) " more.</p>");
    }
}

#[cfg(test)]
mod tests;
