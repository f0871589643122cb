//! `conductor sync pull`.

use conductor_core::sync::Pull;
use conductor_core::values::counted::counted;
use conductor_core::values::ids::RunId;
use conductor_engine::host::clock::wall;
use conductor_engine::host::home::Home;
use conductor_engine::stores;
use conductor_engine::sync::{Pulled, Remote, ToPull};
use serde_json::{Value, json};

use super::{here, problem, remote, tell_items, tell_refused};
use crate::archive::patiently;
use crate::args::SyncPull;
use crate::commands::{answer_either, talk};
use crate::console;
use crate::error::{CliError, Exit};
use crate::output::table::columns;
use crate::output::writing;

const SCHEMA: &str = "conductor.sync-pull/1";

pub(super) async fn pull(args: &SyncPull) -> Result<Exit, CliError> {
    let home = Home::open()?;
    let remote = remote(&home, args.from.as_deref(), |_| {})?;
    let wanted = args.runs.iter().map(|word| named(word)).collect::<Result<Vec<_>, _>>()?;
    let store = patiently(|| stores::open(&home)).await?;
    let all = remote.to_pull(&*store, &wanted).await?;
    show(&remote, &all);
    if !args.dry_run {
        agree(&remote, args)?;
    }
    let (mut refused, told) = told(&all);
    let (pulled, items) = match args.dry_run {
        true => (Vec::new(), 0),
        false => {
            let pulled = remote.pull(&store, all, &here()?).await?;
            let items = remote.pull_items(&here()?, wall()).await;
            (
                pulled,
                items.unwrap_or_else(|error| {
                    refused.push(tell_items(&error));
                    0
                }),
            )
        }
    };
    refused.extend(pulled.iter().filter_map(failure));
    let done: Vec<&Pulled> = pulled.iter().filter(|one| one.outcome.is_ok()).collect();
    let words = match (args.dry_run, done.len(), items) {
        (true, ..) => "nothing was pulled: --dry-run".to_owned(),
        (_, 0, 0) if refused.is_empty() => "everything is here already".to_owned(),
        (_, 0, 0) => "nothing was pulled".to_owned(),
        (_, 0, items) => format!("pulled {} of expertise", counted(items as u64, "item")),
        (_, runs, 0) => format!("pulled {}", counted(runs as u64, "run")),
        (_, runs, items) => {
            format!(
                "pulled {} and {} of expertise",
                counted(runs as u64, "run"),
                counted(items as u64, "item")
            )
        }
    };
    let value = json!({
        "remote": remote.shown(), "dry_run": args.dry_run, "runs": told, "expertise": items,
        "pulled": done.iter().map(|one| &one.run).collect::<Vec<_>>(), "refused": refused,
    });
    answer_either(args.json, &words, SCHEMA, value)?;
    Ok(if refused.is_empty() { Exit::Done } else { Exit::Unexpected })
}

fn named(word: &str) -> Result<RunId, CliError> {
    let usage = || CliError::new(Exit::Usage, format!("'{word}' is no run's name"));
    RunId::parse(word).ok_or_else(usage)
}

fn show(remote: &Remote, all: &[ToPull]) {
    let rows = all.iter().filter_map(|one| {
        let what = match one.what {
            Ok(Pull::New) => counted(one.events, "event"),
            Ok(Pull::More(more)) => counted(more, "more event"),
            Ok(Pull::Renew) => match one.transcripts {
                true => "its files, with transcripts".to_owned(),
                false => "its files".to_owned(),
            },
            _ => return None,
        };
        let from = one.from.as_ref().map(ToString::to_string).unwrap_or_default();
        Some([one.run.to_string(), what, from])
    });
    let rows: Vec<[String; 3]> = rows.collect();
    if !rows.is_empty() {
        console::say(format_args!("from {}", remote.shown()));
        console::say(format_args!("{}", columns(["RUN", "WHAT", "PUSHED BY"], rows).trim_end()));
    }
}

/// What a remote holds is believed: its runs can be gone on with here, and what they have learned is told to agents.
fn agree(remote: &Remote, args: &SyncPull) -> Result<(), CliError> {
    if !args.yes && !remote.may_pull()? {
        let message = format!(
            "nothing was pulled from {} before: all who can write there could give you runs to resume; nothing was \
             pulled",
            remote.shown()
        );
        let refusal = CliError::new(Exit::Usage, message).help("if only you can write there, add --yes");
        if !writing::attended() {
            return Err(refusal);
        }
        let question = "All who can write there can give you runs to resume. Pull from there? [y/N] ";
        let answer = writing::ask(&mut std::io::stdin().lock(), question)?;
        if !matches!(answer.to_lowercase().as_str(), "y" | "yes") {
            return Err(refusal);
        }
    }
    Ok(remote.agree_to_pull()?)
}

/// What was refused while looking, and all runs as they were found.
fn told(all: &[ToPull]) -> (Vec<Value>, Vec<Value>) {
    let (mut refused, mut found) = (Vec::new(), Vec::new());
    for one in all {
        let what = match &one.what {
            Ok(Pull::New) => "new",
            Ok(Pull::More(_)) => "more",
            Ok(Pull::Renew) => "renewed",
            Ok(Pull::Nothing) => "nothing",
            Ok(Pull::Active) => {
                talk(format!("run {} is active here and was left alone", one.run));
                "active"
            }
            Err(error) => {
                tell_refused(&one.run, error);
                refused.push(problem(&one.run, error));
                "refused"
            }
        };
        let from = one.from.as_ref().map(ToString::to_string);
        found.push(json!({ "run": one.run, "events": one.events, "what": what, "from": from }));
    }
    (refused, found)
}

fn failure(one: &Pulled) -> Option<Value> {
    let error = one.outcome.as_ref().err()?;
    tell_refused(&one.run, error);
    Some(problem(&one.run, error))
}
