//! The stand-in as a client on the wire meets it, and what keeps it within bounds.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use conductor_standin::{Answered, Fault, Kind, Limits, Script, StandIn};
use serde_json::{Value, json};

/// Only a hang gets there.
const DEADLINE: Duration = Duration::from_secs(20);

fn started(script: Script) -> StandIn {
    let stand_in = StandIn::start_blocking().unwrap();
    stand_in.script("a", script);
    stand_in
}

fn bounded(limits: Limits) -> StandIn {
    let stand_in = StandIn::with(limits, 0).unwrap();
    stand_in.script("a", Script::new().finish("Done."));
    stand_in
}

fn connect(stand_in: &StandIn) -> TcpStream {
    let stream = TcpStream::connect(stand_in.address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream
}

/// All that comes until the connection ends; a connection that breaks ends it too.
fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("nothing came for {DEADLINE:?}"),
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

fn request(method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

fn send(stand_in: &StandIn, method: &str, path: &str, body: &str) -> String {
    let mut stream = connect(stand_in);
    stream.write_all(request(method, path, body).as_bytes()).unwrap();
    rest(stream)
}

fn get(stand_in: &StandIn, path: &str) -> Value {
    let answer = send(stand_in, "GET", path, "");
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// A conversation in Chat Completions, which needs the fewest words.
fn chat(stand_in: &StandIn, path: &str, prompt: &str, stream: bool) -> String {
    let body = json!({"messages": [{"role": "user", "content": prompt}], "stream": stream, "model": "m"});
    send(stand_in, "POST", path, &body.to_string())
}

const CHAT: &str = "/job/a/v1/chat/completions";

#[track_caller]
fn check_status(answer: &str, status: u16) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
}

#[tokio::test]
async fn it_starts_inside_a_runtime_and_answers_while_that_is_blocked() {
    let stand_in = StandIn::start().await.unwrap();
    stand_in.script("a", Script::new().finish("Done."));
    assert!(stand_in.address.ip().is_loopback());
    // This thread is the runtime's only one, and waits for the answer without yielding.
    check_status(&chat(&stand_in, CHAT, "hi", false), 200);
}

#[test]
fn an_answer_comes_whole_or_in_pieces() {
    let stand_in = started(Script::new().finish("Done and done."));
    let whole = chat(&stand_in, CHAT, "hi", false);
    assert!(whole.contains(r#""content":"Done and done.""#), "{whole}");
    let streamed = chat(&stand_in, CHAT, "hi", true);
    assert!(streamed.contains("content-type: text/event-stream"), "{streamed}");
    assert!(streamed.contains("data: [DONE]") && streamed.ends_with("0\r\n\r\n"), "{streamed}");
}

#[test]
fn a_marker_in_the_prompt_chooses_the_script() {
    let stand_in = started(Script::new().finish("By address."));
    stand_in.script("b", Script::new().finish("By marker."));
    assert!(chat(&stand_in, "/v1/chat/completions", "[[script:b]] hi", false).contains("By marker."));
    assert!(chat(&stand_in, CHAT, "[[script:b]] hi", false).contains("By marker."));
    assert!(chat(&stand_in, CHAT, "hi", false).contains("By address."));
    assert_eq!((stand_in.requests("b").len(), stand_in.requests("a").len()), (2, 1));
}

#[test]
fn a_script_that_is_not_there_is_refused_in_words() {
    let stand_in = started(Script::new());
    let answer = chat(&stand_in, "/job/unwritten/v1/chat/completions", "hi", true);
    check_status(&answer, 400);
    assert!(answer.contains("no script named") && answer.contains("unwritten"), "{answer}");
    check_status(&chat(&stand_in, "/v1/chat/completions", "hi", true), 400);
    check_status(&send(&stand_in, "POST", CHAT, "no json"), 400);
    check_status(&send(&stand_in, "POST", "/job/a/v1/embeddings", "{}"), 404);
}

#[test]
fn the_calls_beside_conversations_are_answered() {
    let stand_in = started(Script::new());
    check_status(&send(&stand_in, "HEAD", "/job/a", ""), 200);
    assert_eq!(get(&stand_in, "/job/a/v1/models")["data"][0]["id"], "stand-in");
    let count = send(&stand_in, "POST", "/job/a/v1/messages/count_tokens", "{}");
    assert!(count.ends_with(r#"{"input_tokens":1000}"#), "{count}");
    let count = send(&stand_in, "POST", "/job/a/v1beta/models/m:countTokens", "{}");
    assert!(count.ends_with(r#"{"totalTokens":1000}"#), "{count}");
}

#[test]
fn what_was_asked_is_in_the_log() {
    let script = Script::new().error(Fault::of(Kind::RateLimit).times(1).retry_after(3)).finish("Done.");
    let stand_in = started(script);
    let refused = chat(&stand_in, CHAT, "first", false);
    check_status(&refused, 429);
    assert!(refused.contains("retry-after: 3"), "{refused}");
    chat(&stand_in, CHAT, "first", false);
    let requests = stand_in.requests("a");
    let answers: Vec<_> = requests.iter().map(|request| (request.status, request.answer.clone())).collect();
    assert_eq!(answers, [(429, Answered::Refused(Kind::RateLimit)), (200, Answered::Text)]);
    let shown = get(&stand_in, "/log/a");
    assert_eq!((&shown[1]["prompt"], &shown[1]["turn"]), (&json!("first"), &json!(0)));
    assert!(shown[1].get("body").is_none());
    assert!(get(&stand_in, "/log/a?bodies")[1]["body"].as_str().unwrap().contains("first"));
    assert_eq!(get(&stand_in, "/log"), json!({"a": 2}));
}

#[test]
fn a_request_can_be_waited_for() {
    let stand_in = started(Script::new().slow(30_000).finish("Late."));
    assert!(!stand_in.await_requests("a", 1, Duration::from_millis(10)));
    let body = json!({"messages": [{"role": "user", "content": "hi"}]}).to_string();
    let mut stream = connect(&stand_in);
    stream.write_all(request("POST", CHAT, &body).as_bytes()).unwrap();
    assert!(stand_in.await_requests("a", 1, DEADLINE), "it is heard long before it is answered");
}

#[test]
fn an_answer_can_be_slow_before_and_between() {
    let stand_in = started(Script::new().slow(150).finish("Done."));
    let begun = Instant::now();
    chat(&stand_in, CHAT, "hi", true);
    assert!(begun.elapsed() >= Duration::from_millis(150));
    stand_in.script("a", Script::new().trickle(30).finish("Done."));
    let begun = Instant::now();
    chat(&stand_in, CHAT, "hi", true);
    assert!(begun.elapsed() >= Duration::from_millis(4 * 30), "five pieces have four gaps");
}

#[test]
fn a_cut_leaves_a_beginning_without_an_end() {
    let stand_in = started(Script::new().cut(2).finish("Some words, enough for several pieces of them."));
    for stream in [true, false] {
        let answer = chat(&stand_in, CHAT, "hi", stream);
        check_status(&answer, 200);
        assert!(answer.contains("chat.completion"), "{answer}");
        assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
    }
    assert!(chat(&stand_in, CHAT, "hi", true).ends_with("0\r\n\r\n"));
}

#[test]
fn another_script_counts_its_faults_anew() {
    let script = || Script::new().error(Fault::status(500).times(1)).finish("Done.");
    let stand_in = started(script());
    check_status(&chat(&stand_in, CHAT, "hi", false), 500);
    check_status(&chat(&stand_in, CHAT, "hi", false), 200);
    stand_in.script("a", script());
    check_status(&chat(&stand_in, CHAT, "hi", false), 500);
}

#[test]
fn a_body_that_is_too_long_is_refused() {
    let stand_in = bounded(Limits { body: 1000, ..Limits::default() });
    check_status(&chat(&stand_in, CHAT, &"x".repeat(2000), false), 413);
    check_status(&chat(&stand_in, CHAT, "hi", false), 200);
}

#[test]
fn after_so_many_requests_no_more_are_answered_or_kept() {
    let stand_in = bounded(Limits { requests: 2, ..Limits::default() });
    for status in [200, 200, 400, 400] {
        check_status(&chat(&stand_in, CHAT, "hi", false), status);
    }
    assert_eq!(stand_in.requests("a").len(), 2);
}

#[test]
fn a_client_that_says_nothing_is_let_go() {
    let stand_in = bounded(Limits { idle: Duration::from_millis(100), ..Limits::default() });
    assert_eq!(rest(connect(&stand_in)), "", "no request at all");
    let mut half = connect(&stand_in);
    half.write_all(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{").unwrap();
    check_status(&rest(half), 408);
    let mut kept = connect(&stand_in);
    kept.write_all(b"GET /log HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    assert!(rest(kept).ends_with("{}"), "one request, and then none for too long");
}

#[test]
fn a_client_that_does_not_listen_is_let_go() {
    let stand_in = bounded(Limits { stall: Duration::from_millis(200), connections: 1, ..Limits::default() });
    stand_in.script("a", Script::new().finish("x".repeat(16 << 20)));
    let body = json!({"messages": [{"role": "user", "content": "hi"}], "stream": true}).to_string();
    let mut deaf = connect(&stand_in);
    deaf.write_all(request("POST", CHAT, &body).as_bytes()).unwrap();
    assert!(stand_in.await_requests("a", 1, DEADLINE));
    // There is room for one connection only: that this is answered shows the other is gone.
    assert_eq!(get(&stand_in, "/log"), json!({"a": 1}));
}

#[test]
fn it_stops_when_it_is_dropped() {
    let stand_in = started(Script::new().slow(60_000).finish("Late."));
    let address = stand_in.address;
    let mut waiting = connect(&stand_in);
    waiting.write_all(request("POST", CHAT, r#"{"messages":[]}"#).as_bytes()).unwrap();
    assert!(stand_in.await_requests("a", 1, DEADLINE));
    let begun = Instant::now();
    drop(stand_in);
    assert!(begun.elapsed() < DEADLINE);
    assert_eq!(rest(waiting), "");
    assert!(TcpStream::connect(address).is_err());
}

#[test]
#[should_panic(expected = "cannot be a script's name")]
fn a_name_must_fit_into_an_address() {
    started(Script::new()).script("a/b", Script::new());
}

#[test]
fn the_program_serves_scripts_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("greeting.json");
    std::fs::write(&file, r#"[{"final": {"text": "Good day."}}]"#).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_stand-in"))
        .args(["--until-eof", "--script", file.to_str().unwrap()])
        .args(["--script", &format!("other={}", file.display())])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = [String::new(), String::new()];
    for line in &mut lines {
        std::io::BufRead::read_line(&mut said, line).unwrap();
    }
    let url = lines[0].trim().strip_prefix("http://").unwrap();
    let (address, path) = url.split_once('/').unwrap();
    assert_eq!(path, "job/greeting");
    assert!(lines[1].trim().ends_with("/job/other"), "{lines:?}");
    let mut stream = TcpStream::connect(address).unwrap();
    let body = r#"{"messages":[{"role":"user","content":"hi"}]}"#;
    stream.write_all(request("POST", &format!("/{path}/v1/chat/completions"), body).as_bytes()).unwrap();
    assert!(rest(stream).contains("Good day."));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success(), "it ends with its standard input");
}

#[test]
fn the_program_says_what_is_wrong_with_a_script() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.json");
    std::fs::write(&file, r#"[{"wirte_file": {}}]"#).unwrap();
    let run = |words: &[&str]| Command::new(env!("CARGO_BIN_EXE_stand-in")).args(words).output().unwrap();
    let bad = run(&["--script", file.to_str().unwrap()]);
    assert_eq!(bad.status.code(), Some(2));
    let said = String::from_utf8(bad.stderr).unwrap();
    assert!(said.contains("bad.json") && said.contains("wirte_file"), "{said}");
    assert!(String::from_utf8(run(&[]).stderr).unwrap().starts_with("usage:"));
}
