//! `worktree path`: the folder a task works in, and nothing else, so that it can be put into other commands.

use std::path::PathBuf;

use conductor_core::plan::Isolation;
use conductor_core::run::TaskState;
use conductor_engine::git::workspaces::{
    WorkspaceRequest, branch_word, inventory, resolving_name, task_at_work_in,
};
use conductor_engine::host::home::Home;
use serde_json::json;

use super::answer_either;
use crate::archive::{Archive, Found};
use crate::args::OfTask;
use crate::error::{CliError, Exit};

pub(super) async fn path(args: &OfTask) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let has_one = |found: &Found, place: usize| folder(&archive.home, found, place).is_some();
    let chosen = archive.task(args.run.as_deref(), &args.task, has_one).await?;
    let path = folder(&archive.home, &chosen.found, chosen.place).ok_or_else(|| {
        let (task, run) = (&chosen.task().id, &chosen.found.stored.id);
        let status = chosen.progress().state.status();
        let message = format!("task '{task}' of run {run} is {status} and has no workspace");
        CliError::new(Exit::NothingToDo, message).help(format!("what it changed: conductor diff {task}"))
    })?;
    let value = json!({ "run": chosen.found.stored.id, "task": chosen.task().id, "path": path });
    answer_either(args.json, &path.display().to_string(), "conductor.worktree-path/1", value)?;
    Ok(Exit::Done)
}

/// Where it is at work; else where its conflict is being solved; else where it was at work last, if that is still there.
fn folder(home: &Home, found: &Found, place: usize) -> Option<PathBuf> {
    let (task, progress) = found.run.task(place);
    let there = inventory(home, std::slice::from_ref(&found.stored.id)).ok()?;
    let in_workspace = |workspace: &str| there.iter().find(|listed| listed.name == workspace);
    let at_work = match &progress.state {
        TaskState::Running(running) if !running.ended => {
            let isolation = found.isolation(task);
            if isolation == Isolation::None {
                return Some(found.stored.directory.clone());
            }
            let (executor, attempt) = (running.executor, running.attempt);
            in_workspace(
                &WorkspaceRequest::of(found.run.plan(), isolation, task, executor, attempt).workspace_name(),
            )
        }
        _ => None,
    };
    let word = branch_word(task.id.as_str());
    let last = || there.iter().find(|listed| task_at_work_in(home, listed).as_ref() == Some(&word));
    at_work
        .or_else(|| in_workspace(&resolving_name(&task.id)))
        .or_else(last)
        .map(|listed| listed.folder.clone())
}
