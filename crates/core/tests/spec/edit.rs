//! Task files changed in place: what is asked for changes, everything else stays as it was written.

use conductor_core::file::edit::{Change, Edit, EditError, Place, edited};
use conductor_core::file::load;
use serde_json::{Map, Value, json};

use crate::source;

pub(crate) fn fields(value: Value) -> Map<String, Value> {
    value.as_object().expect("a mapping").clone()
}

pub(crate) fn add(value: Value, place: Place) -> Change {
    Change::Add { fields: fields(value), place }
}

pub(crate) fn set(id: &str, value: Value) -> Change {
    Change::Set { id: id.into(), fields: fields(value) }
}

pub(crate) fn remove(id: &str) -> Change {
    Change::Remove { id: id.into() }
}

pub(crate) fn shift(id: &str, place: Place) -> Change {
    Change::Move { id: id.into(), place }
}

pub(crate) fn rename(id: &str, to: &str) -> Change {
    Change::Rename { id: id.into(), to: to.into() }
}

#[track_caller]
fn check(before: &str, change: Change, after: &str) {
    check_all(before, &[Edit::task(change)], after);
}

#[track_caller]
fn check_all(before: &str, edits: &[Edit], after: &str) {
    match edited(&source(before), edits) {
        Ok(text) => assert_eq!(text, after, "\n--- is:\n{text}\n--- expected:\n{after}"),
        Err(error) => panic!("{error} ({})", error.help()),
    }
}

fn refusal(before: &str, edit: Edit) -> EditError {
    edited(&source(before), &[edit]).expect_err("refused")
}

#[track_caller]
fn check_refused(before: &str, edit: Edit, expect: &str) {
    let error = refusal(before, edit);
    assert_eq!(format!("{error} ({})", error.help()), expect);
}

const CHORES: &str = "\
# What is to be done in the house.

config:
  agent: claude  # the usual one

tasks:
  # First of all
  - id: sweep
    name: \"Sweep the floor\"   # all of it
    prompt: Sweep the floor of every room.
    timeout: 30m

  # Then the dishes.
  # They wait for the floor.
  - id: dishes
    run: make dishes
    dependencies:
      - sweep  # or they get dusty
    # retry_policy: { max_attempts: 2 }

  # === LATER ===

  - { id: cook, run: make dinner, dependencies: [dishes] }

limits: { max_time: 2h }
";

#[test]
fn a_task_is_added_in_the_style_of_its_neighbours() {
    let new = json!({ "id": "dust", "prompt": "Dust the shelves.\nAll of them.\n", "dependencies": ["sweep"], "timeout": "5m", "model": null });
    check(
        CHORES,
        add(new.clone(), Place::After("sweep".into())),
        &CHORES.replace(
            "    timeout: 30m\n",
            "    timeout: 30m

  - id: dust
    prompt: |
      Dust the shelves.
      All of them.
    dependencies:
      - sweep
    timeout: 5m
",
        ),
    );
    check(
        CHORES,
        add(json!({ "id": "dust", "run": "make dust, all of it" }), Place::Last),
        &CHORES.replace("[dishes] }\n", "[dishes] }\n\n  - { id: dust, run: \"make dust, all of it\" }\n"),
    );
    check(
        CHORES,
        add(json!({ "id": "dust", "run": "x" }), Place::First),
        &CHORES.replace("  # First of all\n", "  - id: dust\n    run: x\n\n  # First of all\n"),
    );
    check(
        CHORES,
        add(json!({ "id": "dust", "run": "x" }), Place::Before("dishes".into())),
        &CHORES.replace("  # Then the dishes.\n", "  - id: dust\n    run: x\n\n  # Then the dishes.\n"),
    );
    check(
        CHORES,
        add(json!({ "id": "dust", "run": "x" }), Place::After("dishes".into())),
        &CHORES.replace("max_attempts: 2 }\n", "max_attempts: 2 }\n\n  - id: dust\n    run: x\n"),
    );
}

#[test]
fn values_are_changed_where_they_stand() {
    check(
        CHORES,
        set("sweep", json!({ "timeout": "1h", "name": "Sweep", "prompt": "Sweep: now" })),
        &CHORES
            .replace("30m", "1h")
            .replace("\"Sweep the floor\"", "\"Sweep\"")
            .replace("Sweep the floor of every room.", "\"Sweep: now\""),
    );
    check(
        CHORES,
        set("sweep", json!({ "prompt": "Sweep.\n\n- all rooms\n- twice" })),
        &CHORES.replace(
            "prompt: Sweep the floor of every room.\n",
            "prompt: |-\n      Sweep.\n\n      - all rooms\n      - twice\n",
        ),
    );
    check(
        CHORES,
        set("dishes", json!({ "priority": "high", "run": ["make", "dishes"] })),
        &CHORES.replace(
            "    run: make dishes\n    dependencies:\n      - sweep  # or they get dusty\n",
            "    run:\n      - make\n      - dishes\n    dependencies:\n      - sweep  # or they get dusty\n    priority: high\n",
        ),
    );
    check(
        CHORES,
        set("cook", json!({ "run": "make soup", "timeout": 5, "dependencies": ["sweep", "dishes"] })),
        &CHORES.replace(
            "run: make dinner, dependencies: [dishes] }",
            "run: make soup, dependencies: [sweep, dishes], timeout: 5 }",
        ),
    );
    check(CHORES, set("sweep", json!({ "timeout": "30m", "id": "sweep", "model": null })), CHORES);
}

#[test]
fn keys_are_taken_out_with_their_comments_and_others_stay() {
    check(
        CHORES,
        set("sweep", json!({ "name": null })),
        &CHORES.replace("    name: \"Sweep the floor\"   # all of it\n", ""),
    );
    let file =
        "tasks:\n  - name: A\n    # its name\n    id: a\n\n    # why so long\n    timeout: 5\n    run: x\n";
    check(
        file,
        set("a", json!({ "timeout": null })),
        "tasks:\n  - name: A\n    # its name\n    id: a\n\n    run: x\n",
    );
    check(
        file,
        set("a", json!({ "name": null })),
        "tasks:\n  - # its name\n    id: a\n\n    # why so long\n    timeout: 5\n    run: x\n",
    );
    let file = "tasks:\n  - name: A\n    id: a\n    run: x\n";
    check(file, set("a", json!({ "name": null })), "tasks:\n  - id: a\n    run: x\n");
    let file = "tasks:\n  -\n    name: A\n    id: a\n    run: x\n";
    check(file, set("a", json!({ "name": null })), "tasks:\n  -\n    id: a\n    run: x\n");
    let file = "tasks: [ { id: a, timeout: 5, run: x, name: b } ]\n";
    check(file, set("a", json!({ "name": null, "timeout": null })), "tasks: [ { id: a, run: x } ]\n");
}

#[test]
fn lists_and_mappings_are_changed_item_by_item() {
    let file = "\
tasks:
- id: a
  run: x
- id: b
  run: x
- id: c
  run: x
  dependencies:
  - a  # first a
  # b is next
  - b  # then b
  env:
    ONE: 1    # the first
    TWO: two
  retry_policy: { max_attempts: 2, jitter: 0.1 }  # twice
";
    check(file, set("c", json!({ "dependencies": ["b"] })), &file.replace("  - a  # first a\n", ""));
    check(
        file,
        set("c", json!({ "dependencies": ["a"] })),
        &file.replace("  # b is next\n  - b  # then b\n", ""),
    );
    check(
        file,
        set("c", json!({ "dependencies": [{ "id": "b", "when": "finished" }, "a"] })),
        &file
            .replace("  - a  # first a\n", "  - id: b\n    when: finished\n  - a  # first a\n")
            .replace("  # b is next\n  - b  # then b\n", ""),
    );
    check(
        file,
        set("c", json!({ "dependencies": [] })),
        &file.replace(
            "  dependencies:\n  - a  # first a\n  # b is next\n  - b  # then b\n",
            "  dependencies: []\n",
        ),
    );
    check(
        file,
        set(
            "c",
            json!({ "env": { "ONE": 1, "THREE": "yes", "TWO": "2.0" }, "retry_policy": { "max_attempts": 3 } }),
        ),
        &file
            .replace("    TWO: two\n", "    TWO: \"2.0\"\n    THREE: \"yes\"\n")
            .replace("{ max_attempts: 2, jitter: 0.1 }", "{ max_attempts: 3 }"),
    );
}

#[test]
fn texts_of_any_form_are_replaced_by_texts_of_any_form() {
    let forms = [
        "prompt: one",
        "prompt: 'one'  # c",
        "prompt: |  # c\n      one\n      two\n",
        "prompt: >-\n\n      one\n      two\n\n",
        "prompt: |+\n      one\n\n",
        "prompt: one\n      two  # c",
        "prompt: \"one\n      two\"  # c",
        "prompt:\n      one",
        "prompt:  # c\n      one\n      two",
        "prompt: !!str 12  # c",
    ];
    let texts = ["two", "a: b", "several\nlines", "several\n lines\n", "odd\n\n", " - ", "\u{1}\u{2028}"];
    for form in forms {
        for text in texts {
            let before = format!(
                "tasks:\n  - id: a\n    {form}\n    timeout: 5\n  # about b\n  - id: b\n    run: x\n"
            );
            let edit = Edit::task(set("a", json!({ "prompt": text })));
            let after = edited(&source(&before), &[edit]).unwrap_or_else(|error| panic!("{before}{error}"));
            let (head, tail) =
                ("tasks:\n  - id: a\n    prompt:", "timeout: 5\n  # about b\n  - id: b\n    run: x\n");
            assert!(after.starts_with(head) && after.ends_with(tail), "{before}{after}");
            assert_eq!(after.contains("# c"), form.contains("# c"), "{before}{after}");
            let plan = crate::plan(&after);
            assert_eq!(plan.tasks[0].work, conductor_core::plan::Work::Prompt(text.into()), "{after}");
        }
    }
}

#[test]
fn a_task_goes_with_its_comments_and_one_gap() {
    let all = CHORES.replace(", dependencies: [dishes]", "");
    let dishes = "  # Then the dishes.\n  # They wait for the floor.\n  - id: dishes\n    run: make dishes\n    dependencies:\n      - sweep  # or they get dusty\n    # retry_policy: { max_attempts: 2 }\n";
    check(&all, remove("dishes"), &all.replace(&format!("\n{dishes}"), ""));
    check(&all, remove("cook"), &all.replace("\n  - { id: cook, run: make dinner }\n", ""));
    let file = "- id: a\n  run: x\n\n- id: b\n  run: x\n";
    check(file, remove("a"), "- id: b\n  run: x\n");
    check(file, remove("b"), "- id: a\n  run: x\n");
    let header = format!("# A list.\n{file}");
    check(&header, remove("a"), "# A list.\n- id: b\n  run: x\n");
}

#[test]
fn a_comment_behind_a_gap_is_about_what_follows() {
    let file = "- id: a\n  run: x\n  # a had more\n\n  # about b\n- id: b\n  run: x\n- id: c\n  run: x\n";
    check(file, remove("b"), "- id: a\n  run: x\n  # a had more\n\n- id: c\n  run: x\n");
    check(file, remove("a"), "  # about b\n- id: b\n  run: x\n- id: c\n  run: x\n");
}

#[test]
fn a_task_moves_with_its_comments() {
    let all = CHORES.replace(", dependencies: [dishes]", "");
    let dishes = "  # Then the dishes.\n  # They wait for the floor.\n  - id: dishes\n    run: make dishes\n    dependencies:\n      - sweep  # or they get dusty\n    # retry_policy: { max_attempts: 2 }\n";
    let without = all.replace(&format!("\n{dishes}"), "");
    check(
        &all,
        shift("dishes", Place::First),
        &without.replace("  # First of all\n", &format!("{dishes}\n  # First of all\n")),
    );
    check(
        &all,
        shift("dishes", Place::Last),
        &without.replace("make dinner }\n", &format!("make dinner }}\n\n{dishes}")),
    );
    check(&all, shift("dishes", Place::After("sweep".into())), &all);
    check(&all, shift("dishes", Place::Before("cook".into())), &all);
    let json = r#"{"tasks":[{"id":"a","run":"x"},{"id":"b","run":"y"},{"id":"c","run":"z"}]}"#;
    check(
        json,
        shift("a", Place::After("b".into())),
        r#"{"tasks":[{"id":"b","run":"y"},{"id":"a","run":"x"},{"id":"c","run":"z"}]}"#,
    );
    let flow = "tasks: [\n  # about a\n  { id: a, run: x }, # the first\n  { id: b, run: y }\n]\n";
    check(
        flow,
        shift("a", Place::Last),
        "tasks: [\n  { id: b, run: y },\n  # about a\n  { id: a, run: x } # the first\n]\n",
    );
}

#[test]
fn a_new_name_is_new_wherever_it_stands() {
    let file = "\
tasks:
  - id: 'db'
    run: x
  - { id: api, prompt: Ask the db, dependencies: [db, { id: db2, when: finished }] }
  - id: ui
    run: x
    depends_on: \"db\"  # not db2
  - { id: db2, run: x }
groups:
  - { name: back, tasks: [db, db2] }
execution_order: [db, { parallel: [api, db2] }, ui]
";
    let after = "\
tasks:
  - id: 'store'
    run: x
  - { id: api, prompt: Ask the db, dependencies: [store, { id: db2, when: finished }] }
  - id: ui
    run: x
    depends_on: \"store\"  # not db2
  - { id: db2, run: x }
groups:
  - { name: back, tasks: [store, db2] }
execution_order: [store, { parallel: [api, db2] }, ui]
";
    check(file, rename("db", "store"), after);
    check(file, rename("db", "db"), file);
    check_refused(
        file,
        Edit::task(rename("db", "ui")),
        "there is a task 'ui' already, in line 5 (choose another id, or change the one that is there)",
    );
}

#[test]
fn epics_are_edited_like_tasks() {
    let file = "\
tasks:
  - { id: a, run: x, epic: one }
  - { id: b, run: x }
epics:
  - id: one  # the first
    name: One
  - id: two
    dependencies: [one]
";
    let epic = |change| [Edit::epic(change)];
    check_all(
        file,
        &epic(set("one", json!({ "name": "First", "land": "approve" }))),
        &file.replace("name: One\n", "name: First\n    land: approve\n"),
    );
    check_all(
        file,
        &epic(add(json!({ "id": "three" }), Place::First)),
        &file.replace("  - id: one ", "  - id: three\n  - id: one "),
    );
    check_all(
        file,
        &epic(rename("one", "uno")),
        &file.replace("epic: one", "epic: uno").replace("id: one", "id: uno").replace("[one]", "[uno]"),
    );
    check_all(file, &epic(remove("two")), &file.replace("  - id: two\n    dependencies: [one]\n", ""));
    check_refused(
        file,
        Edit::epic(remove("one")),
        "epic 'one' (line 5) is still named by task 'a', epic 'two' (change these first, so that they do not name it any more)",
    );
    let bare = "tasks:\n  - id: a\n    run: x\n";
    let with = "tasks:\n  - id: a\n    run: x\nepics:\n  - id: one\n";
    check_all(bare, &epic(add(json!({ "id": "one" }), Place::Last)), with);
    check_all(with, &epic(remove("one")), "tasks:\n  - id: a\n    run: x\nepics: []\n");
    check_all(
        "tasks:\n  - id: a\n    run: x\nepics: []\n",
        &epic(add(json!({ "id": "one" }), Place::Last)),
        with,
    );
    check_refused(
        "- { id: a, run: x }\n",
        Edit::epic(add(json!({ "id": "one" }), Place::Last)),
        "the file has no place for epics (put the tasks of the file below 'tasks:')",
    );
}

#[test]
fn json_stays_json() {
    let pretty = serde_json::to_string_pretty(
        &json!({ "tasks": [{ "id": "a", "run": "x" }, { "id": "b", "run": "y", "dependencies": ["a"] }] }),
    )
    .unwrap();
    let edits = [
        Edit::task(add(
            json!({ "id": "c", "prompt": "yes: \u{2028}\n", "dependencies": ["a", "b"] }),
            Place::First,
        )),
        Edit::task(set("a", json!({ "env": { "A": "1" }, "run": null, "prompt": "it" }))),
        Edit::task(remove("b")),
    ];
    let mut text = pretty.clone();
    for edit in &edits[..2] {
        text = edited(&source(&text), std::slice::from_ref(edit)).unwrap();
    }
    let expect = json!({ "tasks": [
        { "id": "c", "prompt": "yes: \u{2028}\n", "dependencies": ["a", "b"] },
        { "id": "a", "prompt": "it", "env": { "A": "1" } },
        { "id": "b", "run": "y", "dependencies": ["a"] },
    ] });
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expect);
    assert_eq!(
        text.replace("\\u2028", "\u{2028}"),
        serde_json::to_string_pretty(&json!({ "tasks": [
        { "id": "c", "prompt": "yes: \u{2028}\n", "dependencies": ["a", "b"] },
        { "id": "a", "env": { "A": "1" }, "prompt": "it" },
        { "id": "b", "run": "y", "dependencies": ["a"] },
    ] }))
        .unwrap()
    );
    check(
        "[\n\t{\"id\":\"a\",\"run\":\"x\"}\n]",
        add(json!({ "id": "b", "run": "y" }), Place::Last),
        "[\n\t{\"id\":\"a\",\"run\":\"x\"},\n\t{\"id\":\"b\",\"run\":\"y\"}\n]",
    );
}

#[test]
fn windows_lines_a_byte_order_mark_and_a_missing_last_line_end_stay() {
    let crlf = CHORES.replace('\n', "\r\n");
    let new = json!({ "id": "dust", "prompt": "one\ntwo\n" });
    let plain = edited(&source(CHORES), &[Edit::task(add(new.clone(), Place::Last))]).unwrap();
    check(&crlf, add(new, Place::Last), &plain.replace('\n', "\r\n"));
    check(
        "- id: a\n  run: x",
        add(json!({ "id": "b", "run": "w" }), Place::Last),
        "- id: a\n  run: x\n- id: b\n  run: w",
    );
    check("- id: a\n  run: x\n- id: b\n  run: w", remove("b"), "- id: a\n  run: x");
    check("\u{feff}- id: a\n  run: x\n", set("a", json!({ "run": "w" })), "\u{feff}- id: a\n  run: w\n");
    check(
        "---\n# Chores.\n- id: a\n  run: x\n...\n",
        add(json!({ "id": "b", "run": "w" }), Place::Last),
        "---\n# Chores.\n- id: a\n  run: x\n- id: b\n  run: w\n...\n",
    );
}

#[test]
fn the_first_task_of_a_file_can_be_added() {
    let edit =
        |before: &str, after: &str| check(before, add(json!({ "id": "a", "run": "x" }), Place::Last), after);
    edit("config: {}\ntasks:  # none so far\n", "config: {}\ntasks:  # none so far\n  - id: a\n    run: x\n");
    edit("tasks: []\nlimits: {}\n", "tasks:\n  - id: a\n    run: x\nlimits: {}\n");
    edit("config: {}\n", "config: {}\ntasks:\n  - id: a\n    run: x\n");
    edit("{\"tasks\": []}", "{\"tasks\": [{\"id\": \"a\", \"run\": \"x\"}]}");
    edit("[]", "[{\"id\": \"a\", \"run\": \"x\"}]");
}

#[test]
fn words_for_the_same_thing_are_one_key() {
    let file = "tasks:\n  - { id: b, run: x }\n  - id: a\n    title: A\n    run: x\n    depends_on: [b]\n";
    check(
        file,
        set("a", json!({ "name": "Aa", "dependencies": null })),
        &file.replace("title: A", "title: Aa").replace("    depends_on: [b]\n", ""),
    );
}

#[test]
fn what_others_need_is_not_removed() {
    check_refused(
        CHORES,
        Edit::task(remove("sweep")),
        "task 'sweep' (line 8) is still named by task 'dishes' (change these first, so that they do not name it any more)",
    );
    let file = "tasks: [{ id: a, run: x }, { id: b, run: x }]\ngroups: [{ name: g, tasks: [a] }]\nexecution_order: [a]\n";
    let error = refusal(file, Edit::task(remove("a")));
    assert_eq!(error.to_string(), "task 'a' (line 1) is still named by group 'g', execution_order");
    check_refused(
        "- { id: a, run: x }\n",
        Edit::task(remove("a")),
        "task 'a' (line 1) is the only one of the file (add another task first, or delete the file)",
    );
}

#[test]
fn mistakes_are_told_with_their_place_and_a_remedy() {
    check_refused(
        CHORES,
        Edit::task(set("swep", json!({}))),
        "there is no task 'swep' (did you mean 'sweep'?)",
    );
    check_refused(
        CHORES,
        Edit::task(add(json!({ "id": "x", "run": "x" }), Place::After("dishs".into()))),
        "there is no task 'dishs' (did you mean 'dishes'?)",
    );
    check_refused(
        CHORES,
        Edit::task(add(json!({ "id": "cook", "run": "x" }), Place::Last)),
        "there is a task 'cook' already, in line 23 (choose another id, or change the one that is there)",
    );
    check_refused(
        CHORES,
        Edit::task(add(json!({ "run": "x" }), Place::Last)),
        "a new task needs an 'id' (give it an id of letters, digits, '.', '_' and '-')",
    );
    check_refused(
        CHORES,
        Edit::task(set("sweep", json!({ "id": "wipe" }))),
        "'id' of task 'sweep' (line 8) is set to another value or removed (rename it, which also changes where others name it)",
    );
    check_refused(
        CHORES,
        Edit::task(set("sweep", json!({ "promt": "x" }))),
        "the file would not load with this change: a task has no key 'promt' (did you mean 'prompt'?)",
    );
    let error = refusal(CHORES, Edit::task(set("sweep", json!({ "dependencies": ["cook"] }))));
    assert!(error.to_string().contains("in a circle: sweep → cook → dishes → sweep"), "{error}");
    assert_eq!(error.line(), Some(13));
    check_refused(
        "tasks: [{ id: a, run: x }\n",
        Edit::task(remove("a")),
        "the task file cannot be read: this '[' is never closed (mend the file by hand first)",
    );
    let error = refusal("tasks: [{ id: a, run: x }]\n---\nb: 1\n", Edit::task(remove("a")));
    assert!(error.to_string().contains("a second YAML document"), "{error}");
    let error = refusal(
        "{\"num_tasks\": 1, \"tasks\": [{ \"id\": \"a\", \"description\": \"x\" }]}",
        Edit::task(remove("a")),
    );
    assert_eq!(error.to_string(), "an execution_plan.json is not edited in place");
    let error = refusal(CHORES, Edit::task(set("sweep", json!({ "prompt": "a\0b" }))));
    assert_eq!(
        error.to_string(),
        "the file would not load with this change: a NUL character cannot be part of a text"
    );
    let mut deep = json!(1);
    (0..500).for_each(|_| deep = json!([deep]));
    let error = refusal(CHORES, Edit::task(set("sweep", json!({ "files": deep }))));
    assert_eq!(error.to_string(), "'files' holds values that are nested too deep");
}

#[test]
fn what_is_shared_by_anchors_is_not_changed() {
    let file = "\
x-base: &base
  timeout: 5m
  env: { A: one }
tasks:
  - &first
    id: a
    run: x
    <<: *base
  - id: b
    <<: *first
    id: b
    verify: &checks [make test]
  - id: c
    run: y
    verify: *checks
    dependencies: &none []
";
    let file = &file.replace("  - id: b\n    <<: *first\n    id: b\n", "  - id: b\n    <<: *first\n");
    let told = |change| {
        let error = refusal(file, Edit::task(change));
        (error.to_string(), error.help())
    };
    let remedy = "write the value out at every place where it is used, instead of an anchor and aliases";
    assert_eq!(
        told(set("a", json!({ "run": "z" }))),
        ("'run' of task 'a' (line 5) is repeated elsewhere through the anchor &first".into(), remedy.into())
    );
    assert_eq!(
        told(set("b", json!({ "verify": ["make all"] }))).0,
        "'verify' of task 'b' (line 11) is repeated elsewhere through the anchor &checks"
    );
    assert_eq!(
        told(set("b", json!({ "timeout": null }))).0,
        "'timeout' of task 'b' (line 9) comes from elsewhere through '<<' or an alias"
    );
    assert_eq!(told(remove("b")).0, "task 'b' (line 11) is repeated elsewhere through the anchor &checks");
    assert_eq!(
        told(shift("b", Place::First)).0,
        "task 'b' (line 9) comes from elsewhere through '<<' or an alias"
    );
    // What is only said in one place is free.
    check(
        file,
        set("b", json!({ "timeout": "9m" })),
        &file.replace("[make test]\n", "[make test]\n    timeout: 9m\n"),
    );
    check(
        file,
        set("c", json!({ "verify": ["make all"], "dependencies": ["a"] })),
        &file.replace("verify: *checks", "verify: [make all]").replace("&none []", "[a]"),
    );
    check(file, remove("c"), file.split("  - id: c\n").next().unwrap());
}

#[test]
fn edits_are_made_one_after_the_other_and_only_the_end_has_to_load() {
    let file = "tasks:\n  - id: a\n    run: x\n";
    check_all(
        file,
        &[
            Edit::task(add(json!({ "id": "c", "run": "z", "dependencies": ["b"] }), Place::Last)),
            Edit::task(add(json!({ "id": "b", "run": "w" }), Place::After("a".into()))),
            Edit::task(remove("a")),
        ],
        "tasks:\n  - id: b\n    run: w\n  - id: c\n    run: z\n    dependencies:\n      - b\n",
    );
}

/// Every task file of the corpus and of the examples.
fn files() -> Vec<(String, String)> {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [here.join("tests/spec/corpus"), here.join("../../examples")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let paths = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file());
    let texts =
        paths.map(|path| (path.display().to_string(), std::fs::read_to_string(&path).expect("a text")));
    texts.filter(|(_, text)| load(&source(text)).is_ok()).collect()
}

#[test]
fn files_as_people_write_them_are_edited() {
    let files = files();
    assert!(files.len() > 5, "the files were found");
    for (name, text) in files {
        let edit = |text: &str, change| {
            edited(&source(text), &[Edit::task(change)]).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let old = crate::plan(&text);
        for task in old.tasks.iter().filter(|task| task.racing.is_none()) {
            let id = task.id.as_str();
            let new =
                json!({ "id": "new-one", "prompt": "one\ntwo: x\n", "dependencies": [id], "name": "New" });
            for place in [Place::First, Place::Last, Place::Before(id.into()), Place::After(id.into())] {
                let with = edit(&text, add(new.clone(), place.clone()));
                assert_eq!(crate::plan(&with).tasks.len(), old.tasks.len() + 1, "{name}");
                assert_eq!(edit(&with, remove("new-one")), text, "{name} {place:?}");
                let moved = edit(&text, shift(id, place));
                assert_eq!(crate::plan(&moved).tasks.len(), old.tasks.len(), "{name}");
            }
            if !text.contains("estimate") {
                let longer = edit(&text, set(id, json!({ "estimate": "77m" })));
                assert_eq!(edit(&longer, set(id, json!({ "estimate": null }))), text, "{name}");
            }
            let same = edit(&edit(&text, rename(id, "other")), rename("other", id));
            assert_eq!(crate::plan(&same), old, "{name}");
        }
    }
}

#[test]
fn wide_gaps_and_deep_lists_are_kept_as_they_are() {
    let file = "\
tasks:
    -   id: a
        run: |+
            one

    -   id: b
        run: x
        env:
            A: 1
        verify:
            -   make test
";
    check(
        file,
        add(json!({ "id": "c", "prompt": "a\nb", "env": { "A": 1 }, "verify": ["x", "z"] }), Place::After("a".into())),
        &file.replace(
            "one\n\n",
            "one\n\n    -   id: c\n        prompt: |-\n            a\n            b\n        env:\n            A: 1\n        verify:\n            - x\n            - z\n",
        ),
    );
    check(
        file,
        remove("a"),
        "tasks:\n    -   id: b\n        run: x\n        env:\n            A: 1\n        verify:\n            -   make test\n",
    );
    check(
        file,
        set("b", json!({ "verify": ["make all", "make test"], "env": { "B": 2 } })),
        &file
            .replace("    -   make test\n", "    -   make all\n            -   make test\n")
            .replace("A: 1", "B: 2"),
    );
}
