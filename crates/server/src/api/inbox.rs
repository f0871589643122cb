//! What waits for a person, in all runs.

use std::path::PathBuf;

use axum::response::Response;
use conductor_core::plan::Isolation;
use conductor_core::report::needs::{self, Need, NeedKind};
use conductor_core::run::{Run, costs};
use conductor_engine::git::workspaces::WorkspaceRequest;
use conductor_engine::records::flat::timestamp;
use conductor_engine::stores::StoredRun;
use serde_json::{Value, json};

use crate::app::App;
use crate::live;
use crate::problem::Result;
use crate::web::answer;
use crate::web::route::{Asked, Route, VIEWER, by, get};

/// So many runs are looked through, the newest first; how much is left out is told.
const LOOKED_AT: usize = 50;

/// More of one run are not told; the first are the most urgent.
const MOST_OF_A_RUN: usize = 200;

/// Evidence is for a glance; the task itself has all of it.
const LONGEST: usize = 4_000;

pub(crate) const ROUTES: &[Route] = &[get(
    "/api/inbox",
    VIEWER,
    "What needs a person, the most urgent first, and what happens otherwise",
    by!(list),
)
.json("conductor.inbox/2", "items [Need], left_out whole, unreadable [text]")];

async fn list(app: App, asked: Asked) -> Result<Response> {
    let mut items: Vec<(NeedKind, i64, Value)> = Vec::new();
    let visible = app.visible(&asked.identity).await?;
    let wanted = wanted(&visible);
    let (mut left_out, mut unreadable) = (wanted.len().saturating_sub(LOOKED_AT), Vec::new());
    for (run, project) in wanted.into_iter().take(LOOKED_AT) {
        // One that cannot be read hides nothing of the others.
        let Ok(feed) = app.runs.feed_of(run).await else {
            unreadable.push(run.id.clone());
            continue;
        };
        let is_live = feed.is_live();
        feed.look(|folded| {
            let needs = needs::of(folded, is_live);
            left_out += needs.len().saturating_sub(MOST_OF_A_RUN);
            for need in needs.into_iter().take(MOST_OF_A_RUN) {
                let since = need.since.map_or(i64::MAX, |at| at.0);
                let (kind, place) = (need.kind, need.task.as_ref().and_then(|task| folded.place(task)));
                let mut value = item(folded, run, project.as_deref(), is_live, need);
                if let Some(place) = place.filter(|_| kind < NeedKind::Review) {
                    value["workspace"] = json!(workspace(&app, run, folded, place));
                }
                items.push((kind, since, value));
            }
        });
    }
    items.sort_by_key(|(kind, since, _)| (*kind, *since));
    let items: Vec<Value> = items.into_iter().map(|(_, _, item)| item).collect();
    let value = json!({ "items": items, "left_out": left_out, "unreadable": unreadable });
    answer::json("conductor.inbox/2", value)
}

/// Runs that are open, and those whose file was not run again since they failed.
fn wanted(visible: &[(StoredRun, Option<String>)]) -> Vec<&(StoredRun, Option<String>)> {
    let mut newer: Vec<&StoredRun> = Vec::new();
    let mut wanted = Vec::new();
    for one in visible {
        let run = &one.0;
        let is_newest =
            !newer.iter().any(|known| known.directory == run.directory && known.is_of(&run.source));
        if !run.is_over() || (run.status == "failed" && is_newest) {
            wanted.push(one);
        }
        newer.push(run);
    }
    wanted
}

fn item(folded: &Run, run: &StoredRun, project: Option<&str>, is_live: bool, need: Need) -> Value {
    let place = need.task.as_ref().and_then(|task| folded.place(task));
    let choice = place.and_then(|place| folded.agent_choice(folded.doer(place)));
    let progress = place.map(|place| folded.progress(place));
    let evidence: String = need.evidence.chars().take(LONGEST).collect();
    let change = progress.and_then(|progress| progress.state.landing()).map(|landing| &landing.change);
    let touched = change.map(|change| &change.touched);
    json!({
        "kind": need.kind.name(), "run": run.id, "project": project, "source": run.source, "task": need.task,
        "name": place.map(|place| folded.task(place).0.name.clone()),
        "words": need.words, "evidence": evidence, "why": need.why,
        "since": need.since.map(|at| timestamp(at.0)), "due": need.due.map(|at| timestamp(at.0)),
        "otherwise": need.otherwise, "held": need.held, "live": is_live, "seq": folded.seq(),
        "agent": choice.map(|choice| &choice.agent), "model": choice.and_then(|choice| choice.model.as_ref()),
        "attempt": progress.map(|progress| progress.last_attempt),
        "cost_usd": place.and_then(|place| told_cost(folded, place)),
        "isolation": place.map(|place| isolation(folded, place)),
        "commit": change.map(|change| &change.commit), "files": touched.map(|touched| touched.count()),
        "added": touched.map(|touched| touched.added), "removed": touched.map(|touched| touched.removed),
    })
}

/// What an agent has not told, and what a command has none of, is not nothing.
fn told_cost(run: &Run, place: usize) -> Option<f64> {
    let usage = run.usage(place);
    costs::dollars(usage).filter(|_| !usage.is_nothing())
}

fn isolation(run: &Run, place: usize) -> Isolation {
    live::isolation(run.task(run.doer(place)).0, run.options())
}

/// The folder in which what an agent asks about would happen. Nothing where it is not known, is gone, or another attempt
/// has it by now: an agent that waits for an answer holds no workspace.
fn workspace(app: &App, run: &StoredRun, folded: &Run, place: usize) -> Option<PathBuf> {
    let (doer, isolation) = (folded.doer(place), isolation(folded, place));
    if isolation == Isolation::None {
        return Some(run.directory.clone());
    }
    let newest = folded.spans_of(doer).next()?;
    let holder = folded.spans().iter().rev().find(|span| span.executor == newest.executor)?;
    if (holder.task, holder.attempt) != (newest.task, newest.attempt) {
        return None;
    }
    let task = folded.task(doer).0;
    let request = WorkspaceRequest::of(folded.plan(), isolation, task, newest.executor, newest.attempt);
    let name = format!("{}-{}", run.id, request.workspace_name());
    Some(app.home.run(&run.id).join("workspaces").join(name)).filter(|folder| folder.is_dir())
}
