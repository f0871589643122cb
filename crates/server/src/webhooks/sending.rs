//! Sends what is recorded, and records what came of it.

use std::sync::atomic::Ordering;

use conductor_engine::host::clock;
use conductor_engine::records::flat::timestamp;
use serde_json::json;

use super::client::Answered;
use super::message::Message;
use super::schedule::chance;
use super::{TROUBLE, Webhooks};
use crate::access::secrets;
use crate::access::targets::Target;
use crate::problem::{Problem, Result};
use crate::records::{Attempted, Delivery, Records, Verdict, Webhook};

/// The receiver, or what stands before it, is not there for anything at the moment; with any other status it refused this
/// one message.
const NOT_THERE: [u16; 4] = [429, 502, 503, 504];

impl Webhooks {
    pub(super) async fn send_due(&self, records: &Records, webhook: &str) {
        while !self.stopping.load(Ordering::Acquire) {
            let _sending = self.sending.read().await;
            match self.send_next(records, webhook).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    // Sent or not, it is not known; it is sent again with the same id.
                    tracing::warn!(webhook, %error, "a delivery cannot be recorded");
                    tokio::time::sleep(TROUBLE).await;
                    break;
                }
            }
        }
    }

    /// Whether there was one.
    async fn send_next(&self, records: &Records, id: &str) -> std::result::Result<bool, sqlx::Error> {
        let Some((webhook, delivery)) = records.next_delivery(id).await? else { return Ok(false) };
        let message = Message { id: &delivery.id, event: &delivery.event, body: &delivery.body };
        let answered = self.send(&webhook, &message).await;
        let verdict = self.verdict(&delivery, &answered);
        let attempted = attempted(&webhook, answered);
        tracing::debug!(
            webhook = id,
            delivery = delivery.id,
            status = attempted.status,
            error = attempted.error,
            "sent"
        );
        records.note_attempt(id, &delivery.id, &attempted, verdict).await?;
        Ok(true)
    }

    async fn send(&self, webhook: &Webhook, message: &Message<'_>) -> std::result::Result<Answered, String> {
        let target =
            Target::read(&webhook.url, self.plain_http).map_err(|error| format!("the address {error}"))?;
        let seconds = clock::wall().0 / 1_000;
        let request = message.request(&target, webhook.secret.as_str(), seconds);
        let request = request.map_err(|error| format!("the request cannot be made: {error}"))?;
        self.client.send(&target, request).await.map_err(|error| error.to_string())
    }

    fn verdict(&self, delivery: &Delivery, answered: &std::result::Result<Answered, String>) -> Verdict {
        let (holds, asked) = match answered {
            Ok(answer) if is_good(answer.status) => return Verdict::Delivered,
            Ok(answer) => (NOT_THERE.contains(&answer.status), answer.retry_after),
            Err(_) => (true, None),
        };
        let now = clock::wall().0;
        match self.schedule.pause(delivery.attempts + 1, now - delivery.queued, chance(), asked) {
            Some(pause) => Verdict::Again { at: now + pause.as_millis() as i64, holds },
            None => Verdict::Dead,
        }
    }

    /// Tells the receiver that it would be told, and says what came back. It waits for nothing else, and is not tried again.
    pub(crate) async fn ping(&self, records: &Records, webhook: &Webhook) -> Result<Delivery> {
        let id = secrets::random("whd_").map_err(Problem::internal)?[..36].to_owned();
        let body = json!({ "schema": "conductor.ping/1", "type": "ping", "at": timestamp(clock::wall().0),
            "webhook": webhook.id, "project": webhook.project, "delivery": id });
        let body = body.to_string();
        let answered = self.send(webhook, &Message { id: &id, event: "ping", body: &body }).await;
        let verdict = match &answered {
            Ok(answer) if is_good(answer.status) => Verdict::Delivered,
            _ => Verdict::Dead,
        };
        let attempted = attempted(webhook, answered);
        records.note_ping(webhook, &id, &body, &attempted, verdict).await?;
        let delivery = records.delivery(webhook, &id).await?;
        delivery.ok_or_else(|| Problem::not_found("the webhook was removed meanwhile"))
    }
}

fn is_good(status: u16) -> bool {
    (200..300).contains(&status)
}

/// For people: a receiver that sends the secret back does not get it listed.
fn attempted(webhook: &Webhook, answered: std::result::Result<Answered, String>) -> Attempted {
    let clean = |text: String| text.replace(webhook.secret.as_str(), "***");
    match answered {
        Ok(answer) => {
            let error = match answer.status {
                status if is_good(status) => None,
                300..400 => Some(format!("it answered {}; redirects are not followed", answer.status)),
                status => Some(format!("it answered {status}")),
            };
            let text = Some(answer.text).filter(|text| !text.is_empty()).map(clean);
            Attempted { status: Some(answer.status), answer: text, error }
        }
        Err(error) => Attempted { error: Some(clean(error)), ..Attempted::default() },
    }
}
