//! A verifier looks at the work in a folder: what it finds, and whether the work may land.

use std::path::{Component, Path};

use conductor_core::run::event::{Finding, Level};
use serde_json::{Value, json};

use super::exchange::{Exchange, Limits};
use super::{Environment, Found, PROTOCOL, PluginError};
use crate::process::transcript::shown;

/// More findings than this are counted only: nothing reads them one by one.
pub const MOST_FINDINGS: usize = 10_000;

/// A finding is a line or two.
const LONGEST_MESSAGE: usize = 2000;
const LONGEST_CODE: usize = 80;

/// What a verifier said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub findings: Vec<Finding>,
    /// Beyond those that are kept.
    pub more: usize,
    /// Whether it lets the work pass.
    pub passed: bool,
    pub version: String,
}

/// Asks a verifier about the work in a folder. An error among its findings keeps the work from landing, whatever else it says.
pub fn verify(
    found: &Found,
    environment: &Environment,
    directory: &Path,
    (task, arguments): (Option<&str>, &[String]),
    limits: Limits,
) -> Result<Verdict, PluginError> {
    let mut exchange = Exchange::start(found, environment, directory, limits)?;
    exchange.send(&json!({
        "type": "verify", "protocol": PROTOCOL, "directory": directory, "task": task, "arguments": arguments,
    }))?;
    let deadline = exchange.deadline();
    let mut verdict =
        Verdict { findings: Vec::new(), more: 0, passed: true, version: exchange.hello().version.clone() };
    loop {
        let message = exchange.next(deadline)?;
        if exchange.is_done(&message)? {
            verdict.passed &= message["ok"] != false;
            break;
        }
        if message["type"] != "finding" {
            continue;
        }
        let finding = finding(&message, directory, &found.name);
        verdict.passed &= finding.level != Level::Error;
        match verdict.findings.len() < MOST_FINDINGS {
            true => verdict.findings.push(finding),
            false => verdict.more += 1,
        }
    }
    exchange.end();
    Ok(verdict)
}

fn finding(message: &Value, directory: &Path, by: &str) -> Finding {
    let text = |value: &Value, most: usize| {
        let text = value.as_str().map(|text| shown(text.as_bytes()).replace('\n', " ")).unwrap_or_default();
        text.trim().chars().take(most).collect::<String>()
    };
    let number =
        |value: &Value| value.as_u64().filter(|number| *number > 0).and_then(|number| number.try_into().ok());
    let said = text(&message["message"], LONGEST_MESSAGE);
    Finding {
        // An unknown level is taken for the worst.
        level: message["level"].as_str().and_then(Level::named).unwrap_or(Level::Error),
        message: if said.is_empty() { "it does not say what".to_owned() } else { said },
        file: message["file"].as_str().and_then(|file| inside(file, directory)),
        line: number(&message["line"]),
        column: number(&message["column"]),
        code: Some(text(&message["code"], LONGEST_CODE)).filter(|code| !code.is_empty()),
        by: by.to_owned(),
    }
}

/// A path below the folder that was looked at; nothing for any other.
fn inside(file: &str, directory: &Path) -> Option<String> {
    let file = Path::new(file);
    let below = if file.is_absolute() { file.strip_prefix(directory).ok()? } else { file };
    let plain: Vec<&str> = below
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(part) => part.to_str().filter(|part| !part.contains(char::is_control)),
            _ => None,
        })
        .collect::<Option<_>>()?;
    (!plain.is_empty()).then(|| plain.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_inside_or_none() {
        let here = Path::new("/w");
        for (file, place) in [
            ("src/a.rs", Some("src/a.rs")),
            ("./src//a.rs", Some("src/a.rs")),
            ("/w/src/a.rs", Some("src/a.rs")),
            ("/etc/passwd", None),
            ("../a.rs", None),
            ("a/../../b", None),
            ("a\u{1b}[2J", None),
            ("", None),
            ("/w", None),
        ] {
            assert_eq!(inside(file, here).as_deref(), place, "{file}");
        }
    }

    #[test]
    fn whatever_is_said_becomes_a_finding_that_can_be_shown() {
        let read = |message: Value| finding(&message, Path::new("/w"), "x").to_string();
        let whole = json!({ "level": "warning", "file": "a.py", "line": 3, "column": 7, "message": "no\n\u{1b}[1mdocs", "code": "D1" });
        assert_eq!(read(whole), "a.py:3:7: warning: no docs [D1]");
        assert_eq!(read(json!({})), "error: it does not say what");
        assert_eq!(read(json!({ "level": "fatal", "message": "x", "file": "../y", "line": 1 })), "error: x");
        assert_eq!(
            read(json!({ "level": "note", "message": "x", "file": "y", "line": 0, "column": 2 })),
            "y: note: x"
        );
    }
}
