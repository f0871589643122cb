//! `pause`, `resume`, `cancel` and `parallel`: wishes for a run that somebody works on.

use conductor_core::ids::{RunId, TaskId};
use conductor_core::run::Run;
use conductor_core::scheduler::Request;
use conductor_core::spec::did_you_mean;
use conductor_engine::control::Glance;
use conductor_engine::home::Home;

use super::{answer, block_on, left};
use crate::archive::{Archive, Found, nothing_here};
use crate::args;
use crate::end_block::one_line;
use crate::fault::{Exit, Fault};
use crate::live;

pub(crate) fn pause(of: &args::OfRun) -> Result<Exit, Fault> {
    let (home, glance) = find(of.run.as_deref())?;
    let run = &glance.run;
    if glance.snapshot.state == "paused" {
        return Err(Fault::new(Exit::NothingToDo, format!("run {run} is paused already")));
    }
    live::ask(&home, run, &Request::Pause)?;
    let at_work = match glance.snapshot.running.len() {
        0 => "nothing is at work".to_owned(),
        1 => "1 task is at work and goes on".to_owned(),
        several => format!("{several} tasks are at work and go on"),
    };
    answer(&format!("run {run} is paused; {at_work}"))?;
    Ok(Exit::Done)
}

pub(crate) fn resume(of: &args::OfRun) -> Result<Exit, Fault> {
    let (home, glance) = find(of.run.as_deref())?;
    let run = &glance.run;
    if glance.snapshot.state != "paused" {
        let message = format!("run {run} is not paused; it is {}", glance.snapshot.state);
        return Err(Fault::new(Exit::NothingToDo, message));
    }
    live::ask(&home, run, &Request::Continue)?;
    answer(&format!("run {run} goes on"))?;
    Ok(Exit::Done)
}

pub(crate) fn parallel(args: &args::Parallel) -> Result<Exit, Fault> {
    let (home, glance) = find(args.run.as_deref())?;
    live::ask(&home, &glance.run, &Request::SetSlots(args.slots))?;
    let (_, now) = find(Some(glance.run.as_str()))?;
    answer(&format!("run {}: {} at a time", now.run, now.snapshot.slots))?;
    Ok(Exit::Done)
}

pub(crate) fn cancel(args: &args::Cancel) -> Result<Exit, Fault> {
    let home = Home::open()?;
    let run = match (live::meant(&home, args.run.as_deref())?, args.run.as_deref()) {
        (Some(glance), _) => glance.run,
        (None, Some(word)) => block_on(async { Archive::open().await?.named(word).map(|stored| stored.id) })?,
        (None, None) => return Err(block_on(none_active())?),
    };
    let (request, what, name) = match (&args.task, &args.group) {
        (Some(word), _) => {
            let task = TaskId::parse(word).map_err(|_| unknown(Kind::Task, word, &run))?;
            let what = format!("{task} is cancelled");
            (Request::Cancel(task), what, Some((Kind::Task, word)))
        }
        (None, Some(group)) => {
            let what = format!("group {} is cancelled", one_line(group));
            (Request::CancelGroup(group.clone()), what, Some((Kind::Group, group)))
        }
        (None, None) => (Request::CancelAll, format!("everything in run {run} is cancelled"), None),
    };
    let asked = match (block_on(left::ask(&home, &run, request)), name) {
        // Looked up only then: what is known of a live run's names is in the store, which may not be readable.
        (Err(_), Some((kind, word))) if !is_known(kind, word, &run) => return Err(unknown(kind, word, &run)),
        (asked, _) => asked?,
    };
    answer(&what)?;
    left::follow_up(&run, asked)
}

/// What was left is cancelled only where it is named: the newest run may not be the one that is meant.
async fn none_active() -> Result<Fault, Fault> {
    let runs = Archive::open().await?.candidates(None)?;
    Ok(runs.first().map_or_else(nothing_here, |run| {
        let run = &run.id;
        live::left(run).help(format!(
            "go on with it: `conductor run --resume {run}`; or cancel what is left of it: --run {run}"
        ))
    }))
}

fn find(run: Option<&str>) -> Result<(Home, Glance), Fault> {
    let home = Home::open()?;
    let glance = block_on(live::required(&home, run))?;
    Ok((home, glance))
}

/// The run as its log has it, for the names in it.
fn read(run: &RunId) -> Option<Found> {
    block_on(async {
        let archive = Archive::open().await?;
        match archive.known(run) {
            Some(stored) => archive.read(stored).await.map(Some),
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

fn unknown(kind: Kind, word: &str, run: &RunId) -> Fault {
    let what = match kind {
        Kind::Task => "task",
        Kind::Group => "group",
    };
    let message = format!("there is no {what} '{}' in run {}", one_line(word), run);
    let found = read(run);
    let names = found.as_ref().map_or_else(Vec::new, |found| names(kind, &found.run));
    match did_you_mean(word, names) {
        Some(meant) => Fault::new(Exit::Usage, message).help(format!("did you mean '{meant}'?")),
        None => Fault::new(Exit::Usage, message),
    }
}
