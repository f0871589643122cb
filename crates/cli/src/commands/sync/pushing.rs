//! `conductor sync push`.

use conductor_core::sync::Push;
use conductor_core::values::counted::counted;
use conductor_engine::host::clock::wall;
use conductor_engine::host::home::Home;
use conductor_engine::stores::StoredRun;
use conductor_engine::sync::{ItemsToPush, Pushed, Remote, SyncError, ToPush};
use serde_json::{Value, json};

use super::{here, problem, remote, size, tell_items, tell_refused};
use crate::archive::Archive;
use crate::args::SyncPush;
use crate::commands::{answer_either, talk};
use crate::console;
use crate::error::{CliError, Exit};
use crate::output::table::columns;
use crate::output::writing;

const SCHEMA: &str = "conductor.sync-push/1";

pub(super) async fn push(args: &SyncPush) -> Result<Exit, CliError> {
    let home = Home::open()?;
    let remote = remote(&home, args.to.as_deref(), |configured| {
        configured.settings.plain = args.plain;
        configured.settings.transcripts |= args.transcripts;
    })?;
    let archive = Archive::of(home).await?;
    let runs = wanted(&archive, args)?;
    let all = remote.to_push(&*archive.store(), &runs, wall()).await?;
    // What is wrong with it is no reason to keep the runs here.
    let (items, mut refused) = match remote.items_to_push(&here()?).await {
        Ok(items) => (items, Vec::new()),
        Err(error @ SyncError::OfCode { .. }) => return Err(error.into()),
        Err(error) => (None, vec![tell_items(&error)]),
    };
    let recipients = remote.recipients()?;
    let is_any = items.is_some() || all.iter().any(is_sent);
    if is_any {
        show(&remote, &all, items.as_ref(), &recipients);
    }
    if is_any && !args.dry_run {
        agree(&remote, args)?;
    }
    let pushed = if args.dry_run { Vec::new() } else { remote.push(&all)? };
    if let (Some(items), false) = (&items, args.dry_run)
        && let Err(error) = remote.push_items(items)
    {
        refused.push(tell_items(&error));
    }
    let items = items.filter(|_| refused.is_empty());
    conclude(args, &remote, (&all, &pushed, items.as_ref()), (&recipients, refused))
}

fn wanted(archive: &Archive, args: &SyncPush) -> Result<Vec<StoredRun>, CliError> {
    if !args.runs.is_empty() {
        return args.runs.iter().map(|word| Ok(archive.named(word)?)).collect();
    }
    Ok(if args.all { archive.runs().to_vec() } else { archive.here()? })
}

fn is_sent(one: &ToPush) -> bool {
    matches!(one.what, Ok(Push::New | Push::More(_) | Push::Renew))
}

/// Before anything leaves: which runs, how much of them, to where, and who will be able to read it.
fn show(remote: &Remote, all: &[ToPush], items: Option<&ItemsToPush>, recipients: &[String]) {
    let rows = all.iter().filter(|one| is_sent(one)).map(|one| {
        let what = match &one.what {
            Ok(Push::New) => counted(one.events, "event"),
            Ok(Push::More(more)) => counted(*more, "more event"),
            _ => "as it is".to_owned(),
        };
        let mut with = if one.transcripts { "with transcripts".to_owned() } else { String::new() };
        if one.blotted > 0 {
            with += &format!(" secrets removed: {}", one.blotted);
        }
        if one.left_out > 0 {
            with += &format!(" left out: {}", counted(one.left_out as u64, "transcript"));
        }
        if one.has_agents {
            with += " agents at work";
        }
        [one.run.to_string(), what, size(one.bytes), with.trim_start().to_owned()]
    });
    let rows: Vec<[String; 4]> = rows.collect();
    let for_whom = match recipients {
        [] => "in PLAIN TEXT: all who can read the remote can read it".to_owned(),
        known => format!("encrypted for {}", known.join(", ")),
    };
    console::say(format_args!("to {}, {for_whom}", remote.shown()));
    if !rows.is_empty() {
        console::say(format_args!("{}", columns(["RUN", "WHAT", "SIZE", ""], rows).trim_end()));
    }
    let mut excluded: Vec<&str> = all.iter().flat_map(|one| &one.excluded).map(String::as_str).collect();
    excluded.sort_unstable();
    excluded.dedup();
    if !excluded.is_empty() {
        console::say(format_args!(
            "after that no more readable for {}: not among your sync: recipients",
            excluded.join(", ")
        ));
    }
    if let Some(items) = items {
        let what = counted(items.new as u64, "item");
        console::say(format_args!("expertise of this project: {what}, {}", size(items.bytes)));
    }
}

/// A remote is agreed to once, and once more for plain text.
fn agree(remote: &Remote, args: &SyncPush) -> Result<(), CliError> {
    if !args.yes && !remote.may_push()? {
        let message = format!("nothing was pushed to {} before; nothing was pushed now", remote.shown());
        let refusal = CliError::new(Exit::Usage, message).help("look at the list above, then add --yes");
        if !writing::attended() {
            return Err(refusal);
        }
        let answer = writing::ask(&mut std::io::stdin().lock(), "Push this? [y/N] ")?;
        if !matches!(answer.to_lowercase().as_str(), "y" | "yes") {
            return Err(refusal);
        }
    }
    Ok(remote.agree_to_push()?)
}

fn conclude(
    args: &SyncPush,
    remote: &Remote,
    (all, pushed, items): (&[ToPush], &[Pushed], Option<&ItemsToPush>),
    (recipients, mut refused): (&[String], Vec<Value>),
) -> Result<Exit, CliError> {
    for one in all {
        match &one.what {
            Err(error) => {
                tell_refused(&one.run, error);
                refused.push(problem(&one.run, error));
            }
            Ok(Push::Behind(more)) => talk(format!(
                "run {} has gone on elsewhere: the remote has {}; get them: conductor sync pull {}",
                one.run,
                counted(*more, "more event"),
                one.run
            )),
            Ok(_) => {}
        }
    }
    for one in all.iter().filter(|one| one.has_agents && !args.dry_run && is_sent(one)) {
        talk(format!(
            "agents of run {id} are still at work here without a coordinator: no other machine can resume it until it is \
             pushed again after their end: conductor sync push {id}",
            id = one.run
        ));
    }
    for one in pushed {
        if let Err(error) = &one.outcome {
            tell_refused(&one.run, error);
            refused.push(problem(&one.run, error));
        }
    }
    let sent: Vec<&ToPush> = match args.dry_run {
        true => Vec::new(),
        false => all.iter().filter(|one| arrived(one, pushed)).collect(),
    };
    let words = match (args.dry_run, sent.len(), items) {
        (true, ..) => "nothing was pushed: --dry-run".to_owned(),
        (_, 0, None) if refused.is_empty() => "everything is at the remote already".to_owned(),
        (_, 0, None) => "nothing was pushed".to_owned(),
        (_, 0, Some(_)) => "pushed expertise".to_owned(),
        (_, sent, _) => format!("pushed {}", counted(sent as u64, "run")),
    };
    let each = all.iter().filter(|one| is_sent(one)).map(|one| {
        json!({
            "run": one.run, "events": one.events, "bytes": one.bytes, "transcripts": one.transcripts,
            "secrets_removed": one.blotted, "agents_at_work": one.has_agents, "pushed": arrived(one, pushed),
        })
    });
    let value = json!({
        "remote": remote.shown(), "encrypted_for": recipients, "dry_run": args.dry_run,
        "runs": each.collect::<Vec<_>>(), "expertise": items.map(|items| items.new), "refused": refused,
    });
    answer_either(args.json, &words, SCHEMA, value)?;
    Ok(if refused.is_empty() { Exit::Done } else { Exit::Unexpected })
}

fn arrived(one: &ToPush, pushed: &[Pushed]) -> bool {
    pushed.iter().any(|done| done.run == one.run && done.outcome.is_ok())
}
