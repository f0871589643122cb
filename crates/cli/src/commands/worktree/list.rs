//! `worktree list`: every workspace of this repository's runs, or of all, and every ref that holds work which has not landed.

use std::collections::{HashMap, HashSet};

use conductor_core::plan::Plan;
use conductor_core::run::TaskState;
use conductor_core::values::counted::counted;
use conductor_core::values::ids::{RunId, TaskId};
use conductor_engine::git::workspaces::{
    FoundWorkspace, Rescue, WorkspaceRequest, branch_word, inventory, rescues, resolving_name,
};
use conductor_engine::git::{GitError, Repository};
use conductor_engine::process;
use serde::Serialize;

use super::{answer, answer_json, talk};
use crate::archive::{Archive, Found};
use crate::args::WorktreeList;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::table::columns;

const SCHEMA: &str = "conductor.worktrees/1";

#[derive(Debug, Serialize)]
struct Listing {
    schema: &'static str,
    workspaces: Vec<Listed>,
    rescued: Vec<Kept>,
}

#[derive(Debug, Serialize)]
struct Listed {
    run: RunId,
    /// The name of its folder.
    #[serde(rename = "seat")]
    name: String,
    /// Who is at work there, or whose conflict is being solved there.
    task: Option<TaskId>,
    /// Whether it was made for a person to solve a conflict in.
    resolving: bool,
    /// Whether the run is active.
    live: bool,
    /// Processes that have it as their working directory.
    used_by: Vec<u32>,
    path: String,
}

#[derive(Debug, Serialize)]
struct Kept {
    #[serde(rename = "ref")]
    name: String,
    run: String,
    /// Nothing where it is of no task: left in a workspace, or taken off the branch.
    task: Option<String>,
    commit: String,
    subject: String,
    files: Option<usize>,
}

pub(super) async fn list(args: &WorktreeList) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let only = args.run.as_deref().map(|word| archive.named(word)).transpose()?;
    let runs = match &only {
        Some(stored) => vec![stored.id.clone()],
        None => archive.home.runs(),
    };
    let here: Option<HashSet<RunId>> = match only.is_none() && !args.all {
        true => Some(archive.here()?.into_iter().map(|stored| stored.id).collect()),
        false => None,
    };
    let mut read = Readings { archive: &archive, read: HashMap::new() };
    let (mut workspaces, mut elsewhere) = (Vec::new(), 0);
    for workspace in inventory(&archive.home, &runs)? {
        match here.as_ref().is_none_or(|here| here.contains(&workspace.run)) {
            true => workspaces.push(listed(&mut read, workspace).await?),
            false => elsewhere += 1,
        }
    }
    let directory = only.as_ref().map_or(&archive.directory, |stored| &stored.directory);
    let mut rescued = Vec::new();
    for rescue in kept_in(directory)? {
        if only.as_ref().is_none_or(|stored| rescue.run == stored.id.as_str()) {
            rescued.push(kept(&mut read, rescue).await?);
        }
    }
    let listing = Listing { schema: SCHEMA, workspaces, rescued };
    match args.json {
        true => answer_json(&listing)?,
        false if listing.workspaces.is_empty() && listing.rescued.is_empty() => {
            talk("there is no workspace, and no work is kept aside");
        }
        false => answer(&table(&listing))?,
    }
    if elsewhere > 0 {
        talk(format!("{} of other repositories: --all", counted(elsewhere, "workspace")));
    }
    Ok(Exit::Done)
}

/// Outside of a repository nothing is kept.
fn kept_in(directory: &std::path::Path) -> Result<Vec<Rescue>, CliError> {
    match Repository::of(directory) {
        Ok(repository) => Ok(rescues(&repository)?),
        Err(GitError::NotOne(_) | GitError::Unborn(_) | GitError::Bare(_)) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Logs, each read once. A run the store does not know has none.
struct Readings<'a> {
    archive: &'a Archive,
    read: HashMap<RunId, Option<Found>>,
}

impl Readings<'_> {
    async fn of(&mut self, run: &RunId) -> Result<Option<&Found>, CliError> {
        if !self.read.contains_key(run) {
            let found = match self.archive.known(run) {
                Some(stored) => self.archive.read_or_leave_out(stored).await,
                None => None,
            };
            self.read.insert(run.clone(), found);
        }
        Ok(self.read.get(run).and_then(Option::as_ref))
    }
}

async fn listed(read: &mut Readings<'_>, workspace: FoundWorkspace) -> Result<Listed, CliError> {
    let resolving = workspace.is_resolving();
    let FoundWorkspace { run, name, folder, used_by } = workspace;
    let task = read.of(&run).await?.and_then(|found| working_in(found, &name));
    let live = read.archive.home.is_live(&run);
    Ok(Listed { run, name, task, resolving, live, used_by, path: folder.display().to_string() })
}

fn working_in(found: &Found, workspace: &str) -> Option<TaskId> {
    let plan = found.run.plan();
    let mut tasks = found.run.tasks();
    let at_work = tasks.find(|(task, progress)| match &progress.state {
        TaskState::Running(running) if !running.ended => {
            let (executor, attempt) = (running.executor, running.attempt);
            WorkspaceRequest::of(plan, found.isolation(task), task, executor, attempt).workspace_name()
                == workspace
        }
        _ => resolving_name(&task.id) == workspace,
    });
    at_work.map(|(task, _)| task.id.clone())
}

async fn kept(read: &mut Readings<'_>, rescue: Rescue) -> Result<Kept, CliError> {
    let Rescue { name, run, word, commit, subject, files } = rescue;
    let found = match RunId::parse(&run) {
        Some(id) => read.of(&id).await?,
        None => None,
    };
    let task = match found {
        Some(found) => task_of(found.run.plan(), &word),
        None => Some(word),
    };
    Ok(Kept { name, run, task, commit, subject, files })
}

fn task_of(plan: &Plan, word: &str) -> Option<String> {
    let task = plan.tasks.iter().find(|task| branch_word(task.id.as_str()) == word);
    task.map(|task| task.id.to_string())
}

fn table(listing: &Listing) -> String {
    let mut out = String::new();
    if !listing.workspaces.is_empty() {
        let rows = listing.workspaces.iter().map(|listed| {
            let task = listed.task.as_ref().map_or_else(|| "-".to_owned(), TaskId::to_string);
            [listed.run.to_string(), listed.name.clone(), task, state(listed), one_line(&listed.path)]
        });
        out.push_str(&columns(["RUN", "WORKSPACE", "TASK", "STATE", "PATH"], rows.collect()));
    }
    if !listing.rescued.is_empty() {
        if !out.is_empty() {
            out.push('\n');
        }
        let rows = listing.rescued.iter().map(|kept| {
            let files = kept.files.map_or_else(|| "?".to_owned(), |files| files.to_string());
            let task = kept.task.clone().unwrap_or_else(|| "-".to_owned());
            [kept.run.clone(), task, files, one_line(&kept.subject), kept.name.clone()]
        });
        out.push_str(&columns(["RUN", "TASK", "FILES", "SUBJECT", "KEPT AS"], rows.collect()));
    }
    out
}

fn state(listed: &Listed) -> String {
    let used = match listed.used_by.as_slice() {
        [] => String::new(),
        [one] => format!(", in use by {}", process::described(*one)),
        [first, rest @ ..] => format!(", in use by {} and {} more", process::described(*first), rest.len()),
    };
    let state = match (listed.resolving, listed.live) {
        (true, _) => "to be resolved",
        (false, true) => "live",
        (false, false) => "left",
    };
    format!("{state}{used}")
}
