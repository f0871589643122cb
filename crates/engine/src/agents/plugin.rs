//! An agent from a third party: a program `conductor-agent-NAME` that speaks JSON lines, see docs/agents.md.
//!
//! It is believed no more than the others: without its `result` it has not finished, and what it did is checked.

use conductor_core::plan::permissions::{EDITS, SHELL};
use conductor_core::plan::{Task, Work};
use conductor_core::run::event::{Failure, FailureClass};
use conductor_core::values::units::Usd;
use serde_json::{Value, json};

use super::policy::InWorkspace;
use super::talk::{Ending, Heard, Said, Tokens, Translator, line, said, text};
use super::{AgentError, Brief, Engagement};
use crate::plugins::{self, Found, Kind, PROTOCOL, PluginError};
use crate::process::Exit;

pub(super) struct Agent;

impl super::Agent for Agent {
    fn abilities(&self) -> super::Abilities {
        super::Abilities::ALL
    }

    /// It asks, as its author was told to.
    fn keeps(&self) -> super::Keeps {
        super::Keeps::Everything
    }

    fn engage(&self, brief: &Brief<'_>) -> Result<Engagement, AgentError> {
        self.check(brief.task)?;
        let found = find(brief.task.agent_name())?;
        let mut launch = brief.launch(&found.path.display().to_string(), Vec::new(), &[], &[]);
        launch.program = found.path.clone().into();
        Ok(Engagement { launch, translator: Box::new(Plugin::new(brief)) })
    }

    fn check(&self, task: &Task) -> Result<(), AgentError> {
        match task.work {
            Work::Run(_) => {
                Err(AgentError::Unfit { agent: "plugin", why: "it takes a prompt, not a command".into() })
            }
            Work::Prompt(_) => find(task.agent_name()).map(drop),
        }
    }
}

/// The program of this name that may be started.
fn find(name: &str) -> Result<Found, AgentError> {
    plugins::find(Kind::Agent, name).map_err(|error| match error {
        PluginError::Missing { .. } => AgentError::Unknown(name.to_owned()),
        other => AgentError::Plugin(other.to_string(), other.remedy().unwrap_or("see docs/plugins.md")),
    })
}

/// Whether there is such a program, be it one that may be started or not.
pub(super) fn exists(name: &str) -> bool {
    !matches!(find(name), Err(AgentError::Unknown(_)))
}

struct Plugin {
    /// The name of its file.
    program: String,
    task: Value,
    policy: InWorkspace,
    words: Option<String>,
    result: Option<Value>,
    /// Why it is not understood, where its hello says so; and whether it has said anything yet.
    refused: Option<String>,
    begun: bool,
    /// Whether a tool is at work: its protocol has no word for the end of a call, so the next line is taken for it.
    calling: bool,
    /// The tool that its last line told of, and the rule that this is against.
    breach: Option<(String, Failure)>,
}

impl Plugin {
    fn new(brief: &Brief<'_>) -> Plugin {
        let session = json!({ "id": brief.session.id, "begun": brief.session.begun });
        let task = json!({
            "type": "task",
            "protocol": PROTOCOL,
            "id": brief.task.id.as_str(),
            "words": brief.words,
            "directory": brief.workspace.directory,
            "model": brief.task.model,
            "session": session,
        });
        let program = Kind::Agent.program(brief.task.agent_name()).unwrap_or_default();
        Plugin {
            program,
            task,
            policy: brief.policy(),
            words: None,
            result: None,
            refused: None,
            begun: false,
            calling: false,
            breach: None,
        }
    }

    /// One from before there was a hello says none, and is understood all the same.
    fn on_hello(&mut self, line: &[u8]) -> Heard {
        match plugins::read_hello(&self.program, Kind::Agent, line) {
            Ok(hello) => said(Said::Note(format!("{} {}", self.program, hello.version))),
            Err(error) => {
                let why = error.to_string();
                self.refused = Some(why.clone());
                // It is told to stop, as one that has ended is.
                Heard { over: true, ..said(Said::Trouble(why)) }
            }
        }
    }

    fn on_text(&mut self, event: &Value) -> Heard {
        let Some(words) = text(&event["text"]) else { return Heard::default() };
        self.words = Some(words.clone());
        said(Said::Text(words))
    }

    /// Not every author asks before the program acts: what it tells of is held against the rules, too.
    fn on_tool(&mut self, event: &Value) -> Heard {
        let name = text(&event["name"]).unwrap_or_default();
        let what = text(&event["text"]).unwrap_or_default();
        let tool = ours(&name);
        let input = match &event["input"] {
            Value::Object(_) => event["input"].clone(),
            _ if tool == SHELL => json!({ "command": what }),
            _ => json!({ "file_path": what }),
        };
        self.breach = self.policy.breach(tool, &input).map(|failure| (tool.to_owned(), failure));
        said(Said::Tool(name, what))
    }

    /// A call that it tells of and asks about in the next line has not been made yet.
    fn settle(&mut self, event: &Value) -> Option<Failure> {
        let (tool, failure) = self.breach.take()?;
        let asks = event["type"] == "question" && event["tool"].as_str().map(ours) == Some(&*tool);
        (!asks).then_some(failure)
    }

    fn on_question(&self, event: &Value) -> Heard {
        let tool = event["tool"].as_str().unwrap_or_default();
        let refusal = self.policy.judge(tool, &event["input"]);
        let answer =
            json!({ "type": "answer", "id": event["id"], "allow": refusal.is_none(), "why": refusal });
        let said = refusal.map(|why| Said::Denied(format!("{tool}: {why}")));
        Heard { reply: line(&answer), said: said.into_iter().collect(), ..Heard::default() }
    }

    fn on_event(&mut self, event: Value) -> Heard {
        let words = || text(&event["text"]).unwrap_or_default();
        match event["type"].as_str() {
            Some("text") => self.on_text(&event),
            Some("tool") => self.on_tool(&event),
            Some("error") => said(Said::Trouble(words())),
            Some("note") => said(Said::Note(words())),
            Some("waiting") => said(Said::Retry(words())),
            Some("usage") => {
                let cost = event["cost"].as_f64().map(Usd::from_dollars);
                Heard { used: vec![tokens(&event)], cost, ..Heard::default() }
            }
            Some("session") => Heard { session: text(&event["id"]), ..Heard::default() },
            Some("question") => self.on_question(&event),
            Some("result") => {
                self.result = Some(event);
                Heard { over: true, ..Heard::default() }
            }
            // Whatever comes with a later version is kept in the stream and does no harm.
            _ => Heard::default(),
        }
    }

    fn failed(&self, result: &Value) -> Ending {
        let words = text(&result["text"]).or_else(|| self.words.clone());
        let class = class_of(&result["class"]);
        let parked = (class == FailureClass::UsageLimit).then(|| result["resets_at"].as_i64());
        Ending { parked, ..Ending::bad(class, words.unwrap_or_else(|| "it failed without a reason".into())) }
    }
}

impl Translator for Plugin {
    fn opening(&mut self) -> Vec<u8> {
        line(&self.task)
    }

    fn on_line(&mut self, bytes: &[u8]) -> Heard {
        if !std::mem::replace(&mut self.begun, true) && is_hello(bytes) {
            return self.on_hello(bytes);
        }
        let Ok(event) = serde_json::from_slice::<Value>(bytes) else { return Heard::default() };
        let returned = u32::from(std::mem::replace(&mut self.calling, event["type"] == "tool"));
        let stuck = self.settle(&event);
        Heard { returned, stuck, ..self.on_event(event) }
    }

    fn say(&mut self, words: &str) -> Vec<u8> {
        line(&json!({ "type": "words", "text": words }))
    }

    fn interrupt(&mut self) -> Vec<u8> {
        line(&json!({ "type": "interrupt" }))
    }

    fn finish(&mut self, exit: Exit) -> Ending {
        if let Some(refused) = self.refused.take() {
            return Ending::bad(FailureClass::Unstartable, refused);
        }
        if let Some((_, breach)) = self.breach.take() {
            return Ending::bad(breach.class, breach.message);
        }
        let Some(result) = self.result.take() else {
            return Ending::unfinished(exit, "");
        };
        match (result["ok"] == true, exit) {
            (true, Exit::Code(0)) => Ending::good(text(&result["text"]).or(self.words.take())),
            (true, exit) => Ending::contradicted(exit),
            (false, _) => self.failed(&result),
        }
    }
}

/// A tool by the name that rules have for it: authors write them in small letters, too.
fn ours(name: &str) -> &str {
    let known = EDITS.into_iter().chain([SHELL]).find(|known| known.eq_ignore_ascii_case(name));
    known.unwrap_or(name)
}

fn is_hello(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line).is_ok_and(|said| said["type"] == "hello")
}

/// One that only reads what was recorded.
pub(super) fn listener(brief: &Brief<'_>) -> Box<dyn Translator> {
    Box::new(Plugin::new(brief))
}

/// The classes it may give its failure; the others are for us to find out.
fn class_of(name: &Value) -> FailureClass {
    use FailureClass::{
        Billing, Budget, Killed, Overloaded, Provider, RateLimited, Rejected, TooLong, Unauthorized,
        UnknownModel, UsageLimit,
    };
    match serde_json::from_value(name.clone()) {
        Ok(
            class @ (Billing | Budget | Killed | Overloaded | Provider | RateLimited | Rejected | TooLong
            | Unauthorized | UnknownModel | UsageLimit),
        ) => class,
        _ => FailureClass::Exit,
    }
}

fn tokens(event: &Value) -> Tokens {
    let number = |name: &str| event[name].as_u64().unwrap_or(0);
    Tokens {
        model: text(&event["model"]).unwrap_or_default(),
        input: number("input"),
        cache_read: number("cache_read"),
        cache_write: number("cache_write"),
        output: number("output"),
        turns: number("turns").try_into().unwrap_or(u32::MAX),
        ..Tokens::default()
    }
}

#[cfg(test)]
mod tests {
    use conductor_core::run::event::Outcome;

    use super::super::{Session, replay};
    use super::*;

    fn plugin() -> Plugin {
        let session = Session { id: "s".into(), begun: false };
        replay::asked("/work/a", session, Plugin::new)
    }

    fn ended(lines: &[&str], exit: Exit) -> String {
        let mut plugin = plugin();
        for line in lines {
            plugin.on_line(line.as_bytes());
        }
        let ending = plugin.finish(exit);
        match ending.outcome {
            Outcome::Failed(failure) => {
                format!("{:?}: {} {:?}", failure.class, failure.message, ending.parked)
            }
            _ => format!("ok: {:?}", ending.result),
        }
    }

    #[test]
    fn it_is_told_the_task_in_one_line() {
        let opening = plugin().opening();
        assert_eq!(opening.iter().filter(|&&byte| byte == b'\n').count(), 1);
        let told: Value = serde_json::from_slice(&opening).unwrap();
        let expected = json!({
            "type": "task", "protocol": 1, "id": "t", "words": "do it", "directory": "/work/a", "model": null,
            "session": { "id": "s", "begun": false },
        });
        assert_eq!(told, expected);
    }

    #[test]
    fn only_a_good_result_and_a_good_exit_are_success() {
        let good = r#"{"type":"result","ok":true,"text":"done"}"#;
        let said = r#"{"type":"text","text":"words"}"#;
        let limit = r#"{"type":"result","ok":false,"class":"usage_limit","resets_at":17,"text":"no more"}"#;
        let all = [
            ended(&[good], Exit::Code(0)),
            ended(&[said, r#"{"type":"result","ok":true}"#], Exit::Code(0)),
            ended(&[good], Exit::Code(3)),
            ended(&[said], Exit::Code(0)),
            ended(&[r#"{"type":"result"}"#], Exit::Code(0)),
            ended(&[r#"{"type":"result","ok":"true"}"#], Exit::Code(0)),
            ended(&[limit], Exit::Code(0)),
            ended(&[r#"{"type":"result","ok":false,"class":"conflict","text":"mine"}"#], Exit::Code(1)),
        ];
        insta::assert_snapshot!(all.join("\n"), @r#"
        ok: Some("done")
        ok: Some("words")
        Unfinished: it said that it was done, but ended with exit code 3 None
        Unfinished: it ended without a final word (exit code 0) None
        Exit: it failed without a reason None
        Exit: it failed without a reason None
        UsageLimit: no more Some(Some(17))
        Exit: mine None
        "#);
    }

    #[test]
    fn it_tells_what_it_does_and_uses() {
        let mut plugin = plugin();
        let mut heard = |line: &str| plugin.on_line(line.as_bytes());
        assert_eq!(
            heard(r#"{"type":"tool","name":"edit","text":"x"}"#).said,
            [Said::Tool("edit".into(), "x".into())]
        );
        assert_eq!(heard(r#"{"type":"session","id":"mine"}"#).session.as_deref(), Some("mine"));
        let used = heard(r#"{"type":"usage","model":"m","input":10,"output":2,"turns":1,"cost":0.5}"#);
        assert_eq!((used.used[0].total(), used.used[0].turns, used.cost), (12, 1, Some(Usd(500_000))));
        let answer = |heard: Heard| serde_json::from_slice::<Value>(&heard.reply).unwrap();
        let asked = heard(r#"{"type":"question","id":7,"tool":"Bash","input":{"command":"make"}}"#);
        assert_eq!(answer(asked), json!({ "type": "answer", "id": 7, "allow": true, "why": null }));
        let asked = heard(r#"{"type":"question","id":8,"tool":"Edit","input":{"file_path":"/etc/x"}}"#);
        assert_eq!(answer(asked)["allow"], false);
    }

    #[test]
    fn a_hello_is_not_needed_and_a_wrong_one_is_the_end() {
        let good = r#"{"type":"result","ok":true,"text":"done"}"#;
        let hello = |protocol: &str, kind: &str| {
            format!(r#"{{"type":"hello","protocol":{protocol},"version":"1.0","capabilities":["{kind}"]}}"#)
        };
        let all = [
            ended(&[good], Exit::Code(0)),
            ended(&[&hello("1", "agent"), good], Exit::Code(0)),
            ended(&[&hello("2", "agent"), good], Exit::Code(0)),
            ended(&[&hello("1", "verifier"), good], Exit::Code(0)),
        ];
        insta::assert_snapshot!(all.join("\n"), @r#"
        ok: Some("done")
        ok: Some("done")
        Unstartable: conductor-agent-claude speaks protocol 2, and this is 1 None
        Unstartable: conductor-agent-claude says that it can verifier, and not agent None
        "#);
    }

    #[test]
    fn what_is_not_its_language_does_no_harm() {
        let mut plugin = plugin();
        for line in replay::garbage() {
            plugin.on_line(&line);
        }
        plugin.finish(Exit::Code(0));
    }

    #[test]
    fn what_a_rule_is_against_is_noticed_where_it_does_not_ask() {
        let rules = conductor_core::plan::Permissions {
            deny: vec!["Bash(terraform*)".into(), "Edit(secrets/*)".into()],
            ..Default::default()
        };
        let told = |lines: &[&str]| {
            let mut plugin = plugin();
            plugin.policy = InWorkspace::new("/work/a".into(), None).with(rules.clone(), Default::default());
            let mut stuck = None;
            for line in lines {
                stuck = stuck.or(plugin.on_line(line.as_bytes()).stuck);
            }
            let ended = match plugin.finish(Exit::Code(0)).outcome {
                Outcome::Failed(failure) => Some(failure),
                _ => None,
            };
            stuck.or(ended).map(|failure| failure.class)
        };
        let good = r#"{"type":"result","ok":true,"text":"done"}"#;
        let apply = r#"{"type":"tool","name":"bash","text":"terraform apply"}"#;
        let edit = r#"{"type":"tool","name":"Edit","input":{"file_path":"/work/a/secrets/key"}}"#;
        let asks = r#"{"type":"question","id":1,"tool":"Bash","input":{"command":"terraform apply"}}"#;
        assert_eq!(told(&[apply, good]), Some(FailureClass::Unwanted));
        assert_eq!(told(&[edit, good]), Some(FailureClass::Unwanted));
        assert_eq!(told(&[good, apply]), Some(FailureClass::Unwanted), "its last line counts, too");
        assert_eq!(told(&[apply, asks, good]), None, "it asks, and is told no");
        assert_eq!(told(&[asks, apply, good]), Some(FailureClass::Unwanted), "it did not listen");
        assert_eq!(told(&[r#"{"type":"tool","name":"edit","text":"a.rs"}"#, good]), None);
    }

    /// Its protocol has no word for the end of a call: the next line is taken for it.
    #[test]
    fn a_call_is_over_with_the_next_line() {
        let mut plugin = plugin();
        let tool = r#"{"type":"tool","name":"edit","text":"x"}"#;
        let returned =
            [tool, tool, "no json", r#"{"type":"note","text":"n"}"#, r#"{"type":"text","text":"t"}"#]
                .map(|line| plugin.on_line(line.as_bytes()).returned);
        assert_eq!(returned, [0, 1, 0, 1, 0]);
    }
}
