//! Claude Code: one conversation in stream-json both ways, with its control protocol for questions and interruption.
//!
//! Its exit code and `subtype: success` say nothing: what counts is that there is a `result`, and its `is_error`. Tokens
//! are counted from its messages as they come. Those of its subagents come without their true figures, and the last of
//! each not at all: they are counted from above until the result says what all of it came to.

mod launch;
mod usage;

use conductor_core::plan::Task;
use conductor_core::run::event::FailureClass;
use memchr::memmem;
use serde_json::{Value, json};

use super::calls::CallSize;
use super::sieve::Sieve;
use super::talk::{Ending, Heard, Said, Tokens, Translator, class_of, line, purpose, said, text};
use super::{AgentError, Brief, Engagement};
use crate::process::Exit;
use launch::{KEYS, SETTINGS, arguments, server};
use usage::Counted;

/// The program, and how to get it.
const PROGRAM: &str = "claude";
const REMEDY: &str = "install it with `npm install -g @anthropic-ai/claude-code`";

/// Its name for the moment before it uses a tool.
const BEFORE_TOOLS: &str = "PreToolUse";

/// What it says for its own developers, where it has nothing to say to others.
const DIAGNOSTIC: &str = "[ede_diagnostic]";

/// What it says of a conversation it does not have.
const FORGOTTEN: &str = "No conversation found";

/// The fields it is listened to for; a line's other fields are read past.
const SIEVE: Sieve = Sieve {
    keeps: |name| {
        matches!(
            name,
            "type"
                | "subtype"
                | "session_id"
                | "message"
                | "event"
                | "id"
                | "model"
                | "content"
                | "usage"
                | "input_tokens"
                | "output_tokens"
                | "cache_read_input_tokens"
                | "cache_creation_input_tokens"
                | "error"
                | "errors"
                | "result"
                | "is_error"
                | "terminal_reason"
                | "api_error"
                | "api_error_status"
                | "attempt"
                | "max_retries"
                | "retry_delay_ms"
                | "tool_name"
                | "permission_denials"
                | "queued_turn_count"
                | "request_id"
                | "request"
                | "rate_limit_info"
                | "status"
                | "parent_tool_use_id"
                | "tool_use_id"
                | "summary"
                | "total_tokens"
                | "modelUsage"
                | "model_usage_since_last_result"
        )
    },
    opens: |name| matches!(name, "message" | "event" | "usage"),
};

/// Lines that begin like this are pieces of what comes whole as well.
const PIECE: &[u8] = b"{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_";

/// What its tools answered, which matters only where it is an error.
const TOLD: &[u8] = b"{\"type\":\"user\"";
const BAD: &[u8] = b"\"is_error\":true";
/// Stands in it once for each answer: within an answer's own words the quotes would be escaped.
const ANSWER: &[u8] = b"\"type\":\"tool_result\"";

pub(super) struct Agent;

impl super::Agent for Agent {
    fn home_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_CONFIG_DIR")
    }

    fn abilities(&self) -> super::Abilities {
        super::Abilities::ALL
    }

    fn keeps(&self) -> super::Keeps {
        super::Keeps::Everything
    }

    fn engage(&self, brief: &Brief<'_>) -> Result<Engagement, AgentError> {
        self.check(brief.task)?;
        let policy = brief.policy();
        let mut args = arguments(brief.task, brief.session);
        args.extend(
            brief
                .manner
                .into_iter()
                .flat_map(|words| ["--append-system-prompt".to_owned(), words.to_owned()]),
        );
        args.extend(brief.tools.into_iter().flat_map(|access| ["--mcp-config".to_owned(), server(access)]));
        let launch = brief.launch(PROGRAM, args, &KEYS, &SETTINGS);
        let asks_first = policy.restricts();
        let judge = move |tool: &str, input: &Value| policy.judge(tool, input);
        let claude = Claude::new(brief.words.clone(), brief.session.begun, Box::new(judge));
        Ok(Engagement { launch, translator: Box::new(Claude { asks_first, ..claude }) })
    }

    fn check(&self, task: &Task) -> Result<(), AgentError> {
        super::takes_prompts("claude", task, PROGRAM, REMEDY)
    }

    fn knows_specialists(&self) -> bool {
        true
    }
}

/// Says what may be done: nothing allows it, a reason denies it, in words the agent can act on.
type Judge = Box<dyn FnMut(&str, &Value) -> Option<String> + Send>;

pub(super) struct Claude {
    prompt: String,
    judge: Judge,
    /// It is to ask before it uses any tool; otherwise it reads, and runs commands that it takes for harmless, unasked.
    asks_first: bool,
    usage: Counted,
    /// The last error a message carried, and when a limit ends.
    error: Option<String>,
    resets_at: Option<i64>,
    denied: Vec<String>,
    result: Option<Value>,
    requests: u32,
}

impl Claude {
    pub(super) fn new(prompt: String, resumed: bool, judge: Judge) -> Claude {
        Claude {
            prompt,
            judge,
            asks_first: false,
            usage: Counted::new(resumed),
            error: None,
            resets_at: None,
            denied: Vec::new(),
            result: None,
            requests: 0,
        }
    }

    fn request(&mut self, subtype: &str) -> Vec<u8> {
        self.request_with(json!({ "subtype": subtype }))
    }

    fn request_with(&mut self, request: Value) -> Vec<u8> {
        self.requests += 1;
        let id = format!("conductor-{}", self.requests);
        line(&json!({ "type": "control_request", "request_id": id, "request": request }))
    }

    fn on_system(&mut self, event: &Value) -> Heard {
        match event["subtype"].as_str() {
            Some("status") if event["status"] == "requesting" => {
                self.usage.asks();
                Heard::default()
            }
            Some("task_started") => {
                self.usage.subagent_started(event);
                Heard::default()
            }
            Some("task_notification") => {
                Heard { used: self.usage.subagent_ended(event).into_iter().collect(), ..Heard::default() }
            }
            Some("init") => Heard { session: text(&event["session_id"]), ..Heard::default() },
            Some("api_retry") => {
                let (attempt, most) = (&event["attempt"], &event["max_retries"]);
                let (error, wait) = (event["error"].as_str().unwrap_or("error"), &event["retry_delay_ms"]);
                said(Said::Retry(format!("{error}, try {attempt} of {most} in {wait} ms")))
            }
            Some("permission_denied") => said(Said::Denied(text(&event["tool_name"]).unwrap_or_default())),
            Some("model_fallback") => said(Said::Note(text(&event["content"]).unwrap_or_default())),
            _ => Heard::default(),
        }
    }

    fn on_assistant(&mut self, event: &Value) -> Heard {
        if let Some(error) = event["error"].as_str() {
            self.error = Some(error.to_owned());
        }
        let message = &event["message"];
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut heard = Heard { said: blocks.iter().filter_map(block).collect(), ..Heard::default() };
        heard.used.extend(self.usage.on_message(message, event["parent_tool_use_id"].as_str()));
        heard
    }

    /// Pieces of a message as they come: only their counts matter, the whole message comes as well.
    fn on_piece(&mut self, event: &Value) -> Heard {
        let piece = &event["event"];
        let used = match piece["type"].as_str() {
            Some("message_start") => self.usage.begins(&piece["message"]),
            Some("message_delta") => self.usage.goes_on(&piece["usage"]),
            _ => None,
        };
        Heard { used: Vec::from_iter(used), ..Heard::default() }
    }

    fn on_result(&mut self, event: Value) -> Heard {
        let (totals, cost) = self.usage.settled(&event);
        let used =
            if totals.is_none() { Vec::from_iter(self.usage.rest(&event["usage"])) } else { Vec::new() };
        let denials = event["permission_denials"].as_array().map(Vec::as_slice).unwrap_or_default();
        self.denied.extend(denials.iter().filter_map(|denial| text(&denial["tool_name"])));
        let session = text(&event["session_id"]);
        // What it was told meanwhile is still to be done.
        let over = event["queued_turn_count"].as_u64().unwrap_or(0) == 0;
        self.result = Some(event);
        Heard { used, totals, cost, session, over, ..Heard::default() }
    }

    fn on_question(&mut self, event: &Value) -> Heard {
        let (id, request) = (&event["request_id"], &event["request"]);
        if request["subtype"] == "hook_callback" {
            return self.on_hook(id, &request["input"]);
        }
        if request["subtype"] != "can_use_tool" {
            let error = json!({ "subtype": "error", "request_id": id, "error": "not supported" });
            return Heard {
                reply: line(&json!({ "type": "control_response", "response": error })),
                ..Heard::default()
            };
        }
        let tool = request["tool_name"].as_str().unwrap_or_default().to_owned();
        let (answer, said) = match (self.judge)(&tool, &request["input"]) {
            None => (json!({ "behavior": "allow", "updatedInput": request["input"] }), Vec::new()),
            Some(why) => {
                let said = vec![Said::Denied(format!("{tool}: {why}"))];
                (json!({ "behavior": "deny", "message": why }), said)
            }
        };
        let response = json!({ "subtype": "success", "request_id": id, "response": answer });
        let reply = line(&json!({ "type": "control_response", "response": response }));
        Heard { reply, said, ..Heard::default() }
    }

    /// It asks before it uses a tool of any kind.
    fn on_hook(&mut self, id: &Value, input: &Value) -> Heard {
        let tool = match input["tool_name"].as_str().unwrap_or_default() {
            // It has two names for it.
            "Agent" => "Task".to_owned(),
            tool => tool.to_owned(),
        };
        let refusal = (self.judge)(&tool, &input["tool_input"]);
        let decision = if refusal.is_none() { "allow" } else { "deny" };
        let said = refusal.as_ref().map(|why| Said::Denied(format!("{tool}: {why}")));
        let answer = json!({ "hookSpecificOutput": {
            "hookEventName": BEFORE_TOOLS,
            "permissionDecision": decision,
            "permissionDecisionReason": refusal,
        } });
        let response = json!({ "subtype": "success", "request_id": id, "response": answer });
        let reply = line(&json!({ "type": "control_response", "response": response }));
        Heard { reply, said: said.into_iter().collect(), ..Heard::default() }
    }

    fn on_limit(&mut self, event: &Value) -> Heard {
        let info = &event["rate_limit_info"];
        let at = info["resetsAt"].as_i64();
        match info["status"].as_str() {
            Some("rejected") => {
                self.resets_at = at;
                Heard::default()
            }
            Some(status) if status != "allowed" => {
                let part = info["utilization"].as_f64().unwrap_or(0.0) * 100.0;
                said(Said::Note(format!("{part:.0} % of the usage limit is used")))
            }
            _ => Heard::default(),
        }
    }

    fn failed(&self, result: &Value) -> Ending {
        let words = format!(
            "{} {} {} {}",
            result["terminal_reason"].as_str().unwrap_or_default(),
            result["api_error"].as_str().unwrap_or_default(),
            self.error.as_deref().unwrap_or_default(),
            result["subtype"].as_str().unwrap_or_default()
        );
        let reason =
            text(&result["result"]).or_else(|| text(&result["errors"][0])).unwrap_or_else(|| words.clone());
        let reason = match reason.starts_with(DIAGNOSTIC) {
            true => "it ended in the middle of an answer".to_owned(),
            false => reason,
        };
        let class = match result["terminal_reason"].as_str() {
            Some("max_turns") => FailureClass::Budget,
            Some("budget_exhausted") => FailureClass::Budget,
            Some("aborted_tools" | "aborted_streaming" | "aborted") => FailureClass::Killed,
            Some("prompt_too_long") => FailureClass::TooLong,
            _ if result["subtype"] == "error_max_turns" => FailureClass::Budget,
            _ if reason.starts_with(FORGOTTEN) => FailureClass::Rejected,
            _ => class_of(result["api_error_status"].as_u64(), &format!("{words} {reason}")),
        };
        let class = if words.contains("model_not_found") { FailureClass::UnknownModel } else { class };
        if class == FailureClass::Killed {
            return Ending::bad(class, "it was interrupted");
        }
        let parked = (class == FailureClass::UsageLimit).then_some(self.resets_at);
        Ending { parked, ..Ending::bad(class, reason) }
    }
}

impl Translator for Claude {
    fn opening(&mut self) -> Vec<u8> {
        let mut request = json!({ "subtype": "initialize" });
        if self.asks_first {
            request["hooks"] = json!({ BEFORE_TOOLS: [{ "hookCallbackIds": ["rules"] }] });
        }
        let mut bytes = self.request_with(request);
        bytes.extend(user(&self.prompt));
        bytes
    }

    fn on_line(&mut self, bytes: &[u8]) -> Heard {
        if bytes.starts_with(PIECE) {
            self.usage.on_piece(bytes.len());
            return Heard::default();
        }
        if bytes.starts_with(TOLD) && memmem::find(bytes, BAD).is_none() {
            return Heard { returned: answers(bytes), ..Heard::default() };
        }
        let Some(event) = SIEVE.read(bytes) else { return Heard::default() };
        match event["type"].as_str() {
            Some("system") => self.on_system(&event),
            Some("user") => {
                if event["parent_tool_use_id"].is_null() {
                    self.usage.is_about_to_ask();
                }
                Heard { returned: answers(bytes), ..on_answers(&event) }
            }
            Some("assistant") => self.on_assistant(&event),
            Some("stream_event") => self.on_piece(&event),
            Some("rate_limit_event") => self.on_limit(&event),
            Some("control_request") => self.on_question(&event),
            Some("result") => self.on_result(event),
            // Whatever comes with a later version is kept in the stream and does no harm.
            _ => Heard::default(),
        }
    }

    fn say(&mut self, words: &str) -> Vec<u8> {
        user(words)
    }

    fn interrupt(&mut self) -> Vec<u8> {
        self.request("interrupt")
    }

    fn unsaid(&mut self) -> Vec<Tokens> {
        self.usage.unsaid()
    }

    fn newest_call(&self) -> Option<CallSize> {
        self.usage.newest_call()
    }

    fn goes_on_after(&mut self, call: &CallSize) {
        self.usage.goes_on_after(call);
    }

    fn finish(&mut self, exit: Exit) -> Ending {
        let Some(result) = self.result.take() else {
            return Ending::unfinished(exit, self.error.as_deref().unwrap_or_default());
        };
        let reason = result["terminal_reason"].as_str();
        let completed = reason.is_none_or(|reason| reason == "completed") && result["subtype"] == "success";
        if result["is_error"] != false || !completed {
            return self.failed(&result);
        }
        let words = text(&result["result"]);
        match self.denied.is_empty() {
            true => Ending::good(words),
            // It may have found another way; whether what it did is enough is for our own checks to say.
            false => Ending { result: words, ..Ending::good(None) },
        }
    }
}

/// Something said to it.
fn user(words: &str) -> Vec<u8> {
    let content = json!([{ "type": "text", "text": words }]);
    line(&json!({ "type": "user", "message": { "role": "user", "content": content } }))
}

/// How many of its tools have answered.
fn answers(line: &[u8]) -> u32 {
    memmem::find_iter(line, ANSWER).count().try_into().unwrap_or(u32::MAX)
}

/// What went wrong with its tools.
fn on_answers(event: &Value) -> Heard {
    let blocks = event["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let bad = blocks.iter().filter(|block| block["is_error"] == true);
    let words =
        bad.filter_map(|block| text(&block["content"]).or_else(|| text(&block["content"][0]["text"])));
    Heard { said: words.map(Said::Trouble).collect(), ..Heard::default() }
}

fn block(block: &Value) -> Option<Said> {
    match block["type"].as_str()? {
        "text" => Some(Said::Text(text(&block["text"])?)),
        "tool_use" => Some(Said::Tool(text(&block["name"])?, purpose(&block["input"]))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use conductor_core::run::event::Outcome;

    use super::super::replay;
    use super::*;

    fn anything() -> Judge {
        Box::new(|_, _| None)
    }

    fn listen(bytes: &[u8], judge: Judge) -> (Claude, Vec<Heard>) {
        let mut claude = Claude::new("do it".to_owned(), false, judge);
        let heard = bytes.split(|&byte| byte == b'\n').map(|line| claude.on_line(line)).collect();
        (claude, heard)
    }

    #[test]
    fn every_recorded_end_is_understood() {
        // These were recorded without their exit codes, which count for nothing anyway.
        let told = replay::ends("claude", |_| Claude::new("do it".to_owned(), false, anything()));
        insta::assert_snapshot!(told);
    }

    /// In these recordings the client goes on after the first result, which ours never does.
    #[test]
    fn a_conversation_both_ways_is_understood() {
        let mut told = Vec::new();
        for recording in replay::recordings("claude-bidi") {
            let played = recording.played(&mut Claude::new("do it".to_owned(), false, anything()));
            let is_answer = |said: &&Value| said["type"] == "control_response";
            let ours: Vec<&Value> = played.said.iter().filter(is_answer).collect();
            let then: Vec<&Value> = recording.said().filter(is_answer).collect();
            assert_eq!(ours, then, "{}", recording.name);
            told.push(played.told);
        }
        insta::assert_snapshot!(told.join("\n"));
    }

    #[test]
    fn a_question_is_answered_by_the_policy() {
        let question = br#"{"type":"control_request","request_id":"u1","request":{"subtype":"can_use_tool","tool_name":"Write","input":{"file_path":"a"}}}"#;
        let answer = |judge: Judge| {
            let (_, heard) = listen(question, judge);
            serde_json::from_slice::<Value>(&heard[0].reply).unwrap()["response"]["response"].clone()
        };
        assert_eq!(answer(anything()), json!({ "behavior": "allow", "updatedInput": { "file_path": "a" } }));
        let denied = answer(Box::new(|tool, _| Some(format!("{tool} is not allowed here"))));
        assert_eq!(denied, json!({ "behavior": "deny", "message": "Write is not allowed here" }));
    }

    #[test]
    fn whatever_arrives_does_no_harm() {
        replay::withstands("claude", || Claude::new("do it".to_owned(), false, anything()));
        replay::withstands("claude-bidi", || Claude::new("do it".to_owned(), false, anything()));
    }

    #[test]
    fn what_is_not_its_language_does_no_harm() {
        let (mut claude, heard) =
            listen(b"\xff\xfe\n{\"type\":17}\n[]\n{\"type\":\"new\"}\n{\"type\":\"assistant\"}", anything());
        assert!(heard.iter().all(|heard| heard == &Heard::default()));
        assert!(
            matches!(claude.finish(Exit::Code(0)).outcome, Outcome::Failed(f) if f.class == FailureClass::Unfinished)
        );
    }

    #[test]
    fn what_is_called_comes_back() {
        assert_eq!(
            replay::calls("claude", "job", Claude::new("do it".to_owned(), false, anything())),
            (2, 2)
        );
    }
}
