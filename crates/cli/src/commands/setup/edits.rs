//! Edits of files that belong to other programs: what we add is marked by its name or by lines around it, and nothing else
//! in them is changed.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize as _;
use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Serializer, Value};

use crate::error::{CliError, Exit};
use crate::output::writing;

/// By which our entry among others is known.
const KEY: &str = "conductor";

/// Around what is ours in a file of another form.
const BEGIN: &str = "# >>> conductor setup: `conductor setup AGENT --remove` takes these lines out again";
const END: &str = "# <<< conductor setup";

/// By which a whole file is known to be ours.
const WRITTEN_BY: &str = "Written by `conductor setup`";

pub(super) enum Edit {
    /// An entry of a section of a JSON file.
    Json { path: PathBuf, section: &'static str, value: Value },
    /// Lines of a TOML file, between two marks.
    Block { path: PathBuf, text: String },
    /// A whole file.
    File { path: PathBuf, text: String },
}

impl Edit {
    pub(super) fn path(&self) -> &Path {
        match self {
            Edit::Json { path, .. } | Edit::Block { path, .. } | Edit::File { path, .. } => path,
        }
    }

    /// Its text; nothing where there is no such file.
    pub(super) fn read(&self) -> Result<Option<String>, CliError> {
        let path = self.path();
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                Err(CliError::new(Exit::Unexpected, format!("cannot read {}: {error}", path.display())))
            }
        }
    }

    /// The text with what is ours in it.
    pub(super) fn made(&self, before: Option<&str>) -> Result<Option<String>, CliError> {
        match self {
            Edit::Json { section, value, .. } => {
                let mut whole = self.object(before)?;
                let section = whole.entry(*section).or_insert_with(|| Value::Object(Map::new()));
                let Value::Object(entries) = section else {
                    return Err(self.foreign("its section is no object"));
                };
                if entries.get(KEY) == Some(value) {
                    return Ok(before.map(str::to_owned));
                }
                entries.insert(KEY.to_owned(), value.clone());
                Ok(Some(written(&whole, before)))
            }
            Edit::Block { text, .. } => {
                let rest = without_block(before.unwrap_or_default());
                if rest.lines().any(|line| line.trim() == "[mcp_servers.conductor]") {
                    return Err(self.foreign("it has a server called conductor that is not ours"));
                }
                let gap = if rest.is_empty() || rest.ends_with("\n\n") { "" } else { "\n" };
                let end = if rest.is_empty() || rest.ends_with('\n') { "" } else { "\n" };
                Ok(Some(format!("{rest}{end}{gap}{BEGIN}\n{text}{END}\n")))
            }
            Edit::File { text, .. } => match before {
                Some(before) if !before.contains(WRITTEN_BY) => Err(self.foreign("it is there and not ours")),
                _ => Ok(Some(text.clone())),
            },
        }
    }

    /// The text without what is ours; nothing where the file is not needed any more.
    pub(super) fn taken_back(&self, before: Option<&str>) -> Result<Option<String>, CliError> {
        let Some(before) = before else { return Ok(None) };
        match self {
            Edit::Json { section, .. } => {
                let mut whole = self.object(Some(before))?;
                let Some(Value::Object(entries)) = whole.get_mut(*section) else {
                    return Ok(Some(before.to_owned()));
                };
                if entries.shift_remove(KEY).is_none() {
                    return Ok(Some(before.to_owned()));
                }
                if entries.is_empty() {
                    whole.shift_remove(*section);
                }
                Ok((!whole.is_empty()).then(|| written(&whole, Some(before))))
            }
            Edit::Block { .. } => {
                let rest = without_block(before);
                Ok((!rest.trim().is_empty()).then_some(rest))
            }
            Edit::File { .. } => Ok((!before.contains(WRITTEN_BY)).then(|| before.to_owned())),
        }
    }

    pub(super) fn write(&self, after: Option<&str>) -> Result<(), CliError> {
        // What a link leads to is written: it may be kept somewhere else.
        let path = self.path().canonicalize().unwrap_or_else(|_| self.path().to_owned());
        match after {
            Some(text) => {
                let mode = fs::metadata(&path).ok().map(|data| data.permissions());
                writing::write(&path, text)?;
                // Others' files hold keys; who may read them is not ours to change.
                mode.map_or(Ok(()), |mode| fs::set_permissions(&path, mode))
                    .map_err(|error| self.unwritable(&error))
            }
            None => {
                fs::remove_file(&path).map_err(|error| self.unwritable(&error))?;
                // Only if nothing else is in it.
                let _ = path.parent().map(fs::remove_dir);
                Ok(())
            }
        }
    }

    fn object(&self, before: Option<&str>) -> Result<Map<String, Value>, CliError> {
        let text = before.unwrap_or_default();
        if text.trim().is_empty() {
            return Ok(Map::new());
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(whole)) => Ok(whole),
            Ok(_) => Err(self.foreign("it is no JSON object")),
            Err(error) => Err(self.foreign(&format!("it is no plain JSON: {error}"))),
        }
    }

    fn foreign(&self, why: &str) -> CliError {
        let message = format!("{} is left as it is: {why}; nothing was written", self.path().display());
        CliError::new(Exit::InvalidFile, message)
            .help("`conductor mcp --help` says how to add the tools by hand")
    }

    fn unwritable(&self, error: &std::io::Error) -> CliError {
        CliError::new(Exit::Unexpected, format!("cannot write {}: {error}", self.path().display()))
    }
}

/// As the file is written: by as many spaces as its first inner line has, its last line ended or not.
fn written(whole: &Map<String, Value>, before: Option<&str>) -> String {
    let before = before.unwrap_or("{\n  \n}\n");
    let inner = before.lines().find(|line| line.starts_with([' ', '\t']));
    let indent = inner.map_or("  ", |line| &line[..line.len() - line.trim_start().len()]);
    let indent = if indent.is_empty() { "  " } else { indent };
    let mut out = Vec::new();
    let mut serializer =
        Serializer::with_formatter(&mut out, PrettyFormatter::with_indent(indent.as_bytes()));
    let done = Value::Object(whole.clone()).serialize(&mut serializer);
    let text = done.ok().and_then(|()| String::from_utf8(out).ok()).unwrap_or_default();
    if before.ends_with('\n') { text + "\n" } else { text }
}

/// Without our lines, and the empty one before them.
fn without_block(text: &str) -> String {
    let Some(start) = text.find(BEGIN) else { return text.to_owned() };
    let Some(length) = text[start..].find(END) else { return text.to_owned() };
    let end = start + length + END.len();
    let rest = text[end..].strip_prefix('\n').unwrap_or(&text[end..]);
    let head = &text[..start];
    let head = head.strip_suffix("\n\n").map_or_else(|| head.to_owned(), |head| format!("{head}\n"));
    head + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn there_and_back(edit: &Edit, before: Option<&str>) -> String {
        let made = edit.made(before).unwrap().unwrap();
        assert_eq!(edit.made(Some(&made)).unwrap().as_deref(), Some(made.as_str()), "twice is once");
        assert_eq!(edit.taken_back(Some(&made)).unwrap().as_deref(), before.filter(|text| !text.is_empty()));
        made
    }

    #[test]
    fn an_entry_of_json_is_put_in_and_taken_out() {
        let edit =
            Edit::Json { path: "f".into(), section: "mcpServers", value: json!({ "command": "conductor" }) };
        let made = there_and_back(&edit, None);
        assert_eq!(
            made,
            "{\n  \"mcpServers\": {\n    \"conductor\": {\n      \"command\": \"conductor\"\n    }\n  }\n}\n"
        );
        there_and_back(
            &edit,
            Some(
                "{\n    \"z\": 1,\n    \"mcpServers\": {\n        \"a\": {\n            \"b\": 2\n        }\n    },\n    \"c\": [\n        1.5\n    ]\n}",
            ),
        );
        there_and_back(&edit, Some("{\n\t\"z\": \"\u{e4}\"\n}\n"));
        for text in ["[]", "{ // remark\n}", "{\"mcpServers\": 1}"] {
            assert!(edit.made(Some(text)).is_err(), "{text}");
        }
        assert_eq!(edit.taken_back(Some("{ \"a\": 1 }")).unwrap().as_deref(), Some("{ \"a\": 1 }"));
    }

    #[test]
    fn lines_between_marks_are_put_in_and_taken_out() {
        let edit = Edit::Block {
            path: "f".into(),
            text: "[mcp_servers.conductor]\ncommand = \"conductor\"\n".into(),
        };
        there_and_back(&edit, None);
        there_and_back(&edit, Some("model = \"m\"\n"));
        there_and_back(&edit, Some("model = \"m\"\n\n[a]\nb = 1\n"));
        assert!(edit.made(Some("[mcp_servers.conductor]\ncommand = \"other\"\n")).is_err());
    }

    #[test]
    fn a_file_of_others_is_not_overwritten() {
        let text = format!("# x\n<!-- {WRITTEN_BY} -->\n");
        let edit = Edit::File { path: "f".into(), text };
        there_and_back(&edit, None);
        assert!(edit.made(Some("mine")).is_err());
        assert_eq!(edit.taken_back(Some("mine")).unwrap().as_deref(), Some("mine"));
    }
}
