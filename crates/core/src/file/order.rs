//! `execution_order` in all the forms people write it.
//!
//! A list of ids, of lists and of `parallel:` and `sequential:` mappings, or one such mapping alone.

use super::decode::wrong;
use super::diagnostic::Report;
use super::keys::{self, STEP};
use super::sections::ids;
use super::settings::{Placed, placed};
use super::tree::{Node, Value};

pub(super) type Steps = Vec<Vec<Placed<String>>>;

pub(super) fn read(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Steps> {
    let mut steps = Vec::new();
    match &node.value {
        Value::Seq(items) => items.iter().for_each(|item| step(r, what, item, &mut steps)),
        Value::Map(_) => step(r, what, node, &mut steps),
        _ => return wrong(r, what, node, "a list of task ids and of { parallel: [ids] }"),
    }
    steps.retain(|step| !step.is_empty());
    Some(steps)
}

fn step(r: &mut Report<'_>, what: &str, node: &Node, steps: &mut Steps) {
    match &node.value {
        Value::Seq(_) => steps.extend(ids(r, what, node)),
        Value::Map(_) => modes(r, node, steps),
        Value::Null => {}
        _ => steps.extend(placed(r, what, node).map(|id| vec![id])),
    }
}

/// The keys in the order they are written: `sequential` then `parallel` is another order than the reverse.
fn modes(r: &mut Report<'_>, node: &Node, steps: &mut Steps) {
    for (key, value) in node.entries().into_iter().flatten() {
        match &*key.text {
            _ if value.is_null() => {}
            "parallel" => steps.extend(ids(r, "parallel", value)),
            "sequential" => {
                steps.extend(ids(r, "sequential", value).into_iter().flatten().map(|id| vec![id]));
            }
            other => {
                let help = r.did_you_mean(other, keys::names(STEP));
                r.error("unknown-key", key.span, format!("a step has no key '{other}'")).help =
                    help.or_else(|| {
                        Some("a step is a task id, { parallel: [ids] } or { sequential: [ids] }".to_owned())
                    });
            }
        }
    }
}
