//! The work of a task in the hands of its reviewer.

use conductor_core::run::event::ReviewVerdict;
use conductor_core::values::ids::TaskId;
use conductor_engine::git::workspaces::Editing;
use conductor_engine::host::home::Home;
use serde_json::json;

use super::waiting::{self, Waiting};
use super::{find, record};
use crate::archive::{Archive, Found};
use crate::args;
use crate::commands::left::{self, Asked};
use crate::commands::{answer_either, block_on, talk};
use crate::console;
use crate::error::{CliError, Exit};

const SCHEMA: &str = "conductor.review-edit/1";

pub(super) fn edit(args: &args::Edit) -> Result<Exit, CliError> {
    let done = block_on(async {
        let archive = Archive::open().await?;
        let waiting = find(&archive, &args.of).await?;
        match (args.proceed, args.abort) {
            (true, _) => {
                let asked = proceed(&archive, &waiting, args.of.json).await?;
                return Ok(Some((waiting.run().clone(), asked)));
            }
            (_, true) => {
                abort(&archive, &waiting)?;
                let value = json!({ "run": waiting.run(), "task": waiting.task(), "action": "abort" });
                if args.of.json {
                    answer_either(true, "", SCHEMA, value)?;
                }
            }
            _ => lay_out(&archive, &waiting, args.of.json)?,
        }
        Ok(None)
    })?;
    match done {
        Some((run, asked)) => left::follow_up(&run, asked),
        None => Ok(Exit::Done),
    }
}

/// What is laid out already is left as it is, unless it is of other work by now: then edits of that are kept under a ref.
pub(super) fn lay_out(archive: &Archive, waiting: &Waiting, as_json: bool) -> Result<(), CliError> {
    let run_repo = waiting.found.context(&archive.home)?;
    let editing = Editing::of(&run_repo, waiting.task());
    let (task, run) = (waiting.task(), waiting.run());
    if editing.open().as_ref() != Some(&waiting.change.commit) {
        if let Some(kept) = editing.keep_edits()? {
            talk(format!("what you edited of the work before this is kept as {kept}"));
        }
        editing.lay_out(&waiting.change.commit)?;
    }
    let folder = editing.folder().display().to_string();
    let value = json!({ "run": run, "task": task, "commit": waiting.change.commit, "folder": folder });
    answer_either(as_json, &folder, SCHEMA, value)?;
    talk(format!("the work of {task} is laid out there; edit it, then"));
    console::say(format_args!("  to let it land:  conductor review edit {task} --run {run} --continue"));
    console::say(format_args!("  to give it up:   conductor review edit {task} --run {run} --abort"));
    Ok(())
}

pub(super) async fn proceed(archive: &Archive, waiting: &Waiting, as_json: bool) -> Result<Asked, CliError> {
    let (task, run) = (waiting.task(), waiting.run());
    let run_repo = waiting.found.context(&archive.home)?;
    let editing = Editing::of(&run_repo, task);
    if editing.open().as_ref() != Some(&waiting.change.commit) {
        return Err(CliError::new(Exit::NothingToDo, format!("the work of '{task}' is not laid out"))
            .help(format!("begin with: conductor review edit {task} --run {run}")));
    }
    let Some(change) = editing.take(&waiting.change)? else {
        return Err(CliError::new(
            Exit::NothingToDo,
            format!("the work of '{task}' is as its agent left it"),
        )
        .help(format!("conductor review approve {task} --run {run}")));
    };
    let asked = record(archive, waiting, ReviewVerdict::Edited { change: Box::new(change) }, as_json).await?;
    editing.close()?;
    Ok(asked)
}

/// Work that is cancelled lands no more. What a reviewer made of it stays where it is, and under a ref.
pub(crate) fn keep_edits(home: &Home, found: &Found, cancelled: &[TaskId]) -> Result<(), CliError> {
    let run = &found.run;
    let is_meant = |place: usize| {
        let task = &run.plan().tasks[place];
        let race = run.raced_by(place).map(|race| &run.plan().tasks[race].id);
        // What an epic lands as one is cancelled as one.
        let with =
            |id: &TaskId| task.epic.is_some() && run.plan().task(id).is_some_and(|it| it.epic == task.epic);
        cancelled.iter().any(|id| *id == task.id || Some(id) == race || with(id))
    };
    let places = (0..run.plan().tasks.len()).filter(|&place| waiting::place_of(run, place) == Some(place));
    let meant: Vec<usize> = places.filter(|&place| is_meant(place)).collect();
    if meant.is_empty() {
        return Ok(());
    }
    let run_repo = found.context(home)?;
    for place in meant {
        let task = &run.plan().tasks[place].id;
        let editing = Editing::of(&run_repo, task);
        if let Some(kept) = editing.keep_edits()? {
            let folder = editing.folder();
            talk(format!(
                "what you edited of the work of {task} does not land; it is kept as {kept}, and is in {}",
                folder.display()
            ));
        }
    }
    Ok(())
}

/// Ends an edit that changed nothing. Edits that would be left behind are for the user to decide on first.
pub(super) fn settle(archive: &Archive, waiting: &Waiting) -> Result<(), CliError> {
    let (task, run) = (waiting.task(), waiting.run());
    let run_repo = waiting.found.context(&archive.home)?;
    let editing = Editing::of(&run_repo, task);
    if editing.has_edits()? {
        let folder = editing.folder();
        let message =
            format!("you have edited the work of '{task}' in {}, which is undecided", folder.display());
        return Err(CliError::new(Exit::Usage, message).help(format!(
            "to let it land as you left it: conductor review edit {task} --run {run} --continue; \
             to give your edits up: conductor review edit {task} --run {run} --abort"
        )));
    }
    Ok(editing.close()?)
}

pub(super) fn abort(archive: &Archive, waiting: &Waiting) -> Result<(), CliError> {
    let run_repo = waiting.found.context(&archive.home)?;
    Editing::of(&run_repo, waiting.task()).close()?;
    talk(format!("{} waits for its review as before", waiting.task()));
    Ok(())
}
