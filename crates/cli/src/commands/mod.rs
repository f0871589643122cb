//! One verb, one file.

pub(crate) mod agents;
pub(crate) mod checkpoint;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod cost;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod group;
pub(crate) mod import;
pub(crate) mod init;
mod left;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod orchestrate;
pub(crate) mod overview;
pub(crate) mod plan;
pub(crate) mod prices;
pub(crate) mod reaper;
pub(crate) mod rehearse;
pub(crate) mod report;
pub(crate) mod review;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod status;
pub(crate) mod steer;
pub(crate) mod task;
pub(crate) mod template;
pub(crate) mod validate;
pub(crate) mod version;
pub(crate) mod wait;
pub(crate) mod worktree;

use serde_json::{Value, json};

use crate::console;
use crate::error::CliError;

/// One thread is enough, and spares waking another for every step: the work is done by other processes.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work)
}

/// A notice for the user, on standard error.
pub(crate) fn talk(text: impl std::fmt::Display) {
    if !console::is_quiet() {
        console::say(format_args!("conductor: {text}"));
    }
}

/// An answer on standard output.
fn answer(text: &str) -> Result<(), CliError> {
    match text.ends_with('\n') {
        true => console::answer(text)?,
        false => console::answer(&format!("{text}\n"))?,
    }
    Ok(())
}

/// In words for people; for programs an object under the id of its schema.
fn answer_either(as_json: bool, words: &str, schema: &str, value: Value) -> Result<(), CliError> {
    if !as_json {
        return answer(words);
    }
    let mut object = json!({ "schema": schema });
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), value) {
        object.extend(fields);
    }
    answer_json(&object)
}

fn answer_json(value: &impl serde::Serialize) -> Result<(), CliError> {
    answer(&serde_json::to_string_pretty(value).unwrap_or_default())
}
