//! Every top-level module has its place on the map, and every file that the map names is there.

use std::fs;
use std::path::{Path, PathBuf};

use super::Finding;
use super::source::Crate;
use crate::Result;

const MAP: &str = "docs/ARCHITECTURE.md";

pub(super) fn check(root: &Path, source: &Crate) -> Result<Vec<Finding>> {
    let map = fs::read_to_string(root.join(MAP))?;
    let heading = format!("`crates/{}`", source.name);
    let finding = |line, what| Finding { path: PathBuf::from(MAP), line, what };
    let Some(start) = map.lines().position(|line| line.starts_with(&heading)) else {
        return Ok(vec![finding(1, format!("no line that begins with {heading}"))]);
    };
    let rows: Vec<(usize, &str)> = rows(&map, start).collect();
    let is_named = |module: &str| rows.iter().any(|(_, name)| *name == module);
    let unnamed = source.modules.iter().filter(|module| !is_named(module));
    let unnamed = unnamed.map(|module| finding(start + 1, format!("`{module}` of {heading} has no row")));
    let gone = rows.iter().filter(|(_, name)| !source.modules.contains(*name));
    let gone = gone.map(|(line, name)| finding(*line, format!("`{name}` is no module of {heading}")));
    Ok(unnamed.chain(gone).collect())
}

/// The modules that the table below this line has rows for, by the row's first cell, and in which line: what the other cell
/// mentions is not placed by that.
fn rows(map: &str, start: usize) -> impl Iterator<Item = (usize, &str)> {
    let below = map.lines().enumerate().skip(start + 1).skip_while(|(_, line)| !line.starts_with('|'));
    // Behind the table's head and the line below it.
    let table = below.take_while(|(_, line)| line.starts_with('|')).skip(2);
    table.flat_map(|(at, line)| {
        let first = line.split('|').nth(1).unwrap_or_default();
        first.split('`').skip(1).step_by(2).map(move |name| (at + 1, name.trim_end_matches('/')))
    })
}

/// `core/plan/task.rs` is short for the file below `crates/core/src`; so is a module's name without its ending, and a folder's.
pub(super) fn check_paths(root: &Path) -> Result<Vec<Finding>> {
    let map = fs::read_to_string(root.join(MAP))?;
    let mut found = Vec::new();
    for (number, line) in map.lines().enumerate() {
        for word in line.split('`').skip(1).step_by(2).filter(|word| !is_pattern(word)) {
            if !is_there(root, word) {
                let what = format!("`{word}` does not exist");
                found.push(Finding { path: PathBuf::from(MAP), line: number + 1, what });
            }
        }
    }
    Ok(found)
}

/// Whether a path leads anywhere; what is no path is not asked.
pub(super) fn is_there(root: &Path, word: &str) -> bool {
    place(root, word).is_none_or(|place| place.exists() || place.with_extension("rs").exists())
}

/// `engine/agents/NAME.rs`, `cli/…`, or no path at all.
fn is_pattern(word: &str) -> bool {
    word.contains("NAME") || word.contains(['…', ' ', '*', '{'])
}

/// Where a path would be; nothing where a word is none.
fn place(root: &Path, word: &str) -> Option<PathBuf> {
    let (first, below) = word.trim_end_matches('/').split_once('/')?;
    let source = root.join("crates").join(first).join("src");
    match source.is_dir() {
        true => Some(source.join(below)),
        false => matches!(first, "crates" | "docs" | "xtask").then(|| root.join(word)),
    }
}
