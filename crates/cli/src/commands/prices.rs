//! `conductor prices`: the price of each model, and where it comes from.

use conductor_core::plan::Plan;
use conductor_engine::agents::prices::{Known, Origin, all_listed, known};
use serde::Serialize;

use super::{answer, answer_json};
use crate::args;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::table::columns;
use crate::settings::diagnostics;

const SCHEMA: &str = "conductor.prices/1";

#[derive(Debug, Serialize)]
struct List {
    schema: &'static str,
    prices: Vec<Entry>,
}

/// In dollars for a million tokens; nothing where no price is known.
#[derive(Debug, Serialize)]
struct Entry {
    model: String,
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    origin: Option<String>,
}

pub(crate) fn run(args: &args::Prices) -> Result<Exit, CliError> {
    let plan = match &args.file {
        Some(file) => diagnostics::load(file)?,
        None => diagnostics::without_file()?,
    };
    let entries: Vec<Entry> = match args.models.is_empty() {
        false => args.models.iter().map(|model| entry(model, known(&plan.prices, model))).collect(),
        true => everything(&plan),
    };
    let unknown = !args.models.is_empty() && entries.iter().any(|entry| entry.origin.is_none());
    match args.json {
        true => answer_json(&List { schema: SCHEMA, prices: entries })?,
        false => answer(&table(&entries))?,
    }
    if unknown && !args.json {
        super::talk(
            "a model without a known price is not counted; give it one under `prices:` in the file's config",
        );
    }
    Ok(Exit::Done)
}

/// The file's own first, then the list; what the list has no simple price for is left out.
fn everything(plan: &Plan) -> Vec<Entry> {
    let own = plan.prices.keys().map(|name| entry(name, known(&plan.prices, name)));
    let mut listed: Vec<String> = all_listed().into_iter().map(|(_, model)| model).collect();
    listed.sort();
    listed.dedup();
    let listed = listed
        .into_iter()
        .filter_map(|model| known(&plan.prices, &model).map(|known| entry(&model, Some(known))));
    own.chain(listed).collect()
}

fn entry(model: &str, known: Option<Known>) -> Entry {
    let origin = |origin: &Origin| match origin {
        Origin::File(name) => format!("the file, {name}"),
        Origin::List { provider, model } => format!("the list, {provider}/{model}"),
    };
    let figure = |of: fn(&Known) -> f64| known.as_ref().map(of);
    Entry {
        model: model.to_owned(),
        input: figure(|known| known.input),
        output: figure(|known| known.output),
        cache_read: figure(|known| known.cache_read),
        cache_write: figure(|known| known.cache_write),
        origin: known.as_ref().map(|known| origin(&known.origin)),
    }
}

fn table(entries: &[Entry]) -> String {
    let dollars = |price: Option<f64>| price.map_or("unknown".to_owned(), |price| format!("{price:.3}"));
    let row = |entry: &Entry| {
        [
            one_line(&entry.model),
            dollars(entry.input),
            dollars(entry.output),
            dollars(entry.cache_read),
            dollars(entry.cache_write),
            entry.origin.as_deref().map(one_line).unwrap_or_default(),
        ]
    };
    let rows = entries.iter().map(row).collect();
    "dollars for a million tokens\n".to_owned()
        + &columns(["MODEL", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "BY"], rows)
}
