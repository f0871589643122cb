//! Items changed by hand. Every version before stays.

use std::collections::BTreeSet;

use conductor_core::expertise::{Candidate, Draft, Item, ItemId, Retirement, Source, read_shared};
use conductor_engine::expertise::{Author, Expertise, Finding, Validated};
use conductor_engine::host::clock::wall;
use serde_json::json;

use super::showing::item_json;
use super::{looked_at, store};
use crate::args;
use crate::commands::{answer, answer_either, answer_json, talk};
use crate::error::{CliError, Exit};
use crate::output::writing;
use crate::settings::{diagnostics, taskfile};

pub(super) async fn add(args: &args::ExpertiseAdd) -> Result<Exit, CliError> {
    let draft = Draft {
        claim: args.claim.trim().to_owned(),
        kind: args.kind.into(),
        domain: args.domain.clone(),
        scope: args.scope.clone(),
        check: args.check.clone(),
    };
    let store = store().await?;
    let id = ItemId::of(draft.kind, &draft.claim);
    if let Some(known) = store.get(&id).await? {
        let message = format!("item {} says this already", known.item.id);
        let help = format!("change it with `conductor expertise edit {}`, or restore it", known.item.id);
        return Err(CliError::new(Exit::Usage, message).help(help));
    }
    store.put(&Item::new(id.clone(), draft, Source::User), Author::User, "added", wall()).await?;
    told(&store, &id, "is added", args.json).await
}

async fn told(store: &Expertise, id: &ItemId, words: &str, as_json: bool) -> Result<Exit, CliError> {
    let found = store.find(id.as_str()).await?;
    answer_either(as_json, &format!("item {id} {words}"), "conductor.expertise-item/1", item_json(&found))?;
    Ok(Exit::Done)
}

pub(super) async fn edit(args: &args::ExpertiseEdit) -> Result<Exit, CliError> {
    let store = store().await?;
    let Candidate { item, .. } = store.find(&args.item).await?;
    let mut draft = item.draft.clone();
    if let Some(claim) = &args.claim {
        draft.claim = claim.trim().to_owned();
    }
    draft.domain = args.domain.clone().unwrap_or(draft.domain);
    if args.everywhere || !args.scope.is_empty() {
        draft.scope.clone_from(&args.scope);
    }
    match args.check.as_deref() {
        Some("") => draft.check = None,
        Some(check) => draft.check = Some(check.to_owned()),
        None => {}
    }
    if draft == item.draft {
        return Err(CliError::new(Exit::NothingToDo, format!("item {} says that already", item.id))
            .help("say what is to change: --claim, --domain, --scope, --everywhere, --check"));
    }
    let item = Item { draft, edited: true, ..item };
    store.put(&item, Author::User, "edited", wall()).await?;
    told(&store, &item.id, "is changed", args.json).await
}

pub(super) async fn retire(args: &args::OfItem) -> Result<Exit, CliError> {
    let store = store().await?;
    let Candidate { item, .. } = store.find(&args.item).await?;
    if let Some(why) = &item.retired {
        return Err(CliError::new(Exit::NothingToDo, format!("item {} is retired already: {why}", item.id)));
    }
    let retired = Item { retired: Some(Retirement::ByUser), ..item };
    store.put(&retired, Author::User, "retired by hand", wall()).await?;
    told(&store, &retired.id, "is retired", args.json).await
}

pub(super) async fn restore(args: &args::ExpertiseRestore) -> Result<Exit, CliError> {
    let store = store().await?;
    let Candidate { item, .. } = store.find(&args.item).await?;
    match (args.version, &item.retired) {
        (Some(version), _) => {
            store.roll_back(&item.id, version, wall()).await?;
            told(&store, &item.id, &format!("is what it was in version {version}"), args.json).await
        }
        (None, None) => {
            let message = format!("item {} is not retired", item.id);
            Err(CliError::new(Exit::NothingToDo, message).help("--version N goes back to an earlier version"))
        }
        (None, Some(_)) => {
            let restored = Item { retired: None, ..item };
            store.put(&restored, Author::User, "restored", wall()).await?;
            told(&store, &restored.id, "is given again", args.json).await
        }
    }
}

/// The `verify:` commands of the project's own task file: no other command is run to check an item.
fn own_checks(args: &args::ExpertiseValidate) -> Result<BTreeSet<String>, CliError> {
    let here = std::env::current_dir()?;
    let Some(file) = args.file.clone().or_else(|| taskfile::found(&here)) else {
        talk("there is no task file here, so no checks are run");
        return Ok(BTreeSet::new());
    };
    let plan = diagnostics::load(&file)?;
    Ok(plan.tasks.iter().flat_map(|task| task.verify.clone()).collect())
}

pub(super) async fn validate(args: &args::ExpertiseValidate, retires: bool) -> Result<Exit, CliError> {
    let checks = own_checks(args)?;
    let there = looked_at().await?;
    let validated = match &there {
        Some(store) => store.validate(&checks, wall()).await?,
        None => Validated::default(),
    };
    if let Some(there) = there.filter(|_| retires) {
        drop(there);
        let store = store().await?;
        for finding in &validated.findings {
            let Some(why) = &finding.goes else { continue };
            let Candidate { item, .. } = store.find(finding.item.as_str()).await?;
            let (words, retired) = (why.to_string(), Item { retired: Some(why.clone()), ..item });
            store.put(&retired, Author::User, &words, wall()).await?;
        }
        if let Some(paused) = store.pause_where_it_hurts(wall()).await? {
            talk(format!("expertise is paused: {}", paused.words()));
        }
    }
    match args.json {
        true => answer_json(&json!({
            "schema": "conductor.expertise-validated/1",
            "items": validated.items,
            "findings": validated.findings,
            "retired": retires,
        }))?,
        false => answer(&validated_text(&validated, retires))?,
    }
    Ok(Exit::Done)
}

fn validated_text(validated: &Validated, retires: bool) -> String {
    let line = |finding: &Finding| match (&finding.goes, &finding.note) {
        (Some(why), _) if retires => format!("{}  retired: {why}\n", finding.item),
        (Some(why), _) => format!("{}  does not hold: {why}\n", finding.item),
        (None, note) => format!("{}  {}\n", finding.item, note.as_deref().unwrap_or_default()),
    };
    let lines: String = validated.findings.iter().map(line).collect();
    let gone = validated.findings.iter().filter(|finding| finding.goes.is_some()).count();
    let holds = validated.items - gone;
    let end = match (gone, retires) {
        (0, _) => String::new(),
        (_, true) => "; `conductor expertise restore ID` gives one again".to_owned(),
        (_, false) => "; `conductor expertise improve` retires the others".to_owned(),
    };
    format!("{lines}{holds} of {} items hold{end}\n", validated.items)
}

pub(super) async fn resume(args: &args::ExpertiseWhole) -> Result<Exit, CliError> {
    let store = store().await?;
    let was = store.paused().await?;
    store.resume(wall()).await?;
    let words = match was {
        Some(_) => "items are given again, and measured anew from now on",
        None => "expertise was not paused; it is measured anew from now on",
    };
    answer_either(args.json, words, "conductor.expertise-resumed/1", json!({ "was_paused": was.is_some() }))?;
    Ok(Exit::Done)
}

pub(super) async fn export(args: &args::ExpertiseExport) -> Result<Exit, CliError> {
    let store = store().await?;
    store.sync_file(wall()).await?;
    if args.share {
        let (path, items) = store.export_file().await?;
        talk(format!("{items} items are in {}; commit it, and every run takes it in", path.display()));
        return Ok(Exit::Done);
    }
    let text = store.export().await?;
    match &args.output {
        Some(file) => writing::write(file, &text)?,
        None => answer(&text)?,
    }
    Ok(Exit::Done)
}

pub(super) async fn import(args: &args::ExpertiseImport) -> Result<Exit, CliError> {
    let name = args.file.display().to_string();
    let bytes = diagnostics::read(&args.file, &name)?;
    let items =
        read_shared(&name, bytes).map_err(|wrong| CliError::new(Exit::InvalidFile, wrong.join("\n")))?;
    let changed = store().await?.import(&items, Source::User, wall()).await?;
    let words = format!("{changed} of {} items are new or changed", items.len());
    let value = json!({ "items": items.len(), "changed": changed });
    answer_either(args.json, &words, "conductor.expertise-imported/1", value)?;
    Ok(Exit::Done)
}
