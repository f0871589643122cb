//! `conductor sync status`.

use conductor_core::sync::Relation;
use conductor_core::values::ids::RunId;
use conductor_engine::host::home::Home;
use conductor_engine::sync::Standing;
use serde_json::json;

use super::remote;
use crate::archive::Archive;
use crate::args::SyncStatus;
use crate::commands::{answer, answer_json, talk};
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::table::columns;

const SCHEMA: &str = "conductor.sync-status/1";

pub(super) async fn status(args: &SyncStatus) -> Result<Exit, CliError> {
    let home = Home::open()?;
    let remote = remote(&home, args.remote.as_deref(), |_| {})?;
    let archive = Archive::of(home).await?;
    let runs = if args.all { archive.runs().to_vec() } else { archive.here()? };
    let runs: Vec<RunId> = runs.into_iter().map(|stored| stored.id).collect();
    let all = remote.standings(&*archive.store(), &runs).await?;
    if args.json {
        let each: Vec<_> = all.iter().map(entry).collect();
        answer_json(&json!({
            "schema": SCHEMA, "remote": remote.shown(), "machine": remote.machine(), "runs": each,
        }))?;
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        talk(format!("there is no run here, and none at {}", remote.shown()));
        return Ok(Exit::Done);
    }
    let count = |events: Option<u64>| events.map_or("-".to_owned(), |events| events.to_string());
    let rows = all.iter().map(|one| {
        let claimed = one.claim.as_ref().map_or("-".to_owned(), |claim| match one.is_claimed_here {
            true => "this machine".to_owned(),
            false => claim.machine.to_string(),
        });
        let readable = match (one.there, one.recipients.len()) {
            (None, _) => "-".to_owned(),
            (_, 0) => "all (plain text)".to_owned(),
            (_, keys) => format!("{keys} keys"),
        };
        [
            one.run.to_string(),
            count(one.here),
            count(one.there),
            one_line(&words(one)),
            one_line(&claimed),
            readable,
        ]
    });
    let rows = rows.collect();
    answer(&columns(["RUN", "HERE", "THERE", "STATE", "CLAIMED BY", "READABLE FOR"], rows))?;
    Ok(Exit::Done)
}

fn words(one: &Standing) -> String {
    let told = match (&one.relation, one.here, one.there) {
        (Some(Err(why)), ..) => why.clone(),
        (Some(Ok(Relation::Same)), ..) if !one.is_whole => "the same, files not pulled".to_owned(),
        (Some(Ok(Relation::Same)), ..) => "the same".to_owned(),
        (Some(Ok(Relation::Ahead(more))), ..) => format!("{more} not pushed"),
        (Some(Ok(Relation::Behind(more))), ..) => format!("{more} not pulled"),
        (Some(Ok(Relation::Parted { after })), ..) => format!("parted after event {after}"),
        (None, Some(_), _) => "not pushed".to_owned(),
        (None, None, _) => "not pulled".to_owned(),
    };
    if one.is_active { format!("{told}, active here") } else { told }
}

fn entry(one: &Standing) -> serde_json::Value {
    let (state, events, why) = match &one.relation {
        Some(Err(why)) => ("unreadable", None, Some(why)),
        Some(Ok(Relation::Same)) => ("same", None, None),
        Some(Ok(Relation::Ahead(more))) => ("ahead", Some(*more), None),
        Some(Ok(Relation::Behind(more))) => ("behind", Some(*more), None),
        Some(Ok(Relation::Parted { after })) => ("parted", Some(*after), None),
        None if one.here.is_some() => ("not_pushed", None, None),
        None => ("not_pulled", None, None),
    };
    json!({
        "run": one.run, "here": one.here, "there": one.there, "state": state, "events": events, "error": why,
        "active": one.is_active, "files_here": one.is_whole, "claimed_by": one.claim.as_ref().map(|claim| &claim.machine),
        "claimed_here": one.is_claimed_here, "pushed_by": one.from, "encrypted_for": one.recipients,
        "transcripts": one.transcripts,
    })
}
