//! The `models` of a file's config.

use std::collections::BTreeMap;

use crate::plan::models::{Choice, Cuts, Models, Tier, Tiers, Weights};
use crate::plan::{KINDS, Priority};

use super::decode::{choice, flag, map_of, ratio, text};
use super::diagnostic::Report;
use super::fields::Fields;
use super::keys::{BY_PRIORITY, BY_TYPE, CUTS, MAX_WEIGHT, MODELS, TIERS, Table, WEIGHTS};
use super::tree::Node;

const CHOICES: &[(&str, Choice)] = &[("auto", Choice::Auto), ("agent", Choice::Agent)];
const NAMES: &[(&str, Tier)] = &[("small", Tier::Small), ("medium", Tier::Medium), ("large", Tier::Large)];

pub(super) fn read(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Box<Models>> {
    let mut fields = Fields::of(r, "models", MODELS, node)?;
    let built_in = Models::default();
    let models = Models {
        choice: fields.get(r, "choice", choice(CHOICES)).unwrap_or_default(),
        tiers: fields.get(r, "tiers", map_of(tiers)).unwrap_or_default(),
        by_priority: fields.get(r, "by_priority", by_priority).unwrap_or(built_in.by_priority),
        by_type: fields.get(r, "by_type", by_type).unwrap_or(built_in.by_type),
        weights: fields.get(r, "weights", weights).unwrap_or_default(),
        cuts: fields.get(r, "cuts", cuts).unwrap_or_default(),
        escalate: fields.get(r, "escalate", flag).unwrap_or(built_in.escalate),
    };
    fields.finish(r, |_| false);
    Some(Box::new(models))
}

fn tiers(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Tiers> {
    let mut fields = Fields::of(r, "an agent's models", TIERS, node)?;
    let named = Tier::ALL.into_iter().filter_map(|tier| Some((tier, fields.get(r, tier.name(), text)?)));
    let tiers = named.collect();
    fields.finish(r, |_| false);
    Some(tiers)
}

fn by_priority(r: &mut Report<'_>, _: &str, node: &Node) -> Option<BTreeMap<u8, Tier>> {
    let found = rules(r, "models by priority", BY_PRIORITY, &Priority::NAMES, node)?;
    Some(found.into_iter().map(|(place, _, tier)| (place as u8, tier)).collect())
}

fn by_type(r: &mut Report<'_>, _: &str, node: &Node) -> Option<BTreeMap<String, Tier>> {
    let found = rules(r, "models by type", BY_TYPE, &KINDS.map(|(kind, _)| kind), node)?;
    Some(found.into_iter().map(|(_, name, tier)| (name.to_owned(), tier)).collect())
}

/// The tier each of these names has, where it has one.
fn rules(
    r: &mut Report<'_>,
    what: &'static str,
    table: Table,
    names: &[&'static str],
    node: &Node,
) -> Option<Vec<(usize, &'static str, Tier)>> {
    let mut fields = Fields::of(r, what, table, node)?;
    let mut found = Vec::new();
    for (place, name) in names.iter().enumerate() {
        if let Some(tier) = fields.get(r, name, choice(NAMES)) {
            found.push((place, *name, tier));
        }
    }
    fields.finish(r, |_| false);
    Some(found)
}

fn weights(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Weights> {
    let mut fields = Fields::of(r, "the weights", WEIGHTS, node)?;
    let base = Weights::default();
    let mut weight =
        |r: &mut Report<'_>, name, base| fields.get(r, name, ratio(0.0..=MAX_WEIGHT)).unwrap_or(base);
    let weights = Weights {
        reasoning: weight(r, "reasoning", base.reasoning),
        code: weight(r, "code", base.code),
        domain: weight(r, "domain", base.domain),
        context: weight(r, "context", base.context),
    };
    fields.finish(r, |_| false);
    if weights.reasoning + weights.code + weights.domain + weights.context <= 0.0 {
        r.error("out-of-range", node.span, "one of the weights must be more than 0");
    }
    Some(weights)
}

fn cuts(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Cuts> {
    let mut fields = Fields::of(r, "the cuts", CUTS, node)?;
    let base = Cuts::default();
    let cuts = Cuts {
        medium: fields.get(r, "medium", ratio(0.0..=1.0)).unwrap_or(base.medium),
        large: fields.get(r, "large", ratio(0.0..=1.0)).unwrap_or(base.large),
    };
    fields.finish(r, |_| false);
    if cuts.medium > cuts.large {
        let message = format!("the cut of medium, {}, is above that of large, {}", cuts.medium, cuts.large);
        r.error("out-of-range", node.span, message);
    }
    Some(cuts)
}
