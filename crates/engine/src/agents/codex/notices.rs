//! What it tells while it works.

use serde_json::Value;

use super::super::talk::{Heard, Said, failed_command, plain, purpose, said, text};
use super::Codex;

impl Codex {
    pub(super) fn on_notice(&mut self, method: &str, params: &Value) -> Heard {
        match method {
            "turn/started" if self.is_ours(params) => {
                self.turn = text(&params["turn"]["id"]);
                let reply = if self.unwanted { self.interruption() } else { Vec::new() };
                Heard { reply, ..Heard::default() }
            }
            "turn/completed" if self.is_ours(params) => {
                self.end = Some(params["turn"].clone());
                Heard { over: true, ..Heard::default() }
            }
            "item/started" => self.on_item_started(&params["item"]),
            "item/completed" => {
                let returned = u32::from(is_tool(&params["item"]));
                Heard { returned, ..self.on_item_completed(params) }
            }
            "thread/tokenUsage/updated" => Heard { used: self.count(params), ..Heard::default() },
            "account/rateLimits/updated" => self.on_limits(&params["rateLimits"]),
            "error" => self.on_error(params),
            "model/rerouted" => {
                self.model = text(&params["toModel"]).unwrap_or_default();
                said(Said::Note(format!("goes on with {}", self.model)))
            }
            "warning" => noted(&params["message"]),
            // Whatever comes with a later version is kept in the stream and does no harm.
            _ => Heard::default(),
        }
    }

    pub(super) fn is_ours(&self, params: &Value) -> bool {
        self.thread.as_deref() == params["threadId"].as_str()
    }

    fn on_item_started(&mut self, item: &Value) -> Heard {
        match item["type"].as_str() {
            Some("commandExecution") => said(Said::Tool("command".into(), purpose(item))),
            Some("fileChange") => {
                let files = paths(item);
                let what = files.join(", ");
                self.edits.insert(text(&item["id"]).unwrap_or_default(), files);
                said(Said::Tool("edit".into(), what))
            }
            Some("mcpToolCall") => said(Said::Tool(tool_of(item), purpose(&item["arguments"]))),
            Some("webSearch") => said(Said::Tool("search".into(), purpose(item))),
            _ => Heard::default(),
        }
    }

    fn on_item_completed(&mut self, params: &Value) -> Heard {
        let item = &params["item"];
        if let Some(breach) = self.breach(item) {
            return Heard { stuck: Some(breach), ..Heard::default() };
        }
        match (item["type"].as_str(), item["status"].as_str()) {
            (Some("agentMessage"), _) => {
                let Some(words) = text(&item["text"]) else { return Heard::default() };
                if self.is_ours(params) {
                    self.words = Some(words.clone());
                }
                said(Said::Text(words))
            }
            (Some("commandExecution"), Some("declined")) => said(Said::Denied(purpose(item))),
            (Some("commandExecution"), Some("failed")) => said(failed_command(
                item["exitCode"].as_i64(),
                item["aggregatedOutput"].as_str().unwrap_or_default(),
            )),
            (Some("fileChange"), Some("declined")) => said(Said::Denied(paths(item).join(", "))),
            (Some("fileChange"), Some("failed")) => {
                said(Said::Note(format!("could not edit {}", paths(item).join(", "))))
            }
            (Some("mcpToolCall"), Some("failed")) => failed_call(item),
            (Some("contextCompaction"), _) => said(Said::Note("its context was compacted".into())),
            _ => Heard::default(),
        }
    }

    fn on_error(&mut self, params: &Value) -> Heard {
        let error = &params["error"];
        if params["willRetry"] == true {
            let details = text(&error["additionalDetails"]).map(|details| format!(": {}", plain(&details)));
            let words = text(&error["message"]).unwrap_or_default() + &details.unwrap_or_default();
            return said(Said::Retry(words));
        }
        if self.is_ours(params) {
            self.error = Some(error.clone());
        }
        Heard::default()
    }
}

/// Whether a tool was called, as `on_item_started` tells it.
fn is_tool(item: &Value) -> bool {
    matches!(item["type"].as_str(), Some("commandExecution" | "fileChange" | "mcpToolCall" | "webSearch"))
}

fn noted(words: &Value) -> Heard {
    text(words).map(|words| said(Said::Note(words))).unwrap_or_default()
}

fn tool_of(item: &Value) -> String {
    let part = |name: &str| item[name].as_str().unwrap_or("?");
    format!("{}.{}", part("server"), part("tool"))
}

fn failed_call(item: &Value) -> Heard {
    let why = item["error"]["message"].as_str().unwrap_or("it failed");
    let words = format!("{}: {why}", tool_of(item));
    match why.contains("approval") {
        true => said(Said::Denied(words)),
        false => said(Said::Note(words)),
    }
}

pub(super) fn paths(item: &Value) -> Vec<String> {
    item["changes"].as_array().into_iter().flatten().filter_map(|change| text(&change["path"])).collect()
}
