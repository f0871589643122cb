//! A server in a world, and what asks it: one request, one connection.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use rustix::process::Signal;
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest as _;
use tungstenite::{Message, WebSocket};

use crate::harness::{Live, World, wait_for};

pub(crate) struct Served<'w> {
    pub(crate) world: &'w World,
    pub(crate) address: SocketAddr,
    live: Option<Live>,
    more: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{}\n{}", self.head, self.body);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let fitting = |line: &str| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        };
        self.head.lines().find_map(fitting)
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

impl<'w> Served<'w> {
    pub(crate) fn start(world: &'w World) -> Served<'w> {
        Served::with(world, &[])
    }

    pub(crate) fn with(world: &'w World, more: &[&str]) -> Served<'w> {
        Served::at(world, free_port(), more)
    }

    pub(crate) fn at(world: &'w World, address: SocketAddr, more: &[&str]) -> Served<'w> {
        let more = more.iter().map(|word| (*word).to_owned()).collect();
        let mut served = Served { world, address, live: None, more };
        served.begin();
        served
    }

    /// One that was started by other means, and is not ended here.
    pub(crate) fn of(world: &'w World, address: SocketAddr) -> Served<'w> {
        Served { world, address, live: None, more: Vec::new() }
    }

    pub(crate) fn begin(&mut self) {
        let bind = self.address.to_string();
        let mut words = vec!["serve", "--json", "--bind", bind.as_str()];
        words.extend(self.more.iter().map(String::as_str));
        let live = self.world.start(&words);
        wait_for("the server", || live.stdout().contains("\"url\"").then_some(()));
        self.live = Some(live);
    }

    /// As a power cut would.
    pub(crate) fn kill(&mut self) {
        let live = self.live.take().unwrap();
        live.signal(Signal::KILL);
        live.ended();
    }

    pub(crate) fn stop(mut self) -> crate::harness::Ended {
        let live = self.live.take().unwrap();
        live.signal(Signal::TERM);
        live.ended()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.live.as_ref().unwrap().pid()
    }

    pub(crate) fn owner(&self) -> String {
        std::fs::read_to_string(self.world.home().join("server/owner-token")).unwrap().trim().to_owned()
    }

    /// Everything as it is written here, and nothing else.
    pub(crate) fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(crate::harness::DEADLINE)).unwrap();
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        let body = if chunked { unchunked(body) } else { body.to_owned() };
        Answer { status, head: head.to_owned(), body }
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let host = format!("localhost:{}", self.address.port());
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request += &format!("Host: {host}\r\n");
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() || method != "GET" {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        self.raw(format!("{request}\r\n{body}").as_bytes())
    }

    pub(crate) fn by(&self, token: &str, method: &str, path: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {token}");
        let (body, kind) = match method {
            "GET" => (String::new(), "text/plain"),
            _ => (body.to_string(), "application/json"),
        };
        self.ask(method, path, &[("Authorization", &bearer), ("Content-Type", kind)], &body)
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        self.by(&self.owner(), "GET", path, &json!({})).expect(200).json()
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Answer {
        self.by(&self.owner(), "POST", path, &body)
    }

    pub(crate) fn socket(&self, path: &str) -> Socket {
        self.socket_of(&self.owner(), path)
    }

    pub(crate) fn socket_of(&self, token: &str, path: &str) -> Socket {
        let mut request = format!("ws://{}{path}", self.address).into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(crate::harness::DEADLINE)).unwrap();
        let (socket, _) = tungstenite::client(request, stream).unwrap();
        Socket(socket)
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        if let Some(live) = self.live.take() {
            live.signal(Signal::KILL);
            live.ended();
        }
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap_or(0);
        if length == 0 || rest.len() < length {
            break;
        }
        whole += &rest[..length];
        body = rest[length..].trim_start_matches("\r\n");
    }
    whole
}

pub(crate) struct Socket(pub(crate) WebSocket<TcpStream>);

impl Socket {
    /// The next events; nothing when the connection is over.
    pub(crate) fn next(&mut self) -> Option<Vec<Value>> {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// With which code the server ends the connection, whatever it tells before.
    pub(crate) fn closed(&mut self) -> Option<u16> {
        loop {
            match self.0.read() {
                Ok(Message::Close(frame)) => return frame.map(|frame| frame.code.into()),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    /// All events until one of this type.
    #[track_caller]
    pub(crate) fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut all = Vec::new();
        while !all.iter().any(|event: &Value| event["type"] == kind) {
            all.extend(self.next().unwrap_or_else(|| panic!("no {kind} in {all:?}")));
        }
        all
    }
}
