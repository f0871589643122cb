//! The tables: where the time went, what it cost, estimates, tasks.

use super::graph::{class, sign};
use super::markup::{Markup, put};
use crate::costs;
use crate::report::course::busy;
use crate::report::words::{self, NOT_MEASURED, thousands};
use crate::report::{Accuracy, Subject, TaskResult, TimeSpent, note};
use crate::run::{Run, Status};
use crate::units::Millis;

/// More estimates than these are told by their median only; the worst are shown.
const ESTIMATES: usize = 200;
/// More workers than these have no line each.
const WORKERS: usize = 100;
/// How much of an error stands in the table; all of it is with the failures.
const NOTE: usize = 200;

pub(super) fn times(out: &mut Markup, subject: &Subject<'_>) {
    let run = subject.run;
    let spent = TimeSpent::of(run, subject.graph);
    put!(out; "<section id=\"times\"><h2>Where the time went</h2><div class=\"pair\"><table><caption>All tasks together</caption><tbody>");
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
    put!(out; "</tbody></table>");
    if !spent.per_worker.is_empty() {
        put!(out; "<table><caption>By worker</caption><thead><tr><th scope=\"col\">Worker</th><th scope=\"col\" class=\"r\">Tasks</th>\
            <th scope=\"col\" class=\"r\">At work</th><th scope=\"col\" class=\"r\">Of the run</th></tr></thead><tbody>");
        for (at, (tasks, busy)) in spent.per_worker.iter().zip(busy(run)).take(WORKERS).enumerate() {
            put!(out; "<tr><th scope=\"row\">" (at + 1) "</th><td class=\"r\">" (tasks) "</td><td class=\"r\">" (busy) "</td><td class=\"r\">");
            match run.active().0 {
                0 => put!(out; (NOT_MEASURED)),
                all => put!(out; (busy.0 * 100 / all) " %"),
            }
            put!(out; "</td></tr>");
        }
        put!(out; "</tbody></table>");
    }
    put!(out; "</div>");
    let more = spent.per_worker.len().saturating_sub(WORKERS);
    if more > 0 {
        put!(out; "<p class=\"note\">And " (more) " more workers.</p>");
    }
    put!(out; "</section>\n");
}

pub(super) fn cost(out: &mut Markup, subject: &Subject<'_>) {
    let run = subject.run;
    let (cost, about) = words::cost(run);
    put!(out; "<section id=\"cost\"><h2>Cost</h2><p>" (words::sentence(&format!("{cost}; {about}"))) "</p>");
    if !run.agents().is_empty() {
        put!(out; "<div class=\"pair\"><table><caption>By agent</caption><thead><tr><th scope=\"col\">Agent</th><th scope=\"col\" class=\"r\">Attempts</th>\
            <th scope=\"col\" class=\"r\">Tokens</th><th scope=\"col\" class=\"r\">Cost</th></tr></thead><tbody>");
        for (agent, used) in run.agents() {
            let tokens = match used.attempts > 0 && used.untold == used.attempts {
                true => NOT_MEASURED.to_owned(),
                false => thousands(used.usage.tokens),
            };
            put!(out; "<tr><th scope=\"row\"><bdi>" (agent) "</bdi></th><td class=\"r\">" (used.attempts) "</td><td class=\"r\">" (tokens)
                "</td><td class=\"r\">" (words::agent_cost(used)) "</td></tr>");
        }
        put!(out; "</tbody></table>");
        if !run.models().is_empty() {
            put!(out; "<table><caption>By model</caption><thead><tr><th scope=\"col\">Model</th><th scope=\"col\" class=\"r\">Calls</th>\
                <th scope=\"col\" class=\"r\">Tokens</th><th scope=\"col\" class=\"r\">Cost</th></tr></thead><tbody>");
            for (model, usage) in run.models() {
                put!(out; "<tr><th scope=\"row\"><bdi>" (model) "</bdi></th><td class=\"r\">" (usage.turns) "</td><td class=\"r\">" (thousands(usage.tokens))
                    "</td><td class=\"r\">" (costs::words(*usage)) "</td></tr>");
            }
            put!(out; "</tbody></table>");
        }
        put!(out; "</div>");
    }
    put!(out; "</section>\n");
}

pub(super) fn estimates(out: &mut Markup, subject: &Subject<'_>) {
    let accuracy = Accuracy::of(subject.run);
    put!(out; "<section id=\"estimates\"><h2>Estimates against actuals</h2><p>" (words::sentence(&accuracy.words())) "</p>");
    if !accuracy.held.is_empty() {
        let mut shown: Vec<_> = accuracy.held.iter().collect();
        if shown.len() > ESTIMATES {
            shown.sort_by(|a, b| {
                b.error().unwrap_or(0.0).total_cmp(&a.error().unwrap_or(0.0)).then(a.task.cmp(&b.task))
            });
            shown.truncate(ESTIMATES);
            put!(out; "<p class=\"note\">The " (ESTIMATES) " that were furthest off, of " (accuracy.held.len()) ".</p>");
        }
        put!(out; "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Estimates\"><table><thead><tr><th scope=\"col\">Task</th>\
            <th scope=\"col\" class=\"r\">Estimated</th><th scope=\"col\">By</th><th scope=\"col\" class=\"r\">Took</th>\
            <th scope=\"col\" class=\"r\">Ratio</th></tr></thead><tbody>");
        for held in shown {
            put!(out; "<tr><th scope=\"row\"><bdi>" (subject.graph.id(held.task)) "</bdi></th><td class=\"r\">" (held.expected) "</td><td>"
                (words::basis(held.basis)) "</td><td class=\"r\">" (held.took) "</td><td class=\"r\">");
            match held.ratio() {
                Some(ratio) => put!(out; (format!("{ratio:.2}")) " ×"),
                None => put!(out; (NOT_MEASURED)),
            }
            put!(out; "</td></tr>");
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
        filter(out, run.plan().tasks.len(), &there, |status| run.count(status));
    }
    put!(out; "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Tasks\"><table class=\"tasks\"><thead><tr><th scope=\"col\">Task</th>\
        <th scope=\"col\">Status</th><th scope=\"col\" class=\"r\">Worker</th><th scope=\"col\" class=\"r\">Attempts</th><th scope=\"col\">Agent</th>\
        <th scope=\"col\" class=\"r\">Began at</th><th scope=\"col\" class=\"r\">Took</th><th scope=\"col\" class=\"r\">Cost</th><th scope=\"col\">Commit</th><th scope=\"col\">Note</th></tr></thead><tbody>\n");
    let begun = begun(run);
    for (place, begun) in begun.into_iter().enumerate() {
        task(out, subject, place, begun);
    }
    put!(out; "</tbody></table></div></section>\n");
}

/// Buttons that need no script: a style sheet hides what is not of the chosen status.
fn filter(out: &mut Markup, all: usize, there: &[Status], count: impl Fn(Status) -> u32) {
    put!(out; "<fieldset class=\"filter\"><legend>Show</legend><label><input type=\"radio\" name=\"show\" value=\"all\" checked=\"checked\"/> all "
        (all) "</label>");
    for &status in there {
        put!(out; "<label><input type=\"radio\" name=\"show\" value=\"" (status) "\"/> " (status) " " (count(status)) "</label>");
    }
    put!(out; "</fieldset>");
}

/// When each task's first attempt began.
fn begun(run: &Run) -> Vec<Option<Millis>> {
    let mut begun = vec![None; run.plan().tasks.len()];
    for span in run.spans() {
        begun[span.task as usize].get_or_insert(span.from);
    }
    begun
}

fn task(out: &mut Markup, subject: &Subject<'_>, place: usize, begun: Option<Millis>) {
    let run = subject.run;
    let (task, progress) = run.task(place);
    let (result, status) = (TaskResult::new(run, place), progress.state.status());
    put!(out; "<tr class=\"");
    out.raw(class(status));
    put!(out; "\"><th scope=\"row\"><bdi>" (task.id) "</bdi>");
    if task.name != task.id.as_str() {
        put!(out; "<small dir=\"auto\">" (task.name) "</small>");
    }
    put!(out; "</th><td><span class=\"s\">" (sign(status)) "&#160;" (status) "</span></td><td class=\"r\">");
    match progress.executor {
        Some(executor) => put!(out; (executor)),
        None => put!(out; "–"),
    }
    put!(out; "</td><td class=\"r\">" (progress.last_attempt) "</td><td><bdi>" (result.agent) "</bdi>");
    if let Some(model) = result.model {
        put!(out; "<small><bdi>" (model) "</bdi></small>");
    }
    match begun {
        Some(begun) => put!(out; "</td><td class=\"r\">" (begun) "</td><td class=\"r\">" (progress.worked)),
        None => put!(out; "</td><td class=\"r\">–</td><td class=\"r\">–"),
    }
    put!(out; "</td><td class=\"r\">" (words::task_cost(run, place)) "</td><td>");
    match progress.landed.as_deref() {
        Some(landed) => {
            put!(out; "<code title=\"" (landed.commit) "\">" (words::short(&landed.commit)) "</code>")
        }
        None => put!(out; "–"),
    }
    put!(out; "</td><td dir=\"auto\">" (super::markup::cut(&note(&progress.state), NOTE)) "</td></tr>\n");
}
