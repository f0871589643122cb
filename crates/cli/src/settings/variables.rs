//! `CONDUCTOR_…` variables: a setting each, stronger than tasks and their file, weaker than an option.
//!
//! Those that `run` has an option for are read with it. All others are put down as a config file would have them, and
//! read as one, so that they are checked alike.

use std::path::PathBuf;

use conductor_core::file::{self, Source};
use conductor_core::values::suggest::did_you_mean;
use conductor_engine::host::home::STORE;
use serde_json::Value;

use crate::output::talk;
use crate::settings::config::{Config, Of, Place};
use crate::settings::diagnostics::Sheet;

/// The variable by which a shell's script asks; its value is the shell's name.
pub(crate) const COMPLETE: &str = "CONDUCTOR_COMPLETE";

/// What is logged on standard error, and in which form; for every command.
pub(crate) const LOG: &str = "CONDUCTOR_LOG";
pub(crate) const LOG_FORMAT: &str = "CONDUCTOR_LOG_FORMAT";

/// What is set where an option of `run` can set it too.
pub(crate) const OF_OPTIONS: [(&str, &str); 18] = [
    ("parallel", "CONDUCTOR_PARALLEL"),
    ("strategy", "CONDUCTOR_STRATEGY"),
    ("isolation", "CONDUCTOR_ISOLATION"),
    ("sandbox", "CONDUCTOR_SANDBOX"),
    ("network", "CONDUCTOR_NETWORK"),
    ("land", "CONDUCTOR_LAND"),
    ("merge", "CONDUCTOR_MERGE"),
    ("conflict_monitor", "CONDUCTOR_CONFLICT_MONITOR"),
    ("answer_within", "CONDUCTOR_ANSWER_WITHIN"),
    ("ui", "CONDUCTOR_UI"),
    ("heartbeat", "CONDUCTOR_HEARTBEAT"),
    ("metrics_file", "CONDUCTOR_METRICS_FILE"),
    ("limits.max_cost", "CONDUCTOR_MAX_COST"),
    ("limits.max_tokens", "CONDUCTOR_MAX_TOKENS"),
    ("limits.max_time", "CONDUCTOR_MAX_TIME"),
    ("limits.max_attempts", "CONDUCTOR_MAX_ATTEMPTS"),
    ("limits.outage_patience", "CONDUCTOR_OUTAGE_PATIENCE"),
    ("limits.orphan_grace", "CONDUCTOR_ORPHAN_GRACE"),
];

/// Names from before, which still work where the new one is not set.
pub(crate) const BEFORE: [(&str, &str); 1] = [("conflict_monitor", "CONDUCTOR_LOOKOUT")];

/// What is set for tasks and their file. Keys of one section stand together.
const OF_TASKS: [(&str, &str); 42] = [
    ("agent", "CONDUCTOR_AGENT"),
    ("agent_home", "CONDUCTOR_AGENT_HOME"),
    ("fallback_agents", "CONDUCTOR_FALLBACK_AGENTS"),
    ("fallback_models", "CONDUCTOR_FALLBACK_MODELS"),
    ("model", "CONDUCTOR_MODEL"),
    ("priority", "CONDUCTOR_PRIORITY"),
    ("expertise", "CONDUCTOR_EXPERTISE"),
    ("preempt", "CONDUCTOR_PREEMPT"),
    ("speculate", "CONDUCTOR_SPECULATE"),
    ("report", "CONDUCTOR_REPORT"),
    ("setup", "CONDUCTOR_SETUP"),
    ("keep", "CONDUCTOR_KEEP"),
    ("verify", "CONDUCTOR_VERIFY"),
    ("fix_rounds", "CONDUCTOR_FIX_ROUNDS"),
    ("check_base", "CONDUCTOR_CHECK_BASE"),
    ("gate_proof", "CONDUCTOR_GATE_PROOF"),
    ("review", "CONDUCTOR_REVIEW"),
    ("measure", "CONDUCTOR_MEASURE"),
    ("merge_strategy", "CONDUCTOR_MERGE_STRATEGY"),
    ("on_conflict", "CONDUCTOR_ON_CONFLICT"),
    ("changes", "CONDUCTOR_CHANGES"),
    ("timeout", "CONDUCTOR_TIMEOUT"),
    ("env_pass", "CONDUCTOR_ENV_PASS"),
    // Without the word, these are the whole run's.
    ("max_cost", "CONDUCTOR_TASK_MAX_COST"),
    ("max_tokens", "CONDUCTOR_TASK_MAX_TOKENS"),
    ("max_subagent_cost", "CONDUCTOR_MAX_SUBAGENT_COST"),
    ("max_turns", "CONDUCTOR_MAX_TURNS"),
    ("isolation_scope", "CONDUCTOR_ISOLATION_SCOPE"),
    ("epic_landing", "CONDUCTOR_EPIC_LANDING"),
    ("workspace_path", "CONDUCTOR_WORKSPACE_PATH"),
    ("retry_policy.max_attempts", "CONDUCTOR_RETRY_MAX_ATTEMPTS"),
    ("retry_policy.initial_delay", "CONDUCTOR_RETRY_INITIAL_DELAY"),
    ("retry_policy.backoff_factor", "CONDUCTOR_RETRY_BACKOFF_FACTOR"),
    ("retry_policy.max_delay", "CONDUCTOR_RETRY_MAX_DELAY"),
    ("retry_policy.jitter", "CONDUCTOR_RETRY_JITTER"),
    ("recovery.transient", "CONDUCTOR_RECOVERY_TRANSIENT"),
    ("recovery.permanent", "CONDUCTOR_RECOVERY_PERMANENT"),
    ("recovery.ambiguous", "CONDUCTOR_RECOVERY_AMBIGUOUS"),
    ("limits.on_budget", "CONDUCTOR_ON_BUDGET"),
    ("limits.follow_ups", "CONDUCTOR_FOLLOW_UPS"),
    ("limits.approve_follow_ups", "CONDUCTOR_APPROVE_FOLLOW_UPS"),
    ("estimate", "CONDUCTOR_ESTIMATE"),
];

/// What is no setting: places, and what we tell agents and our own processes.
const OTHERS: [&str; 32] = [
    "CONDUCTOR_HOME",
    "CONDUCTOR_QUEUE",
    "CONDUCTOR_QUEUE_PLAIN",
    "CONDUCTOR_QUEUE_PASSWORD",
    "CONDUCTOR_GIT",
    "CONDUCTOR_WORKER_TOKEN",
    STORE,
    "CONDUCTOR_STORE_PLAIN",
    "CONDUCTOR_PAGER",
    crate::settings::trust::VARIABLE,
    LOG,
    LOG_FORMAT,
    "CONDUCTOR_RUN",
    "CONDUCTOR_RUN_FOLDER",
    "CONDUCTOR_TASK",
    "CONDUCTOR_ATTEMPT",
    "CONDUCTOR_ROUND",
    "CONDUCTOR_FEEDBACK",
    "CONDUCTOR_COORDINATOR",
    "CONDUCTOR_TALKS",
    "CONDUCTOR_OWN",
    "CONDUCTOR_PORT",
    "CONDUCTOR_PORTS",
    "CONDUCTOR_TOOLS_URL",
    "CONDUCTOR_TOOLS_TOKEN",
    "CONDUCTOR_FILTER_TIMEOUT",
    "CONDUCTOR_SHIM",
    "CONDUCTOR_CLOUD_POLL",
    "CONDUCTOR_FORGE_POLL",
    "CONDUCTOR_AGENTS_CACHE",
    "CONDUCTOR_AGENTS_REQUIRED",
    COMPLETE,
];

/// The variable that sets this for tasks.
pub(crate) fn of_setting(key: &str) -> Option<&'static str> {
    OF_TASKS.iter().find(|(known, _)| *known == key).map(|(_, variable)| *variable)
}

/// Every variable that sets something.
pub(crate) fn of_settings() -> impl Iterator<Item = &'static str> {
    OF_OPTIONS.iter().chain(&BEFORE).chain(&OF_TASKS).map(|(_, variable)| *variable)
}

/// A variable that is not ours, as other programs have it too. An empty one is not set.
pub(crate) fn standard(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// What is set for tasks and their file, as a config file would say it; nothing where nothing is.
pub(crate) fn config() -> Option<Config> {
    let value = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    let set = OF_TASKS.iter().filter_map(|(key, variable)| {
        Some((*key, *variable, value(variable)?.to_string_lossy().into_owned()))
    });
    let text = as_config(set);
    if text.is_empty() {
        return None;
    }
    let name = "the environment".to_owned();
    let place = Place { path: PathBuf::new(), name: name.clone(), of: Of::Environment };
    let source = match Source::new(name.clone(), text.into_bytes()) {
        Ok(source) => source,
        Err(found) => {
            return Some(Config {
                place,
                layer: None,
                sheet: Sheet { source: None, name, found: vec![found] },
            });
        }
    };
    let (layer, found) = match file::layer(&source) {
        Ok((layer, found)) => (Some(layer.over_tasks()), found),
        Err(found) => (None, found),
    };
    Some(Config { place, layer, sheet: Sheet { source: Some(source), name, found } })
}

/// A line for each, with its variable beside it: that is what is shown where something is wrong with it.
fn as_config<'s>(set: impl Iterator<Item = (&'s str, &'s str, String)>) -> String {
    let (mut text, mut section) = (String::new(), None);
    for (key, variable, value) in set {
        let (of, key) = key.split_once('.').map_or((None, key), |(of, key)| (Some(of), key));
        if section != of {
            text += &of.map(|of| format!("{of}:\n")).unwrap_or_default();
            section = of;
        }
        let indent = if of.is_some() { "  " } else { "" };
        text += &format!("{indent}{key}: {} # {variable}\n", written(&value));
    }
    text
}

/// Numbers, flags and lists as they are, anything else as text, whatever is in it.
fn written(value: &str) -> String {
    match serde_json::from_str::<Value>(value.trim()) {
        Ok(plain @ (Value::Number(_) | Value::Bool(_) | Value::Array(_))) => plain.to_string(),
        _ => Value::from(value).to_string(),
    }
}

/// Names that mean nothing are most likely mistyped.
pub(crate) fn warn_of_unknown() {
    let known: Vec<&str> = of_settings().chain(OTHERS).collect();
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut unknown: Vec<String> =
        set.filter(|name| name.starts_with("CONDUCTOR_") && !known.contains(&name.as_str())).collect();
    unknown.sort();
    for name in unknown {
        let meant = did_you_mean(&name, known.iter().copied());
        let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
        talk(format!("the variable {name} is set and has no effect{meant}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_put_down_as_a_config_file_would_say_it() {
        let set = [
            ("agent", "A", "codex # not a remark"),
            ("verify", "B", "[\"make\", \"make test\"]"),
            ("fix_rounds", "C", " 2 "),
            ("review", "D", "true"),
            ("retry_policy.max_attempts", "E", "3"),
            ("retry_policy.max_delay", "F", "1m\nx: y"),
            ("limits.on_budget", "G", "finish"),
        ];
        let text = as_config(set.into_iter().map(|(key, variable, value)| (key, variable, value.to_owned())));
        assert_eq!(
            text,
            "agent: \"codex # not a remark\" # A\nverify: [\"make\",\"make test\"] # B\nfix_rounds: 2 # C\nreview: true # D\n\
             retry_policy:\n  max_attempts: 3 # E\n  max_delay: \"1m\\nx: y\" # F\nlimits:\n  on_budget: \"finish\" # G\n"
        );
    }

    /// The guide names each of them, and none that is not there.
    #[test]
    fn the_table_in_the_guide_is_whole() {
        let guide = include_str!("../../../../docs/guide.md");
        let table = guide.split("### Variables").nth(1).unwrap();
        let rows =
            table.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
        let words = rows.flat_map(|row| row.rsplit(" | ").next().unwrap().split('`').skip(1).step_by(2));
        let mut named: Vec<String> = words
            .map(|word| match word.starts_with('_') {
                true => format!("CONDUCTOR{word}"),
                false => word.to_owned(),
            })
            .collect();
        let own = OF_OPTIONS.iter().chain(&OF_TASKS).map(|(_, variable)| *variable);
        let mut known: Vec<&str> = own
            .chain(["CONDUCTOR_HOME", STORE, LOG, LOG_FORMAT])
            .chain(["CONDUCTOR_QUEUE", "CONDUCTOR_QUEUE_PASSWORD", "CONDUCTOR_GIT", "CONDUCTOR_WORKER_TOKEN"])
            .collect();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
    }

    /// A section that stood in two places would be a key that stands twice.
    #[test]
    fn keys_of_a_section_stand_together_and_no_variable_stands_twice() {
        let mut sections: Vec<&str> =
            OF_TASKS.iter().filter_map(|(key, _)| key.split_once('.')).map(|(of, _)| of).collect();
        sections.dedup();
        assert_eq!(sections, ["retry_policy", "recovery", "limits"]);
        let mut names: Vec<&str> = of_settings().chain(OTHERS).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
