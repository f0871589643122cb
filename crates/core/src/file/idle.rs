//! Keys that are known and change nothing: told with their places, for the user counts on them.

use super::diagnostic::{Diagnostic, Report};
use super::source::Span;
use super::tree::{Entry, Node, Value};

/// What is said of work in the cloud: of no effect where no task is for an agent there.
const CLOUD: [&str; 4] = ["repository", "pr_strategy", "auto_pr_timeout", "cloud"];

/// A section of config files about a screen that is not there.
const SECTIONS: [&str; 1] = ["ui"];

/// Whether a setting of a config file has no effect. What is for the cloud may be for a task of any file.
pub(super) fn is_idle(key: &str) -> bool {
    SECTIONS.contains(&key)
}

/// The settings of a whole file: those of its `config`, and of each of its tasks.
pub(super) fn of_file(root: &Node) -> impl Iterator<Item = &Entry> {
    let section = |name: &str| {
        let found = root.entries()?.iter().find(|(key, _)| *key.text == *name);
        found.map(|(_, node)| node)
    };
    let config = section("config").and_then(Node::entries).unwrap_or_default();
    let tasks = match &root.value {
        Value::Seq(tasks) => &tasks[..],
        _ => match section("tasks").map(|node| &node.value) {
            Some(Value::Seq(tasks)) => &tasks[..],
            _ => &[],
        },
    };
    // Sections of config files are unknown here, which is an error already.
    let known = |(key, _): &&Entry| !SECTIONS.contains(&&*key.text);
    config.iter().chain(tasks.iter().filter_map(Node::entries).flatten()).filter(known)
}

/// One warning for all of them, each shown where it is first written. A user with errors to mend hears of it after that.
/// `is_in_cloud` where a task is for an agent there, or may be.
pub(super) fn report<'n>(
    r: &mut Report<'_>,
    settings: impl IntoIterator<Item = &'n Entry>,
    is_in_cloud: bool,
) {
    if r.has_errors() {
        return;
    }
    let mut found: Vec<(&str, Span)> = Vec::new();
    for (key, node) in settings {
        let is_new = || found.iter().all(|(name, _)| *name != &*key.text);
        let name = key.text.trim_start_matches("default_");
        let has_no_effect = is_idle(name) || CLOUD.contains(&name) && !is_in_cloud;
        if !node.is_null() && has_no_effect && is_new() {
            found.push((&key.text, key.span));
        }
    }
    let Some((&(first, span), others)) = found.split_first() else { return };
    let names = others.iter().fold(format!("'{first}'"), |names, (name, _)| format!("{names}, '{name}'"));
    let verb = if others.is_empty() { "has" } else { "have" };
    let warning: &mut Diagnostic = r.warning("no-effect", span, format!("{names} {verb} no effect"));
    for (_, span) in others {
        warning.also(*span, "nor has this");
    }
    let of_sections = found.iter().all(|(name, _)| SECTIONS.contains(name));
    warning.help(match of_sections {
        true => "nothing here reads it; leave it, or take it out",
        false => "it is for agents in the cloud, and the agents here work on this machine; leave it, or take it out",
    });
}
