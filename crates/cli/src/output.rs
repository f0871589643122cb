//! What is printed: answers and notices, tables, styles, and files that are written in one go.

pub(crate) mod difference;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod width;
pub(crate) mod writing;

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
pub(crate) fn answer(text: &str) -> Result<(), CliError> {
    match text.ends_with('\n') {
        true => console::answer(text)?,
        false => console::answer(&format!("{text}\n"))?,
    }
    Ok(())
}

/// In words for people; for programs an object under the id of its schema.
pub(crate) fn answer_either(as_json: bool, words: &str, schema: &str, value: Value) -> Result<(), CliError> {
    if !as_json {
        return answer(words);
    }
    let mut object = json!({ "schema": schema });
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), value) {
        object.extend(fields);
    }
    answer_json(&object)
}

pub(crate) fn answer_json(value: &impl serde::Serialize) -> Result<(), CliError> {
    answer(&serde_json::to_string_pretty(value).unwrap_or_default())
}
