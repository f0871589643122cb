//! `worktree resolve`: a conflict is decided at once, or laid out to be solved by hand and then landed.

use std::sync::Arc;

use conductor_core::schedule::Side;
use conductor_engine::git::merge::{short, unrelated};
use conductor_engine::git::workspaces::{Resolution, Resolving, WorkspaceError, inventory, resolving_name};
use conductor_engine::runs::resolve::{Brought, ResolveError};
use serde_json::json;

use super::landing::{Case, SCHEMA, Stopped};
use super::{answer_either, sides, talk};
use crate::archive::{self, Archive, Found};
use crate::args::{How, OfTask, WorktreeResolve};
use crate::console;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};

pub(super) async fn resolve(args: &WorktreeResolve) -> Result<Exit, CliError> {
    if args.how.abort {
        return abort(&args.of).await;
    }
    if args.how.show || args.how.write.is_some() {
        return sides::show_or_write(args).await;
    }
    let How { ours, theirs, proceed: continues, .. } = args.how;
    if !(args.markers.files.is_empty() || ours || theirs || continues) {
        let message = "--allow-markers lets a file land: it goes with --continue, --ours or --theirs";
        return Err(CliError::new(Exit::Usage, message));
    }
    let mut case = Case::open(&args.of).await?;
    case.allow(&args.markers);
    let stopped = Stopped::watch()?;
    let side = match args.how {
        How { ours: true, .. } => Some(Side::Ours),
        How { theirs: true, .. } => Some(Side::Theirs),
        _ => None,
    };
    case.is_decided = side.is_some();
    let done = match args.how {
        How { proceed: true, .. } => proceed(&mut case, &stopped).await.map(Done::Brought),
        _ if side.is_some() => decide(&mut case, side, &stopped).await.map(Done::Brought),
        _ => lay_out(&case).map(|()| Done::Said),
    };
    match done {
        Ok(Done::Said) => {
            case.bench.close().await?;
            Ok(Exit::Done)
        }
        Ok(Done::Brought(brought)) => case.close(Ok(brought), &stopped).await,
        Err(cli_error) => case.close(Err(cli_error), &stopped).await,
    }
}

enum Done {
    Brought(Brought),
    /// All there is to say has been said.
    Said,
}

async fn decide(case: &mut Case, side: Option<Side>, stopped: &Stopped) -> Result<Brought, CliError> {
    let kept = case.kept()?;
    case.announce_checks();
    let task = case.task.clone();
    Ok(case.bench.land(&task, kept, side, stopped.stop.clone()).await?)
}

async fn proceed(case: &mut Case, stopped: &Stopped) -> Result<Brought, CliError> {
    case.announce_checks();
    let (task, run) = (case.task.clone(), case.stored.id.clone());
    match case.bench.proceed(&task, stopped.stop.clone()).await {
        Err(ResolveError::Workspace(WorkspaceError::Markers(files))) => {
            let message = format!("the marks of the conflict are still in {}", one_line(&files));
            Err(CliError::new(Exit::ConflictLeft, message).help(
                "take them out, then --continue again (marks that are meant: --continue --allow-markers FILE)",
            ))
        }
        Err(ResolveError::Workspace(error @ WorkspaceError::Emptied(_))) => {
            let meant = format!("if that is meant: conductor worktree resolve {task} --run {run} --ours");
            Err(CliError::new(Exit::ConflictLeft, error).help(meant))
        }
        Err(ResolveError::NotOpen(_)) => {
            Err(CliError::new(Exit::NothingToDo, format!("no conflict of '{task}' is being solved"))
                .help(format!("begin with: conductor worktree resolve {task} --run {run}")))
        }
        Ok(Brought::Conflict(failure)) => {
            talk(format!(
                "{} has gone on; the new conflict is in the same folder",
                short(case.bench.run_repo().branch())
            ));
            Ok(Brought::Conflict(failure))
        }
        brought => Ok(brought?),
    }
}

/// Whatever has become of the task meanwhile, its folder can be given up.
async fn abort(args: &OfTask) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let is_open = |found: &Found, place: usize| {
        let workspace = resolving_name(&found.run.task(found.run.doer(place)).0.id);
        inventory(&archive.home, std::slice::from_ref(&found.stored.id))
            .is_ok_and(|workspaces| workspaces.iter().any(|listed| listed.name == workspace))
    };
    let mut chosen = archive.task(args.run.as_deref(), &args.task, is_open).await?;
    chosen.place = chosen.found.run.doer(chosen.place);
    let (task, stored) = (&chosen.task().id, &chosen.found.stored);
    let amendment = archive.amend(&stored.id).await?;
    let run_repo =
        archive::place_of_run(&archive.home, stored, amendment.run()).context(chosen.found.repository()?)?;
    let resolving = Resolving::new(Arc::new(run_repo));
    let open = resolving.open(task)?.ok_or_else(|| ResolveError::NotOpen(task.clone()))?;
    if let Some(name) = resolving.save(task, &open)? {
        talk(format!("what was done so far is kept as {name}"));
    }
    resolving.close(task)?;
    talk(format!("the conflict of {task} is left as it was; its own work is kept"));
    if args.json {
        answer_either(true, "", SCHEMA, json!({ "run": stored.id, "task": task, "outcome": "aborted" }))?;
    }
    Ok(Exit::Done)
}

/// A conflict that is laid out already is left as it is: the user may have begun to resolve it.
fn lay_out(case: &Case) -> Result<(), CliError> {
    let (task, resolving) = (&case.task, case.bench.resolving());
    if let Some(open) = resolving.open(task)? {
        return explain(case, &open);
    }
    let kept = case.kept()?;
    let run_repo = case.bench.run_repo();
    if let Some(failure) = unrelated(run_repo.shadow(), &run_repo.tip()?, &kept.commit)? {
        return Err(CliError::new(Exit::TaskFailed, failure.message));
    }
    if !case.is_unfinished_merge() && resolving.to_solve(&kept.commit)?.is_empty() {
        let message = format!("the work of '{task}' merges with what has landed");
        return Err(CliError::new(Exit::NothingToDo, message)
            .help(format!("bring it in: conductor worktree merge {task} --run {}", case.stored.id)));
    }
    explain(case, &resolving.lay_out(task, &kept.commit)?)
}

fn explain(case: &Case, open: &Resolution) -> Result<(), CliError> {
    let (task, run) = (&case.task, &case.stored.id);
    let value = json!({
        "run": run, "task": task, "outcome": "laid_out", "folder": open.folder, "files": open.files,
    });
    answer_either(case.as_json, &open.folder.display().to_string(), SCHEMA, value)?;
    talk(match (open.clean, open.files.is_empty()) {
        (false, _) => format!("the conflict of {task} is laid out there; both sides changed:"),
        (true, false) => format!("the work of {task} is laid out there; the marks of a conflict are in:"),
        (true, true) => format!("the work of {task} is laid out there, merged with what has landed"),
    });
    for path in &open.files {
        console::say(format_args!("    {}", one_line(path)));
    }
    console::say(format_args!(
        "  when it is solved:  conductor worktree resolve {task} --run {run} --continue"
    ));
    console::say(format_args!("  to give it up:      conductor worktree resolve {task} --run {run} --abort"));
    Ok(())
}
