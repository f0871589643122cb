//! What an agent and Conductor said to each other, turn by turn.

use axum::response::Response;
use conductor_core::run::event::{AgentChoice, Event};
use conductor_core::values::ids::{Attempt, TaskId};
use serde_json::{Value, json};

use super::spoken::{ATTEMPT, Spoken, attempt_of, spoken};
use crate::app::App;
use crate::live::Feed;
use crate::problem::Result;
use crate::web::answer;
use crate::web::fields::{Kind, may};
use crate::web::route::{Asked, Route, VIEWER, by, get};

const SCHEMA: &str = "conductor.conversation/1";

/// So many turns are told at once, if not fewer are asked for.
const MOST: u64 = 1_000;

pub(crate) const ROUTES: &[Route] = &[get(
    "/api/runs/{run}/tasks/{task}/conversation",
    VIEWER,
    "The conversation with a task's agent as turns; a command's output is one turn",
    by!(show),
)
.query(&[
    ATTEMPT,
    may(
        "since",
        Kind::Whole(0, u64::MAX >> 1),
        "Only turns that came or changed since then: `next_since` of an earlier answer.",
    ),
    may("limit", Kind::Whole(1, MOST), "So many turns at most (default: 1000)."),
])
.json(
    SCHEMA,
    "run text, task text, attempt whole, attempts whole, agent text?, model text?, at_work flag, prompt text?, \
     turns [object], next_since whole, more flag, skipped_lines whole, turns_left_out whole",
)];

async fn show(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let Spoken { listener, place, agent } = spoken(&app, &feed, asked.named("task")?, true).await?;
    let (attempt, executor) = attempt_of(&listener, &asked)?;
    let newest = listener.attempts().last().is_some_and(|(newest, _)| *newest == attempt);
    let (task, attempts) = (listener.task().clone(), listener.attempts().len());
    let choice = match newest {
        true => feed.look(|run| run.agent_choice(place).cloned()),
        false => choice_of(&feed, &task, attempt).await?,
    };
    let agent = agent.map(|agent| choice.as_ref().map_or(agent, |choice| choice.agent.clone()));
    let exchange = app.exchanges.of(&listener, attempt, executor, agent.as_deref());
    let mut exchange = exchange.lock().await;
    exchange.is_heard_by(listener);
    let at_work = exchange.catch_up().await?;
    let told = exchange.turns();
    let since = asked.query.whole("since").unwrap_or(0);
    let limit = asked.query.whole("limit").unwrap_or(MOST) as usize;
    let (turns, next_since) = told.since(since, limit);
    let heard_of = feed.look(|run| run.model(place).filter(|_| newest).map(str::to_owned));
    let model = told.model().map(str::to_owned).or(choice.and_then(|choice| choice.model)).or(heard_of);
    // It is long, and one who comes back has it.
    let prompt = told.prompt().filter(|_| since == 0);
    let value: Value = json!({
        "run": feed.id(), "task": task, "attempt": attempt, "attempts": attempts,
        "agent": agent, "model": model, "at_work": at_work, "prompt": prompt,
        "turns": turns, "next_since": next_since, "more": next_since < told.mark(),
        "skipped_lines": told.skipped(), "turns_left_out": told.left_out(),
    });
    answer::json(SCHEMA, value)
}

/// Who made an earlier attempt: the run itself remembers the newest.
async fn choice_of(feed: &Feed, task: &TaskId, wanted: Attempt) -> Result<Option<AgentChoice>> {
    let records = feed.records(0).await?;
    Ok(records.into_iter().find_map(|record| match record.event {
        Event::AttemptStarted { task: whose, attempt, choice, .. } if whose == *task && attempt == wanted => {
            choice.map(|choice| *choice)
        }
        _ => None,
    }))
}
