//! `cargo xtask tidy`: what keeps the source readable, checked instead of remembered.
//!
//! It reads source text only: nothing is built. What may break a rule stands in `allowed`, with its reason.

mod allowed;
mod cycles;
mod glossary;
mod lengths;
mod named;
mod source;
mod uses;
mod words;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::Result;
use source::Crate;

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// Relative to the repository.
    path: PathBuf,
    line: usize,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.what)
    }
}

pub(crate) fn run() -> Result {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
    let findings = allowed::sift(findings(root)?);
    if findings.is_empty() {
        return Ok(());
    }
    findings.iter().for_each(|finding| eprintln!("{finding}"));
    Err(format!("{} places are not tidy", findings.len()).into())
}

/// All that is found in a repository.
fn findings(root: &Path) -> Result<Vec<Finding>> {
    let mut all = words::check(root)?;
    all.extend(named::check_paths(root)?);
    all.extend(glossary::check(root)?);
    for name in source::crates(root)? {
        let source = Crate::read(root, &Path::new("crates").join(&name), &name)?;
        all.extend(cycles::check(&source));
        all.extend(named::check(root, &source)?);
        all.extend(lengths::check(&source));
    }
    // Our own commands are on no map.
    let own = Crate::read(root, Path::new("xtask"), "xtask")?;
    all.extend(cycles::check(&own));
    all.extend(lengths::check(&own));
    all.sort();
    Ok(all)
}

#[cfg(test)]
mod tests;
