//! OpenCode's lines. It tells of a tool when the tool is done.

use serde_json::Value;

use super::super::super::talk::{plain, text};
use super::{Answer, Call, Details, Dialect, End, between};

pub(super) struct OpenCode;

impl Dialect for OpenCode {
    fn details(&mut self, line: &Value) -> Option<Details> {
        let part = &line["part"];
        let details = match line["type"].as_str()? {
            "reasoning" => Details { thoughts: Vec::from_iter(text(&part["text"])), ..Details::default() },
            "tool_use" => {
                Details { calls: vec![call(part)], answers: vec![answer(part)], ..Details::default() }
            }
            "error" => Details { end: Some(end(&line["error"])), ..Details::default() },
            "step_start" | "text" | "step_finish" => Details::default(),
            _ => return None,
        };
        let at_ms = part["time"]["start"].as_i64().or(line["timestamp"].as_i64());
        Some(Details { at_ms, ..details })
    }
}

fn call(part: &Value) -> Call {
    let state = &part["state"];
    Call { id: text(&part["callID"]), input: state["input"].clone(), at_ms: state["time"]["start"].as_i64() }
}

fn answer(part: &Value) -> Answer {
    let state = &part["state"];
    let exit_code = state["metadata"]["exit"].as_i64();
    let why = text(&state["error"]);
    let denied = |why: &String| why.contains("prevents you") || why.contains("rejected permission");
    Answer {
        id: text(&part["callID"]).unwrap_or_default(),
        failed: state["status"] == "error" || exit_code.is_some_and(|code| code != 0),
        denied: why.as_ref().is_some_and(denied),
        text: why.or_else(|| text(&state["output"])).unwrap_or_default(),
        exit_code,
        duration_ms: between(&state["time"]["start"], &state["time"]["end"]),
        at_ms: state["time"]["end"].as_i64(),
    }
}

fn end(error: &Value) -> End {
    let words = text(&error["data"]["message"]).or_else(|| text(&error["name"])).unwrap_or_default();
    End { text: plain(&words), failed: true }
}
