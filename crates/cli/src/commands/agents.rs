//! `agents`: who there is, and whether they can do what they are for.

mod trial;

use std::path::Path;

use conductor_core::plan::Plan;
use conductor_core::run::costs;
use conductor_core::run::event::Usage;
use conductor_core::values::units::Usd;
use conductor_engine::agents::{Abilities, Entry, Login, roster};
use serde::Serialize;

use super::{answer, answer_json, talk};
use crate::args::{Agents, AgentsList, AgentsTest};
use crate::error::{CliError, Exit};
use crate::output::table::columns;
use crate::settings::diagnostics;
use crate::settings::trust;
use trial::{Result, Trial, Verdict};

const LISTED: &str = "conductor.agents/1";
const TESTED: &str = "conductor.agents-test/1";

pub(crate) fn run(agents: &Agents) -> std::result::Result<Exit, CliError> {
    match agents {
        Agents::List(args) => list(args),
        Agents::Test(args) => test(args),
    }
}

/// What the task file brings along, or else the config files.
fn plan(file: Option<&Path>) -> std::result::Result<Plan, CliError> {
    file.map_or_else(diagnostics::without_file, diagnostics::load)
}

#[derive(Serialize)]
struct Listing {
    schema: &'static str,
    agents: Vec<Entry>,
}

fn list(args: &AgentsList) -> std::result::Result<Exit, CliError> {
    let listing = Listing { schema: LISTED, agents: roster(&plan(args.file.as_deref())?) };
    if args.json {
        answer_json(&listing)?;
        return Ok(Exit::Done);
    }
    let row = |entry: &Entry| {
        let path = entry.path.as_ref().map(|path| path.display().to_string());
        [
            entry.name.clone(),
            entry.version.clone().unwrap_or_else(|| "-".to_owned()),
            login(entry),
            abilities(entry.abilities),
            path.unwrap_or_else(|| format!("{} is not installed", entry.program)),
        ]
    };
    let head = ["AGENT", "VERSION", "LOGGED IN", "CAN", "PROGRAM"];
    answer(&columns(head, listing.agents.iter().map(row).collect()))?;
    Ok(Exit::Done)
}

fn login(entry: &Entry) -> String {
    match (entry.login, &entry.login_by) {
        (Login::Yes, Some(by)) => format!("yes, {by}"),
        (Login::Yes, None) => "yes".to_owned(),
        (Login::No, _) => "no".to_owned(),
        (Login::Unknown, _) => "unknown".to_owned(),
    }
}

fn abilities(can: Abilities) -> String {
    let words = [
        (can.resumes, "resume"),
        (can.asks, "ask"),
        (can.tells_usage, "usage"),
        (can.interrupts, "interrupt"),
        (can.chooses_model, "model"),
        (can.takes_tools, "tools"),
    ];
    let words: Vec<&str> = words.iter().filter(|(able, _)| *able).map(|(_, word)| *word).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(" ") }
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    results: Vec<Result>,
}

fn test(args: &AgentsTest) -> std::result::Result<Exit, CliError> {
    trust::demand(&std::env::current_dir()?)?;
    let plan = plan(args.file.as_deref())?;
    let names = match args.names.is_empty() {
        false => args.names.clone(),
        true => {
            roster(&plan).into_iter().filter(|entry| entry.path.is_some()).map(|entry| entry.name).collect()
        }
    };
    if names.is_empty() {
        return Err(
            CliError::new(Exit::AgentMissing, "no agent is installed").help("see `conductor agents list`")
        );
    }
    let trial = Trial { plan: &plan, model: args.model.as_deref(), timeout: args.timeout };
    if !args.json {
        talk(format!("testing {}", names.join(", ")));
    }
    let results = trial.hold(&names)?;
    let exit = exit(&results);
    let report = Report { schema: TESTED, results };
    match args.json {
        true => answer_json(&report)?,
        false => answer(&table(&report.results))?,
    }
    Ok(exit)
}

fn table(results: &[Result]) -> String {
    let row = |result: &Result| {
        [
            result.agent.clone(),
            result.verdict.word().to_owned(),
            format!("{:.1}s", result.seconds),
            result.tokens.to_string(),
            result.cost_usd.map_or("unknown".to_owned(), |cost| {
                costs::words(Usage { cost: Usd::from_dollars(cost), ..Usage::default() })
            }),
            result.message.clone().unwrap_or_default(),
        ]
    };
    columns(["AGENT", "RESULT", "TIME", "TOKENS", "COST", ""], results.iter().map(row).collect())
}

/// A missing agent decides the exit code before a failed one.
fn exit(results: &[Result]) -> Exit {
    let any = |verdicts: &[Verdict]| results.iter().any(|result| verdicts.contains(&result.verdict));
    match () {
        () if any(&[Verdict::Missing, Verdict::NotLoggedIn]) => Exit::AgentMissing,
        () if any(&[Verdict::Failed]) => Exit::TaskFailed,
        () => Exit::Done,
    }
}
