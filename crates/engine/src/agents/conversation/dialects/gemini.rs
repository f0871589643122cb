//! Gemini's lines.

use serde_json::Value;

use super::super::super::talk::{plain, text};
use super::{Answer, Call, Details, Dialect, End, time};

pub(super) struct Gemini;

impl Dialect for Gemini {
    fn details(&mut self, line: &Value) -> Option<Details> {
        let details = match line["type"].as_str()? {
            "message" if line["role"] == "user" => {
                Details { told: text(&line["content"]), ..Details::default() }
            }
            "tool_use" => {
                let (id, input) = (text(&line["tool_id"]), line["parameters"].clone());
                Details { calls: vec![Call { id, input, at_ms: None }], ..Details::default() }
            }
            "tool_result" => Details { answers: vec![answer(line)], ..Details::default() },
            "result" => Details { end: Some(end(line)), ..Details::default() },
            "init" | "message" | "error" => Details::default(),
            _ => return None,
        };
        Some(Details { at_ms: time(&line["timestamp"]), ..details })
    }

    fn last_line(&self) -> &'static [u8] {
        b"{}"
    }
}

fn answer(line: &Value) -> Answer {
    let why = text(&line["error"]["message"]);
    Answer {
        id: text(&line["tool_id"]).unwrap_or_default(),
        failed: line["status"] == "error",
        denied: line["error"]["type"] == "policy_violation",
        text: text(&line["output"]).or(why).unwrap_or_default(),
        ..Answer::default()
    }
}

fn end(line: &Value) -> End {
    let status = text(&line["status"]).unwrap_or_default();
    let why = text(&line["error"]["message"]).map(|words| plain(&words));
    End { failed: status != "success", text: why.unwrap_or(status) }
}
