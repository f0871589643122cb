//! `env` and `env_pass`: the variables a task works with.

use std::collections::BTreeMap;

use super::{Node, Report, Span, shown, text};
use crate::file::decode::{each, wrong};

pub(super) fn read(r: &mut Report<'_>, what: &str, node: &Node) -> Option<BTreeMap<String, String>> {
    let Some(entries) = node.entries() else { return wrong(r, what, node, "a mapping of names to values") };
    let mut env = BTreeMap::new();
    for (key, node) in entries {
        let named = env_name(r, &key.text, key.span);
        let Some(value) = node.text(r.source).map(str::to_owned) else {
            wrong::<()>(r, &key.text, node, "a text, number or boolean");
            continue;
        };
        if named {
            env.insert(key.text.to_string(), value);
        }
    }
    Some(env)
}

fn env_name(r: &mut Report<'_>, name: &str, span: Span) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !(first && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')) {
        r.error("bad-env-name", span, format!("{} cannot name a variable", shown(name)))
            .help("names are letters, digits and '_', not starting with a digit");
        return false;
    }
    if name.starts_with("CONDUCTOR_") {
        r.error("bad-env-name", span, format!("{} is set by conductor itself", shown(name)));
        return false;
    }
    true
}

pub(in crate::file) fn env_pass(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<String>> {
    each(r, what, node, "a name or a list of names", |r, what, node| {
        let name = text(r, what, node)?;
        let bare = name.strip_suffix('*').unwrap_or(&name);
        (name == "*" || env_name(r, bare, node.span)).then_some(name)
    })
}
