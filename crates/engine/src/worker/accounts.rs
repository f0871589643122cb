//! What attempts have used, as far as it was reported, and a note of it beside each stream that is opened.
//!
//! A coordinator that is killed has not recorded the last of what it heard, and heard nothing of what its agents said
//! after that. All of it is in their streams. An attempt opens several streams, one after the other, and only the newest
//! is still there as it was written: the note says what was reported before it. What the note and the stream come to,
//! less what is recorded, is what is missing.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};

use conductor_core::plan::{Plan, Task};
use conductor_core::run::event::{ModelUsage, Usage};
use conductor_core::run::{Run, TaskState};
use conductor_core::schedule::LeftUsage;
use conductor_core::values::ids::{Attempt, TaskId};
use serde::{Deserialize, Serialize};

use super::bill::{Bill, Report};
use super::lines::Lines;
use crate::agents::prices;
use crate::agents::{self, Brief, CallSize, Caller, Earlier, Heard, Questions, Session, Translator};
use crate::git::workspaces::Workspace;
use crate::process::transcript::{Speaker, Transcript};

/// What attempts under way have reported.
#[derive(Default)]
pub(crate) struct Accounts {
    reported: Mutex<HashMap<TaskId, (Attempt, Vec<ModelUsage>)>>,
    /// The newest call of each task's conversation, by the conversation's name.
    calls: Mutex<HashMap<TaskId, (String, CallSize)>>,
}

impl Accounts {
    pub(super) fn report(&self, task: &TaskId, attempt: Attempt, report: &Report) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let (current, sums) = reported.entry(task.clone()).or_insert_with(|| (attempt, Vec::new()));
        if *current != attempt {
            (*current, *sums) = (attempt, Vec::new());
        }
        sum(sums, report);
    }

    /// Goes on where the note of another coordinator's begins.
    pub(super) fn go_on(&self, speaker: &Speaker<'_>) {
        if let Some(Note { before, .. }) = note_of(speaker) {
            let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
            reported.insert(speaker.task.clone(), (speaker.attempt, before));
        }
    }

    pub(super) fn of(&self, task: &TaskId, attempt: Attempt) -> Vec<ModelUsage> {
        let reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let own = reported.get(task).filter(|(current, _)| *current == attempt);
        own.map_or_else(Vec::new, |(_, sums)| sums.clone())
    }

    /// What a conversation was last asked: another process may go on with it, and be killed before it tells of its first
    /// call.
    pub(super) fn remember(&self, task: &TaskId, session: &str, call: Option<CallSize>) {
        let Some(call) = call else { return };
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.insert(task.clone(), (session.to_owned(), call));
    }

    fn newest_call(&self, task: &TaskId, session: &Session) -> Option<CallSize> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let known = calls.get(task).filter(|(known, _)| session.begun && *known == session.id);
        known.map(|(_, call)| call.clone())
    }

    /// Notes whose stream begins now and what was reported before it.
    pub(super) fn note(&self, speaker: &Speaker<'_>, task: &Task, session: &Session) -> io::Result<()> {
        let note = Note {
            task: speaker.task.clone(),
            attempt: speaker.attempt,
            agent: task.agent_name().to_owned(),
            model: task.model.clone(),
            session: session.id.clone(),
            begun: session.begun,
            before: self.of(speaker.task, speaker.attempt),
            newest_call: self.newest_call(speaker.task, session),
        };
        speaker.write_account(&serde_json::to_vec(&note)?)
    }
}

/// Who speaks in a stream, and what had been reported before.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Note {
    task: TaskId,
    attempt: Attempt,
    agent: String,
    model: Option<String>,
    pub(super) session: String,
    pub(super) begun: bool,
    pub(super) before: Vec<ModelUsage>,
    /// Of the conversation that is gone on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) newest_call: Option<CallSize>,
}

fn note_of(speaker: &Speaker<'_>) -> Option<Note> {
    serde_json::from_slice(&std::fs::read(speaker.account()).ok()?).ok()
}

/// What is noted of the newest stream, if that is this attempt's.
pub(super) fn note_of_attempt(speaker: &Speaker<'_>) -> Option<Note> {
    note_of(speaker).filter(|note| note.task == *speaker.task && note.attempt == speaker.attempt)
}

/// Whether the newest stream is that of this conversation.
pub(super) fn is_of(speaker: &Speaker<'_>, session: &Session) -> bool {
    note_of_attempt(speaker).is_some_and(|note| note.session == session.id)
}

/// What attempts of a dead coordinator have used beyond what is recorded, and what could not be read. Nothing writes to
/// their streams any more, but for those that go on.
pub(crate) fn left_usage(
    run: &Run,
    output: &std::path::Path,
    goes_on: impl Fn(&TaskId) -> bool,
) -> (Vec<LeftUsage>, Vec<String>) {
    let (mut left, mut troubles) = (Vec::new(), Vec::new());
    for (place, (task, progress)) in run.tasks().enumerate() {
        let TaskState::Running(running) = &progress.state else { continue };
        if running.ended || run.agent_choice(place).is_none() {
            continue;
        }
        let (executor, attempt) = (running.executor, running.attempt);
        let speaker = Speaker { output, executor, task: &task.id, attempt };
        let recorded = run.used_in_attempt(place);
        match used(run.plan(), task, &speaker, goes_on(&task.id)).map(|used| less(used, recorded)) {
            Ok(used) => left.extend(used.into_iter().map(|ModelUsage { model, usage }| LeftUsage {
                task: task.id.clone(),
                attempt,
                usage,
                model,
            })),
            Err(why) => troubles
                .push(format!("what {} used after its coordinator died is not counted: {why}", task.id)),
        }
    }
    (left, troubles)
}

/// What one attempt has used beyond what is recorded of it. Nothing writes to its stream any more.
pub(crate) fn left_usage_of(
    plan: &Plan,
    task: &Task,
    speaker: &Speaker<'_>,
    recorded: &[ModelUsage],
) -> Result<Vec<ModelUsage>, String> {
    used(plan, task, speaker, false).map(|used| less(used, recorded))
}

fn less(used: Option<Vec<ModelUsage>>, recorded: &[ModelUsage]) -> Vec<ModelUsage> {
    used.map_or_else(Vec::new, |used| missing(used, recorded))
}

/// What an attempt has used by its note and its newest stream; nothing where it opened none.
fn used(
    plan: &Plan,
    task: &Task,
    speaker: &Speaker<'_>,
    goes_on: bool,
) -> Result<Option<Vec<ModelUsage>>, String> {
    let words = |error: io::Error| format!("{}: {error}", speaker.account().display());
    let note = match std::fs::read(speaker.account()) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(words(error)),
    };
    let note: Note = serde_json::from_slice(&note).map_err(|error| words(error.into()))?;
    if note.task != *speaker.task || note.attempt != speaker.attempt {
        return Ok(None);
    }
    let mut sums = note.before.clone();
    // What is said by an agent of the file's own is for people only; it tells no usage.
    if !plan.agents.contains_key(&note.agent)
        && let Some(stream) = speaker.left_stream().map_err(words)?
    {
        let mut translator = translator(plan, task, &note)?;
        if let Some(call) = &note.newest_call {
            translator.goes_on_after(call);
        }
        let reports = replayed(&stream, &mut *translator, &plan.prices, goes_on).map_err(words)?;
        reports.iter().for_each(|report| sum(&mut sums, report));
    }
    Ok(Some(sums))
}

/// One that understands who spoke in a stream; nothing is started.
fn translator(plan: &Plan, task: &Task, note: &Note) -> Result<Box<dyn Translator>, String> {
    let Note { agent: name, model, session, begun, .. } = note;
    let task = Task { agent: Some(name.clone()), model: model.clone(), ..task.clone() };
    let agent = agents::agent(plan, name).map_err(|error| error.to_string())?;
    let session = Session { id: session.clone(), begun: *begun };
    let brief = Brief {
        task: &task,
        workspace: &Workspace::default(),
        caller: &Caller::default(),
        words: String::new(),
        anew: None,
        session: &session,
        questions: &Questions::default(),
        earlier: Earlier::default(),
        manner: None,
        tools: None,
    };
    agent.engage(&brief).map(|engagement| engagement.translator).map_err(|error| error.to_string())
}

/// What a whole stream says was used, with what was under way when it ended, if it has.
fn replayed(
    stream: &Transcript,
    translator: &mut dyn Translator,
    own: &prices::Own,
    goes_on: bool,
) -> io::Result<Vec<Report>> {
    let (mut lines, mut bill, mut reports) = (Lines::default(), Bill::default(), Vec::new());
    translator.opening();
    while lines.fill(stream)? {
        while let Some(line) = lines.next() {
            bill.hear(&translator.on_line(line), own, &mut reports);
        }
    }
    if !goes_on {
        let unsaid = Heard { used: translator.unsaid(), ..Heard::default() };
        bill.hear(&unsaid, own, &mut reports);
    }
    Ok(reports)
}

pub(super) fn sum(sums: &mut Vec<ModelUsage>, report: &Report) {
    let Report { model, usage, taken_back } = report;
    match sums.iter_mut().find(|known| known.model == *model) {
        Some(known) => known.usage.report(*usage, *taken_back),
        None => sums.push(ModelUsage { model: model.clone(), usage: usage.less(*taken_back) }),
    }
}

/// What is to be reported of an attempt so that what is recorded of it is what it has used.
pub(super) fn corrections(used: &[ModelUsage], recorded: &[ModelUsage]) -> Vec<Report> {
    let of = |all: &[ModelUsage], model: &Option<Box<str>>| {
        all.iter().find(|one| one.model == *model).map_or_else(Usage::default, |one| one.usage)
    };
    let mut models: Vec<&Option<Box<str>>> = used.iter().map(|one| &one.model).collect();
    models.extend(
        recorded.iter().map(|one| &one.model).filter(|model| used.iter().all(|one| one.model != **model)),
    );
    let report = |model: &Option<Box<str>>| {
        let (used, recorded) = (of(used, model), of(recorded, model));
        let (usage, taken_back) = (used.less(recorded), recorded.less(used));
        Report { model: model.clone(), usage, taken_back }
    };
    let reports = models.into_iter().map(report);
    reports.filter(|report| !report.usage.is_nothing() || !report.taken_back.is_nothing()).collect()
}

/// What was used less what is recorded of it.
fn missing(used: Vec<ModelUsage>, recorded: &[ModelUsage]) -> Vec<ModelUsage> {
    let mut all = used;
    for ModelUsage { model, usage } in &mut all {
        let known = recorded.iter().find(|known| known.model == *model);
        let known = known.map_or_else(Usage::default, |known| known.usage);
        *usage = usage.less(known);
    }
    all.retain(|left| left.usage != Usage::default());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use conductor_core::values::units::Usd;

    fn used(model: &str, cost: u64, tokens: u64) -> ModelUsage {
        let usage = Usage { cost: Usd(cost), tokens, turns: 1, ..Usage::default() };
        ModelUsage { model: Some(model.into()), usage }
    }

    #[test]
    fn only_what_is_not_recorded_is_missing() {
        let all = vec![used("a", 10, 100), used("b", 5, 50)];
        assert_eq!(missing(all.clone(), &all), []);
        assert_eq!(missing(all.clone(), &[]), all);
        let left = missing(all.clone(), &[used("a", 4, 40), used("b", 9, 90)]);
        assert_eq!(left.len(), 1, "more than it used is never taken back");
        assert_eq!(left[0].usage, Usage { cost: Usd(6), tokens: 60, ..Usage::default() });
    }

    #[test]
    fn what_is_recorded_is_put_right_whichever_of_the_two_is_more() {
        let (all, recorded) =
            (vec![used("a", 10, 100), used("b", 5, 50)], [used("b", 9, 90), used("c", 1, 1)]);
        let reports = corrections(&all, &recorded);
        let mut sums = recorded.to_vec();
        reports.iter().for_each(|report| sum(&mut sums, report));
        sums.retain(|one| !one.usage.is_nothing());
        sums.sort_by(|one, other| one.model.cmp(&other.model));
        assert_eq!(sums, all);
        assert!(corrections(&all, &all).is_empty());
    }

    #[test]
    fn an_attempt_starts_with_nothing_reported() {
        let (accounts, task) = (Accounts::default(), TaskId::parse("t").unwrap());
        let report = |attempt, ModelUsage { model, usage }| {
            let taken_back = Usage::default();
            accounts.report(&task, Attempt(attempt), &Report { model, usage, taken_back });
        };
        report(1, used("a", 1, 1));
        report(2, used("a", 2, 2));
        assert_eq!(accounts.of(&task, Attempt(1)), []);
        assert_eq!(accounts.of(&task, Attempt(2)), [used("a", 2, 2)]);
    }
}
