//! `conductor trust`: what a repository's config and plugins would run, shown; and the user's word that they may.

use std::io;

use conductor_core::values::counted::counted;
use conductor_engine::agents::subagents;
use conductor_engine::host::home::Home;
use conductor_engine::host::trust::{self, Trusted};
use serde_json::json;

use super::{answer, answer_either};
use crate::args;
use crate::console;
use crate::error::{CliError, Exit};
use crate::output::table::columns;
use crate::output::writing;
use crate::settings::trust::Standing;

const SCHEMA: &str = "conductor.trust/1";

pub(crate) fn run(args: &args::Trust) -> Result<Exit, CliError> {
    if args.list {
        return list(args.json);
    }
    let standing = Standing::of(&subagents::root(&std::env::current_dir()?))?;
    if args.revoke {
        return revoke(&standing, args.json);
    }
    if standing.parts.is_empty() {
        let words = format!("nothing in {} needs your trust", standing.root.display());
        answer_either(args.json, &words, SCHEMA, state(&standing, false))?;
        return Ok(Exit::Done);
    }
    let known = !standing.parts.iter().any(|part| standing.is_new(part));
    if args.show {
        let words = format!("{}hash: {}\n", standing.text(), standing.hash());
        answer_either(args.json, &words, SCHEMA, state(&standing, known))?;
        return Ok(Exit::Done);
    }
    if !known {
        console::ask(standing.text());
        agreed(&standing, args.yes)?;
        standing.record()?;
    }
    let words = format!(
        "{} is trusted with {}, until a byte of it changes\nfor CI: --trust {}",
        standing.root.display(),
        counted(standing.parts.len(), "file"),
        standing.hash()
    );
    answer_either(args.json, &words, SCHEMA, state(&standing, true))?;
    Ok(Exit::Done)
}

fn agreed(standing: &Standing, unasked: bool) -> Result<(), CliError> {
    if unasked {
        return Ok(());
    }
    if !writing::attended() {
        let message = "this is for you to decide, and there is no terminal to ask on; nothing was trusted";
        let help = format!("conductor trust --yes, or for this one command: --trust {}", standing.hash());
        return Err(CliError::new(Exit::Asked, message).help(help));
    }
    let question = format!("Trust {} with it? [y/N] ", standing.root.display());
    match writing::ask(&mut io::stdin().lock(), &question)?.to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CliError::new(Exit::Cancelled, "nothing was trusted")),
    }
}

fn state(standing: &Standing, trusted: bool) -> serde_json::Value {
    let parts: Vec<_> = standing
        .parts
        .iter()
        .map(|part| json!({ "path": part.path, "sha256": part.sha256, "trusted": trusted || !standing.is_new(part) }))
        .collect();
    let settings: Vec<_> = standing
        .settings
        .iter()
        .map(|one| json!({ "key": one.key, "line": one.line, "value": one.value }))
        .collect();
    json!({
        "repository": standing.root, "hash": standing.hash(), "trusted": trusted || standing.parts.is_empty(),
        "parts": parts, "settings": settings,
    })
}

fn revoke(standing: &Standing, as_json: bool) -> Result<Exit, CliError> {
    let forgotten = trust::forget(&Home::open()?, &standing.place)?;
    let words = match forgotten {
        0 => format!("{} was not trusted", standing.root.display()),
        some => format!("{} is not trusted any more ({})", standing.root.display(), counted(some, "content")),
    };
    answer_either(as_json, &words, SCHEMA, json!({ "repository": standing.root, "forgotten": forgotten }))?;
    Ok(Exit::Done)
}

fn list(as_json: bool) -> Result<Exit, CliError> {
    let trust = trust::Trust::read()?;
    if as_json {
        answer_either(true, "", SCHEMA, json!({ "trusted": trust.all() }))?;
        return Ok(Exit::Done);
    }
    let row = |one: &Trusted| {
        [one.place.display().to_string(), one.path.clone(), one.sha256.chars().take(12).collect()]
    };
    match trust.all() {
        [] => answer("you have trusted no repository")?,
        all => answer(&columns(["REPOSITORY", "FILE", "SHA-256"], all.iter().map(row).collect()))?,
    }
    Ok(Exit::Done)
}
