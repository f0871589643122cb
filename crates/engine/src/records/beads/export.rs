//! `.beads/issues.jsonl`, the export of beads: one issue a line. It may be older than the database.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use super::issue::Issue;

pub const FILE: &str = ".beads/issues.jsonl";

#[derive(Debug, Error)]
pub enum ExportError {
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path}, line {line}: {why}")]
    BadLine { path: PathBuf, line: usize, why: String },
}

/// The export of the directory, or of one around it.
pub fn find(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().map(|folder| folder.join(FILE)).find(|file| file.is_file())
}

/// Every issue in it. Memories and what was taken back are passed over.
pub fn read(path: &Path) -> Result<Vec<Issue>, ExportError> {
    let text = fs::read_to_string(path)
        .map_err(|source| ExportError::Unreadable { path: path.to_owned(), source })?;
    let mut issues = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let bad = |why: String| ExportError::BadLine { path: path.to_owned(), line: number + 1, why };
        let value: Value =
            serde_json::from_str(line).map_err(|error| bad(format!("it is no JSON: {error}")))?;
        let is_other = value.get("_type").and_then(Value::as_str).is_some_and(|kind| kind != "issue");
        if is_other || value.get("status").and_then(Value::as_str) == Some("tombstone") {
            continue;
        }
        issues.push(Issue::read(&value).map_err(bad)?);
    }
    Ok(issues)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_is_read_line_by_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let lines = [
            r#"{"id":"app-1","title":"Parser","status":"open","priority":1}"#,
            "",
            r#"{"_type":"memory","key":"x"}"#,
            r#"{"id":"app-0","title":"Gone","status":"tombstone"}"#,
            r#"{"id":"app-2","title":"Tests","dependencies":[{"issue_id":"app-2","depends_on_id":"app-1","type":"blocks"}]}"#,
        ];
        fs::write(&path, lines.join("\n")).unwrap();
        let below = dir.path().join("src");
        fs::create_dir(&below).unwrap();
        assert_eq!(find(&below), Some(path.clone()));
        let issues = read(&path).unwrap();
        assert_eq!(issues.iter().map(|issue| issue.id.as_str()).collect::<Vec<_>>(), ["app-1", "app-2"]);
        assert_eq!((issues[0].priority, issues[1].priority), (1, 2));
        fs::write(&path, "{\"id\":\"a\"}\n<<<<<<< HEAD\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("issues.jsonl, line 2: it is no JSON"), "{error}");
    }
}
