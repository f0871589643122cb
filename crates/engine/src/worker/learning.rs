//! What an attempt is given of what earlier ones taught, and what it teaches itself: gathered while it goes on, and told
//! before its end is. None of it holds an attempt up or makes it fail.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use conductor_core::expertise::{Attempted, Fate, Mended, Ran, Trouble, lessons, words_of};
use conductor_core::plan::{Limits, Work};
use conductor_core::run::event::{Change, Failure, FailureClass, Outcome};
use conductor_core::schedule::Input;
use tokio::sync::{OnceCell, watch};

use super::{AttemptContext, Order, Stop, Worker, aside};
use crate::agents::conversation::{Kind, Reader, Turn};
use crate::expertise::{Expertise, Project, Selection, need_of};
use crate::host::clock::wall;
use crate::host::logs::carried;
use crate::process::transcript::{Newest, PartReader};

/// The project's store, opened when it is first needed; nothing where it cannot be used.
pub(super) type Shelf = OnceCell<Option<Expertise>>;

/// More of a patch is not looked at.
const LONGEST_PATCH: usize = 64 << 10;

/// What was found in the work of an attempt so far.
#[derive(Default)]
pub(super) struct Trail {
    /// What its prompt says of what earlier attempts taught.
    pub(super) section: OnceLock<String>,
    found: Mutex<Vec<Found>>,
    /// How often the work went back, for whatever reason.
    rounds: AtomicU32,
}

/// A check that failed, with the work as it was then, and as it was when it passed.
struct Found {
    command: String,
    said: String,
    red: String,
    green: bool,
}

impl Trail {
    fn found(&self) -> std::sync::MutexGuard<'_, Vec<Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often the work went back.
    pub(super) fn rounds(&self) -> u32 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// All checks passed, or all before this one: checks run in the order of the task.
    fn passed(&self, before: Option<&str>, verify: &[String]) {
        let place = |command: &str| verify.iter().position(|known| known == command).unwrap_or(usize::MAX);
        for found in self.found().iter_mut() {
            found.green |= before.is_none_or(|failing| place(&found.command) < place(failing));
        }
    }
}

/// The command of a failed check; nothing where something else was found, a reviewing agent's opinion for one.
fn failed_command(failure: &Failure) -> Option<&str> {
    let message = failure.message.strip_prefix("on the combined tree: ").unwrap_or(&failure.message);
    let is_check = matches!(failure.class, FailureClass::Unverified);
    message.strip_prefix('`').filter(|_| is_check)?.split_once("` failed: ").map(|(command, _)| command)
}

impl Worker {
    async fn shelf(&self) -> Option<&Expertise> {
        let open = || async {
            let (home, directory) = (self.context.home.clone(), self.context.directory.clone());
            let project = tokio::task::spawn_blocking(move || Project::of(&directory)).await.ok()?;
            let opened = Expertise::open(&home, project).await;
            let store =
                opened.map_err(|error| self.notice(format!("no expertise is given: {error}"))).ok()?;
            if let Err(error) = store.sync_file(wall()).await {
                self.notice(format!("the repository's expertise is not taken in:\n{error}"));
            }
            Some(store)
        };
        self.services.shelf.get_or_init(open).await.as_ref()
    }

    /// Chooses what this attempt is given, and tells what was chosen.
    pub(super) async fn choose_expertise(&self, context: &AttemptContext<'_>) {
        if !is_taught(context) {
            return;
        }
        let Some(store) = self.shelf().await else { return };
        let (run, task) = (self.context.run.as_str(), context.order.task.as_str());
        let chosen = async {
            if store.paused().await?.is_some() {
                return Ok(Selection::default());
            }
            store.select(&need_of(context.task), (run, task), hold_out(&self.context.limits)).await
        };
        match chosen.await {
            Ok(selection) => {
                let (given, withheld) = (selection.ids(Fate::Given), selection.ids(Fate::Withheld));
                if !given.is_empty() || !withheld.is_empty() {
                    let (task, attempt) = (context.order.task.clone(), context.order.attempt);
                    let held_out = selection.held_out;
                    self.report(Input::ExpertiseUsed { task, attempt, given, withheld, held_out });
                }
                let _ = context.trail.section.set(selection.section);
            }
            Err(error) => self.warn_once(format!("no expertise is given: {error}")),
        }
    }

    /// A check failed: the work as it is now is remembered, so that it can be told what made it pass.
    pub(super) async fn note_failed(
        &self,
        context: &AttemptContext<'_>,
        failure: &Failure,
        stop: &watch::Receiver<Stop>,
    ) {
        context.trail.rounds.fetch_add(1, Ordering::Relaxed);
        let Some(command) = failed_command(failure).filter(|_| context.blocks) else { return };
        context.trail.passed(Some(command), &context.task.verify);
        let (workspaces, request, workspace) =
            (context.workspaces.clone(), context.request.clone(), context.workspace.clone());
        if *stop.borrow() != Stop::No {
            return;
        }
        let now = aside(true, move || workspaces.collect(&request, &workspace)).await;
        let red = now.ok().flatten().map_or_else(|| self.base_of(context), |change| change.commit);
        let (command, said) = (command.to_owned(), failure.evidence.to_string());
        context.trail.found().push(Found { command, said, red, green: false });
    }

    fn base_of(&self, context: &AttemptContext<'_>) -> String {
        context.workspace.base.clone().unwrap_or_default()
    }

    /// What the attempt taught is told before its end: after that, it is not listened to.
    pub(super) async fn learn(&self, context: &AttemptContext<'_>, done: &Result<Option<Change>, Outcome>) {
        if !is_taught(context) {
            return;
        }
        let change = done.as_ref().ok().and_then(Option::as_ref);
        if done.is_ok() {
            context.trail.passed(None, &context.task.verify);
        }
        let mended = self.mended(context, change).await;
        let ran = self.commands_of(context.order).await;
        let prompt = match &context.task.work {
            Work::Prompt(prompt) => prompt.as_str(),
            Work::Run(_) => "",
        };
        let words = words_of(&format!("{} {prompt}", context.task.name));
        let attempted = Attempted {
            words: &words,
            files: change.map_or(&[][..], |change| &change.touched.files),
            commit: change.map(|change| change.commit.as_str()),
            mended: &mended,
            ran: &ran,
        };
        let lessons = lessons(&attempted);
        if !lessons.is_empty() {
            let (task, attempt) = (context.order.task.clone(), context.order.attempt);
            self.report(Input::ExpertiseLearned { task, attempt, lessons });
        }
    }

    /// What was found in the work and is found no more: by its checks in this attempt, and by what the last one was
    /// sent back for.
    async fn mended(&self, context: &AttemptContext<'_>, change: Option<&Change>) -> Vec<Mended> {
        let mut mended = Vec::new();
        let mended_here: Vec<(String, String, String)> = {
            let found = context.trail.found();
            let green = found.iter().filter(|found| found.green);
            green.map(|found| (found.command.clone(), found.said.clone(), found.red.clone())).collect()
        };
        for (command, said, red) in mended_here {
            let (files, patch) = self.between(&red, change).await;
            mended.push(Mended { trouble: Trouble::Check { command }, said, files, patch });
        }
        let start_from = context.order.start_from.as_deref();
        let (Some((_, round)), Some(_)) = (start_from.and_then(|from| from.round.as_ref()), change) else {
            return mended;
        };
        let (before, failure) = (&round.change, &round.failure);
        let trouble = match failure.class {
            FailureClass::Conflict => Trouble::Conflict,
            FailureClass::SentBack => Trouble::Review,
            _ => match failed_command(failure) {
                Some(command) => Trouble::Check { command: command.to_owned() },
                None => return mended,
            },
        };
        let said = match trouble {
            Trouble::Review => failure.message.clone(),
            _ => failure.evidence.to_string(),
        };
        let (files, patch) = match trouble {
            Trouble::Conflict => (before.touched.files.clone(), String::new()),
            _ => self.between(&before.commit, change).await,
        };
        mended.push(Mended { trouble, said, files, patch });
        mended
    }

    /// What differs between the work as it was and as it is; nothing where that cannot be told.
    async fn between(&self, red: &str, change: Option<&Change>) -> (Vec<String>, String) {
        let (Some(change), Some(run_repo)) = (change, self.workspaces.run_repo().cloned()) else {
            return Default::default();
        };
        let (red, green) = (red.to_owned(), change.commit.clone());
        if red.is_empty() || red == green {
            return Default::default();
        }
        let look = move || {
            let files = run_repo.shadow().touched(&red, &green).ok()?.files;
            let mut patch = run_repo.shadow().patch(&red, &green).ok()?;
            patch.truncate(LONGEST_PATCH);
            Some((files, String::from_utf8_lossy(&patch).into_owned()))
        };
        tokio::task::spawn_blocking(carried(look)).await.ok().flatten().unwrap_or_default()
    }

    /// The commands that the agent ran with its own tools, as its program recorded them.
    async fn commands_of(&self, order: &Order) -> Vec<Ran> {
        let Some(choice) = order.choice.as_deref() else { return Vec::new() };
        let (parts, plan) = (PartReader::new(&self.speaker(order)), order.plan.clone());
        let agent = choice.agent.clone();
        let read = move || commands(parts, Reader::new(plan, Some(&agent)));
        tokio::task::spawn_blocking(carried(read)).await.unwrap_or_default()
    }
}

fn commands(mut parts: PartReader, mut reader: Reader) -> Vec<Ran> {
    while let Ok(news) = parts.next(Newest::Kept) {
        if news.is_empty() {
            break;
        }
        news.notes.iter().for_each(|note| reader.note(note));
        if let Some((part, bytes)) = &news.said {
            reader.hear(*part, bytes);
        }
    }
    reader.end();
    reader.turns().filter_map(ran).collect()
}

/// A command with its end; nothing where it is another tool, was not allowed, or has no end.
pub(crate) fn ran(turn: &Turn) -> Option<Ran> {
    let tool = turn.tool.as_ref().filter(|tool| turn.kind == Kind::Tool && !tool.denied)?;
    let (input, _) = (tool.input.as_ref()?, tool.result.as_ref()?);
    let input: serde_json::Value = serde_json::from_str(&input.text).ok()?;
    let line = match input.get("command")? {
        serde_json::Value::String(line) => line.clone(),
        serde_json::Value::Array(words) => words.last()?.as_str()?.to_owned(),
        _ => return None,
    };
    let failed = turn.failed || tool.exit_code.is_some_and(|code| code != 0);
    Some(Ran { line: line.trim().to_owned(), failed })
}

#[cfg(test)]
mod tests;

/// Only prompts are given anything, and only agents teach.
fn is_taught(context: &AttemptContext<'_>) -> bool {
    matches!(context.task.work, Work::Prompt(_)) && context.task.expertise
}

fn hold_out(limits: &Limits) -> u8 {
    let percent = limits.hold_out.and_then(|percent| u8::try_from(percent).ok());
    percent.unwrap_or(conductor_core::expertise::HOLD_OUT_PERCENT)
}
