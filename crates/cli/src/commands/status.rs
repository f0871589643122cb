//! `conductor status`: what a run is doing. A live one is asked itself, which costs the same however large it is; the log
//! is read only where the run is not active.

pub(crate) mod text;
mod watch;

use conductor_core::run::costs;
use conductor_core::schedule::{AtWork, Snapshot, Waiting, Words};
use conductor_core::values::units::Timestamp;
use conductor_engine::dispatch::LiveView;
use conductor_engine::host::home::Home;
use conductor_engine::process::shim::{self, ShimRecord};
use serde_json::{Value, json};

use super::wait::exit_code;
use super::{answer, answer_json, block_on, talk};
use crate::archive::live;
use crate::archive::{Archive, Found};
use crate::args;
use crate::error::{CliError, Exit};
use crate::progress::json::timestamp;

const SCHEMA: &str = "conductor.status/1";

pub(crate) fn run(args: &args::Status) -> Result<Exit, CliError> {
    let home = Home::open()?;
    match live::meant(&home, args.run.as_deref())? {
        Some(live_view) if args.watch => {
            live::check_here(&home, &live_view.run, "watch it")?;
            watch::watch(&home, live_view, args.json)
        }
        Some(live_view) => show(&Seen::live(live_view), args.json),
        None => block_on(async {
            let archive = Archive::open().await?;
            let runs = archive.candidates(args.run.as_deref())?;
            let Some(newest) = runs.first() else { return Ok(Exit::NothingToDo) };
            let pid = archive.home.is_live(&newest.id).then(|| archive.home.holder(&newest.id)).flatten();
            if let Some(machine) = newest.holder() {
                talk(format!("run {} is driven by {machine}; this is what its log says", newest.id));
            }
            // A coordinator that is about to begin or to end is not reached, and lives.
            show(&Seen { pid, ..Seen::left(&archive.home, archive.read(newest).await?) }, args.json)?;
            match (args.watch, pid) {
                (true, None) => exit_code(&archive.home, &newest.id).await,
                (true, Some(_)) => Ok(Exit::StillRunning),
                (false, _) => Ok(Exit::Done),
            }
        }),
    }
}

fn show(seen: &Seen, as_json: bool) -> Result<Exit, CliError> {
    match as_json {
        true => answer_json(&json(seen))?,
        false => answer(&text::whole(seen))?,
    }
    Ok(Exit::Done)
}

/// A run as it is now, or as it was left.
pub(crate) struct Seen {
    pub(crate) run: String,
    pub(crate) directory: String,
    /// The coordinator's process; nothing where the run is not active.
    pub(crate) pid: Option<u32>,
    pub(crate) snapshot: Snapshot,
    /// Why its store cannot be written, where it cannot.
    pub(crate) away: Option<String>,
    /// Agents that work on without a coordinator, and since when.
    pub(crate) alone: Vec<(ShimRecord, Timestamp)>,
}

impl Seen {
    pub(crate) fn live(live_view: LiveView) -> Seen {
        let LiveView { run, directory, pid, snapshot, away, .. } = live_view;
        let (run, directory) = (run.to_string(), directory.display().to_string());
        Seen { run, directory, pid: Some(pid), snapshot, away, alone: Vec::new() }
    }

    pub(crate) fn left(home: &Home, found: Found) -> Seen {
        let alone = shim::alone(&home.run(&found.stored.id));
        let run = found.stored.id.to_string();
        let directory = found.stored.directory.display().to_string();
        Seen { run, directory, pid: None, snapshot: Snapshot::of(&found.run), away: None, alone }
    }
}

pub(crate) fn json(seen: &Seen) -> Value {
    let Snapshot { counts, spent, .. } = &seen.snapshot;
    let s = &seen.snapshot;
    json!({
        "schema": SCHEMA,
        "run": seen.run,
        "live": seen.pid.is_some(),
        "pid": seen.pid,
        "directory": seen.directory,
        "store_away": seen.away,
        "state": s.state,
        "why": s.why,
        "seq": s.seq,
        "created_at": timestamp(s.created.0),
        "ended_at": s.ended.map(|at| timestamp(at.0)),
        "elapsed_ms": s.elapsed,
        "slots": s.slots,
        "total": s.total,
        "counts": counts,
        "cost_usd": costs::dollars(*spent),
        "known_cost_usd": spent.cost.dollars(),
        "tokens": spent.tokens,
        "max_cost_usd": s.max_cost.map(|cap| cap.dollars()),
        "running": s.running.iter().map(at_work).collect::<Vec<_>>(),
        "waiting": s.waiting.iter().map(waiting).collect::<Vec<_>>(),
        "next": s.next.iter().map(waiting).collect::<Vec<_>>(),
        "reviews": s.reviews().collect::<Vec<_>>(),
        "questions": s.questions().map(|(task, question)| json!({ "task": task, "question": question })).collect::<Vec<_>>(),
        "failed": s.failed.iter().map(words).collect::<Vec<_>>(),
        "git_settings_touched": s.settings,
        "conflicts_ahead": s.ahead.iter().map(words).collect::<Vec<_>>(),
        "alone": seen.alone.iter().map(alone).collect::<Vec<_>>(),
        "parked_agents": s.parked.iter().map(|(agent, until)| json!({ "agent": agent, "until": timestamp(until.0) })).collect::<Vec<_>>(),
    })
}

fn alone((shim, since): &(ShimRecord, Timestamp)) -> Value {
    let ShimRecord { task, attempt, agent, .. } = shim;
    json!({ "task": task, "attempt": attempt, "pid": agent.pid, "shim_pid": shim.shim.pid, "since": timestamp(since.0) })
}

fn at_work(at_work: &AtWork) -> Value {
    let AtWork { task, epic, attempt, phase, since, agent, model, pid, spent, last_tool } = at_work;
    json!({
        "task": task,
        "epic_id": epic,
        "attempt": attempt,
        "phase": text::phase_name(*phase),
        "for_ms": since,
        "agent": agent,
        "model": model,
        "pid": pid,
        "last_tool": last_tool,
        "cost_usd": costs::dollars(*spent),
    })
}

/// Each reason with its words, for programs that only show them.
pub(crate) fn reasons(why: &[conductor_core::schedule::Wait]) -> Vec<Value> {
    let reason = |wait: &conductor_core::schedule::Wait| {
        let mut value = serde_json::to_value(wait).unwrap_or_default();
        value["words"] = json!(wait.to_string());
        value
    };
    why.iter().map(reason).collect()
}

fn waiting(waiting: &Waiting) -> Value {
    json!({ "task": waiting.task, "why": reasons(&waiting.why) })
}

fn words(words: &Words) -> Value {
    json!({ "task": words.task, "words": words.words })
}
