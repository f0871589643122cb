//! Just enough of HTTP for a browser on the same machine: one request for each connection.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// A connection on which nothing comes is closed.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) cookie: Option<String>,
    pub(super) body: String,
}

#[derive(Debug, Default)]
pub(super) struct Response {
    status: u16,
    kind: &'static str,
    body: String,
    cookie: Option<String>,
}

impl Response {
    pub(super) fn status(status: u16) -> Response {
        Response { status, kind: "text/plain", ..Response::default() }
    }

    pub(super) fn signed_in(login: String) -> Response {
        Response { cookie: Some(login), ..Response::status(204) }
    }

    pub(super) fn html(body: String) -> Response {
        Response { status: 200, kind: "text/html; charset=utf-8", body, cookie: None }
    }

    pub(super) fn json(body: &Value) -> Response {
        Response { status: 200, kind: "application/json", body: body.to_string(), cookie: None }
    }
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl Server {
    pub(super) fn start(answer: impl Fn(&Request) -> Response + Send + Sync + 'static) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (ended, answer) = (Arc::new(AtomicBool::new(false)), Arc::new(answer));
        let over = Arc::clone(&ended);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let answer = Arc::clone(&answer);
                thread::spawn(move || serve(stream, answer.as_ref()));
            }
        });
        Ok(Server { address, ended })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&Request) -> Response) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let Some(request) = read(&stream) else { return };
    let response = answer(&request);
    let cookie =
        response.cookie.map_or_else(String::new, |cookie| format!("Set-Cookie: login={cookie}; Path=/\r\n"));
    let head = format!(
        "HTTP/1.1 {} -\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n{cookie}Connection: close\r\n\r\n",
        response.status,
        response.kind,
        response.body.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(response.body.as_bytes()));
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let mut request = Request { method: words.next()?.to_owned(), ..Request::default() };
    request.path = words.next()?.split('?').next()?.to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "cookie" => {
                let login = value.split("; ").find_map(|part| part.strip_prefix("login="));
                request.cookie = login.map(str::to_owned);
            }
            _ => {}
        }
    }
    let mut body = vec![0; length.min(LONGEST)];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    Some(request)
}
