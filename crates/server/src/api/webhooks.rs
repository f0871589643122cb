//! Webhooks of a project: which there are, what they were sent, and a message to try them.

use axum::response::Response;
use serde_json::{Value, json};

use crate::app::App;
use crate::problem::{Problem, Result};
use crate::records::{Change, Delivery, NewWebhook, State, Webhook, WebhookError};
use crate::web::answer;
use crate::web::fields::{Field, Kind, may, must};
use crate::web::route::{ADMIN, Asked, Route, by, delete, get, patch, post};

const WEBHOOK: &str =
    "id text, project text, url text, events [text], description text, enabled flag, created_at text";

const DELIVERY: &str = "id text, event text, run text?, seq whole?, state text, attempts whole, status_code whole?, error text?, \
     answer text?, created_at text, next_attempt_at text?, ended_at text?";

const EVENTS: Field = may(
    "events",
    Kind::Texts,
    "Names of events as the WebSocket has them, run_finished, run_stopped, needs_you, or * for all of them (default *).",
);
const ENABLED: Field = may("enabled", Kind::Flag, "Whether it is told anything (default true).");
const DESCRIPTION: Field = may("description", Kind::Text, "What it is for.");
const SECRET: Field =
    may("secret", Kind::Text, "What signs, 24 to 200 characters (default: made by the server).");

const NEW: &[Field] = &[
    must("url", Kind::Text, "Where to send: https, or http to this machine."),
    EVENTS,
    ENABLED,
    DESCRIPTION,
    SECRET,
];

const CHANGE: &[Field] = &[
    may("url", Kind::Text, "Where to send; what waits is tried at once."),
    EVENTS,
    may(
        "enabled",
        Kind::Flag,
        "Whether it is told anything; enabled again, it is told what happens from then on.",
    ),
    DESCRIPTION,
];

const PAGE: &[Field] = &[
    may("state", Kind::OneOf(&State::NAMES), "Only those in this state."),
    may("cursor", Kind::Whole(1, i64::MAX as u64), "Go on from here: `next_cursor` of the page before."),
    may("limit", Kind::Whole(1, 1_000), "How many at most (default 100)."),
];

pub(crate) const ROUTES: &[Route] = &[
    get("/api/projects/{project}/webhooks", ADMIN, "List the webhooks that are told of a project's runs", by!(list))
        .json("conductor.webhooks/1", "webhooks [object]"),
    post("/api/projects/{project}/webhooks", ADMIN, "Register a webhook; its secret is told this once", by!(add))
        .body(NEW)
        .json("conductor.webhook/1", "id text, project text, url text, events [text], description text, enabled flag, created_at text, secret text")
        .status(201),
    get("/api/projects/{project}/webhooks/{webhook}", ADMIN, "Show a webhook", by!(show))
        .json("conductor.webhook/1", WEBHOOK),
    patch("/api/projects/{project}/webhooks/{webhook}", ADMIN, "Change a webhook", by!(change))
        .body(CHANGE)
        .json("conductor.webhook/1", WEBHOOK),
    delete("/api/projects/{project}/webhooks/{webhook}", ADMIN, "Remove a webhook and its waiting deliveries", by!(remove))
        .json("conductor.removed/1", "id text"),
    post("/api/projects/{project}/webhooks/{webhook}/rotate", ADMIN, "Give a webhook a new secret, which is told this once", by!(rotate))
        .body(&[SECRET])
        .json("conductor.webhook-secret/1", "id text, secret text"),
    post("/api/projects/{project}/webhooks/{webhook}/test", ADMIN, "Send a ping now, and say what came back", by!(test))
        .json("conductor.webhook-delivery/1", DELIVERY),
    get("/api/projects/{project}/webhooks/{webhook}/deliveries", ADMIN, "What a webhook was sent and is to be sent, newest first", by!(deliveries))
        .query(PAGE)
        .json("conductor.webhook-deliveries/1", "deliveries [object], next_cursor whole?"),
    post(
        "/api/projects/{project}/webhooks/{webhook}/deliveries/{delivery}/retry",
        ADMIN,
        "Send a dead delivery again",
        by!(retry),
    )
    .json("conductor.webhook-delivery/1", DELIVERY),
];

impl From<WebhookError> for Problem {
    fn from(error: WebhookError) -> Problem {
        let of_field = |field: &str, error: &WebhookError| Problem::new(422, error).with("field", field);
        match error {
            WebhookError::Target(_) => of_field("url", &error),
            WebhookError::UnknownEvent { meant, .. } => of_field("events", &error).meant(meant),
            WebhookError::NoEvents => of_field("events", &error),
            WebhookError::WrongSecret => of_field("secret", &error),
            WebhookError::TooMany => Problem::conflict(error),
            WebhookError::Unknown(_) => Problem::not_found(error),
            WebhookError::Project(error) => error.into(),
            WebhookError::Failed(error) => error.into(),
        }
    }
}

async fn named(app: &App, asked: &Asked) -> Result<Webhook> {
    Ok(app.records.webhook(asked.named("project")?, asked.named("webhook")?).await?)
}

async fn list(app: App, asked: Asked) -> Result<Response> {
    let webhooks = app.records.webhooks(asked.named("project")?).await?;
    let webhooks: Vec<Value> = webhooks.iter().map(Webhook::told).collect();
    answer::json("conductor.webhooks/1", json!({ "webhooks": webhooks }))
}

async fn add(app: App, asked: Asked) -> Result<Response> {
    let events = asked.body.texts("events");
    if asked.body.get("events").is_some() && events.is_empty() {
        return Err(WebhookError::NoEvents.into());
    }
    let new = NewWebhook {
        project: asked.named("project")?,
        url: asked.body.needed("url")?,
        events: &events,
        description: asked.body.text("description").unwrap_or_default(),
        enabled: asked.body.get("enabled").is_none_or(|enabled| enabled == &json!(true)),
        secret: asked.body.text("secret"),
        plain_http: app.webhooks.plain_http,
    };
    let (webhook, secret) = app.records.add_webhook(&new).await?;
    app.webhooks.wake();
    let mut value = webhook.told();
    value["secret"] = json!(secret);
    answer::json_with(201, "conductor.webhook/1", value)
}

async fn show(app: App, asked: Asked) -> Result<Response> {
    answer::json("conductor.webhook/1", named(&app, &asked).await?.told())
}

async fn change(app: App, asked: Asked) -> Result<Response> {
    let events = asked.body.texts("events");
    let change = Change {
        url: asked.body.text("url"),
        events: asked.body.get("events").is_some().then_some(events.as_slice()),
        description: asked.body.text("description"),
        enabled: asked.body.get("enabled").and_then(Value::as_bool),
        plain_http: app.webhooks.plain_http,
    };
    let changed =
        app.records.change_webhook(asked.named("project")?, asked.named("webhook")?, &change).await?;
    app.webhooks.wake();
    answer::json("conductor.webhook/1", changed.told())
}

async fn remove(app: App, asked: Asked) -> Result<Response> {
    let id = asked.named("webhook")?;
    app.records.remove_webhook(asked.named("project")?, id).await?;
    answer::json("conductor.removed/1", json!({ "id": id }))
}

async fn rotate(app: App, asked: Asked) -> Result<Response> {
    let id = asked.named("webhook")?;
    let secret = app.records.rotate_webhook(asked.named("project")?, id, asked.body.text("secret")).await?;
    answer::json("conductor.webhook-secret/1", json!({ "id": id, "secret": secret }))
}

async fn test(app: App, asked: Asked) -> Result<Response> {
    let webhook = named(&app, &asked).await?;
    let delivery = app.webhooks.ping(&app.records, &webhook).await?;
    answer::json("conductor.webhook-delivery/1", delivery.told())
}

async fn deliveries(app: App, asked: Asked) -> Result<Response> {
    let webhook = named(&app, &asked).await?;
    let limit = asked.query.whole("limit").unwrap_or(100) as u32;
    let before = asked.query.whole("cursor").map(|cursor| cursor as i64);
    let mut found = app.records.deliveries(&webhook, asked.query.text("state"), before, limit + 1).await?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next = found.last().filter(|_| more).map(|delivery| delivery.number);
    let deliveries: Vec<Value> = found.iter().map(Delivery::told).collect();
    answer::json("conductor.webhook-deliveries/1", json!({ "deliveries": deliveries, "next_cursor": next }))
}

async fn retry(app: App, asked: Asked) -> Result<Response> {
    let webhook = named(&app, &asked).await?;
    let id = asked.named("delivery")?;
    let retried = app.records.retry_delivery(&webhook, id).await?;
    let delivery = app.records.delivery(&webhook, id).await?;
    let delivery = delivery.ok_or_else(|| Problem::not_found(format!("there is no delivery '{id}'")))?;
    if !retried {
        let state = delivery.state.name();
        return Err(Problem::conflict(format!("the delivery is {state}; only a dead one can be retried")));
    }
    app.webhooks.wake();
    answer::json("conductor.webhook-delivery/1", delivery.told())
}
