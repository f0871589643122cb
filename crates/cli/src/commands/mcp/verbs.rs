//! The tools: which of our commands each of them is, and how that is typed.

use conductor_engine::host::home::Home;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use crate::archive::live;

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

const RUN: Given = may("run", "string", "Name of the run, or a prefix of it; default: the newest run.");

const ALLOW: Given = may(
    "allow_commands",
    "boolean",
    "The person you work for has seen what the file starts, hands out and allows (commands, programs, variables, \
     permissions), and agrees. Without it, a file with something of this that the project does not already use is refused.",
);

/// The beginning of every start of a run. A model's word is not enough for commands that no person has seen.
fn started(given: &JsonObject) -> Result<Vec<String>, String> {
    let mut words = ["run", "--detach", "--json"].map(str::to_owned).to_vec();
    if !flag(given, "allow_commands")? {
        words.push("--known-commands".to_owned());
    }
    Ok(words)
}

pub(super) const VERBS: [Verb; 12] = [
    Verb {
        name: "plan",
        words: "Have an agent turn a description into a task file. Runs nothing.",
        given: &[
            must("requirements", "Description of what is to be done."),
            may("budget", "integer", "How many agents may work at once."),
            may("output", "string", "Task file to write; default: tasks.yaml."),
            may("agent", "string", "Agent that plans."),
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
        words: "Check a task file, and list every error with its place.",
        given: &[must("file", "The task file.")],
        typed: |given| positional(vec!["validate".to_owned(), "--json".to_owned()], [text(given, "file")?]),
        answers: &[],
    },
    Verb {
        name: "start",
        words: "Run a task file in the background, and return the name of the run.",
        given: &[
            must("file", "The task file."),
            may("parallel", "integer", "How many tasks run at once."),
            may("only", "string", "Run only these tasks: ids, globs, group:G, epic:E."),
            may("skip_done", "boolean", "Leave out tasks whose work has landed already."),
            may(
                "max_cost",
                "number",
                "Interrupt agents and start nothing new once this many dollars have been spent.",
            ),
            ALLOW,
        ],
        typed: |given| {
            let mut words = started(given)?;
            option(&mut words, "--parallel", number(given, "parallel")?);
            option(&mut words, "--only", text(given, "only")?);
            if flag(given, "skip_done")? {
                words.push("--skip-done".to_owned());
            }
            option(&mut words, "--max-cost", number(given, "max_cost")?);
            positional(words, [text(given, "file")?])
        },
        answers: &[],
    },
    Verb {
        name: "status",
        words: "Show what a run is doing: which tasks run, which wait and why, which failed.",
        given: &[RUN],
        typed: |given| positional(vec!["status".to_owned(), "--json".to_owned()], [text(given, "run")?]),
        answers: &[],
    },
    Verb {
        name: "logs",
        words: "Show the output of a task's agent or command.",
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
            Given { name: "allow", kind: "boolean", words: "Whether to allow it.", needed: true },
            may("message", "string", "Message to the agent with the answer."),
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
        words: "Cancel a task, or the whole run if no task is named.",
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
        words: "Wait for a run to end, and return its exit code; 8 if it still runs when the time is up. \
                Call it again to wait longer.",
        given: &[RUN, may("seconds", "integer", "Longest wait; default: 50.")],
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
        words: "Show what a task has changed, as a patch.",
        given: &[
            must("task", "The task's id."),
            may("stat", "boolean", "Show only file names, and how many lines changed."),
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
        words: "Run a task again, and tasks skipped because of it. If the run is not active, `resume` it.",
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
        words: "Resume a paused run; or an unfinished run that is not active, in the background.",
        given: &[
            RUN,
            may(
                "retry_failed",
                "boolean",
                "Retry what failed, was skipped or cancelled, in a run that is not active. Tasks that were edited in the \
                 file meanwhile take their new text.",
            ),
            ALLOW,
        ],
        typed: |given| {
            let run = text(given, "run")?;
            let again = flag(given, "retry_failed")?;
            if !again && is_active(run.as_deref())? {
                return positional(vec!["resume".to_owned(), "--json".to_owned()], [run]);
            }
            let mut words = started(given)?;
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
        words: "Report on a run so far, in Markdown: what landed, what failed and why, time and cost.",
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
    let meant = live::meant(&home, run).map_err(|cli_error| cli_error.message().to_owned())?;
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
