use conductor_core::run::event::Outcome;

use super::super::Session;
use super::super::replay::{self, Line, Recording};
use super::*;

fn codex(directory: &str, resumes: Option<&str>) -> Codex {
    let session = Session { id: resumes.unwrap_or("ours").to_owned(), begun: resumes.is_some() };
    replay::asked(directory, session, Codex::new)
}

/// A translator that takes the part of the client in the recording.
fn heir(recording: &Recording) -> Codex {
    let thread = recording.said().find(|said| said["id"] == THREAD).unwrap();
    let parameters = &thread["params"];
    codex(parameters["cwd"].as_str().unwrap(), parameters["threadId"].as_str())
}

#[test]
fn every_recorded_end_is_understood() {
    insta::assert_snapshot!(replay::ends("codex-app-server", heir));
}

#[test]
fn what_we_say_is_what_was_said_then() {
    for recording in replay::recordings("codex-app-server") {
        let played = recording.played(&mut heir(&recording));
        let ours: Vec<Value> = played.said.iter().map(replay::shape).collect();
        let then: Vec<Value> = recording.said().map(replay::shape).collect();
        let (ours, then) = match recording.name.as_str() {
            // It was asked to stop before its turn had started, and denied that there was one: we ask again.
            "interrupt_now" => (&ours[..ours.len() - 1], &then[..]),
            // The thread was lost: the recorded client gave up, ours begins another.
            "resume_unknown" => (&ours[..then.len()], &then[..]),
            _ => (&ours[..], &then[..]),
        };
        assert_eq!(ours, then, "{}", recording.name);
    }
}

/// `codex exec` speaks another language than the server, and there is nothing in it that could be taken for success.
/// What it says of an error is what the server says without its `codexErrorInfo`: the words alone.
#[test]
fn the_other_language_is_none_of_ours_and_words_alone_tell_the_class() {
    let mut told = Vec::new();
    for recording in replay::recordings("codex") {
        let played = recording.played(&mut codex("/work/a", None));
        let mut lines = recording.lines.iter().filter_map(|line| match line {
            Line::Heard(line) => serde_json::from_str::<Value>(line).ok(),
            Line::Said(_) => None,
        });
        let failed = lines.find(|line| line["type"] == "turn.failed");
        let words = failed.map(|line| format!("; its words: {:?}", class_of_error(&line["error"])));
        told.push(played.told + &words.unwrap_or_default());
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_resumed_thread_tells_what_it_used_before_and_that_is_not_counted_again() {
    let recording = &replay::recording("codex-app-server", "resume");
    let played = recording.played(&mut heir(recording));
    let used: Vec<u64> = played.heard.iter().flat_map(|heard| &heard.used).map(Tokens::total).collect();
    assert_eq!(used, [1250, 1250, 1250]);
    let session = played.heard.iter().find_map(|heard| heard.session.as_deref());
    assert_eq!(session, Some("01a1e242-0ce0-7953-9939-b8f807bb7e15"));
}

#[test]
fn who_is_unwanted_before_its_turn_is_told_when_it_begins() {
    let interrupted = |bytes: &[u8]| {
        let said: Value = serde_json::from_slice(bytes).unwrap();
        (said["method"].clone(), said["params"]["turnId"].clone())
    };
    let mut early = codex("/work/a", None);
    assert!(early.interrupt().is_empty(), "there is nothing to interrupt");
    early.on_line(br#"{"id":1,"result":{}}"#);
    let heard = early.on_line(br#"{"id":2,"result":{"thread":{"id":"t"},"model":"gpt-5.5"}}"#);
    assert!(heard.reply.is_empty() && heard.over, "no turn is begun");
    assert!(
        matches!(early.finish(Exit::Code(0)).outcome, Outcome::Failed(f) if f.class == FailureClass::Killed)
    );

    let mut late = codex("/work/a", None);
    late.on_line(br#"{"id":2,"result":{"thread":{"id":"t"},"model":"gpt-5.5"}}"#);
    late.on_line(br#"{"id":3,"result":{"turn":{"id":"u"}}}"#);
    let expected = (json!("turn/interrupt"), json!("u"));
    assert_eq!(interrupted(&late.interrupt()), expected);
    let denied = br#"{"id":4,"error":{"code":-32600,"message":"no active turn to interrupt"}}"#;
    assert_eq!(late.on_line(denied), Heard::default());
    let started = br#"{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u"}}}"#;
    assert_eq!(interrupted(&late.on_line(started).reply), expected);
}

#[test]
fn a_lost_thread_is_begun_anew() {
    let mut codex = codex("/work/a", Some("gone"));
    codex.anew = Some("the whole task".into());
    codex.on_line(br#"{"id":1,"result":{}}"#);
    let heard = codex.on_line(br#"{"id":2,"error":{"code":-32600,"message":"no rollout found"}}"#);
    let asked: Value = serde_json::from_slice(&heard.reply).unwrap();
    assert_eq!(asked["method"], START);
    assert_eq!(asked["params"]["threadId"], Value::Null);
    let heard = codex.on_line(br#"{"id":5,"result":{"thread":{"id":"new"},"model":"gpt-5.5"}}"#);
    assert_eq!(heard.session.as_deref(), Some("new"));
    let told: Value = serde_json::from_slice(&heard.reply).unwrap();
    assert_eq!(told["params"]["input"][0]["text"], "the whole task");
    codex.on_line(br#"{"id":3,"error":{"code":-32600,"message":"no turn"}}"#);
    assert!(matches!(codex.finish(Exit::Code(0)).outcome, Outcome::Failed(_)));
}

fn answer(codex: &mut Codex, question: &Value) -> Value {
    let heard = codex.on_line(&line(question));
    serde_json::from_slice::<Value>(&heard.reply).unwrap()["result"]["decision"].clone()
}

#[test]
fn a_question_is_answered_by_the_policy() {
    let mut codex = codex("/work/a", None);
    for (id, path) in [("in", "/work/a/x.rs"), ("out", "/etc/passwd")] {
        let item = json!({ "type": "fileChange", "id": id, "changes": [{ "path": path }] });
        codex.on_line(&line(&json!({ "method": "item/started", "params": { "item": item } })));
    }
    let mut asked = |method: &str, params: Value| {
        answer(&mut codex, &json!({ "id": 7, "method": method, "params": params }))
    };
    let command = "item/commandExecution/requestApproval";
    assert_eq!(asked(command, json!({ "command": "/bin/bash -lc 'make test'" })), "accept");
    assert_eq!(asked(command, json!({ "command": "sudo make install" })), "decline");
    assert_eq!(asked(command, json!({ "networkApprovalContext": {} })), "decline");
    let edit = "item/fileChange/requestApproval";
    assert_eq!(asked(edit, json!({ "itemId": "in" })), "accept");
    assert_eq!(asked(edit, json!({ "itemId": "in", "grantRoot": "/" })), "decline");
    assert_eq!(asked(edit, json!({ "itemId": "out" })), "decline");
    assert_eq!(asked(edit, json!({ "itemId": "never heard of" })), "decline");
    assert_eq!(asked("execCommandApproval", json!({ "command": ["make", "test"] })), "approved");
    let denied = asked("execCommandApproval", json!({ "command": ["git", "push"] }));
    assert!(denied["denied"]["rejection"].is_string(), "{denied}");
    assert_eq!(asked("applyPatchApproval", json!({ "fileChanges": { "/work/a/b": {} } })), "approved");
}

#[test]
fn only_our_own_turn_is_the_end() {
    let mut codex = codex("/work/a", None);
    codex.on_line(br#"{"id":2,"result":{"thread":{"id":"ours"},"model":"gpt-5.5"}}"#);
    let ended = |thread: &str| {
        let turn = json!({ "id": "t", "status": "completed" });
        line(&json!({ "method": "turn/completed", "params": { "threadId": thread, "turn": turn } }))
    };
    assert!(!codex.on_line(&ended("a helper's")).over);
    assert!(codex.on_line(&ended("ours")).over);
    let Ending { outcome, .. } = codex.finish(Exit::Code(0));
    let Outcome::Failed(failure) = outcome else { panic!("it said nothing") };
    assert_eq!(failure.class, FailureClass::Unfinished);
}

#[test]
fn whatever_arrives_does_no_harm() {
    replay::withstands("codex-app-server", || codex("/work/a", None));
    replay::withstands("codex-app-server", || codex("/work/a", Some("known")));
    replay::withstands("codex", || codex("/work/a", None));
}

#[test]
fn what_is_not_its_language_does_no_harm() {
    replay::confuse("codex-app-server", codex("/work/a", None));
}

#[test]
fn an_agent_that_may_only_read_gets_a_read_only_sandbox() {
    use conductor_core::plan::Permissions;
    let sandbox = |deny: &[&str]| {
        let deny = deny.iter().map(|rule| (*rule).to_owned()).collect();
        let rules = Permissions { deny, ..Permissions::default() };
        super::sandbox(&InWorkspace::new("/work/a".into(), None).with(rules, Default::default()))
    };
    assert_eq!(sandbox(&["Bash", "Edit", "Write"]), ("read-only", "never"));
    assert_eq!(sandbox(&["Edit", "Write"]), ("workspace-write", "untrusted"), "it may still run commands");
    assert_eq!(sandbox(&[]), ("workspace-write", "untrusted"));
}

#[test]
fn what_is_called_comes_back() {
    assert_eq!(replay::calls("codex-app-server", "job", codex("/work/a", None)), (2, 2));
}
