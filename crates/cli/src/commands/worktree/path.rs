//! `worktree path`: the folder a task works in, and nothing else, so that it can be put into other commands.

use std::path::PathBuf;

use conductor_core::plan::Isolation;
use conductor_core::run::TaskState;
use conductor_engine::home::Home;
use conductor_engine::workspaces::{Guest, branch_word, census, resolving_seat, sitter};
use serde_json::json;

use super::answer_either;
use crate::archive::{Archive, Found};
use crate::args::OfTask;
use crate::fault::{Exit, Fault};

pub(super) async fn path(args: &OfTask) -> Result<Exit, Fault> {
    let archive = Archive::open().await?;
    let has_one = |found: &Found, place: usize| folder(&archive.home, found, place).is_some();
    let chosen = archive.task(args.run.as_deref(), &args.task, has_one).await?;
    let path = folder(&archive.home, &chosen.found, chosen.place).ok_or_else(|| {
        let (task, run) = (&chosen.task().id, &chosen.found.stored.id);
        let status = chosen.progress().state.status();
        let message = format!("task '{task}' of run {run} is {status} and has no workspace");
        Fault::new(Exit::NothingToDo, message).help(format!("what it changed: conductor diff {task}"))
    })?;
    let value = json!({ "run": chosen.found.stored.id, "task": chosen.task().id, "path": path });
    answer_either(args.json, &path.display().to_string(), "conductor.worktree-path/1", value)?;
    Ok(Exit::Done)
}

/// Where it is at work; else where its conflict is being solved; else where it was at work last, if that is still there.
fn folder(home: &Home, found: &Found, place: usize) -> Option<PathBuf> {
    let (task, progress) = found.run.task(place);
    let there = census(home, std::slice::from_ref(&found.stored.id)).ok()?;
    let in_seat = |seat: &str| there.iter().find(|room| room.seat == seat);
    let at_work = match &progress.state {
        TaskState::Running(running) if !running.ended => {
            let isolation = found.isolation(task);
            if isolation == Isolation::None {
                return Some(found.stored.directory.clone());
            }
            let (executor, attempt) = (running.executor, running.attempt);
            in_seat(&Guest::of(found.run.plan(), isolation, task, executor, attempt).seat())
        }
        _ => None,
    };
    let word = branch_word(task.id.as_str());
    let last = || there.iter().find(|room| sitter(home, room).as_ref() == Some(&word));
    at_work.or_else(|| in_seat(&resolving_seat(&task.id))).or_else(last).map(|room| room.folder.clone())
}
