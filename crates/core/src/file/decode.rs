//! One value at a time: from a node to a text, number, duration or choice, or to a diagnostic saying what was expected.
//!
//! Every decoder has the same form, so that [`super::fields::Fields::get`] can take any of them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::plan::{Priority, Resource};
use crate::values::units::{Millis, Usd};

use super::amount::{self, BadDuration};
use super::diagnostic::{Report, shown};
use super::tree::{Node, Value};

pub(super) fn wrong<T>(r: &mut Report<'_>, what: &str, node: &Node, expected: &str) -> Option<T> {
    r.error("wrong-type", node.span, format!("'{what}' wants {expected}, found {}", node.kind()));
    None
}

/// A text that says something. Numbers and booleans count as the text they were written as.
pub(super) fn text(r: &mut Report<'_>, what: &str, node: &Node) -> Option<String> {
    let Some(text) = node.text(r.source).map(str::to_owned) else {
        return wrong(r, what, node, "text");
    };
    if text.trim().is_empty() {
        r.error("empty-value", node.span, format!("'{what}' is empty"));
        return None;
    }
    Some(text)
}

/// A list of texts, or one text for a list of one.
pub(super) fn texts(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<String>> {
    each(r, what, node, "text or a list of texts", text)
}

/// Every item of a list, or the one value that stands in its place.
pub(super) fn each<T>(
    r: &mut Report<'_>,
    what: &str,
    node: &Node,
    expected: &str,
    decode: impl Fn(&mut Report<'_>, &str, &Node) -> Option<T>,
) -> Option<Vec<T>> {
    match &node.value {
        Value::Seq(items) => Some(items.iter().filter_map(|item| decode(r, what, item)).collect()),
        Value::Map(_) | Value::Null => wrong(r, what, node, expected),
        _ => Some(decode(r, what, node).into_iter().collect()),
    }
}

pub(super) fn duration(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Millis> {
    let parsed = match &node.value {
        Value::Int(_) | Value::Float(_) => {
            let Some(seconds) = number(node).filter(|seconds| *seconds >= 0.0) else {
                r.error("out-of-range", node.span, format!("'{what}' cannot be negative"));
                return None;
            };
            amount::from_millis(seconds * 1000.0)
        }
        Value::Str(text) => amount::parse_duration(text),
        _ => return wrong(r, what, node, "a duration such as 90, 30m or 1h30m"),
    };
    parsed.map_err(|bad| bad_duration(r, what, node, &bad)).ok()
}

fn bad_duration(r: &mut Report<'_>, what: &str, node: &Node, bad: &BadDuration) {
    let code = match bad {
        BadDuration::TooLong => "out-of-range",
        _ => "bad-duration",
    };
    r.error(code, node.span, format!("'{what}' is not a duration: {bad}"))
        .help("write seconds as a plain number, or units: 500ms, 30m, 1h30m");
}

/// A duration that is more than nothing.
pub(super) fn time_limit(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Millis> {
    let length = duration(r, what, node)?;
    if length == Millis(0) {
        r.error("out-of-range", node.span, format!("'{what}' must be more than 0"));
        return None;
    }
    Some(length)
}

pub(super) fn number(node: &Node) -> Option<f64> {
    match node.value {
        Value::Int(number) => Some(number as f64),
        Value::Float(number) => Some(number),
        _ => None,
    }
}

/// A number within bounds.
pub(super) fn ratio(range: RangeInclusive<f64>) -> impl Fn(&mut Report<'_>, &str, &Node) -> Option<f64> {
    move |r, what, node| {
        let Some(number) = number(node) else { return wrong(r, what, node, "a number") };
        if !range.contains(&number) {
            let (least, most) = (range.start(), range.end());
            r.error("out-of-range", node.span, format!("'{what}' must be between {least} and {most}"));
            return None;
        }
        Some(number)
    }
}

/// A whole number within bounds; `1e6` is one.
pub(super) fn count<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&mut Report<'_>, &str, &Node) -> Option<T> {
    move |r, what, node| {
        let Some(number) = number(node).filter(|number| number.fract() == 0.0) else {
            return wrong(r, what, node, "a whole number");
        };
        let fits = number >= 0.0 && range.contains(&(number as u64));
        let value = T::try_from(number as u64).ok().filter(|_| fits);
        if value.is_none() {
            let (least, most) = (range.start(), range.end());
            let message = match *most == u64::MAX {
                true => format!("'{what}' must be at least {least}"),
                false => format!("'{what}' must be between {least} and {most}"),
            };
            r.error("out-of-range", node.span, message);
        }
        value
    }
}

pub(super) fn cost(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Usd> {
    let Some(dollars) = number(node) else { return wrong(r, what, node, "a number of dollars") };
    let cost = Usd::from_dollars(dollars);
    if !dollars.is_finite() || cost == Usd(0) {
        r.error("out-of-range", node.span, format!("'{what}' must be more than 0 dollars"));
        return None;
    }
    Some(cost)
}

/// As `cost`, or nothing at all.
pub(super) fn cost_or_none(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Usd> {
    if number(node) == Some(0.0) { Some(Usd(0)) } else { cost(r, what, node) }
}

pub(super) fn flag(r: &mut Report<'_>, what: &str, node: &Node) -> Option<bool> {
    match node.value {
        Value::Bool(flag) => Some(flag),
        _ => wrong(r, what, node, "true or false"),
    }
}

/// One of a few words, each standing for a value.
pub(super) fn choice<T: Copy>(
    words: &'static [(&'static str, T)],
) -> impl Fn(&mut Report<'_>, &str, &Node) -> Option<T> {
    move |r, what, node| {
        let Some(word) = node.text(r.source).map(str::to_owned) else {
            return wrong(r, what, node, &one_of(words.iter().map(|(word, _)| *word)));
        };
        let found = words.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
        if found.is_none() {
            unknown_value(r, what, node, &word, words.iter().map(|(word, _)| *word));
        }
        found
    }
}

pub(super) fn unknown_value(
    r: &mut Report<'_>,
    what: &str,
    node: &Node,
    word: &str,
    words: impl Iterator<Item = &'static str> + Clone,
) {
    let help = r.did_you_mean(word, words.clone()).unwrap_or_else(|| format!("it is {}", one_of(words)));
    r.error("unknown-value", node.span, format!("'{what}' cannot be {}", shown(word))).help(help);
}

fn one_of(words: impl Iterator<Item = &'static str>) -> String {
    format!("one of {}", words.collect::<Vec<_>>().join(", "))
}

/// What people write for a priority elsewhere, and our word for it.
const FOREIGN_PRIORITIES: [(&str, &str); 12] = [
    ("urgent", "critical"),
    ("blocker", "critical"),
    ("highest", "critical"),
    ("p0", "critical"),
    ("p1", "high"),
    ("p2", "medium"),
    ("p3", "low"),
    ("p4", "backlog"),
    ("normal", "medium"),
    ("default", "medium"),
    ("minor", "low"),
    ("lowest", "backlog"),
];

/// A name, or a number counted from `first` for the most urgent.
pub(super) fn priority(first: u8) -> impl Fn(&mut Report<'_>, &str, &Node) -> Option<Priority> {
    move |r, what, node| {
        let Some(word) = node.text(r.source).map(str::to_lowercase) else {
            return wrong(r, what, node, "a priority such as high");
        };
        if let Ok(number) = word.parse::<i64>() {
            return numbered(r, what, node, number, i64::from(first));
        }
        let place = Priority::NAMES.iter().position(|name| *name == word);
        if place.is_none() {
            foreign_priority(r, what, node, &word);
        }
        place.map(|place| Priority(place as u8))
    }
}

fn numbered(r: &mut Report<'_>, what: &str, node: &Node, number: i64, first: i64) -> Option<Priority> {
    match number.checked_sub(first).filter(|place| (0..=4).contains(place)) {
        Some(place) => Some(Priority(place as u8)),
        None => {
            let message = format!("'{what}' must be between {first} and {}", first + 4);
            let help = format!("{first} is critical, {} is backlog", first + 4);
            r.error("out-of-range", node.span, message).help(help);
            None
        }
    }
}

fn foreign_priority(r: &mut Report<'_>, what: &str, node: &Node, word: &str) {
    match FOREIGN_PRIORITIES.iter().find(|(foreign, _)| *foreign == word) {
        Some((_, ours)) => {
            r.error("unknown-value", node.span, format!("'{what}' cannot be {}", shown(word)))
                .help(format!("did you mean '{ours}'?"));
        }
        None => unknown_value(r, what, node, word, Priority::NAMES.into_iter()),
    }
}

/// A mapping from names to values of one kind.
pub(super) fn map_of<T>(
    decode: impl Fn(&mut Report<'_>, &str, &Node) -> Option<T>,
) -> impl Fn(&mut Report<'_>, &str, &Node) -> Option<BTreeMap<String, T>> {
    move |r, what, node| {
        let Some(entries) = node.entries() else { return wrong(r, what, node, "a mapping") };
        let read = entries.iter().filter_map(|(key, node)| {
            let name = key.text.to_string();
            decode(r, &name, node).map(|value| (name, value))
        });
        Some(read.collect())
    }
}

/// Amounts of named resources. Those that are amounts of bytes may have a unit.
pub(super) fn resources(r: &mut Report<'_>, what: &str, node: &Node) -> Option<BTreeMap<String, u64>> {
    map_of(resource)(r, what, node)
}

/// What agents hold where their tasks say nothing, by the agent's name.
pub(super) fn agent_resources(
    r: &mut Report<'_>,
    what: &str,
    node: &Node,
) -> Option<BTreeMap<String, BTreeMap<String, u64>>> {
    map_of(resources)(r, what, node)
}

fn resource(r: &mut Report<'_>, name: &str, node: &Node) -> Option<u64> {
    let Some(resource) = Resource::of(name) else { return count(1..=u64::MAX)(r, name, node) };
    let amount = match &node.value {
        Value::Str(text) if resource.is_size() => match amount::parse_size(text) {
            Ok(bytes) => bytes,
            Err(bad) => {
                let of = if resource == Resource::Disk {
                    "an amount of disk space"
                } else {
                    "an amount of memory"
                };
                r.error("bad-size", node.span, format!("'{name}' is not {of}: {bad}"));
                return None;
            }
        },
        _ => count(1..=u64::MAX)(r, name, node)?,
    };
    if amount == 0 {
        r.error("out-of-range", node.span, format!("'{name}' must be at least 1"));
        return None;
    }
    let (least, most) = resource.bounds();
    if (least..=most).contains(&amount) {
        return Some(amount);
    }
    let (least_words, most_words) = (resource.amount(least), resource.amount(most));
    let said = match amount {
        amount if amount < least => {
            format!("'{name}' is {}: nothing runs with less than {least_words}", resource.amount(amount))
        }
        _ => format!("'{name}' is {}: more than {most_words} is no limit", resource.amount(amount)),
    };
    let error = r.error("out-of-range", node.span, said);
    // A small number was most likely meant in the unit that this is usually counted in.
    if resource.is_size() && amount < least {
        error.help(format!("a plain number is bytes; write {name}: {amount}GiB for that many GiB"));
    }
    None
}
