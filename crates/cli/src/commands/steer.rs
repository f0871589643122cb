//! `pause`, `resume`, `cancel` and `parallel`: requests to an active run.

use conductor_core::plan::Task;
use conductor_core::run::{Progress, Run};
use conductor_core::schedule::Request;
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::suggest::did_you_mean;
use conductor_engine::dispatch::{LiveView, Query, View};
use conductor_engine::git::workspaces::being_edited;
use conductor_engine::host::home::Home;
use conductor_engine::runs::control::{self};
use serde_json::json;

use super::left::Asked;
use super::review::keep_edits;
use super::{answer_either, block_on, left};
use crate::archive::live;
use crate::archive::{Archive, Found, nothing_here};
use crate::args;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};

pub(crate) fn pause(of: &args::OfRun) -> Result<Exit, CliError> {
    let (home, live_view) = find(of.run.as_deref())?;
    let run = &live_view.run;
    if live_view.snapshot.state == "paused" {
        return Err(CliError::new(Exit::NothingToDo, format!("run {run} is paused already")));
    }
    live::ask(&home, run, &Request::Pause)?;
    let at_work = match live_view.snapshot.running.len() {
        0 => "nothing is at work".to_owned(),
        1 => "1 task is at work and goes on".to_owned(),
        several => format!("{several} tasks are at work and go on"),
    };
    let words = format!("run {run} is paused; {at_work}");
    let value = json!({ "run": run, "state": "paused", "running": live_view.snapshot.running.len() });
    answer_either(of.json, &words, "conductor.pause/1", value)?;
    Ok(Exit::Done)
}

pub(crate) fn resume(of: &args::OfRun) -> Result<Exit, CliError> {
    let (home, live_view) = find(of.run.as_deref())?;
    let run = &live_view.run;
    if live_view.snapshot.state != "paused" {
        let message = format!("run {run} is not paused; it is {}", live_view.snapshot.state);
        return Err(CliError::new(Exit::NothingToDo, message));
    }
    live::ask(&home, run, &Request::Continue)?;
    let value = json!({ "run": run, "state": "running" });
    answer_either(of.json, &format!("run {run} goes on"), "conductor.resume/1", value)?;
    Ok(Exit::Done)
}

pub(crate) fn parallel(args: &args::Parallel) -> Result<Exit, CliError> {
    let (home, live_view) = find(args.run.as_deref())?;
    live::ask(&home, &live_view.run, &Request::SetSlots(args.slots))?;
    let (_, now) = find(Some(live_view.run.as_str()))?;
    let words = format!("run {}: {} at a time", now.run, now.snapshot.slots);
    let value = json!({ "run": now.run, "slots": now.snapshot.slots });
    answer_either(args.json, &words, "conductor.parallel/1", value)?;
    Ok(Exit::Done)
}

pub(crate) fn cancel(args: &args::Cancel) -> Result<Exit, CliError> {
    let home = Home::open()?;
    let run = match (live::meant(&home, args.run.as_deref())?, args.run.as_deref()) {
        (Some(live_view), _) => live_view.run,
        (None, Some(word)) => block_on(async { Ok(Archive::open().await?.named(word)?.id) })?,
        (None, None) => return Err(block_on(none_active())?),
    };
    let (request, name) = match (&args.task, &args.group) {
        (Some(word), _) => {
            let task = TaskId::parse(word).map_err(|_| unknown(Kind::Task, word, &run))?;
            (Request::Cancel(task), Some((Kind::Task, word)))
        }
        (None, Some(group)) => (Request::CancelGroup(group.clone()), Some((Kind::Group, group))),
        (None, None) => (Request::CancelAll, None),
    };
    let open = open_tasks(&home, &run, &request);
    let edited = being_edited(&home.run(&run)).and_then(|_| read(&run));
    let asked = match (block_on(left::ask(&home, &run, request)), name) {
        // Looked up only then: what is known of a live run's names is in the store, which may not be readable.
        (Err(_), Some((kind, word))) if !is_known(kind, word, &run) => return Err(unknown(kind, word, &run)),
        (asked, _) => asked?,
    };
    if let Some(found) = &edited {
        keep_edits(&home, found, open.as_deref().unwrap_or_default())?;
    }
    let value = json!({
        "run": run, "task": args.task, "group": args.group,
        "cancelled": open.as_ref().map(Vec::len), "tasks": open, "active": asked == Asked::OfCoordinator,
    });
    answer_either(args.json, &cancelled(args, &run, open.as_deref()), "conductor.cancel/1", value)?;
    left::follow_up(&run, asked)
}

/// What was cancelled, and how many tasks that were; where the store could not be read, without their number.
fn cancelled(args: &args::Cancel, run: &RunId, open: Option<&[TaskId]>) -> String {
    let count = match open.map(<[TaskId]>::len) {
        Some(1) => ": 1 task".to_owned(),
        Some(count) => format!(": {count} tasks"),
        None => String::new(),
    };
    match (&args.task, &args.group) {
        (Some(task), _) => format!("{} is cancelled", one_line(task)),
        (None, Some(group)) => format!("group {} is cancelled{count}", one_line(group)),
        (None, None) => format!("everything in run {run} is cancelled{count}"),
    }
}

/// The tasks that a wish to cancel is about and that have not ended.
fn open_tasks(home: &Home, run: &RunId, request: &Request) -> Option<Vec<TaskId>> {
    let found = read(run)?;
    let meant = |task: &Task| match request {
        Request::Cancel(only) => task.id == *only,
        Request::CancelGroup(group) => task.group.as_deref() == Some(group.as_str()),
        _ => true,
    };
    let tasks = found.run.asked().filter(|(_, task, _)| meant(task));
    // The coordinator knows better than the log, which it may not have written yet.
    let ended = match control::elsewhere::look(home, run, Query::Tasks) {
        Ok(View::Tasks(tasks)) => Some(tasks),
        _ => None,
    };
    let is_open = |task: &Task, progress: &Progress| match &ended {
        Some(tasks) => tasks.iter().any(|one| one.id == task.id && !is_end(&one.status)),
        None => !progress.state.status().is_end(),
    };
    Some(
        tasks
            .filter(|(_, task, progress)| is_open(task, progress))
            .map(|(_, task, _)| task.id.clone())
            .collect(),
    )
}

fn is_end(status: &str) -> bool {
    matches!(status, "completed" | "failed" | "skipped" | "cancelled")
}

/// What was left is cancelled only where it is named: the newest run may not be the one that is meant.
async fn none_active() -> Result<CliError, CliError> {
    let runs = Archive::open().await?.candidates(None)?;
    Ok(runs.first().map_or_else(nothing_here, |run| {
        let run = &run.id;
        live::left(run).help(format!(
            "go on with it: `conductor run --resume {run}`; or cancel what is left of it: --run {run}"
        ))
    }))
}

fn find(run: Option<&str>) -> Result<(Home, LiveView), CliError> {
    let home = Home::open()?;
    let live_view = block_on(live::required(&home, run))?;
    Ok((home, live_view))
}

/// The run as its log has it, for the names in it.
fn read(run: &RunId) -> Option<Found> {
    block_on(async {
        let archive = Archive::open().await?;
        match archive.known(run) {
            Some(stored) => Ok(Some(archive.read(stored).await?)),
            None => Ok(None),
        }
    })
    .ok()
    .flatten()
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Task,
    Group,
}

/// Everything in a run that could be meant.
fn names(kind: Kind, run: &Run) -> Vec<&str> {
    let tasks = run.plan().tasks.iter();
    match kind {
        Kind::Task => tasks.map(|task| task.id.as_str()).collect(),
        Kind::Group => {
            let named = run.plan().groups.iter().flat_map(|group| [group.name.as_str(), group.id()]);
            named.chain(tasks.filter_map(|task| task.group.as_deref())).collect()
        }
    }
}

fn is_known(kind: Kind, word: &str, run: &RunId) -> bool {
    read(run).is_none_or(|found| names(kind, &found.run).contains(&word))
}

fn unknown(kind: Kind, word: &str, run: &RunId) -> CliError {
    let what = match kind {
        Kind::Task => "task",
        Kind::Group => "group",
    };
    let message = format!("there is no {what} '{}' in run {}", one_line(word), run);
    let found = read(run);
    let names = found.as_ref().map_or_else(Vec::new, |found| names(kind, &found.run));
    match did_you_mean(word, names) {
        Some(meant) => CliError::new(Exit::Usage, message).help(format!("did you mean '{meant}'?")),
        None => CliError::new(Exit::Usage, message),
    }
}
