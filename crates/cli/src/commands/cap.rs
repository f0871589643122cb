//! `conductor cap`: what a run may use, changed while it goes on or after it was left.

use std::collections::BTreeMap;

use conductor_core::run::event::Capped;
use conductor_core::schedule::Request;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Usd;
use conductor_engine::host::home::Home;
use serde_json::json;

use super::left::Asked;
use super::{answer_either, block_on, left};
use crate::archive::{Archive, live};
use crate::args;
use crate::error::{CliError, Exit};
use crate::progress::amount;

pub(crate) fn run(args: &args::Cap) -> Result<Exit, CliError> {
    let home = Home::open()?;
    let run = meant(&home, args.run.as_deref())?;
    let caps = caps(args);
    let asked = block_on(left::ask(&home, &run, Request::SetCaps(caps.clone())))?;
    let told: Vec<String> = caps.iter().map(|(what, cap)| amount(*what, *cap)).collect();
    let words = format!("run {run} may use at most {}", told.join(", "));
    let value = json!({
        "run": run, "active": asked == Asked::OfCoordinator,
        "max_cost_usd": caps.get(&Capped::Cost).map(|cap| Usd(*cap).dollars()),
        "max_tokens": caps.get(&Capped::Tokens), "max_time_ms": caps.get(&Capped::Time),
        "max_attempts": caps.get(&Capped::Attempts),
    });
    answer_either(args.json, &words, "conductor.caps/1", value)?;
    left::follow_up(&run, asked)
}

/// One that is named may have been left; otherwise the active one here.
fn meant(home: &Home, word: Option<&str>) -> Result<RunId, CliError> {
    match (live::meant(home, word)?, word) {
        (Some(live_view), _) => Ok(live_view.run),
        (None, Some(word)) => block_on(async { Ok(Archive::open().await?.named(word)?.id) }),
        (None, None) => block_on(unnamed(home)),
    }
}

/// Which of the runs that were left is meant would be a guess: it has to be named.
async fn unnamed(home: &Home) -> Result<RunId, CliError> {
    let error = live::inactive(home, None).await;
    Err(match live::newest(None).await {
        Some(run) if !home.is_live(&run) => error
            .help(format!("to change what it may use once it is resumed, name it: `conductor cap {run} …`")),
        _ => error,
    })
}

fn caps(args: &args::Cap) -> BTreeMap<Capped, u64> {
    let each = [
        (Capped::Cost, args.max_cost.map(|dollars| Usd::from_dollars(dollars).0)),
        (Capped::Tokens, args.max_tokens),
        (Capped::Time, args.max_time.map(|time| time.0)),
        (Capped::Attempts, args.max_attempts.map(u64::from)),
    ];
    each.into_iter().filter_map(|(what, cap)| Some((what, cap?))).collect()
}
