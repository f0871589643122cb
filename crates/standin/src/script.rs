//! Scripts: what the stand-in says and does, step after step, in the words of a test.
//!
//! A script knows nothing of HTTP, of dialects or of tool names: `write_file` is the same step whichever CLI asks.
//! Steps that end an answer (a deed, `final`) close a turn; the others (`text`, `slow`, `usage`, `headers`, faults)
//! say how the turn they stand before is given. See `turns`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::faults::{Counted, Fault, UsageLimit};

/// What one conversation is answered with. In JSON either `{"steps": […], …}` or the steps alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct Script {
    pub steps: Vec<Step>,
    /// Figures of every turn that names none of its own.
    pub usage: Usage,
    /// Begin again at the first step whenever the user asks anew, instead of going on after the last `final`.
    pub per_prompt: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Said before the deed that follows, in the same answer.
    Text(String),
    /// Ends the agent's turn.
    Final {
        text: String,
    },

    WriteFile {
        path: String,
        content: String,
    },
    /// Codex patches whole lines only, so there `old` and `new` must be lines.
    Edit {
        path: String,
        old: String,
        new: String,
    },
    Run {
        command: String,
    },
    /// A tool of an MCP server, by its own name. Without `server`, the first server that offers it.
    Mcp {
        #[serde(default)]
        server: Option<String>,
        tool: String,
        #[serde(default)]
        arguments: Value,
    },
    /// Has a subagent follow the script of this name.
    Delegate {
        script: String,
    },
    /// A tool by the name the CLI gives it, offered or not.
    Tool {
        name: String,
        #[serde(default)]
        input: Value,
    },

    Slow(Slow),
    /// Figures of this turn.
    Usage(Usage),
    /// Response headers of this turn.
    Headers(BTreeMap<String, String>),

    Error(Fault),
    UsageLimit(UsageLimit),
    Cut(Cut),
    Lie(Lie),
}

/// How long an answer is awaited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    pub ms: u64,
    /// Between the pieces of a stream instead of before it.
    #[serde(default)]
    pub between: bool,
}

/// The connection is dropped in the middle of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// How many requests; without it, every one.
    #[serde(default)]
    pub times: Option<u32>,
    #[serde(default)]
    pub counted: Counted,
    /// Nothing is dropped: the answer ends in its middle as if it were whole.
    #[serde(default)]
    pub gently: bool,
}

/// The model says that it is done, instead of what the turn holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lie {
    pub text: String,
    /// How many requests; without it, every one.
    #[serde(default)]
    pub times: Option<u32>,
    #[serde(default)]
    pub counted: Counted,
}

/// Tokens of one turn. `input` is what was neither read from nor written to a cache; dialects that count otherwise are
/// given their own sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Usage {
    /// Of answers that are no turn of a script.
    pub(crate) const NONE: Usage = Usage { input: 0, output: 0, cache_read: 0, cache_write: 0 };
}

impl std::ops::Add for Usage {
    type Output = Usage;

    fn add(self, more: Usage) -> Usage {
        Usage {
            input: self.input + more.input,
            output: self.output + more.output,
            cache_read: self.cache_read + more.cache_read,
            cache_write: self.cache_write + more.cache_write,
        }
    }
}

impl Default for Usage {
    fn default() -> Usage {
        Usage { input: 1000, output: 50, cache_read: 200, cache_write: 100 }
    }
}

/// A script with more to say than its steps.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    steps: Vec<Step>,
    #[serde(default)]
    usage: Usage,
    #[serde(default)]
    per_prompt: bool,
}

/// By hand, for a mistake in a step is to be named and an untagged enum would not.
impl TryFrom<Value> for Script {
    type Error = serde_json::Error;

    fn try_from(written: Value) -> Result<Script, serde_json::Error> {
        if written.is_array() {
            return Ok(Script { steps: serde_json::from_value(written)?, ..Script::default() });
        }
        let Whole { steps, usage, per_prompt } = serde_json::from_value(written)?;
        Ok(Script { steps, usage, per_prompt })
    }
}

impl Script {
    pub fn new() -> Script {
        Script::default()
    }

    #[must_use]
    pub fn step(mut self, step: Step) -> Script {
        self.steps.push(step);
        self
    }

    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Script {
        self.step(Step::Text(text.into()))
    }

    /// The step `final`, whose name is a word of Rust.
    #[must_use]
    pub fn finish(self, text: impl Into<String>) -> Script {
        self.step(Step::Final { text: text.into() })
    }

    #[must_use]
    pub fn write_file(self, path: impl Into<String>, content: impl Into<String>) -> Script {
        self.step(Step::WriteFile { path: path.into(), content: content.into() })
    }

    #[must_use]
    pub fn edit(self, path: impl Into<String>, old: impl Into<String>, new: impl Into<String>) -> Script {
        self.step(Step::Edit { path: path.into(), old: old.into(), new: new.into() })
    }

    #[must_use]
    pub fn run(self, command: impl Into<String>) -> Script {
        self.step(Step::Run { command: command.into() })
    }

    #[must_use]
    pub fn mcp(self, server: impl Into<String>, tool: impl Into<String>, arguments: Value) -> Script {
        self.step(Step::Mcp { server: Some(server.into()), tool: tool.into(), arguments })
    }

    /// Has a subagent follow another script.
    #[must_use]
    pub fn delegate(self, script: impl Into<String>) -> Script {
        self.step(Step::Delegate { script: script.into() })
    }

    #[must_use]
    pub fn tool(self, name: impl Into<String>, input: Value) -> Script {
        self.step(Step::Tool { name: name.into(), input })
    }

    /// Waits before the next answer.
    #[must_use]
    pub fn slow(self, ms: u64) -> Script {
        self.step(Step::Slow(Slow { ms, between: false }))
    }

    /// Waits between the pieces of the next answer.
    #[must_use]
    pub fn trickle(self, ms: u64) -> Script {
        self.step(Step::Slow(Slow { ms, between: true }))
    }

    #[must_use]
    pub fn error(self, fault: Fault) -> Script {
        self.step(Step::Error(fault))
    }

    #[must_use]
    pub fn usage_limit(self, limit: UsageLimit) -> Script {
        self.step(Step::UsageLimit(limit))
    }

    /// Drops the connection of the first `times` requests of the next turn.
    #[must_use]
    pub fn cut(self, times: u32) -> Script {
        self.step(Step::Cut(Cut { times: Some(times), ..Cut::default() }))
    }

    /// Ends the first `times` answers of the next turn in their middle, as if they were whole.
    #[must_use]
    pub fn short(self, times: u32) -> Script {
        self.step(Step::Cut(Cut { times: Some(times), gently: true, ..Cut::default() }))
    }

    /// Says that it is done, `times` times, before it comes to the next turn.
    #[must_use]
    pub fn lie(self, text: impl Into<String>, times: u32) -> Script {
        self.step(Step::Lie(Lie { text: text.into(), times: Some(times), counted: Counted::default() }))
    }

    /// Figures of the next turn.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Script {
        self.step(Step::Usage(usage))
    }

    /// Figures of every turn that names none of its own.
    #[must_use]
    pub fn usage_by_default(self, usage: Usage) -> Script {
        Script { usage, ..self }
    }

    /// Begin again whenever the user asks anew.
    #[must_use]
    pub fn per_prompt(self) -> Script {
        Script { per_prompt: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Kind;
    use serde_json::json;

    #[test]
    fn a_file_and_the_builder_say_the_same() {
        let written = json!({"steps": [
            {"error": {"kind": "rate_limit", "times": 1, "retry_after": 2}},
            {"text": "I will write the file."},
            {"write_file": {"path": "a.txt", "content": "a\n"}},
            {"slow": {"ms": 5}},
            {"run": {"command": "ls"}},
            {"edit": {"path": "a.txt", "old": "a", "new": "b"}},
            {"mcp": {"server": "tasks", "tool": "note", "arguments": {"x": 1}}},
            {"delegate": {"script": "part"}},
            {"tool": {"name": "Read", "input": {"file_path": "a.txt"}}},
            {"slow": {"ms": 7, "between": true}},
            {"cut": {"times": 1}},
            {"lie": {"text": "Done already.", "times": 2}},
            {"usage_limit": {"resets_at": 1_800_000_000}},
            {"usage": {"input": 5}},
            {"final": {"text": "Done."}},
        ]});
        let built = Script::new()
            .error(Fault::of(Kind::RateLimit).times(1).retry_after(2))
            .text("I will write the file.")
            .write_file("a.txt", "a\n")
            .slow(5)
            .run("ls")
            .edit("a.txt", "a", "b")
            .mcp("tasks", "note", json!({"x": 1}))
            .delegate("part")
            .tool("Read", json!({"file_path": "a.txt"}))
            .trickle(7)
            .cut(1)
            .lie("Done already.", 2)
            .usage_limit(UsageLimit::at(1_800_000_000))
            .usage(Usage { input: 5, ..Usage::default() })
            .finish("Done.");
        assert_eq!(serde_json::from_value::<Script>(written).unwrap(), built);
    }

    #[test]
    fn the_steps_alone_are_a_script_too() {
        let script: Script = serde_json::from_value(json!([{"final": {"text": "hi"}}])).unwrap();
        assert_eq!(script, Script::new().finish("hi"));
    }

    #[test]
    fn what_was_written_can_be_read_again() {
        let script = Script::new().slow(1).run("true").per_prompt();
        let text = serde_json::to_string(&script).unwrap();
        assert_eq!(serde_json::from_str::<Script>(&text).unwrap(), script);
    }

    #[test]
    fn a_step_misspelt_is_a_mistake() {
        assert!(serde_json::from_value::<Script>(json!([{"wirte_file": {}}])).is_err());
        assert!(serde_json::from_value::<Script>(json!([{"slow": {"ms": 1, "betwen": true}}])).is_err());
    }

    #[test]
    fn the_script_in_the_readme_is_one() {
        let readme = include_str!("../README.md");
        let (_, rest) = readme.split_once("```json\n").unwrap();
        let script: Script = serde_json::from_str(rest.split_once("```").unwrap().0).unwrap();
        assert_eq!(script.steps.len(), 6);
    }
}
