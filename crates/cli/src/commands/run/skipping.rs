//! `--skip-done`: what earlier runs of the file have done already is left out of a new one.

use std::collections::BTreeSet;

use conductor_core::plan::{Isolation, Plan, Task};
use conductor_core::run::event::Options;
use conductor_core::values::counted::things;
use conductor_core::values::ids::{RunId, TaskId};
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
    if let Some(words) = words(&done, chosen) {
        talk(format!("left out: {words}"));
    }
    Ok(remaining)
}

fn refused(done: &Done, chosen: &Plan, why: NotRemaining) -> CliError {
    match &why {
        NotRemaining::Nothing(_) => {
            let reviewed = chosen.asked().find_map(|task| done.in_review.get(&task.id));
            let help = reviewed.map_or_else(|| AGAIN.to_owned(), to_review);
            let words = words(done, chosen).unwrap_or_default();
            CliError::new(Exit::NothingToDo, format!("nothing is left to do: {words}")).help(help)
        }
        NotRemaining::InReview { run, .. } => {
            CliError::new(Exit::InvalidFile, format!("{why}; nothing was started")).help(to_review(run))
        }
        NotRemaining::Graph(_) => CliError::new(Exit::InvalidFile, why),
    }
}

fn to_review(run: &RunId) -> String {
    format!(
        "decide on it: conductor review {run}, then go on with that run: conductor run --resume {run}; {AGAIN}"
    )
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

/// Which of the chosen tasks are done, what of that is still to be merged, and what waits for a review; nothing where
/// none of that is so.
fn words(done: &Done, chosen: &Plan) -> Option<String> {
    let of = |is: &dyn Fn(&TaskId) -> bool| -> Vec<&TaskId> {
        chosen.asked().map(|task| &task.id).filter(|id| is(id)).collect()
    };
    let tasks = of(&|id| done.tasks.contains_key(id));
    let reviewed = of(&|id| done.in_review.contains_key(id));
    let branches = tasks.iter().filter_map(|task| done.tasks.get(*task)?.unmerged.as_deref());
    let unmerged = ending(", not merged yet: ", branches);
    let runs =
        ending(", in run ", reviewed.iter().filter_map(|task| Some(done.in_review.get(*task)?.as_str())));
    let counted = |tasks: &[&TaskId], (one, many): (&str, &str), more: String| {
        let count = tasks.len();
        let verb = if count == 1 { one } else { many };
        (count > 0).then(|| format!("{count} {} {verb} ({}{more})", things(count, "task"), list(tasks)))
    };
    let parts = [
        counted(&tasks, ("is done already", "are done already"), unmerged),
        counted(&reviewed, ("waits for your review", "wait for your review"), runs),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Each name once, behind these words; nothing where there is none.
fn ending<'n>(words: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names: BTreeSet<&str> = names.collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("{words}{}", names.into_iter().collect::<Vec<_>>().join(", ")),
    }
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
