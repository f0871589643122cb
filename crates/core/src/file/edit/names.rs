//! Where a task or an epic is named by others: in dependencies, groups, the execution order, settings.

use super::super::source::Source;
use super::super::tree::{Node, Value};
use super::Kind;
use super::path::{Step, joined};

/// A value that names it.
pub(super) struct Naming {
    /// Whose value it is, in words.
    pub(super) by: String,
    pub(super) path: Vec<Step>,
}

/// All places but its own id.
pub(super) fn naming(source: &Source, root: &Node, kind: Kind, id: &str) -> Vec<Naming> {
    let mut search = Search { source, id, found: Vec::new() };
    let tasks = list_path(root, Kind::Task);
    let task_nodes = value_of(root, "tasks").unwrap_or(root);
    match kind {
        Kind::Task => {
            search.items(task_nodes, &tasks, "task", "id", &["dependencies", "depends_on"]);
            search.items_of(root, "groups", "group", "name", &["tasks"]);
            if let Some(order) = value_of(root, "execution_order") {
                search.words("execution_order", order, &[Step::Key("execution_order".to_owned())]);
            }
        }
        Kind::Epic => {
            search.items(task_nodes, &tasks, "task", "id", &["epic"]);
            search.items_of(root, "epics", "epic", "id", &["dependencies"]);
            if let Some(epic) = value_of(root, "config").and_then(|config| value_of(config, "epic")) {
                let path = ["config", "epic"].map(|key| Step::Key(key.to_owned()));
                search.words("config", epic, &path);
            }
        }
    }
    search.found
}

/// Where the tasks or the epics are listed.
pub(super) fn list_path(root: &Node, kind: Kind) -> Vec<Step> {
    match (&root.value, kind) {
        (Value::Seq(_), Kind::Task) => Vec::new(),
        _ => vec![Step::Key(kind.section().to_owned())],
    }
}

pub(super) fn value_of<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    node.entries()?.iter().find(|(key, _)| *key.text == *name).map(|(_, node)| node)
}

pub(super) fn items(node: &Node) -> &[Node] {
    match &node.value {
        Value::Seq(items) => items,
        _ => &[],
    }
}

struct Search<'s> {
    source: &'s Source,
    id: &'s str,
    found: Vec<Naming>,
}

impl Search<'_> {
    fn items_of(&mut self, root: &Node, section: &str, what: &str, name: &str, keys: &[&str]) {
        if let Some(node) = value_of(root, section) {
            self.items(node, &[Step::Key(section.to_owned())], what, name, keys);
        }
    }

    /// What some keys of every item of a list say.
    fn items(&mut self, list: &Node, path: &[Step], what: &str, name: &str, keys: &[&str]) {
        for (place, item) in items(list).iter().enumerate() {
            let own = value_of(item, name).and_then(|node| node.text(self.source));
            let by = format!("{what} '{}'", own.unwrap_or("?"));
            for key in keys {
                if let Some(node) = value_of(item, key) {
                    let path = joined(&joined(path, Step::Item(place)), Step::Key((*key).to_owned()));
                    self.words(&by, node, &path);
                }
            }
        }
    }

    /// Every scalar in a value, of a dependency only its `id`. As deep as files are, which is bounded.
    fn words(&mut self, by: &str, node: &Node, path: &[Step]) {
        match &node.value {
            Value::Seq(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.words(by, item, &joined(path, Step::Item(place)));
                }
            }
            Value::Map(entries) => {
                let names = |key: &str| !matches!(key, "when" | "kind" | "dependency_type");
                for (key, node) in entries.iter().filter(|(key, _)| names(&key.text)) {
                    self.words(by, node, &joined(path, Step::Key(key.text.to_string())));
                }
            }
            _ if node.text(self.source) == Some(self.id) => {
                self.found.push(Naming { by: by.to_owned(), path: path.to_vec() });
            }
            _ => {}
        }
    }
}
