//! Who said what: for each setting of a task whether the task or the config has it, and in which line.

use super::diagnostic::Report;
use super::effective::Written;
use super::keys::{CONFIG, TASK, names};
use super::parse;
use super::source::Source;
use super::tree::{Entry, Node, Value};

/// A key that is set, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub key: String,
    /// In the file's config, not in the task itself.
    pub of_config: bool,
    /// 0 where it is in no file.
    pub line: usize,
    /// The config file it is in or the variable, where it is not in the task file.
    pub file: Option<String>,
}

/// Every key that counts for a task, its own first; what is in neither place is built in.
pub fn origins(source: &Source, task: &str) -> Vec<Origin> {
    let mut report = Report::new(source);
    let Some(root) = parse::parse(&mut report) else { return Vec::new() };
    let section =
        |name: &str| entries(&root).iter().find(|(key, _)| *key.text == *name).map(|(_, node)| node);
    let tasks = match &root.value {
        Value::Seq(items) => &items[..],
        _ => section("tasks").and_then(items).unwrap_or_default(),
    };
    let is_it = |node: &&Node| {
        entries(node).iter().any(|(key, value)| *key.text == *"id" && value.text(source) == Some(task))
    };
    let own = tasks.iter().find(is_it).map(entries).unwrap_or_default();
    let config = section("config").map(entries).unwrap_or_default();
    let mut found: Vec<Origin> = Vec::new();
    for (entry, of_config) in own.iter().map(|entry| (entry, false)).chain(config.iter().map(|e| (e, true))) {
        let (key, line) = (&*entry.0.text, source.position(entry.0.span.start).0);
        let key = if of_config { key.trim_start_matches("default_") } else { key };
        let counts =
            names(TASK).any(|name| name == key) && (!of_config || names(CONFIG).any(|name| name == key));
        if counts && !entry.1.is_null() && !found.iter().any(|known| known.key == key) {
            found.push(Origin { key: key.to_owned(), of_config, line, file: None });
        }
    }
    found
}

/// Adds what a config file sets for tasks and no stronger layer sets.
pub fn add_origins(found: &mut Vec<Origin>, file: &str, written: &[Written]) {
    for one in written {
        let key = one.key.split('.').next().unwrap_or_default();
        if names(TASK).any(|name| name == key) && !found.iter().any(|known| known.key == key) {
            let (key, file) = (key.to_owned(), Some(file.to_owned()));
            found.push(Origin { key, of_config: true, line: one.line, file });
        }
    }
}

/// Puts what counts before the task's own words in their place; each is said by its `name`.
pub fn put_origins(found: &mut Vec<Origin>, written: &[Written], name: impl Fn(&str) -> String) {
    for one in written {
        let key = one.key.split('.').next().unwrap_or_default();
        if names(TASK).any(|known| known == key) {
            found.retain(|known| known.key != key);
            let file = Some(name(&one.key));
            found.insert(0, Origin { key: key.to_owned(), of_config: true, line: 0, file });
        }
    }
}

fn entries(node: &Node) -> &[Entry] {
    node.entries().unwrap_or_default()
}

fn items(node: &Node) -> Option<&[Node]> {
    match &node.value {
        Value::Seq(items) => Some(items),
        _ => None,
    }
}
