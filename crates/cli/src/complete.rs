//! What a shell completes beside commands and options: names of runs, tasks, groups, templates and agents.
//!
//! Completing only looks: nothing is made, nothing is told, and what cannot be read completes to nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use conductor_core::plan::Plan;
use conductor_engine::agents;
use conductor_engine::host::home::Home;
use conductor_engine::stores::StoredRun;

use crate::archive::Archive;
use crate::output::block_on;
use crate::settings::diagnostics;
use crate::settings::taskfile;
use crate::templates;

/// A shell that completes a name does not wait longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many runs are named, the newest first.
const RUNS: usize = 50;

/// How many runs of this repository are looked through for tasks and groups.
const LOOK_BACK: usize = 3;

pub(crate) fn runs() -> ArgValueCandidates {
    ArgValueCandidates::new(|| within(stored_runs()).into_iter().map(run).collect())
}

pub(crate) fn tasks() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        named(
            plans().iter().flat_map(|plan| plan.asked().map(|task| (task.id.to_string(), task.name.clone()))),
        )
    })
}

pub(crate) fn groups() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let plans = plans();
        let of_tasks =
            |plan: &Plan| plan.tasks.iter().filter_map(|task| task.group.clone()).collect::<Vec<_>>();
        let listed = |plan: &Plan| plan.groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>();
        named(
            plans
                .iter()
                .flat_map(|plan| listed(plan).into_iter().chain(of_tasks(plan)))
                .map(|name| (name, String::new())),
        )
    })
}

pub(crate) fn templates() -> ArgValueCandidates {
    ArgValueCandidates::new(|| named(templates::names().into_iter()))
}

pub(crate) fn agents() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let names = agents::known_names(&diagnostics::plan_of_good_configs());
        named(names.into_iter().map(|name| (name, String::new())))
    })
}

/// Each once, with what it is about where that is known.
fn named(names: impl Iterator<Item = (String, String)>) -> Vec<CompletionCandidate> {
    let mut seen = BTreeSet::new();
    let new = names.filter(|(name, _)| seen.insert(name.clone()));
    let told = new.map(|(name, about)| {
        let about = Some(about).filter(|about| !about.is_empty() && *about != name);
        CompletionCandidate::new(name).help(about.map(Into::into))
    });
    told.collect()
}

fn run(stored: StoredRun) -> CompletionCandidate {
    let about = format!("{}, {} tasks, {}", stored.status, stored.tasks, stored.directory.display());
    CompletionCandidate::new(stored.id.as_str().to_owned()).help(Some(about.into()))
}

/// What can be had in time, or nothing.
fn within<T: Default>(work: impl Future<Output = Option<T>>) -> T {
    let done = block_on(async { Ok(tokio::time::timeout(PATIENCE, work).await.ok().flatten()) });
    done.ok().flatten().unwrap_or_default()
}

async fn stored_runs() -> Option<Vec<StoredRun>> {
    let archive = Archive::of(Home::existing().ok()??).await.ok()?;
    Some(archive.runs().iter().take(RUNS).cloned().collect())
}

/// The plans a name can be from: of the newest runs here, and of the task file.
fn plans() -> Vec<Plan> {
    let mut plans = within(run_plans());
    let here = std::env::current_dir().ok();
    let file = here.and_then(|here| taskfile::found(&here));
    plans.extend(file.and_then(|file| diagnostics::check(&file).ok()?.0));
    plans
}

async fn run_plans() -> Option<Vec<Plan>> {
    let archive = Archive::of(Home::existing().ok()??).await.ok()?;
    let mut plans = Vec::new();
    for stored in archive.here().ok()?.iter().take(LOOK_BACK) {
        if let Ok(found) = archive.read(stored).await {
            plans.push(Plan::clone(found.run.plan()));
        }
    }
    Some(plans)
}
