//! OpenCode: one prompt in, a stream of JSON lines out, with any provider's model behind it.
//!
//! Of its subagents' sessions it says nothing, so it has none unless the task says so.
//! It names the session itself and says what each step used and cost, but not which model did it. Its last step must
//! have stopped of its own accord: it also exits with 0 after an answer that was cut off, and after a tool call that
//! it was not allowed.
//!
//! It is told by rules of its own what it may do. What it was denied and a person could allow ends the attempt as a question.

mod permissions;

use std::sync::Arc;

use conductor_core::plan::Task;
use conductor_core::run::event::{Failure, FailureClass};
use conductor_core::values::units::Usd;
use serde_json::{Value, json};

use super::calls::{CallSize, Calls};
use super::policy::InWorkspace;
use super::talk::{
    Ending, Heard, MOST, Said, Tokens, Translator, class_of, failed_command, plain, purpose, said, text,
};
use super::{AgentError, Brief, Engagement, Session};
use crate::agents::tool_access;
use crate::process::Exit;

/// The program, and how to get it.
const PROGRAM: &str = "opencode";
const REMEDY: &str = "install it with `npm install -g opencode-ai`";

/// Variables it needs whatever its model.
const KEYS: [&str; 3] = ["OPENCODE_CONFIG", CONFIG, "OPENCODE_CONFIG_DIR"];

/// Its rules as a text.
const PERMISSION: &str = "OPENCODE_PERMISSION";

/// Settings as a text.
const CONFIG: &str = "OPENCODE_CONFIG_CONTENT";

/// Keys of each provider, by the first part of a model's name. Where the task names a model, the others stay out.
const PROVIDERS: [(&str, &[&str]); 10] = [
    ("anthropic", &["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]),
    ("openai", &["OPENAI_API_KEY", "OPENAI_BASE_URL"]),
    ("google", &["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"]),
    ("opencode", &["OPENCODE_API_KEY"]),
    ("openrouter", &["OPENROUTER_API_KEY"]),
    ("groq", &["GROQ_API_KEY"]),
    ("mistral", &["MISTRAL_API_KEY"]),
    ("deepseek", &["DEEPSEEK_API_KEY"]),
    ("xai", &["XAI_API_KEY"]),
    ("azure", &["AZURE_API_KEY", "AZURE_RESOURCE_NAME"]),
];

pub(super) struct Agent;

impl super::Agent for Agent {
    fn abilities(&self) -> super::Abilities {
        super::Abilities { asks: false, interrupts: false, ..super::Abilities::ALL }
    }

    fn keeps(&self) -> super::Keeps {
        super::Keeps::Some(&super::rules::OPENCODE)
    }

    fn counts_subagents(&self) -> bool {
        false
    }

    /// Elsewhere it waits for ever for words of its own that it does not hear.
    fn stays_where_it_began(&self) -> bool {
        true
    }

    fn names_conversations(&self) -> bool {
        true
    }

    /// It makes its database, or brings it up to date, without a lock.
    fn sets_up_its_home(&self) -> bool {
        true
    }

    fn engage(&self, brief: &Brief<'_>) -> Result<Engagement, AgentError> {
        self.check(brief.task)?;
        let policy = brief.policy();
        let own = brief.caller.variable(PERMISSION).and_then(|(_, own)| own.into_string().ok());
        let mut rules = permissions::permissions(&policy, own.as_deref());
        if !brief.task.wants_subagents() || !brief.task.may_delegate() {
            rules["task"] = json!("deny");
        }
        let model = brief.task.model.as_deref();
        let config = (brief.tools.is_some() || policy.restricts()).then(|| config(brief, &policy, &rules));
        let config = config.transpose()?;
        let config = config.as_deref().map(|config| (CONFIG, config));
        let settings: Vec<(&str, &str)> =
            [("OPENCODE_DISABLE_AUTOUPDATE", "true")].into_iter().chain(config).collect();
        let mut keys = keys(model);
        keys.retain(|key| *key != CONFIG || config.is_none());
        let mut launch = brief.launch(PROGRAM, arguments(brief.task, brief.session), &keys, &settings);
        // Whatever else the environment says of it.
        Arc::make_mut(&mut launch.env).insert(PERMISSION.into(), rules.to_string().into());
        let translator = OpenCode::new(brief.words.clone(), model, Some(policy));
        Ok(Engagement { launch, translator: Box::new(translator) })
    }

    fn check(&self, task: &Task) -> Result<(), AgentError> {
        super::takes_prompts("opencode", task, PROGRAM, REMEDY)
    }
}

fn unfit(why: String) -> AgentError {
    AgentError::Unfit { agent: PROGRAM, why }
}

/// Its user's own words in this variable, with our tools and rules among them.
fn config(brief: &Brief<'_>, policy: &InWorkspace, rules: &Value) -> Result<String, AgentError> {
    let own = brief.caller.variable(CONFIG).map(|(_, own)| own.to_string_lossy().into_owned());
    let own = own.filter(|own| !own.trim().is_empty());
    let mut config = match own.as_deref().map_or(Ok(json!({})), serde_json::from_str::<Value>) {
        Ok(config) if config.is_object() => config,
        _ => {
            return Err(unfit(format!("{CONFIG} is no JSON object, and it needs settings of ours in there")));
        }
    };
    if let Some(access) = brief.tools {
        let headers = json!({ "Authorization": format!("Bearer {{env:{}}}", tool_access::TOKEN) });
        config["mcp"][tool_access::NAME] =
            json!({ "type": "remote", "url": access.url, "headers": headers, "enabled": true });
    }
    if policy.restricts() {
        // What a project says of its agent counts more than what is said of all of them.
        config["agent"][USUAL]["permission"] = rules.clone();
    }
    Ok(config.to_string())
}

/// Its agent that works where none is named.
const USUAL: &str = "build";

/// The prompt itself goes through its input: as an argument it could be no longer than the system allows.
fn arguments(task: &Task, session: &Session) -> Vec<String> {
    let mut args = ["run", "--format", "json"].map(str::to_owned).to_vec();
    match session.begun {
        true => args.extend(["--session".to_owned(), session.id.clone()]),
        // Without a title it has a model read the whole prompt once more, to think of one.
        false => args.extend(["--title".to_owned(), task.id.to_string()]),
    }
    if let Some(model) = &task.model {
        args.extend(["--model".to_owned(), model.clone()]);
    }
    args
}

fn keys(model: Option<&str>) -> Vec<&'static str> {
    let provider = model.and_then(|model| model.split_once('/')).map(|(provider, _)| provider);
    let wanted = |name: &str| provider.is_none_or(|provider| provider == name);
    let of_providers = PROVIDERS.iter().filter(|(name, _)| wanted(name)).flat_map(|(_, keys)| keys.iter());
    KEYS.iter().chain(of_providers).copied().collect()
}

#[derive(Default)]
struct OpenCode {
    prompt: String,
    policy: Option<InWorkspace>,
    /// What the task asked for; it never says itself.
    model: String,
    words: Option<String>,
    denied: Option<String>,
    error: Option<Value>,
    /// Why its last step was over; nothing while one is under way.
    stopped: Option<String>,
    /// The step that is under way is counted as a turn.
    is_counted: bool,
    /// How many answers in a row broke off. It asks again each time, for ever if need be.
    calls: Calls,
    broken_off: u32,
}

/// So many answers that broke off are enough.
const BROKEN_OFF: u32 = 5;

impl OpenCode {
    fn new(prompt: String, model: Option<&str>, policy: Option<InWorkspace>) -> OpenCode {
        let model = model.map(|model| model.split_once('/').map_or(model, |(_, name)| name));
        OpenCode { prompt, policy, model: model.unwrap_or_default().to_owned(), ..OpenCode::default() }
    }

    fn on_text(&mut self, part: &Value) -> Heard {
        let Some(words) = text(&part["text"]) else { return Heard::default() };
        self.words = Some(words.clone());
        said(Said::Text(words))
    }

    fn on_tool(&mut self, part: &Value) -> Heard {
        let (tool, state) = (text(&part["tool"]).unwrap_or_default(), &part["state"]);
        // It tells of a call when the call is over.
        let mut heard = Heard { returned: 1, ..said(Said::Tool(tool.clone(), purpose(&state["input"]))) };
        if state["status"] == "error" {
            let why = text(&state["error"]).unwrap_or_default();
            let why = format!("{tool}: {}", why.split(". ").next().unwrap_or_default());
            match why.contains("prevents you") || why.contains("rejected permission") {
                true => {
                    let ours = self.judge(&tool, &state["input"]);
                    let why = ours.map_or(why, |ours| format!("{tool}: {ours}"));
                    self.denied = Some(why.clone());
                    heard.said.push(Said::Denied(why));
                }
                false => heard.said.push(Said::Trouble(why)),
            }
        }
        if state["status"] == "completed" {
            let code = state["metadata"]["exit"].as_i64().filter(|code| *code != 0);
            let output = state["output"].as_str().unwrap_or_default();
            heard.said.extend(code.map(|code| failed_command(Some(code), output)));
            let ours = self.policy.as_ref().zip(permissions::ours(&tool));
            heard.stuck = ours.and_then(|(policy, ours)| policy.breach(&ours, &state["input"]));
        }
        heard
    }

    /// It has denied itself a call; whether a person is to be asked is for our rules to say.
    fn judge(&self, tool: &str, input: &Value) -> Option<String> {
        self.policy.as_ref()?.judge(&permissions::ours(tool)?, input)
    }

    fn on_step(&mut self, part: &Value) -> Heard {
        let reason = text(&part["reason"]).unwrap_or_default();
        self.broken_off = if reason == "unknown" { self.broken_off + 1 } else { 0 };
        let stuck = (self.broken_off >= BROKEN_OFF).then(|| {
            let message = format!("its provider's answers break off, {BROKEN_OFF} times in a row");
            Failure::new(FailureClass::Provider, message)
        });
        self.stopped = Some(reason);
        let turns = u32::from(!std::mem::take(&mut self.is_counted));
        let used = Tokens { model: self.model.clone(), turns, ..tokens(&part["tokens"]) };
        self.calls.count(&used);
        let used = vec![used];
        Heard { used, cost: part["cost"].as_f64().map(Usd::from_dollars), stuck, ..Heard::default() }
    }

    fn on_error(&mut self, error: &Value) -> Heard {
        self.stopped = None;
        self.error = Some(error.clone());
        Heard::default()
    }
}

impl Translator for OpenCode {
    fn opening(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.prompt).into_bytes()
    }

    fn converses(&self) -> bool {
        false
    }

    fn on_line(&mut self, bytes: &[u8]) -> Heard {
        let Ok(event) = serde_json::from_slice::<Value>(bytes) else { return Heard::default() };
        let part = &event["part"];
        let heard = match event["type"].as_str() {
            Some("step_start") => {
                // It has found a way on.
                (self.stopped, self.error) = (None, None);
                // One turn too many is to be stopped before its tools have run and the next one is asked for.
                let is_new = !std::mem::replace(&mut self.is_counted, true);
                let turn = Tokens { model: self.model.clone(), turns: 1, ..Tokens::default() };
                Heard { used: is_new.then_some(turn).into_iter().collect(), ..Heard::default() }
            }
            Some("text") => self.on_text(part),
            Some("tool_use") => self.on_tool(part),
            Some("step_finish") => self.on_step(part),
            Some("error") => self.on_error(&event["error"]),
            // Whatever comes with a later version is kept in the stream and does no harm.
            _ => Heard::default(),
        };
        Heard { session: text(&event["sessionID"]), ..heard }
    }

    /// What a call used is told when the tools it asked for are done.
    fn unsaid(&mut self) -> Vec<Tokens> {
        let at_work = self.error.is_none() && self.stopped.as_deref() != Some("stop");
        let turns = u32::from(!self.is_counted);
        let call = self.calls.under_way().filter(|_| at_work);
        call.map(|call| Tokens { turns, ..call }).into_iter().collect()
    }

    fn newest_call(&self) -> Option<CallSize> {
        self.calls.newest()
    }

    fn goes_on_after(&mut self, call: &CallSize) {
        self.calls = Calls::after(call);
    }

    fn finish(&mut self, exit: Exit) -> Ending {
        if let Some(error) = self.error.take() {
            return failed(&error);
        }
        match (self.stopped.as_deref(), exit) {
            (Some("stop"), Exit::Code(0)) => Ending::good(self.words.take()),
            (Some(reason), Exit::Code(0)) if self.denied.is_none() => {
                let message = format!("it stopped in the middle ({reason})");
                Ending::bad(FailureClass::Unfinished, message)
            }
            (_, exit) => Ending::unfinished(exit, self.denied.as_deref().unwrap_or_default()),
        }
    }
}

/// One that only reads what was recorded.
pub(super) fn listener() -> Box<dyn Translator> {
    Box::new(OpenCode::default())
}

/// One that knows the model, which its stream does not name.
pub(super) fn counting(brief: &Brief<'_>) -> Box<dyn Translator> {
    Box::new(OpenCode::new(String::new(), brief.task.model.as_deref(), None))
}

fn failed(error: &Value) -> Ending {
    let (name, data) = (error["name"].as_str().unwrap_or_default(), &error["data"]);
    let words = text(&data["message"]).unwrap_or_else(|| name.to_owned());
    let class = match name {
        "ContextOverflowError" => FailureClass::TooLong,
        "ProviderAuthError" => FailureClass::Unauthorized,
        "ProviderModelNotFoundError" => FailureClass::UnknownModel,
        "MessageAbortedError" => FailureClass::Killed,
        "MessageOutputLengthError" => FailureClass::Unfinished,
        _ => {
            let body = data["responseBody"].as_str().unwrap_or_default();
            class_of(data["statusCode"].as_u64(), &format!("{words} {body}"))
        }
    };
    let parked = (class == FailureClass::UsageLimit).then_some(None);
    Ending { parked, ..Ending::bad(class, plain(&words)) }
}

/// What it calls input is without what was cached; what a model thought is part of the total alone.
fn tokens(told: &Value) -> Tokens {
    let number = |value: &Value| value.as_u64().unwrap_or(0).min(MOST);
    let (cache_read, cache_write) = (number(&told["cache"]["read"]), number(&told["cache"]["write"]));
    let input = number(&told["input"]) + cache_read + cache_write;
    let output = number(&told["output"]).max(number(&told["total"]).saturating_sub(input));
    Tokens { input, cache_read, cache_write, output, ..Tokens::default() }
}

#[cfg(test)]
mod tests {
    use super::super::replay;
    use super::*;

    #[test]
    fn every_recorded_end_is_understood() {
        insta::assert_snapshot!(replay::ends("opencode", |_| OpenCode::default()));
    }

    #[test]
    fn it_says_what_each_step_cost_and_what_the_session_is_called() {
        let recording = replay::recording("opencode", "job");
        let heard = recording.played(&mut OpenCode::new(String::new(), Some("stub/stub-model"), None)).heard;
        let cost: u64 = heard.iter().filter_map(|heard| heard.cost).map(|cost| cost.0).sum();
        assert_eq!(cost, 3 * 3810);
        let used: Vec<&Tokens> = heard.iter().flat_map(|heard| &heard.used).collect();
        let turns: Vec<u32> = used.iter().map(|used| used.turns).collect();
        assert_eq!(turns, [1, 0, 1, 0, 1, 0], "a turn counts from its start, what it used at its end");
        assert_eq!((used[1].model.as_str(), used[1].cache_read), ("stub-model", 200));
        assert_eq!(heard[0].session.as_deref(), Some("ses_e1f403475ffecL9jONDSxYYu8a"));
    }

    #[test]
    fn a_named_model_gets_its_own_keys_only() {
        assert!(keys(None).contains(&"OPENAI_API_KEY") && keys(None).contains(&"XAI_API_KEY"));
        let named = keys(Some("anthropic/claude-opus-5-5"));
        assert!(named.contains(&"ANTHROPIC_API_KEY") && named.contains(&"OPENCODE_CONFIG"));
        assert!(!named.contains(&"OPENAI_API_KEY"));
    }

    #[test]
    fn whatever_arrives_does_no_harm() {
        replay::withstands("opencode", OpenCode::default);
    }

    #[test]
    fn what_is_not_its_language_does_no_harm() {
        replay::confuse("opencode", OpenCode::default());
    }

    #[test]
    fn what_is_called_comes_back() {
        assert_eq!(replay::calls("opencode", "job", OpenCode::new(String::new(), None, None)), (2, 2));
    }
}
