//! `conductor wait`: returns when a run has ended, with the exit code it had; or when any of its tasks has.

use std::collections::HashSet;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use conductor_core::plan::Task;
use conductor_core::run::event::{Event, Record};
use conductor_core::values::ids::{RunId, TaskId};
use conductor_engine::host::home::Home;
use conductor_engine::runs::control::{self, Followed, Following};
use serde_json::{Value, json};

use super::run::{exit_of, noted_exit};
use super::{answer_either, block_on};
use crate::archive::live;
use crate::archive::{Archive, Found};
use crate::args::{self, Awaited};
use crate::error::{CliError, Exit};

pub(crate) fn run(args: &args::Wait) -> Result<Exit, CliError> {
    let home = Home::open()?;
    let deadline = args.timeout.map(|time| Instant::now() + Duration::from_millis(time.0));
    let (run, seen) = match live::meant(&home, args.run.as_deref()) {
        Ok(Some(live_view)) => (live_view.run, Some(live_view.snapshot.seq)),
        // One that does not answer can still be waited for.
        Err(cli_error) if cli_error.exit != Exit::StillRunning || args.what == Awaited::Any => {
            return Err(cli_error);
        }
        Ok(None) | Err(_) => (block_on(newest(args.run.as_deref()))?, None),
    };
    let teller = Teller { run: &run, as_json: args.json };
    if args.what == Awaited::Any && seen.is_some() {
        live::check_here(&home, &run, "wait for any of its tasks")?;
    }
    if let (Awaited::Any, Some(seen)) = (args.what, seen)
        && let Some(exit) = any_end(&home, &teller, seen, deadline)?
    {
        return Ok(exit);
    }
    match until_left(&home, &run, deadline)? {
        true => teller.over(block_on(exit_code(&home, &run))?),
        false => teller.still_running(),
    }
}

async fn newest(run: Option<&str>) -> Result<RunId, CliError> {
    let archive = Archive::open().await?;
    let runs = archive.candidates(run)?;
    runs.first().map(|run| run.id.clone()).ok_or_else(|| CliError::silent(Exit::NothingToDo))
}

/// Says what the waiting came to: for programs in an object, for people only what the exit code does not say.
struct Teller<'a> {
    run: &'a RunId,
    as_json: bool,
}

impl Teller<'_> {
    fn object(&self, fields: Value) -> Result<(), CliError> {
        match self.as_json {
            true => answer_either(true, "", "conductor.wait/1", fields),
            false => Ok(()),
        }
    }

    fn still_running(&self) -> Result<Exit, CliError> {
        super::talk(format!("run {} is still being worked on", self.run));
        self.ended(Exit::StillRunning, false)
    }

    fn over(&self, exit: Exit) -> Result<Exit, CliError> {
        self.ended(exit, true)
    }

    fn ended(&self, exit: Exit, ended: bool) -> Result<Exit, CliError> {
        self.object(json!({ "run": self.run, "ended": ended, "exit_code": exit as u8 }))?;
        Ok(exit)
    }

    fn task(&self, task: &TaskId, how: &str, exit: Exit) -> Result<Exit, CliError> {
        let value = json!({ "run": self.run, "task": task, "status": how, "exit_code": exit as u8 });
        answer_either(self.as_json, &format!("{task} {how}"), "conductor.wait/1", value)?;
        Ok(exit)
    }
}

/// How often is looked whether another machine drives the run still.
const LOOK: Duration = Duration::from_millis(500);

/// Waits until the run is not active any more; false where the deadline came first.
fn until_left(home: &Home, run: &RunId, deadline: Option<Instant>) -> Result<bool, CliError> {
    let let_go = || if home.store().is_none() { Ok(true) } else { until_let_go(run, deadline) };
    if !home.is_live(run) {
        return let_go();
    }
    let (sender, left) = mpsc::channel();
    let (place, here) = (home.clone(), run.clone());
    std::thread::spawn(move || sender.send(place.wait_until_left(&here)));
    let waited = match deadline {
        None => left.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(deadline) => left.recv_timeout(deadline.saturating_duration_since(Instant::now())),
    };
    match waited {
        Ok(left) => {
            left?;
            let_go()
        }
        Err(RecvTimeoutError::Timeout) => Ok(false),
        Err(RecvTimeoutError::Disconnected) => {
            Err(CliError::new(Exit::Unexpected, "the waiting was cut short"))
        }
    }
}

/// As `until_left`, of a run that another machine drives.
fn until_let_go(run: &RunId, deadline: Option<Instant>) -> Result<bool, CliError> {
    while block_on(live::is_elsewhere(run))? {
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Ok(false);
        }
        std::thread::sleep(LOOK);
    }
    Ok(true)
}

/// The first task that ends after the event of this number; nothing where the run ends before one does.
fn any_end(
    home: &Home,
    teller: &Teller<'_>,
    seen: u64,
    deadline: Option<Instant>,
) -> Result<Option<Exit>, CliError> {
    let run = teller.run;
    let following = control::follow(&home.run(run)).ok();
    any_end_of(home, teller, (seen, following), deadline)
}

fn any_end_of(
    home: &Home,
    teller: &Teller<'_>,
    (seen, following): (u64, Option<(u64, Following)>),
    deadline: Option<Instant>,
) -> Result<Option<Exit>, CliError> {
    let run = teller.run;
    // What is read now has everything that is not followed.
    let found = block_on(read(run))?;
    let mut beside: HashSet<TaskId> = who_races(&found.run.plan().tasks).collect();
    if let Some(exit) = first_end(teller, found.records.iter().filter(|record| record.seq > seen), &beside)? {
        return Ok(Some(exit));
    }
    let Some((_, mut following)) = following else { return Ok(None) };
    let mut last = seen;
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return teller.still_running().map(Some);
        }
        following.patience(left)?;
        match following.next() {
            None => {
                let again = live::follow_again(home, run, deadline);
                return match again.is_some() {
                    true => any_end_of(home, teller, (last, again), deadline),
                    false => Ok(None),
                };
            }
            Some(Err(error))
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(Followed::Missed { after })) => return any_end(home, teller, after, deadline),
            Some(Ok(Followed::Record(record))) => {
                last = last.max(record.seq);
                if let Event::PlanAmended { amendment, .. } = &record.event {
                    beside.extend(who_races(&amendment.tasks));
                }
                if let Some(exit) = first_end(teller, std::iter::once(&*record), &beside)? {
                    return Ok(Some(exit));
                }
            }
        }
    }
}

/// Tells the first end of a task among these; those who race for one are not meant.
fn first_end<'r>(
    teller: &Teller<'_>,
    mut records: impl Iterator<Item = &'r Record>,
    beside: &HashSet<TaskId>,
) -> Result<Option<Exit>, CliError> {
    match records.find_map(|record| end(record).filter(|(task, ..)| !beside.contains(*task))) {
        Some((task, how, exit)) => teller.task(task, how, exit).map(Some),
        None => Ok(None),
    }
}

async fn read(run: &RunId) -> Result<Found, CliError> {
    let archive = Archive::open().await?;
    Ok(archive.read(&archive.named(run.as_str())?).await?)
}

/// Those who race for a task, whose ends are not that of a task.
fn who_races(tasks: &[Task]) -> impl Iterator<Item = TaskId> {
    tasks.iter().filter(|task| task.is_entrant()).map(|task| task.id.clone())
}

fn end(record: &Record) -> Option<(&TaskId, &'static str, Exit)> {
    match &record.event {
        Event::TaskCompleted { task, .. } => Some((task, "completed", Exit::Done)),
        Event::TaskFailed { task, .. } => Some((task, "failed", Exit::TaskFailed)),
        Event::TaskSkipped { task, .. } => Some((task, "skipped", Exit::TaskFailed)),
        Event::TaskCancelled { task } => Some((task, "cancelled", Exit::Cancelled)),
        _ => None,
    }
}

/// What it said when it ended; where it could not say anything, what its log makes of it.
pub(super) async fn exit_code(home: &Home, run: &RunId) -> Result<Exit, CliError> {
    if let Some(exit) = noted_exit(&home.run(run)) {
        return Ok(exit);
    }
    match exit_of(&read(run).await?.run) {
        Exit::Unexpected => Err(CliError::new(Exit::Unexpected, format!("run {run} was left in the middle"))
            .help(format!("resume it with `conductor run --resume {run}`"))),
        exit => Ok(exit),
    }
}
