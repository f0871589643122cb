//! What is to be told: the events of the runs of projects with webhooks, each put among the deliveries before it is sent.
//! Runs are read from their logs, from behind the last event that was looked at, so that nothing depends on the server
//! having been there when it happened.

use std::collections::HashMap;

use conductor_core::run::event::Record;
use conductor_engine::host::home::Home;
use conductor_engine::stores::StoredRun;
use serde_json::{Value, json};

use crate::access::secrets;
use crate::live::{Part, Runs, occasion, told};
use crate::problem::Result;
use crate::records::{NewDelivery, Project, Records, Webhook};

/// So many events are recorded together at most.
const AT_ONCE: usize = 500;

/// Of the runs that were looked at while no coordinator drove them, and how they stood then: nothing happens there until
/// that changes.
#[derive(Default)]
pub(crate) struct Settled(HashMap<String, String>);

impl Settled {
    fn note(&mut self, run: &StoredRun) {
        self.0.insert(run.id.to_string(), run.status.clone());
    }

    /// A run whose coordinator was killed says that it is running, and says no more when it is taken up again.
    fn has(&self, run: &StoredRun, home: &Home) -> bool {
        let is_same = self.0.get(run.id.as_str()) == Some(&run.status);
        is_same && (run.status != "running" || !home.is_live(&run.id))
    }

    /// Everything is to be looked at again: a user may have changed a run by hand, or a coordinator may have come and gone.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}

/// Looks through the runs of these webhooks' projects. One run that cannot be read does not hold up the others.
pub(crate) async fn gather(
    records: &Records,
    runs: &Runs,
    home: &Home,
    webhooks: &[Webhook],
    settled: &mut Settled,
) -> Result<()> {
    if webhooks.is_empty() {
        return Ok(());
    }
    let all = runs.list().await?;
    for project in records.projects().await? {
        let own: Vec<&Webhook> = webhooks.iter().filter(|webhook| webhook.project == project.id).collect();
        if own.is_empty() {
            continue;
        }
        for run in all.iter().filter(|run| project.has(run)) {
            if settled.has(run, home) {
                continue;
            }
            // Before the log is read: what a coordinator wrote before it left is in it then.
            let is_live = home.is_live(&run.id);
            match gather_run(records, runs, &project, run, &own).await {
                Ok(()) if is_live => {}
                Ok(()) => settled.note(run),
                Err(problem) => {
                    tracing::warn!(run = %run.id, error = problem.detail(), "webhooks are not told of a run for now");
                }
            }
        }
    }
    Ok(())
}

async fn gather_run(
    records: &Records,
    runs: &Runs,
    project: &Project,
    run: &StoredRun,
    webhooks: &[&Webhook],
) -> Result<()> {
    let known: HashMap<String, u64> = records.positions(run.id.as_str()).await?.into_iter().collect();
    let asking: Vec<Asking<'_>> = webhooks
        .iter()
        .map(|webhook| Asking { webhook, after: known.get(&webhook.id).copied().unwrap_or(0) })
        .collect();
    let Some(from) = asking.iter().map(|asking| asking.after).min() else { return Ok(()) };
    let events = runs.records(&run.id, from).await?;
    let ids: Vec<&str> = webhooks.iter().map(|webhook| webhook.id.as_str()).collect();
    let is_new = |event: &Record| asking.iter().any(|asking| asking.is_new(event));
    // Most logs of old runs have nothing for a new webhook; such a run is not folded.
    let terms = match events.iter().any(is_new) {
        true => Some(runs.feed_of(run).await?.terms()),
        false => None,
    };
    for chunk in events.chunks(AT_ONCE) {
        let of = |event: &Record| {
            let terms = terms.as_ref().filter(|_| is_new(event));
            let told = terms.map(|(plan, options)| told(&run.id, plan, options, event)).unwrap_or_default();
            deliveries(project, run, &told, event, &asking)
        };
        let deliveries: Vec<NewDelivery> = chunk.iter().flat_map(of).collect();
        let seq = chunk.last().map_or(from, |event| event.seq);
        records.queue(run.id.as_str(), seq, &ids, &deliveries).await?;
    }
    Ok(())
}

/// A webhook, and how far it has been told of the run.
struct Asking<'a> {
    webhook: &'a Webhook,
    after: u64,
}

impl Asking<'_> {
    fn is_new(&self, event: &Record) -> bool {
        event.seq > self.after && event.at.0 >= self.webhook.since
    }
}

/// What one record means to these webhooks.
fn deliveries(
    project: &Project,
    run: &StoredRun,
    told: &[Part],
    event: &Record,
    asking: &[Asking<'_>],
) -> Vec<NewDelivery> {
    let mut all = Vec::new();
    for (place, part) in told.iter().enumerate() {
        // Of what a record tells, the first part is the record itself.
        let occasion = occasion(&event.event).filter(|_| place == 0);
        for webhook in asking.iter().filter(|asking| asking.is_new(event)).map(|asking| asking.webhook) {
            let Some(name) = webhook.asks_for(part.name, occasion) else { continue };
            let id = id(webhook, run, event.seq, part.name);
            let body = body(&part.text, &project.id, &id);
            let (webhook, event) = (webhook.id.clone(), name.to_owned());
            all.push(NewDelivery { id, webhook, event, run: run.id.to_string(), seq: part.seq, body });
        }
    }
    all
}

/// The same event has the same id for the same webhook, whenever it is found.
fn id(webhook: &Webhook, run: &StoredRun, seq: u64, name: &str) -> String {
    let hash = secrets::hash(&format!("{} {} {seq} {name}", webhook.id, run.id));
    format!("whd_{}", &hash[..32])
}

/// The event as a WebSocket tells it, and whose it is.
fn body(text: &str, project: &str, delivery: &str) -> String {
    let mut event: Value = serde_json::from_str(text).unwrap_or_default();
    event["project"] = json!(project);
    event["delivery"] = json!(delivery);
    event.to_string()
}
