//! `conductor mcp`: Conductor as tools for clients of the Model Context Protocol, over standard input and
//! output.
//!
//! Every tool is one of our commands, carried out by this very program: there is no second way to do anything.

mod bounded;
mod verbs;

use std::process::{Command, Stdio};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, ErrorData, Implementation, InitializeResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt as _, transport};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::block_on;
use crate::error::{CliError, Exit};
use bounded::{Bounded, LARGEST, TOO_LARGE};
use verbs::{VERBS, Verb};

/// How much is read at a time.
const PIECE: usize = 64 << 10;

/// An answer longer than this is cut; logs are read with `conductor logs`.
const LONGEST: usize = 100_000;

const INSTRUCTIONS: &str = "Runs many coding agents in parallel on this repository. A task file is checked \
    (validate), started in the background (start), looked at (status, wait, logs, diff, report) and steered (answer, \
    retry, resume, cancel). What landed is on the branch conductor/RUN; a checkout is never touched.";

pub(crate) fn run() -> Result<Exit, CliError> {
    block_on(async {
        let unable = |error: String| CliError::new(Exit::Unexpected, error);
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

/// What the command says: its answer, or why it could not.
async fn carried_out(words: Vec<String>, answers: &[i32]) -> Result<String, String> {
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
    let is_answer = |code: i32| answers.contains(&code) && !answer.trim().is_empty();
    let succeeded = output.status.success() || output.status.code().is_some_and(is_answer);
    match (succeeded, answer.trim().is_empty()) {
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
        let told = match verb.map(|verb| (verb.words(&given), verb.answers)) {
            None => Err(format!("there is no tool '{}'", request.name)),
            Some((Err(why), _)) => Err(why),
            Some((Ok(words), answers)) => carried_out(words, answers).await,
        };
        Ok(match told {
            Ok(answer) => CallToolResult::success(vec![ContentBlock::text(cut(answer))]),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(cut(why))]),
        }
        .into())
    }
}
