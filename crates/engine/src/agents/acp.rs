//! Any agent that speaks the Agent Client Protocol, version 1: JSON-RPC over its standard input and output.
//!
//! What the protocol does not have is lost here: waiting for a busy provider is not told, statuses and times of limits only
//! in words, what was used only at the end. One of them ends its turn as if all were well when its provider failed; it
//! says then that it has no usage to tell, where others say nothing of it.

mod errors;
mod usage;

use std::collections::HashMap;

use conductor_core::plan::Task;
use conductor_core::plan::permissions::SHELL;
use conductor_core::run::event::{Failure, FailureClass};
use conductor_core::values::units::Usd;
use serde_json::{Value, json};

use super::codex::class_of_error;
use super::policy::InWorkspace;
use super::talk::{
    Ending, Heard, Message, Said, Tokens, Translator, class_of, line, plain, purpose, said, text,
};
use super::{AgentError, Brief, Engagement};
use crate::agents::tool_access::{self, ToolAccess};
use crate::process::Exit;
use errors::{failed, number_in, words_of};
use usage::used;

/// `acp:` and the program with its arguments is the name of such an agent.
pub(super) const PREFIX: &str = conductor_core::plan::ACP;

const REMEDY: &str = "an agent `acp:PROGRAM ARGUMENTS…` starts what its name says";

/// The only version we speak.
const VERSION: u64 = 1;

/// What our requests are numbered by; there is never more than one of a kind.
const INITIALIZE: u64 = 1;
const SESSION: u64 = 2;
const PROMPT: u64 = 3;
const ANOTHER_SESSION: u64 = 4;

/// JSON-RPC's code for a request we do not know.
const NO_SUCH_METHOD: i64 = -32601;

pub(super) struct Agent;

impl super::Agent for Agent {
    fn abilities(&self) -> super::Abilities {
        super::Abilities { tells_usage: false, chooses_model: false, ..super::Abilities::ALL }
    }

    /// It asks. What it does without asking and against a rule ends the attempt.
    fn keeps(&self) -> super::Keeps {
        super::Keeps::Everything
    }

    fn names_conversations(&self) -> bool {
        true
    }

    fn engage(&self, brief: &Brief<'_>) -> Result<Engagement, AgentError> {
        self.check(brief.task)?;
        let mut words = command(brief.task);
        let program = words.next().unwrap_or_default().to_owned();
        let launch = brief.launch(&program, words.map(str::to_owned).collect(), &[], &[]);
        Ok(Engagement { launch, translator: Box::new(Acp::new(brief)) })
    }

    fn check(&self, task: &Task) -> Result<(), AgentError> {
        if task.model.is_some() {
            let why = "its model is chosen by its own arguments".into();
            return Err(AgentError::Unfit { agent: "acp", why });
        }
        super::takes_prompts("acp", task, command(task).next().unwrap_or_default(), REMEDY)
    }
}

fn command(task: &Task) -> impl Iterator<Item = &str> {
    task.agent_name().strip_prefix(PREFIX).unwrap_or_default().split_whitespace()
}

fn server(access: &ToolAccess) -> Value {
    let headers = json!([{ "name": "Authorization", "value": format!("Bearer {}", access.token) }]);
    json!({ "type": "http", "name": tool_access::NAME, "url": access.url, "headers": headers })
}

struct Acp {
    directory: Value,
    /// Our tools.
    servers: Value,
    /// The session to go on with.
    known: Option<String>,
    prompt: String,
    anew: Option<String>,
    policy: InWorkspace,
    session: Option<String>,
    /// The prompt is under way: what is told before is what was said in an earlier conversation.
    prompted: bool,
    /// The message under way, and its name.
    message: Message,
    message_id: Option<String>,
    /// An answer of the model is under way: its pieces and the tools it asks for are one turn.
    answering: bool,
    /// Names of the tools in use; none once people have been told of it.
    tools: HashMap<String, Option<String>>,
    /// All that was told of the calls of tools under way, by their names.
    calls: HashMap<String, Value>,
    /// What the session has cost up to now.
    cost: Option<Usd>,
    error: Option<Value>,
    /// Why it did not even begin.
    refused: Option<String>,
    /// The answer to the prompt.
    end: Option<Value>,
}

impl Acp {
    fn new(brief: &Brief<'_>) -> Acp {
        Acp {
            directory: json!(brief.workspace.directory),
            servers: brief.tools.map_or_else(|| json!([]), |access| json!([server(access)])),
            known: brief.session.begun.then(|| brief.session.id.clone()),
            prompt: brief.words.clone(),
            anew: brief.anew.clone(),
            policy: brief.policy(),
            session: None,
            prompted: false,
            message: Message::default(),
            message_id: None,
            answering: false,
            tools: HashMap::new(),
            calls: HashMap::new(),
            cost: None,
            error: None,
            refused: None,
            end: None,
        }
    }

    fn on_answer(&mut self, id: u64, event: &Value) -> Heard {
        let (result, error) = (&event["result"], event.get("error"));
        match (id, error) {
            (PROMPT, _) => self.on_end(event),
            // Not every agent keeps what it says it can load.
            (SESSION, Some(_)) if self.known.is_some() => {
                self.forget();
                let reply = self.new_session(ANOTHER_SESSION);
                Heard { reply, ..said(Said::Note("the conversation is lost; it begins anew".into())) }
            }
            (_, Some(error)) => self.refuse(words_of(error)),
            (INITIALIZE, None) => self.on_initialized(result),
            (SESSION | ANOTHER_SESSION, None) => self.on_session(result),
            _ => Heard::default(),
        }
    }

    fn on_initialized(&mut self, result: &Value) -> Heard {
        if result["protocolVersion"] != VERSION {
            return self.refuse(format!("it speaks version {} of the protocol", result["protocolVersion"]));
        }
        if result["agentCapabilities"]["loadSession"] != true {
            self.forget();
        }
        let reply = match &self.known {
            Some(known) => {
                let params = json!({ "sessionId": known, "cwd": self.directory, "mcpServers": self.servers });
                request(SESSION, "session/load", &params)
            }
            None => self.new_session(SESSION),
        };
        Heard { reply, ..Heard::default() }
    }

    /// There is no conversation to go on with: a new one is told all there is to know.
    fn forget(&mut self) {
        if self.known.take().is_some() {
            self.prompt = self.anew.take().unwrap_or_else(|| std::mem::take(&mut self.prompt));
        }
    }

    fn new_session(&self, id: u64) -> Vec<u8> {
        request(id, "session/new", &json!({ "cwd": self.directory, "mcpServers": self.servers }))
    }

    fn on_session(&mut self, result: &Value) -> Heard {
        let Some(session) = text(&result["sessionId"]).or_else(|| self.known.clone()) else {
            return self.refuse("it opened a session without a name".to_owned());
        };
        let prompt = json!([{ "type": "text", "text": self.prompt }]);
        let reply = request(PROMPT, "session/prompt", &json!({ "sessionId": session, "prompt": prompt }));
        self.session = Some(session.clone());
        self.prompted = true;
        Heard { session: Some(session), reply, ..Heard::default() }
    }

    fn refuse(&mut self, why: String) -> Heard {
        self.refused = Some(why);
        Heard { over: true, ..Heard::default() }
    }

    fn on_end(&mut self, event: &Value) -> Heard {
        let said = Vec::from_iter(self.message.whole());
        self.end = Some(event.clone());
        let used = used(&event["result"]);
        Heard { said, used, cost: self.cost.take(), over: true, ..Heard::default() }
    }

    fn on_update(&mut self, update: &Value) -> Heard {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => self.on_piece(update),
            Some("agent_thought_chunk") => Heard { used: self.turn(), ..Heard::default() },
            Some("tool_call" | "tool_call_update") => self.on_tool(update),
            Some("usage_update") => {
                // It counts the whole session. After it was loaded that is too much rather than too little.
                let told = update["cost"]["amount"].as_f64().map(Usd::from_dollars);
                self.cost = told.or(self.cost);
                Heard::default()
            }
            Some("session_info_update") => self.on_error(&update["_meta"]["codex"]["error"]),
            // Whatever comes with a later version is kept in the stream and does no harm.
            _ => Heard::default(),
        }
    }

    fn on_piece(&mut self, update: &Value) -> Heard {
        let id = text(&update["messageId"]);
        let said = if id == self.message_id { None } else { self.message.whole() };
        self.message_id = id;
        self.message.add(&update["content"]["text"]);
        Heard { said: Vec::from_iter(said), used: self.turn(), ..Heard::default() }
    }

    /// A call of the model, told when its answer begins; what it used is told only at the end.
    fn turn(&mut self) -> Vec<Tokens> {
        match std::mem::replace(&mut self.answering, true) {
            true => Vec::new(),
            false => vec![Tokens { turns: 1, ..Tokens::default() }],
        }
    }

    /// A tool is announced by its name, and what it is for comes later: people are told once both are known.
    fn on_tool(&mut self, update: &Value) -> Heard {
        let mut heard = Heard { said: Vec::from_iter(self.message.whole()), ..Heard::default() };
        if update["sessionUpdate"] == "tool_call" {
            heard.used = self.turn();
        }
        let status = update["status"].as_str().unwrap_or_default();
        let name = text(&update["name"]).or_else(|| text(&update["kind"])).unwrap_or_else(|| "tool".into());
        let tool = self.tools.entry(text(&update["toolCallId"]).unwrap_or_default()).or_insert(Some(name));
        let what = purpose(&update["rawInput"]);
        if !what.is_empty() || matches!(status, "in_progress" | "completed" | "failed") {
            let what = if what.is_empty() { text(&update["title"]).unwrap_or_default() } else { what };
            heard.said.extend(tool.take().map(|name| Said::Tool(name, what)));
        }
        let is_over = matches!(status, "completed" | "failed");
        heard.returned = u32::from(is_over);
        self.answering &= !is_over;
        heard.stuck = self.breach(update);
        heard
    }

    /// Why what it did should not have been done. Not every agent asks before it acts.
    fn breach(&mut self, update: &Value) -> Option<Failure> {
        let id = text(&update["toolCallId"]).unwrap_or_default();
        let call = self.calls.entry(id.clone()).or_insert_with(|| json!({}));
        for (name, told) in update.as_object()?.iter().filter(|(_, told)| !told.is_null()) {
            call[name] = told.clone();
        }
        match update["status"].as_str()? {
            "completed" => {
                let call = self.calls.remove(&id)?;
                deeds(&call).into_iter().find_map(|(tool, input)| self.policy.breach(tool, &input))
            }
            "failed" => {
                self.calls.remove(&id);
                None
            }
            _ => None,
        }
    }

    /// Codex tells in its own words what the protocol has none for.
    fn on_error(&mut self, error: &Value) -> Heard {
        if !error.is_object() {
            return Heard::default();
        }
        self.error = Some(error.clone());
        match (error["willRetry"] == true, text(&error["message"])) {
            (true, Some(words)) => said(Said::Retry(words)),
            _ => Heard::default(),
        }
    }

    fn on_question(&mut self, method: &str, id: &Value, params: &Value) -> Heard {
        if method != "session/request_permission" {
            let error = json!({ "code": NO_SUCH_METHOD, "message": "not supported" });
            let reply = line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            return Heard { reply, ..Heard::default() };
        }
        let refusal = self.judge(&params["toolCall"]);
        let kinds =
            if refusal.is_none() { ["allow_once", "allow_always"] } else { ["reject_once", "reject_always"] };
        let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        let option = kinds.iter().find_map(|kind| options.iter().find(|option| option["kind"] == *kind));
        let outcome = match option {
            Some(option) => json!({ "outcome": "selected", "optionId": option["optionId"] }),
            None => json!({ "outcome": "cancelled" }),
        };
        let reply = line(&json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": outcome } }));
        let mut heard = self.on_tool(&params["toolCall"]);
        heard.said.extend(refusal.map(Said::Denied));
        Heard { reply, ..heard }
    }

    fn judge(&self, call: &Value) -> Option<String> {
        let judge = |tool: &str, input: &Value| self.policy.judge(tool, input);
        match call["kind"].as_str() {
            Some("read" | "search" | "think") if !self.policy.restricts() => None,
            Some("edit" | "delete" | "move") if files(call).next().is_none() => {
                Some("it does not say which files".to_owned())
            }
            Some("edit" | "delete" | "move" | "read" | "search" | "think" | "execute" | "fetch") => {
                deeds(call).into_iter().find_map(|(tool, input)| judge(tool, &input))
            }
            _ => judge(call["name"].as_str().or(call["title"].as_str()).unwrap_or("this"), call),
        }
    }

    /// It says that its turn is over and has nothing to show for it.
    fn failed_in_silence(&self) -> Ending {
        let words = self
            .message
            .last
            .clone()
            .unwrap_or_else(|| "it ended its turn without a call of the model".into());
        let class = match &self.error {
            Some(error) => class_of_error(error),
            None => class_of(number_in(&words), &words),
        };
        let parked = (class == FailureClass::UsageLimit).then_some(None);
        Ending { parked, ..Ending::bad(class, words) }
    }
}

impl Translator for Acp {
    fn opening(&mut self) -> Vec<u8> {
        let none = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
        let client = json!({ "name": "conductor", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": VERSION, "clientCapabilities": none, "clientInfo": client });
        request(INITIALIZE, "initialize", &params)
    }

    fn on_line(&mut self, bytes: &[u8]) -> Heard {
        let Ok(event) = serde_json::from_slice::<Value>(bytes) else { return Heard::default() };
        match (event["method"].as_str(), event.get("id")) {
            (Some(method), Some(id)) => self.on_question(method, id, &event["params"]),
            (Some("session/update"), None) if self.prompted => self.on_update(&event["params"]["update"]),
            (None, Some(id)) => self.on_answer(id.as_u64().unwrap_or_default(), &event),
            _ => Heard::default(),
        }
    }

    fn interrupt(&mut self) -> Vec<u8> {
        match self.prompted && self.end.is_none() {
            true => {
                let params = json!({ "sessionId": self.session });
                line(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }))
            }
            false => Vec::new(),
        }
    }

    fn finish(&mut self, exit: Exit) -> Ending {
        if let Some(why) = self.refused.take() {
            return Ending::bad(class_of(number_in(&why), &why), plain(&why));
        }
        let Some(end) = self.end.take() else { return Ending::unfinished(exit, "") };
        if let Some(error) = end.get("error") {
            return failed(error);
        }
        let result = &end["result"];
        match result["stopReason"].as_str() {
            Some("end_turn") if result.get("usage").is_some_and(Value::is_null) => self.failed_in_silence(),
            Some("end_turn") => Ending::good(self.message.last.take()),
            Some("cancelled") => Ending::bad(FailureClass::Killed, "it was interrupted"),
            Some("max_turn_requests") => {
                Ending::bad(FailureClass::Budget, "it reached its own limit of turns")
            }
            Some("refusal") => Ending::bad(FailureClass::Rejected, "the model refused to go on"),
            reason => {
                let message = format!("it stopped in the middle ({})", reason.unwrap_or("no reason"));
                Ending::bad(FailureClass::Unfinished, message)
            }
        }
    }
}

/// One that only reads what was recorded.
pub(super) fn listener(brief: &Brief<'_>) -> Box<dyn Translator> {
    Box::new(Acp::new(brief))
}

/// What a call does, in our words: a tool and its input, for each file where it is about files.
fn deeds(call: &Value) -> Vec<(&'static str, Value)> {
    let with_files = |tool| files(call).map(|file| (tool, json!({ "file_path": file }))).collect();
    match call["kind"].as_str() {
        Some("edit" | "delete" | "move") => with_files("Edit"),
        Some("read") => with_files("Read"),
        Some("fetch") => vec![("WebFetch", call["rawInput"].clone())],
        Some("execute") => {
            let command = text(&call["rawInput"]["command"]).or_else(|| text(&call["title"]));
            vec![(SHELL, json!({ "command": command }))]
        }
        _ => Vec::new(),
    }
}

fn files(call: &Value) -> impl Iterator<Item = String> {
    let listed = |name: &str| call[name].as_array().map(Vec::as_slice).unwrap_or_default().iter();
    listed("locations").chain(listed("content")).filter_map(|part| text(&part["path"]))
}

fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

#[cfg(test)]
mod tests {
    use super::super::Session;
    use super::super::replay::{self, Recording};
    use super::*;

    fn acp(directory: &str, known: Option<&str>) -> Acp {
        let session = Session { id: known.unwrap_or("ours").to_owned(), begun: known.is_some() };
        replay::asked(directory, session, Acp::new)
    }

    /// A translator that takes the part of the client in the recording.
    fn heir(recording: &Recording) -> Acp {
        let opened = recording.said().find(|said| said["id"] == SESSION).unwrap();
        acp(opened["params"]["cwd"].as_str().unwrap(), opened["params"]["sessionId"].as_str())
    }

    #[test]
    fn every_recorded_end_is_understood() {
        insta::assert_snapshot!(replay::ends("acp", heir));
    }

    #[test]
    fn what_we_say_is_what_was_said_then() {
        for recording in replay::recordings("acp") {
            let played = recording.played(&mut heir(&recording));
            let ours: Vec<Value> = played.said.iter().map(replay::shape).collect();
            let then: Vec<Value> = recording.said().map(replay::shape).collect();
            // Where a conversation was lost, the recorded client gave up; ours begins another.
            assert_eq!(ours[..then.len()], then, "{}", recording.name);
            let more = ours.get(then.len()).map(|said| said["method"].clone());
            assert!(more.is_none_or(|method| method == "session/new"), "{}", recording.name);
        }
    }

    #[test]
    fn what_was_said_before_is_not_said_again() {
        let recording = &replay::recording("acp", "opencode-load");
        let said: Vec<Said> =
            recording.played(&mut heir(recording)).heard.into_iter().flat_map(|heard| heard.said).collect();
        assert_eq!(
            said,
            [
                Said::Text("I will write the file.".into()),
                Said::Tool("edit".into(), "hello.txt".into()),
                Said::Text("Now I run a command.".into()),
                Said::Tool("execute".into(), "cat hello.txt && wc -c hello.txt".into()),
                Said::Text("Done: hello.txt written and checked.".into()),
            ]
        );
    }

    fn answer(acp: &mut Acp, call: &Value) -> Value {
        let options = json!([
            { "optionId": "always", "kind": "allow_always" },
            { "optionId": "yes", "kind": "allow_once" },
            { "optionId": "no", "kind": "reject_once" },
        ]);
        let params = json!({ "toolCall": call, "options": options });
        let question = json!({ "id": 0, "method": "session/request_permission", "params": params });
        let heard = acp.on_line(&line(&question));
        serde_json::from_slice::<Value>(&heard.reply).unwrap()["result"]["outcome"]["optionId"].clone()
    }

    #[test]
    fn a_question_is_answered_by_the_policy() {
        let mut acp = acp("/work/a", None);
        let mut asked = |call: Value| answer(&mut acp, &call);
        assert_eq!(asked(json!({ "kind": "edit", "locations": [{ "path": "/work/a/x" }] })), "yes");
        assert_eq!(asked(json!({ "kind": "edit", "content": [{ "type": "diff", "path": "/etc/x" }] })), "no");
        assert_eq!(asked(json!({ "kind": "edit", "title": "somewhere" })), "no");
        assert_eq!(asked(json!({ "kind": "execute", "title": "make test" })), "yes");
        assert_eq!(
            asked(json!({ "kind": "execute", "rawInput": { "command": "sudo make" }, "title": "m" })),
            "no"
        );
        assert_eq!(asked(json!({ "kind": "read" })), "yes");
        assert_eq!(asked(json!({ "kind": "other", "name": "mcp__tasks__add" })), "yes");
        assert_eq!(asked(json!({ "title": "CronCreate" })), "no");
    }

    #[test]
    fn its_name_is_a_command() {
        let session = Session { id: "s".into(), begun: false };
        replay::asked("/work/a", session, |brief| {
            let task = Task { agent: Some("acp:gemini  --acp".into()), ..brief.task.clone() };
            assert_eq!(command(&task).collect::<Vec<_>>(), ["gemini", "--acp"]);
            let task = Task { model: Some("x".into()), ..task };
            assert!(super::super::Agent::check(&Agent, &task).is_err());
        });
    }

    #[test]
    fn whatever_arrives_does_no_harm() {
        replay::withstands("acp", || acp("/work/a", None));
    }

    #[test]
    fn what_is_not_its_language_does_no_harm() {
        replay::confuse("acp", acp("/work/a", None));
    }

    #[test]
    fn what_is_called_comes_back() {
        for (name, calls) in [("claude-job", 2), ("codex-job", 2), ("gemini-job", 2), ("opencode-job", 2)] {
            let recording = replay::recording("acp", name);
            assert_eq!(replay::calls("acp", name, heir(&recording)), (calls, calls as u32), "{name}");
        }
    }
}
