//! Whose words are asked for: a task of a run, and an attempt of it.

use std::sync::Arc;

use conductor_core::plan::Work;
use conductor_core::run::Run;
use conductor_core::values::ids::Attempt;
use conductor_engine::runs::listening::{ListenError, Listener};

use super::tasks;
use crate::app::App;
use crate::live::Feed;
use crate::problem::{Problem, Result};
use crate::web::fields::{Field, Kind, may};
use crate::web::route::Asked;

pub(super) const ATTEMPT: Field =
    may("attempt", Kind::Whole(1, u32::MAX as u64), "Of this attempt (default: the newest).");

/// A task that is listened to.
pub(super) struct Spoken {
    pub(super) listener: Listener,
    pub(super) place: usize,
    /// Of its newest attempt; nothing for a command.
    pub(super) agent: Option<String>,
}

/// The task of this name; of a race, the one whose work counts.
pub(super) async fn spoken(app: &App, feed: &Arc<Feed>, task: &str, stream: bool) -> Result<Spoken> {
    let store = app.runs.reader().await?;
    feed.look(|run| {
        let place = run.doer(tasks::find(run, task)?);
        let listener = Listener::new(&app.home, store, feed.id(), run, place, stream);
        Ok(Spoken { listener, place, agent: agent_of(run, place) })
    })
}

fn agent_of(run: &Run, place: usize) -> Option<String> {
    let task = run.task(place).0;
    match task.work {
        Work::Run(_) => None,
        Work::Prompt(_) => {
            let chosen = run.agent_choice(place).map(|choice| choice.agent.as_str());
            Some(chosen.unwrap_or(task.agent_name()).to_owned())
        }
    }
}

/// The attempt that is asked for, or the newest, and who made it.
pub(super) fn attempt_of(listener: &Listener, asked: &Asked) -> Result<(Attempt, u32)> {
    let (task, attempts) = (listener.task(), listener.attempts());
    let Some(newest) = attempts.last() else {
        return Err(Problem::conflict(format!("task '{task}' has not begun")));
    };
    let Some(wanted) = asked.query.whole("attempt") else { return Ok(*newest) };
    let known = attempts.iter().find(|(attempt, _)| u64::from(attempt.0) == wanted);
    known.copied().ok_or_else(|| {
        Problem::field("attempt", format!("is not one of task '{task}'; its newest is {}", newest.0))
    })
}

impl From<ListenError> for Problem {
    fn from(error: ListenError) -> Problem {
        match error {
            ListenError::Control(error) => error.into(),
            ListenError::Store(error) => error.into(),
            error @ ListenError::Unreadable(_) => Problem::unavailable(error),
        }
    }
}
