//! Items, their versions and what they come to, as people and programs read them.

use conductor_core::expertise::{Arm, Candidate, Comparison, Interval, Item, Tally, difference, domain_page};
use conductor_core::values::units::Millis;
use conductor_engine::expertise::{ByAgent, Version};
use conductor_engine::records::flat::timestamp;
use serde_json::{Value, json};

use super::{looked_at, unknown};
use crate::args;
use crate::commands::{answer, answer_json};
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::table::columns;

/// An item as programs read it.
pub(super) fn item_json(one: &Candidate) -> Value {
    let mut value = serde_json::to_value(&one.item).unwrap_or_default();
    value["tally"] = json!(one.tally);
    value["gain"] = json!(difference(&one.tally));
    value["given"] = json!(one.item.is_told());
    value
}

pub(super) async fn list(args: &args::ExpertiseList) -> Result<Exit, CliError> {
    let mut items = match looked_at().await? {
        Some(store) => store.all().await?,
        None => Vec::new(),
    };
    items.retain(|one| args.all || one.item.is_told());
    items.retain(|one| args.domain.as_ref().is_none_or(|domain| one.item.draft.domain == *domain));
    if args.json {
        let items: Vec<Value> = items.iter().map(item_json).collect();
        answer_json(&json!({ "schema": "conductor.expertise/1", "items": items }))?;
        return Ok(Exit::Done);
    }
    if items.is_empty() {
        answer(
            "nothing was learned here yet; runs teach by themselves, `conductor expertise add` adds by hand\n",
        )?;
        return Ok(Exit::Done);
    }
    let row = |one: &Candidate| {
        let draft = &one.item.draft;
        [
            one.item.id.to_string(),
            draft.domain.clone(),
            draft.kind.name().to_owned(),
            one.tally.used.to_string(),
            difference(&one.tally).map_or_else(|| "-".to_owned(), |gain| points(&gain)),
            state(&one.item).to_owned(),
            one_line(&draft.claim),
        ]
    };
    let heads = ["ID", "DOMAIN", "KIND", "USED", "GAIN", "STATE", "CLAIM"];
    answer(&columns(heads, items.iter().map(row).collect()))?;
    Ok(Exit::Done)
}

fn state(item: &Item) -> &'static str {
    match (&item.retired, item.is_told()) {
        (Some(_), _) => "retired",
        (None, true) => "given",
        (None, false) => "seen once",
    }
}

/// A difference of shares in percentage points.
fn points(gain: &Interval) -> String {
    format!("{:+.0} ({:+.0} to {:+.0})", gain.estimate * 100.0, gain.low * 100.0, gain.high * 100.0)
}

pub(super) async fn show(args: &args::ExpertiseShow) -> Result<Exit, CliError> {
    let store = looked_at().await?.ok_or_else(|| unknown(&args.what))?;
    let all = store.all().await?;
    if args.version.is_none() && all.iter().any(|one| one.item.draft.domain == args.what) {
        let items: Vec<(Item, Tally)> = all.into_iter().map(|one| (one.item, one.tally)).collect();
        let page = domain_page(&args.what, &items);
        match args.json {
            true => answer_json(
                &json!({ "schema": "conductor.expertise-page/1", "domain": args.what, "page": page }),
            )?,
            false => answer(&page)?,
        }
        return Ok(Exit::Done);
    }
    let found = store.find(&args.what).await?;
    if let Some(version) = args.version {
        let versions = store.versions(&found.item.id).await?;
        let there = versions.into_iter().find(|one| one.version == version);
        let there = there.ok_or_else(|| {
            let item = found.item.id.clone();
            CliError::from(conductor_engine::expertise::ExpertiseError::NoVersion { item, version })
        })?;
        answer(&format!("{}\n", there.body))?;
        return Ok(Exit::Done);
    }
    match args.json {
        true => {
            let mut value = item_json(&found);
            value["schema"] = json!("conductor.expertise-item/1");
            answer_json(&value)?;
        }
        false => answer(&item_text(&found))?,
    }
    Ok(Exit::Done)
}

fn item_text(one: &Candidate) -> String {
    let Candidate { item, tally } = one;
    let scope =
        if item.draft.scope.is_empty() { "all files".to_owned() } else { item.draft.scope.join(", ") };
    let mut text = format!(
        "{}  {} · {} · by {}\n\n{}\n\n  about    {scope}\n",
        item.id,
        item.draft.domain,
        item.draft.kind.name(),
        item.source.name(),
        item.draft.claim
    );
    if let Some(check) = &item.draft.check {
        text += &format!("  check    {check}\n");
    }
    text += &format!(
        "  used     {} tasks: {} landed at the first attempt, {} did not\n  without  {} tasks: {} landed at the first attempt\n",
        tally.used, tally.helpful, tally.harmful, tally.withheld, tally.withheld_good
    );
    if let Some(gain) = difference(tally) {
        text += &format!("  gain     {} percentage points (95 %)\n", points(&gain));
    }
    if let Some(why) = &item.retired {
        text += &format!("  retired  {why}\n");
    }
    for evidence in &item.evidence {
        let commit = evidence.commit.as_deref().map_or(String::new(), |commit| {
            format!(", commit {}", commit.chars().take(10).collect::<String>())
        });
        text += &format!(
            "  evidence run {}, task {}, attempt {}, event {}{commit}\n",
            evidence.run, evidence.task, evidence.attempt, evidence.event
        );
    }
    text
}

pub(super) async fn history(args: &args::OfItem) -> Result<Exit, CliError> {
    let store = looked_at().await?.ok_or_else(|| unknown(&args.item))?;
    let found = store.find(&args.item).await?;
    let versions = store.versions(&found.item.id).await?;
    if args.json {
        let id = &found.item.id;
        answer_json(&json!({ "schema": "conductor.expertise-history/1", "item": id, "versions": versions }))?;
        return Ok(Exit::Done);
    }
    let row = |one: &Version| {
        let item: Option<Item> = serde_json::from_str(&one.body).ok();
        let claim = item.map_or_else(String::new, |item| one_line(&item.draft.claim));
        [one.version.to_string(), timestamp(one.at_ms), one.author.clone(), one.why.clone(), claim]
    };
    let heads = ["VERSION", "AT", "BY", "WHY", "CLAIM"];
    answer(&columns(heads, versions.iter().map(row).collect()))?;
    Ok(Exit::Done)
}

pub(super) async fn stats(args: &args::ExpertiseWhole) -> Result<Exit, CliError> {
    let (comparison, paused, agents) = match looked_at().await? {
        Some(store) => (store.comparison().await?, store.paused().await?, store.by_agent().await?),
        None => Default::default(),
    };
    if args.json {
        answer_json(&json!({
            "schema": "conductor.expertise-stats/1",
            "paused": paused,
            "comparison": comparison,
            "agents": agents,
        }))?;
        return Ok(Exit::Done);
    }
    let mut text = compared(&comparison);
    if let Some(paused) = paused {
        text = format!(
            "expertise is paused since {}: {}; `conductor expertise resume` gives items again\n\n{text}",
            timestamp(paused.since),
            paused.words()
        );
    }
    if !agents.is_empty() {
        text += &format!("\n{}", columns(HEADS, agents.iter().map(agent_row).collect()));
    }
    answer(&text)?;
    Ok(Exit::Done)
}

fn compared(comparison: &Comparison) -> String {
    let Comparison { with, without, landed, first_go, cost, time } = comparison;
    let share = |good: fn(&Arm) -> u32, arm: &Arm| match arm.tasks {
        0 => "-".to_owned(),
        tasks => format!("{:.0} %", 100.0 * f64::from(good(arm)) / f64::from(tasks)),
    };
    let money = |mean: Option<f64>| mean.map_or_else(|| "-".to_owned(), |mean| format!("${mean:.4}"));
    let seconds = |mean: Option<f64>| {
        mean.map_or_else(|| "-".to_owned(), |mean| Millis((mean * 1000.0) as u64).to_string())
    };
    let unknown = || "not known yet".to_owned();
    let shares = |gain: &Option<Interval>| {
        gain.as_ref().map_or_else(unknown, |gain| format!("{} points", points(gain)))
    };
    let amount = |more: &Option<Interval>, unit: &str| {
        more.map_or_else(unknown, |more| {
            format!("{:+.3} ({:+.3} to {:+.3}) {unit}", more.estimate, more.low, more.high)
        })
    };
    let rows = vec![
        ["tasks".to_owned(), with.tasks.to_string(), without.tasks.to_string(), String::new()],
        [
            "landed".to_owned(),
            share(|arm| arm.landed, with),
            share(|arm| arm.landed, without),
            shares(landed),
        ],
        [
            "first attempt".to_owned(),
            share(|arm| arm.first_go, with),
            share(|arm| arm.first_go, without),
            shares(first_go),
        ],
        ["cost".to_owned(), money(with.cost.mean()), money(without.cost.mean()), amount(cost, "$")],
        ["time".to_owned(), seconds(with.time.mean()), seconds(without.time.mean()), amount(time, "s")],
    ];
    columns(["", "WITH", "WITHOUT", "DIFFERENCE (95 %)"], rows)
}

const HEADS: [&str; 9] = ["AGENT", "MODEL", "DOMAIN", "TASKS", "LANDED", "FIRST", "COST", "TIME", "ESTIMATE"];

fn agent_row(one: &ByAgent) -> [String; 9] {
    let time = |seconds: f64| Millis((seconds * 1000.0) as u64).to_string();
    [
        one.agent.clone(),
        one.model.clone().unwrap_or_else(|| "-".to_owned()),
        one.domain.clone(),
        one.tasks.to_string(),
        one.landed.to_string(),
        one.first_go.to_string(),
        one.cost_usd.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.4}")),
        time(one.seconds),
        one.estimated_seconds.map_or_else(|| "-".to_owned(), time),
    ]
}
