//! Lines of an agent from a third party. Its tools have no names by which a result could be told from another.

use serde_json::Value;

use super::super::super::talk::text;
use super::{Details, Dialect, End};

pub(super) struct Plugin;

impl Dialect for Plugin {
    fn details(&mut self, line: &Value) -> Option<Details> {
        Some(match line["type"].as_str()? {
            "question" => Details { is_question: true, ..Details::default() },
            "result" => {
                let end = End { text: text(&line["text"]).unwrap_or_default(), failed: line["ok"] != true };
                Details { end: Some(end), ..Details::default() }
            }
            "text" | "tool" | "error" | "note" | "waiting" | "usage" | "session" => Details::default(),
            _ => return None,
        })
    }
}
