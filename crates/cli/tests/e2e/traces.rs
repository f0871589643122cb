//! Traces for OpenTelemetry, as a collector receives them. Built with the feature `otel`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{World, wait_for};

/// A collector on loopback, and what it has heard.
struct Collector {
    url: String,
    heard: Receiver<(String, Value)>,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, heard) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let tell = tell.clone();
                std::thread::spawn(move || while answer(&stream, &tell) {});
            }
        });
        Collector { url, heard }
    }

    /// Every span so far.
    fn spans(&self) -> Vec<Value> {
        let requests = self.heard.try_iter().map(|(_, body)| body);
        requests.flat_map(|body| spans(&body)).collect()
    }
}

fn spans(body: &Value) -> Vec<Value> {
    body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

/// One request of a connection; whether there was one.
fn answer(stream: &TcpStream, tell: &mpsc::Sender<(String, Value)>) -> bool {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return false;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    tell.send((head, serde_json::from_slice(&body).unwrap())).unwrap();
    let mut stream = stream;
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        .is_ok()
}

#[track_caller]
fn attribute(span: &Value, name: &str) -> Value {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == name);
    let value = found.unwrap_or_else(|| panic!("no {name} in {span:#}"));
    value["value"].as_object().unwrap().values().next().unwrap().clone()
}

#[track_caller]
fn named<'s>(spans: &'s [Value], name: &str) -> Vec<&'s Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

/// One trace, each id once, every parent there but for the outermost one, and no child outside of its parent.
#[track_caller]
fn expect_whole(spans: &[Value], outermost: &Value) {
    let by_id: BTreeMap<&str, &Value> =
        spans.iter().map(|span| (span["spanId"].as_str().unwrap(), span)).collect();
    assert_eq!(by_id.len(), spans.len(), "a span came twice: {spans:#?}");
    let traces: BTreeSet<&str> = spans.iter().map(|span| span["traceId"].as_str().unwrap()).collect();
    assert_eq!(traces.len(), 1, "{traces:?}");
    let time = |span: &Value, name: &str| span[name].as_str().unwrap().parse::<u128>().unwrap();
    for span in spans {
        let (from, to) = (time(span, "startTimeUnixNano"), time(span, "endTimeUnixNano"));
        assert!(from <= to);
        if span["parentSpanId"] == *outermost {
            continue;
        }
        let parent = by_id.get(span["parentSpanId"].as_str().unwrap()).unwrap_or_else(|| panic!("{span:#}"));
        let (first, last) = (time(parent, "startTimeUnixNano"), time(parent, "endTimeUnixNano"));
        assert!(first <= from && to <= last, "{span:#} outside of {parent:#}");
    }
}

/// A world with an agent that calls tools and fails at its first try.
fn with_teller(tasks: &str) -> World {
    let mut world = World::in_place(tasks);
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let program = bin.join("conductor-agent-teller");
    fs::write(
        &program,
        "#!/bin/sh\nread -r task\n\
         echo '{\"type\":\"session\",\"id\":\"talk-1\"}'\n\
         echo '{\"type\":\"tool\",\"name\":\"Bash\",\"text\":\"make SECRETARGUMENT\"}'\n\
         echo '{\"type\":\"error\",\"text\":\"make: no rule\"}'\n\
         echo '{\"type\":\"tool\",\"name\":\"Edit\",\"text\":\"file.txt\"}'\n\
         echo '{\"type\":\"text\",\"text\":\"done\"}'\n\
         echo '{\"type\":\"usage\",\"model\":\"house-model\",\"input\":30,\"output\":12,\"turns\":2}'\n\
         if test -e tried; then echo '{\"type\":\"result\",\"ok\":true}'\n\
         else touch tried; echo '{\"type\":\"result\",\"ok\":false,\"text\":\"SECRETREASON\"}'; fi\n",
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    world.set("PATH", path);
    world
}

const RETRIED: &str = "
config: { prices: { 'house-*': { input: 0.5, output: 2 } } }
tasks:
  - id: told
    prompt: do SECRETPROMPT
    agent: teller
    model: house-model
    changes: optional
    retry_policy: { max_attempts: 2, initial_delay: 1ms }
  - { id: make, run: 'true', dependencies: [told] }
";

#[test]
fn a_run_with_a_retry_is_one_trace() {
    let collector = Collector::start();
    let mut world = with_teller(RETRIED);
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    world.set("OTEL_EXPORTER_OTLP_HEADERS", "x-key=se%20cret");
    world.set("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=ci");
    world.set("OTEL_SERVICE_NAME", "nightly");
    world.set("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(0);
    assert!(!ended.stderr.contains("spans"), "{}", ended.stderr);
    let requests: Vec<(String, Value)> = collector.heard.try_iter().collect();
    for (head, body) in &requests {
        assert!(head.starts_with("POST /v1/traces HTTP/1.1") && head.contains("x-key: se cret"), "{head}");
        assert!(head.to_ascii_lowercase().contains("content-type: application/json"), "{head}");
        let resource = body["resourceSpans"][0]["resource"].to_string();
        assert!(
            resource.contains("nightly") && resource.contains("deployment.environment.name"),
            "{resource}"
        );
    }
    let all: Vec<Value> = requests.iter().flat_map(|(_, body)| spans(body)).collect();
    expect_whole(&all, &"00f067aa0ba902b7".into());
    assert!(all.iter().all(|span| span["traceId"] == "4bf92f3577b34da6a3ce929d0e0e4736"), "{all:#?}");
    let run = named(&all, "conductor run");
    assert_eq!(run.len(), 1);
    assert_eq!(attribute(run[0], "conductor.run.id"), world.run_id().as_str());
    assert_eq!(attribute(run[0], "gen_ai.operation.name"), "invoke_workflow");
    let task = named(&all, "task told");
    assert_eq!(attribute(task[0], "conductor.task.state"), "completed");
    assert_eq!(task[0]["events"][0]["name"], "conductor.recovery");
    let attempts = named(&all, "invoke_agent teller");
    assert_eq!(attempts.len(), 2);
    assert_eq!(attribute(attempts[0], "gen_ai.operation.name"), "invoke_agent");
    assert_eq!(attribute(attempts[0], "gen_ai.conversation.id"), "talk-1");
    assert_eq!(attribute(attempts[0], "error.type"), "exit");
    assert_eq!(attempts[0]["status"], serde_json::json!({ "code": 2 }));
    assert_eq!(attribute(attempts[1], "conductor.retry.reason"), "failed");
    assert_eq!(attribute(attempts[1], "gen_ai.request.model"), "house-model");
    assert_eq!(attribute(attempts[1], "gen_ai.usage.input_tokens"), "30");
    assert_eq!(attribute(attempts[1], "gen_ai.usage.output_tokens"), "12");
    for (tool, failed) in [("execute_tool Bash", true), ("execute_tool Edit", false)] {
        let calls = named(&all, tool);
        assert_eq!(calls.len(), 2, "{all:#?}");
        assert_eq!(calls[0]["status"]["code"] == 2, failed);
        assert_eq!(calls[0]["parentSpanId"], attempts[0]["spanId"]);
    }
    assert_eq!(attribute(named(&all, "command")[0], "conductor.attempt.outcome"), "succeeded");
    let told = format!("{requests:?}");
    assert!(!told.contains("SECRET"), "no words of prompts, tools and failures: {told}");
    // The same trace, made again from the log.
    let later = world.conductor(&["report", "--format", "otlp"]).expect(0).json();
    let mut again = spans(&later);
    let mut first = all.clone();
    again.sort_by_key(|span| span["spanId"].to_string());
    first.sort_by_key(|span| span["spanId"].to_string());
    assert_eq!(again, first);
}

#[test]
fn words_are_told_where_that_is_wanted_and_never_secrets() {
    let mut world = with_teller(RETRIED);
    world.set("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true");
    world.set("HOUSE_API_KEY", "SECRETPROMPT");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let told = world.conductor(&["report", "--format", "otlp"]).expect(0).stdout;
    for words in ["SECRETARGUMENT", "SECRETREASON", "gen_ai.input.messages"] {
        assert!(told.contains(words), "{words} in {told}");
    }
    assert!(!told.contains("SECRETPROMPT"), "{told}");
}

#[test]
fn a_collector_that_is_away_is_told_once_and_gets_the_trace_later() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut world = with_teller(RETRIED);
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://user:HIDDEN@{gone}"));
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(0).says("2 of 2 completed");
    assert_eq!(ended.stderr.matches("were not sent").count(), 1, "{}", ended.stderr);
    let ended = ended.says("10 of 10 spans").says(&format!("http://{gone}: it could not be reached"));
    assert!(!ended.stderr.contains("HIDDEN"), "{}", ended.stderr);
    let failed = world.conductor(&["report", "--format", "otlp", "--send"]).expect(1);
    assert!(!failed.says("was not sent").stderr.contains("HIDDEN"));
    let collector = Collector::start();
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    world.conductor(&["report", "--format", "otlp", "--send"]).expect(0).says("10 spans sent to");
    expect_whole(&collector.spans(), &Value::Null);
}

#[test]
fn a_collector_that_never_answers_holds_up_nothing() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut world =
        World::in_place("tasks: [{ id: a, run: 'true' }, { id: b, run: 'true', dependencies: [a] }]");
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", url);
    let begun = Instant::now();
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(0);
    // Three seconds are waited at the end, and not the ten that one request may take.
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
    ended.says("5 of 5 spans of this run were not sent").says("it did not answer in time");
    drop(silent);
}

#[test]
fn a_run_that_was_killed_and_resumed_is_one_trace_without_a_span_twice() {
    let collector = Collector::start();
    let mut world = World::in_place(
        "
tasks:
  - { id: first, run: 'true' }
  - { id: second, run: AGENT touch up then await go, dependencies: [first] }
",
    );
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    world.set("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("up");
    let mut all = Vec::new();
    wait_for("the first task's spans", || {
        all.extend(collector.spans());
        (all.len() >= 2).then_some(())
    });
    live.signal(Signal::KILL);
    drop(live);
    world.write("go", "");
    // Another trace goes on around the resume; the run stays in its own.
    world.set("TRACEPARENT", "00-11111111111111111111111111111111-1111111111111111-01");
    world.conductor(&["run", "--resume"]).expect(0);
    all.extend(collector.spans());
    expect_whole(&all, &"00f067aa0ba902b7".into());
    for name in ["task first", "task second", "conductor run"] {
        assert_eq!(named(&all, name).len(), 1, "{name} in {all:#?}");
    }
    let attempts = named(&all, "command");
    assert_eq!(attempts.len(), 3, "{all:#?}");
}

#[test]
fn settings_that_cannot_be_used_are_told_and_others_switch_it_off() {
    let mut world = World::in_place("tasks: [{ id: a, run: 'true' }]");
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317");
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(0);
    ended.says("no traces are sent: OTEL_EXPORTER_OTLP_ENDPOINT is no address");
    world.conductor(&["doctor"]).says("not sent: OTEL_EXPORTER_OTLP_ENDPOINT");
    world.set("OTEL_SDK_DISABLED", "true");
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(0);
    assert!(!ended.stderr.contains("traces"), "{}", ended.stderr);
    world.conductor(&["report", "--send"]).expect(2).says("only a trace can be sent");
    world.conductor(&["report", "--format", "otlp", "--send"]).expect(2).says("no collector is named");
    let collector = Collector::start();
    world.unset("OTEL_SDK_DISABLED");
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    // What its own beginning does not keep is not kept here.
    world.set("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    assert!(collector.spans().is_empty());
}
