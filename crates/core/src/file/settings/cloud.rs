//! `cloud`: how an agent in the cloud is reached.

use super::{Cloud, Fields, Node, Report, choice, count, flag, shown, text, time_limit};
use crate::file::keys::{CLOUD, MAX_SESSIONS};
use crate::plan::Transport;

pub(super) fn read(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Cloud> {
    let mut fields = Fields::of(r, "cloud", CLOUD, node)?;
    let cloud = Cloud {
        transport: fields.get(r, "transport", choice(&Transport::NAMES)),
        push: fields.get(r, "push", flag),
        remote: fields.get(r, "remote", name),
        environment: fields.get(r, "environment", text),
        routine: fields.get(r, "routine", name),
        agent: fields.get(r, "agent", name),
        token_variable: fields.get(r, "token_variable", variable),
        max_sessions: fields.get(r, "max_sessions", count(1..=MAX_SESSIONS)),
        settle: fields.get(r, "settle", time_limit),
        keep_tabs: fields.get(r, "keep_tabs", flag),
    };
    fields.finish(r, |_| false);
    Some(cloud)
}

/// Key by key, the task's own word first.
pub(super) fn effective(own: Option<Cloud>, config: &Option<Cloud>) -> Option<Box<Cloud>> {
    let cloud = match (own, config) {
        (Some(own), Some(weaker)) => Some(own.over(weaker)),
        (own, weaker) => own.or_else(|| weaker.clone()),
    };
    cloud.map(Box::new)
}

/// A name that becomes a part of a command or an address.
fn name(r: &mut Report<'_>, what: &str, node: &Node) -> Option<String> {
    let name = text(r, what, node)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with(['-', '.']) || !name.chars().all(plain) {
        r.error("bad-name", node.span, format!("{} is no name for '{what}'", shown(&name)))
            .help("write letters, digits, '-', '_' and '.'");
        return None;
    }
    Some(name)
}

/// The name of a variable. One who writes the token itself is told so, without a word of it.
fn variable(r: &mut Report<'_>, what: &str, node: &Node) -> Option<String> {
    let name = text(r, what, node)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(plain) || name.starts_with(|c: char| c.is_ascii_digit()) {
        r.error("bad-name", node.span, format!("'{what}' is the name of a variable, not a token"))
            .help("put the token into your environment and write the variable's name here");
        return None;
    }
    Some(name)
}
