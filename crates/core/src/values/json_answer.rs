//! The JSON in an answer: bare, fenced, or somewhere within prose.

use serde_json::{Map, Value};
use thiserror::Error;

/// Why nothing could be made of an answer, in words its author can act on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unreadable {
    #[error("the answer is empty")]
    Empty,
    #[error("there is no JSON object in the answer")]
    Nothing,
    #[error("the JSON object in the answer breaks off before its end")]
    Truncated,
    #[error("the JSON in the answer is broken: {0}")]
    Broken(String),
    #[error("the JSON object in the answer has no '{wanted}'; it has {found}")]
    Other { wanted: &'static str, found: String },
    #[error("'{key}' {why}")]
    Meaningless { key: &'static str, why: String },
}

/// The object that has the wanted key, itself or a little way inside of it; of several the last, for the end
/// of an answer counts. A bare list of objects stands for an object whose wanted key it is.
///
/// No part is looked at more often than the parser goes deep, which is 128 times, so the time it takes grows with the
/// length of the answer alone.
pub fn extract(answer: &str, wanted: &'static str) -> Result<Map<String, Value>, Unreadable> {
    if answer.trim().is_empty() {
        return Err(Unreadable::Empty);
    }
    let mut seen = Seen::default();
    let (mut found, mut listed) = (None, None);
    let mut from = 0;
    while let Some(at) = answer[from..].find(['{', '[']).map(|at| from + at) {
        let mut values = serde_json::Deserializer::from_str(&answer[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                from = at + values.byte_offset();
                match value {
                    Value::Object(object) => {
                        seen.note(&object);
                        found = having(object, wanted).or(found);
                    }
                    Value::Array(items) if !seen.truncated && is_list(&items) => listed = Some(items),
                    _ => {}
                }
            }
            Some(Err(error)) => {
                seen.fail(&answer[at..], &error);
                from = at + if is_too_deep(&error) { below(&answer[at..]) } else { 1 };
            }
            None => break,
        }
    }
    let listed = listed.map(|items| Map::from_iter([(wanted.to_owned(), Value::Array(items))]));
    found.or(listed).ok_or_else(|| seen.why(wanted))
}

fn is_too_deep(error: &serde_json::Error) -> bool {
    error.is_syntax() && error.to_string().starts_with("recursion limit")
}

/// Past openings which have all been gone into at once, and in vain.
fn below(text: &str) -> usize {
    const MANY: usize = 64;
    text.match_indices(['{', '[']).nth(MANY).map_or(text.len(), |(at, _)| at)
}

/// What was met on the way, for the error that says why nothing was found.
#[derive(Default)]
struct Seen {
    keys: Option<String>,
    truncated: bool,
    broken: Option<String>,
}

impl Seen {
    fn note(&mut self, object: &Map<String, Value>) {
        const MOST: usize = 8;
        let keys = || object.keys().take(MOST).map(|key| format!("'{}'", short(key))).collect::<Vec<_>>();
        if self.keys.is_none() {
            self.keys = Some(if object.is_empty() { "no keys at all".into() } else { keys().join(", ") });
        }
    }

    /// Braces in prose are no JSON, and no fault; what has a quoted key behind its brace was meant as such.
    fn fail(&mut self, text: &str, error: &serde_json::Error) {
        let mut rest = text[1..].trim_start().chars();
        let meant = text.starts_with('{') && rest.next() == Some('"');
        if meant && error.is_eof() {
            self.truncated = true;
        } else if meant && self.broken.is_none() {
            self.broken = Some(error.to_string());
        }
    }

    fn why(self, wanted: &'static str) -> Unreadable {
        match self {
            Seen { truncated: true, .. } => Unreadable::Truncated,
            Seen { broken: Some(why), .. } => Unreadable::Broken(why),
            Seen { keys: Some(found), .. } => Unreadable::Other { wanted, found },
            _ => Unreadable::Nothing,
        }
    }
}

/// A list of objects, as of tasks; other lists are part of what is said around it.
fn is_list(items: &[Value]) -> bool {
    let named = |item: &Value| ["id", "name", "description"].iter().any(|key| item.get(key).is_some());
    !items.is_empty() && items.iter().all(named)
}

/// The object itself, or one in it that has the key.
fn having(object: Map<String, Value>, wanted: &str) -> Option<Map<String, Value>> {
    const DEEPEST: usize = 3;
    let mut level = vec![object];
    for _ in 0..DEEPEST {
        if let Some(place) = level.iter().position(|object| object.contains_key(wanted)) {
            return Some(level.swap_remove(place));
        }
        let inner = level.into_iter().flat_map(|object| object.into_iter().map(|(_, value)| value));
        level = inner.filter_map(as_object).collect();
    }
    None
}

fn as_object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// The beginning of a text, fit to be shown in a line.
pub(crate) fn short(text: &str) -> String {
    const LONGEST: usize = 60;
    let plain = |c: char| if c.is_control() { '?' } else { c };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => text[..end].chars().map(plain).chain(['…']).collect(),
        None => text.chars().map(plain).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(answer: &str) -> Result<String, Unreadable> {
        extract(answer, "tasks").map(|object| object["tasks"].to_string())
    }

    #[test]
    fn the_object_is_found_wherever_it_stands() {
        for answer in [
            r#"{"tasks":[1]}"#,
            "```json\n{\"tasks\": [1]}\n```",
            "Sure! Here {as you asked} it is:\n```\n{\"tasks\":[1]}\n```\nGood luck {you'll need it}.",
            r#"{"note": "first {an} example"} and {"tasks": [1], "x": "}{\"}"}"#,
            r#"{"plan": {"tasks": [1]}, "more": {}}"#,
            r#"{"result": {"plan": {"tasks": [1]}}}"#,
            r#"{"tasks": [0]} no, rather {"tasks": [1]}"#,
            r#"{"unclosed": "quote {"tasks": [1]}"#,
            r#"See [1] and [the docs]: {{"tasks":[1]}}"#,
        ] {
            assert_eq!(tasks(answer).as_deref(), Ok("[1]"), "{answer}");
        }
        assert_eq!(tasks(r#"here: [{"id":"a"}]"#).as_deref(), Ok(r#"[{"id":"a"}]"#));
    }

    #[test]
    fn where_there_is_none_the_reason_is_told() {
        let other = |found: &str| Unreadable::Other { wanted: "tasks", found: found.into() };
        for (answer, why) in [
            (" \n", Unreadable::Empty),
            ("I cannot do that {sorry} [1].", Unreadable::Nothing),
            (r#"{"tasks": [{"id": "a", "dependencies": [{"id": "b"}]}, {"id""#, Unreadable::Truncated),
            (r#"{"a": 1} {"b": 2}"#, other("'a'")),
            ("{}", other("no keys at all")),
        ] {
            assert_eq!(tasks(answer), Err(why), "{answer}");
        }
        let broken = tasks(r#"{"tasks": [1,]}"#).unwrap_err();
        assert!(matches!(&broken, Unreadable::Broken(why) if why.contains("line 1")), "{broken}");
    }
}
