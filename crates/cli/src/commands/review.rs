//! `conductor review`: a person's word on work that waits for it before it lands (`land: approve`).
//!
//! On a terminal it walks through what waits; elsewhere it lists it. The verbs say the same without questions.

mod editing;
mod pager;
mod waiting;
mod walk;

use conductor_core::run::TaskState;
use conductor_core::run::event::{Comment, ReviewVerdict};
use conductor_core::schedule::Request;
use conductor_core::values::counted::counted;
use serde_json::json;

pub(super) use self::editing::keep_edits;
use self::waiting::Waiting;
use super::left::{self, Asked};
use super::{answer, answer_either, block_on};
use crate::archive::{Archive, Found};
use crate::args::{self, Approve, OfTask, SendBack, Verdict};
use crate::error::{CliError, Exit};
use crate::output::writing;

pub(crate) fn run(args: &args::Review) -> Result<Exit, CliError> {
    match &args.verdict {
        None if args.json || !writing::attended() => block_on(list(args)),
        None => walk::walk(args.run.as_deref()),
        Some(Verdict::Approve(args)) => approve(args),
        Some(Verdict::SendBack(args)) => send_back(args),
        Some(Verdict::Edit(args)) => editing::edit(args),
        Some(Verdict::Drop(of)) => drop_work(of),
    }
}

async fn list(args: &args::Review) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let waiting = waiting::all(&archive, args.run.as_deref()).await?;
    if args.json {
        super::answer_json(&waiting::json(&waiting))?;
    } else if waiting.is_empty() {
        super::talk("nothing waits for a review");
    } else {
        answer(&waiting::table(&waiting))?;
        super::talk("conductor review approve TASK, send-back TASK -m COMMENT, or drop TASK");
    }
    Ok(Exit::Done)
}

fn approve(args: &Approve) -> Result<Exit, CliError> {
    if let Some(commit) = args.commit.as_deref().filter(|commit| !is_commit(commit)) {
        let message =
            format!("'{commit}' is no commit: at least {SHORTEST} of its hexadecimal digits are needed");
        return Err(CliError::new(Exit::Usage, message).help("conductor review --json names it"));
    }
    decide(&args.of, |waiting| {
        let seen = args.commit.as_deref().unwrap_or(&waiting.change.commit);
        if !waiting.change.commit.starts_with(&seen.to_ascii_lowercase()) {
            let message = format!(
                "the work of '{}' is {:.10} now, not {seen:.10}",
                waiting.task(),
                waiting.change.commit
            );
            return Err(CliError::new(Exit::Usage, message).help("look at it again: conductor review"));
        }
        Ok(ReviewVerdict::Approved { commit: waiting.change.commit.clone() })
    })
}

/// As git wants it, too.
const SHORTEST: usize = 4;

fn is_commit(text: &str) -> bool {
    text.len() >= SHORTEST && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn send_back(args: &SendBack) -> Result<Exit, CliError> {
    decide(&args.of, |waiting| {
        let comments = args.message.iter().map(|text| comment(waiting, text)).collect::<Vec<_>>();
        match comments.iter().all(|comment| comment.words.is_empty()) {
            true => {
                Err(CliError::new(Exit::Usage, "the agent needs a comment: -m \"what is to be changed\""))
            }
            false => Ok(ReviewVerdict::SentBack { comments }),
        }
    })
}

fn drop_work(of: &OfTask) -> Result<Exit, CliError> {
    decide(of, |_| Ok(ReviewVerdict::Dropped))
}

/// A comment names a file where the work has one of that name.
fn comment(waiting: &Waiting, text: &str) -> Comment {
    Comment::parse(text, |file| waiting.change.touched.files.iter().any(|known| known == file))
}

fn decide(
    of: &OfTask,
    verdict: impl Fn(&Waiting) -> Result<ReviewVerdict, CliError>,
) -> Result<Exit, CliError> {
    let (waiting, asked) = block_on(async {
        let archive = Archive::open().await?;
        let waiting = find(&archive, of).await?;
        let verdict = verdict(&waiting)?;
        editing::settle(&archive, &waiting)?;
        let asked = record(&archive, &waiting, verdict, of.json).await?;
        Ok((waiting, asked))
    })?;
    left::follow_up(waiting.run(), asked)
}

async fn find(archive: &Archive, of: &OfTask) -> Result<Waiting, CliError> {
    let fits = |found: &Found, place: usize| waiting::place_of(&found.run, place).is_some();
    let chosen = archive.task(of.run.as_deref(), &of.task, fits).await?;
    let (task, state) = (chosen.task().id.clone(), &chosen.progress().state);
    let stands = match state {
        TaskState::Running(running) if running.ended => "done and waits to land".to_owned(),
        state => state.status().to_string(),
    };
    Waiting::of(chosen.found, chosen.place).ok_or_else(|| {
        let message = format!("task '{task}' is {stands}; it does not wait for a review");
        CliError::new(Exit::NothingToDo, message)
    })
}

/// Tells the coordinator, or the log of a run that is not active, and the user.
async fn record(
    archive: &Archive,
    waiting: &Waiting,
    verdict: ReviewVerdict,
    as_json: bool,
) -> Result<Asked, CliError> {
    let (task, commit) = (waiting.task().clone(), &waiting.change.commit);
    let (action, of, words) = match &verdict {
        ReviewVerdict::Approved { .. } => ("approve", commit.clone(), format!("approved as {commit:.10}")),
        ReviewVerdict::SentBack { comments } => {
            ("send-back", commit.clone(), format!("sent back with {}", counted(comments.len(), "comment")))
        }
        ReviewVerdict::Edited { change } => {
            ("edit", change.commit.clone(), format!("lands as you left it, {:.10}", change.commit))
        }
        // First, so that the work is held whatever becomes of the run.
        ReviewVerdict::Dropped => {
            let kept = waiting.keep(&archive.home)?;
            ("drop", commit.clone(), format!("dropped; its work is kept as {kept}"))
        }
    };
    let asked =
        left::ask(&archive.home, waiting.run(), Request::Review { task: task.clone(), verdict }).await?;
    let active = asked == Asked::OfCoordinator;
    let value =
        json!({ "run": waiting.run(), "task": task, "action": action, "commit": of, "active": active });
    answer_either(as_json, &format!("{task}: {words}"), "conductor.review/1", value)?;
    Ok(asked)
}
