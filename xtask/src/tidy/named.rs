//! Every top-level module is on the map, and every file that the map names is there.

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
    // Up to the next crate's line or heading.
    let part: Vec<&str> = map
        .lines()
        .skip(start + 1)
        .take_while(|line| !line.starts_with("`crates/") && !line.starts_with("## "))
        .collect();
    let is_named = |module: &str| {
        part.iter()
            .any(|line| line.contains(&format!("`{module}`")) || line.contains(&format!("`{module}/`")))
    };
    let unnamed = source.modules.iter().filter(|module| !is_named(module));
    Ok(unnamed.map(|module| finding(start + 1, format!("`{module}` of {heading} is not named"))).collect())
}

/// `core/plan/task.rs` is short for the file below `crates/core/src`; so is a module's name without its ending, and a folder's.
pub(super) fn check_paths(root: &Path) -> Result<Vec<Finding>> {
    let map = fs::read_to_string(root.join(MAP))?;
    let mut found = Vec::new();
    for (number, line) in map.lines().enumerate() {
        for word in line.split('`').skip(1).step_by(2).filter(|word| !is_pattern(word)) {
            if let Some(place) = place(root, word)
                && !place.exists()
                && !place.with_extension("rs").exists()
            {
                let what = format!("`{word}` does not exist");
                found.push(Finding { path: PathBuf::from(MAP), line: number + 1, what });
            }
        }
    }
    Ok(found)
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
