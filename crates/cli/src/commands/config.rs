//! `conductor config`: every setting, and where its value comes from.

use std::path::Path;

use conductor_core::file::{self, Written, effective};
use conductor_core::plan::{Task, Work};
use conductor_core::values::ids::TaskId;
use conductor_engine::host::redact::is_secret_name;
use serde::Serialize;
use serde_json::{Value, json};

use super::{answer, answer_json};
use crate::args::{self, ConfigShow};
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::table::columns;
use crate::settings::config::{self, Config, Of};
use crate::settings::diagnostics;
use crate::settings::variables;

pub(crate) fn run(config: &args::Config) -> Result<Exit, CliError> {
    match config {
        args::Config::Show(args) => show(args),
        args::Config::Path(args) => path(args.json),
    }
}

#[derive(Debug, Serialize)]
struct Setting {
    key: String,
    value: Value,
    from: Origin,
}

#[derive(Debug, Serialize)]
struct Origin {
    /// `environment`, `file`, `repository`, `user` or `built_in`.
    by: &'static str,
    /// The variable or the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

impl Origin {
    fn built_in() -> Origin {
        Origin { by: "built_in", name: None, line: None }
    }

    fn text(&self) -> String {
        match (&self.name, self.line) {
            (Some(name), Some(line)) => format!("{name}:{line}"),
            (Some(name), None) => name.clone(),
            _ => "built in".to_owned(),
        }
    }
}

fn show(args: &ConfigShow) -> Result<Exit, CliError> {
    variables::warn_of_unknown();
    let configs = config::good()?;
    let file = args.file.as_deref().map(file_settings).transpose()?;
    let settings = settings(&configs, file.as_ref());
    if args.json {
        answer_json(&json!({ "schema": "conductor.config/1", "settings": settings }))?;
        return Ok(Exit::Done);
    }
    let row = |setting: &Setting| [setting.key.clone(), shown(&setting.value)];
    let told = match args.origin {
        true => columns(
            ["SETTING", "VALUE", "FROM"],
            settings
                .iter()
                .map(|setting| {
                    let [key, value] = row(setting);
                    [key, value, setting.from.text()]
                })
                .collect(),
        ),
        false => columns(["SETTING", "VALUE"], settings.iter().map(row).collect()),
    };
    answer(&told)?;
    Ok(Exit::Done)
}

/// A task file's own settings, and its name.
fn file_settings(path: &Path) -> Result<(String, Vec<Written>), CliError> {
    let (plan, findings) = diagnostics::check(path)?;
    findings.show();
    match (plan, findings.source()) {
        (Some(_), Some(source)) => Ok((source.name().to_owned(), file::written_in_file(source))),
        _ => Err(findings.cli_error()),
    }
}

fn settings<'c>(configs: &'c [Config], file: Option<&'c (String, Vec<Written>)>) -> Vec<Setting> {
    let mut layers: Vec<&[Written]> = Vec::new();
    let mut names: Vec<(&'static str, &str)> = Vec::new();
    let (environment, files): (Vec<&Config>, Vec<&Config>) =
        configs.iter().partition(|config| config.place.of == Of::Environment);
    let written = |config: &&'c Config| config.layer.as_ref().map(file::Layer::written).unwrap_or_default();
    let named = |config: &&'c Config| (config.place.of.name(), config.place.name.as_str());
    layers.extend(environment.iter().map(written));
    names.extend(environment.iter().map(named));
    if let Some((name, written)) = file {
        layers.push(written);
        names.push(("file", name));
    }
    layers.extend(files.iter().map(written));
    names.extend(files.iter().map(named));
    let mut settings: Vec<Setting> = effective(&layers)
        .into_iter()
        .map(|(key, found)| {
            let (by, name) = names[found.layer];
            let from = match variables::of_setting(key).filter(|_| by == Of::Environment.name()) {
                Some(variable) => Origin { by, name: Some(variable.to_owned()), line: None },
                None => Origin { by, name: Some(name.to_owned()), line: Some(found.written.line) },
            };
            Setting { key: key.to_owned(), value: veiled(key, &found.written.value), from }
        })
        .collect();
    settle_parallel(&mut settings, configs);
    for (key, variable) in variables::BEFORE.into_iter().chain(variables::OF_OPTIONS) {
        if let Ok(value) = std::env::var(variable) {
            let from = Origin { by: "environment", name: Some(variable.to_owned()), line: None };
            put(&mut settings, Setting { key: key.to_owned(), value: json!(value), from });
        }
    }
    for (key, value) in built_in() {
        if settings.iter().all(|setting| setting.key != key) {
            settings.push(Setting { key, value, from: Origin::built_in() });
        }
    }
    settings.sort_by(|a, b| a.key.cmp(&b.key));
    settings
}

fn put(settings: &mut Vec<Setting>, setting: Setting) {
    settings.retain(|known| known.key != setting.key);
    settings.push(setting);
}

/// `execution` is another way to say `parallel`; whichever is said by the stronger file counts.
fn settle_parallel(settings: &mut Vec<Setting>, configs: &[Config]) {
    let says = |config: &&Config| {
        let written = config.layer.as_ref().map(file::Layer::written).unwrap_or_default();
        let told = |key: &str| written.iter().find(|one| one.key == key);
        ["parallel", "execution.parallel_mode", "execution.max_parallel_tasks"]
            .into_iter()
            .any(|key| told(key).is_some())
    };
    let layers: Vec<file::Layer> = configs.iter().filter_map(|config| config.layer.clone()).collect();
    let (Some(config), Some(slots)) = (configs.iter().find(says), file::plan_without_tasks(&layers).parallel)
    else {
        return;
    };
    let written = config.layer.as_ref().map(file::Layer::written).unwrap_or_default();
    let by_itself = written.iter().find(|one| one.key == "parallel");
    let by_execution = written.iter().find(|one| one.key.starts_with("execution."));
    let line = by_itself.or(by_execution).map(|one| one.line);
    let from = Origin { by: config.place.of.name(), name: Some(config.place.name.clone()), line };
    put(settings, Setting { key: "parallel".to_owned(), value: json!(slots), from });
}

/// What a variable could give away is not shown.
fn veiled(key: &str, value: &Value) -> Value {
    match key.strip_prefix("env.") {
        Some(name) if is_secret_name(name) => json!("***"),
        _ => value.clone(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        Value::Null => "-".to_owned(),
        value => one_line(&value.to_string()),
    }
}

/// The defaults.
fn built_in() -> Vec<(String, Value)> {
    let Ok(id) = TaskId::parse("x") else { return Vec::new() };
    let task = Task::new(id, Work::Prompt(String::new()));
    let retry = task.retry;
    let pairs = [
        ("parallel", json!(1)),
        ("strategy", json!("queue")),
        ("isolation", json!("worktree; none outside of git")),
        ("sandbox", json!("prefer; off for commands")),
        ("network", json!("full")),
        ("merge", json!("none")),
        ("conflict_monitor", json!("15s")),
        ("answer_within", json!("for ever on a terminal, else 10m")),
        ("ui", json!("auto")),
        ("heartbeat", json!("60s")),
        ("agent", json!(task.agent_name())),
        ("priority", json!(task.priority.name())),
        ("fix_rounds", json!(task.fix_rounds)),
        ("check_base", json!(task.checks_base())),
        ("gate_proof", json!(task.gate_proof)),
        ("review", json!(task.review.is_some())),
        ("measure", json!(task.measure.is_some())),
        ("merge_strategy", json!(task.merge_strategy)),
        ("on_conflict", json!(task.on_conflict)),
        ("land", json!(task.land)),
        ("changes", json!("required; optional for commands")),
        ("retry_policy.max_attempts", json!(format!("{}; 1 for commands", retry.max_attempts))),
        ("retry_policy.initial_delay", json!(retry.initial_delay.to_string())),
        ("retry_policy.backoff_factor", json!(retry.backoff_factor)),
        ("retry_policy.max_delay", json!(retry.max_delay.to_string())),
        ("retry_policy.jitter", json!(retry.jitter)),
        ("recovery.transient", json!("retry; alternative first for an agent's own failures")),
        ("recovery.permanent", json!("fail; alternative first for an agent's own failures")),
        ("recovery.ambiguous", json!("retry")),
        ("limits.max_cost", Value::Null),
        ("limits.max_tokens", Value::Null),
        ("limits.max_time", Value::Null),
        ("limits.max_attempts", Value::Null),
        ("limits.on_budget", json!("stop")),
        ("limits.outage_patience", json!("1h")),
        ("limits.orphan_grace", json!("1m")),
        ("limits.follow_ups", json!(0)),
        ("timeout", Value::Null),
        ("max_cost", Value::Null),
        ("max_tokens", Value::Null),
        ("max_subagent_cost", Value::Null),
        ("max_turns", Value::Null),
        ("verify", json!([])),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn path(as_json: bool) -> Result<Exit, CliError> {
    let places = config::places()?;
    let is_there = |place: &config::Place| place.path.is_file();
    if as_json {
        let told = places
            .iter()
            .map(|place| json!({ "path": place.path, "of": place.of.name(), "exists": is_there(place) }));
        answer_json(&json!({ "schema": "conductor.config-path/1", "files": told.collect::<Vec<_>>() }))?;
        return Ok(Exit::Done);
    }
    let row = |place: &config::Place| {
        let whose = match place.of {
            Of::Environment => "the environment's",
            Of::Repository => "of this repository",
            Of::User => "yours",
        };
        let there = if is_there(place) { "" } else { " (not there)" };
        [whose.to_owned(), format!("{}{there}", place.path.display())]
    };
    answer(&columns(["WHOSE", "FILE"], places.iter().map(row).collect()))?;
    Ok(Exit::Done)
}
