//! Gemini: one prompt in, a stream of JSON lines out.
//!
//! It reads its input to the end before it begins and asks nothing, so it is only stopped by signals, and then exits
//! with 0 and no result. Where the provider failed, its exit code is the status without its upper bits. It waits for a
//! busy provider for minutes without a word; how often it asks is the user's own setting, for of files that are not
//! root's it reads only those in the user's home and in the workspace.
//!
//! What it may do is told it in a file. What it was denied and a person could allow ends the attempt as a question.

mod chats;
mod policies;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use conductor_core::plan::Task;
use conductor_core::run::event::{Failure, FailureClass};
use serde_json::Value;

use self::chats::{Chats, News};
use super::calls::{CallSize, Calls};
use super::policy::InWorkspace;
use super::scratch::ScratchFile;
use super::talk::{
    Ending, Heard, MOST, Message, Said, Tokens, Translator, class_of, plain, purpose, said, text,
};
use super::{AgentError, Brief, Engagement, Session};
use crate::process::Exit;

/// The program, and how to get it.
const PROGRAM: &str = "gemini";
const REMEDY: &str = "install it with `npm install -g @google/gemini-cli`";

/// Variables that this agent needs and no other program gets.
const KEYS: [&str; 8] = [
    "GEMINI_API_KEY",
    "GEMINI_MODEL",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_APPLICATION_CREDENTIALS",
];

/// Started by itself a second time, it would not hear the signals sent to the first.
const SETTINGS: [(&str, &str); 1] = [("GEMINI_CLI_NO_RELAUNCH", "true")];

/// Between two looks at what it has recorded, and at where that may be.
const PAUSE: Duration = Duration::from_millis(60);
const SEARCH: Duration = Duration::from_secs(1);

/// Its own exit codes.
const FAILED: i32 = 1;
const NO_LOGIN: i32 = 41;
const TOO_MANY_TURNS: i32 = 53;

pub(super) struct Agent;

impl super::Agent for Agent {
    fn abilities(&self) -> super::Abilities {
        super::Abilities { resumes: true, chooses_model: true, ..super::Abilities::NONE }
    }

    fn keeps(&self) -> super::Keeps {
        super::Keeps::Some(&super::rules::GEMINI)
    }

    /// It lists conversations by directory, and knows of no other.
    fn stays_where_it_began(&self) -> bool {
        true
    }

    fn engage(&self, brief: &Brief<'_>) -> Result<Engagement, AgentError> {
        self.check(brief.task)?;
        let policy = brief.policy();
        let unwritten = |error: std::io::Error| AgentError::Unfit {
            agent: "gemini",
            why: format!("its rules cannot be written to a file: {error}"),
        };
        let rules =
            ScratchFile::new(brief, "rules", "toml", &policies::policies(&policy, brief.task.may_delegate()))
                .map_err(unwritten)?;
        let mut args = arguments(brief.task, brief.session);
        args.extend(["--policy".to_owned(), rules.path().display().to_string()]);
        args.extend(own_policies(brief).into_iter().flat_map(|own| ["--policy".to_owned(), own]));
        let launch = brief.launch(PROGRAM, args, &KEYS, &SETTINGS);
        let rules = Some((policy, rules));
        let translator =
            Gemini { prompt: brief.words.clone(), home: home(brief), rules, ..Gemini::default() };
        Ok(Engagement { launch, translator: Box::new(translator) })
    }

    fn check(&self, task: &Task) -> Result<(), AgentError> {
        super::takes_prompts("gemini", task, PROGRAM, REMEDY)
    }
}

/// Where its settings and its records are. What is read of a dead one is read for the same user.
fn home(brief: &Brief<'_>) -> Option<PathBuf> {
    let passed = brief.caller.variable("HOME").map(|(_, home)| home);
    passed.or_else(|| std::env::var_os("HOME")).map(PathBuf::from)
}

/// The user's own policies, which are left out otherwise where others are named.
fn own_policies(brief: &Brief<'_>) -> Option<String> {
    let folder = home(brief)?.join(".gemini/policies");
    folder.is_dir().then(|| folder.display().to_string())
}

/// The prompt itself goes through its input: as an argument it could be no longer than the system allows.
fn arguments(task: &Task, session: &Session) -> Vec<String> {
    let mut args = ["--output-format", "stream-json", "--yolo", "--skip-trust"].map(str::to_owned).to_vec();
    args.extend([if session.begun { "--resume" } else { "--session-id" }.to_owned(), session.id.clone()]);
    if let Some(model) = &task.model {
        args.extend(["--model".to_owned(), model.clone()]);
    }
    args
}

#[derive(Default)]
struct Gemini {
    prompt: String,
    model: String,
    message: Message,
    /// An answer of the model is under way: its pieces and the tools it asks for are one turn.
    answering: bool,
    error: Option<String>,
    result: Option<Value>,
    /// What it may do, and the file that tells it so.
    rules: Option<(InWorkspace, ScratchFile)>,
    home: Option<PathBuf>,
    /// What it records of the conversation, and when that was last looked at.
    chats: Option<Chats>,
    looked: Option<Instant>,
    /// Commands that failed, and of which people have not been told.
    troubles: Vec<Said>,
    calls: Calls,
    /// The uses of tools under way, by their names.
    uses: HashMap<String, (String, Value)>,
}

impl Gemini {
    fn on_message(&mut self, event: &Value) -> Heard {
        if event["role"] != "assistant" {
            return Heard::default();
        }
        let mut heard = Heard::default();
        if event["delta"] != true {
            heard.said.extend(self.message.whole());
        }
        self.message.add(&event["content"]);
        heard.used.extend(self.turn());
        heard
    }

    /// Used by calls of the model that are over.
    fn news(&mut self) -> Vec<Tokens> {
        let News { used, troubles } = self.chats.as_mut().map_or_else(News::default, Chats::news);
        used.iter().for_each(|used| self.calls.count(used));
        self.troubles.extend(troubles);
        used
    }

    /// A call of the model, told when its answer begins.
    fn turn(&mut self) -> Option<Tokens> {
        let begins = !std::mem::replace(&mut self.answering, true);
        begins.then(|| Tokens { model: self.model.clone(), turns: 1, ..Tokens::default() })
    }

    fn on_tool_use(&mut self, event: &Value) -> Heard {
        let tool = text(&event["tool_name"]).unwrap_or_default();
        let call = (tool.clone(), event["parameters"].clone());
        self.uses.insert(text(&event["tool_id"]).unwrap_or_default(), call);
        let used = Vec::from_iter(self.turn());
        Heard { used, ..said(Said::Tool(tool, purpose(&event["parameters"]))) }
    }

    fn on_tool_result(&mut self, event: &Value) -> Heard {
        self.answering = false;
        let call = event["tool_id"].as_str().and_then(|id| self.uses.remove(id));
        let message = text(&event["error"]["message"]).unwrap_or_default();
        match (event["status"].as_str(), event["error"]["type"].as_str()) {
            (Some("error"), Some("policy_violation")) => self.on_denied(call, &message),
            (Some("error"), _) => said(Said::Note(message)),
            _ => Heard { stuck: self.breach(call), ..Heard::default() },
        }
    }

    /// Its own policies have denied a call; whether a person is to be asked is for ours to say.
    fn on_denied(&self, call: Option<(String, Value)>, message: &str) -> Heard {
        let why = call
            .as_ref()
            .zip(self.rules.as_ref())
            .and_then(|((tool, input), (policy, _))| policy.judge(&policies::ours(tool)?, input));
        let tool = call.map(|(tool, _)| tool).unwrap_or_default();
        said(Said::Denied(format!("{tool}: {}", why.as_deref().unwrap_or(message))))
    }

    fn breach(&self, call: Option<(String, Value)>) -> Option<Failure> {
        let ((tool, input), (policy, _)) = call.zip(self.rules.as_ref())?;
        policy.breach(&policies::ours(&tool)?, &input)
    }

    fn on_error(&mut self, event: &Value) -> Heard {
        let message = text(&event["message"]).unwrap_or_default();
        if event["severity"] != "warning" {
            self.error = Some(message.clone());
        }
        said(Said::Note(message))
    }

    fn on_result(&mut self, event: Value) -> Heard {
        let totals = Some(used(&event["stats"])).filter(|totals| !totals.is_empty());
        self.result = Some(event);
        Heard { totals, over: true, ..Heard::default() }
    }

    fn failed(&self, result: &Value, exit: Exit) -> Ending {
        let words = text(&result["error"]["message"]).or_else(|| self.error.clone()).unwrap_or_default();
        let status = status_of(exit, &words).or_else(|| code_in(&words));
        let class = class_of(status, &words);
        let parked = (class == FailureClass::UsageLimit).then_some(None);
        // The lines that follow are advice for a user at a terminal.
        let reason = words.lines().next().unwrap_or("it failed without a reason");
        Ending { parked, ..Ending::bad(class, plain(bare(reason))) }
    }
}

impl Translator for Gemini {
    fn opening(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.prompt).into_bytes()
    }

    fn converses(&self) -> bool {
        false
    }

    fn on_line(&mut self, bytes: &[u8]) -> Heard {
        let Ok(event) = serde_json::from_slice::<Value>(bytes) else { return Heard::default() };
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        let message = if kind == "message" { None } else { self.message.whole() };
        let mut heard = match kind.as_str() {
            "init" => {
                self.model = text(&event["model"]).unwrap_or_default();
                let named = text(&event["session_id"]).zip(text(&event["timestamp"]));
                let home = self.home.as_deref();
                self.chats = named.zip(home).map(|((session, since), home)| Chats::new(home, session, since));
                Heard { session: text(&event["session_id"]), ..Heard::default() }
            }
            "message" => self.on_message(&event),
            "tool_use" => self.on_tool_use(&event),
            "tool_result" => Heard { returned: 1, ..self.on_tool_result(&event) },
            "error" => self.on_error(&event),
            "result" => self.on_result(event),
            // Whatever comes with a later version is kept in the stream and does no harm.
            _ => Heard::default(),
        };
        if matches!(kind.as_str(), "tool_use" | "tool_result" | "result") {
            heard.used.extend(self.news());
            heard.said.splice(0..0, std::mem::take(&mut self.troubles));
        }
        heard.said.splice(0..0, message);
        heard
    }

    /// Its subagents work without a word in its stream.
    fn look(&mut self) -> Vec<Tokens> {
        let Some(chats) = self.chats.as_ref().filter(|_| self.result.is_none()) else { return Vec::new() };
        let pause = if chats.are_found() { PAUSE } else { SEARCH };
        if self.looked.is_some_and(|at| at.elapsed() < pause) {
            return Vec::new();
        }
        self.looked = Some(Instant::now());
        self.news()
    }

    fn unsaid(&mut self) -> Vec<Tokens> {
        match self.result {
            Some(_) => Vec::new(),
            None => {
                let mut used = self.news();
                // Also while its tools are at work, as far as it has said: it may ask again before it says that they are done.
                let under_way = self.calls.under_way();
                let turns = u32::from(!self.answering);
                used.extend(under_way.map(|call| Tokens { turns, ..call }));
                used
            }
        }
    }

    fn newest_call(&self) -> Option<CallSize> {
        self.calls.newest()
    }

    fn goes_on_after(&mut self, call: &CallSize) {
        self.calls = Calls::after(call);
    }

    fn finish(&mut self, exit: Exit) -> Ending {
        self.message.whole();
        match (self.result.take(), exit) {
            (Some(result), Exit::Code(0)) if result["status"] == "success" => {
                Ending::good(self.message.last.take())
            }
            (Some(result), exit) if result["status"] == "success" => Ending::contradicted(exit),
            (Some(result), exit) => self.failed(&result, exit),
            (None, Exit::Code(NO_LOGIN)) => {
                Ending::bad(FailureClass::Unauthorized, "it has no way to log in; its output tells more")
            }
            (None, Exit::Code(TOO_MANY_TURNS)) => {
                Ending::bad(FailureClass::Budget, "it reached its own limit of turns")
            }
            (None, exit) => Ending::unfinished(exit, self.error.as_deref().unwrap_or_default()),
        }
    }
}

/// One that only reads what was recorded.
pub(super) fn listener() -> Box<dyn Translator> {
    Box::new(Gemini::default())
}

/// One that looks at what its subagents use, too.
pub(super) fn counting(brief: &Brief<'_>) -> Box<dyn Translator> {
    Box::new(Gemini { home: home(brief), ..Gemini::default() })
}

/// Its exit code is the last byte of the provider's status, but where it has a name of its own for the error: of those,
/// only a model that does not exist has no words of the CLI's own.
fn status_of(exit: Exit, words: &str) -> Option<u64> {
    let Exit::Code(code) = exit else { return None };
    if code == FAILED {
        return words.contains("not found").then_some(404);
    }
    let byte = u64::try_from(code).ok()?;
    (400..600).find(|status| status & 255 == byte && byte != 0)
}

/// Strips what Gemini CLI puts around the provider's message, which explains nothing.
fn bare(reason: &str) -> &str {
    reason.strip_prefix("[API Error: ").map_or(reason, |rest| rest.strip_suffix(']').unwrap_or(rest))
}

/// The status as the provider wrote it into its own answer.
fn code_in(words: &str) -> Option<u64> {
    let digits = words.split("\"code\":").nth(1)?.trim_start();
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// By model, and thoughts with them: they are part of the total alone.
fn used(stats: &Value) -> Vec<Tokens> {
    let models = stats["models"].as_object().into_iter().flatten();
    let all = models.map(|(model, stats)| {
        let number = |name: &str| stats[name].as_u64().unwrap_or(0).min(MOST);
        let (input, total) = (number("input_tokens"), number("total_tokens"));
        Tokens {
            model: model.clone(),
            input,
            cache_read: number("cached"),
            output: number("output_tokens").max(total.saturating_sub(input)),
            ..Tokens::default()
        }
    });
    all.filter(|tokens| tokens.total() > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::super::replay;
    use super::*;

    #[test]
    fn every_recorded_end_is_understood() {
        insta::assert_snapshot!(replay::ends("gemini", |_| Gemini::default()));
    }

    #[test]
    fn pieces_of_a_message_are_told_as_one() {
        let recording = replay::recording("gemini", "deltas");
        let said: Vec<Said> =
            recording.played(&mut Gemini::default()).heard.into_iter().flat_map(|heard| heard.said).collect();
        assert_eq!(
            said,
            [
                Said::Text("I will write the file.".into()),
                Said::Tool("write_file".into(), "hello.txt".into()),
                Said::Text("Now I run a command.".into()),
                Said::Tool("run_shell_command".into(), "cat hello.txt && wc -c hello.txt".into()),
                Said::Text("Done: hello.txt written and checked.".into()),
            ]
        );
    }

    #[test]
    fn its_exit_code_is_half_a_status() {
        for status in [400, 401, 403, 404, 429, 500, 503, 529] {
            assert_eq!(status_of(Exit::Code(status & 255), "no"), Some(status as u64));
        }
        assert_eq!(status_of(Exit::Code(0), "no"), None);
        assert_eq!(status_of(Exit::Signal(9), "no"), None);
        assert_eq!(status_of(Exit::Code(FAILED), "terminated"), None);
        assert_eq!(status_of(Exit::Code(FAILED), "models/x is not found for API version v1beta"), Some(404));
    }

    #[test]
    fn whatever_arrives_does_no_harm() {
        replay::withstands("gemini", Gemini::default);
    }

    #[test]
    fn what_is_not_its_language_does_no_harm() {
        replay::confuse("gemini", Gemini::default());
    }

    #[test]
    fn what_is_called_comes_back() {
        assert_eq!(replay::calls("gemini", "deltas", Gemini::default()), (2, 2));
    }
}
