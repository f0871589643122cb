//! Claude Code's lines.

use serde_json::Value;

use super::super::super::talk::text;
use super::{Answer, Call, Details, Dialect, End, joined, time};

/// Of a command that failed, its answer begins with this.
const EXIT: &str = "Exit code ";

pub(super) struct Claude;

impl Dialect for Claude {
    fn details(&mut self, line: &Value) -> Option<Details> {
        let details = match line["type"].as_str()? {
            "assistant" => assistant(line),
            "user" => user(line),
            "result" => Details { end: Some(end(line)), ..Details::default() },
            "control_request" => Details { is_question: true, ..Details::default() },
            "system"
            | "stream_event"
            | "rate_limit_event"
            | "control_response"
            | "control_cancel_request"
            | "keep_alive"
            | "tool_progress"
            | "auth_status" => Details::default(),
            _ => return None,
        };
        let parent = text(&line["parent_tool_use_id"]);
        Some(Details { at_ms: time(&line["timestamp"]), parent, ..details })
    }
}

fn blocks(line: &Value) -> &[Value] {
    line["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn assistant(line: &Value) -> Details {
    let mut details = Details::default();
    for block in blocks(line) {
        match block["type"].as_str() {
            Some("thinking") => details.thoughts.extend(text(&block["thinking"])),
            Some("tool_use") => {
                let (id, input) = (text(&block["id"]), block["input"].clone());
                details.calls.push(Call { id, input, at_ms: None });
            }
            _ => {}
        }
    }
    details
}

/// Answers of tools; and what was said to it, but for what it says to a subagent itself.
fn user(line: &Value) -> Details {
    let mut details = Details::default();
    for block in blocks(line) {
        if block["type"] == "tool_result" {
            details.answers.push(answer(line, block));
        }
    }
    let said = match &line["message"]["content"] {
        Value::String(words) => words.clone(),
        _ => blocks(line).iter().filter_map(|block| text(&block["text"])).collect::<Vec<_>>().join("\n"),
    };
    details.told = Some(said).filter(|said| !said.is_empty() && line["parent_tool_use_id"].is_null());
    details
}

fn answer(line: &Value, block: &Value) -> Answer {
    let (id, said) = (text(&block["tool_use_id"]).unwrap_or_default(), joined(&block["content"]));
    let failed = block["is_error"] == true;
    let code = said.strip_prefix(EXIT).and_then(|rest| rest.lines().next()?.trim().parse().ok());
    let exit_code = code.filter(|_| failed);
    let metas = line["tool_result_meta"].as_array().map(Vec::as_slice).unwrap_or_default();
    let denied = metas.iter().any(|meta| {
        meta["id"] == block["tool_use_id"] && meta["permission_decision"]["decision"] == "reject"
    });
    Answer { id, text: said, failed, denied, exit_code, ..Answer::default() }
}

fn end(line: &Value) -> End {
    let words = text(&line["result"]).or_else(|| text(&line["errors"][0])).or_else(|| text(&line["subtype"]));
    End { text: words.unwrap_or_default(), failed: line["is_error"] != false }
}
