//! What a run came to, in one screen: what is done, what is not and why, and the exact next command.

use std::fmt::Write as _;
use std::path::Path;

use conductor_core::event::{DrainReason, FailureClass};
use conductor_core::graph::Graph;
use conductor_core::ids::{Attempt, RunId};
use conductor_core::ledger::Ledger;
use conductor_core::report::{self, Summary};
use conductor_core::run::{Run, Stage, Status, TaskState};
use conductor_engine::merge::Ending;
use conductor_engine::transcript::{self, Speaker};

/// How many failures are told in full, with how many lines of what each said last.
const FAILURES: usize = 10;
const LINES: usize = 5;
const SKIPS: usize = 20;
/// How many lines of a conflict.
const EVIDENCE: usize = 20;

pub(crate) fn text(
    id: &RunId,
    run: &Run,
    graph: &Graph,
    directory: &Path,
    ending: Option<&Ending>,
    ledger: Option<&Ledger>,
) -> String {
    let summary = Summary::of(run, graph);
    let mut out = String::new();
    let _ = writeln!(out, "\nrun {id} {}: {}", report::outcome_name(run.stage()), counts(&summary));
    failures(&mut out, run, directory);
    skips(&mut out, run);
    questions(&mut out, id, run);
    let _ = writeln!(
        out,
        "\ntime   {} on {} worker{}; {} of work, critical path {}",
        summary.elapsed,
        summary.executors,
        if summary.executors == 1 { "" } else { "s" },
        summary.worked,
        summary.critical_path
    );
    if summary.cost.0 > 0 {
        let _ = writeln!(out, "cost   {}", summary.cost);
    }
    let _ = writeln!(out, "files  {}", directory.display());
    if let Some(ledger) = ledger {
        truth(&mut out, ledger);
    }
    if let Some(ending) = ending {
        landed(&mut out, run, ending);
    }
    if let Some(next) = next(id, run, &summary) {
        let _ = writeln!(out, "next   {next}");
    }
    out
}

/// What was said, and what is there.
fn truth(out: &mut String, ledger: &Ledger) {
    let Ledger { claimed, verified, landed, .. } = ledger;
    let (lost, leaked) = (ledger.lost.len(), ledger.leaked.len());
    let _ = writeln!(
        out,
        "ledger {claimed} claimed, {verified} verified, {landed} landed; {lost} lost, {leaked} leaked"
    );
    for (word, list) in [("LOST", &ledger.lost), ("LEAKED", &ledger.leaked), ("in use", &ledger.parked)] {
        for entry in list {
            let _ = writeln!(out, "       {word}: {entry}");
        }
    }
    for task in &ledger.unproven {
        let _ = writeln!(out, "       the checks of {task} prove nothing: they pass on damaged work too");
    }
    if let Some(first) = ledger.rescued.first() {
        let more = match ledger.rescued.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more; conductor worktree list"),
        };
        let _ = writeln!(out, "kept   {first}{more}");
    }
}

fn landed(out: &mut String, run: &Run, ending: &Ending) {
    let landed = run.tasks().filter(|(_, progress)| progress.landed.is_some()).count();
    let plural = if landed == 1 { "" } else { "s" };
    let _ = match ending {
        Ending::Unchanged => writeln!(out, "result nothing was changed"),
        Ending::Merged { branch, into } => {
            writeln!(out, "result {landed} task{plural} landed on {branch}, and {into} holds it")
        }
        Ending::Left { branch, why } => {
            let _ = writeln!(out, "result {landed} task{plural} landed on {branch}");
            let because = why.as_ref().map(|why| format!("   ({why})")).unwrap_or_default();
            writeln!(out, "next   git merge {branch}{because}")
        }
    };
}

fn counts(summary: &Summary) -> String {
    let mut parts = vec![format!("{} of {} completed", summary.completed, summary.total)];
    for (count, word) in [
        (summary.failed, "failed"),
        (summary.skipped, "skipped"),
        (summary.cancelled, "cancelled"),
        (summary.open, "not done"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    parts.join(", ")
}

fn failures(out: &mut String, run: &Run, directory: &Path) {
    let failed = run.tasks().filter_map(|(task, progress)| match &progress.state {
        TaskState::Failed(failure) => Some((task, progress, failure)),
        _ => None,
    });
    for (task, progress, failure) in failed.clone().take(FAILURES) {
        let _ = writeln!(out, "\nfailed {}: {}", task.id, one_line(&failure.message));
        for line in
            failure.evidence.lines().filter(|_| failure.class == FailureClass::Conflict).take(EVIDENCE)
        {
            let _ = writeln!(out, "       | {}", one_line(line));
        }
        let (executor, attempt) = (progress.executor.unwrap_or(0), Attempt(progress.last_attempt));
        let path = Speaker { output: directory, executor, task: &task.id, attempt }.transcript();
        for line in transcript::last_lines(&path, LINES) {
            let _ = writeln!(out, "       | {line}");
        }
        if path.exists() {
            let _ = writeln!(out, "       {}", path.display());
        }
        if failure.class == FailureClass::Conflict {
            let _ = writeln!(out, "       conductor worktree resolve {}", task.id);
        }
    }
    let rest = failed.count().saturating_sub(FAILURES);
    if rest > 0 {
        let _ = writeln!(out, "\n… and {rest} more failed; see report.md");
    }
}

fn skips(out: &mut String, run: &Run) {
    let skipped = run.tasks().filter(|(_, progress)| progress.state.status() == Status::Skipped);
    for (at, (task, progress)) in skipped.clone().take(SKIPS).enumerate() {
        let gap = if at == 0 { "\n" } else { "" };
        let _ = writeln!(out, "{gap}skipped {}: {}", task.id, report::note(&progress.state));
    }
    let rest = skipped.count().saturating_sub(SKIPS);
    if rest > 0 {
        let _ = writeln!(out, "… and {rest} more skipped");
    }
}

/// What agents ask, with how to answer.
fn questions(out: &mut String, id: &RunId, run: &Run) {
    for (task, progress) in run.tasks() {
        if let TaskState::Asking { question, .. } = &progress.state {
            let _ = writeln!(out, "\n{} asks: {}", task.id, one_line(&question.to_string()));
            let _ = writeln!(out, "  conductor task approve {} --run {id}   or deny", task.id);
        }
    }
}

fn next(id: &RunId, run: &Run, summary: &Summary) -> Option<String> {
    match run.stage() {
        Stage::Stopped(DrainReason::Budget) => {
            Some(format!("conductor run --resume {id}   (with a higher limit)"))
        }
        Stage::Stopped(DrainReason::FailFast) => Some(format!("conductor run --resume {id} --retry-failed")),
        Stage::Stopped(_) => Some(format!("conductor run --resume {id}")),
        _ if summary.failed + summary.skipped + summary.cancelled > 0 => {
            Some(format!("conductor run --resume {id} --retry-failed"))
        }
        _ => None,
    }
}

/// Text of unknown origin on one line.
pub(crate) fn one_line(text: &str) -> String {
    transcript::shown(text.as_bytes()).replace('\n', " ")
}
