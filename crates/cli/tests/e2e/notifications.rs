//! Notifications: each one the plan asks for is sent, and nothing else about the run changes.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{World, wait_for};
use crate::repository::{conductor, repository, start};

/// A web server on this machine that takes everything, and what it was sent.
fn hook() -> (SocketAddr, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (heard, sent) = mpsc::channel();
    std::thread::spawn(move || {
        while let Ok((socket, _)) = listener.accept() {
            if heard.send(answered(socket)).is_err() {
                return;
            }
        }
    });
    (address, sent)
}

fn answered(mut socket: TcpStream) -> Value {
    let (mut request, mut bytes) = (Vec::new(), [0; 4096]);
    loop {
        let read = socket.read(&mut bytes).unwrap();
        assert!(read > 0, "a request without an end");
        request.extend_from_slice(&bytes[..read]);
        let text = String::from_utf8_lossy(&request);
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        if let Ok(value) = serde_json::from_str(body) {
            socket.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").unwrap();
            return value;
        }
    }
}

#[test]
fn a_webhook_is_told_of_every_failure_and_the_terminal_of_every_end() {
    let (address, sent) = hook();
    let world = World::with(&format!(
        "
notifications:
  on_complete:
    - {{ type: terminal, message: '{{task_id}} of {{run_id}} is {{status}}' }}
    - {{ type: webhook, url: 'http://{address}/never' }}
  on_failure: {{ type: webhook, url: 'http://{address}/SECRET' }}
tasks:
  - {{ id: good, run: 'true' }}
  - {{ id: bad, name: The bad one, run: exit 3 }}
"
    ));
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(100);
    let id = world.run_id();
    let ended = ended.says(&format!("conductor: good of {id} is completed"));
    assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("SECRET"));
    let told: Vec<Value> = sent.try_iter().collect();
    assert_eq!(told.len(), 1, "the run was not completed: {told:?}");
    assert_eq!(told[0]["schema"], "conductor.notification/1");
    let of = |key: &str| told[0][key].as_str().unwrap();
    assert_eq!(
        (of("event"), of("run"), of("task"), of("task_name")),
        ("failure", &*id, "bad", "The bad one")
    );
    assert_eq!((of("status"), of("error")), ("failed", "exit code 3"));
    assert_eq!((&told[0]["failed"], &told[0]["total"]), (&1.into(), &2.into()));
}

#[test]
fn a_run_that_is_done_is_told_once() {
    let (address, sent) = hook();
    let world = World::with(&format!(
        "
notifications: {{ on_complete: [{{ type: webhook, url: 'http://{address}/' }}, {{ type: terminal }}] }}
tasks: [{{ id: a, run: 'true' }}, {{ id: b, run: 'true' }}]
"
    ));
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(0);
    let words = format!("run {} is done: 2 of 2 completed", world.run_id());
    assert_eq!(ended.stderr.matches(&words).count(), 1, "{}", ended.stderr);
    let told: Vec<Value> = sent.try_iter().collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["event"], &told[0]["text"]), (&"complete".into(), &words.into()));
    assert_eq!(told[0]["task"], Value::Null);
}

#[test]
fn work_that_waits_for_a_review_is_told() {
    let (address, sent) = hook();
    let world = repository(&format!(
        "
notifications: {{ on_input: {{ type: webhook, url: 'http://{address}/' }} }}
tasks:
  - {{ id: api, name: Build the API, run: 'echo 1 > api.txt', land: approve }}
  - {{ id: other, run: 'echo 1 > other.txt' }}
"
    ));
    start(&world, &[]).ended().expect(5);
    let told: Vec<Value> = sent.try_iter().collect();
    assert_eq!(told.len(), 1, "once, and of this task alone: {told:?}");
    assert_eq!((&told[0]["event"], &told[0]["task"]), (&"input".into(), &"api".into()));
    let text = told[0]["text"].as_str().unwrap();
    assert!(text.contains("review"), "{text}");
    conductor(&world, &["run", "--resume"]).expect(5);
    assert_eq!(sent.try_iter().count(), 0, "it was told of before");
}

/// It takes the call and never says a word.
#[test]
fn a_webhook_that_hangs_changes_nothing_and_is_not_waited_for_for_long() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let world = World::with(&format!(
        "
notifications: {{ on_failure: {{ type: webhook, url: 'http://{address}/SECRET' }} }}
tasks:
  - {{ id: bad, run: exit 3 }}
  - {{ id: good, run: 'true' }}
"
    ));
    let begun = Instant::now();
    let mut live = world.start(&["run", "tasks.yaml"]);
    wait_for("the end block", || live.stdout().contains("next   conductor run").then_some(()));
    assert!(live.is_running(), "it gives the webhook a moment, when everything is said and done");
    assert!(begun.elapsed() < Duration::from_secs(4), "the run waited for it");
    let ended = live.ended_within(Duration::from_secs(20)).expect(100).says("was not delivered");
    assert!(!ended.stderr.contains("SECRET"), "{}", ended.stderr);
    drop(listener);
}

/// Programs that show and play, played by scripts that take down what they were given.
#[test]
fn desktop_and_sound_are_left_to_the_programs_for_it() {
    let mut world = World::with(
        "
notifications:
  on_failure:
    - { type: desktop, message: '--{task_id}: {error}' }
    - { type: sound, file: bad.wav }
    - { type: sound, file: missing.wav }
tasks: [{ id: bad, run: exit 3 }]
",
    );
    let bin = world.path("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in ["notify-send", "pw-play"] {
        let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {}\n", world.path(program).display());
        std::fs::write(bin.join(program), script).unwrap();
        std::fs::set_permissions(bin.join(program), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    world.set("PATH", path);
    world.write("bad.wav", "");
    world.conductor(&["run", "tasks.yaml"]).expect(100).says("there is no sound ");
    assert_eq!(world.read("notify-send"), "--app-name=Conductor\n--\nConductor\n--bad: exit code 3\n");
    wait_for("the sound", || world.read("pw-play").ends_with("/bad.wav\n").then_some(()));
}
