//! A program that webhooks are sent to: it answers as it is told, and remembers what it was sent.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::harness::wait_for;

#[derive(Debug, Clone)]
pub(super) struct Received {
    head: String,
    pub(super) body: String,
}

impl Received {
    pub(super) fn header(&self, name: &str) -> String {
        let fitting = |line: &str| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        };
        self.head.lines().find_map(fitting).unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(super) fn id(&self) -> String {
        self.header("x-conductor-delivery")
    }

    /// Whether it is signed with this secret, as another program computes it.
    pub(super) fn is_signed_with(&self, secret: &str) -> bool {
        let mut openssl = Command::new("openssl")
            .args(["dgst", "-sha256", "-hmac", secret])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let signed = format!("{}.{}", self.header("x-conductor-timestamp"), self.body);
        openssl.stdin.take().unwrap().write_all(signed.as_bytes()).unwrap();
        let said = String::from_utf8(openssl.wait_with_output().unwrap().stdout).unwrap();
        let hash = said.trim().rsplit(' ').next().unwrap();
        self.header("x-conductor-signature") == format!("sha256={hash}")
    }
}

/// What it says to a request.
#[derive(Debug, Clone)]
pub(super) enum Says {
    Status(u16),
    /// With further headers and a body.
    More(u16, String, String),
    /// It takes the request and never answers.
    Nothing,
}

#[derive(Default)]
struct Shared {
    received: Vec<Received>,
    /// The next answers; the last one stays.
    says: Vec<Says>,
    /// Connections that were never answered.
    held: Vec<TcpStream>,
}

#[derive(Clone)]
pub(super) struct Receiver {
    pub(super) address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

impl Receiver {
    pub(super) fn start(says: &[Says]) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Mutex::new(Shared { says: says.to_vec(), ..Shared::default() }));
        let receiver = Receiver { address, shared };
        let serving = receiver.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let (serving, socket) = (serving.clone(), socket.unwrap());
                std::thread::spawn(move || serving.answer(socket));
            }
        });
        receiver
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/in?from=conductor", self.address)
    }

    /// From now on.
    pub(super) fn says(&self, says: &[Says]) {
        self.shared.lock().unwrap().says = says.to_vec();
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.shared.lock().unwrap().received.clone()
    }

    pub(super) fn wait_for(&self, count: usize) -> Vec<Received> {
        wait_for(&format!("{count} deliveries"), || Some(self.received()).filter(|all| all.len() >= count))
    }

    fn answer(&self, mut socket: TcpStream) {
        // A server that is killed leaves half a request.
        let Some(request) = read(&mut socket) else { return };
        let mut shared = self.shared.lock().unwrap();
        shared.received.push(request);
        let says = if shared.says.len() > 1 { shared.says.remove(0) } else { shared.says[0].clone() };
        let (status, headers, body) = match says {
            Says::Status(status) => (status, String::new(), String::new()),
            Says::More(status, headers, body) => (status, headers, body),
            Says::Nothing => return shared.held.push(socket),
        };
        drop(shared);
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        let _ = socket.write_all(answer.as_bytes());
    }
}

fn read(socket: &mut TcpStream) -> Option<Received> {
    let (mut request, mut bytes) = (Vec::new(), [0; 16 << 10]);
    loop {
        let read = socket.read(&mut bytes).ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&bytes[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let received = Received { head: head.to_owned(), body: body.to_owned() };
        if body.len() >= received.header("content-length").parse::<usize>().unwrap() {
            return Some(received);
        }
    }
}
