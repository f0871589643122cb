//! `conductor webhook`: programs elsewhere that the server tells of a project's runs.

use conductor_engine::records::flat::timestamp;
use conductor_server::records::{Delivery, NewWebhook, Records, RecordsError, State, Webhook, WebhookError};
use serde_json::{Value, json};

use super::project::{noted, records};
use super::{answer, answer_either, answer_json, block_on, talk};
use crate::args;
use crate::error::{CliError, Exit};
use crate::output::table::columns;

pub(crate) fn run(webhook: &args::Webhook) -> Result<Exit, CliError> {
    block_on(async {
        let records = records().await?;
        match webhook {
            args::Webhook::Add(args) => {
                noted(&records, &format!("webhook add {}", args.project), add(&records, args)).await
            }
            args::Webhook::List(of) => list(&records, &of.project, of.json).await,
            args::Webhook::Remove(of) => {
                let words = format!("webhook remove {} {}", of.project, of.webhook);
                noted(&records, &words, remove(&records, of)).await
            }
            args::Webhook::Deliveries(args) => deliveries(&records, args).await,
        }
    })
}

async fn add(records: &Records, args: &args::WebhookAdd) -> Result<Exit, CliError> {
    let events: Vec<&str> = args.events.iter().map(String::as_str).collect();
    let new = NewWebhook {
        project: &args.project,
        url: &args.url,
        events: &events,
        description: &args.description,
        enabled: true,
        secret: None,
        // How the server is started is not known here.
        plain_http: false,
    };
    let (webhook, secret) = records.add_webhook(&new).await?;
    let mut value = webhook.told();
    value["secret"] = json!(secret);
    // Alone on standard output, for `SECRET=$(conductor webhook add …)`.
    talk(format!("webhook {} of project {}; its secret is shown this once", webhook.id, webhook.project));
    answer_either(args.json, &secret, "conductor.webhook/1", value)?;
    Ok(Exit::Done)
}

async fn list(records: &Records, project: &str, as_json: bool) -> Result<Exit, CliError> {
    let webhooks = records.webhooks(project).await?;
    if as_json {
        let webhooks: Vec<Value> = webhooks.iter().map(Webhook::told).collect();
        answer_json(&json!({ "schema": "conductor.webhooks/1", "webhooks": webhooks }))?;
        return Ok(Exit::Done);
    }
    if webhooks.is_empty() {
        answer("the project has no webhooks; `conductor webhook add` registers one\n")?;
        return Ok(Exit::Done);
    }
    let row = |webhook: &Webhook| {
        let state = if webhook.enabled { "enabled" } else { "disabled" };
        [webhook.id.clone(), state.to_owned(), webhook.events.join(","), webhook.url.clone()]
    };
    answer(&columns(["ID", "STATE", "EVENTS", "URL"], webhooks.iter().map(row).collect()))?;
    Ok(Exit::Done)
}

async fn remove(records: &Records, of: &args::OfWebhook) -> Result<Exit, CliError> {
    records.project(&of.project).await?;
    records.remove_webhook(&of.project, &of.webhook).await?;
    let words = format!("webhook {} is removed, with what waited for it", of.webhook);
    answer_either(of.json, &words, "conductor.removed/1", json!({ "id": of.webhook }))?;
    Ok(Exit::Done)
}

async fn deliveries(records: &Records, args: &args::WebhookDeliveries) -> Result<Exit, CliError> {
    records.project(&args.of.project).await?;
    let webhook = records.webhook(&args.of.project, &args.of.webhook).await?;
    let found = records.deliveries(&webhook, None, None, args.limit).await.map_err(RecordsError::from)?;
    if args.of.json {
        let found: Vec<Value> = found.iter().map(Delivery::told).collect();
        answer_json(&json!({ "schema": "conductor.webhook-deliveries/1", "deliveries": found }))?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        answer("nothing was sent yet, and nothing waits\n")?;
        return Ok(Exit::Done);
    }
    let row = |one: &Delivery| {
        let run = one.run.clone().unwrap_or_else(|| "-".to_owned());
        let status = one.status.map_or_else(|| "-".to_owned(), |status| status.to_string());
        let more = match one.state {
            State::Waiting => format!("next {}", timestamp(one.due)),
            _ => one.error.clone().unwrap_or_default(),
        };
        [
            one.id.clone(),
            one.event.clone(),
            run,
            one.state.name().to_owned(),
            one.attempts.to_string(),
            status,
            more,
        ]
    };
    let heads = ["ID", "EVENT", "RUN", "STATE", "ATTEMPTS", "STATUS", "MORE"];
    answer(&columns(heads, found.iter().map(row).collect()))?;
    Ok(Exit::Done)
}

impl From<WebhookError> for CliError {
    fn from(error: WebhookError) -> CliError {
        let help = match &error {
            WebhookError::Project(_) => None,
            WebhookError::UnknownEvent { meant: Some(meant), .. } => Some(format!("did you mean '{meant}'?")),
            WebhookError::UnknownEvent { .. } => {
                Some("docs/api.md lists the events; * means all of them".to_owned())
            }
            WebhookError::Unknown(_) => Some("`conductor webhook list PROJECT` lists them".to_owned()),
            _ => None,
        };
        let error = match error {
            WebhookError::Project(error) => return error.into(),
            WebhookError::Failed(error) => CliError::new(Exit::Unexpected, RecordsError::from(error)),
            error => CliError::new(Exit::Usage, error),
        };
        match help {
            Some(help) => error.help(help),
            None => error,
        }
    }
}
