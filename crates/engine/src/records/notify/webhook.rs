//! A message to a web address. The address itself is as good as a password, and never shown beyond its host.

use std::time::Duration;

use conductor_core::report::notify::News;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Error};

/// How long one try may take in all.
const TIMEOUT: Duration = Duration::from_secs(5);

/// After how long it is tried again, and how often that is.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// An address that failed so many times in a row is not asked again.
const GIVEN_UP: u32 = 3;

pub(super) struct Webhooks {
    agent: Agent,
    /// How often in a row each could not be told.
    failed: Vec<(String, u32)>,
}

impl Webhooks {
    pub(super) fn new() -> Webhooks {
        // Which authorities are trusted is the machine's to say: a company's own hooks have a company's own.
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .max_redirects(3)
            .user_agent(concat!("conductor/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls);
        Webhooks { agent: config.build().into(), failed: Vec::new() }
    }

    /// The error says why the webhook could not be reached. Of its address it names only the host.
    pub(super) fn send(&mut self, url: &str, news: &News) -> Result<(), String> {
        let failed = self.failed.iter().position(|(known, _)| known == url);
        if failed.is_some_and(|at| self.failed[at].1 >= GIVEN_UP) {
            return Ok(());
        }
        let body = serde_json::to_string(news).unwrap_or_default();
        let Err(why) = self.persist(url, &body) else {
            self.failed.retain(|(known, _)| known != url);
            return Ok(());
        };
        let times = match failed {
            Some(at) => {
                self.failed[at].1 += 1;
                self.failed[at].1
            }
            None => {
                self.failed.push((url.to_owned(), 1));
                1
            }
        };
        let rest = if times == GIVEN_UP { "; it is told no more" } else { "" };
        Err(format!("the webhook at {} could not be told of a {}: {why}{rest}", host(url), news.event.name()))
    }

    fn persist(&self, url: &str, body: &str) -> Result<(), String> {
        let mut pauses = PAUSES.iter();
        loop {
            let sent = self.agent.post(url).content_type("application/json").send(body);
            let Err(error) = sent else { return Ok(()) };
            match pauses.next().filter(|_| may_pass(&error)) {
                Some(pause) => std::thread::sleep(*pause),
                None => return Err(words(&error)),
            }
        }
    }
}

/// Whether it may go better in a moment.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::StatusCode(code) => *code == 429 || *code >= 500,
        Error::BadUri(_) | Error::Http(_) | Error::RequireHttpsOnly(_) | Error::TooManyRedirects => false,
        _ => true,
    }
}

/// None of these names the address.
fn words(error: &Error) -> String {
    match error {
        Error::StatusCode(code) => format!("it answered {code}"),
        Error::Timeout(_) => format!("it did not answer within {} s", TIMEOUT.as_secs()),
        Error::HostNotFound => "its host is not known".to_owned(),
        Error::ConnectionFailed => "it could not be reached".to_owned(),
        Error::Io(error) => error.kind().to_string(),
        Error::TooManyRedirects => "it sends from one place to the next".to_owned(),
        Error::Tls(_) | Error::Rustls(_) => "no safe connection could be made".to_owned(),
        Error::BadUri(_) | Error::Http(_) => "its address cannot be used".to_owned(),
        _ => "it could not be talked to".to_owned(),
    }
}

/// Scheme and host only: names, passwords, paths and questions may be secrets.
fn host(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}/…")
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::time::Instant;

    use conductor_core::report::notify::{Occasion, SCHEMA};
    use conductor_core::values::ids::RunId;
    use serde_json::Value;

    use super::*;

    fn news() -> News {
        News {
            schema: SCHEMA,
            event: Occasion::Failure,
            run: RunId::parse("r1").unwrap(),
            task: None,
            task_name: None,
            status: "failed".into(),
            error: Some("exit code 1".into()),
            question: None,
            completed: 1,
            failed: 1,
            total: 2,
            elapsed_ms: 5,
            cost_usd: None,
            text: "a failed".into(),
        }
    }

    /// Answers each request with the next of these codes, and tells what came.
    fn server(codes: &'static [u16]) -> (String, mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://user:pass@{}/hooks/SECRET?token=SECRET", listener.local_addr().unwrap());
        let (heard, requests) = mpsc::channel();
        std::thread::spawn(move || {
            for code in codes {
                let (mut socket, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                let mut bytes = [0; 4096];
                while !String::from_utf8_lossy(&request).trim_end().ends_with('}') {
                    let read = socket.read(&mut bytes).unwrap();
                    request.extend_from_slice(&bytes[..read]);
                }
                let answer = format!("HTTP/1.1 {code} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                socket.write_all(answer.as_bytes()).unwrap();
                heard.send(String::from_utf8(request).unwrap()).unwrap();
            }
        });
        (url, requests)
    }

    fn webhooks() -> Webhooks {
        let config = Agent::config_builder().timeout_global(Some(TIMEOUT)).proxy(None);
        Webhooks { agent: config.build().into(), failed: Vec::new() }
    }

    #[test]
    fn what_happened_arrives_as_json() {
        let (url, requests) = server(&[204]);
        webhooks().send(&url, &news()).unwrap();
        let request = requests.recv().unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /hooks/SECRET?token=SECRET HTTP/1.1"), "{head}");
        assert!(head.to_lowercase().contains("content-type: application/json"), "{head}");
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["schema"], "conductor.notification/1");
        assert_eq!((&body["event"], &body["text"]), (&"failure".into(), &"a failed".into()));
        assert_eq!(body["cost_usd"], Value::Null);
    }

    #[test]
    fn a_server_in_trouble_is_asked_twice_more() {
        let (url, requests) = server(&[500, 429, 200]);
        webhooks().send(&url, &news()).unwrap();
        assert_eq!(requests.iter().count(), 3);
        let (url, requests) = server(&[500, 502, 503]);
        let why = webhooks().send(&url, &news()).unwrap_err();
        assert!(why.ends_with("could not be told of a failure: it answered 503"), "{why}");
        assert_eq!(requests.iter().count(), 3);
    }

    #[test]
    fn a_refusal_is_final_and_its_address_is_not_told() {
        let (url, requests) = server(&[404]);
        let why = webhooks().send(&url, &news()).unwrap_err();
        assert!(why.contains("http://127.0.0.1:") && why.contains("/…"), "{why}");
        assert!(!why.contains("SECRET") && !why.contains("pass"), "{why}");
        assert_eq!(requests.iter().count(), 1);
        for url in ["http://SECRET", "https://[SECRET/", "http://x:99999/SECRET"] {
            let why = words(&Error::BadUri(url.into()));
            assert!(!why.contains("SECRET"), "{why}");
        }
    }

    /// A server that does not speak TLS receives nothing of the message.
    #[test]
    fn a_connection_that_is_not_safe_is_not_used() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/SECRET", listener.local_addr().unwrap());
        let (heard, said) = mpsc::channel();
        std::thread::spawn(move || {
            for socket in listener.incoming().take(1 + PAUSES.len()) {
                let (mut socket, mut bytes) = (socket.unwrap(), [0; 4096]);
                let read = socket.read(&mut bytes).unwrap();
                let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
                heard.send(String::from_utf8_lossy(&bytes[..read]).into_owned()).unwrap();
            }
        });
        let why = Webhooks::new().send(&url, &news()).unwrap_err();
        assert!(why.starts_with("the webhook at https://127.0.0.1:") && !why.contains("SECRET"), "{why}");
        assert!(said.try_iter().all(|said| !said.contains("SECRET") && !said.contains("failed")));
    }

    #[test]
    fn who_never_answers_is_asked_no_more() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let url = format!("http://{gone}/x");
        let mut webhooks = webhooks();
        webhooks.failed.push((url.clone(), GIVEN_UP - 1));
        let why = webhooks.send(&url, &news()).unwrap_err();
        assert!(why.ends_with("; it is told no more"), "{why}");
        let begun = Instant::now();
        webhooks.send(&url, &news()).unwrap();
        assert!(begun.elapsed() < PAUSES[0], "no request was sent");
    }
}
