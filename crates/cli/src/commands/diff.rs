//! `conductor diff`: what a task has changed, wherever its work is.

use std::io::{self, IsTerminal as _};

use conductor_core::plan::Isolation;
use conductor_core::run::Status;
use conductor_core::run::event::Change;
use conductor_engine::git::locate_work::{self, WorkLocation};
use conductor_engine::git::merge::short;
use conductor_engine::git::workspaces::RunRepo;
use conductor_engine::process::transcript;
use serde_json::json;

use super::{answer_json, block_on, talk};
use crate::archive::{Archive, FoundTask};
use crate::args::Diff;
use crate::console;
use crate::error::{CliError, Exit};

pub(crate) fn run(args: &Diff) -> Result<Exit, CliError> {
    block_on(diff(args))
}

async fn diff(args: &Diff) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let mut chosen = archive.task(args.of.run.as_deref(), &args.of.task, |_, _| true).await?;
    chosen.place = chosen.found.run.doer(chosen.place);
    let found = &chosen.found;
    let (task, isolation) = (chosen.task(), found.isolation(chosen.task()));
    if isolation == Isolation::None {
        let message = format!("task '{}' worked in place, where changes are not recorded", task.id);
        return Err(CliError::new(Exit::NothingToDo, message));
    }
    let run_repo = found.context(&archive.home)?;
    let ends = ends(&chosen, isolation, &run_repo)?;
    let text = match (&ends, args.stat) {
        (None, _) => Vec::new(),
        (Some((from, to)), true) => run_repo.shadow().stat(from, to)?,
        (Some((from, to)), false) => run_repo.shadow().patch(from, to)?,
    };
    if args.of.json {
        let (from, to) = ends.unzip();
        let name = if args.stat { "stat" } else { "patch" };
        answer_json(&json!({
            "schema": "conductor.diff/1", "run": found.stored.id, "task": task.id,
            "status": chosen.progress().state.status().to_string(), "from": from, "to": to,
            name: String::from_utf8_lossy(&text),
        }))?;
        return Ok(Exit::Done);
    }
    if ends.is_some() && text.is_empty() {
        talk("no difference");
    }
    show(&text)?;
    Ok(Exit::Done)
}

/// What it was and what it is, as git can tell them apart; nothing where it is the same.
fn ends(
    chosen: &FoundTask,
    isolation: Isolation,
    run_repo: &RunRepo,
) -> Result<Option<(String, String)>, CliError> {
    let (found, task) = (&chosen.found, &chosen.task().id);
    let (run, branch) = (&found.stored.id, short(run_repo.branch()));
    let whole = |from: String, to: String| match run_repo.shadow().has(&to)? {
        true => Ok(Some((from, to))),
        false => {
            let message = format!("the commit of '{task}', {to}, is not in the repository any more");
            Err(CliError::new(Exit::Unexpected, message))
        }
    };
    match locate_work::of(&found.run, &found.records, chosen.place, isolation, run_repo)? {
        WorkLocation::Landed { from, to } => {
            talk(format!("{task} of run {run} landed on {branch} as {:.10}", to));
            whole(from, to)
        }
        WorkLocation::Landing(Change { base, commit, .. }) => {
            talk(format!("{task} of run {run} is done and waits to land"));
            whole(base, commit)
        }
        WorkLocation::Kept(Change { base, commit, .. }) => {
            let status = chosen.progress().state.status();
            talk(format!(
                "{task} of run {run} is {status}; this is kept as {:.10} and has not landed",
                commit
            ));
            whole(base, commit)
        }
        WorkLocation::AtWork { workspace } => {
            talk(format!("{task} of run {run} is at work; this is what it has so far"));
            // Its folder is being made ready: there is nothing of its own in it yet.
            Ok(run_repo.snapshot_of(&workspace).ok())
        }
        WorkLocation::Unchanged => {
            talk(format!("{task} of run {run} succeeded and changed nothing"));
            Ok(None)
        }
        WorkLocation::Nowhere => Err(nothing(chosen)),
    }
}

fn nothing(chosen: &FoundTask) -> CliError {
    let (task, run) = (&chosen.task().id, &chosen.found.stored.id);
    let why = match chosen.progress().state.status() {
        Status::Pending if chosen.progress().last_attempt == 0 => "has not been started",
        Status::Skipped => "was skipped",
        _ => "has left nothing that could be shown",
    };
    CliError::new(Exit::NothingToDo, format!("task '{task}' of run {run} {why}"))
}

/// As it is for programs; for people, so that nothing in it can fool the terminal.
fn show(text: &[u8]) -> Result<(), CliError> {
    let painting =
        io::stdout().is_terminal() || anstream::ColorChoice::global() == anstream::ColorChoice::Always;
    match painting {
        false => console::answer_bytes(text)?,
        true => console::answer(&painted(&transcript::shown(text)))?,
    }
    Ok(())
}

pub(super) fn painted(patch: &str) -> String {
    let paint = |line: &str| {
        let color = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', b' ', ..] => "\x1b[1m",
            [b'@', b'@', ..] => "\x1b[36m",
            [b'+', ..] => "\x1b[32m",
            [b'-', ..] => "\x1b[31m",
            _ => return format!("{line}\n"),
        };
        format!("{color}{line}\x1b[0m\n")
    };
    patch.lines().map(paint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_ours_and_nothing_else_is_obeyed() {
        let hostile = b"diff --git a/f b/f\n@@ -1 +1 @@\n-a\x1b[2J\n+b\x07\n c\n";
        assert_eq!(
            painted(&transcript::shown(hostile)),
            "\x1b[1mdiff --git a/f b/f\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n c\n"
        );
    }
}
