//! `runs list`: every run in a line.

use conductor_core::run::costs;
use conductor_core::schedule::Snapshot;
use conductor_engine::runs::control;
use conductor_engine::stores::StoredRun;
use serde_json::{Value, json};

use super::{answer, answer_json};
use crate::archive::Archive;
use crate::args;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::table::columns;
use crate::progress::json::timestamp;

const SCHEMA: &str = "conductor.runs/1";

/// A run as it is now, or why that cannot be told.
struct Line {
    stored: StoredRun,
    live: bool,
    seen: Result<Snapshot, String>,
}

pub(super) async fn list(args: &args::RunsList) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let mut runs = if args.here { archive.here()? } else { archive.runs().to_vec() };
    let all = runs.len();
    if args.last > 0 {
        runs.truncate(args.last);
    }
    let mut lines = Vec::new();
    for stored in runs {
        lines.push(look(&archive, stored).await);
    }
    if args.json {
        answer_json(
            &json!({ "schema": SCHEMA, "runs": lines.iter().map(entry).collect::<Vec<_>>(), "total": all }),
        )?;
        return Ok(Exit::Done);
    }
    if lines.is_empty() {
        answer("nothing has been run yet")?;
        return Ok(Exit::Done);
    }
    answer(&columns(
        ["RUN", "STARTED", "STATE", "TASKS", "COST", "DIRECTORY"],
        lines.iter().map(row).collect(),
    ))?;
    if lines.len() < all {
        super::talk(format!("{} older ones; -n 0 for all", all - lines.len()));
    }
    Ok(Exit::Done)
}

/// A live one is asked; of all others the log is read, and one that cannot be read hides none of the rest.
async fn look(archive: &Archive, stored: StoredRun) -> Line {
    if let Ok(live_view) = control::live_view(&archive.home.run(&stored.id)) {
        return Line { stored, live: true, seen: Ok(live_view.snapshot) };
    }
    let live = archive.home.is_live(&stored.id);
    let seen = archive.read(&stored).await;
    let seen = seen.map(|found| Snapshot::of(&found.run)).map_err(|error| error.to_string());
    Line { stored, live, seen }
}

fn state(line: &Line) -> String {
    match (&line.seen, line.live) {
        (Err(_), _) => "unreadable".to_owned(),
        (Ok(seen), true) => seen.state.clone(),
        (Ok(seen), false) if line.stored.holder().is_some() => seen.state.clone(),
        (Ok(seen), false) => match seen.state.as_str() {
            "running" | "paused" | "finishing" | "created" => "left".to_owned(),
            state => state.to_owned(),
        },
    }
}

fn row(line: &Line) -> [String; 6] {
    let (counts, cost) = match &line.seen {
        Ok(seen) => {
            let bad = seen.counts.failed + seen.counts.skipped + seen.counts.cancelled;
            let bad = if bad > 0 { format!(", {bad} not") } else { String::new() };
            let spent = seen.spent.tokens > 0 || seen.spent.cost.0 > 0;
            let cost = if spent { costs::words(seen.spent) } else { "-".to_owned() };
            (format!("{}/{}{bad}", seen.counts.completed, seen.total), cost)
        }
        Err(_) => (format!("?/{}", line.stored.tasks), "?".to_owned()),
    };
    let directory = one_line(&line.stored.directory.display().to_string());
    [line.stored.id.to_string(), local(line.stored.created.0), state(line), counts, cost, directory]
}

pub(crate) fn local(millis: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

fn entry(line: &Line) -> Value {
    let seen = line.seen.as_ref().ok();
    json!({
        "run": line.stored.id,
        "created_at": timestamp(line.stored.created.0),
        "ended_at": seen.and_then(|seen| seen.ended).map(|at| timestamp(at.0)),
        "state": state(line),
        "live": line.live,
        "driven_by": line.stored.holder(),
        "total": line.stored.tasks,
        "counts": seen.map(|seen| seen.counts),
        "cost_usd": seen.and_then(|seen| costs::dollars(seen.spent)),
        "known_cost_usd": seen.map(|seen| seen.spent.cost.dollars()),
        "directory": line.stored.directory,
        "source": line.stored.source,
        "trouble": line.seen.as_ref().err(),
    })
}
