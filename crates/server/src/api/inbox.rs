//! What waits for a person, in all runs.

use axum::response::Response;
use conductor_core::run::TaskState;
use conductor_engine::records::flat::timestamp;
use serde_json::{Value, json};

use crate::app::App;
use crate::problem::Result;
use crate::web::answer;
use crate::web::route::{Asked, Route, VIEWER, by, get};

/// So many runs are looked through, the newest first.
const LOOKED_AT: usize = 50;

pub(crate) const ROUTES: &[Route] =
    &[get("/api/inbox", VIEWER, "Questions of agents and work to review, oldest first", by!(list))
        .json("conductor.inbox/1", "items [object]")];

async fn list(app: App, asked: Asked) -> Result<Response> {
    let mut items: Vec<(i64, Value)> = Vec::new();
    let open = app.visible(&asked.identity).await?.into_iter().filter(|(run, _)| !run.is_over());
    for (run, project) in open.take(LOOKED_AT) {
        // One that cannot be read hides nothing of the others.
        let Ok(feed) = app.runs.feed_of(&run).await else { continue };
        let live = feed.is_live();
        feed.look(|state| {
            for (_, task, progress) in state.asked() {
                let (kind, since, words) = match &progress.state {
                    TaskState::Asking { question, since } => ("question", since.0, question.put()),
                    TaskState::InReview { since, .. } => {
                        ("review", since.0, "its work waits for your review".to_owned())
                    }
                    _ => continue,
                };
                items.push((
                    since,
                    json!({ "kind": kind, "run": run.id, "project": project, "task": task.id,
                    "name": task.name, "words": words, "since": timestamp(since), "live": live }),
                ));
            }
        });
    }
    items.sort_by_key(|(since, _)| *since);
    let items: Vec<Value> = items.into_iter().map(|(_, item)| item).collect();
    answer::json("conductor.inbox/1", json!({ "items": items }))
}
