//! `conductor mcp`: Conductor as tools for whoever speaks the Model Context Protocol, over standard input and output.
//!
//! Every tool is one of our commands, carried out by this very program: there is no second way to do anything.

mod bounded;

use std::process::{Command, Stdio};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, ErrorData, Implementation, InitializeResult, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt as _, transport};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::block_on;
use crate::fault::{Exit, Fault};
use bounded::{Bounded, LARGEST, TOO_LARGE};

/// How much is read at a time.
const PIECE: usize = 64 << 10;

/// An answer longer than this is cut; logs are read with `conductor logs`.
const LONGEST: usize = 100_000;

const INSTRUCTIONS: &str = "Runs many coding agents in parallel on this repository. A task file is checked \
    (validate), started in the background (start), looked at (status, logs) and steered (answer, cancel). What landed \
    is on the branch conductor/RUN; a checkout is never touched.";

pub(crate) fn run() -> Result<Exit, Fault> {
    block_on(async {
        let unable = |error: String| Fault::new(Exit::Unexpected, error);
        let (input, output) = transport::stdio();
        let serving = Server.serve((bounded_input(input), output)).await;
        let serving = serving.map_err(|error| unable(error.to_string()))?;
        serving.waiting().await.map_err(|error| unable(error.to_string()))?;
        Ok(Exit::Done)
    })
}

struct Server;

/// What comes in, without requests that are too large. The library drops those without an answer, and a client would
/// wait for ever.
fn bounded_input(mut input: impl AsyncRead + Unpin + Send + 'static) -> DuplexStream {
    let (mut there, here) = tokio::io::duplex(PIECE);
    tokio::spawn(async move {
        let (mut bounded, mut bytes, mut out) = (Bounded::default(), vec![0; PIECE], Vec::new());
        while let Ok(read @ 1..) = input.read(&mut bytes).await {
            bounded.take(&bytes[..read], &mut out);
            if there.write_all(&out).await.is_err() {
                return;
            }
            out.clear();
        }
    });
    here
}

/// A command of ours as a tool: what it is for, what it can be given, and how that is typed.
struct Verb {
    name: &'static str,
    words: &'static str,
    given: &'static [Given],
    typed: fn(&JsonObject) -> Result<Vec<String>, String>,
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

const VERBS: [Verb; 7] = [
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
    },
    Verb {
        name: "validate",
        words: "Check a task file; every mistake with its place.",
        given: &[must("file", "The task file.")],
        typed: |given| positional(vec!["validate".to_owned(), "--json".to_owned()], [text(given, "file")?]),
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
    },
    Verb {
        name: "status",
        words: "What a run is doing: what is at work, what waits and on what, what failed.",
        given: &[RUN],
        typed: |given| positional(vec!["status".to_owned(), "--json".to_owned()], [text(given, "run")?]),
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
    },
    Verb {
        name: "cancel",
        words: "Stop a task and do not do it; or everything of a run, where no task is named.",
        given: &[may("task", "string", "The task's id."), RUN],
        typed: |given| {
            let mut words = vec!["cancel".to_owned()];
            option(&mut words, "--run", text(given, "run")?);
            match text(given, "task")? {
                Some(task) => positional(words, [Some(task)]),
                None => {
                    words.push("--all".to_owned());
                    Ok(words)
                }
            }
        },
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
    fn tool(&self) -> Tool {
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

    fn words(&self, given: &JsonObject) -> Result<Vec<String>, String> {
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

/// What the command says: its answer, or why it could not.
async fn carried_out(words: Vec<String>) -> Result<String, String> {
    let done = tokio::task::spawn_blocking(move || {
        let us = std::env::current_exe()?;
        Command::new(us).args(words).stdin(Stdio::null()).output()
    });
    let output = match done.await {
        Ok(output) => output.map_err(|error| error.to_string())?,
        Err(error) => return Err(error.to_string()),
    };
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match (output.status.success(), answer.trim().is_empty()) {
        (true, false) => Ok(answer),
        (true, true) => Ok(said),
        // Findings are an answer, and come with an exit code.
        (false, false) => Err(format!("{answer}\n{said}")),
        (false, true) => Err(said),
    }
}

fn cut(words: String) -> String {
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}\n… cut here", &words[..end]),
        None => words,
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        InitializeResult::new(capabilities)
            .with_server_info(Implementation::new("conductor", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(match request.method.as_str() {
            TOO_LARGE => {
                let message = format!("the request is larger than {} MiB and was not read", LARGEST >> 20);
                ErrorData::new(ErrorCode::INVALID_REQUEST, message, None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None),
        })
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(VERBS.iter().map(Verb::tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.arguments.unwrap_or_default();
        let verb = VERBS.iter().find(|verb| *verb.name == *request.name);
        let words = verb
            .map_or_else(|| Err(format!("there is no tool '{}'", request.name)), |verb| verb.words(&given));
        let told = match words {
            Ok(words) => carried_out(words).await,
            Err(why) => Err(why),
        };
        Ok(match told {
            Ok(answer) => CallToolResult::success(vec![ContentBlock::text(cut(answer))]),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(cut(why))]),
        }
        .into())
    }
}
