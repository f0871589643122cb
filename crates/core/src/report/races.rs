//! Tasks that several raced for: who took part, who won, and why.

use serde::Serialize;

use crate::report::ledger::Ledger;
use crate::run::costs;
use crate::run::{Run, TaskState};
use crate::values::ids::TaskId;
use crate::values::units::Millis;

/// One race, as far as it has come.
#[derive(Debug, Serialize)]
pub struct Contest<'a> {
    #[serde(skip)]
    pub(super) task: &'a TaskId,
    /// The entrant whose work landed; nothing where none did.
    pub(super) winner: Option<&'a TaskId>,
    pub(super) why: Option<&'a str>,
    pub(super) entrants: Vec<Contestant<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Contestant<'a> {
    #[serde(rename = "task_id")]
    pub(super) task: &'a TaskId,
    #[serde(skip)]
    pub(super) place: usize,
    agent: &'a str,
    model: Option<&'a str>,
    /// What became of it, in a word.
    #[serde(rename = "result")]
    pub(super) end: &'static str,
    /// From 0 to 100, as it was when the race was decided.
    pub(super) score: Option<f64>,
    /// What the score rests on, or what it was doing then.
    #[serde(rename = "about")]
    pub(super) words: &'a str,
    #[serde(rename = "worked_ms")]
    pub(super) worked: Millis,
    cost_usd: Option<f64>,
    tokens: u64,
    /// The commit of good work that did not land.
    #[serde(rename = "kept_commit")]
    pub(super) kept: Option<&'a str>,
}

impl<'a> Contest<'a> {
    /// Nothing for a task without a race.
    pub(super) fn of(run: &'a Run, place: usize) -> Option<Contest<'a>> {
        let verdict = run.verdict(place);
        run.is_raced(place).then(|| Contest {
            task: &run.task(place).0.id,
            winner: verdict.map(|verdict| &verdict.winner),
            why: verdict.map(|verdict| verdict.why.as_str()),
            entrants: run
                .entrants(place)
                .iter()
                .map(|&entrant| Contestant::new(run, place, entrant))
                .collect(),
        })
    }

    pub(super) fn all(run: &'a Run) -> Vec<Contest<'a>> {
        run.races().filter_map(|place| Contest::of(run, place)).collect()
    }

    pub(super) fn words(&self) -> String {
        match (self.winner, self.why) {
            (Some(winner), Some(why)) => format!("{winner} won, {why}"),
            _ => "there is no winner".to_owned(),
        }
    }
}

impl<'a> Contestant<'a> {
    fn new(run: &'a Run, race: usize, place: usize) -> Contestant<'a> {
        let (task, progress) = run.task(place);
        let choice = run.agent_choice(place);
        let standings = run.verdict(race).map(|verdict| verdict.standings.as_slice()).unwrap_or_default();
        let standing = standings.iter().find(|standing| standing.task == task.id);
        Contestant {
            task: &task.id,
            place,
            agent: choice.map_or_else(|| task.agent_name(), |choice| &choice.agent),
            model: run.model(place).or_else(|| choice.and_then(|choice| choice.model.as_deref())),
            end: end(&progress.state, progress.last_attempt > 0, standing.is_some()),
            score: standing.and_then(|standing| standing.score),
            words: standing.map(|standing| standing.words.as_str()).unwrap_or_default(),
            worked: progress.worked,
            cost_usd: costs::dollars(progress.usage),
            tokens: progress.usage.tokens,
            kept: standing.and_then(|standing| standing.change.as_ref()).map(|change| change.commit.as_str()),
        }
    }

    /// The agent, and its model where that is known.
    pub(super) fn by(&self) -> String {
        self.model.map_or_else(|| self.agent.to_owned(), |model| format!("{}, {model}", self.agent))
    }

    /// The refs that hold its work.
    pub(super) fn rescued<'l>(&self, ledger: Option<&'l Ledger>) -> Vec<&'l str> {
        let own = format!("/{}/", self.task);
        let all = ledger.into_iter().flat_map(|ledger| &ledger.rescued);
        all.filter(|name| name.contains(&own)).map(String::as_str).collect()
    }
}

fn end(state: &TaskState, begun: bool, decided: bool) -> &'static str {
    match (state, begun) {
        (TaskState::Completed, _) => "won",
        (TaskState::Cancelled, true) if decided => "beaten",
        (TaskState::Cancelled, false) if decided => "not needed",
        (state, _) => state.status().name(),
    }
}
