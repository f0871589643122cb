//! The tools: which of our commands each of them is, and how that is typed.

use conductor_engine::home::Home;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use crate::live;

/// A command of ours as a tool: what it is for, what it can be given, and how that is typed.
pub(super) struct Verb {
    pub(super) name: &'static str,
    words: &'static str,
    given: &'static [Given],
    typed: fn(&JsonObject) -> Result<Vec<String>, String>,
    /// Exit codes that are an answer, beside 0.
    pub(super) answers: &'static [i32],
}

/// Something a tool can be given.
struct Given {
    name: &'static str,
    kind: &'static str,
    words: &'static str,
    needed: bool,
}

const fn must(name: &'static str, words: &'static str) -> Given {
    Given { name, kind: "string", words, needed: true }
}

const fn may(name: &'static str, kind: &'static str, words: &'static str) -> Given {
    Given { name, kind, words, needed: false }
}

const RUN: Given =
    may("run", "string", "The run, or the beginning of its name; the newest one where absent.");

pub(super) const VERBS: [Verb; 12] = [
    Verb {
        name: "plan",
        words: "Have an agent plan tasks for what is wanted, and write them into a task file. Starts nothing.",
        given: &[
            must("requirements", "What is wanted."),
            may("budget", "integer", "How many may work at once."),
            may("output", "string", "The task file to write, tasks.yaml where absent."),
            may("agent", "string", "Who plans."),
        ],
        typed: |given| {
            let mut words = vec!["plan".to_owned(), "--json".to_owned()];
            option(&mut words, "--budget", number(given, "budget")?);
            option(&mut words, "--output", text(given, "output")?);
            option(&mut words, "--agent", text(given, "agent")?);
            positional(words, [text(given, "requirements")?])
        },
        answers: &[],
    },
    Verb {
        name: "validate",
        words: "Check a task file; every mistake with its place.",
        given: &[must("file", "The task file.")],
        typed: |given| positional(vec!["validate".to_owned(), "--json".to_owned()], [text(given, "file")?]),
        answers: &[],
    },
    Verb {
        name: "start",
        words: "Run a task file in the background. Tells the run's name.",
        given: &[
            must("file", "The task file."),
            may("parallel", "integer", "How many tasks run at once."),
            may("only", "string", "Only these tasks: ids, globs, group:G, epic:E."),
            may("max_cost", "number", "Start nothing new once this many dollars are spent."),
            may(
                "allow_commands",
                "boolean",
                "The person you work for has seen the file's commands and allows them. Without it, a file with commands \
                 that the project does not use already is refused.",
            ),
        ],
        typed: |given| {
            let mut words = ["run", "--detach", "--json"].map(str::to_owned).to_vec();
            if !given.get("allow_commands").and_then(Value::as_bool).unwrap_or(false) {
                words.push("--known-commands".to_owned());
            }
            option(&mut words, "--parallel", number(given, "parallel")?);
            option(&mut words, "--only", text(given, "only")?);
            option(&mut words, "--max-cost", number(given, "max_cost")?);
            positional(words, [text(given, "file")?])
        },
        answers: &[],
    },
    Verb {
        name: "status",
        words: "What a run is doing: what is at work, what waits and on what, what failed.",
        given: &[RUN],
        typed: |given| positional(vec!["status".to_owned(), "--json".to_owned()], [text(given, "run")?]),
        answers: &[],
    },
    Verb {
        name: "logs",
        words: "What a task's agent or command said.",
        given: &[must("task", "The task's id."), RUN],
        typed: |given| {
            let mut words = vec!["logs".to_owned()];
            option(&mut words, "--run", text(given, "run")?);
            positional(words, [text(given, "task")?])
        },
        answers: &[],
    },
    Verb {
        name: "answer",
        words: "Answer what a task's agent has asked, for the person you work for.",
        given: &[
            must("task", "The task's id."),
            Given { name: "allow", kind: "boolean", words: "Whether it is allowed.", needed: true },
            may("message", "string", "What the agent is told with it."),
            RUN,
        ],
        typed: |given| {
            let allow = given.get("allow").and_then(Value::as_bool).ok_or("'allow' is true or false")?;
            let verb = if allow { "approve" } else { "deny" };
            let mut words = vec!["task".to_owned(), verb.to_owned()];
            option(&mut words, "--message", text(given, "message")?);
            option(&mut words, "--run", text(given, "run")?);
            positional(words, [text(given, "task")?])
        },
        answers: &[],
    },
    Verb {
        name: "cancel",
        words: "Stop a task and do not do it; or everything of a run, where no task is named.",
        given: &[may("task", "string", "The task's id."), RUN],
        typed: |given| {
            let mut words = vec!["cancel".to_owned(), "--json".to_owned()];
            option(&mut words, "--run", text(given, "run")?);
            match text(given, "task")? {
                Some(task) => positional(words, [Some(task)]),
                None => {
                    words.push("--all".to_owned());
                    Ok(words)
                }
            }
        },
        answers: &[],
    },
    Verb {
        name: "wait",
        words: "Wait for a run to end, or until the time is over: the exit code it ended with, 8 while it is still going \
                on. Call it again to wait longer.",
        given: &[RUN, may("seconds", "integer", "How long at the most; 50 where absent.")],
        typed: |given| {
            let seconds = number(given, "seconds")?.unwrap_or_else(|| "50".to_owned());
            let words = vec!["wait".to_owned(), "--json".to_owned(), format!("--timeout={seconds}")];
            positional(words, [text(given, "run")?])
        },
        // However a run ended, waiting for it has succeeded.
        answers: &[4, 5, 6, 7, 8, 9, 100, 101, 130, 143],
    },
    Verb {
        name: "diff",
        words: "What a task has changed, as a patch.",
        given: &[
            must("task", "The task's id."),
            may("stat", "boolean", "Only the names of the files, and how many lines changed."),
            RUN,
        ],
        typed: |given| {
            let mut words = vec!["diff".to_owned(), "--json".to_owned()];
            if flag(given, "stat")? {
                words.push("--stat".to_owned());
            }
            option(&mut words, "--run", text(given, "run")?);
            positional(words, [text(given, "task")?])
        },
        answers: &[],
    },
    Verb {
        name: "retry",
        words: "Do a task again, and what was skipped because of it. A run that is not active goes on with `resume`.",
        given: &[must("task", "The task's id."), RUN],
        typed: |given| {
            let mut words = ["task", "retry", "--json"].map(str::to_owned).to_vec();
            option(&mut words, "--run", text(given, "run")?);
            positional(words, [text(given, "task")?])
        },
        answers: &[],
    },
    Verb {
        name: "resume",
        words: "Go on with a run: one that is paused, or one that was left or stopped, which goes on in the background.",
        given: &[
            RUN,
            may(
                "retry_failed",
                "boolean",
                "Do again what failed, was skipped or cancelled, of a run that is not active.",
            ),
        ],
        typed: |given| {
            let run = text(given, "run")?;
            let again = flag(given, "retry_failed")?;
            if !again && is_active(run.as_deref())? {
                return positional(vec!["resume".to_owned(), "--json".to_owned()], [run]);
            }
            let mut words = ["run", "--detach", "--json"].map(str::to_owned).to_vec();
            words.push(format!("--resume={}", run.unwrap_or_default()));
            if again {
                words.push("--retry-failed".to_owned());
            }
            Ok(words)
        },
        answers: &[],
    },
    Verb {
        name: "report",
        words: "What a run came to, or has come to so far, in Markdown: what landed, what failed and why, time and cost.",
        given: &[RUN],
        typed: |given| {
            let words = ["report", "--format", "md", "--output", "-"].map(str::to_owned).to_vec();
            positional(words, [text(given, "run")?])
        },
        answers: &[],
    },
];

fn text(given: &JsonObject, name: &str) -> Result<Option<String>, String> {
    match given.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("'{name}' wants a text, not {other}")),
    }
}

fn number(given: &JsonObject, name: &str) -> Result<Option<String>, String> {
    match given.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(other) => Err(format!("'{name}' wants a number, not {other}")),
    }
}

fn flag(given: &JsonObject, name: &str) -> Result<bool, String> {
    match given.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(format!("'{name}' wants true or false, not {other}")),
    }
}

/// Whether a coordinator drives the run that is meant.
fn is_active(run: Option<&str>) -> Result<bool, String> {
    let home = Home::open().map_err(|error| error.to_string())?;
    let meant = live::meant(&home, run).map_err(|fault| fault.message().to_owned())?;
    Ok(meant.is_some())
}

/// As one word, so that nothing given is taken for an option of its own.
fn option(words: &mut Vec<String>, name: &str, value: Option<String>) {
    words.extend(value.map(|value| format!("{name}={value}")));
}

fn positional<const N: usize>(
    mut words: Vec<String>,
    values: [Option<String>; N],
) -> Result<Vec<String>, String> {
    words.push("--".to_owned());
    words.extend(values.into_iter().flatten());
    Ok(words)
}

impl Verb {
    pub(super) fn tool(&self) -> Tool {
        let property = |given: &Given| {
            (given.name.to_owned(), json!({ "type": given.kind, "description": given.words }))
        };
        let properties: JsonObject = self.given.iter().map(property).collect();
        let needed: Vec<&str> =
            self.given.iter().filter(|given| given.needed).map(|given| given.name).collect();
        let schema = json!({
            "type": "object", "properties": properties, "required": needed, "additionalProperties": false,
        });
        Tool::new(self.name, self.words, schema.as_object().cloned().unwrap_or_default())
    }

    pub(super) fn words(&self, given: &JsonObject) -> Result<Vec<String>, String> {
        if let Some(unknown) = given.keys().find(|name| self.given.iter().all(|known| known.name != *name)) {
            return Err(format!("{} takes no '{unknown}'", self.name));
        }
        let missing = |known: &&Given| known.needed && given.get(known.name).is_none_or(Value::is_null);
        match self.given.iter().find(missing) {
            Some(missing) => Err(format!("'{}' is missing: {}", missing.name, missing.words)),
            None => (self.typed)(given),
        }
    }
}
