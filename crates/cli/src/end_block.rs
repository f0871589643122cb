//! What a run came to, in one screen: what is done, what is not and why, and the exact next command.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use conductor_core::costs;
use conductor_core::event::{DrainReason, FailureClass, Touched, Usage};
use conductor_core::graph::Graph;
use conductor_core::groups::only_blocked;
use conductor_core::ids::{Attempt, RunId};
use conductor_core::ledger::Ledger;
use conductor_core::report::{self, Accuracy, Summary, TimeSpent};
use conductor_core::run::{Run, Stage, Status, TaskState};
use conductor_core::units::Usd;
use conductor_engine::merge::Ending;
use conductor_engine::transcript::{self, Speaker};

use crate::width::{cut, wrapped};

/// How many failures are told in full, with how many lines of what each said last.
const FAILURES: usize = 10;
const LINES: usize = 5;
const SKIPS: usize = 20;
/// How many lines of a conflict.
const EVIDENCE: usize = 20;
const LANDED: usize = 10;
const MODELS: usize = 5;
/// How many commands that put git's configuration back.
const UNDONE: usize = 8;
/// How many files that would be overwritten are named.
const IN_THE_WAY: usize = 5;
/// With more workers than this, each is not worth a word.
const NAMED_WORKERS: usize = 6;
/// What every terminal has room for, and how far in the words begin.
const WIDTH: usize = 80;
const INDENT: usize = 7;

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
    let head = format!("run {id} {}: {}", report::outcome_name(run.stage()), counts(&summary));
    let _ = writeln!(out, "\n{}", wrapped(&head, WIDTH).join("\n"));
    landed(&mut out, id, run, ending);
    failures(&mut out, run, directory);
    skips(&mut out, run);
    questions(&mut out, id, run);
    reviews(&mut out, run);
    out.push('\n');
    times(&mut out, run, &summary, &TimeSpent::of(run, graph));
    costs(&mut out, run, &summary);
    estimates(&mut out, run);
    let _ = writeln!(out, "files  {}", directory.display());
    if let Some(ledger) = ledger {
        truth(&mut out, ledger);
    }
    settings(&mut out, run);
    if let Some(ending) = ending {
        result(&mut out, run, ending);
    }
    if let Some(next) = next(id, run, &summary) {
        let _ = writeln!(out, "next   {next}");
    }
    out
}

/// A word of at most six letters, and what there is to say about it, in lines that fit.
fn say(out: &mut String, word: &str, text: &str) {
    for (at, line) in wrapped(text, WIDTH - INDENT).iter().enumerate() {
        let word = if at == 0 { word } else { "" };
        let _ = writeln!(out, "{word:<6} {line}");
    }
}

/// What is on the run's branch now.
fn landed(out: &mut String, id: &RunId, run: &Run, ending: Option<&Ending>) {
    let all = run.asked().filter_map(|(_, task, progress)| Some((task, progress.landed.as_deref()?)));
    let widest = all.clone().take(LANDED).map(|(task, _)| task.id.as_str().len()).max().unwrap_or(0);
    for (at, (task, landed)) in all.clone().take(LANDED).enumerate() {
        let gap = if at == 0 { "\n" } else { "" };
        let Touched { files, added, removed, .. } = &landed.touched;
        let plural = if files.len() == 1 { "" } else { "s" };
        let changed = match files.len() {
            0 => String::new(),
            files => format!("+{added} -{removed} in {files} file{plural}"),
        };
        let _ = writeln!(out, "{gap}{}", format!("landed {:<widest$}  {changed}", task.id).trim_end());
    }
    let rest = all.count().saturating_sub(LANDED);
    if rest > 0 {
        let branch = match ending {
            Some(Ending::Left { branch, .. } | Ending::Merged { branch, .. }) => branch.clone(),
            _ => format!("conductor/{id}"),
        };
        let _ = writeln!(out, "       and {rest} more: git log {branch}");
    }
}

/// How long it took and could have taken, where that went, and who did it. What was not measured is not here.
fn times(out: &mut String, run: &Run, summary: &Summary, spent: &TimeSpent) {
    let (slots, workers) = (run.options().at_once(), summary.executors);
    let time = format!(
        "{} on {workers} worker{}; at best {} with {slots} at a time, critical path {}",
        summary.elapsed,
        plural(workers),
        spent.at_best,
        summary.critical_path
    );
    say(out, "time", &time);
    let (after, parts): (Vec<_>, Vec<_>) =
        spent.parts().into_iter().partition(|(name, _)| *name == "merging");
    let list = |waiting: bool| {
        let some = parts.iter().filter(|(name, _)| name.starts_with("waiting") == waiting);
        let words = some.map(|(name, length)| format!("{length} {}", name.trim_start_matches("waiting ")));
        words.collect::<Vec<_>>().join(", ")
    };
    let mut work = summary.worked.to_string();
    if !list(false).is_empty() {
        let _ = write!(work, ": {}", list(false));
    }
    for (name, length) in after {
        let _ = write!(work, "; then {length} {name}");
    }
    say(out, "work", &work);
    if !list(true).is_empty() {
        say(out, "waited", &list(true));
    }
    if let Some(shares) = shares(&spent.per_worker) {
        say(out, "shares", &shares);
    }
}

/// How many tasks each of several workers did.
fn shares(done: &[u32]) -> Option<String> {
    let (least, most) = (done.iter().min()?, done.iter().max()?);
    match done.len() {
        1 => None,
        2..=NAMED_WORKERS => {
            let each = done.iter().enumerate().map(|(at, done)| {
                let tasks = if at == 0 { format!(" task{}", plural(*done)) } else { String::new() };
                format!("{done}{tasks} by worker {}", at + 1)
            });
            Some(each.collect::<Vec<_>>().join(", "))
        }
        workers if least == most => Some(format!("{least} tasks by each of {workers} workers")),
        workers => Some(format!("{least} to {most} tasks by each of {workers} workers")),
    }
}

/// What it cost, by model too where there were several; and what to do about one without a price.
fn costs(out: &mut String, run: &Run, summary: &Summary) {
    if summary.spent.tokens == 0 && summary.spent.cost.0 == 0 {
        return;
    }
    let cap = run.options().limits.max_cost.map(|cap| format!(" of {cap}")).unwrap_or_default();
    say(out, "cost", &format!("{}{cap}", costs::words(summary.spent)));
    let mut models: Vec<_> = run.models().iter().collect();
    models.sort_by_key(|(_, usage)| std::cmp::Reverse((usage.cost, usage.tokens)));
    if models.len() > 1 {
        for (model, usage) in models.iter().take(MODELS) {
            let words = format!("{} {}, {} tokens", one_line(model), costs::words(**usage), usage.tokens);
            say(out, "", &words);
        }
        let rest = models.len().saturating_sub(MODELS);
        if rest > 0 {
            say(out, "", &format!("and {rest} more models: conductor cost --by model"));
        }
    }
    if summary.spent.unpriced > 0 {
        let words = "give it one under `prices:` in the file's config";
        say(out, "", &format!("no price for {} tokens: {words}", summary.spent.unpriced));
    }
}

/// Where there was anything to hold against what happened.
fn estimates(out: &mut String, run: &Run) {
    let accuracy = Accuracy::of(run);
    if accuracy.median_error().is_some() {
        say(out, "guess", &accuracy.words());
    }
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// What was said, and what is there.
fn truth(out: &mut String, ledger: &Ledger) {
    let Ledger { claimed, verified, landed, .. } = ledger;
    let (lost, leaked) = (ledger.lost.len(), ledger.leaked.len());
    let words =
        format!("{claimed} claimed, {verified} verified, {landed} landed; {lost} lost, {leaked} leaked");
    say(out, "ledger", &words);
    for (word, list) in [("LOST", &ledger.lost), ("LEAKED", &ledger.leaked), ("in use", &ledger.parked)] {
        for entry in list {
            say(out, "", &format!("{word}: {entry}"));
        }
    }
    for task in &ledger.unproven {
        say(out, "", &format!("the checks of {task} prove nothing: they pass on damaged work too"));
    }
    if let Some(first) = ledger.rescued.first() {
        let more = match ledger.rescued.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more; conductor worktree list"),
        };
        say(out, "kept", &format!("{first}{more}"));
    }
}

/// What the user's own git would go by from now on, before any git command is recommended.
fn settings(out: &mut String, run: &Run) {
    for touched in run.settings() {
        say(out, "git", &one_line(&report::settings_words(touched)));
    }
    let undo: BTreeSet<&String> = run.settings().iter().flat_map(|touched| &touched.undo).collect();
    if !undo.is_empty() {
        say(out, "", "look at it before you use git here; as it was when the run started:");
        for command in undo.iter().take(UNDONE) {
            let _ = writeln!(out, "         {}", one_line(command));
        }
    }
}

fn result(out: &mut String, run: &Run, ending: &Ending) {
    let landed = run.asked().filter(|(_, _, progress)| progress.landed.is_some()).count();
    let plural = if landed == 1 { "" } else { "s" };
    let _ = match ending {
        Ending::Unchanged => writeln!(out, "result nothing was changed"),
        Ending::Merged { branch, into } => {
            writeln!(out, "result {landed} task{plural} landed on {branch}, and {into} holds it")
        }
        Ending::Left { branch, why, in_the_way } => {
            let _ = writeln!(out, "result {landed} task{plural} landed on {branch}");
            if let Some(why) = why {
                say(out, "", &format!("({why})"));
            }
            if !in_the_way.is_empty() {
                warn_of(out, in_the_way);
            }
            writeln!(out, "next   git merge {branch}")
        }
    };
}

/// Git overwrites what it was told to ignore without a word.
fn warn_of(out: &mut String, in_the_way: &[String]) {
    let named: Vec<String> = in_the_way.iter().take(IN_THE_WAY).map(|name| one_line(name)).collect();
    let more = match in_the_way.len().saturating_sub(IN_THE_WAY) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let words = "a merge overwrites what stands there and is not tracked; move it away first:";
    say(out, "WARN", &format!("{words} {}{more}", named.join(", ")));
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
    let failed = run.asked().filter_map(|(place, task, progress)| match &progress.state {
        TaskState::Failed(failure) => Some((task, run.task(run.doer(place)), failure)),
        _ => None,
    });
    for (task, (doer, progress), failure) in failed.clone().take(FAILURES) {
        out.push('\n');
        say(out, "failed", &format!("{}: {}", task.id, one_line(&failure.message)));
        for line in
            failure.evidence.lines().filter(|_| failure.class == FailureClass::Conflict).take(EVIDENCE)
        {
            quote(out, &one_line(line));
        }
        let (executor, attempt) = (progress.executor.unwrap_or(0), Attempt(progress.last_attempt));
        let path = Speaker { output: directory, executor, task: &doer.id, attempt }.transcript();
        for line in transcript::last_lines(&path, LINES) {
            quote(out, &line);
        }
        if path.exists() {
            let _ = writeln!(out, "       {}", path.display());
        }
        if failure.class == FailureClass::Conflict {
            let _ = writeln!(out, "       conductor worktree resolve {}", doer.id);
        }
    }
    let rest = failed.count().saturating_sub(FAILURES);
    if rest > 0 {
        let _ = writeln!(out, "\n… and {rest} more failed; see report.md");
    }
}

/// A line of somebody else's words, no longer than there is room for: all of it is in the transcript.
fn quote(out: &mut String, line: &str) {
    let _ = writeln!(out, "       | {}", cut(line, WIDTH - INDENT - 2, "…"));
}

fn skips(out: &mut String, run: &Run) {
    let skipped = run.asked().filter(|(_, _, progress)| progress.state.status() == Status::Skipped);
    for (at, (_, task, progress)) in skipped.clone().take(SKIPS).enumerate() {
        let gap = if at == 0 { "\n" } else { "" };
        let words = format!("skipped {}: {}", task.id, report::note(run.plan(), task, &progress.state));
        let _ = writeln!(out, "{gap}{}", wrapped(&words, WIDTH).join("\n        "));
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
            let words = format!("{} asks: {}", task.id, one_line(&question.to_string()));
            let _ = writeln!(out, "\n{}", wrapped(&words, WIDTH).join("\n  "));
            let _ = writeln!(out, "  conductor task approve {} --run {id}   or deny", task.id);
        }
    }
}

/// What waits for a person's review.
fn reviews(out: &mut String, run: &Run) {
    for (task, progress) in run.tasks() {
        if let Some(landing) = progress.state.landing().filter(|_| progress.state.status() == Status::Waiting)
        {
            let (touched, commit) = (&landing.change.touched, &landing.change.commit);
            let (files, added, removed) = (touched.files.len(), touched.added, touched.removed);
            let words = format!("{} waits for your review: {files} files, +{added} -{removed}", task.id);
            let _ = writeln!(out, "\n{words}, {commit:.10}");
        }
    }
}

fn in_review(run: &Run) -> bool {
    run.tasks().any(|(_, progress)| matches!(progress.state, TaskState::InReview { .. }))
}

fn next(id: &RunId, run: &Run, summary: &Summary) -> Option<String> {
    match run.stage() {
        Stage::Stopped(DrainReason::Person) if in_review(run) => Some(format!("conductor review {id}")),
        Stage::Stopped(DrainReason::Budget) => Some(format!("conductor run --resume {id} {}", higher(run))),
        Stage::Stopped(DrainReason::Unauthorized) => {
            Some(format!("conductor run --resume {id} --retry-failed   (when its agent is logged in)"))
        }
        Stage::Stopped(DrainReason::FailFast) => Some(format!("conductor run --resume {id} --retry-failed")),
        Stage::Stopped(_) => Some(format!("conductor run --resume {id}")),
        _ if only_blocked(run) => {
            Some("conductor group execute once more, when what blocks it is done".to_owned())
        }
        _ if own_caps(run) => Some(format!(
            "conductor run --resume {id} --retry-failed   (with higher caps in the file, they go on where they were)"
        )),
        _ if summary.failed + summary.skipped + summary.cancelled > 0 => {
            Some(format!("conductor run --resume {id} --retry-failed"))
        }
        _ => None,
    }
}

/// The flag that lets a run go on which has used all it may.
fn higher(run: &Run) -> String {
    let (limits, spent) = (&run.options().limits, run.spent());
    let money = |cost: Usd| costs::words(Usage { cost, ..Usage::default() });
    if let Some(cap) = limits.max_cost.filter(|cap| spent.cost >= *cap) {
        return format!("--max-cost USD   (it was {})", money(cap));
    }
    if let Some(cap) = limits.max_tokens.filter(|cap| spent.tokens >= *cap) {
        return format!("--max-tokens N   (it was {cap})");
    }
    if let Some(cap) = limits.max_attempts.filter(|cap| run.attempts() >= *cap) {
        return format!("--max-attempts N   (it was {cap})");
    }
    match limits.max_time {
        Some(cap) => format!("--max-time TIME   (it was {cap})"),
        None => "  (with a higher limit)".to_owned(),
    }
}

/// Whether what failed did so by caps of its own.
fn own_caps(run: &Run) -> bool {
    let mut failures = run.tasks().filter_map(|(_, progress)| match &progress.state {
        TaskState::Failed(failure) => Some(failure.class),
        _ => None,
    });
    let first = failures.next();
    first.is_some_and(|class| class == FailureClass::Budget)
        && failures.all(|class| class == FailureClass::Budget)
}

/// Text of unknown origin on one line.
pub(crate) fn one_line(text: &str) -> String {
    transcript::shown(text.as_bytes()).replace('\n', " ")
}
