//! `conductor sync`: runs and what a project has taught, carried to other machines.

mod claiming;
mod pulling;
mod pushing;
mod showing;
mod taking_up;

use std::path::PathBuf;

use conductor_core::values::ids::RunId;
use conductor_engine::host::home::Home;
use conductor_engine::sync::{Address, Remote, SyncError, make_key};
use serde_json::{Value, json};

use super::{answer_either, block_on, talk};
use crate::args::{self, SyncKey};
use crate::console;
use crate::error::{CliError, Exit};
use crate::settings::syncing::{self, Configured};

pub(crate) use taking_up::take_up;

pub(crate) fn run(args: &args::Sync) -> Result<Exit, CliError> {
    use args::Sync as S;
    match args {
        S::Push(args) => block_on(pushing::push(args)),
        S::Pull(args) => block_on(pulling::pull(args)),
        S::Status(args) => block_on(showing::status(args)),
        S::Claim(args) => block_on(claiming::claim(args)),
        S::Release(args) => block_on(claiming::release(args)),
        S::Forget(args) => block_on(claiming::forget(args)),
        S::Key(args) => key(args),
    }
}

fn here() -> Result<PathBuf, CliError> {
    Ok(std::env::current_dir()?)
}

/// The remote that is named, or else configured.
fn remote(
    home: &Home,
    named: Option<&str>,
    change: impl FnOnce(&mut Configured),
) -> Result<Remote, CliError> {
    let mut configured = syncing::configured(home)?;
    change(&mut configured);
    let Some(name) = named.or(configured.remote.as_deref()) else {
        return Err(CliError::new(Exit::Usage, "nothing says where runs are pushed to").help(format!(
            "name a git remote or a directory with --to, --from or --remote; or once for all, in {}: sync: {{ remote: … }}",
            home.root().join("config.yaml").display()
        )));
    };
    // Only what the config itself names may be a remote of code.
    if named.is_some_and(|named| configured.remote.as_deref() != Some(named)) {
        configured.settings.code_remote = false;
    }
    let address = Address::of(name, &here()?)?;
    Ok(Remote::open(home, address, configured.settings)?)
}

fn key(args: &SyncKey) -> Result<Exit, CliError> {
    let home = Home::open()?;
    let path = syncing::configured(&home)?.settings.identity;
    let (key, is_new) = make_key(&path)?;
    let public = key.public();
    if is_new {
        talk(format!(
            "made {}; keep a copy of it: without it, what was encrypted for it cannot be read",
            path.display()
        ));
    }
    let value = json!({ "public": public, "path": path, "made": is_new });
    answer_either(args.json, &public.join("\n"), "conductor.sync-key/1", value)?;
    Ok(Exit::Done)
}

/// One of several that could not be done: told, and not in the way of the others.
fn tell_refused(run: &RunId, error: &SyncError) {
    tell(&with_run(run, error), error);
}

/// What a project has taught could not be carried.
fn tell_items(error: &SyncError) -> Value {
    let told = format!("expertise: {error}");
    tell(&told, error);
    json!({ "run": null, "error": told, "remedy": error.remedy() })
}

fn tell(told: &str, error: &SyncError) {
    console::say(format_args!("\x1b[1;31merror\x1b[0m: {told}"));
    if let Some(remedy) = error.remedy() {
        console::say(format_args!("\x1b[1;36mhelp\x1b[0m: {remedy}"));
    }
}

fn with_run(run: &RunId, error: &SyncError) -> String {
    let told = error.to_string();
    if told.contains(run.as_str()) { told } else { format!("run {run}: {told}") }
}

fn problem(run: &RunId, error: &SyncError) -> Value {
    json!({ "run": run, "error": with_run(run, error), "remedy": error.remedy() })
}

/// As in a table for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

impl From<SyncError> for CliError {
    fn from(error: SyncError) -> CliError {
        let exit = match &error {
            SyncError::NoPlace(_)
            | SyncError::OfCode { .. }
            | SyncError::BadRecipient(_)
            | SyncError::NotSynced(_)
            | SyncError::Unnamed { .. }
            | SyncError::NotThere(_) => Exit::Usage,
            SyncError::NoKey(_)
            | SyncError::NoRecipient
            | SyncError::NotForUs { .. }
            | SyncError::BadKey { .. }
            | SyncError::OpenKey(_) => Exit::AgentMissing,
            SyncError::Active(_) | SyncError::AgentsAtWork(_) => Exit::StillRunning,
            SyncError::CodeMissing { .. } | SyncError::NoDirectory { .. } => Exit::InvalidFile,
            _ => Exit::Unexpected,
        };
        let remedy = error.remedy();
        let cli_error = match error {
            SyncError::Home(error) => error.into(),
            SyncError::Store(error) => error.into(),
            error => CliError::new(exit, error),
        };
        remedy.into_iter().fold(cli_error, CliError::help)
    }
}
