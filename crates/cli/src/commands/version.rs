use conductor_engine::plugins::PROTOCOL;
use conductor_engine::stores::{schema_version, sqlite_version};
use conductor_server::page::Page;
use serde_json::json;

use super::{answer, answer_json, block_on};
use crate::args::Version;
use crate::error::{CliError, Exit};

pub(crate) fn run(args: &Version) -> Result<Exit, CliError> {
    let version = env!("CARGO_PKG_VERSION");
    match args.json {
        true => {
            let sqlite = block_on(async { Ok(sqlite_version().await?) })?;
            answer_json(&json!({
                "schema": "conductor.version/1",
                "version": version,
                "os": std::env::consts::OS,
                "arch": std::env::consts::ARCH,
                "build": if cfg!(debug_assertions) { "debug" } else { "release" },
                "sqlite": sqlite,
                "database_schema": schema_version(),
                "agent_protocol": PROTOCOL,
                "page": Page::find(&std::env::current_exe()?).name(),
            }))?;
        }
        false => answer(&format!("conductor {version}"))?,
    }
    Ok(Exit::Done)
}
