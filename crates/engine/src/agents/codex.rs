//! Codex: JSON-RPC with `codex app-server` over its standard input and output, one thread and one turn at a time.
//!
//! It names the thread itself and counts tokens over the whole of it, also after it is resumed. Its exit code says
//! nothing: what counts is the status of the turn. An edit its sandbox refuses leaves no trace here; whether there is
//! one is for our own look at the workspace to say.

use std::collections::HashMap;

use conductor_core::event::FailureClass;
use conductor_core::plan::Task;
use serde_json::{Value, json};

use super::policy::InWorkspace;
use super::talk::{
    Ending, Heard, Said, Tokens, Translator, class_of, line, plain, purpose, said, status_in, text,
};
use super::{AgentError, Brief, Engagement};
use crate::process::Exit;

/// The program, and how to get it.
const PROGRAM: &str = "codex";
const REMEDY: &str = "install it with `npm install -g @openai/codex`";

/// Variables it needs and nobody else gets.
const KEYS: [&str; 4] = ["CODEX_HOME", "CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"];

/// What our requests are numbered by; there is never more than one of a kind.
const INITIALIZE: u64 = 1;
const THREAD: u64 = 2;
const TURN: u64 = 3;
const INTERRUPT: u64 = 4;
const ANOTHER_THREAD: u64 = 5;

/// How a thread is opened.
const START: &str = "thread/start";
const RESUME: &str = "thread/resume";

/// JSON-RPC's word for a request we do not know.
const NO_SUCH_METHOD: i64 = -32601;

pub(super) struct Agent;

impl super::Agent for Agent {
    fn abilities(&self) -> super::Abilities {
        super::Abilities { asks: false, ..super::Abilities::ALL }
    }

    fn engage(&self, brief: &Brief<'_>) -> Result<Engagement, AgentError> {
        self.check(brief.task)?;
        let launch = brief.launch(PROGRAM, vec!["app-server".to_owned()], &KEYS, &[]);
        Ok(Engagement { launch, translator: Box::new(Codex::new(brief)) })
    }

    fn check(&self, task: &Task) -> Result<(), AgentError> {
        super::takes_prompts("codex", task, PROGRAM, REMEDY)
    }
}

struct Codex {
    /// What the thread is opened with: the method and its parameters.
    thread_request: (&'static str, Value),
    prompt: String,
    policy: InWorkspace,
    thread: Option<String>,
    turn: Option<String>,
    /// The turn can be interrupted: before it says that it has started, it denies that there is one.
    under_way: bool,
    model: String,
    /// What has been counted of each thread; it may start others for a part of the work.
    counted: HashMap<String, Tokens>,
    /// The files an edit is about, by the edit: a question about it names only the edit.
    edits: HashMap<String, Vec<String>>,
    used: bool,
    words: Option<String>,
    error: Option<Value>,
    resets_at: Option<i64>,
    /// Why it did not even begin.
    refused: Option<String>,
    end: Option<Value>,
}

impl Codex {
    fn new(brief: &Brief<'_>) -> Codex {
        let mut parameters = json!({
            "cwd": brief.seat.directory,
            "sandbox": "workspace-write",
            "approvalPolicy": "never",
        });
        if let Some(model) = &brief.task.model {
            parameters["model"] = json!(model);
        }
        let method = match brief.session.begun {
            false => START,
            true => {
                parameters["threadId"] = json!(brief.session.id);
                // All that was said so far is of no use to us.
                parameters["excludeTurns"] = json!(true);
                RESUME
            }
        };
        Codex {
            thread_request: (method, parameters),
            prompt: brief.words.clone(),
            policy: brief.policy(),
            thread: None,
            turn: None,
            under_way: false,
            model: String::new(),
            counted: HashMap::new(),
            edits: HashMap::new(),
            used: false,
            words: None,
            error: None,
            resets_at: None,
            refused: None,
            end: None,
        }
    }

    /// An answer to one of our requests: each is followed by the next, up to the turn.
    fn on_answer(&mut self, id: &Value, event: &Value) -> Heard {
        let (id, result) = (id.as_u64().unwrap_or_default(), &event["result"]);
        if let Some(error) = event.get("error").filter(|_| id != INTERRUPT) {
            return self.on_refusal(id, error);
        }
        match id {
            INITIALIZE => {
                let (method, parameters) = &self.thread_request;
                let reply =
                    [line(&json!({ "method": "initialized" })), request(THREAD, method, parameters)].concat();
                Heard { reply, ..Heard::default() }
            }
            THREAD | ANOTHER_THREAD => self.on_thread(result),
            TURN => {
                self.turn = text(&result["turn"]["id"]);
                Heard::default()
            }
            _ => Heard::default(),
        }
    }

    fn on_thread(&mut self, result: &Value) -> Heard {
        let Some(thread) = text(&result["thread"]["id"]) else {
            return self.refuse("it opened a thread without a name".to_owned());
        };
        self.model = text(&result["model"]).unwrap_or_default();
        let input = json!([{ "type": "text", "text": self.prompt }]);
        let reply = request(TURN, "turn/start", &json!({ "threadId": thread, "input": input }));
        self.thread = Some(thread.clone());
        Heard { session: Some(thread), reply, ..Heard::default() }
    }

    /// A thread that is lost is no reason to give up: the prompt tells all there is to know once more.
    fn on_refusal(&mut self, id: u64, error: &Value) -> Heard {
        let why = text(&error["message"]).unwrap_or_else(|| error.to_string());
        let (method, parameters) = &mut self.thread_request;
        if id != THREAD || *method != RESUME {
            return self.refuse(why);
        }
        if let Some(parameters) = parameters.as_object_mut() {
            parameters.retain(|name, _| name != "threadId" && name != "excludeTurns");
        }
        let reply = request(ANOTHER_THREAD, START, parameters);
        Heard { reply, ..said(Said::Note(format!("the conversation is lost ({why}); it begins anew"))) }
    }

    fn refuse(&mut self, why: String) -> Heard {
        self.refused = Some(why);
        Heard { over: true, ..Heard::default() }
    }

    fn on_notice(&mut self, method: &str, params: &Value) -> Heard {
        match method {
            "turn/started" if self.is_ours(params) => {
                self.turn = text(&params["turn"]["id"]);
                self.under_way = true;
                Heard::default()
            }
            "turn/completed" if self.is_ours(params) => {
                self.under_way = false;
                self.end = Some(params["turn"].clone());
                Heard { over: true, ..Heard::default() }
            }
            "item/started" => self.on_item_started(&params["item"]),
            "item/completed" => self.on_item_completed(params),
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

    fn is_ours(&self, params: &Value) -> bool {
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
        match (item["type"].as_str(), item["status"].as_str()) {
            (Some("agentMessage"), _) => {
                let Some(words) = text(&item["text"]) else { return Heard::default() };
                if self.is_ours(params) {
                    self.words = Some(words.clone());
                }
                said(Said::Text(words))
            }
            (Some("commandExecution"), Some("declined")) => said(Said::Denied(purpose(item))),
            (Some("fileChange"), Some("declined")) => said(Said::Denied(paths(item).join(", "))),
            (Some("fileChange"), Some("failed")) => {
                said(Said::Note(format!("could not edit {}", paths(item).join(", "))))
            }
            (Some("mcpToolCall"), Some("failed")) => failed_call(item),
            (Some("contextCompaction"), _) => said(Said::Note("its context was compacted".into())),
            _ => Heard::default(),
        }
    }

    /// What is new since the thread was last counted. Before our own turn has begun, a resumed thread tells what it had
    /// used up to then; that has been counted in its time.
    fn count(&mut self, params: &Value) -> Vec<Tokens> {
        let usage = &params["tokenUsage"];
        let (total, last) = (tokens(&usage["total"]), tokens(&usage["last"]));
        let thread = params["threadId"].as_str().unwrap_or_default().to_owned();
        let known = self.counted.insert(thread, total.clone());
        if self.is_ours(params) && self.turn.is_none() {
            return Vec::new();
        }
        let mut news = known.map_or(last, |known| difference(&total, &known));
        if news.total() == 0 {
            return Vec::new();
        }
        self.used = true;
        (news.model, news.turns) = (self.model.clone(), 1);
        vec![news]
    }

    /// When all of the allowances that are used up are there again.
    fn on_limits(&mut self, limits: &Value) -> Heard {
        let windows =
            [&limits["primary"], &limits["secondary"]].into_iter().filter(|window| window.is_object());
        let mut windows = windows.peekable();
        if windows.peek().is_some() {
            let spent =
                windows.filter(|window| window["usedPercent"].as_f64().is_some_and(|used| used >= 100.0));
            self.resets_at = spent.filter_map(|window| window["resetsAt"].as_i64()).max();
        }
        Heard::default()
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

    /// It is to ask nothing, but it may be configured otherwise; who asks must have an answer, or waits for ever.
    fn on_question(&self, method: &str, id: &Value, params: &Value) -> Heard {
        let refusal = match method {
            "item/commandExecution/requestApproval" | "execCommandApproval" => {
                self.judge_command(&params["command"])
            }
            "item/fileChange/requestApproval" => {
                let files = params["itemId"].as_str().and_then(|item| self.edits.get(item));
                let root = text(&params["grantRoot"]);
                self.judge_edits(files.into_iter().flatten().cloned().chain(root))
            }
            "applyPatchApproval" => {
                let files = params["fileChanges"].as_object().into_iter().flat_map(|files| files.keys());
                self.judge_edits(files.cloned().chain(text(&params["grantRoot"])))
            }
            _ => return otherwise(method, id),
        };
        let decision = match (method.starts_with("item/"), &refusal) {
            (true, None) => json!("accept"),
            (true, Some(_)) => json!("decline"),
            (false, None) => json!("approved"),
            (false, Some(why)) => json!({ "denied": { "rejection": why } }),
        };
        let reply = line(&json!({ "id": id, "result": { "decision": decision } }));
        Heard { reply, said: refusal.map(Said::Denied).into_iter().collect(), ..Heard::default() }
    }

    fn judge_command(&self, command: &Value) -> Option<String> {
        let words = command.as_array().into_iter().flatten().filter_map(Value::as_str);
        let command = text(command).unwrap_or_else(|| words.collect::<Vec<_>>().join(" "));
        match command.is_empty() {
            true => Some("it does not say which command".to_owned()),
            false => self.policy.judge("Bash", &json!({ "command": command })),
        }
    }

    fn judge_edits(&self, files: impl Iterator<Item = String>) -> Option<String> {
        let mut files = files.peekable();
        if files.peek().is_none() {
            return Some("it does not say which files".to_owned());
        }
        files.find_map(|file| self.policy.judge("Edit", &json!({ "file_path": file })))
    }

    fn failed(&self, error: &Value) -> Ending {
        let class = class_of_error(error);
        let words = text(&error["message"]).unwrap_or_else(|| "it failed without a reason".to_owned());
        let parked = (class == FailureClass::UsageLimit).then_some(self.resets_at);
        Ending { parked, ..Ending::bad(class, plain(&words)) }
    }
}

impl Translator for Codex {
    fn opening(&mut self) -> Vec<u8> {
        let version = env!("CARGO_PKG_VERSION");
        let client = json!({ "name": "conductor", "title": "Conductor", "version": version });
        request(INITIALIZE, "initialize", &json!({ "clientInfo": client }))
    }

    fn on_line(&mut self, bytes: &[u8]) -> Heard {
        let Ok(event) = serde_json::from_slice::<Value>(bytes) else { return Heard::default() };
        match (event["method"].as_str(), event.get("id")) {
            (Some(method), Some(id)) => self.on_question(method, id, &event["params"]),
            (Some(method), None) => self.on_notice(method, &event["params"]),
            (None, Some(id)) => self.on_answer(id, &event),
            (None, None) => Heard::default(),
        }
    }

    fn interrupt(&mut self) -> Vec<u8> {
        if !self.under_way {
            return Vec::new();
        }
        request(INTERRUPT, "turn/interrupt", &json!({ "threadId": self.thread, "turnId": self.turn }))
    }

    fn finish(&mut self, exit: Exit) -> Ending {
        if let Some(why) = self.refused.take() {
            return Ending::bad(class_of(status_in(&why), &why), why);
        }
        let error = self.error.take().unwrap_or_default();
        let Some(turn) = self.end.take() else {
            return Ending::unfinished(exit, error["message"].as_str().unwrap_or_default());
        };
        match turn["status"].as_str() {
            // A provider may tell no numbers, but a turn with neither numbers nor words never reached a model.
            Some("completed") if self.used || self.words.is_some() => Ending::good(self.words.take()),
            Some("completed") => Ending::bad(FailureClass::Unfinished, "it ended its turn without a word"),
            Some("interrupted") => Ending::bad(FailureClass::Killed, "it was interrupted"),
            _ if turn["error"].is_object() => self.failed(&turn["error"]),
            _ => self.failed(&error),
        }
    }
}

/// What an error of Codex means: by its kind, the provider's status, and its words where it knows no better.
pub(super) fn class_of_error(error: &Value) -> FailureClass {
    let (info, words) = (&error["codexErrorInfo"], error["message"].as_str().unwrap_or_default());
    let (kind, status) = match info.as_object().and_then(|info| info.iter().next()) {
        Some((kind, more)) => (kind.as_str(), more["httpStatusCode"].as_u64()),
        None => (info.as_str().unwrap_or_default(), None),
    };
    match kind {
        // It says the same of an allowance that comes back and of money that does not.
        "usageLimitExceeded" if words.contains("billing") => FailureClass::Billing,
        "usageLimitExceeded" => FailureClass::UsageLimit,
        "rateLimitExceeded" => FailureClass::RateLimited,
        "serverOverloaded" | "flexUnavailable" | "policyCapacityUnavailable" => FailureClass::Overloaded,
        "contextWindowExceeded" => FailureClass::TooLong,
        "sessionBudgetExceeded" => FailureClass::Budget,
        "modelNotFound" => FailureClass::UnknownModel,
        "unauthorized" => FailureClass::Unauthorized,
        "internalServerError" => FailureClass::Provider,
        "badRequest" | "cyberPolicy" | "misalignmentPolicyViolation" | "tooManyDenials" => {
            FailureClass::Rejected
        }
        _ if words.contains("Missing environment variable") => FailureClass::Unauthorized,
        _ => class_of(status.or_else(|| status_in(words)), words),
    }
}

fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    line(&json!({ "id": id, "method": method, "params": params }))
}

/// Questions there is nobody to answer.
fn otherwise(method: &str, id: &Value) -> Heard {
    let answer = match method {
        "item/permissions/requestApproval" => json!({ "permissions": {}, "scope": "turn" }),
        "item/tool/requestUserInput" => json!({ "answers": {} }),
        "mcpServer/elicitation/request" => json!({ "action": "decline", "content": null, "_meta": null }),
        _ => {
            let error = json!({ "code": NO_SUCH_METHOD, "message": "not supported" });
            return Heard { reply: line(&json!({ "id": id, "error": error })), ..Heard::default() };
        }
    };
    let reply = line(&json!({ "id": id, "result": answer }));
    Heard { reply, said: vec![Said::Denied(method.to_owned())], ..Heard::default() }
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

fn paths(item: &Value) -> Vec<String> {
    item["changes"].as_array().into_iter().flatten().filter_map(|change| text(&change["path"])).collect()
}

fn tokens(usage: &Value) -> Tokens {
    let number = |name: &str| usage[name].as_u64().unwrap_or(0);
    Tokens {
        input: number("inputTokens"),
        cache_read: number("cachedInputTokens"),
        cache_write: number("cacheWriteInputTokens"),
        output: number("outputTokens"),
        ..Tokens::default()
    }
}

fn difference(now: &Tokens, before: &Tokens) -> Tokens {
    Tokens {
        input: now.input.saturating_sub(before.input),
        cache_read: now.cache_read.saturating_sub(before.cache_read),
        cache_write: now.cache_write.saturating_sub(before.cache_write),
        output: now.output.saturating_sub(before.output),
        ..Tokens::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Session;
    use super::super::replay::{self, Line, Recording};
    use super::*;

    fn codex(directory: &str, resumes: Option<&str>) -> Codex {
        let session = Session { id: resumes.unwrap_or("ours").to_owned(), begun: resumes.is_some() };
        replay::asked(directory, session, Codex::new)
    }

    /// Somebody in the place of whoever recorded it.
    fn heir(recording: &Recording) -> Codex {
        let thread = recording.said().find(|said| said["id"] == THREAD).unwrap();
        let parameters = &thread["params"];
        codex(parameters["cwd"].as_str().unwrap(), parameters["threadId"].as_str())
    }

    #[test]
    fn every_recorded_end_is_understood() {
        let told: Vec<String> = replay::recordings("codex-app-server")
            .iter()
            .map(|recording| recording.played(&mut heir(recording)).told)
            .collect();
        insta::assert_snapshot!(told.join("\n"));
    }

    #[test]
    fn what_we_say_is_what_was_said_then() {
        for recording in replay::recordings("codex-app-server") {
            let played = recording.played(&mut heir(&recording));
            let ours: Vec<Value> = played.said.iter().map(replay::shape).collect();
            let then: Vec<Value> = recording.said().map(replay::shape).collect();
            let (ours, then) = match recording.name.as_str() {
                // It was asked to stop before it knew of a turn, and denied that there was one: we send a signal.
                "interrupt_now" => (&ours[..], &then[..then.len() - 1]),
                // The thread was lost, and whoever recorded it gave up; we begin another.
                "resume_unknown" => (&ours[..then.len()], &then[..]),
                _ => (&ours[..], &then[..]),
            };
            assert_eq!(ours, then, "{}", recording.name);
        }
    }

    /// What `codex exec` says of an error is what the server says without its `codexErrorInfo`: the words alone.
    #[test]
    fn words_alone_tell_the_class() {
        let mut told = Vec::new();
        for recording in replay::recordings("codex") {
            let mut lines = recording.lines.iter().filter_map(|line| match line {
                Line::Heard(line) => serde_json::from_str::<Value>(line).ok(),
                Line::Said(_) => None,
            });
            let failed = lines.find(|line| line["type"] == "turn.failed");
            told.extend(
                failed.map(|line| format!("{:<10} {:?}", recording.name, class_of_error(&line["error"]))),
            );
        }
        insta::assert_snapshot!(told.join("\n"), @r"
        always401  Unauthorized
        always429  RateLimited
        always500  Provider
        credit     Billing
        limit      UsageLimit
        ");
    }

    #[test]
    fn a_resumed_thread_tells_what_it_used_before_and_that_is_not_counted_again() {
        let recordings = replay::recordings("codex-app-server");
        let recording = recordings.iter().find(|recording| recording.name == "resume").unwrap();
        let played = recording.played(&mut heir(recording));
        let used: Vec<u64> = played.heard.iter().flat_map(|heard| &heard.used).map(Tokens::total).collect();
        assert_eq!(used, [1250, 1250, 1250]);
        let session = played.heard.iter().find_map(|heard| heard.session.as_deref());
        assert_eq!(session, Some("01a1e242-0ce0-7953-9939-b8f807bb7e15"));
    }

    #[test]
    fn a_lost_thread_is_begun_anew() {
        let mut codex = codex("/work/a", Some("gone"));
        codex.on_line(br#"{"id":1,"result":{}}"#);
        let heard = codex.on_line(br#"{"id":2,"error":{"code":-32600,"message":"no rollout found"}}"#);
        let asked: Value = serde_json::from_slice(&heard.reply).unwrap();
        assert_eq!(asked["method"], START);
        assert_eq!(asked["params"]["threadId"], Value::Null);
        let heard = codex.on_line(br#"{"id":5,"result":{"thread":{"id":"new"},"model":"gpt-5.5"}}"#);
        assert_eq!(heard.session.as_deref(), Some("new"));
        codex.on_line(br#"{"id":3,"error":{"code":-32600,"message":"no turn"}}"#);
        assert!(matches!(codex.finish(Exit::Code(0)).outcome, conductor_core::event::Outcome::Failed(_)));
    }

    fn answer(codex: &mut Codex, question: &Value) -> Value {
        let heard = codex.on_line(&line(question));
        serde_json::from_slice::<Value>(&heard.reply).unwrap()["result"]["decision"].clone()
    }

    #[test]
    fn a_question_is_answered_by_the_policy() {
        let mut codex = codex("/work/a", None);
        for (id, path) in [("in", "/work/a/x.rs"), ("out", "/etc/passwd")] {
            let item = json!({ "type": "fileChange", "id": id, "changes": [{ "path": path }] });
            codex.on_line(&line(&json!({ "method": "item/started", "params": { "item": item } })));
        }
        let mut asked = |method: &str, params: Value| {
            answer(&mut codex, &json!({ "id": 7, "method": method, "params": params }))
        };
        let command = "item/commandExecution/requestApproval";
        assert_eq!(asked(command, json!({ "command": "/bin/bash -lc 'make test'" })), "accept");
        assert_eq!(asked(command, json!({ "command": "sudo make install" })), "decline");
        assert_eq!(asked(command, json!({ "networkApprovalContext": {} })), "decline");
        let edit = "item/fileChange/requestApproval";
        assert_eq!(asked(edit, json!({ "itemId": "in" })), "accept");
        assert_eq!(asked(edit, json!({ "itemId": "in", "grantRoot": "/" })), "decline");
        assert_eq!(asked(edit, json!({ "itemId": "out" })), "decline");
        assert_eq!(asked(edit, json!({ "itemId": "never heard of" })), "decline");
        assert_eq!(asked("execCommandApproval", json!({ "command": ["make", "test"] })), "approved");
        let denied = asked("execCommandApproval", json!({ "command": ["git", "push"] }));
        assert!(denied["denied"]["rejection"].is_string(), "{denied}");
        assert_eq!(asked("applyPatchApproval", json!({ "fileChanges": { "/work/a/b": {} } })), "approved");
    }

    #[test]
    fn only_our_own_turn_is_the_end() {
        let mut codex = codex("/work/a", None);
        codex.on_line(br#"{"id":2,"result":{"thread":{"id":"ours"},"model":"gpt-5.5"}}"#);
        let ended = |thread: &str| {
            let turn = json!({ "id": "t", "status": "completed" });
            line(&json!({ "method": "turn/completed", "params": { "threadId": thread, "turn": turn } }))
        };
        assert!(!codex.on_line(&ended("a helper's")).over);
        assert!(codex.on_line(&ended("ours")).over);
        let Ending { outcome, .. } = codex.finish(Exit::Code(0));
        let conductor_core::event::Outcome::Failed(failure) = outcome else { panic!("it said nothing") };
        assert_eq!(failure.class, FailureClass::Unfinished);
    }

    #[test]
    fn what_is_not_its_language_does_no_harm() {
        let mut codex = codex("/work/a", None);
        for line in replay::garbage().chain(replay::mangled("codex-app-server")) {
            codex.on_line(&line);
        }
        codex.interrupt();
        codex.finish(Exit::Code(0));
    }
}
