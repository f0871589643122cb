//! Figures as people read them, in every form of the report alike.

use super::files::findings_of;
use super::{Subject, Summary, Voice};
use crate::forecast::Basis;
use crate::plan::Work;
use crate::run::costs;
use crate::run::event::{Finding, Planning};
use crate::run::{AgentUse, Run, Stage, TaskState};
use crate::schedule::quality::{self, Quality};
use crate::values::counted::{counted, things};
use crate::values::ids::TaskId;
use crate::values::units::Timestamp;

pub(super) const NOT_MEASURED: &str = "not measured";

/// As `12,345`.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// As `2026-11-16 08:07:59 UTC`: the reader may be anywhere.
pub(super) fn moment(at: Timestamp) -> String {
    let seconds = at.0.div_euclid(1000).rem_euclid(86_400);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{} {hour:02}:{minute:02}:{second:02} UTC", costs::day(at, 0))
}

/// How many of each, those of which there are none left out.
pub(super) fn rest(summary: &Summary) -> String {
    let parts = [
        (summary.failed, "failed"),
        (summary.skipped, "skipped"),
        (summary.cancelled, "cancelled"),
        (summary.open, "open"),
    ];
    let told = parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    told.collect::<Vec<_>>().join(", ")
}

/// What the whole run cost, and what there is to say about that.
pub(super) fn cost(run: &Run) -> (String, String) {
    let spent = run.spent();
    let (attempts, untold) =
        run.agents().values().fold((0, 0), |(all, un), used| (all + used.attempts, un + used.untold));
    let asked =
        !run.planning().is_empty() || run.spans().iter().any(|span| is_prompt(run, span.task as usize));
    let mut words = format!("{} {}", thousands(spent.tokens), things(spent.tokens, "token"));
    if spent.unpriced > 0 {
        words += &format!(", {} of them without a known price", thousands(spent.unpriced));
    }
    if untold > 0 {
        words += &format!(", and {untold} of {} did not tell what was used", counted(attempts, "attempt"));
    }
    for planning in run.planning() {
        words += &format!("; {} for planning, by {}", planning_cost(planning), planning.agent);
    }
    match (asked, spent.tokens) {
        (false, 0) => ("none".to_owned(), "no agent was at work".to_owned()),
        (true, 0) if spent.cost.0 == 0 => {
            (NOT_MEASURED.to_owned(), "no agent has told what it used".to_owned())
        }
        _ => (costs::words(spent), words),
    }
}

/// Of one task; a command costs no money.
pub(super) fn task_cost(run: &Run, place: usize) -> String {
    let (usage, attempts) = (run.usage(place), run.progress(run.doer(place)).last_attempt);
    let untold = usage.tokens == 0 && usage.cost.0 == 0;
    match (untold, is_prompt(run, place), attempts) {
        (false, ..) => costs::words(usage),
        (true, true, 1..) => NOT_MEASURED.to_owned(),
        (true, ..) => "–".to_owned(),
    }
}

fn is_prompt(run: &Run, place: usize) -> bool {
    matches!(run.plan().tasks[place].work, Work::Prompt(_))
}

/// Of one agent; nothing told is not nothing.
pub(super) fn agent_cost(used: &AgentUse) -> String {
    match used.usage.tokens == 0 && used.usage.cost.0 == 0 {
        true => NOT_MEASURED.to_owned(),
        false => costs::words(used.usage),
    }
}

/// Of a plan that was asked for.
pub(super) fn planning_cost(planning: &Planning) -> String {
    match planning.usage.is_empty() {
        true => NOT_MEASURED.to_owned(),
        false => costs::words(planning.total()),
    }
}

/// What an estimate rested on.
pub(super) fn basis(basis: Basis) -> String {
    match basis {
        Basis::Given => "the task file".to_owned(),
        Basis::History(samples) => counted(samples, "former run"),
        Basis::Similar(samples) => format!("{} like it", counted(samples, "task")),
        Basis::Default => "custom".to_owned(),
    }
}

/// Why there is no ledger.
pub(super) fn no_ledger(run: &Run) -> &'static str {
    match run.stage() {
        Stage::Created | Stage::Active | Stage::Draining(_) => {
            "Not looked up: that is done when the run is not active."
        }
        Stage::Stopped(_) | Stage::Finished(_) => {
            "Not measured: there was no repository to look into, so nothing is merged and nothing can be lost."
        }
    }
}

/// Words as a sentence.
pub(super) fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).chain(['.']).collect()).unwrap_or_default()
}

/// A commit as people name it.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// Text in which nothing is hidden and nothing reads differently from what it is.
pub(super) fn tamed(text: &str) -> String {
    text.chars().map(|c| if is_unsafe(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Control characters, those that change the order of others, and those that are no characters.
pub(super) fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{feff}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control() || (c as u32) & 0xfffe == 0xfffe || ('\u{fdd0}'..='\u{fdef}').contains(&c),
    }
}

/// What the agent that did a task said last.
pub(super) fn voice<'s>(subject: &Subject<'s>, place: usize) -> Option<&'s Voice> {
    subject.voices.get(&place).or_else(|| subject.voices.get(&subject.run.doer(place)))
}

/// Why a task is in the state it is in; of those who raced and were beaten, by whom.
pub(super) fn note(run: &Run, place: usize) -> String {
    let progress = run.progress(place);
    let winner = || run.winner(run.raced_by(place)?);
    match (&progress.state, winner()) {
        (TaskState::Cancelled, Some(winner)) => format!("{} landed instead", run.task(winner).0.id),
        (TaskState::Completed, _) if run.is_raced(place) => {
            let verdict = run.verdict(place);
            verdict.map(|verdict| format!("by {}: {}", verdict.winner, verdict.why)).unwrap_or_default()
        }
        (state, _) => super::note(run.plan(), run.task(place).0, state),
    }
}

/// Places of the tasks that failed.
pub(super) fn failed(subject: &Subject<'_>) -> Vec<usize> {
    let failed = |place: &usize| matches!(subject.run.progress(*place).state, TaskState::Failed(_));
    subject.run.asked().map(|(place, _, _)| place).filter(failed).collect()
}

/// The tasks whose work was scored, the worst first.
/// What verifiers found, the worst first.
pub(super) fn findings(run: &Run) -> Vec<(&TaskId, &Finding)> {
    let mut all: Vec<(&TaskId, &Finding)> = run
        .asked()
        .flat_map(|(_, task, progress)| findings_of(progress).iter().map(move |one| (&task.id, one)))
        .collect();
    all.sort_by_key(|(_, one)| one.level);
    all
}

pub(super) fn scored(run: &Run) -> Vec<(&TaskId, Quality)> {
    let all = run.asked().filter_map(|(place, task, _)| Some((&task.id, quality::of(run, place)?)));
    let mut all: Vec<(&TaskId, Quality)> = all.collect();
    all.sort_by(|(_, one), (_, other)| one.score.total_cmp(&other.score));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        let told = [0, 12, 999, 1_000, 1_234_567].map(thousands);
        assert_eq!(told, ["0", "12", "999", "1,000", "1,234,567"]);
        assert_eq!(moment(Timestamp(1_794_816_479_000)), "2026-11-16 08:07:59 UTC");
        assert_eq!(moment(Timestamp(-60_000)), "1969-12-31 23:59:00 UTC");
    }
}
