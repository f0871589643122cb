//! `conductor plugin verify`: a verifier asked about the files here, by a user or as a check of a run. In a run this process is
//! part of the attempt, so that it and the plugin end with it.

use std::time::Duration;

use conductor_core::run::event::{Finding, Level};
use conductor_core::values::counted::counted;
use conductor_engine::agents::Caller;
use conductor_engine::host::access;
use conductor_engine::plugins::{self, Environment, Kind, Limits, Verdict};
use serde_json::json;

use super::answer_either;
use crate::args;
use crate::error::{CliError, Exit};
use crate::settings::trust;

/// Where a run asks, its own variables are no business of the plugin.
const OURS: [&str; 2] = ["CONDUCTOR_HOME", "CONDUCTOR_TRUST"];

pub(super) fn verify(args: &args::PluginVerify) -> Result<Exit, CliError> {
    if let Some(root) = &args.root {
        trust::plugins_of(root);
    }
    let found = plugins::find(Kind::Verifier, &args.name)?;
    let limits = Limits { answer: Duration::from_millis(args.timeout.0), ..Limits::default() };
    let directory = std::env::current_dir()?;
    let about = (args.task.as_deref(), args.arguments.as_slice());
    let verdict = plugins::verify(&found, &environment(args.findings.is_some()), &directory, about, limits)?;
    if let Some(file) = &args.findings {
        let text = serde_json::to_vec(&verdict.findings).unwrap_or_default();
        access::write(file, text).map_err(|error| {
            CliError::new(Exit::Unexpected, format!("cannot write {}: {error}", file.display()))
        })?;
    }
    let value = json!({
        "verifier": found.name, "version": verdict.version, "passed": verdict.passed,
        "findings": verdict.findings, "more": verdict.more,
    });
    let words = if args.json { String::new() } else { text(&found.name, &verdict) };
    answer_either(args.json, &words, "conductor.findings/1", value)?;
    Ok(if verdict.passed { Exit::Done } else { Exit::TaskFailed })
}

/// In a run the environment is the task's already.
fn environment(in_a_run: bool) -> Environment {
    match in_a_run {
        true => std::env::vars_os().filter(|(name, _)| !OURS.iter().any(|ours| name == ours)).collect(),
        false => Caller::new(std::env::vars_os()).for_plugins(),
    }
}

fn text(name: &str, verdict: &Verdict) -> String {
    let count = |level: Level| verdict.findings.iter().filter(|one| one.level == level).count();
    let line = |one: &Finding| format!("{one}\n");
    let more = match verdict.more {
        0 => String::new(),
        more => format!("… and {more} more\n"),
    };
    let word = if verdict.passed { "passed" } else { "failed" };
    let figures =
        format!("{}, {}", counted(count(Level::Error), "error"), counted(count(Level::Warning), "warning"));
    verdict.findings.iter().map(line).collect::<String>()
        + &format!("{more}{name} {}: {word}, {figures}\n", verdict.version)
}
