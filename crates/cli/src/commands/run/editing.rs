//! A run's task file that was edited since the run began or was left.
//!
//! With `--retry-failed` what is done again takes its new text, recorded as an amendment before anything starts. A plain
//! resume goes on as before and says that the file is another by now.

use std::path::{Path, PathBuf};

use conductor_core::plan::{Limits, Plan};
use conductor_core::run::event::{Event, Record};
use conductor_core::run::{Run, Status};
use conductor_core::schedule::Scheduler;
use conductor_core::schedule::amend::{self, Retaken};
use conductor_core::values::ids::TaskId;
use conductor_core::values::units::{Now, Tick};
use conductor_engine::expertise::{self, Wanted};
use conductor_engine::host::clock::wall;
use conductor_engine::stores::{EarlierRuns, RunLog, StoredRun};

use tokio::task::JoinHandle;

use super::arguments::{Chosen, Resolved};
use super::unedited;
use crate::archive::patiently;
use crate::commands::plan::commands;
use crate::commands::talk;
use crate::error::{CliError, Exit};
use crate::settings::diagnostics::{self, Findings};

/// A run's task file that is being read, beside the run's log.
pub(super) struct Reading {
    plan: JoinHandle<Result<(Option<Plan>, Findings), CliError>>,
    /// What the file says, in a few letters.
    mark: Option<String>,
}

/// Begins to read a run's task file, where that matters and it is there. One that was not edited says nothing new.
pub(super) fn begin_reading(args: &Resolved<'_>, stored: &StoredRun, state: &Path) -> Option<Reading> {
    let file = file_of(args, stored).filter(|file| file.exists())?;
    let mark = unedited::mark(&stored.directory, &stored.source);
    if !args.typed.retry_failed && !args.typed.watch && unedited::is(state, mark.as_deref()) {
        return None;
    }
    let directory = stored.directory.clone();
    let plan = tokio::task::spawn_blocking(move || diagnostics::check_in(&directory, &file, false));
    Some(Reading { plan, mark })
}

/// The task file that a run may take over; none where it goes on as before or was made from something else.
fn file_of(args: &Resolved<'_>, stored: &StoredRun) -> Option<PathBuf> {
    let file = PathBuf::from(&stored.source);
    let is_file = file.is_absolute() && file.file_name().is_some_and(|name| name != "-");
    (is_file && !args.typed.as_before).then_some(file)
}

/// How many tasks are named before the rest is counted.
const NAMED: usize = 10;

/// The run as it is taken up: amended where what failed is done again and its file says otherwise now. With it, what
/// the run may use where the file was edited there.
pub(super) async fn take_over(
    args: &Resolved<'_>,
    stored: &StoredRun,
    log: &RunLog,
    (run, reading, state): (Run, Option<Reading>, &Path),
) -> Result<(Run, Option<Limits>), CliError> {
    let Some(file) = file_of(args, stored) else { return Ok((run, None)) };
    let again = args.typed.retry_failed;
    let Some(reading) = reading else {
        if again {
            talk(format!("{} is not there any more; what failed is done again as it was", file.display()));
        }
        return Ok((run, None));
    };
    if run.plan().execution.is_some() {
        say_of_groups(&file, stored, &run);
        return Ok((run, None));
    }
    let Reading { plan, mark } = reading;
    let plan = match (read(args, plan, &run).await, again) {
        (Ok(plan), _) => plan,
        (Err(cli_error), true) => return Err(cli_error.help(AS_BEFORE)),
        (Err(_), false) => {
            talk(format!("{} is not valid any more; the run goes on as before", name(stored)));
            return Ok((run, None));
        }
    };
    let limits = (plan.limits != run.plan().limits).then(|| plan.limits.clone());
    let run = match again {
        true => {
            let run = retake(args, stored, log, run, plan).await?;
            unedited::keep(state, mark.as_deref().filter(|_| !args.typed.watch));
            run
        }
        false if args.typed.watch => {
            // The plan may become another from now on.
            unedited::keep(state, None);
            run
        }
        false => {
            say_edited(stored, &amend::edited(&run, &chosen(&run, plan)));
            run
        }
    };
    Ok((run, limits))
}

const AS_BEFORE: &str = "mend the file, or do again what failed as it was with --as-before";

fn name(stored: &StoredRun) -> &str {
    stored.file_name().unwrap_or(&stored.source)
}

/// The file as it is now, read as it was when the run began.
async fn read(
    args: &Resolved<'_>,
    reading: JoinHandle<Result<(Option<Plan>, Findings), CliError>>,
    run: &Run,
) -> Result<Plan, CliError> {
    let (plan, findings) = reading.await.map_err(|error| CliError::new(Exit::Unexpected, error))??;
    let Some(plan) = plan else {
        if args.typed.retry_failed {
            findings.show();
        }
        return Err(findings.cli_error());
    };
    Ok(Chosen::of(args.typed, Some(run.options())).of_plan(plan)?)
}

/// Runs of earlier versions do not say which tasks of their file were chosen: none joins them.
fn chosen(run: &Run, mut plan: Plan) -> Plan {
    if run.options().selection.is_none() {
        plan.tasks.retain(|task| run.place(&task.id).is_some());
    }
    plan
}

async fn retake(
    args: &Resolved<'_>,
    stored: &StoredRun,
    log: &RunLog,
    run: Run,
    plan: Plan,
) -> Result<Run, CliError> {
    let plan = chosen(&run, plan);
    let edit = amend::edited(&run, &plan);
    if edit.amendment.is_empty() {
        say_kept(stored, &run, &edit);
        return Ok(run);
    }
    let Retaken { mut amendment, .. } = edit.clone();
    let mut taken = Plan { tasks: amendment.tasks, ..plan };
    if args.typed.known_commands {
        // What the run began with was allowed when it began, and only tasks are taken over.
        let (file, tasks) = (Path::new(&stored.source), taken.tasks.clone());
        let tasks = Plan { tasks, ..Plan::default() };
        let new = commands::of_plan(&tasks, Some(run.plan()), &stored.directory, Some(file))?;
        commands::refuse(&new, file)?;
    }
    amendment.absent = super::elsewhere::check(args, &taken, Some(run.options()))?;
    let mut earlier = EarlierRuns::of(log.reader());
    let place = (stored.directory.as_path(), stored.source.as_str());
    let wanted = Wanted { models: false, ..Wanted::by(&taken, false) };
    expertise::teach(&mut earlier, place, &mut taken, wanted).await?;
    earlier.notice().into_iter().for_each(talk);
    amendment.tasks = taken.tasks;
    let now = Now { at: wall(), tick: Tick(0), jitter: 0.0 };
    let events = Scheduler::retry_edited(&run, amendment, now).map_err(|refusal| {
        let message = format!("{} was edited, but {refusal}; nothing was started", name(stored));
        CliError::new(Exit::InvalidFile, message).help(AS_BEFORE)
    })?;
    say_taken(stored, &run, &edit);
    say_kept(stored, &run, &edit);
    recorded(log, run, events).await
}

/// No time passes for a run that is not active.
async fn recorded(log: &RunLog, mut run: Run, events: Vec<Event>) -> Result<Run, CliError> {
    let mut records = Vec::with_capacity(events.len());
    for event in events {
        let record = Record { seq: run.seq() + 1, at: wall(), tick: Tick(0), event };
        run.apply(&record).map_err(|error| CliError::new(Exit::Unexpected, error))?;
        records.push(record);
    }
    patiently(|| log.append(&records)).await?;
    Ok(run)
}

fn say_taken(stored: &StoredRun, run: &Run, edit: &Retaken) {
    let ids = edit.amendment.tasks.iter().map(|task| &task.id);
    let (known, new): (Vec<&TaskId>, Vec<&TaskId>) = ids.partition(|task| run.place(task).is_some());
    let taken = match known.len() {
        0 => None,
        1 => Some(format!("{} takes its new text", list(&known))),
        _ => Some(format!("{} take their new text", list(&known))),
    };
    let joined = match new.len() {
        0 => None,
        1 => Some(format!("{} joins", list(&new))),
        _ => Some(format!("{} join", list(&new))),
    };
    let words: Vec<String> = taken.into_iter().chain(joined).collect();
    if !words.is_empty() {
        talk(format!("{} was edited: {}", name(stored), words.join(", ")));
    }
}

fn say_kept(stored: &StoredRun, run: &Run, edit: &Retaken) {
    for task in edit.kept.iter().take(NAMED) {
        let status = run.place(task).map(|place| run.progress(place).state.status());
        let why = if status == Some(Status::Completed) { "is completed" } else { "has begun" };
        talk(format!("task '{task}' {why} and keeps its text"));
    }
    if edit.kept.len() > NAMED {
        talk(format!("so do {} more that were edited", edit.kept.len() - NAMED));
    }
    for task in edit.removed.iter().take(NAMED) {
        let is_done =
            run.place(task).map(|place| run.progress(place).state.status()) == Some(Status::Completed);
        let way_out = match is_done {
            true => String::new(),
            false => {
                format!("; until it has ended, `conductor cancel {task} --run {}` takes it out", stored.id)
            }
        };
        talk(format!("task '{task}' is not in {} any more and stays in the run{way_out}", name(stored)));
    }
    if edit.removed.len() > NAMED {
        talk(format!("so do {} more that are not in it", edit.removed.len() - NAMED));
    }
    if edit.settings {
        talk(format!("what {} says beside its tasks counts from the next run on", name(stored)));
    }
}

/// A run that is only taken up again does what it was to do.
fn say_edited(stored: &StoredRun, edit: &Retaken) {
    let edited = edit.amendment.tasks.iter().map(|task| &task.id).chain(&edit.kept).chain(&edit.removed);
    let edited: Vec<&TaskId> = edited.collect();
    if !edited.is_empty() {
        talk(format!(
            "{} was edited since ({}); the run goes on as before. To take that over: conductor run --resume {} --watch \
             for tasks that have not begun, --retry-failed for those that failed",
            name(stored),
            list(&edited),
            stored.id
        ));
    }
}

/// Groups are arranged when their run begins. Whether the work of a task is another is all that can be told later.
fn say_of_groups(file: &Path, stored: &StoredRun, run: &Run) {
    let Ok((Some(plan), _)) = diagnostics::check_in(&stored.directory, file, true) else { return };
    let other = |known: &&conductor_core::plan::Task| {
        plan.task(&known.id).is_some_and(|task| task.work != known.work)
    };
    let edited: Vec<&TaskId> = run.plan().tasks.iter().filter(other).map(|task| &task.id).collect();
    if !edited.is_empty() {
        talk(format!(
            "{} was edited since ({}); a run of groups goes on as before. For the new text: conductor group execute",
            name(stored),
            list(&edited)
        ));
    }
}

/// "a, b and c", or the first of many.
pub(super) fn list(tasks: &[&TaskId]) -> String {
    let names: Vec<&str> = tasks.iter().take(NAMED).map(|task| task.as_str()).collect();
    match (names.split_last(), tasks.len().saturating_sub(NAMED)) {
        (None, _) => String::new(),
        (Some((last, [])), 0) => (*last).to_owned(),
        (Some((last, rest)), 0) => format!("{} and {last}", rest.join(", ")),
        (Some(_), more) => format!("{} and {more} more", names.join(", ")),
    }
}
