//! Recordings of the agents as turns.

use std::fmt::Write as _;
use std::sync::Arc;

use conductor_core::plan::Plan;
use proptest::prelude::*;

use super::lines::LONGEST;
use super::{Kind, LONGEST_DETAIL, Reader, Turn, Who};
use crate::agents::replay::{self, Line};

fn reader(agent: &str) -> Reader {
    Reader::new(Arc::new(Plan::default()), Some(agent))
}

/// What the agent said in a recording, as a stream has it.
fn stream(folder: &str, name: &str) -> Vec<u8> {
    let lines = replay::recording(folder, name).lines.into_iter().filter_map(|line| match line {
        Line::Heard(line) => Some(line + "\n"),
        Line::Said(_) => None,
    });
    lines.collect::<String>().into_bytes()
}

fn turns(reader: &Reader) -> Vec<Turn> {
    reader.since(0, usize::MAX).0.into_iter().cloned().collect()
}

fn read(agent: &str, bytes: &[u8]) -> Reader {
    let mut reader = reader(agent);
    reader.hear(1, bytes);
    reader.end();
    reader
}

/// One turn a line, without times of day.
fn told(reader: &Reader) -> String {
    let mut out = String::new();
    for turn in turns(reader) {
        let failed = if turn.failed { " FAILED" } else { "" };
        let parent = if turn.parent.is_some() { "  " } else { "" };
        let _ = write!(out, "{parent}{} {:?} {:?}{failed}: {}", turn.number, turn.who, turn.kind, turn.text);
        if let Some(tool) = turn.tool {
            let input = tool.input.map(|input| input.text);
            let result = tool.result.map(|result| result.text);
            let timed = if tool.duration_ms.is_some() { " timed" } else { "" };
            let denied = if tool.denied { " denied" } else { "" };
            let code = tool.exit_code.map(|code| format!(" exit {code}")).unwrap_or_default();
            let _ = write!(out, " [{}]{timed}{denied}{code} {input:?} -> {result:?}", tool.name);
        }
        out.push('\n');
    }
    let _ = writeln!(out, "skipped {}", reader.skipped());
    out
}

#[test]
fn recordings_of_every_agent_are_turns() {
    let mut all = String::new();
    for (agent, folder, names) in [
        (
            "claude",
            "claude",
            &["job", "subagent", "permission_denied", "retry_429_then_ok", "err_nomodel"][..],
        ),
        ("codex", "codex-app-server", &["job", "decline_command", "always429"]),
        ("gemini", "gemini", &["mcp", "deltas", "sigterm"]),
        ("opencode", "opencode", &["job", "denied", "err401"]),
        ("acp:opencode acp", "acp", &["opencode-job", "opencode-load"]),
        ("acp:claude-agent-acp", "acp", &["claude-job"]),
    ] {
        for name in names {
            let _ = writeln!(all, "== {agent}: {name}\n{}", told(&read(agent, &stream(folder, name))));
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_result_changes_the_turn_of_its_call() {
    let call = br#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"make"}}]},"timestamp":"2026-11-15T19:41:12.300Z"}"#;
    let answer = br#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"Exit code 2\nno rule","is_error":true}]},"timestamp":"2026-11-15T19:41:13.800Z"}"#;
    let mut reader = reader("claude");
    reader.hear(1, &[call, &b"\n"[..]].concat());
    let (first, mark) = reader.since(0, 10);
    assert_eq!((first.len(), first[0].tool.as_ref().unwrap().result.is_none()), (1, true));
    assert_eq!(reader.since(mark, 10), (vec![], mark));
    reader.hear(1, &[answer, &b"\n"[..]].concat());
    let (news, _) = reader.since(mark, 10);
    assert_eq!((news.len(), news[0].number, news[0].failed), (1, 1, true));
    let tool = news[0].tool.as_ref().unwrap();
    assert_eq!((tool.exit_code, tool.duration_ms), (Some(2), Some(1500)));
    assert_eq!(tool.result.as_ref().unwrap().text, "Exit code 2\nno rule");
}

#[test]
fn thoughts_are_told_apart() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"yes"}]}}"#;
    let kinds: Vec<Kind> =
        turns(&read("claude", format!("{line}\n").as_bytes())).iter().map(|turn| turn.kind).collect();
    assert_eq!(kinds, [Kind::Thinking, Kind::Text]);
    let line = r#"{"type":"reasoning","timestamp":5,"part":{"type":"reasoning","text":"hm"}}"#;
    assert_eq!(turns(&read("opencode", line.as_bytes()))[0].kind, Kind::Thinking);
}

#[test]
fn what_is_said_to_it_has_its_place() {
    let mut reader = reader("claude");
    reader.note(br#"{"begins":{"agent":"codex","model":"m","goes_on":false,"at_ms":1,"prompt":"do it"}}"#);
    let line = |words: &str| {
        format!(
            "{{\"method\":\"item/completed\",\"params\":{{\"item\":{{\"type\":\"agentMessage\",\"text\":\"{words}\"}}}}}}\n"
        )
    };
    let place = line("one").len();
    reader.note(
        format!("{{\"told\":{{\"by_user\":true,\"text\":\"faster\",\"at_ms\":2,\"place\":{place}}}}}")
            .as_bytes(),
    );
    reader.note(
        br#"{"begins":{"agent":"claude","model":null,"goes_on":true,"at_ms":3,"prompt":"look at it"}}"#,
    );
    reader.note(br#"{"asks":{"text":"may it?","at_ms":4}}"#);
    reader.hear(1, (line("one") + &line("two")).as_bytes());
    reader.hear(2, b"{\"type\":\"result\",\"result\":\"fine\",\"is_error\":false}\n");
    reader.end();
    let all: Vec<(Who, String, Option<String>)> =
        turns(&reader).into_iter().map(|turn| (turn.who, turn.text, turn.agent)).collect();
    let turn = |who, words: &str, agent: &str| (who, words.to_owned(), Some(agent.to_owned()));
    assert_eq!(
        all,
        [
            turn(Who::Conductor, "do it", "codex"),
            turn(Who::Agent, "one", "codex"),
            turn(Who::User, "faster", "codex"),
            turn(Who::Agent, "two", "codex"),
            turn(Who::Conductor, "look at it", "claude"),
            turn(Who::Agent, "fine", "claude"),
            turn(Who::Agent, "may it?", "claude"),
        ]
    );
    assert_eq!((reader.prompt(), reader.model()), (Some("do it"), Some("m")));
}

#[test]
fn plain_words_are_one_text_whose_end_is_kept() {
    let mut reader = Reader::new(Arc::new(Plan::default()), None);
    reader.hear(1, b"one\n\x1b[31mtwo\nhal");
    let told = turns(&reader);
    assert_eq!((told.len(), told[0].text.as_str()), (1, "one\ntwo\n"));
    reader.hear(1, b"f\n");
    assert_eq!(turns(&reader)[0].text, "one\ntwo\nhalf\n");
    (0..4000).for_each(|_| reader.hear(1, format!("{}\n", "x".repeat(100)).as_bytes()));
    let told = turns(&reader);
    assert!(told.len() == 1 && told[0].text.len() < 200 << 10, "{}", told[0].text.len());
    assert!(told[0].text.starts_with("[conductor: the beginning is left out]"));
}

#[test]
fn hostile_input_is_bounded_and_counted() {
    let mut reader = reader("claude");
    let piece = vec![b'['; 1 << 20];
    // 50 MB without an end of a line.
    (0..50).for_each(|_| reader.hear(1, &piece));
    reader.hear(1, b"\n");
    assert_eq!(reader.skipped(), 1);
    let nested =
        format!("{{\"type\":\"assistant\",\"message\":{}1{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
    reader.hear(1, nested.as_bytes());
    reader.hear(1, b"\xff\xfe\n{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}}\n[]\n");
    reader.hear(1, b"{\"type\":\"of tomorrow\"}\n\n");
    assert_eq!((reader.skipped(), turns(&reader).len()), (6, 0));
    let long = "y".repeat(LONGEST - 1000);
    let line = format!(
        "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"W\",\"input\":{{\"a\":\"{long}\"}}}}]}}}}\n"
    );
    reader.hear(1, line.as_bytes());
    let input = turns(&reader)[0].tool.clone().unwrap().input.unwrap();
    assert_eq!(input.text.len(), LONGEST_DETAIL);
    assert!(input.left_out > LONGEST - 2000 - LONGEST_DETAIL, "{}", input.left_out);
}

#[test]
fn secrets_are_not_shown_even_where_the_stream_has_them() {
    let key = "sk-ant-api03-CanaryCanaryCanaryCanaryCanary-1234567890";
    let line = format!("{{\"type\":\"text\",\"text\":\"it is {key}\"}}\n");
    let told = turns(&read("anything", line.as_bytes()));
    assert!(told[0].text.starts_with("it is *") && !told[0].text.contains("Canary"), "{}", told[0].text);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_turns_are_the_same_wherever_the_stream_is_cut(
        which in 0..5_usize,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let (agent, folder, name) = [
            ("claude", "claude", "subagent"),
            ("codex", "codex-app-server", "job"),
            ("gemini", "gemini", "deltas"),
            ("opencode", "opencode", "job"),
            ("acp:opencode acp", "acp", "opencode-job"),
        ][which];
        let bytes = stream(folder, name);
        let told = format!("{{\"told\":{{\"by_user\":true,\"text\":\"x\",\"at_ms\":2,\"place\":{}}}}}", bytes.len() / 2);
        let mut whole = reader(agent);
        whole.note(told.as_bytes());
        whole.hear(1, &bytes);
        whole.end();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        places.sort_unstable();
        let (mut pieces, mut from) = (reader(agent), 0);
        pieces.note(told.as_bytes());
        for place in places.into_iter().chain([bytes.len()]) {
            pieces.hear(1, &bytes[from..place]);
            from = place;
        }
        pieces.end();
        prop_assert_eq!(turns(&pieces), turns(&whole));
    }

    #[test]
    fn nothing_that_arrives_makes_it_fail(which in 0..6_usize, bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let agent = ["claude", "codex", "gemini", "opencode", "acp:x", "other"][which];
        read(agent, &bytes);
    }
}
