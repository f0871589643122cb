//! A run's status in words.

use std::fmt::Write as _;

use conductor_core::run::costs;
use conductor_core::run::event::{DrainReason, StopReason};
use conductor_core::schedule::{AtWork, Phase, Snapshot, Wait, Waiting, Words};
use conductor_core::values::ids::TaskId;

use conductor_engine::host::clock::wall;

use super::Seen;
use crate::end_block::one_line;

/// How many of each kind are shown.
const SHOWN: usize = 20;

/// How wide a task's name is made room for.
const WIDEST: usize = 30;

pub(crate) fn whole(seen: &Seen) -> String {
    body(seen) + &calls(seen)
}

/// How it stands.
pub(super) fn body(seen: &Seen) -> String {
    let s = &seen.snapshot;
    let mut out = head(seen);
    running(&mut out, s);
    section(&mut out, "waiting", &s.waiting, s.waiting.len() as u32, |waiting| {
        (&waiting.task, format!("waits {}", why(&waiting.why)))
    });
    section(&mut out, "next", &s.next, s.next.len() as u32, next);
    section(&mut out, "failed", &s.failed, s.counts.failed, said);
    section(&mut out, "conflicts ahead", &s.ahead, s.ahead.len() as u32, said);
    for words in &s.settings {
        let _ = writeln!(out, "\n{}", one_line(words));
    }
    out
}

/// What the user can do about it, each with its command.
pub(super) fn calls(seen: &Seen) -> String {
    let mut out = String::new();
    for (shim, since) in &seen.alone {
        let (task, pid, so_long) = (&shim.task, shim.agent.pid, wall() - *since);
        let _ = writeln!(
            out,
            "\nthe agent of {task} works on without a coordinator (process {pid}, for {so_long})"
        );
    }
    questions(&mut out, seen);
    reviews(&mut out, seen);
    if seen.pid.is_none() {
        out.push_str(&left(seen));
    }
    out
}

/// What runs and what waits, for the user at the run's own terminal.
pub(crate) fn brief(snapshot: &Snapshot) -> String {
    let s = snapshot;
    let mut out = format!("{}\n", figures(s));
    running(&mut out, s);
    section(&mut out, "waiting", &s.waiting, s.waiting.len() as u32, |waiting| {
        (&waiting.task, format!("waits {}", why(&waiting.why)))
    });
    section(&mut out, "next", &s.next, s.next.len() as u32, next);
    out
}

/// Those whose attempt is over take no slot, so they are not counted with those at work.
fn running(out: &mut String, s: &Snapshot) {
    let is_landing =
        |at_work: &AtWork| matches!(at_work.phase, Phase::Landing | Phase::Merging | Phase::Aboard);
    let (landing, working): (Vec<&AtWork>, Vec<&AtWork>) = s.running.iter().partition(|one| is_landing(one));
    let all = s.counts.running.saturating_sub(s.counts.landing);
    section(out, "at work", &working, all, |one| (&one.task, doing(one)));
    section(out, "landing", &landing, s.counts.landing, |one| (&one.task, doing(one)));
}

fn head(seen: &Seen) -> String {
    let s = &seen.snapshot;
    let state = match (seen.pid, s.state.as_str()) {
        // The coordinator died without recording an end.
        (None, "running" | "paused" | "finishing" | "created") => "left in the middle",
        (_, state) => state,
    };
    let why = s.why.map(|why| format!(" ({})", reason(why))).unwrap_or_default();
    let by = seen.pid.map(|pid| format!(", by process {pid}")).unwrap_or_default();
    let away =
        seen.away.as_deref().map(|why| format!("{}; waiting for it\n", one_line(why))).unwrap_or_default();
    format!("run {}: {state}{why}, {}\nin {}{by}\n{away}", seen.run, figures(s), one_line(&seen.directory))
}

fn figures(s: &Snapshot) -> String {
    let cost = match (s.spent.tokens > 0 || s.spent.cost.0 > 0, s.max_cost) {
        (false, None) => String::new(),
        (_, None) => format!("; {}", costs::words(s.spent)),
        (_, Some(cap)) => format!("; {} of {cap}", costs::words(s.spent)),
    };
    format!("{}; {} at a time, {}{cost}", counted(s), s.slots, s.elapsed)
}

/// How many tasks are done, and how many there are of each other kind.
pub(crate) fn counted(s: &Snapshot) -> String {
    let counts = s.counts;
    let mut parts = vec![format!("{} of {} done", counts.completed, s.total)];
    for (count, word) in [
        (counts.running.saturating_sub(counts.landing), "at work"),
        (counts.landing, "landing"),
        (counts.waiting, "waiting"),
        (counts.pending, "to do"),
        (counts.failed, "failed"),
        (counts.skipped, "skipped"),
        (counts.cancelled, "cancelled"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    parts.join(", ")
}

fn reason(why: DrainReason) -> &'static str {
    match why {
        DrainReason::User => "the user asked for it",
        DrainReason::FailFast => "a task has failed",
        DrainReason::Budget => "its budget is reached",
        DrainReason::Unauthorized => "an agent is not logged in",
        DrainReason::Person => "waiting for a person",
    }
}

pub(super) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Preparing => "preparing",
        Phase::Working => "working",
        Phase::Verifying => "verifying",
        Phase::Stopping(_) => "stopping",
        Phase::Landing => "landing",
        Phase::Merging => "merging",
        Phase::Aboard => "aboard",
        Phase::StandingBy => "standing by",
        Phase::Stacked => "lands after what it is built on",
    }
}

fn doing(at_work: &AtWork) -> String {
    let phase = match at_work.phase {
        Phase::Stopping(StopReason::TimedOut) => "stopping, out of time".to_owned(),
        Phase::Stopping(StopReason::Budget) => "stopping, its budget is reached".to_owned(),
        Phase::Stopping(StopReason::Cancelled) => "stopping, cancelled".to_owned(),
        Phase::Stopping(StopReason::Preempted) => "stopping, makes room for something more urgent".to_owned(),
        Phase::Stopping(StopReason::Interrupted) => "stopping, to be resumed".to_owned(),
        Phase::Stopping(StopReason::BaseChanged) => "stopping, what it is built on has changed".to_owned(),
        Phase::Stopping(StopReason::Outrun) => "stopping, another agent was first".to_owned(),
        Phase::Landing => "done, waits to land".to_owned(),
        Phase::Aboard => "done, lands with its epic".to_owned(),
        Phase::StandingBy => "done, stands by".to_owned(),
        Phase::Stacked => "done, lands after what it is built on".to_owned(),
        phase => phase_name(phase).to_owned(),
    };
    let mut words = at_work.since.map_or_else(String::new, |since| format!("{since}  "));
    words += &phase;
    let choice = [at_work.agent.as_deref(), at_work.model.as_deref()];
    let choice: Vec<&str> = choice.into_iter().flatten().collect();
    if !choice.is_empty() {
        let _ = write!(words, "  {}", one_line(&choice.join(" ")));
    }
    if at_work.attempt.0 > 1 {
        let _ = write!(words, "  attempt {}", at_work.attempt);
    }
    if at_work.spent.tokens > 0 {
        let _ = write!(words, "  {}", costs::words(at_work.spent));
    }
    words
}

/// The first reason decides; the rest is for `explain`.
fn why(why: &[Wait]) -> String {
    why.first().map(|wait| one_line(&wait.to_string())).unwrap_or_default()
}

fn next(waiting: &Waiting) -> (&TaskId, String) {
    let words = match waiting.why.is_empty() {
        true => "starts".to_owned(),
        false => format!("waits {}", why(&waiting.why)),
    };
    (&waiting.task, words)
}

fn said(words: &Words) -> (&TaskId, String) {
    (&words.task, one_line(&words.words))
}

fn section<T>(out: &mut String, name: &str, all: &[T], count: u32, line: impl Fn(&T) -> (&TaskId, String)) {
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{name}");
    let rows: Vec<(&TaskId, String)> = all.iter().take(SHOWN).map(line).collect();
    let width = rows.iter().map(|(task, _)| task.as_str().len()).max().unwrap_or(0).min(WIDEST);
    for (task, words) in &rows {
        let _ = writeln!(out, "  {:<width$}  {words}", task.as_str());
    }
    let rest = (count as usize).saturating_sub(rows.len());
    if rest > 0 {
        let _ = writeln!(out, "  … and {rest} more");
    }
}

fn questions(out: &mut String, seen: &Seen) {
    for (task, _) in seen.snapshot.questions() {
        let _ = writeln!(out, "\nto answer it: conductor task approve {task} --run {}   or deny", seen.run);
    }
}

fn reviews(out: &mut String, seen: &Seen) {
    match seen.snapshot.reviews().count() {
        0 => {}
        1 => _ = writeln!(out, "\n1 task waits for your review: conductor review {}", seen.run),
        count => _ = writeln!(out, "\n{count} tasks wait for your review: conductor review {}", seen.run),
    }
}

fn left(seen: &Seen) -> String {
    let (s, run) = (&seen.snapshot, &seen.run);
    let open = s.counts.pending + s.counts.running + s.counts.waiting;
    match (open, s.counts.failed + s.counts.skipped + s.counts.cancelled) {
        (0, 0) => String::new(),
        (0, _) => format!(
            "\nthe run is not active; to do again what failed: conductor run --resume {run} --retry-failed\n"
        ),
        _ => format!("\nthe run is not active; to go on with it: conductor run --resume {run}\n"),
    }
}
