//! A client of an MCP server: the greeting, and calls of tools.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use thiserror::Error;

use crate::link::{Http, Link, LinkError, Sse, Stdio};

const PROTOCOL: &str = "2025-06-18";

/// The pause before a connection is tried again; it doubles each time.
const PAUSE: Duration = Duration::from_millis(250);

/// Where an MCP server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A program that we start, with its arguments.
    Program(Vec<String>),
    /// `http(s)://…/mcp`
    Http(String),
    /// `http(s)://…/sse`
    Sse(String),
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum PlaceError {
    #[error("mcp.server_url is `{0}`; it begins with stdio://, http:// or https://")]
    Scheme(String),
    #[error("mcp.server_url is `{0}`; an address over HTTP ends in /mcp or /sse")]
    Path(String),
    #[error("mcp.server_url is `{0}`; after stdio:// comes the program to start")]
    NoProgram(String),
}

impl Place {
    /// Reads `mcp.server_url`. The words of a program are separated by blanks.
    pub fn parse(url: &str) -> Result<Place, PlaceError> {
        if let Some(words) = url.strip_prefix("stdio://") {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let none = || PlaceError::NoProgram(url.to_owned());
            return if words.is_empty() { Err(none()) } else { Ok(Place::Program(words)) };
        }
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(PlaceError::Scheme(url.to_owned()));
        }
        let path = url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/');
        match path.rsplit('/').next() {
            Some("mcp") => Ok(Place::Http(url.to_owned())),
            Some("sse") => Ok(Place::Sse(url.to_owned())),
            _ => Err(PlaceError::Path(url.to_owned())),
        }
    }
}

/// How long an answer is waited for, and how often a connection is tried.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    pub timeout: Duration,
    pub max_retries: u32,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { timeout: Duration::from_secs(60), max_retries: 3 }
    }
}

#[derive(Debug, Error)]
pub enum CallError {
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The tool was called and says that it failed.
    #[error("{tool}: {said}")]
    Tool { tool: String, said: String },
    #[error("the answer to {tool} has no content")]
    Empty { tool: String },
}

/// What a tool answered.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    /// A picture, as base64.
    pub image: Option<String>,
}

pub struct Client {
    link: Box<dyn Link>,
    last_id: u64,
    timeout: Duration,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("last_id", &self.last_id).finish_non_exhaustive()
    }
}

impl Client {
    /// Connects and greets, as often as patience says.
    pub fn connect(place: &Place, patience: Patience) -> Result<Client, CallError> {
        let mut pause = PAUSE;
        let mut tries = 0;
        loop {
            match Client::try_once(place, patience.timeout) {
                Ok(client) => return Ok(client),
                // A program that is not there does not come by waiting.
                Err(error @ CallError::Link(LinkError::NotStarted { .. })) => return Err(error),
                Err(error) if tries >= patience.max_retries => return Err(error),
                Err(_) => {
                    tries += 1;
                    std::thread::sleep(pause);
                    pause *= 2;
                }
            }
        }
    }

    fn try_once(place: &Place, timeout: Duration) -> Result<Client, CallError> {
        let link: Box<dyn Link> = match place {
            Place::Program(words) => {
                let mut command = Command::new(words.first().map_or("", String::as_str));
                command.args(&words[1..]);
                Box::new(Stdio::start(command)?)
            }
            Place::Http(url) => Box::new(Http::to(url)),
            Place::Sse(url) => Box::new(Sse::to(url, timeout)?),
        };
        Client::over(link, timeout)
    }

    /// Greets the server at the other end.
    pub fn over(link: Box<dyn Link>, timeout: Duration) -> Result<Client, CallError> {
        let mut client = Client { link, last_id: 0, timeout };
        let hello = json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": { "name": "conductor", "version": env!("CARGO_PKG_VERSION") },
        });
        client.request("initialize", &hello, timeout)?;
        client.link.notify(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// The names of the tools that the server has.
    pub fn tools(&mut self) -> Result<Vec<String>, CallError> {
        let listed = self.request("tools/list", &json!({}), self.timeout)?;
        let names = listed["tools"].as_array().into_iter().flatten();
        Ok(names.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect())
    }

    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Answer, CallError> {
        let params = json!({ "name": tool, "arguments": arguments });
        let result = self.request("tools/call", &params, self.timeout)?;
        let Some(parts) = result["content"].as_array() else {
            return Err(CallError::Empty { tool: tool.to_owned() });
        };
        let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        let text = texts.join("\n");
        if result["isError"].as_bool() == Some(true) {
            let said = text.trim().trim_start_matches("### Error").trim().to_owned();
            return Err(CallError::Tool { tool: tool.to_owned(), said });
        }
        let image = parts.iter().find(|part| part["type"] == "image").and_then(|part| part["data"].as_str());
        Ok(Answer { text, image: image.map(str::to_owned) })
    }

    pub fn close(&mut self) {
        self.link.close();
    }

    fn request(&mut self, method: &str, params: &Value, within: Duration) -> Result<Value, CallError> {
        self.last_id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        Ok(self.link.request(&message, within)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_by_their_scheme() {
        let program = Place::Program(vec!["npx".to_owned(), "server".to_owned()]);
        assert_eq!(Place::parse("stdio://npx server"), Ok(program));
        let url = "https://example.com/mcp";
        assert_eq!(Place::parse(url), Ok(Place::Http(url.to_owned())));
        let url = "http://localhost:8931/sse";
        assert_eq!(Place::parse(url), Ok(Place::Sse(url.to_owned())));
    }

    #[test]
    fn other_places_are_refused_with_what_is_expected() {
        for (url, expected) in [
            ("ws://localhost/mcp", "begins with stdio://"),
            ("http://localhost:1/", "ends in /mcp or /sse"),
            ("stdio:// ", "the program to start"),
        ] {
            let said = Place::parse(url).unwrap_err().to_string();
            assert!(said.contains(expected) && said.contains("mcp.server_url"), "{said}");
        }
    }

    fn shell(script: &str) -> Result<Client, CallError> {
        let words = ["sh", "-c", script].map(str::to_owned).to_vec();
        let patience = Patience { timeout: Duration::from_millis(500), max_retries: 0 };
        Client::connect(&Place::Program(words), patience)
    }

    #[test]
    fn servers_that_die_or_talk_nonsense_or_say_nothing_are_told_apart() {
        let said = shell("echo 'no license' >&2; exit 3").unwrap_err().to_string();
        assert!(said.contains("ended") && said.contains("no license"), "{said}");
        let said = shell("echo 'Welcome!'; cat >/dev/null").unwrap_err().to_string();
        assert!(said.contains("does not speak the protocol") && said.contains("Welcome!"), "{said}");
        assert!(matches!(shell("cat >/dev/null"), Err(CallError::Link(LinkError::Silent(_)))));
        let none =
            Client::connect(&Place::Program(vec!["no-such-program-here".to_owned()]), Patience::default());
        assert!(matches!(none, Err(CallError::Link(LinkError::NotStarted { .. }))));
    }

    #[test]
    fn questions_of_the_server_are_answered_in_between() {
        let script = r#"read hello; echo '{"jsonrpc":"2.0","id":7,"method":"ping"}'; read pong; read -r _ <<X
x
X
case "$pong" in *'"id":7'*'"result"'*) echo '{"jsonrpc":"2.0","id":1,"result":{}}';; esac; cat >/dev/null"#;
        shell(script).unwrap();
    }
}
