//! An agent from a third party: a program `conductor-agent-NAME` that speaks JSON lines, see docs/agents.md.
//!
//! It is believed no more than the others: without its `result` it has not finished, and what it did is checked.

use conductor_core::plan::{Task, Work};
use conductor_core::run::event::FailureClass;
use conductor_core::values::units::Usd;
use serde_json::{Value, json};

use super::policy::InWorkspace;
use super::talk::{Ending, Heard, Said, Tokens, Translator, line, said, text};
use super::{AgentError, Brief, Engagement};
use crate::process::Exit;

/// Raised when a program written for what came before would no longer be understood.
pub const PROTOCOL: u32 = 1;

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
        let name = brief.task.agent_name();
        let program = program(name).ok_or_else(|| AgentError::Unknown(name.to_owned()))?;
        let launch = brief.launch(&program, Vec::new(), &[], &[]);
        Ok(Engagement { launch, translator: Box::new(Plugin::new(brief)) })
    }

    fn check(&self, task: &Task) -> Result<(), AgentError> {
        match task.work {
            Work::Run(_) => {
                Err(AgentError::Unfit { agent: "plugin", why: "it takes a prompt, not a command".into() })
            }
            Work::Prompt(_) => Ok(()),
        }
    }
}

/// Whether there is such a program.
pub(super) fn exists(name: &str) -> bool {
    program(name).is_some_and(|program| crate::process::on_path(&program))
}

/// What the name of such a program begins with.
pub(super) const PREFIX: &str = "conductor-agent-";

/// Its name is part of a file's name and nothing more.
pub(super) fn program(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then(|| format!("{PREFIX}{name}"))
}

struct Plugin {
    task: Value,
    policy: InWorkspace,
    words: Option<String>,
    result: Option<Value>,
    /// Whether a tool is at work: its protocol has no word for the end of a call, so the next line is taken for it.
    calling: bool,
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
        Plugin { task, policy: brief.policy(), words: None, result: None, calling: false }
    }

    fn on_text(&mut self, event: &Value) -> Heard {
        let Some(words) = text(&event["text"]) else { return Heard::default() };
        self.words = Some(words.clone());
        said(Said::Text(words))
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
            Some("tool") => said(Said::Tool(text(&event["name"]).unwrap_or_default(), words())),
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
        let Ok(event) = serde_json::from_slice::<Value>(bytes) else { return Heard::default() };
        let returned = u32::from(std::mem::replace(&mut self.calling, event["type"] == "tool"));
        Heard { returned, ..self.on_event(event) }
    }

    fn say(&mut self, words: &str) -> Vec<u8> {
        line(&json!({ "type": "words", "text": words }))
    }

    fn interrupt(&mut self) -> Vec<u8> {
        line(&json!({ "type": "interrupt" }))
    }

    fn finish(&mut self, exit: Exit) -> Ending {
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
    fn its_name_is_no_path() {
        assert_eq!(program("my-agent_2").as_deref(), Some("conductor-agent-my-agent_2"));
        for name in ["", "../x", "a/b", "a b", "acp:x", "ä"] {
            assert_eq!(program(name), None, "{name}");
        }
    }

    #[test]
    fn what_is_not_its_language_does_no_harm() {
        let mut plugin = plugin();
        for line in replay::garbage() {
            plugin.on_line(&line);
        }
        plugin.finish(Exit::Code(0));
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
