//! Plugins of the user's own: added after they were shown, and removed.

use std::fs;
use std::io;
use std::path::Path;

use conductor_engine::host::access;
use conductor_engine::plugins::{self, Change, Found, Kind, Place};
use serde_json::json;

use super::{answer_either, misnamed};
use crate::args;
use crate::console;
use crate::error::{CliError, Exit};
use crate::output::writing;
use crate::settings::trust;

const SCHEMA: &str = "conductor.plugin/1";

pub(super) fn add(args: &args::PluginAdd) -> Result<Exit, CliError> {
    let file = args.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (kind, name) = Kind::of_program(file).ok_or_else(|| misnamed(file))?;
    let bytes = fs::read(&args.file).map_err(|error| {
        CliError::new(Exit::Usage, format!("cannot read {}: {error}", args.file.display()))
    })?;
    let folder = plugins::folder_of_user().ok_or_else(|| {
        CliError::new(Exit::Unexpected, "there is no home to keep plugins in").help("set HOME")
    })?;
    let target = Found { kind, name: name.to_owned(), path: folder.join(file), place: Place::User };
    // Shown as what it will be, against what was added before.
    let before = Change::of(target.clone()).ok();
    let shown = Change {
        before: before.and_then(|known| known.before),
        after: bytes.clone(),
        found: Found { path: args.file.clone(), ..target.clone() },
    };
    console::ask(trust::changed_text(&shown));
    agreed(args.yes, &target.program())?;
    access::create_private_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    if fs::canonicalize(&args.file).ok() != fs::canonicalize(&target.path).ok() {
        access::replace(&target.path, &bytes).map_err(|error| unwritable(&target.path, &error))?;
    }
    writing::make_executable(&target.path)?;
    let from = std::path::absolute(&args.file)?;
    plugins::relock(&target, Some(&from))?;
    let words = format!("added {} {}, as it is now: {}", kind.name(), target.name, target.path.display());
    answer_either(args.json, &words, SCHEMA, json!({ "added": target.program(), "path": target.path }))?;
    Ok(Exit::Done)
}

fn agreed(unasked: bool, program: &str) -> Result<(), CliError> {
    if unasked {
        return Ok(());
    }
    if !writing::attended() {
        let message = "this is for you to decide, and there is no terminal to ask on; nothing was added";
        return Err(CliError::new(Exit::Asked, message).help("look at it, then add it with --yes"));
    }
    let question = format!("Add {program} as it is? [y/N] ");
    match writing::ask(&mut io::stdin().lock(), &question)?.to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CliError::new(Exit::Cancelled, "nothing was added")),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    CliError::new(Exit::Unexpected, format!("cannot write {}: {error}", path.display()))
}

pub(super) fn remove(args: &args::PluginRemove) -> Result<Exit, CliError> {
    let whole = Kind::of_program(&args.name);
    let is_meant = |found: &Found| match whole {
        Some((kind, name)) => found.kind == kind && found.name == name,
        None => found.name == args.name,
    };
    let own = plugins::all()?.into_iter().map(|(found, _)| found).filter(|found| found.place == Place::User);
    let found: Vec<Found> = own.filter(is_meant).collect();
    let found = match found.as_slice() {
        [one] => one,
        [] => {
            let message = format!("you have added no plugin '{}'", args.name);
            let help = "`conductor plugin list` shows where each is from; those on PATH are removed as they were installed";
            return Err(CliError::new(Exit::NothingToDo, message).help(help));
        }
        _ => {
            let message = format!("you have more than one plugin '{}'", args.name);
            return Err(CliError::new(Exit::Usage, message).help("give its whole name: conductor-KIND-NAME"));
        }
    };
    fs::remove_file(&found.path).map_err(|error| unwritable(&found.path, &error))?;
    plugins::unlock(found.kind, &found.name)?;
    let words = format!("removed {} {}", found.kind.name(), found.name);
    answer_either(args.json, &words, SCHEMA, json!({ "removed": found.program(), "path": found.path }))?;
    Ok(Exit::Done)
}
