//! `--skip-done`: what earlier runs of the file have done already is left out of a new one.

use std::collections::BTreeSet;

use conductor_core::plan::{Isolation, Plan, Task};
use conductor_core::run::event::Options;
use conductor_core::values::counted::things;
use conductor_core::values::ids::TaskId;
use conductor_engine::git::Repository;
use conductor_engine::host::home::Home;
use conductor_engine::runs::done::{self, BeginsOn, Done, DoneError, NotRemaining, Remaining, Unmerged};
use conductor_engine::stores;

use super::arguments::Resolved;
use super::editing::list;
use crate::archive::patiently;
use crate::commands::talk;
use crate::error::{CliError, Exit};

const AGAIN: &str = "to do again what is done: leave --skip-done out";

/// What is left of the tasks that are `chosen` of the file; says what is not. Nothing is made or written.
pub(super) async fn remaining(
    args: &Resolved<'_>,
    whole: &Plan,
    chosen: &Plan,
) -> Result<Remaining, CliError> {
    let done = match Home::existing()? {
        Some(home) => {
            let store = patiently(|| stores::open_to_look(&home)).await?;
            done::done(&home, &*store, &args.directory, &args.source(), whole).await?
        }
        None => Done::default(),
    };
    done.notices.iter().for_each(talk);
    let remaining = done.remaining(whole, chosen).map_err(|why| refused(&done, chosen, why))?;
    if !remaining.done.is_empty() {
        let ids = chosen.asked().map(|task| &task.id).filter(|id| remaining.done.contains_key(*id));
        talk(format!("left out: {}", words(&done, ids)));
    }
    Ok(remaining)
}

fn refused(done: &Done, chosen: &Plan, why: NotRemaining) -> CliError {
    match &why {
        NotRemaining::Nothing(_) => {
            let ids = chosen.asked().map(|task| &task.id);
            let message = format!("nothing is left to do: {}", words(done, ids));
            CliError::new(Exit::NothingToDo, message).help(AGAIN)
        }
        NotRemaining::Graph(_) => CliError::new(Exit::InvalidFile, why),
    }
}

/// Work that is needed may be on the branch of an earlier run only. Where that branch holds all of it and what is checked
/// out, the run begins there; else the user has to merge, and nothing starts.
pub(super) fn begin_on_work(
    args: &Resolved<'_>,
    plan: &Plan,
    options: &mut Options,
    repository: Option<&mut Repository>,
) -> Result<(), CliError> {
    let Some(unmerged) = &args.unmerged else { return Ok(()) };
    let in_place = |task: &Task| task.isolation.or(options.isolation) == Some(Isolation::None);
    // The user's files are not on that branch: in place the work is missing, and with the files it would be undone.
    let elsewhere = !args.typed.include_uncommitted && !plan.tasks.iter().any(in_place);
    let Some(repository) = repository.filter(|_| elsewhere) else { return Err(to_merge(unmerged)) };
    let Some(BeginsOn { branch, commit }) = unmerged.held_by(repository)? else {
        return Err(to_merge(unmerged));
    };
    talk(format!("begins on {branch}, which has work that is needed and not merged yet"));
    options.begun_on = Some(commit.clone());
    repository.head = commit;
    Ok(())
}

fn to_merge(unmerged: &Unmerged) -> CliError {
    let merges: Vec<String> = unmerged.branches.iter().map(|branch| format!("git merge {branch}")).collect();
    let help = format!("merge it first: {}; {AGAIN}", merges.join(" && "));
    CliError::new(Exit::InvalidFile, format!("{unmerged}; nothing was started")).help(help)
}

/// Which tasks are done, and what of that is still to be merged.
fn words<'t>(done: &Done, tasks: impl Iterator<Item = &'t TaskId>) -> String {
    let tasks: Vec<&TaskId> = tasks.collect();
    let branches = tasks.iter().filter_map(|task| done.tasks.get(*task)?.unmerged.as_deref());
    let branches: BTreeSet<&str> = branches.collect();
    let unmerged = match branches.is_empty() {
        true => String::new(),
        false => format!(", not merged yet: {}", branches.into_iter().collect::<Vec<_>>().join(", ")),
    };
    let count = tasks.len();
    let is = if count == 1 { "is" } else { "are" };
    format!("{count} {} {is} done already ({}{unmerged})", things(count, "task"), list(&tasks))
}

impl From<DoneError> for CliError {
    fn from(error: DoneError) -> CliError {
        match error {
            DoneError::Store(error) => error.into(),
            DoneError::Git(error) => error.into(),
            error @ DoneError::Kept(_) => CliError::new(Exit::Unexpected, error),
        }
    }
}
