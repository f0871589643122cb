//! The next three commands, by how things stand.

use conductor_engine::git::GitError;
use conductor_engine::host::for_shell;

use super::{LastRun, Overview, Place, TaskFile};

type Command = (String, &'static str);

fn command(words: impl Into<String>, why: &'static str) -> Command {
    (words.into(), why)
}

/// What is most urgent decides: a question, a review, an active run, one that was left or failed, then what is there to start with.
pub(super) fn commands(overview: &Overview) -> [Command; 3] {
    if let Some((run, task, _)) = overview.questions().first() {
        return [
            command(format!("conductor task approve {task} --run {run}"), "allow it"),
            command(format!("conductor task deny {task} --run {run}"), "do not allow it"),
            command(format!("conductor status {run}"), "see the whole run"),
        ];
    }
    if let Some((run, task)) = overview.reviews().first() {
        return [
            command(format!("conductor review {run}"), "see what waits, and decide"),
            command(format!("conductor diff {task} --run {run}"), "see one change"),
            command(format!("conductor status {run}"), "see the whole run"),
        ];
    }
    match (&overview.last, &overview.file) {
        (Some(last), file) => after(last, file.as_ref()),
        (None, Some(TaskFile { tasks: None, .. })) => [
            command("conductor validate", "see what is wrong with the task file"),
            command("conductor template list", "see task files to begin with"),
            command("conductor doctor", "check what a run needs"),
        ],
        (None, Some(_)) => before_the_first_run(&overview.place),
        (None, None) => without_file(&overview.place),
    }
}

fn after(last: &LastRun, file: Option<&TaskFile>) -> [Command; 3] {
    let run = &last.id;
    if last.active {
        let logs = match last.snapshot.running.first() {
            Some(at_work) => command(format!("conductor logs -f {}", at_work.task), "read what a task says"),
            None => command(format!("conductor events -f {run}"), "see every event"),
        };
        return [
            command(format!("conductor status --watch {run}"), "watch it"),
            logs,
            command(format!("conductor wait {run}"), "wait for its end"),
        ];
    }
    let report = command(format!("conductor report {run}"), "make a page of it");
    let failed = last.snapshot.failed.first().map(|failed| failed.task.as_str());
    match (last.state(), failed) {
        ("completed", _) => {
            let first = match &last.unmerged {
                Some(branch) => command(format!("git merge {branch}"), "take what it made"),
                None => command(format!("conductor runs show {run}"), "see what it came to"),
            };
            [first, report, again(last, file)]
        }
        ("failed", Some(task)) => [
            command(format!("conductor logs {task}"), "read why it failed"),
            command(format!("conductor run --resume {run} --retry-failed"), "do again what failed"),
            report,
        ],
        ("failed" | "cancelled", _) => [
            command(format!("conductor runs show {run}"), "see what it came to"),
            command(format!("conductor run --resume {run} --retry-failed"), "do again what is not done"),
            report,
        ],
        _ => [
            command(format!("conductor run --resume {run}"), "go on with it"),
            command(format!("conductor status {run}"), "see what is done and what is left"),
            report,
        ],
    }
}

/// The file that is found here, else the one it was run from, where that is still there.
fn again(last: &LastRun, file: Option<&TaskFile>) -> Command {
    match (file, &last.file) {
        (Some(_), _) => command("conductor run", "run the task file again"),
        (None, Some(file)) => {
            command(format!("conductor run {}", for_shell(file)), "run the task file again")
        }
        (None, None) => command("conductor init", "write a task file to begin with"),
    }
}

/// Tasks start from a commit.
fn first_commit() -> Command {
    command("git commit --allow-empty -m Start", "make the first commit")
}

fn before_the_first_run(place: &Place) -> [Command; 3] {
    match place {
        Place::Unusable(GitError::Unborn(_)) => [
            command("conductor validate", "check the task file"),
            first_commit(),
            command("conductor run -p 3", "run it, three tasks at once"),
        ],
        Place::Unusable(_) => [
            command("conductor validate", "check the task file"),
            command("conductor rehearse", "estimate time and cost"),
            command("conductor doctor", "see what is in the way of a run"),
        ],
        Place::Repository { .. } | Place::Nowhere => [
            command("conductor validate", "check the task file"),
            command("conductor rehearse", "estimate time and cost"),
            command("conductor run -p 3", "run it, three tasks at once"),
        ],
    }
}

fn without_file(place: &Place) -> [Command; 3] {
    let init = command("conductor init", "write a task file to begin with");
    let demo = command("conductor demo", "see a whole run in a minute, free");
    match place {
        Place::Repository { .. } => {
            [init, command("conductor plan \"WHAT YOU WANT\"", "have an agent write one"), demo]
        }
        Place::Nowhere => [demo, command("git init", "make this a repository"), init],
        Place::Unusable(GitError::Unborn(_)) => [init, first_commit(), demo],
        Place::Unusable(_) => [demo, command("conductor doctor", "see what is wrong with it"), init],
    }
}
