use serde_json::json;

use super::{answer, answer_json};
use crate::args::Version;
use crate::fault::{Exit, Fault};

pub(crate) fn run(args: &Version) -> Result<Exit, Fault> {
    let version = env!("CARGO_PKG_VERSION");
    match args.json {
        true => answer_json(&json!({ "schema": "conductor.version/1", "version": version }))?,
        false => answer(&format!("conductor {version}"))?,
    }
    Ok(Exit::Done)
}
