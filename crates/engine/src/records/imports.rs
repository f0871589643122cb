//! What other tools have to do, as tasks: issues of GitHub and Linear, lists in Markdown, tasks of task-master and
//! vibe-kanban, and whatever an importer knows. Each tool's reader gives items; what becomes of them is the same for all.

pub mod github;
pub mod linear;
pub mod markdown;
pub mod plugin;
pub mod task_master;
pub mod vibe_kanban;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::beads::{Drafted, LeftOut, TaskDraft};
use crate::plugins::PluginError;

/// More than this is not read.
const LARGEST: u64 = 64 << 20;

/// As long as names and ids of tasks may be.
const LONGEST_NAME: usize = 100;
const LONGEST_ID: usize = 50;

#[derive(Debug, Error)]
pub enum ImportError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not what {tool} writes: {why}", path.display())]
    Foreign { path: PathBuf, tool: &'static str, why: String },
    #[error("gh cannot be asked: {0}")]
    Gh(String),
    #[error(transparent)]
    Plugin(#[from] PluginError),
}

/// One thing to do, as another tool has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Item {
    /// By which others of the same tool name it.
    pub id: String,
    pub title: String,
    pub body: String,
    /// As tasks have it: 0 is critical, 4 backlog.
    pub priority: Option<u8>,
    /// What has to be done before.
    pub needs: Vec<String>,
    pub state: State,
    /// What it is a part of.
    pub group: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum State {
    #[default]
    Open,
    Done,
    /// Why it is not to be done now.
    LeftOut(String),
}

/// The items that are open, as tasks that need each other as the items do.
pub fn draft(items: Vec<Item>) -> Drafted {
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    let mut taken = BTreeSet::new();
    let done: BTreeSet<String> =
        items.iter().filter(|item| item.state == State::Done).map(|item| item.id.clone()).collect();
    for item in items.iter().filter(|item| item.state == State::Open) {
        let id = free_id(if item.id.is_empty() { &item.title } else { &item.id }, &mut taken);
        ids.entry(item.id.clone()).or_insert(id);
    }
    let mut drafted = Drafted::default();
    for item in items {
        match item.state {
            State::Done => {}
            State::LeftOut(why) => drafted.left_out.push(LeftOut { id: named(&item.id, &item.title), why }),
            State::Open => {
                let id = ids.get(&item.id).cloned().unwrap_or_default();
                let (known, unknown): (Vec<&String>, Vec<&String>) = item
                    .needs
                    .iter()
                    .filter(|need| !done.contains(*need))
                    .partition(|need| ids.contains_key(*need) && **need != item.id);
                if let Some(first) = unknown.first() {
                    let why = "is not among what is to be done".to_owned();
                    drafted.left_out.push(LeftOut { id: format!("{id}'s dependency on {first}"), why });
                }
                let dependencies: BTreeSet<String> =
                    known.iter().filter_map(|need| ids.get(*need).cloned()).collect();
                drafted.tasks.push(TaskDraft {
                    name: name_of(&item.title, &id),
                    prompt: prompt_of(&item.title, &item.body),
                    priority: item.priority.unwrap_or(2).min(4),
                    dependencies: dependencies.into_iter().collect(),
                    group: item.group,
                    id,
                    ..TaskDraft::default()
                });
            }
        }
    }
    drafted
}

fn named(id: &str, title: &str) -> String {
    let name = if id.is_empty() { title } else { id };
    name.chars().take(LONGEST_NAME).collect()
}

/// A name is one line that people read.
fn name_of(title: &str, id: &str) -> String {
    let line: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let name: String = line.trim().chars().take(LONGEST_NAME).collect();
    if name.trim().is_empty() { id.to_owned() } else { name.trim().to_owned() }
}

fn prompt_of(title: &str, body: &str) -> String {
    match (title.trim(), body.trim()) {
        (title, body) if body.is_empty() || body == title => title.to_owned(),
        ("", body) => body.to_owned(),
        (title, body) => format!("{title}\n\n{body}"),
    }
}

/// An id that is safe as a file's name and that no other has.
fn free_id(wish: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let mut id = String::new();
    for c in wish.chars() {
        match plain(c) {
            true => id.push(c.to_ascii_lowercase()),
            false if !id.ends_with('-') => id.push('-'),
            false => {}
        }
    }
    let id: String = id.trim_matches(|c| matches!(c, '-' | '.')).chars().take(LONGEST_ID - 4).collect();
    let id = match id.trim_end_matches(['-', '.']) {
        "" => "task".to_owned(),
        id => id.to_owned(),
    };
    let mut free = id.clone();
    let mut number = 2;
    while !taken.insert(free.clone()) {
        free = format!("{id}-{number}");
        number += 1;
    }
    free
}

/// A whole file, within bounds.
fn read(path: &Path) -> Result<Vec<u8>, ImportError> {
    let unreadable = |source| ImportError::Unreadable { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(unreadable(io::Error::other("it is a directory")));
    }
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    match bytes.len() as u64 > LARGEST {
        true => Err(unreadable(io::Error::other("it is larger than 64 MiB"))),
        false => Ok(bytes),
    }
}

fn read_json(path: &Path, tool: &'static str) -> Result<serde_json::Value, ImportError> {
    serde_json::from_slice(&read(path)?).map_err(|error| ImportError::Foreign {
        path: path.to_owned(),
        tool,
        why: error.to_string(),
    })
}

/// A number or a text, as ids are in some tools either.
fn word(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, needs: &[&str], state: State) -> Item {
        let needs = needs.iter().map(|need| (*need).to_owned()).collect();
        Item { id: id.to_owned(), title: format!("Do {id}"), needs, state, ..Item::default() }
    }

    #[test]
    fn open_items_become_tasks_that_need_each_other() {
        let items = vec![
            item("A 1", &[], State::Done),
            item("b/2", &["A 1"], State::Open),
            item("B 2", &["b/2", "gone", "B 2"], State::Open),
            item("c", &[], State::LeftOut("is cancelled".to_owned())),
        ];
        let drafted = draft(items);
        let tasks: Vec<String> =
            drafted.tasks.iter().map(|task| format!("{} {:?}", task.id, task.dependencies)).collect();
        assert_eq!(tasks, ["b-2 []", "b-2-2 [\"b-2\"]"]);
        let left: Vec<String> =
            drafted.left_out.iter().map(|left| format!("{} {}", left.id, left.why)).collect();
        assert_eq!(left, ["b-2-2's dependency on gone is not among what is to be done", "c is cancelled"]);
    }

    #[test]
    fn every_title_gives_an_id_that_can_be_used() {
        let mut taken = BTreeSet::new();
        for (wish, id) in
            [("Fix: the Parser!", "fix-the-parser"), ("../..", "task"), ("äöü", "task-2"), ("--x", "x")]
        {
            assert_eq!(free_id(wish, &mut taken), id);
        }
        let long = free_id(&"word ".repeat(40), &mut taken);
        assert!(long.len() <= LONGEST_ID && !long.ends_with('-'), "{long}");
    }
}
