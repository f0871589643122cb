//! The first line of every plugin.

use serde::Serialize;
use serde_json::Value;

use super::{Kind, PROTOCOL, PluginError};
use crate::host::redact;
use crate::process::transcript::shown;

/// Longer versions, and more capabilities, are none.
const LONGEST_VERSION: usize = 64;
const MOST_CAPABILITIES: usize = 64;

/// How much of a line is quoted.
const QUOTED: usize = 200;

/// What a plugin says of itself: `{"type":"hello","protocol":1,"version":"1.2.0","capabilities":["verifier"]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hello {
    pub protocol: u32,
    pub version: String,
    /// The kinds it can be used as, and whatever else it wants to say.
    pub capabilities: Vec<String>,
}

/// The hello in a plugin's first line, if it fits what the plugin is used as.
pub fn read_hello(name: &str, kind: Kind, line: &[u8]) -> Result<Hello, PluginError> {
    let said: Value = serde_json::from_slice(line).unwrap_or_default();
    let name = || name.to_owned();
    if said["type"] != "hello" {
        return Err(PluginError::NoHello { name: name(), line: quoted(line) });
    }
    if said["protocol"].as_u64() != Some(u64::from(PROTOCOL)) {
        return Err(PluginError::Protocol { name: name(), theirs: brief(&said["protocol"]) });
    }
    let version = said["version"].as_str().filter(|version| is_version(version));
    let Some(version) = version else {
        return Err(PluginError::Version { name: name(), version: brief(&said["version"]) });
    };
    let list = said["capabilities"].as_array().map_or(&[][..], Vec::as_slice);
    let can: Vec<String> = list
        .iter()
        .take(MOST_CAPABILITIES)
        .map(|one| one.as_str().map_or_else(|| brief(one), str::to_owned))
        .collect();
    if !can.iter().any(|can| can == kind.name()) {
        return Err(PluginError::Incapable { name: name(), kind, can });
    }
    Ok(Hello { protocol: PROTOCOL, version: version.to_owned(), capabilities: can })
}

/// Figures and dots first, as 1.2.0 or 2.0-rc1; it is shown to people and kept in files.
fn is_version(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
    text.len() <= LONGEST_VERSION && text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(plain)
}

fn brief(value: &Value) -> String {
    quoted(value.to_string().as_bytes())
}

/// A line of unknown origin as it can be shown.
pub(super) fn quoted(line: &[u8]) -> String {
    let text = shown(&line[..line.len().min(QUOTED * 4)]).replace('\n', " ");
    redact::known().cut(text.trim(), QUOTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_that_does_not_fit_is_refused_by_name() {
        let read = |line: &str| read_hello("conductor-verifier-x", Kind::Verifier, line.as_bytes());
        let good = r#"{"type":"hello","protocol":1,"version":"1.2.0-rc1","capabilities":["verifier","fast"],"more":1}"#;
        assert_eq!(read(good).unwrap().version, "1.2.0-rc1");
        for (line, told) in [
            ("", "did not begin with a hello"),
            ("ready", "did not begin with a hello: ready"),
            (r#"{"type":"done"}"#, "did not begin with a hello"),
            (
                r#"{"type":"hello","protocol":2,"version":"1","capabilities":["verifier"]}"#,
                "speaks protocol 2, and this is 1",
            ),
            (
                r#"{"type":"hello","protocol":"1","version":"1","capabilities":["verifier"]}"#,
                "speaks protocol \"1\"",
            ),
            (r#"{"type":"hello","version":"1","capabilities":["verifier"]}"#, "speaks protocol null"),
            (r#"{"type":"hello","protocol":1,"capabilities":["verifier"]}"#, "a version that is none: null"),
            (
                r#"{"type":"hello","protocol":1,"version":"latest","capabilities":["verifier"]}"#,
                "a version that is none",
            ),
            (
                r#"{"type":"hello","protocol":1,"version":"1 \u001b[2J","capabilities":["verifier"]}"#,
                "a version that is none",
            ),
            (
                r#"{"type":"hello","protocol":1,"version":"1","capabilities":["notifier"]}"#,
                "can notifier, and not verifier",
            ),
            (r#"{"type":"hello","protocol":1,"version":"1","capabilities":"verifier"}"#, "and not verifier"),
        ] {
            let error = read(line).unwrap_err().to_string();
            assert!(error.starts_with("conductor-verifier-x ") && error.contains(told), "{line}: {error}");
        }
    }
}
