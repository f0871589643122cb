//! What there was to see in the demonstration, looked up in its log and transcripts.

use std::path::Path;

use conductor_core::plan::Task;
use conductor_core::run::event::{Again, Event, FailureClass, Outcome, Record};
use conductor_core::run::{Progress, Run, Status};
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_engine::process::transcript::{Speaker, last_lines};

/// How a worker notes in a transcript that it sends work back, as `[conductor: why; round 2]`.
fn sent_back(line: &str) -> Option<&str> {
    line.strip_prefix("[conductor: ")?.rsplit_once("; round ").map(|(why, _)| why)
}

/// One thing that went wrong on the way and was noticed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sight {
    pub(super) task: TaskId,
    pub(super) words: String,
}

/// All of it, in the order of the tasks.
pub(super) fn sights(run: &Run, records: &[Record], output: &Path) -> Vec<Sight> {
    let mut seen = Vec::new();
    for (task, progress) in run.tasks() {
        let done = progress.state.status() == Status::Completed;
        let mut see = |words: String, then: &str| {
            let then = if done { then } else { "in vain" };
            seen.push(Sight { task: task.id.clone(), words: format!("{words}: {then}") });
        };
        if let Some(words) = checked(task, progress, output) {
            see(words, "sent back, mended");
        }
        for (words, then) in rejections(&task.id, records).into_iter().filter_map(rejected) {
            see(words.to_owned(), then);
        }
    }
    seen
}

/// A check of its own that said no, before anything was tried to land.
fn checked(task: &Task, progress: &Progress, output: &Path) -> Option<String> {
    let (executor, attempt) = (progress.executor.unwrap_or(0), Attempt(progress.last_attempt));
    let transcript = Speaker { output, executor, task: &task.id, attempt }.transcript();
    let lines = last_lines(&transcript, usize::MAX);
    let why = lines.iter().find_map(|line| sent_back(line))?;
    Some(format!("said it was done, but {}", why.split([':', ';']).next().unwrap_or_default()))
}

fn rejected(class: FailureClass) -> Option<(&'static str, &'static str)> {
    match class {
        FailureClass::NoChanges => {
            Some(("said it was done and had changed nothing", "not believed, done again"))
        }
        FailureClass::Conflict => Some(("did not merge with what landed meanwhile", "sent back, mended")),
        FailureClass::Unverified => Some(("broke what landed meanwhile", "sent back, mended")),
        _ => None,
    }
}

/// Why a task's work was not taken, as often as that was.
fn rejections(task: &TaskId, records: &[Record]) -> Vec<FailureClass> {
    let class = |record: &Record| match &record.event {
        Event::AttemptEnded { task: of, outcome: Outcome::Failed(failure), .. } if of == task => {
            Some(failure.class)
        }
        Event::RetryScheduled { task: of, again: Again::Mend(round), .. } if of == task => {
            Some(round.failure.class)
        }
        _ => None,
    };
    records.iter().filter_map(class).collect()
}
