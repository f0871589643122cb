//! What waits for a person, in all runs.

use axum::response::Response;
use conductor_core::report::needs::{self, Need, NeedKind};
use conductor_core::run::{Run, costs};
use conductor_engine::records::flat::timestamp;
use conductor_engine::stores::StoredRun;
use serde_json::{Value, json};

use crate::app::App;
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
                items.push((need.kind, since, item(folded, run, project.as_deref(), is_live, need)));
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
    json!({
        "kind": need.kind.name(), "run": run.id, "project": project, "source": run.source, "task": need.task,
        "name": place.map(|place| folded.task(place).0.name.clone()),
        "words": need.words, "evidence": evidence, "why": need.why,
        "since": need.since.map(|at| timestamp(at.0)), "due": need.due.map(|at| timestamp(at.0)),
        "otherwise": need.otherwise, "held": need.held, "live": is_live, "seq": folded.seq(),
        "agent": choice.map(|choice| &choice.agent), "model": choice.and_then(|choice| choice.model.as_ref()),
        "attempt": progress.map(|progress| progress.last_attempt),
        "cost_usd": place.and_then(|place| costs::dollars(folded.usage(place))),
    })
}
