//! `conductor` alone: where things stand here, and the next three commands. Nothing is made or changed by it.

mod next;

use std::path::{Path, PathBuf};

use conductor_core::schedule::Snapshot;
use conductor_engine::dispatch::LiveView;
use conductor_engine::git::merge::short;
use conductor_engine::git::{GitError, Repository};
use conductor_engine::host::home::Home;
use conductor_engine::runs::archive::unmerged_branch;
use serde_json::{Value, json};

use super::runs::local;
use super::status::text::counted;
use super::{answer, answer_json, block_on};
use crate::archive::Archive;
use crate::archive::live;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::progress::json::timestamp;
use crate::settings::diagnostics;
use crate::settings::taskfile;

const SCHEMA: &str = "conductor.overview/1";

/// How many active runs and questions are named.
const NAMED: usize = 5;

/// Everything that is told.
struct Overview {
    directory: PathBuf,
    place: Place,
    file: Option<TaskFile>,
    last: Option<LastRun>,
    active: Vec<LiveView>,
    /// Why runs could not be looked at, where they could not.
    trouble: Option<String>,
}

enum Place {
    Repository {
        root: PathBuf,
        branch: Option<String>,
    },
    /// No repository, here or above.
    Nowhere,
    /// There is one, and no task can start from it as it is.
    Unusable(GitError),
}

struct TaskFile {
    path: PathBuf,
    /// How many tasks it has; nothing where it has errors.
    tasks: Option<usize>,
}

/// The newest run of the repository, or of this directory.
struct LastRun {
    id: String,
    active: bool,
    snapshot: Snapshot,
    /// Its branch, where the work on it is not in the user's yet.
    unmerged: Option<String>,
    /// The task file it was made from, while that is there.
    file: Option<PathBuf>,
}

pub(crate) fn run(as_json: bool) -> Result<Exit, CliError> {
    let overview = Overview::take(&std::env::current_dir()?);
    match as_json {
        true => answer_json(&overview.json())?,
        false => answer(&overview.text())?,
    }
    Ok(Exit::Done)
}

impl Overview {
    fn take(here: &Path) -> Overview {
        let mut overview = Overview {
            directory: here.to_owned(),
            place: place(here),
            file: taskfile::found(here).map(task_file),
            last: None,
            active: Vec::new(),
            trouble: None,
        };
        if let Err(cli_error) = overview.look_at_runs() {
            overview.trouble = Some(cli_error.message().to_owned());
        }
        overview
    }

    fn look_at_runs(&mut self) -> Result<(), CliError> {
        let Some(home) = Home::existing()? else { return Ok(()) };
        self.active = live::all(&home);
        self.last = block_on(newest(home, &self.active))?;
        Ok(())
    }

    /// The active runs, and the newest here where it is not active.
    fn runs(&self) -> impl Iterator<Item = (&str, &Snapshot)> {
        let left =
            self.last.iter().filter(|last| !last.active).map(|last| (last.id.as_str(), &last.snapshot));
        self.active.iter().map(|live_view| (live_view.run.as_str(), &live_view.snapshot)).chain(left)
    }

    /// Work that waits for the user's review: the run and the task.
    fn reviews(&self) -> Vec<(&str, &str)> {
        let waits =
            self.runs().flat_map(|(run, snapshot)| snapshot.reviews().map(move |task| (run, task.as_str())));
        waits.collect()
    }

    /// Every question that waits for the user: the run, the task and what is asked.
    fn questions(&self) -> Vec<(&str, &str, &str)> {
        let asked = self.runs().flat_map(|(run, snapshot)| {
            snapshot.questions().map(move |(task, question)| (run, task.as_str(), question))
        });
        asked.collect()
    }

    fn text(&self) -> String {
        let mut lines = vec![("repository", self.place.words()), ("task file", self.file_words())];
        lines.push((
            "last run",
            self.last.as_ref().map_or_else(|| "none here yet".to_owned(), LastRun::words),
        ));
        let active = self.active.iter().map(|live_view| self.active_words(live_view));
        lines.extend(listed("active", active.collect(), "no run"));
        let questions = self.questions().into_iter();
        let asked = questions
            .map(|(run, task, question)| format!("{task} of run {run} asks: {}", one_line(question)));
        let reviews = self.reviews().into_iter();
        let reviews = reviews.map(|(run, task)| format!("{task} of run {run} waits for your review"));
        lines.extend(listed("waiting", asked.chain(reviews).collect(), "nothing waits for you"));
        if let Some(trouble) = &self.trouble {
            lines.push(("trouble", format!("{}; `conductor doctor` says more", one_line(trouble))));
        }
        let next = next::commands(self);
        let width = next.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
        let told = lines.iter().map(|(name, words)| format!("{name:<10}  {words}\n")).collect::<String>();
        let next = next.iter().map(|(command, why)| format!("  {command:<width$}  {why}\n"));
        format!("{told}\nnext\n{}\n`conductor --help` lists every command\n", next.collect::<String>())
    }

    fn file_words(&self) -> String {
        match &self.file {
            None => "none".to_owned(),
            Some(TaskFile { path, tasks: Some(1) }) => format!("{}, 1 task", path.display()),
            Some(TaskFile { path, tasks: Some(tasks) }) => format!("{}, {tasks} tasks", path.display()),
            Some(TaskFile { path, tasks: None }) => format!("{}, with errors", path.display()),
        }
    }

    fn active_words(&self, live_view: &LiveView) -> String {
        let place = match live_view.directory == self.directory {
            true => String::new(),
            false => format!(", in {}", one_line(&live_view.directory.display().to_string())),
        };
        let s = &live_view.snapshot;
        format!("run {}: {}, {} of {} done{place}", live_view.run, s.state, s.counts.completed, s.total)
    }

    fn json(&self) -> Value {
        let next = next::commands(self).into_iter();
        let active = self.active.iter();
        let questions = self.questions().into_iter();
        json!({
            "schema": SCHEMA,
            "directory": self.directory,
            "repository": self.place.json(),
            "task_file": self.file.as_ref().map(|file| json!({
                "path": file.path, "valid": file.tasks.is_some(), "tasks": file.tasks,
            })),
            "last_run": self.last.as_ref().map(LastRun::json),
            "active": active.map(|live_view| json!({
                "run": live_view.run, "directory": live_view.directory, "pid": live_view.pid,
                "state": live_view.snapshot.state, "total": live_view.snapshot.total, "counts": live_view.snapshot.counts,
            })).collect::<Vec<_>>(),
            "questions": questions.map(|(run, task, question)| json!({
                "run": run, "task": task, "question": question,
            })).collect::<Vec<_>>(),
            "reviews": self.reviews().into_iter().map(|(run, task)| json!({
                "run": run, "task": task,
            })).collect::<Vec<_>>(),
            "trouble": self.trouble,
            "next": next.map(|(command, why)| json!({ "command": command, "why": why })).collect::<Vec<_>>(),
        })
    }
}

/// The first of them, the name before the first.
fn listed(name: &'static str, mut all: Vec<String>, none: &str) -> Vec<(&'static str, String)> {
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    if all.is_empty() {
        all.push(none.to_owned());
    }
    if more > 0 {
        all.push(format!("… and {more} more"));
    }
    all.into_iter().enumerate().map(|(at, words)| (if at == 0 { name } else { "" }, words)).collect()
}

fn place(here: &Path) -> Place {
    match Repository::of(here) {
        Ok(repository) => Place::Repository { root: repository.root, branch: repository.branch },
        Err(GitError::NotOne(_)) => Place::Nowhere,
        Err(error) => Place::Unusable(error),
    }
}

impl Place {
    fn words(&self) -> String {
        match self {
            Place::Repository { root, branch: Some(branch) } => {
                format!("{}, on branch {}", root.display(), one_line(&short(branch)))
            }
            Place::Repository { root, branch: None } => format!("{}, on no branch", root.display()),
            Place::Nowhere => "none: this is not in a git repository".to_owned(),
            Place::Unusable(error) => one_line(&error.to_string()),
        }
    }

    fn json(&self) -> Value {
        match self {
            Place::Repository { root, branch } => {
                json!({ "root": root, "branch": branch.as_deref().map(short), "problem": null })
            }
            Place::Nowhere => Value::Null,
            Place::Unusable(error) => json!({ "root": null, "branch": null, "problem": error.to_string() }),
        }
    }
}

fn task_file(path: PathBuf) -> TaskFile {
    let checked = diagnostics::check(&path).ok().and_then(|(plan, _)| plan);
    TaskFile { path, tasks: checked.map(|plan| plan.asked().count()) }
}

async fn newest(home: Home, active: &[LiveView]) -> Result<Option<LastRun>, CliError> {
    let archive = Archive::of(home).await?;
    let Some(stored) = archive.here()?.into_iter().next() else { return Ok(None) };
    let id = stored.id.to_string();
    let file = Some(PathBuf::from(&stored.source)).filter(|file| file.is_file());
    if let Some(live_view) = active.iter().find(|live_view| live_view.run == stored.id) {
        return Ok(Some(LastRun {
            id,
            active: true,
            snapshot: live_view.snapshot.clone(),
            unmerged: None,
            file,
        }));
    }
    let found = archive.read(&stored).await?;
    let unmerged = unmerged_branch(&found.stored, &found.run).map(|branch| short(&branch));
    let active = archive.home.is_live(&stored.id) || stored.holder().is_some();
    Ok(Some(LastRun { id, active, snapshot: Snapshot::of(&found.run), unmerged, file }))
}

impl LastRun {
    fn state(&self) -> &str {
        match (self.active, self.snapshot.state.as_str()) {
            // Its coordinator was killed.
            (false, "running" | "paused" | "finishing" | "created") => "left in the middle",
            (_, state) => state,
        }
    }

    fn words(&self) -> String {
        let started = local(self.snapshot.created.0);
        format!("{}, {}: {}; started {started}", self.id, self.state(), counted(&self.snapshot))
    }

    fn json(&self) -> Value {
        let s = &self.snapshot;
        json!({
            "run": self.id,
            "state": self.state(),
            "active": self.active,
            "created_at": timestamp(s.created.0),
            "total": s.total,
            "counts": s.counts,
            "unmerged_branch": self.unmerged,
        })
    }
}
