//! What Conductor logs about itself: which lines go to standard error, and the files of the runs this process drives.

use std::ffi::OsString;
use std::sync::{LazyLock, OnceLock};

use clap::ValueEnum as _;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Millis;
use conductor_engine::host::logs::{Console, Format, LogFiles, Logs, OpenLog, Wanted};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::args::{self, Global, LogFormat, LogLevel};
use crate::console;
use crate::error::{CliError, Exit};
use crate::output::talk;
use crate::settings::variables::{LOG, LOG_FORMAT};

/// With `-vv`.
const DETAILS: &str = "debug";

static FILES: LazyLock<LogFiles> = LazyLock::new(LogFiles::default);
static SHOWN: OnceLock<Shown> = OnceLock::new();

/// What was asked for, and how it is said.
#[derive(Debug)]
struct Shown {
    level: Option<LogLevel>,
    format: Option<LogFormat>,
}

/// From now on everything that is logged goes where it belongs. Without a wish, nothing is printed.
pub(crate) fn begin(global: &Global) -> Result<(), CliError> {
    let level = match (&global.log_level, set(LOG)) {
        (Some(level), _) => Some(level.clone()),
        (None, Some(said)) => Some(args::log_level(&said).map_err(|error| refused(LOG, error))?),
        (None, None) if global.verbose > 1 => args::log_level(DETAILS).ok(),
        (None, None) => None,
    };
    let format = match (global.log_format, set(LOG_FORMAT)) {
        (Some(format), _) => Some(format),
        (None, Some(said)) => {
            let format = LogFormat::from_str(&said, true);
            Some(format.map_err(|_| refused(LOG_FORMAT, format!("'{said}' is neither text nor json")))?)
        }
        (None, None) => None,
    };
    let wanted = level.as_ref().map_or_else(Wanted::default, |level| level.wanted.clone());
    let call = (global.verbose > 0).then_some(tell_call as fn(&str, u64, bool));
    let console = Console { wanted, say: |line| console::say(line), call };
    let logs = Logs::new(FILES.clone(), format.map_or(Format::Text, written), console);
    // A command that carries out another one does not begin again.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(logs));
    let _ = SHOWN.set(Shown { level, format });
    Ok(())
}

fn set(variable: &str) -> Option<String> {
    let value: OsString = std::env::var_os(variable).filter(|value| !value.is_empty())?;
    Some(value.to_string_lossy().into_owned())
}

fn refused(variable: &str, why: impl std::fmt::Display) -> CliError {
    CliError::new(Exit::Usage, format!("the variable {variable}: {why}"))
}

fn written(format: LogFormat) -> Format {
    match format {
        LogFormat::Text => Format::Text,
        LogFormat::Json => Format::Json,
    }
}

fn tell_call(words: &str, took: u64, succeeded: bool) {
    let how = if succeeded { "" } else { ", failed" };
    talk(format!("git {words} ({}{how})", Millis(took)));
}

/// Whether lines may come at any time, between all else.
pub(crate) fn is_shown() -> bool {
    let level = SHOWN.get().and_then(|shown| shown.level.as_ref());
    level.is_some_and(|level| !level.wanted.is_nothing())
}

/// The same options, for this program started by itself.
pub(crate) fn handed_on() -> Vec<String> {
    let Some(Shown { level, format }) = SHOWN.get() else { return Vec::new() };
    let level = level.as_ref().map(|level| format!("--log-level={}", level.said));
    let format = format.and_then(|format| format.to_possible_value());
    let format = format.map(|format| format!("--log-format={}", format.get_name()));
    level.into_iter().chain(format).collect()
}

/// What is logged about this run from now on is kept for its file.
pub(crate) fn of_run(run: &RunId) -> OpenLog {
    FILES.begin(run)
}
