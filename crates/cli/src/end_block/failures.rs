//! What failed: all that its last attempt said, as far as that can be read in one go, and below everything else a line for each.

use conductor_core::plan::Task;
use conductor_core::run::event::{Failure, FailureClass};
use conductor_core::run::{Progress, Run, TaskState};
use conductor_core::values::ids::Attempt;
use conductor_engine::process::transcript::{self, Speaker, Tail};

use super::{Block, Page, called, one_line};
use crate::output::style::{DIM, RED};
use crate::output::width::cut;

/// Of how many failures the output is shown, and how much of each.
const SHOWN: usize = 10;
const LINES: usize = 200;
const BYTES: u64 = 64 << 10;
/// How many lines of a conflict.
const EVIDENCE: usize = 20;
/// With more failures than this, each has one line.
const WRAPPED: usize = 4;

struct Failed<'a> {
    task: &'a Task,
    /// Who did it, where several raced for it.
    doer: &'a Task,
    progress: &'a Progress,
    failure: &'a Failure,
}

fn failed(run: &Run) -> impl Iterator<Item = Failed<'_>> + Clone {
    run.asked().filter_map(move |(place, task, progress)| match &progress.state {
        TaskState::Failed(failure) => {
            let (doer, progress) = run.task(run.doer(place));
            Some(Failed { task, doer, progress, failure })
        }
        _ => None,
    })
}

/// What each of them said, above everything that is to be seen at once.
pub(super) fn outputs(page: &mut Page, block: &Block<'_>) {
    for one in failed(block.run).take(SHOWN) {
        output(page, block, &one);
    }
}

fn output(page: &mut Page, block: &Block<'_>, one: &Failed<'_>) {
    let (executor, attempt) = (one.progress.executor.unwrap_or(0), Attempt(one.progress.last_attempt));
    let path = Speaker { output: block.directory, executor, task: &one.doer.id, attempt }.transcript();
    let Tail { lines, cut } = transcript::tail(&path, LINES, BYTES);
    let evidence = one.failure.evidence.lines().filter(|_| one.failure.class == FailureClass::Conflict);
    let evidence: Vec<String> = evidence.take(EVIDENCE).map(one_line).collect();
    if lines.is_empty() && evidence.is_empty() {
        return;
    }
    let of = if attempt.0 > 1 { format!(", attempt {attempt}") } else { String::new() };
    page.styled(RED, "output", &format!("{}{of}", called(one.task)));
    for line in evidence.iter().chain(&lines) {
        page.quote(line);
    }
    if !lines.is_empty() {
        let words = if cut {
            let all = if transcript::has_gap(&path) { "its first and last 8 MiB" } else { "all of it" };
            format!("the end of it; {all}: {}", path.display())
        } else {
            path.display().to_string()
        };
        page.line(DIM, &format!("       {words}"));
    }
    page.gap();
}

/// A line for each, whole as long as there are few, and what to do about work that does not merge.
pub(super) fn list(page: &mut Page, block: &Block<'_>, rows: usize) {
    let count = failed(block.run).count();
    for one in failed(block.run).take(rows) {
        let words = format!("{}: {}", called(one.task), one_line(&one.failure.message));
        match count <= WRAPPED {
            true => page.styled(RED, "failed", &words),
            false => page.styled(RED, "failed", &cut(&words, page.room(), "…")),
        }
        if one.failure.class == FailureClass::Conflict {
            page.command(&format!("conductor worktree resolve {}", one.doer.id));
        }
    }
    if count > rows {
        let (more, id) = (count - rows, block.id);
        page.line(RED, &format!("       and {more} more failed: conductor report {id}"));
    }
}

/// How many lines they take of those that are to be seen at once.
pub(super) fn count(run: &Run) -> usize {
    failed(run).count()
}
