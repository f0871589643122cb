//! `permissions`: what a task's agent may do.

use super::{Fields, Node, Permissions, Report, choice, flag, shown, text, texts, time_limit};
use crate::file::decode::each;
use crate::file::keys::PERMISSIONS;
use crate::plan::Otherwise;
use crate::plan::permissions::Rule;

const OTHERWISE: &[(&str, Otherwise)] =
    &[("deny", Otherwise::Deny), ("ask", Otherwise::Ask), ("allow", Otherwise::Allow)];

pub(super) fn read(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Permissions> {
    let mut fields = Fields::of(r, "permissions", PERMISSIONS, node)?;
    let permissions = Permissions {
        deny: fields.get(r, "deny", rules).unwrap_or_default(),
        ask: fields.get(r, "ask", rules).unwrap_or_default(),
        allow: fields.get(r, "allow", rules).unwrap_or_default(),
        otherwise: fields.get(r, "otherwise", choice(OTHERWISE)).unwrap_or_default(),
        blocked_commands: fields.get(r, "blocked_commands", texts),
        answer_within: fields.get(r, "answer_within", time_limit),
        repetition: fields.get(r, "repetition", flag).unwrap_or_default(),
    };
    fields.finish(r, |_| false);
    Some(permissions)
}

fn rules(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<String>> {
    each(r, what, node, "a rule or a list of rules", |r, what, node| {
        let rule = text(r, what, node)?;
        if Rule::parse(&rule).is_none() {
            r.error("bad-rule", node.span, format!("{} is not a rule", shown(&rule))).help(
                "write a tool's name, such as WebFetch, or a tool and a pattern, such as Bash(git push*)",
            );
            return None;
        }
        Some(rule)
    })
}
