//! YAML and JSON as such: scalars, anchors, duplicates, documents, encodings, syntax errors.

use conductor_core::file::Source;
use conductor_core::plan::{Command, Work};

use crate::{check, plan, said, task};

fn metadata(text: &str) -> serde_json::Value {
    let file = format!("tasks: [{{ id: a, run: x }}]\nmetadata:\n  v: {text}\n");
    plan(&file).metadata["v"].clone()
}

#[test]
fn plain_scalars_follow_the_core_schema() {
    use serde_json::json;
    for (text, expected) in [
        ("yes", json!("yes")),
        ("no", json!("no")),
        ("on", json!("on")),
        ("True", json!(true)),
        ("false", json!(false)),
        ("~", json!(null)),
        ("", json!(null)),
        ("null", json!(null)),
        ("'null'", json!("null")),
        ("\"1\"", json!("1")),
        ("!!str 1", json!("1")),
        ("12", json!(12)),
        ("-12", json!(-12)),
        ("+12", json!(12)),
        ("012", json!(12)),
        ("0o14", json!(12)),
        ("0xC", json!(12)),
        ("0x", json!("0x")),
        ("0x-1", json!("0x-1")),
        ("1_000", json!("1_000")),
        ("1.5", json!(1.5)),
        ("1.", json!(1.0)),
        (".5", json!(0.5)),
        ("1e3", json!(1000.0)),
        ("e3", json!("e3")),
        ("inf", json!("inf")),
        ("nan", json!("nan")),
        (".inf", json!(null)),
        ("1.2.3", json!("1.2.3")),
        ("12:30", json!("12:30")),
        ("2024-01-02", json!("2024-01-02")),
        ("99999999999999999999", json!(1e20)),
    ] {
        assert_eq!(metadata(text), expected, "{text}");
    }
}

#[test]
fn json_is_yaml() {
    let json = "{\n\t\"tasks\": [\n\t\t{\n\t\t\t\"id\": \"a\",\n\t\t\t\"prompt\": \"\\ud83d\\ude00 a\\/b \\u00e9\\t\\n\",\n\t\t\t\"timeout\": 1.5e1\n\t\t},\n\t\t{\"id\":\"b\",\"run\":[\"ls\",\"-l\"]}\n\t]\n}\n";
    let plan = plan(json);
    assert_eq!(plan.tasks[0].work, Work::Prompt("😀 a/b é\t\n".into()));
    assert_eq!(plan.tasks[0].timeout.map(|timeout| timeout.0), Some(15_000));
    assert_eq!(plan.tasks[1].work, Work::Run(Command::Argv(vec!["ls".into(), "-l".into()])));
}

#[test]
fn a_long_line_of_json_loads() {
    let tasks: Vec<String> = (0..3000)
        .map(|i| format!(r#"{{"id":"t{i}","prompt":"{}","priority":{}}}"#, "x".repeat(300), i % 5))
        .collect();
    assert_eq!(plan(&format!(r#"{{"tasks":[{}]}}"#, tasks.join(","))).tasks.len(), 3000);
    assert_eq!(plan(&format!("[{}]", tasks.join(", "))).tasks.len(), 3000);
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_fine() {
    let bytes = b"\xEF\xBB\xBFtasks:\r\n  - id: a\r\n    prompt: |\r\n      one\r\n      two\r\n".to_vec();
    let source = Source::new("t.yaml", bytes).unwrap();
    let plan = conductor_core::file::load(&source).unwrap().plan;
    assert_eq!(plan.tasks[0].work, Work::Prompt("one\ntwo\n".into()));
    assert_eq!(source.position(source.text().find("id").unwrap()), (2, 5));
}

#[test]
fn columns_count_characters() {
    check(
        "tasks: [{ id: a, name: 'äöü😀', promt: x, run: y }]",
        "1:32 unknown-key a task has no key 'promt' (did you mean 'prompt'?)",
    );
}

#[test]
fn unreadable_bytes_are_named_with_their_place() {
    for (bytes, expected) in [
        (&b"a: b\nc: \xFF"[..], "not-utf8 byte 0xff at line 2, column 4 is not UTF-8"),
        (b"\xC3\xA4\xC3", "not-utf8 byte 0xc3 at line 1, column 2 is not UTF-8"),
        (b"a\n\nb\0", "nul-byte byte 0x00 at line 3, column 2 is a NUL byte, which no text file has"),
    ] {
        let found = Source::new("t", bytes.to_vec()).unwrap_err();
        assert_eq!(format!("{} {}", found.code, found.message), expected);
    }
    let utf16 = Source::new("t", b"\xFF\xFEa\0".to_vec()).unwrap_err();
    assert_eq!(utf16.help.as_deref(), Some("the file looks like UTF-16; save it as UTF-8"));
}

#[test]
fn positions_outside_the_text_are_its_end() {
    let source = Source::new("t", "ab\né".into()).unwrap();
    for (byte, place) in [(0, (1, 1)), (2, (1, 3)), (3, (2, 1)), (4, (2, 1)), (5, (2, 2)), (99, (2, 2))] {
        assert_eq!(source.position(byte), place, "byte {byte}");
    }
    assert_eq!(Source::new("t", Vec::new()).unwrap().position(0), (1, 1));
}

#[test]
fn anchors_and_merge_keys_work() {
    let file = "\
x-base: &base { prompt: do it, timeout: 5, priority: high }
x-more: &more { timeout: 9, agent: claude }
tasks:
  - { <<: *base, id: a }
  - { id: b, priority: low, <<: [*base, *more] }
";
    let plan = plan(file);
    let seen: Vec<_> = plan
        .tasks
        .iter()
        .map(|task| (task.timeout.unwrap().0, task.priority.name(), task.agent.as_deref()))
        .collect();
    assert_eq!(seen, [(5000, "high", None), (5000, "low", Some("claude"))]);
    check("tasks: [{ <<: 3, id: a, run: x }]", "1:15 wrong-type '<<' merges mappings, found a number");
}

#[test]
fn what_is_no_task_file_is_said_plainly() {
    let empty = "1:1 empty-file the file is empty (write 'tasks:' and a list of tasks)";
    for text in ["", "\n\n", "# only a comment\n", "---\n", "~", "--- null\n...\n"] {
        check(text, empty);
    }
    let mapping = "(write 'tasks:' and a list of tasks)";
    check("hello", &format!("1:1 wrong-type a task file is a mapping, found text {mapping}"));
    check("42", &format!("1:1 wrong-type a task file is a mapping, found a number {mapping}"));
    check("config: {}", &format!("1:1 no-tasks the file has no tasks {mapping}"));
    check("tasks: []", &format!("1:8 no-tasks the file has no tasks {mapping}"));
    check("[]", &format!("1:1 no-tasks the file has no tasks {mapping}"));
    check("config: {}\ntasks:\n", &format!("2:1 no-tasks the file has no tasks {mapping}"));
    check(
        "tasks: { a: { run: x } }",
        "1:10 wrong-type 'tasks' wants a list, found a mapping (start every task with '- id: …')",
    );
}

#[test]
fn structure_that_cannot_be_read_is_one_error() {
    check("a: 1\n---\nb: 2\n", "2:1 many-documents a second YAML document starts here; a task file is one");
    check(
        "name: {{ project }}\n",
        "1:10 bad-key a key must be text, found a mapping (a value with braces, such as {{name}}, needs quotes around it)",
    );
    check(
        "tasks: *nothing\n",
        "1:8 unknown-anchor this alias has no anchor (a text that starts with '*' needs quotes around it)",
    );
    check("tasks:\n  - id: a\n\t  prompt: x\n", "3:1 syntax a tab cannot indent YAML (indent with spaces)");
    check("tasks: [{ id: a, run: \"x }]\n", "1:23 syntax this quote is never closed");
    check("tasks: [{ id: a, run: x }\n", "1:8 syntax this '[' is never closed");
    check(
        "tasks:\n  - id: a\n    name: Build: the API\n",
        "3:16 syntax a ':' is missing or stands where none can (a text with ': ' in it needs quotes around it)",
    );
    check(
        "tasks:\n  - id: a\n   run: x\n",
        "3:4 syntax the indentation does not fit the lines above (the keys of a mapping start in one column, and so do the '-' of a list)",
    );
    check(
        "tasks: [{ id: a, run: \"\\d\" }]",
        "1:23 syntax unknown escape in a quoted text (write '\\\\' for a backslash, or use single quotes)",
    );
    check("tasks: &a [*a]", "1:12 alias-bomb the alias stands inside the value it refers to");
}

#[test]
fn double_keys_tags_and_nul_escapes_do_not_stop_the_reading() {
    check(
        "tasks: [{ id: a, run: !sh x, run: y, model: \"n\\0\", tiemout: 3 }]",
        "\
1:23 unknown-tag the tag '!sh' means nothing here
1:30 duplicate-key the key 'run' appears twice [1:18 first here]
1:45 nul-byte a NUL character cannot be part of a text
1:52 unknown-key a task has no key 'tiemout' (did you mean 'timeout'?)",
    );
    let many: String = (0..40).map(|i| format!("  k{i}: 1\n")).collect();
    let file = format!("tasks: [{{ id: a, run: x }}]\nmetadata:\n{many}  k7: 2\n");
    check(&file, "43:3 duplicate-key the key 'k7' appears twice [10:3 first here]");
}

#[test]
fn the_first_of_two_equal_keys_counts() {
    assert!(said("tasks: [{ id: a, run: x, run: '' }]").starts_with("1:26 duplicate-key"));
    assert_eq!(task("tasks: [{ id: true, run: x }]").id.as_str(), "true");
}
