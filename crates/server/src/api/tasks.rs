//! The tasks of a run: how each stands, and its attempts.

use axum::response::Response;
use conductor_core::plan::Task;
use conductor_core::report;
use conductor_core::run::event::Record;
use conductor_core::run::{Progress, Run, Status, TaskState};
use conductor_core::values::ids::TaskId;
use conductor_core::values::suggest::did_you_mean;
use conductor_engine::process::transcript::CheckRun;
use conductor_engine::records::flat::timestamp;
use serde_json::{Value, json};

use super::projects::{PAGE, place, task_json};
use super::spoken::{ATTEMPT, Spoken, attempt_of, spoken};
use super::{runs, shown};
use crate::app::App;
use crate::live::Feed;
use crate::problem::{Problem, Result};
use crate::web::answer;
use crate::web::fields::{Field, Kind, may, must};
use crate::web::route::{Asked, Route, VIEWER, by, get};

const STATES: &[&str] = &["pending", "running", "waiting", "completed", "failed", "skipped", "cancelled"];

const LISTED: &[Field] = &[
    PAGE[0],
    may("limit", Kind::Whole(1, MOST), "How many at most (default 100)."),
    may("status", Kind::OneOf(STATES), "Only tasks with this status."),
];

/// So many tasks in one answer.
const MOST: u64 = 20_000;

pub(crate) const ROUTES: &[Route] = &[
    get(
        "/api/runs/{run}/changes",
        VIEWER,
        "How a run stands, and its tasks that something happened to behind an event",
        by!(changes),
    )
    .query(&[must("since", Kind::Whole(0, u64::MAX >> 1), "The number of the last event you know of.")])
    .json("conductor.changes/1", "run text, seq whole, status object, tasks [RunTask], all flag"),
    get("/api/runs/{run}/tasks", VIEWER, "List the tasks of a run", by!(list))
        .query(LISTED)
        .json("conductor.tasks/1", "run text, seq whole, total whole, tasks [RunTask], next_cursor text?"),
    get("/api/runs/{run}/tasks/{task}", VIEWER, "Show a task of a run", by!(show))
        .json("conductor.run-task/1", "run text, seq whole, task TaskDetail"),
    get(
        "/api/runs/{run}/tasks/{task}/checks",
        VIEWER,
        "How each check of a task's attempt went",
        by!(checks),
    )
    .query(&[ATTEMPT])
    .json("conductor.checks/1", "run text, task text, attempt whole, checks [CheckRun]"),
    get("/api/runs/{run}/tasks/{task}/attempts", VIEWER, "List the attempts of a task", by!(attempts))
        .json("conductor.attempts/1", "run text, task text, attempts [Attempt]"),
];

/// Where a task of a run is.
pub(crate) fn find(run: &Run, id: &str) -> Result<usize> {
    TaskId::parse(id).ok().and_then(|id| run.place(&id)).ok_or_else(|| {
        let meant = did_you_mean(id, run.plan().tasks.iter().map(|task| task.id.as_str()));
        Problem::not_found(format!("there is no task '{id}' in this run")).meant(meant)
    })
}

async fn list(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let wanted = asked
        .query
        .text("status")
        .and_then(|name| Status::ALL.into_iter().find(|status| status.name() == name));
    let is_live = feed.is_live();
    let (seq, total, page, next) = feed.look(|run| {
        let fits = |progress: &Progress| wanted.is_none_or(|status| progress.state.status() == status);
        let all: Vec<(usize, &Task, &Progress)> =
            run.asked().filter(|(_, _, progress)| fits(progress)).collect();
        let (from, limit) = place(&asked, run.plan().tasks.len())?;
        let page: Vec<Value> = all
            .iter()
            .skip(from)
            .take(limit)
            .map(|(place, task, progress)| shown::task(run, *place, task, progress, is_live))
            .collect();
        let next = (from + limit < all.len()).then(|| (from + limit).to_string());
        Ok::<_, Problem>((run.seq(), all.len(), page, next))
    })?;
    answer::json(
        "conductor.tasks/1",
        json!({ "run": feed.id(), "seq": seq, "total": total, "tasks": page, "next_cursor": next }),
    )
}

async fn show(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let is_live = feed.is_live();
    let (seq, mut task) = feed.look(|run| {
        let place = find(run, asked.named("task")?)?;
        Ok::<_, Problem>((run.seq(), whole(run, place, is_live)))
    })?;
    let Spoken { listener, .. } = spoken(&app, &feed, asked.named("task")?, false).await?;
    let newest = listener.attempts().last().copied();
    let runs = newest.map_or_else(Vec::new, |(attempt, executor)| listener.checks(attempt, executor));
    task["checks"] = runs.iter().map(check).collect();
    task["last_tool"] = json!(newest.and_then(|(attempt, executor)| {
        let call = listener.last_tool(attempt, executor)?;
        Some(json!({ "tool": call.tool, "what": call.what, "from": timestamp(call.from.0),
            "to": timestamp(call.to.0), "failed": call.failed }))
    }));
    answer::json("conductor.run-task/1", json!({ "run": feed.id(), "seq": seq, "task": task }))
}

fn whole(run: &Run, place: usize, is_live: bool) -> Value {
    let (task, progress) = run.task(place);
    let mut value = task_json(task);
    if let (Value::Object(value), Value::Object(brief)) =
        (&mut value, shown::task(run, place, task, progress, is_live))
    {
        value.extend(brief);
    }
    value["failure"] = match &progress.state {
        TaskState::Failed(failure) => json!(failure),
        _ => Value::Null,
    };
    value["findings"] = json!(report::findings_of(progress));
    value["question"] = match &progress.state {
        TaskState::Asking { question, since } => {
            json!({ "tool": question.tool, "what": question.what_visible(), "put": question.put(), "since": timestamp(since.0) })
        }
        _ => Value::Null,
    };
    value["touched"] = json!(progress.landed.as_ref().map(|landed| &landed.touched));
    value["chosen"] = json!(run.agent_choice(place));
    value["max_cost_usd"] = json!(task.max_cost.map(|cap| cap.dollars()));
    value["output_tokens"] = json!(run.usage(place).output);
    value["cloud"] = json!(task.cloud_route());
    value
}

fn check(run: &CheckRun) -> Value {
    json!({ "on": run.on, "command": run.command, "at": timestamp(run.at.0), "took_ms": run.took,
        "passed": run.why.is_none(), "why": run.why, "lines": run.lines })
}

async fn checks(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let Spoken { listener, .. } = spoken(&app, &feed, asked.named("task")?, false).await?;
    let (attempt, executor) = attempt_of(&listener, &asked)?;
    let runs: Vec<Value> = listener.checks(attempt, executor).iter().map(check).collect();
    let value = json!({ "run": feed.id(), "task": listener.task(), "attempt": attempt, "checks": runs });
    answer::json("conductor.checks/1", value)
}

async fn attempts(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let task = asked.named("task")?;
    let attempts = feed.look(|run| {
        let place = find(run, task)?;
        let attempt = |span: &conductor_core::run::Span| {
            json!({ "attempt": span.attempt, "executor": span.executor, "from_ms": span.from, "to_ms": span.to,
                "end": span.end.map(conductor_core::run::End::name), "phases": span.phases })
        };
        Ok::<Vec<Value>, Problem>(run.spans_of(place).map(attempt).collect())
    })?;
    answer::json("conductor.attempts/1", json!({ "run": feed.id(), "task": task, "attempts": attempts }))
}

/// The tasks of a run, for one who has just come.
pub(crate) fn all(feed: &Feed, most: usize) -> Vec<Value> {
    let is_live = feed.is_live();
    let task = |run: &Run, (place, task, progress): (usize, &Task, &Progress)| {
        shown::task(run, place, task, progress, is_live)
    };
    feed.look(|run| run.asked().take(most).map(|one| task(run, one)).collect())
}

/// What is both in the log and in the run, either of which may be known further than the other. Of the rest is told with
/// the next answer: a state that is older than its number would never be told again.
fn both_know<'r>(run: &Run, records: &'r [Record]) -> &'r [Record] {
    &records[..records.partition_point(|record| record.seq <= run.seq())]
}

/// For those who show a run: what they know is brought up to date by one request, however much has happened.
async fn changes(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let since = asked.query.whole("since").unwrap_or(0);
    let status = runs::status(&app, &feed).await;
    let is_live = feed.is_live();
    let records = feed.records(since).await?;
    let (seq, all, tasks) = feed.look(|run| {
        let records = both_know(run, &records);
        let touched = run.touched_by(records);
        let is_touched = |place: usize| touched.as_ref().is_none_or(|touched| touched.contains(&place));
        let tasks: Vec<Value> = run
            .asked()
            .filter(|(place, _, _)| is_touched(*place))
            .map(|(place, task, progress)| shown::task(run, place, task, progress, is_live))
            .collect();
        (records.last().map_or(since, |record| record.seq), touched.is_none(), tasks)
    });
    let value = json!({ "run": feed.id(), "seq": seq, "status": status, "tasks": tasks, "all": all });
    answer::json("conductor.changes/1", value)
}

#[cfg(test)]
mod tests {
    use conductor_core::plan::{Command, Plan, Task, Work};
    use conductor_core::run::event::{Event, Options};
    use conductor_core::values::units::{Now, Tick, Timestamp};

    use super::*;

    /// The page asks behind the number it was told: what is told with it has to be as far.
    #[test]
    fn nothing_is_told_of_that_the_run_does_not_have_yet() {
        let now = Now { at: Timestamp(1), tick: Tick(1), jitter: 0.5 };
        let task = Task::new(TaskId::parse("a").unwrap(), Work::Run(Command::Line("true".into())));
        let (run, created) = Run::create(Plan { tasks: vec![task], ..Plan::default() }, now);
        let started = Event::RunStarted { options: Box::new(Options::with_slots(1)) };
        let started = Record { seq: 2, at: now.at, tick: now.tick, event: started };
        let log = [created, started];
        assert_eq!(both_know(&run, &log).len(), 1, "the log is further than the run");
        assert_eq!(both_know(&Run::replay(&log).unwrap(), &log).len(), 2);
        assert!(both_know(&run, &log[1..]).is_empty());
    }
}
