//! The tables: where the time went, what it cost, estimates, tasks.

use std::fmt::Display;

use super::graph::{class, sign};
use super::markup::{Markup, cut, put, region};
use crate::report::course::busy;
use crate::report::races::Contest;
use crate::report::words::{self, NOT_MEASURED, thousands};
use crate::report::{Accuracy, Shares, Subject, TaskResult, TimeSpent};
use crate::run::costs;
use crate::run::{Run, Status};
use crate::values::counted::size;
use crate::values::units::Millis;

/// More estimates than these are told by their median only; the worst are shown.
const ESTIMATES: usize = 200;
/// More slots than these have no line each.
const SLOTS: usize = 100;
/// How much of an error stands in the table; all of it is with the failures.
const NOTE: usize = 200;

/// A column's name, and on which side its cells are.
enum Column {
    Left(&'static str),
    Right(&'static str),
}

use Column::{Left, Right};

/// The head of a table, up to where its first row begins.
fn columns(out: &mut Markup, columns: &[Column]) {
    put!(out; "<thead><tr>");
    for column in columns {
        match column {
            Left(name) => put!(out; "<th scope=\"col\">" (name) "</th>"),
            Right(name) => put!(out; "<th scope=\"col\" class=\"r\">" (name) "</th>"),
        }
    }
    put!(out; "</tr></thead><tbody>\n");
}

/// Cells on the right.
fn figures(out: &mut Markup, figures: &[&dyn Display]) {
    for figure in figures {
        put!(out; "<td class=\"r\">" (figure) "</td>");
    }
}

pub(super) fn findings(out: &mut Markup, subject: &Subject<'_>) {
    let found = words::findings(subject.run);
    if found.is_empty() {
        return;
    }
    put!(out; "<section id=\"findings\"><h2>Findings</h2><p>What verifiers found.</p><table>");
    columns(out, &[Left("Task"), Left("Level"), Left("Place"), Left("What"), Left("By")]);
    for (task, one) in found.iter().take(ESTIMATES) {
        put!(out; "<tr><th scope=\"row\"><bdi>" (task) "</bdi></th><td>" (one.level.name()) "</td>");
        put!(out; "<td><code>" (one.place()) "</code></td><td dir=\"auto\">" (cut(&one.message, NOTE)));
        if let Some(code) = &one.code {
            put!(out; " <code>" (code) "</code>");
        }
        put!(out; "</td><td><bdi>" (one.by) "</bdi></td></tr>\n");
    }
    put!(out; "</tbody></table>");
    more(out, found.len(), "findings");
    put!(out; "</section>\n");
}

pub(super) fn decisions(out: &mut Markup, subject: &Subject<'_>) {
    let decisions = subject.run.decisions();
    if decisions.is_empty() {
        return;
    }
    put!(out; "<section id=\"decisions\"><h2>Decisions</h2><p>What was done about failures, and why.</p><table>");
    columns(out, &[Left("Task"), Right("Attempt"), Left("Nature"), Left("Decision"), Left("Reason")]);
    for one in decisions.iter().take(ESTIMATES) {
        put!(out; "<tr><th scope=\"row\"><bdi>" (one.task) "</bdi></th>");
        figures(out, &[&one.attempt]);
        put!(out; "<td>" (one.nature.name()) "</td><td>" (one.strategy.name()) "</td>");
        put!(out; "<td dir=\"auto\">" (cut(&one.reason, NOTE)) "</td></tr>\n");
    }
    put!(out; "</tbody></table>");
    more(out, decisions.len(), "decisions");
    put!(out; "</section>\n");
}

pub(super) fn secured(out: &mut Markup, subject: &Subject<'_>) {
    let secured = subject.run.secured();
    if secured.is_empty() {
        return;
    }
    put!(out; "<section id=\"checkpoints\"><h2>Checkpoints before risky work</h2><table>");
    columns(out, &[Left("Task"), Left("Checkpoint"), Left("Commit"), Left("Before")]);
    for one in secured.iter().take(ESTIMATES) {
        put!(out; "<tr><th scope=\"row\"><bdi>" (one.task) "</bdi></th><td><code>" (one.name) "</code></td>");
        put!(out; "<td><code>" (words::short(&one.commit)) "</code></td>");
        put!(out; "<td dir=\"auto\">" (cut(&one.reason, NOTE)) "</td></tr>\n");
    }
    put!(out; "</tbody></table>");
    more(out, secured.len(), "checkpoints");
    put!(out; "</section>\n");
}

pub(super) fn issues(out: &mut Markup, subject: &Subject<'_>) {
    let issues = subject.run.issues();
    if issues.is_empty() {
        return;
    }
    put!(out; "<section id=\"issues\"><h2>Issues that agents reported</h2><table>");
    columns(out, &[Left("Severity"), Left("Found by"), Left("What")]);
    for issue in issues.iter().take(ESTIMATES) {
        put!(out; "<tr><td>" (issue.severity.name()) "</td><th scope=\"row\"><bdi>" (issue.task) "</bdi></th>");
        put!(out; "<td dir=\"auto\">" (issue.words) "</td></tr>\n");
    }
    put!(out; "</tbody></table>");
    more(out, issues.len(), "issues");
    put!(out; "</section>\n");
}

pub(super) fn quality(out: &mut Markup, subject: &Subject<'_>) {
    let scored = words::scored(subject.run);
    if scored.is_empty() {
        return;
    }
    put!(out; "<section id=\"quality\"><h2>Quality</h2><p>The mean of what was measured, of 100.</p><table>");
    columns(out, &[Left("Task"), Right("Score"), Left("")]);
    for (id, quality) in scored.iter().take(ESTIMATES) {
        put!(out; "<tr><th scope=\"row\"><bdi>" (id) "</bdi></th>");
        figures(out, &[&quality.score]);
        put!(out; "<td dir=\"auto\">" (quality.words()) "</td></tr>\n");
    }
    put!(out; "</tbody></table>");
    more(out, scored.len(), "tasks");
    put!(out; "</section>\n");
}

/// How many were left out of a table.
fn more(out: &mut Markup, all: usize, of: &str) {
    let more = all.saturating_sub(ESTIMATES);
    if more > 0 {
        put!(out; "<p class=\"note\">And " (more) " more " (of) ", in the summary.</p>");
    }
}

pub(super) fn times(out: &mut Markup, subject: &Subject<'_>) {
    let run = subject.run;
    let spent = TimeSpent::of(run, subject.graph);
    put!(out; "<section id=\"times\"><h2>Where the time went</h2><div class=\"pair\">\
        <table><caption>All tasks together</caption><tbody>");
    for (name, length) in spent.parts() {
        put!(out; "<tr><th scope=\"row\">" (name) "</th><td class=\"r\">" (length) "</td></tr>");
    }
    for (unmeasured, name) in
        [(spent.waited.is_none(), "waiting for their turn"), (spent.times.attempts == 0, "working")]
    {
        if unmeasured {
            put!(out; "<tr><th scope=\"row\">" (name) "</th><td class=\"r\">" (NOT_MEASURED) "</td></tr>");
        }
    }
    if let Some(processes) = spent.times.processes {
        put!(out; "<tr><th scope=\"row\">processor time</th><td class=\"r\">" (processes.cpu) "</td></tr>");
        if let Some(memory) = processes.peak().map(size) {
            put!(out; "<tr><th scope=\"row\">most memory of one process</th><td class=\"r\">" (memory) "</td></tr>");
        }
        if let Some(memory) = processes.peak_together().map(size) {
            put!(out; "<tr><th scope=\"row\">most memory of one limited task</th><td class=\"r\">" (memory) "</td></tr>");
        }
    }
    put!(out; "</tbody></table><table><caption>From the first question to this report</caption><tbody>");
    for (name, length, percent) in Shares::of(run, subject.aggregation).parts() {
        put!(out; "<tr><th scope=\"row\">" (name) "</th><td class=\"r\">" (length) "</td>\
            <td class=\"r\">" (percent) " %</td></tr>");
    }
    put!(out; "</tbody></table>");
    if !spent.per_slot.is_empty() {
        put!(out; "<table><caption>By slot</caption>");
        columns(out, &[Left("Slot"), Right("Tasks"), Right("At work"), Right("Of the run")]);
        for (at, (tasks, busy)) in spent.per_slot.iter().zip(busy(run)).take(SLOTS).enumerate() {
            let share = match run.active().0 {
                0 => NOT_MEASURED.to_owned(),
                all => format!("{} %", busy.0 * 100 / all),
            };
            put!(out; "<tr><th scope=\"row\">" (at + 1) "</th>");
            figures(out, &[tasks, &busy, &share]);
            put!(out; "</tr>");
        }
        put!(out; "</tbody></table>");
    }
    put!(out; "</div>");
    let more = spent.per_slot.len().saturating_sub(SLOTS);
    if more > 0 {
        put!(out; "<p class=\"note\">And " (more) " more slots.</p>");
    }
    put!(out; "</section>\n");
}

pub(super) fn cost(out: &mut Markup, subject: &Subject<'_>) {
    let run = subject.run;
    let (cost, about) = words::cost(run);
    put!(out; "<section id=\"cost\"><h2>Cost</h2><p>" (words::sentence(&format!("{cost}; {about}"))) "</p>");
    if !run.agents().is_empty() || !run.planning().is_empty() {
        put!(out; "<div class=\"pair\"><table><caption>By agent</caption>");
        columns(out, &[Left("Agent"), Right("Attempts"), Right("Tokens"), Right("Cost")]);
        for (agent, used) in run.agents() {
            let tokens = match used.attempts > 0 && used.untold == used.attempts {
                true => NOT_MEASURED.to_owned(),
                false => thousands(used.usage.tokens),
            };
            put!(out; "<tr><th scope=\"row\"><bdi>" (agent) "</bdi></th>");
            figures(out, &[&used.attempts, &tokens, &words::agent_cost(used)]);
            put!(out; "</tr>");
        }
        for planning in run.planning() {
            put!(out; "<tr><th scope=\"row\"><bdi>" (planning.agent) "</bdi>, planning</th>");
            let tokens = thousands(planning.total().tokens);
            figures(out, &[&"", &tokens, &words::planning_cost(planning)]);
            put!(out; "</tr>");
        }
        put!(out; "</tbody></table>");
        if !run.models().is_empty() {
            put!(out; "<table><caption>By model</caption>");
            columns(out, &[Left("Model"), Right("Calls"), Right("Tokens"), Right("Cost")]);
            for (model, usage) in run.models() {
                put!(out; "<tr><th scope=\"row\"><bdi>" (model) "</bdi></th>");
                figures(out, &[&usage.turns, &thousands(usage.tokens), &costs::words(*usage)]);
                put!(out; "</tr>");
            }
            put!(out; "</tbody></table>");
        }
        put!(out; "</div>");
    }
    put!(out; "</section>\n");
}

pub(super) fn estimates(out: &mut Markup, subject: &Subject<'_>) {
    let accuracy = Accuracy::of(subject.run);
    put!(out; "<section id=\"estimates\"><h2>Estimates against actuals</h2>");
    put!(out; "<p>" (words::sentence(&accuracy.words())) "</p>");
    if !accuracy.held.is_empty() {
        let mut shown: Vec<_> = accuracy.held.iter().collect();
        if shown.len() > ESTIMATES {
            shown.sort_by(|a, b| {
                b.error().unwrap_or(0.0).total_cmp(&a.error().unwrap_or(0.0)).then(a.task.cmp(&b.task))
            });
            shown.truncate(ESTIMATES);
            let all = accuracy.held.len();
            put!(out; "<p class=\"note\">The " (ESTIMATES) " that were furthest off, of " (all) ".</p>");
        }
        region(out, "Estimates");
        put!(out; "<table>");
        columns(out, &[Left("Task"), Right("Estimated"), Left("By"), Right("Took"), Right("Ratio")]);
        for held in shown {
            let ratio = held.ratio().map_or_else(|| NOT_MEASURED.to_owned(), |ratio| format!("{ratio:.2} ×"));
            put!(out; "<tr><th scope=\"row\"><bdi>" (subject.graph.id(held.task)) "</bdi></th>");
            figures(out, &[&held.expected]);
            put!(out; "<td>" (words::basis(held.basis)) "</td>");
            figures(out, &[&held.took, &ratio]);
            put!(out; "</tr>");
        }
        put!(out; "</tbody></table></div>");
    }
    put!(out; "</section>\n");
}

pub(super) fn races(out: &mut Markup, subject: &Subject<'_>) {
    let told = Contest::all(subject.run);
    if told.is_empty() {
        return;
    }
    put!(out; "<section id=\"races\"><h2>Races</h2>");
    for contest in told {
        put!(out; "<p><strong><bdi>" (contest.task) "</bdi></strong>: " (contest.words()) ".</p>");
        region(out, "Race");
        put!(out; "<table>");
        let figures = [Right("Score"), Right("Cost"), Right("Took")];
        let all = [Left("Who"), Left("Agent"), Left("Result")].into_iter().chain(figures);
        columns(out, &all.chain([Left("Kept"), Left("Note")]).collect::<Vec<_>>());
        for one in &contest.entrants {
            put!(out; "<tr><th scope=\"row\"><bdi>" (one.task) "</bdi></th><td><bdi>" (one.by()) "</bdi></td><td>");
            put!(out; (one.end) "</td>");
            let score = one.score.map_or_else(|| NOT_MEASURED.to_owned(), |score| score.to_string());
            self::figures(out, &[&score, &words::task_cost(subject.run, one.place), &one.worked]);
            put!(out; "<td>");
            match one.rescued(subject.ledger).as_slice() {
                [] => put!(out; "–"),
                refs => put!(out; "<code>" (refs.join(", ")) "</code>"),
            }
            put!(out; "</td><td dir=\"auto\">" (cut(one.words, NOTE)) "</td></tr>\n");
        }
        put!(out; "</tbody></table></div>");
    }
    put!(out; "</section>\n");
}

pub(super) fn tasks(out: &mut Markup, subject: &Subject<'_>) {
    let run = subject.run;
    put!(out; "<section id=\"tasks\"><h2>Tasks</h2>");
    let there: Vec<Status> = Status::ALL.into_iter().filter(|status| run.count(*status) > 0).collect();
    if there.len() > 1 {
        filter(out, run.total() as usize, &there, |status| run.count(status));
    }
    region(out, "Tasks");
    put!(out; "<table class=\"tasks\">");
    let numbers =
        [Right("Slot"), Right("Attempts"), Left("Agent"), Right("Began at"), Right("Took"), Right("Cost")];
    let all = [Left("Task"), Left("Status")].into_iter().chain(numbers).chain([Left("Commit"), Left("Note")]);
    columns(out, &all.collect::<Vec<_>>());
    let begun = begun(run);
    for (place, begun) in begun.into_iter().enumerate() {
        task(out, subject, place, begun);
    }
    put!(out; "</tbody></table></div></section>\n");
}

/// Buttons that need no script: a style sheet hides what is not of the chosen status.
fn filter(out: &mut Markup, all: usize, there: &[Status], count: impl Fn(Status) -> u32) {
    put!(out; "<fieldset class=\"filter\"><legend>Show</legend>\
        <label><input type=\"radio\" name=\"show\" value=\"all\" checked=\"checked\"/> all " (all) "</label>");
    for &status in there {
        put!(out; "<label><input type=\"radio\" name=\"show\" value=\"" (status) "\"/> " (status) " ");
        put!(out; (count(status)) "</label>");
    }
    put!(out; "</fieldset>");
}

/// When each task's first attempt began.
fn begun(run: &Run) -> Vec<Option<Millis>> {
    let mut begun = vec![None; run.plan().tasks.len()];
    for span in run.spans() {
        let task = span.task as usize;
        begun[task].get_or_insert(span.from);
        if let Some(race) = run.raced_by(task) {
            begun[race].get_or_insert(span.from);
        }
    }
    begun
}

fn task(out: &mut Markup, subject: &Subject<'_>, place: usize, begun: Option<Millis>) {
    let run = subject.run;
    let (task, progress) = run.task(place);
    let (result, status) = (TaskResult::new(run, place), progress.state.status());
    // An entrant of a race is shown with its task, and hidden with it.
    let shown = run.raced_by(place).map_or(status, |race| run.progress(race).state.status());
    put!(out; "<tr class=\"");
    out.raw(class(shown));
    put!(out; "\"><th scope=\"row\">");
    out.raw(if task.is_entrant() { "↳ " } else { "" });
    put!(out; "<bdi>" (task.id) "</bdi>");
    if task.name != task.id.as_str() {
        put!(out; "<small dir=\"auto\">" (task.name) "</small>");
    }
    put!(out; "</th><td><span class=\"s\">" (sign(status)) "&#160;" (status) "</span></td><td class=\"r\">");
    match progress.executor {
        Some(executor) => put!(out; (executor)),
        None => put!(out; "–"),
    }
    put!(out; "</td><td class=\"r\">" (result.attempts) "</td><td><bdi>" (result.agent) "</bdi>");
    if let Some(model) = result.model {
        put!(out; "<small><bdi>" (model) "</bdi></small>");
    }
    let took = if run.is_raced(place) { run.took(place) } else { progress.worked };
    match begun {
        Some(begun) => put!(out; "</td><td class=\"r\">" (begun) "</td><td class=\"r\">" (took)),
        None => put!(out; "</td><td class=\"r\">–</td><td class=\"r\">–"),
    }
    put!(out; "</td><td class=\"r\">" (words::task_cost(run, place)) "</td><td>");
    match progress.landed.as_deref() {
        Some(landed) => {
            put!(out; "<code title=\"" (landed.commit) "\">" (words::short(&landed.commit)) "</code>")
        }
        None => put!(out; "–"),
    }
    put!(out; "</td><td dir=\"auto\">" (cut(&words::note(run, place), NOTE)) "</td></tr>\n");
}
