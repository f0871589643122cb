//! `recovery`: which ways out of a failure are tried, by its nature, and by which words that is told.

use super::super::decode::{choice, each, text, wrong};
use super::super::diagnostic::{Report, shown};
use super::super::fields::Fields;
use super::super::keys::{PATTERN, RECOVERY};
use super::super::tree::{Node, Value};
use crate::plan::recovery::{Nature, Pattern, Recovery, Strategy, is_pattern};

const MOST_PATTERNS: usize = 100;
const LONGEST: usize = 200;

pub(super) fn read(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Recovery> {
    let mut fields = Fields::of(r, "recovery", RECOVERY, node)?;
    let recovery = Recovery {
        transient: fields.get(r, "transient", ways).unwrap_or_default(),
        permanent: fields.get(r, "permanent", ways).unwrap_or_default(),
        ambiguous: fields.get(r, "ambiguous", ways).unwrap_or_default(),
        patterns: fields.get(r, "patterns", patterns).unwrap_or_default(),
    };
    fields.finish(r, |_| false);
    Some(recovery)
}

/// Each of its parts by itself.
pub(super) fn over(own: Option<Recovery>, weaker: Option<Recovery>) -> Option<Recovery> {
    let (own, weaker) = match (own, weaker) {
        (Some(own), Some(weaker)) => (own, weaker),
        (own, weaker) => return own.or(weaker),
    };
    Some(Recovery {
        transient: either(own.transient, weaker.transient),
        permanent: either(own.permanent, weaker.permanent),
        ambiguous: either(own.ambiguous, weaker.ambiguous),
        patterns: either(own.patterns, weaker.patterns),
    })
}

fn either<T>(own: Vec<T>, weaker: Vec<T>) -> Vec<T> {
    if own.is_empty() { weaker } else { own }
}

fn ways(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<Strategy>> {
    each(r, what, node, "a way such as retry, or a list of them", choice(&Strategy::NAMES))
}

fn patterns(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<Pattern>> {
    let items = match &node.value {
        Value::Map(_) => std::slice::from_ref(node),
        Value::Seq(items) => &items[..],
        _ => return wrong(r, what, node, "a list of mappings with 'match' and 'as'"),
    };
    if items.len() > MOST_PATTERNS {
        r.error(
            "out-of-range",
            node.span,
            format!("'{what}' has {} of at most {MOST_PATTERNS}", items.len()),
        );
        return None;
    }
    Some(items.iter().filter_map(|item| pattern(r, item)).collect())
}

fn pattern(r: &mut Report<'_>, node: &Node) -> Option<Pattern> {
    let mut fields = Fields::of(r, "a pattern", PATTERN, node)?;
    let words = fields.need(r, "match", words);
    let nature = fields.need(r, "as", choice(&Nature::NAMES));
    fields.finish(r, |_| false);
    Some(Pattern { words: words?, nature: nature? })
}

fn words(r: &mut Report<'_>, what: &str, node: &Node) -> Option<String> {
    let words = text(r, what, node)?;
    if !is_pattern(&words) || words.contains('\n') {
        r.error("bad-pattern", node.span, format!("{} is no pattern", shown(&words)))
            .help("write words as they stand in one line, such as \"lock * timeout\"; * stands for anything");
        return None;
    }
    if words.chars().count() > LONGEST {
        r.error("out-of-range", node.span, format!("'{what}' has at most {LONGEST} characters"));
        return None;
    }
    Some(words.trim().to_owned())
}
