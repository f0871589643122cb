//! Codex's messages.

use serde_json::{Value, json};

use super::super::super::talk::{plain, text};
use super::{Answer, Call, Details, Dialect, End, between, joined};

#[derive(Default)]
pub(super) struct Codex {
    /// Ours; others are of agents that it started.
    thread: Option<String>,
}

impl Dialect for Codex {
    fn details(&mut self, line: &Value) -> Option<Details> {
        let params = &line["params"];
        let details = match (line["method"].as_str(), line.get("id")) {
            (Some(_), Some(_)) => Details { is_question: true, ..Details::default() },
            (Some(method), None) => self.notice(method, params),
            (None, Some(_)) => {
                self.thread = text(&line["result"]["thread"]["id"]).or(self.thread.take());
                Details::default()
            }
            (None, None) => return None,
        };
        let thread = params["threadId"].as_str();
        let parent = thread.filter(|_| thread != self.thread.as_deref()).map(str::to_owned);
        let at_ms = line["emittedAtMs"].as_i64();
        Some(Details { at_ms, parent: parent.filter(|_| self.thread.is_some()), ..details })
    }
}

impl Codex {
    fn notice(&self, method: &str, params: &Value) -> Details {
        let item = &params["item"];
        match method {
            "item/started" => Details { calls: Vec::from_iter(call(item)), ..Details::default() },
            "item/completed" => completed(item),
            "turn/completed" if params["threadId"].as_str() == self.thread.as_deref() => {
                Details { end: Some(end(&params["turn"])), ..Details::default() }
            }
            _ => Details::default(),
        }
    }
}

fn call(item: &Value) -> Option<Call> {
    let input = match item["type"].as_str()? {
        "commandExecution" => json!({ "command": item["command"], "cwd": item["cwd"] }),
        "fileChange" => json!({ "changes": item["changes"] }),
        "mcpToolCall" => item["arguments"].clone(),
        "webSearch" => json!({ "query": item["query"] }),
        _ => return None,
    };
    Some(Call { id: text(&item["id"]), input, at_ms: item["startedAtMs"].as_i64() })
}

fn completed(item: &Value) -> Details {
    let kind = item["type"].as_str().unwrap_or_default();
    match kind {
        "userMessage" => Details { told: Some(joined(&item["content"])), ..Details::default() },
        "reasoning" => {
            let all = [joined(&item["summary"]), joined(&item["content"])];
            let thoughts = all.into_iter().find(|thought| !thought.trim().is_empty());
            Details { thoughts: Vec::from_iter(thoughts), ..Details::default() }
        }
        "commandExecution" | "fileChange" | "mcpToolCall" | "webSearch" => {
            Details { answers: vec![answer(kind, item)], ..Details::default() }
        }
        _ => Details::default(),
    }
}

fn answer(kind: &str, item: &Value) -> Answer {
    let said = match kind {
        "commandExecution" => text(&item["aggregatedOutput"]).unwrap_or_default(),
        "mcpToolCall" => {
            text(&item["error"]["message"]).unwrap_or_else(|| joined(&item["result"]["content"]))
        }
        // What was changed is in the call.
        _ => String::new(),
    };
    let status = item["status"].as_str().unwrap_or_default();
    let took = between(&item["startedAtMs"], &item["completedAtMs"]);
    Answer {
        id: text(&item["id"]).unwrap_or_default(),
        text: said,
        failed: matches!(status, "failed" | "declined"),
        denied: status == "declined",
        exit_code: item["exitCode"].as_i64(),
        duration_ms: item["durationMs"].as_u64().or(took),
        at_ms: item["completedAtMs"].as_i64(),
    }
}

fn end(turn: &Value) -> End {
    let status = text(&turn["status"]).unwrap_or_default();
    let why = text(&turn["error"]["message"]).map(|words| plain(&words));
    End { failed: status != "completed", text: why.unwrap_or(status) }
}
