//! Every top-level module is on the map.

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
