//! What waits for a review, with all a reviewer wants to know of it.

use std::path::PathBuf;

use conductor_core::run::costs;
use conductor_core::run::event::{Change, Usage};
use conductor_core::run::{Run, TaskState};
use conductor_core::values::counted::counted;
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_core::values::units::Timestamp;
use conductor_engine::host::home::Home;
use conductor_engine::process::transcript::{self, Speaker};
use serde_json::{Value, json};

use crate::archive::{Archive, Found};
use crate::end_block::one_line;
use crate::error::CliError;
use crate::output::table::columns;
use crate::progress::json::timestamp;

/// How many runs are looked through where none is named.
const LOOK_BACK: usize = 50;

pub(super) struct Waiting {
    pub(super) found: Found,
    place: usize,
    pub(super) change: Change,
    attempt: Attempt,
    executor: u32,
    since: Timestamp,
}

/// The place of the work that is meant: where several race for a task, that of the entrant in review.
pub(super) fn place_of(run: &Run, place: usize) -> Option<usize> {
    let entrants = run.entrants(place).iter().copied();
    let in_review = |&at: &usize| matches!(run.progress(at).state, TaskState::InReview { .. });
    std::iter::once(place).chain(entrants).find(in_review)
}

/// Everything that waits in the run that is named, or in those of this repository, newest run first.
pub(super) async fn all(archive: &Archive, run: Option<&str>) -> Result<Vec<Waiting>, CliError> {
    let mut all = Vec::new();
    for stored in archive.candidates(run)?.iter().take(LOOK_BACK) {
        let Some(found) = archive.read_or_leave_out(stored).await else { continue };
        let places = 0..found.run.plan().tasks.len();
        let in_review = |&at: &usize| matches!(found.run.progress(at).state, TaskState::InReview { .. });
        for place in places.filter(in_review).collect::<Vec<_>>() {
            let found = Found {
                stored: found.stored.clone(),
                records: found.records.clone(),
                run: found.run.clone(),
            };
            all.extend(Waiting::of(found, place));
        }
    }
    Ok(all)
}

impl Waiting {
    pub(super) fn of(found: Found, place: usize) -> Option<Waiting> {
        let place = place_of(&found.run, place)?;
        let TaskState::InReview { running, since } = &found.run.progress(place).state else { return None };
        let change = running.landing.as_ref()?.change.clone();
        let (attempt, executor, since) = (running.attempt, running.executor, *since);
        Some(Waiting { place, change, attempt, executor, since, found })
    }

    pub(super) fn task(&self) -> &TaskId {
        &self.found.run.task(self.place).0.id
    }

    pub(super) fn run(&self) -> &RunId {
        &self.found.stored.id
    }

    /// The commit is held by a ref of its own from now on.
    pub(super) fn keep(&self, home: &Home) -> Result<String, CliError> {
        Ok(self.found.context(home)?.hold_work(self.task(), self.attempt, &self.change.commit)?)
    }

    /// What a reviewer sees before the patch.
    pub(super) fn about(&self, home: &Home) -> String {
        let (task, progress) = self.found.run.task(self.place);
        let touched = &self.change.touched;
        let name = match task.name == task.id.as_str() {
            true => String::new(),
            false => format!("  {}", one_line(&task.name)),
        };
        let mut out = format!("{}{name}\n", task.id);
        let files = counted(touched.count(), "file");
        let cost = cost(progress.usage).map(|cost| format!(", {cost}")).unwrap_or_default();
        out += &format!("  run {}, commit {:.10}{cost}\n", self.run(), self.change.commit);
        out += &format!("  {files}, +{} -{}\n", touched.added, touched.removed);
        out += &match task.verify.is_empty() {
            true => "  no checks were asked for\n".to_owned(),
            false => format!("  passed: {}\n", one_line(&task.verify.join("; "))),
        };
        if let Some(reviewed) = &self.change.reviewed {
            let score = reviewed.score.map(|score| format!(", {score} of 100")).unwrap_or_default();
            out += &format!("  reviewed by {}{score}\n", reviewed.by);
            for finding in &reviewed.findings {
                out += &format!("    - {}\n", one_line(finding));
            }
        }
        for line in self.last_words(home) {
            out += &format!("  | {}\n", one_line(&line));
        }
        out
    }

    /// The end of what the agent said.
    fn last_words(&self, home: &Home) -> Vec<String> {
        let state = home.run(self.run());
        let output = self.found.run.options().output.as_ref().map_or(state, PathBuf::from);
        let speaker =
            Speaker { output: &output, executor: self.executor, task: self.task(), attempt: self.attempt };
        transcript::last_lines(&speaker.transcript(), 8)
    }

    pub(super) fn patch(&self, home: &Home) -> Result<Vec<u8>, CliError> {
        let run_repo = self.found.context(home)?;
        Ok(run_repo.shadow().patch(&self.change.base, &self.change.commit)?)
    }
}

/// Nothing where nothing was used: a command costs nothing.
fn cost(usage: Usage) -> Option<String> {
    (usage != Usage::default()).then(|| costs::words(usage))
}

pub(super) fn table(waiting: &[Waiting]) -> String {
    let row = |one: &Waiting| {
        let (task, progress) = one.found.run.task(one.place);
        let touched = &one.change.touched;
        [
            task.id.to_string(),
            one.run().to_string(),
            format!("{:.10}", one.change.commit),
            format!("{}, +{} -{}", counted(touched.count(), "file"), touched.added, touched.removed),
            cost(progress.usage).unwrap_or_else(|| "-".to_owned()),
            one_line(&task.name),
        ]
    };
    columns(["TASK", "RUN", "COMMIT", "CHANGES", "COST", "NAME"], waiting.iter().map(row).collect())
}

pub(super) fn json(waiting: &[Waiting]) -> Value {
    let one = |one: &Waiting| {
        let (task, progress) = one.found.run.task(one.place);
        let Change { base, commit, touched, .. } = &one.change;
        json!({
            "task": task.id,
            "name": task.name,
            "run": one.run(),
            "attempt": one.attempt,
            "commit": commit,
            "base": base,
            "files": touched.files,
            "added": touched.added,
            "removed": touched.removed,
            "verify": task.verify,
            "cost_usd": costs::dollars(progress.usage),
            "since": timestamp(one.since.0),
        })
    };
    json!({ "schema": "conductor.reviews/1", "reviews": waiting.iter().map(one).collect::<Vec<_>>() })
}
