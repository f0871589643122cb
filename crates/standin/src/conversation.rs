//! A request as every dialect means it: who asks, what was said so far, which tools are offered.
//!
//! It knows no dialect. Where a conversation stands is read from the conversation alone, so that the server need not
//! remember it and any number of agents can share one.

use std::ops::Range;

use serde_json::{Map, Value};

/// Marks the ids of calls that only prepare a step, so that they are not taken for one later.
const PREPARING: &str = "_prep_";

#[derive(Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) model: String,
    pub(crate) stream: bool,
    /// What the CLI calls its session, if it says so.
    pub(crate) session: Option<String>,
    pub(crate) system: String,
    pub(crate) offered: Vec<Offered>,
    pub(crate) entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    Prompt(String),
    Said(String),
    Called { id: String, name: String, input: Value },
    Returned,
}

/// One answer of the model, as the conversation kept it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) called: bool,
}

/// A tool of a request's list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Offered {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) form: Form,
    /// The `properties` and the `required` of its schema.
    pub(crate) parameters: Map<String, Value>,
    pub(crate) required: Vec<String>,
}

/// How a tool wants to be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    #[default]
    Function,
    /// Text instead of JSON.
    Freeform,
    /// Finds further tools.
    Search,
}

impl Offered {
    pub(crate) fn function(name: &str, schema: &Value) -> Offered {
        let required = schema["required"].as_array().into_iter().flatten();
        Offered {
            name: name.to_owned(),
            parameters: schema["properties"].as_object().cloned().unwrap_or_default(),
            required: required.filter_map(Value::as_str).map(str::to_owned).collect(),
            ..Offered::default()
        }
    }

    /// Its name as a log shows it.
    pub(crate) fn full_name(&self) -> String {
        match &self.namespace {
            Some(space) => format!("{space}/{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The id of a call, unique by `unique`.
pub(crate) fn call_id(prefix: &str, unique: &str, preparing: bool) -> String {
    let mark = if preparing { PREPARING } else { "_" };
    format!("{prefix}{mark}{unique}")
}

impl Entry {
    fn is_models(&self) -> bool {
        matches!(self, Entry::Said(_) | Entry::Called { .. })
    }
}

impl Conversation {
    /// Which script is asked for in the prompts: the last `[[script:name]]`, and the entry it is in.
    pub(crate) fn marker(&self) -> Option<(&str, usize)> {
        self.entries.iter().enumerate().rev().find_map(|(index, entry)| match entry {
            Entry::Prompt(text) => marked(text).map(|name| (name, index)),
            _ => None,
        })
    }

    /// The model's answers since the marker, without those that only prepared another.
    pub(crate) fn answers(&self) -> impl Iterator<Item = Said> {
        let from = self.marker().map_or(0, |(_, index)| index);
        self.runs()
            .filter(move |run| run.start >= from && !self.only_prepares(run))
            .map(|run| Said { text: self.text(&run), called: self.calls(&run).next().is_some() })
    }

    /// Whether the last answer prepared the one that is due.
    pub(crate) fn is_prepared(&self) -> bool {
        self.runs().last().is_some_and(|run| self.only_prepares(&run))
    }

    /// Whether a call so far had this value among its arguments.
    pub(crate) fn has_called_with(&self, value: &str) -> bool {
        self.entries.iter().any(|entry| match entry {
            Entry::Called { input: Value::Object(input), .. } => {
                input.values().any(|argument| argument == value)
            }
            _ => false,
        })
    }

    pub(crate) fn prompts(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Prompt(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Runs of entries that are the model's own: one for each answer.
    fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let rest = &self.entries[from..];
            let start = from + rest.iter().position(Entry::is_models)?;
            let length = self.entries[start..].iter().take_while(|entry| entry.is_models()).count();
            from = start + length;
            Some(start..from)
        })
    }

    fn only_prepares(&self, run: &Range<usize>) -> bool {
        let mut calls = self.calls(run).peekable();
        calls.peek().is_some() && calls.all(|id| id.contains(PREPARING))
    }

    fn calls(&self, run: &Range<usize>) -> impl Iterator<Item = &str> {
        self.entries[run.clone()].iter().filter_map(|entry| match entry {
            Entry::Called { id, .. } => Some(id.as_str()),
            _ => None,
        })
    }

    fn text(&self, run: &Range<usize>) -> String {
        let texts = self.entries[run.clone()].iter().filter_map(|entry| match entry {
            Entry::Said(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

fn marked(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("[[script:")?;
    let (name, _) = rest.split_once("]]")?;
    is_name(name).then_some(name)
}

/// Names travel in URLs and as file names.
pub(crate) fn is_name(name: &str) -> bool {
    const LONGEST: usize = 100;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty() && name.len() <= LONGEST && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Entry::Returned;

    fn asked(text: &str) -> Entry {
        Entry::Prompt(text.to_owned())
    }

    fn said(text: &str) -> Entry {
        Entry::Said(text.to_owned())
    }

    fn called(id: &str) -> Entry {
        Entry::Called {
            id: id.to_owned(),
            name: "Read".to_owned(),
            input: serde_json::json!({"file_path": "a.txt"}),
        }
    }

    fn talk(entries: Vec<Entry>) -> Conversation {
        Conversation { entries, ..Conversation::default() }
    }

    #[track_caller]
    fn check(entries: Vec<Entry>, expected: &[(&str, bool)]) {
        let conversation = talk(entries);
        let answers: Vec<Said> = conversation.answers().collect();
        let short: Vec<(&str, bool)> =
            answers.iter().map(|answer| (answer.text.as_str(), answer.called)).collect();
        assert_eq!(short, expected);
    }

    #[test]
    fn an_answer_is_all_that_the_model_said_at_one_time() {
        check(vec![asked("a"), asked("b")], &[]);
        check(vec![asked("a"), said("x"), called("x_1"), Returned], &[("x", true)]);
        check(vec![asked("a"), called("x_1"), Returned, asked("a reminder")], &[("", true)]);
        let two = vec![asked("a"), called("x_1"), called("x_2"), Returned, Returned, said("x"), said("y")];
        check(two, &[("", true), ("xy", false)]);
    }

    #[test]
    fn what_prepares_an_answer_is_none() {
        let prepared = || vec![asked("a"), called("x_1"), Returned, called("x_prep_2"), Returned];
        check(prepared(), &[("", true)]);
        let conversation = talk(prepared());
        assert!(conversation.is_prepared());
        assert!(conversation.has_called_with("a.txt"));
        assert!(!conversation.has_called_with("b.txt"));
    }

    #[test]
    fn the_last_marker_names_the_script_and_answers_count_from_there() {
        let entries = || {
            vec![asked("[[script:one]] do"), said("x"), asked("now [[script:two]]"), called("x_1"), Returned]
        };
        assert_eq!(talk(entries()).marker(), Some(("two", 2)));
        check(entries(), &[("", true)]);
    }

    #[test]
    fn a_marker_must_be_a_plain_name() {
        for text in ["[[script:]]", "[[script:a/b]]", "[[script:a", "script:a]]"] {
            assert_eq!(marked(text), None, "{text}");
        }
        assert_eq!(marked("x [[script:a-1.b_c]] y"), Some("a-1.b_c"));
    }

    #[test]
    fn a_preparing_id_is_told_from_another() {
        assert_eq!(call_id("toolu", "9", false), "toolu_9");
        assert!(call_id("toolu", "9", true).contains(PREPARING));
    }
}
