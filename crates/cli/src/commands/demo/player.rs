//! The demonstration's own agent, for machines that have no other: it asks the stand-in as any agent asks its model, does
//! what it is told with three tools, and speaks the language of docs/agents.md.
//!
//! It is started by `conductor demo` only, and knows nothing of the run it is part of.

use std::fs;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::args;
use crate::error::{CliError, Exit};

/// The most turns of one conversation, so that it ends.
const TURNS: usize = 50;

pub(crate) fn run(args: &args::DemoAgent) -> Result<Exit, CliError> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let task: Value = serde_json::from_str(&line)
        .map_err(|error| CliError::new(Exit::Usage, format!("the first line is no task: {error}")))?;
    let result = match Player::new(args, &task).and_then(|mut player| player.play()) {
        Ok(words) => json!({"type": "result", "ok": true, "text": words}),
        Err(error) => json!({"type": "result", "ok": false, "class": "provider", "text": error.to_string()}),
    };
    tell(&result)?;
    Ok(Exit::Done)
}

struct Player {
    model: SocketAddr,
    directory: PathBuf,
    /// Where the conversation is kept for its next round.
    memory: PathBuf,
    messages: Vec<Value>,
}

impl Player {
    fn new(args: &args::DemoAgent, task: &Value) -> io::Result<Player> {
        let session = task["session"]["id"].as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if session.is_empty() || !session.chars().all(plain) {
            return Err(io::Error::other("the session has no usable name"));
        }
        let memory = args.memory.join(format!("{session}.json"));
        let mut messages: Vec<Value> = match task["session"]["begun"] == true {
            true => serde_json::from_slice(&fs::read(&memory)?)?,
            false => Vec::new(),
        };
        messages.push(json!({"role": "user", "content": task["words"]}));
        let directory = task["directory"].as_str().unwrap_or(".").into();
        Ok(Player { model: args.model, directory, memory, messages })
    }

    /// Until the model has nothing more to do; its last words.
    fn play(&mut self) -> io::Result<String> {
        for _ in 0..TURNS {
            let answer = self.ask()?;
            let blocks = answer["content"].as_array().cloned().unwrap_or_default();
            self.messages.push(json!({"role": "assistant", "content": blocks}));
            let mut words = String::new();
            let mut results = Vec::new();
            for block in &blocks {
                match block["type"].as_str() {
                    Some("text") => words.push_str(block["text"].as_str().unwrap_or_default()),
                    Some("tool_use") => results.push(self.use_tool(block)?),
                    _ => {}
                }
            }
            if results.is_empty() {
                fs::write(&self.memory, serde_json::to_vec(&self.messages)?)?;
                return Ok(words);
            }
            tell(&json!({"type": "text", "text": words}))?;
            self.messages.push(json!({"role": "user", "content": results}));
        }
        Err(io::Error::other("the model came to no end"))
    }

    fn use_tool(&self, block: &Value) -> io::Result<Value> {
        let (name, input) = (block["name"].as_str().unwrap_or_default(), &block["input"]);
        let text = |key: &str| input[key].as_str().unwrap_or_default();
        let what = [text("file_path"), text("command")].concat();
        tell(&json!({"type": "tool", "name": name, "text": what.lines().next()}))?;
        let path = self.directory.join(text("file_path"));
        let done = match name {
            "Write" => write(&path, text("content")),
            "Edit" => edit(&path, text("old_string"), text("new_string")),
            "Bash" => shell(&self.directory, text("command")),
            _ => Err(io::Error::other("there is no such tool")),
        };
        let (words, failed) = match done {
            Ok(words) => (words, false),
            Err(error) => (error.to_string(), true),
        };
        Ok(json!({"type": "tool_result", "tool_use_id": block["id"], "content": words, "is_error": failed}))
    }

    /// One call of the model.
    fn ask(&self) -> io::Result<Value> {
        let tool = |name: &str, inputs: &[&str]| {
            let properties: serde_json::Map<String, Value> =
                inputs.iter().map(|input| ((*input).to_owned(), json!({"type": "string"}))).collect();
            json!({"name": name, "input_schema": {"type": "object", "properties": properties, "required": inputs}})
        };
        let tools = [
            tool("Write", &["file_path", "content"]),
            tool("Edit", &["file_path", "old_string", "new_string"]),
            tool("Bash", &["command"]),
        ];
        let body =
            json!({"model": "stand-in", "max_tokens": 4096, "tools": tools, "messages": self.messages});
        post(self.model, "/v1/messages", &body)
    }
}

fn tell(line: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn write(path: &Path, content: &str) -> io::Result<String> {
    fs::write(path, content)?;
    Ok("written".to_owned())
}

fn edit(path: &Path, old: &str, new: &str) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    if !text.contains(old) {
        return Err(io::Error::other("the text to replace is not there"));
    }
    write(path, &text.replacen(old, new, 1))
}

fn shell(directory: &Path, command: &str) -> io::Result<String> {
    let output = Command::new("sh").arg("-c").arg(command).current_dir(directory).output()?;
    let words = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(words) } else { Err(io::Error::other(words)) }
}

/// By HTTP/1.0, in which the end of an answer is the end of the connection.
fn post(address: SocketAddr, path: &str, body: &Value) -> io::Result<Value> {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).unwrap_or_default();
    match status {
        "200" => Ok(serde_json::from_str(body)?),
        _ => Err(io::Error::other(format!("the model answered {status}: {body}"))),
    }
}
