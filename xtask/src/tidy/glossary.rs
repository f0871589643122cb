//! The table of words is one table, in order, and what it leads to is there.

use std::fs;
use std::path::{Path, PathBuf};

use super::Finding;
use super::named::is_there;
use crate::Result;

const GLOSSARY: &str = "docs/GLOSSARY.md";

pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let text = fs::read_to_string(root.join(GLOSSARY))?;
    let mut found = Vec::new();
    let mut finding =
        |at: usize, what| found.push(Finding { path: PathBuf::from(GLOSSARY), line: at + 1, what });
    let mut before: Option<String> = None;
    let mut has_head = false;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with('|')) {
        if line.starts_with("|---") {
            has_head = true;
            continue;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, word, .., place, _] = cells[..] else { continue };
        if word == "word" {
            continue;
        }
        if !has_head {
            finding(at, format!("'{word}' stands before the head of the table"));
        }
        let key = key(word);
        if let Some(before) = before.filter(|before| *before > key) {
            finding(at, format!("'{word}' stands behind '{before}'"));
        }
        before = Some(key);
        for path in place.split('`').skip(1).step_by(2).filter(|path| !is_there(root, path)) {
            finding(at, format!("`{path}` does not exist"));
        }
    }
    Ok(found)
}

/// What a row is sorted by: its word without what tells it from another of the same name.
fn key(word: &str) -> String {
    word.split(" (").next().unwrap_or_default().to_lowercase()
}
