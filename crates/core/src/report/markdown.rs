//! `report.md`: the report as Markdown, plain enough for any reader of it.

use std::fmt::Write as _;

use super::course::busy;
use super::races::Contest;
use super::words::{self, NOT_MEASURED, thousands};
use super::{Accuracy, Shares, Subject, Summary, TaskResult, TimeSpent, outcome_name, stray_words};
use crate::plan::graph::Format;
use crate::run::TaskState;
use crate::run::costs;
use crate::values::counted::{counted, size};

/// With more tasks than this a picture of the graph tells nothing.
const DRAWN: usize = 60;
/// How many failures are told in full, estimates held against what happened, and tasks of a long chain named.
const FAILURES: usize = 50;
const ESTIMATES: usize = 100;
const CHAIN: usize = 30;
const DECISIONS: usize = 200;

pub fn markdown(subject: &Subject<'_>) -> String {
    let mut out = String::new();
    head(&mut out, subject);
    ledger(&mut out, subject);
    failures(&mut out, subject);
    findings(&mut out, subject);
    decisions(&mut out, subject);
    issues(&mut out, subject);
    slots(&mut out, subject);
    path(&mut out, subject);
    spent(&mut out, subject);
    estimates(&mut out, subject);
    quality(&mut out, subject);
    races(&mut out, subject);
    tasks(&mut out, subject);
    out
}

fn head(out: &mut String, subject: &Subject<'_>) {
    let Subject { id, run, graph, .. } = subject;
    let summary = Summary::of(run, graph);
    let _ = writeln!(out, "# Run {id}: {}\n", outcome_name(run.stage()));
    let source = subject.source.map(|source| format!("{}, ", cell(source))).unwrap_or_default();
    let _ = writeln!(out, "{source}started {}.", words::moment(run.created()));
    let _ = writeln!(
        out,
        "{} of {} completed, {} failed, {} skipped, {} cancelled, {} open.\n",
        summary.completed,
        counted(summary.total, "task"),
        summary.failed,
        summary.skipped,
        summary.cancelled,
        summary.open
    );
    let _ = writeln!(out, "| measured | |\n|---|---|");
    let _ = writeln!(out, "| elapsed | {} |", summary.elapsed);
    let _ = writeln!(out, "| work of all attempts | {} |", summary.worked);
    let _ = writeln!(out, "| critical path | {} |", summary.critical_path);
    let spent = TimeSpent::of(run, graph);
    let _ = writeln!(out, "| at best, {} at a time | {} |", spent.slots, spent.at_best);
    for (name, length) in spent.parts() {
        let _ = writeln!(out, "| {name} | {length} |");
    }
    if let Some(processes) = spent.times.processes {
        let _ = writeln!(out, "| processor time of all processes | {} |", processes.cpu);
        if let Some(memory) = processes.peak() {
            let _ = writeln!(out, "| most memory of one process | {} |", size(memory));
        }
        if let Some(memory) = processes.peak_together() {
            let _ = writeln!(out, "| most memory of one limited task | {} |", size(memory));
        }
    }
    for (name, length, percent) in Shares::of(run, subject.aggregation).parts() {
        let _ = writeln!(out, "| {name} | {length}, {percent} % |");
    }
    let _ = writeln!(out, "| slots used | {} of {} |", summary.executors, spent.slots);
    let _ = writeln!(out, "| attempts | {} |", summary.attempts);
    let (cost, about) = words::cost(run);
    let _ = writeln!(out, "| cost | {cost}; {about} |\n");
}

fn ledger(out: &mut String, subject: &Subject<'_>) {
    let _ = match subject.ledger {
        Some(ledger) => writeln!(out, "## Ledger\n\n{}", ledger.markdown()),
        None => writeln!(out, "## Ledger\n\n{}\n", words::no_ledger(subject.run)),
    };
    for stray in subject.run.strays() {
        let _ = writeln!(out, "{}\n", plain(&stray_words(stray)));
    }
    for touched in subject.run.settings() {
        let _ =
            writeln!(out, "{}; as it was: {}\n", plain(&touched.words()), plain(&touched.undo.join("; ")));
    }
}

fn failures(out: &mut String, subject: &Subject<'_>) {
    let failed = words::failed(subject);
    if failed.is_empty() {
        return;
    }
    let _ = writeln!(out, "## Failures\n");
    for &place in failed.iter().take(FAILURES) {
        let (task, progress) = subject.run.task(place);
        let TaskState::Failed(failure) = &progress.state else { continue };
        let _ = writeln!(out, "### {}\n\n{}\n", task.id, plain(&failure.message));
        if !failure.evidence.is_empty() {
            let _ = writeln!(out, "{}", quoted(failure.evidence.lines()));
        }
        if let Some(voice) = words::voice(subject, place) {
            let _ = writeln!(out, "It said last:\n\n{}", quoted(voice.lines.iter().map(String::as_str)));
            let _ = writeln!(out, "All of it is in\n\n{}", quoted([voice.transcript.as_str()].into_iter()));
        }
    }
    if let Some(rest) = failed.len().checked_sub(FAILURES).filter(|rest| *rest > 0) {
        let _ = writeln!(out, "And {rest} more, in the table of tasks.\n");
    }
}

fn decisions(out: &mut String, subject: &Subject<'_>) {
    let decisions = subject.run.decisions();
    if !decisions.is_empty() {
        let _ = writeln!(
            out,
            "## Decisions\n\nWhat was done about failures, and why.\n\n| task | attempt | nature | decision | reason |\n\
             |---|---|---|---|---|"
        );
        for one in decisions.iter().take(DECISIONS) {
            let (nature, strategy, reason) = (one.nature.name(), one.strategy.name(), cell(&one.reason));
            let _ = writeln!(out, "| {} | {} | {nature} | {strategy} | {reason} |", one.task, one.attempt);
        }
        if let Some(rest) = decisions.len().checked_sub(DECISIONS).filter(|rest| *rest > 0) {
            let _ = writeln!(out, "\nAnd {rest} more, in the summary.");
        }
        let _ = writeln!(out);
    }
    let secured = subject.run.secured();
    if !secured.is_empty() {
        let _ = writeln!(
            out,
            "## Checkpoints before risky work\n\n| task | checkpoint | commit | before |\n|---|---|---|---|"
        );
        for one in secured.iter().take(DECISIONS) {
            let commit = words::short(&one.commit);
            let _ =
                writeln!(out, "| {} | {} | {commit} | {} |", one.task, cell(&one.name), cell(&one.reason));
        }
        if let Some(rest) = secured.len().checked_sub(DECISIONS).filter(|rest| *rest > 0) {
            let _ = writeln!(out, "\nAnd {rest} more, in the summary.");
        }
        let _ = writeln!(out);
    }
}

fn findings(out: &mut String, subject: &Subject<'_>) {
    let found = words::findings(subject.run);
    if found.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "## Findings\n\nWhat verifiers found.\n\n| task | level | place | what | by |\n|---|---|---|---|---|"
    );
    for (task, one) in found.iter().take(DECISIONS) {
        let code = one.code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
        let (place, message, by) =
            (cell(&one.place()), cell(&format!("{}{code}", one.message)), cell(&one.by));
        let _ = writeln!(out, "| {task} | {} | {place} | {message} | {by} |", one.level.name());
    }
    if let Some(rest) = found.len().checked_sub(DECISIONS).filter(|rest| *rest > 0) {
        let _ = writeln!(out, "\nAnd {rest} more, in the summary.");
    }
    let _ = writeln!(out);
}

fn issues(out: &mut String, subject: &Subject<'_>) {
    if subject.run.issues().is_empty() {
        return;
    }
    let _ = writeln!(out, "## Issues that agents reported\n\n| severity | found by | what |\n|---|---|---|");
    for issue in subject.run.issues() {
        let _ = writeln!(out, "| {} | {} | {} |", issue.severity.name(), issue.task, cell(&issue.words));
    }
    let _ = writeln!(out);
}

fn quality(out: &mut String, subject: &Subject<'_>) {
    let scored = words::scored(subject.run);
    if scored.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "## Quality\n\nThe mean of what was measured, of 100.\n\n| task | score | |\n|---|---|---|"
    );
    for (id, quality) in scored.iter().take(ESTIMATES) {
        let _ = writeln!(out, "| {id} | {} | {} |", quality.score, cell(&quality.words()));
    }
    if let Some(rest) = scored.len().checked_sub(ESTIMATES).filter(|rest| *rest > 0) {
        let _ = writeln!(out, "\nAnd {rest} more, in the summary.");
    }
    let _ = writeln!(out);
}

fn races(out: &mut String, subject: &Subject<'_>) {
    let run = subject.run;
    let told: Vec<Contest<'_>> = Contest::all(run);
    if told.is_empty() {
        return;
    }
    let _ = writeln!(out, "## Races\n");
    for contest in told {
        let _ = writeln!(out, "{}: {}.\n", contest.task, plain(&contest.words()));
        let _ = writeln!(
            out,
            "| who | agent | | score | cost | time | kept | |\n|---|---|---|---|---|---|---|---|"
        );
        for one in &contest.entrants {
            let score = one.score.map_or_else(|| NOT_MEASURED.to_owned(), |score| score.to_string());
            let kept = match one.rescued(subject.ledger).as_slice() {
                [] => one.kept.map(words::short).unwrap_or_default().to_owned(),
                refs => refs.join(", "),
            };
            let (who, about) = (cell(&one.by()), cell(one.words));
            let _ = writeln!(
                out,
                "| {} | {who} | {} | {score} | {} | {} | {kept} | {about} |",
                one.task,
                one.end,
                words::task_cost(run, one.place),
                one.worked
            );
        }
        let _ = writeln!(out);
    }
}

fn slots(out: &mut String, subject: &Subject<'_>) {
    let run = subject.run;
    let shares = TimeSpent::of(run, subject.graph).per_slot;
    if shares.is_empty() {
        return;
    }
    let _ = writeln!(out, "## Slots\n\n| slot | tasks | at work | of the run |\n|---|---|---|---|");
    for (at, (tasks, busy)) in shares.iter().zip(busy(run)).enumerate() {
        let share = match run.active().0 {
            0 => NOT_MEASURED.to_owned(),
            all => format!("{} %", busy.0 * 100 / all),
        };
        let _ = writeln!(out, "| {} | {tasks} | {busy} | {share} |", at + 1);
    }
    let _ = writeln!(out);
}

fn path(out: &mut String, subject: &Subject<'_>) {
    let Subject { run, graph, .. } = subject;
    let path = graph.critical_path(|task| run.took(task as usize));
    let names = path.tasks.iter().take(CHAIN).map(|&task| graph.id(task).as_str()).collect::<Vec<_>>();
    let more = match path.tasks.len().saturating_sub(CHAIN) {
        0 => String::new(),
        more => format!(" → and {more} more"),
    };
    let _ = writeln!(out, "## Graph\n\nCritical path, {}: {}{more}.\n", path.length, names.join(" → "));
    match graph.len() <= DRAWN && graph.dependencies().iter().any(|before| !before.is_empty()) {
        true => {
            let drawn = graph.export(run.plan(), Format::Mermaid, |task| run.took(task as usize));
            let _ = writeln!(out, "```mermaid\n{drawn}```\n");
        }
        false if graph.len() > DRAWN => {
            let _ = writeln!(out, "{} tasks are too many to be drawn here.\n", graph.len());
        }
        false => {}
    }
}

fn spent(out: &mut String, subject: &Subject<'_>) {
    let run = subject.run;
    if run.agents().is_empty() && run.planning().is_empty() {
        return;
    }
    let _ = writeln!(out, "## Cost\n\n| by | cost | tokens | attempts |\n|---|---|---|---|");
    for (agent, used) in run.agents() {
        let (cost, tokens) = (words::agent_cost(used), thousands(used.usage.tokens));
        let _ = writeln!(out, "| {} | {cost} | {tokens} | {} |", cell(agent), used.attempts);
    }
    for planning in run.planning() {
        let (cost, tokens) = (words::planning_cost(planning), thousands(planning.total().tokens));
        let _ = writeln!(out, "| planning, {} | {cost} | {tokens} | |", cell(&planning.agent));
    }
    for (model, usage) in run.models() {
        let (cost, tokens) = (costs::words(*usage), thousands(usage.tokens));
        let _ = writeln!(out, "| model {} | {cost} | {tokens} | |", cell(model));
    }
    let _ = writeln!(out);
}

fn estimates(out: &mut String, subject: &Subject<'_>) {
    let accuracy = Accuracy::of(subject.run);
    let _ = writeln!(out, "## Estimates against actuals\n\n{}\n", words::sentence(&accuracy.words()));
    if accuracy.held.is_empty() {
        return;
    }
    let _ = writeln!(out, "| task | estimated | by | took | ratio |\n|---|---|---|---|---|");
    for held in accuracy.held.iter().take(ESTIMATES) {
        let ratio = held.ratio().map_or_else(|| NOT_MEASURED.to_owned(), |ratio| format!("{ratio:.2}"));
        let (id, basis) = (subject.graph.id(held.task), words::basis(held.basis));
        let _ = writeln!(out, "| {id} | {} | {basis} | {} | {ratio} |", held.expected, held.took);
    }
    match accuracy.held.len().saturating_sub(ESTIMATES) {
        0 => out.push('\n'),
        more => {
            let _ = writeln!(out, "\nAnd {more} more.\n");
        }
    }
}

fn tasks(out: &mut String, subject: &Subject<'_>) {
    let run = subject.run;
    let _ = writeln!(
        out,
        "## Tasks\n\n| task | status | agent | time | attempts | slot | cost | commit | note |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    for (place, (task, progress)) in run.tasks().enumerate() {
        let indent = if task.is_entrant() { "↳ " } else { "" };
        let result = TaskResult::new(run, place);
        let model = result.model.map(|model| format!(", {model}")).unwrap_or_default();
        let commit =
            progress.landed.as_deref().map(|landed| words::short(&landed.commit)).unwrap_or_default();
        let _ = writeln!(
            out,
            "| {indent}{} | {} | {} | {} | {} | {} | {} | {commit} | {} |",
            task.id,
            progress.state.status(),
            cell(&format!("{}{model}", result.agent)),
            if run.is_raced(place) { run.took(place) } else { progress.worked },
            result.attempts,
            progress.executor.map(|number| number.to_string()).unwrap_or_default(),
            words::task_cost(run, place),
            cell(&words::note(run, place)),
        );
    }
}

/// Text for a table cell: one line, bars escaped.
fn cell(text: &str) -> String {
    plain(text).replace('|', "\\|")
}

/// One line of text that means itself: no mark of Markdown or HTML, no picture, no link.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in words::tamed(text).trim_start().chars() {
        match c {
            '\n' | '\t' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '[' | ']' | '*' | '~' => out.extend(['\\', c]),
            '#' | '>' | '-' | '+' | '=' if out.is_empty() => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// Lines of an agent or a command, indented, so that nothing in them ends the quotation.
fn quoted<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    lines.fold(String::new(), |out, line| out + "    " + &words::tamed(line) + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_are_only_words() {
        assert_eq!(cell("a | b\n<img src=x> [l](u) `c`"), "a \\| b &lt;img src=x> \\[l\\](u) \\`c\\`");
        assert_eq!([" # head", "> quote", "a # b"].map(plain), ["\\# head", "\\> quote", "a # b"]);
        assert_eq!(quoted(["```", "# no\u{202e}"].into_iter()), "    ```\n    # no\u{fffd}\n");
    }
}
