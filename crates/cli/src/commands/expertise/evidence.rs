//! `conductor expertise evidence`: what estimates, the choice of models and the overlap of tasks rest on.

use std::path::PathBuf;

use conductor_core::expertise::{Candidate, Kind};
use conductor_core::forecast::{Evidence, ModelOf, TimesOf, Touched};
use conductor_core::plan::models::{self, Advice, Models};
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::units::Millis;
use conductor_engine::expertise::{Wanted, gather};
use conductor_engine::host::home::Home;
use conductor_engine::stores::{self, EarlierRuns};
use serde_json::{Value, json};

use super::looked_at;
use crate::archive::briefly;
use crate::args;
use crate::commands::run::full_name;
use crate::commands::{answer, answer_json, talk};
use crate::error::{CliError, Exit};
use crate::output::table::columns;
use crate::output::width::cut;
use crate::settings::{diagnostics, taskfile};

/// More lines than these are not read through.
const MOST: usize = 50;
const LONGEST_COMMAND: usize = 40;

/// All of it, as it is shown.
struct Shown {
    times: Vec<TimesOf>,
    models: Vec<ModelOf>,
    advice: Vec<Advice>,
    together: Vec<Candidate>,
    touched: Vec<(TaskId, Touched)>,
}

pub(super) async fn evidence(args: &args::ExpertiseEvidence) -> Result<Exit, CliError> {
    let here = std::env::current_dir()?;
    let file = args.file.clone().or_else(|| taskfile::found(&here));
    let evidence = gathered(file.as_ref()).await?;
    let shown = Shown {
        times: evidence.times_shown().into_iter().take(MOST).collect(),
        models: evidence.models_shown(),
        advice: models::advice(&models_of(file.as_ref()), &evidence.samples()),
        together: together().await?,
        touched: evidence.touched_shown().clone().into_iter().take(MOST).collect(),
    };
    match args.json {
        true => answer_json(&as_json(&shown))?,
        false => answer(&text(&shown))?,
    }
    Ok(Exit::Done)
}

/// What the runs of this directory, and of the file, say.
async fn gathered(file: Option<&PathBuf>) -> Result<Evidence, CliError> {
    let Some(home) = Home::existing()? else { return Ok(Evidence::default()) };
    let directory = std::env::current_dir()?;
    let store = briefly(|| stores::open_to_look(&home)).await?;
    let source = file.map(|file| full_name(&directory, file)).unwrap_or_default();
    let mut earlier = EarlierRuns::of(&*store);
    let evidence = gather(&mut earlier, (directory.as_path(), source.as_str()), Wanted::ALL).await?;
    earlier.notice().into_iter().for_each(talk);
    Ok(evidence)
}

/// The file's own rules about models; the built-in ones where it has none, or cannot be read.
fn models_of(file: Option<&PathBuf>) -> Models {
    let plan = file.and_then(|file| diagnostics::load(file).ok());
    plan.and_then(|plan| plan.models).map(|models| *models).unwrap_or_default()
}

/// Items about files that change together, those that agents are given first.
async fn together() -> Result<Vec<Candidate>, CliError> {
    let mut items = match looked_at().await? {
        Some(store) => store.all().await?,
        None => Vec::new(),
    };
    items.retain(|one| one.item.draft.kind == Kind::FileMap && one.item.retired.is_none());
    items.sort_by_key(|one| (!one.item.is_told(), std::cmp::Reverse(one.item.seen)));
    items.truncate(MOST);
    Ok(items)
}

fn as_json(shown: &Shown) -> Value {
    let together: Vec<Value> = shown.together.iter().map(super::showing::item_json).collect();
    let touched = |(task, touched): &(TaskId, Touched)| json!({ "task": task, "files": touched.files, "run": touched.run, "commit": touched.commit });
    let touched: Vec<Value> = shown.touched.iter().map(touched).collect();
    json!({
        "schema": "conductor.expertise-evidence/1",
        "times": shown.times,
        "models": shown.models,
        "advice": shown.advice,
        "together": together,
        "touched": touched,
    })
}

fn text(shown: &Shown) -> String {
    let parts = [
        part("how long tasks take (for estimates)", times(&shown.times)),
        part("how models do (for the choice of a model)", tried(&shown.models)),
        part("what follows from it", shown.advice.iter().map(advised).collect()),
        part("files that change together", shown.together.iter().map(changed).collect()),
        part("files that tasks changed (for overlap)", touched(&shown.touched)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "no run has taught anything here yet\n".to_owned(),
        false => parts.join("\n"),
    }
}

/// A title and what is below it; nothing where there is nothing.
fn part(title: &str, below: String) -> Option<String> {
    (!below.is_empty()).then(|| format!("{title}\n\n{below}"))
}

fn times(all: &[TimesOf]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let time = |millis: u64| Millis(millis).to_string();
    let row = |one: &TimesOf| {
        let what = match &one.command {
            Some(command) => cut(command, LONGEST_COMMAND, "..."),
            None => format!("{} {}", one.size.unwrap_or_default(), one.kind.unwrap_or("task")),
        };
        [
            what,
            one.agent.clone().unwrap_or_else(|| "-".to_owned()),
            one.model.clone().unwrap_or_else(|| "-".to_owned()),
            one.tasks.to_string(),
            time(one.median_ms),
            format!("{} to {}", time(one.low_ms), time(one.high_ms)),
            named(&one.runs),
        ]
    };
    columns(
        ["TASKS LIKE", "AGENT", "MODEL", "COUNT", "MEDIAN", "RANGE", "RUNS"],
        all.iter().map(row).collect(),
    )
}

fn tried(all: &[ModelOf]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let row = |one: &ModelOf| {
        [
            one.agent.clone(),
            one.model.clone(),
            one.kind.unwrap_or("-").to_owned(),
            format!("{} of {}", one.good, one.all),
            named(&one.runs),
        ]
    };
    columns(["AGENT", "MODEL", "KIND", "GOOD", "RUNS"], all.iter().map(row).collect())
}

fn advised(one: &Advice) -> String {
    let kind = one.kind.as_ref().map_or_else(|| "any task".to_owned(), |kind| format!("a {kind} task"));
    format!("{}, {kind} for a {} model: {}\n", one.agent, one.instead_of, one.why)
}

fn changed(one: &Candidate) -> String {
    let from: Vec<String> = one
        .item
        .evidence
        .iter()
        .map(|evidence| format!("{} in run {}", evidence.task, evidence.run))
        .collect();
    format!(
        "{}  {}\n    seen {} times: {}\n",
        one.item.id,
        one.item.draft.claim,
        one.item.seen,
        from.join(", ")
    )
}

fn touched(all: &[(TaskId, Touched)]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let row = |(task, touched): &(TaskId, Touched)| {
        let more = touched.files.len().saturating_sub(3);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        let files: Vec<&str> = touched.files.iter().take(3).map(String::as_str).collect();
        [task.to_string(), format!("{}{rest}", files.join(", ")), touched.run.to_string()]
    };
    columns(["TASK", "FILES", "RUN"], all.iter().map(row).collect())
}

fn named(runs: &[RunId]) -> String {
    runs.iter().map(RunId::as_str).collect::<Vec<_>>().join(" ")
}
