//! Messages of the Agent Client Protocol.

use std::collections::HashMap;

use serde_json::Value;

use super::super::super::talk::text;
use super::{Answer, Call, Details, Dialect, End, joined};

/// The number of our first request: what opens a session comes behind it.
const INITIALIZE: u64 = 1;

#[derive(Default)]
pub(super) struct Acp {
    /// A session is open: what is told before belongs to an earlier conversation.
    open: bool,
    thought: String,
    /// What tools under way were given, as far as it was told.
    inputs: HashMap<String, Value>,
}

impl Dialect for Acp {
    fn details(&mut self, line: &Value) -> Option<Details> {
        let params = &line["params"];
        match (line["method"].as_str(), line.get("id")) {
            (Some("session/request_permission"), Some(_)) => {
                self.input(&params["toolCall"]);
                Some(Details { is_question: true, ..Details::default() })
            }
            (Some(_), Some(_)) => Some(Details { is_question: true, ..Details::default() }),
            (Some("session/update"), None) if self.open => Some(self.update(&params["update"])),
            (Some(_), None) => Some(Details::default()),
            (None, Some(id)) => Some(self.answered(id, line)),
            (None, None) => None,
        }
    }

    fn last_line(&self) -> &'static [u8] {
        br#"{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","messageId":"","content":{}}}}"#
    }
}

impl Acp {
    fn answered(&mut self, id: &Value, line: &Value) -> Details {
        self.open |= line.get("result").is_some() && id.as_u64().is_some_and(|id| id > INITIALIZE);
        let reason = text(&line["result"]["stopReason"]);
        let why = text(&line["error"]["message"]);
        let failed = reason.as_deref() != Some("end_turn");
        let end = reason.or(why).map(|text| End { text, failed });
        Details { end, thoughts: Vec::from_iter(self.thought()), ..Details::default() }
    }

    fn update(&mut self, update: &Value) -> Details {
        match update["sessionUpdate"].as_str() {
            Some("agent_thought_chunk") => {
                self.thought.push_str(update["content"]["text"].as_str().unwrap_or_default());
                Details::default()
            }
            Some("tool_call" | "tool_call_update") => {
                let thoughts = Vec::from_iter(self.thought());
                Details {
                    thoughts,
                    calls: vec![self.input(update)],
                    answers: self.answers(update),
                    ..Details::default()
                }
            }
            Some("agent_message_chunk") => {
                Details { thoughts: Vec::from_iter(self.thought()), ..Details::default() }
            }
            _ => Details::default(),
        }
    }

    /// It comes in pieces.
    fn thought(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.thought)).filter(|thought| !thought.trim().is_empty())
    }

    fn input(&mut self, call: &Value) -> Call {
        let id = text(&call["toolCallId"]).unwrap_or_default();
        let told = call["rawInput"].as_object().is_some_and(|fields| !fields.is_empty());
        if told {
            self.inputs.insert(id.clone(), call["rawInput"].clone());
        }
        let input = self.inputs.get(&id).cloned().unwrap_or_default();
        Call { id: Some(id), input, at_ms: None }
    }

    fn answers(&mut self, update: &Value) -> Vec<Answer> {
        let failed = match update["status"].as_str() {
            Some("completed") => false,
            Some("failed") => true,
            _ => return Vec::new(),
        };
        let id = text(&update["toolCallId"]).unwrap_or_default();
        self.inputs.remove(&id);
        let output = &update["rawOutput"];
        let exit_code = [&output["metadata"]["exit"], &output["exit_code"], &output["exitCode"]];
        let exit_code = exit_code.into_iter().find_map(Value::as_i64);
        let said =
            text(output).or_else(|| text(&output["output"])).or_else(|| text(&output["formatted_output"]));
        let contents = update["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let shown = || contents.iter().map(|part| joined(&part["content"])).collect::<Vec<_>>().join("\n");
        let text = said.unwrap_or_else(shown);
        let failed = failed || exit_code.is_some_and(|code| code != 0);
        vec![Answer { id, text, failed, exit_code, ..Answer::default() }]
    }
}
