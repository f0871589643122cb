//! One verb, one file.

pub(crate) mod graph;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod validate;
pub(crate) mod version;

use std::io::Write as _;

use crate::fault::Fault;

/// An answer on standard output.
fn answer(text: &str) -> Result<(), Fault> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn answer_json(value: &impl serde::Serialize) -> Result<(), Fault> {
    answer(&serde_json::to_string_pretty(value).unwrap_or_default())
}
