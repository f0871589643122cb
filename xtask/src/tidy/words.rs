//! Words that leave open who or what is meant.

use std::fs;
use std::path::{Path, PathBuf};

use super::Finding;
use crate::Result;

/// In halves, so that this file does not find itself.
const FORBIDDEN: [[&str; 2]; 5] =
    [["some", "body"], ["who", "ever"], ["no", "body"], ["any", "body"], ["every", "body"]];

/// At the root of the repository.
const PAGES: [&str; 3] = ["README.md", "CONTRIBUTING.md", "SECURITY.md"];

const FOLDERS: [&str; 6] = ["crates", "docs", "xtask/src", "contrib", "examples", "web/src"];

/// Those of people's texts. Scripts without an ending are few, and say little.
const ENDINGS: [&str; 12] = ["rs", "md", "j2", "sql", "toml", "ts", "tsx", "css", "yaml", "yml", "sh", "py"];

/// Written by machines.
const SKIPPED: [&str; 2] = ["target", "node_modules"];

pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let mut files = PAGES.map(PathBuf::from).to_vec();
    for folder in FOLDERS {
        text_files(root, Path::new(folder), &mut files)?;
    }
    let mut findings = Vec::new();
    for path in files {
        let Ok(text) = fs::read_to_string(root.join(&path)) else { continue };
        let lines = text.lines().enumerate();
        findings.extend(lines.flat_map(|(at, line)| found(line).map(move |word| (at + 1, word))).map(
            |(line, word)| {
                let what = format!("'{word}': name the subject (the agent, the coordinator, the user)");
                Finding { path: path.clone(), line, what }
            },
        ));
    }
    Ok(findings)
}

fn found(line: &str) -> impl Iterator<Item = String> {
    let line = line.to_lowercase();
    FORBIDDEN.map(|halves| halves.concat()).into_iter().filter(move |word| line.contains(word))
}

/// What people read: sources, documents, texts. Recordings and fixtures of other programs are theirs.
fn text_files(root: &Path, folder: &Path, into: &mut Vec<PathBuf>) -> Result {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), folder.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            let is_skipped = SKIPPED.iter().any(|skipped| name == *skipped) || is_test_folder(&path);
            if !is_skipped {
                text_files(root, &path, into)?;
            }
        } else if path.extension().is_some_and(|end| ENDINGS.iter().any(|known| end == *known)) {
            into.push(path);
        }
    }
    Ok(())
}

/// `crates/NAME/tests`, beside `src`.
fn is_test_folder(path: &Path) -> bool {
    path.iter().count() == 3 && path.ends_with("tests")
}
