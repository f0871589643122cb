//! Random task files with comments, written in every style, and random edits of them: what was asked for happens, and
//! nothing else.

use conductor_core::file::edit::{Change, Edit, Place, edited};
use conductor_core::plan::{Plan, Work};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::edit::{fields, remove, rename, set, shift};
use crate::{plan, source};

/// A file as it is meant, and as it is written.
#[derive(Debug, Clone)]
struct Written {
    tasks: Vec<Map<String, Value>>,
    /// Everything else of it.
    rest: Map<String, Value>,
    is_bare: bool,
    text: String,
    /// The lines of each task.
    lines: Vec<std::ops::Range<usize>>,
    /// Whether each task has its lines for itself.
    has_rows: bool,
}

impl Written {
    fn whole(&self, tasks: &[Map<String, Value>]) -> Value {
        let tasks = Value::from_iter(tasks.iter().cloned().map(Value::Object));
        if self.is_bare {
            return tasks;
        }
        let mut whole = self.rest.clone();
        whole.insert("tasks".into(), tasks);
        Value::Object(whole)
    }

    fn id(&self, place: usize) -> &str {
        self.tasks[place]["id"].as_str().expect("an id")
    }
}

/// Choices of the writer, one after the other.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    fn of<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.roll(words.len())]
    }
}

const TEXTS: [&str; 8] = [
    "Do it",
    "Fix: the #3 of {all}, [now]",
    "one\ntwo\n",
    "one\n\n  three: x\n# no comment\n",
    "- first\n- second",
    "yes",
    "it's \"quoted\" \\ here",
    " spaces ",
];

/// What a task of this number may say.
fn task(dice: &mut Dice, number: usize, earlier: &[String]) -> Map<String, Value> {
    let mut task = fields(json!({ "id": format!("t{number}") }));
    let text = dice.of(&TEXTS);
    match dice.roll(3) {
        0 => task.insert("prompt".into(), text.into()),
        1 => task.insert("run".into(), "make it".into()),
        _ => task.insert("run".into(), json!(["make", text])),
    };
    for (key, value) in some_fields(dice, earlier) {
        task.insert(key, value);
    }
    task
}

fn some_fields(dice: &mut Dice, earlier: &[String]) -> Map<String, Value> {
    let mut some = Map::new();
    if dice.one_in(2) {
        some.insert("name".into(), dice.of(&["A name", "12", "Say: it", "true"]).into());
    }
    if dice.one_in(2) {
        some.insert("timeout".into(), if dice.one_in(2) { json!(90) } else { json!("1h30m") });
    }
    if dice.one_in(2) {
        let on: Vec<&String> = earlier.iter().filter(|_| dice.one_in(2)).collect();
        some.insert("dependencies".into(), json!(on));
    }
    if dice.one_in(3) {
        some.insert("env".into(), json!({ "A": "1.0", "B": dice.of(&["x", "off", "#"]) }));
    }
    if dice.one_in(3) {
        some.insert("verify".into(), json!(["make test", dice.of(&TEXTS[..2])]));
    }
    if dice.one_in(4) {
        some.insert("retry_policy".into(), json!({ "max_attempts": 1 + dice.roll(4), "jitter": 0.5 }));
    }
    some
}

/// A scalar behind a key or a dash, and the lines below it.
fn scalar(dice: &mut Dice, value: &Value, indent: usize, in_flow: bool) -> String {
    let Some(text) = value.as_str() else { return value.to_string() };
    let word = text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()) && text.starts_with('t');
    let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    if !in_flow && lines.len() > 1 && dice.one_in(2) {
        let mark = if text.ends_with('\n') { "|" } else { "|-" };
        let pad = " ".repeat(indent + 2);
        let lines =
            lines.iter().map(|line| if line.is_empty() { String::new() } else { format!("{pad}{line}") });
        return format!("{mark}\n{}", lines.collect::<Vec<_>>().join("\n"));
    }
    match dice.roll(3) {
        0 if word => text.to_owned(),
        1 if lines.len() == 1 => format!("'{}'", text.replace('\'', "''")),
        _ => value.to_string(),
    }
}

fn inline(dice: &mut Dice, value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| inline(dice, item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{key}: {}", inline(dice, value))).collect();
            if dice.one_in(2) {
                format!("{{ {} }}", entries.join(", "))
            } else {
                format!("{{{}}}", entries.join(", "))
            }
        }
        scalar_value => scalar(dice, scalar_value, 0, true),
    }
}

/// Behind a key: the value, and a comment that names what it is about.
fn value(dice: &mut Dice, value: &Value, indent: usize, about: &str, indentless: bool) -> String {
    let comment = if dice.one_in(3) { format!("  # {about}!") } else { String::new() };
    let deeper = if indentless { indent } else { indent + 2 };
    match value {
        Value::Array(items) if !items.is_empty() && dice.one_in(2) => {
            let mut out = comment;
            for (place, item) in items.iter().enumerate() {
                if dice.one_in(4) {
                    out += &format!("\n{}# {about}[{place}]!", " ".repeat(deeper));
                }
                out += &format!("\n{}- {}", " ".repeat(deeper), scalar(dice, item, deeper, false));
            }
            out
        }
        Value::Object(map) if dice.one_in(2) => {
            let mut out = comment;
            for (key, item) in map {
                out +=
                    &format!("\n{}{key}: {}", " ".repeat(indent + 2), scalar(dice, item, indent + 2, false));
            }
            out
        }
        Value::Array(_) | Value::Object(_) => format!(" {}{comment}", inline(dice, value)),
        text => {
            let text = scalar(dice, text, indent, false);
            // A comment behind a block stands behind its mark.
            match text.split_once('\n') {
                Some((mark, lines)) => format!(" {mark}{comment}\n{lines}"),
                None => format!(" {text}{comment}"),
            }
        }
    }
}

fn row(dice: &mut Dice, task: &Map<String, Value>, dash: usize, indentless: bool) -> String {
    let id = task["id"].as_str().expect("an id");
    let pad = " ".repeat(dash);
    let mut out = String::new();
    for number in 0..dice.roll(3) {
        out += &format!("{pad}# {id} comment {number}\n");
    }
    if dice.one_in(4) {
        return out + &format!("{pad}- {}\n", inline(dice, &Value::Object(task.clone())));
    }
    let mut entries: Vec<(&String, &Value)> = task.iter().collect();
    if dice.one_in(3) {
        let last = entries.len() - 1;
        entries.swap(0, last);
    }
    for (place, (key, said)) in entries.into_iter().enumerate() {
        if place > 0 && dice.one_in(5) {
            out += &format!("{pad}  # {id}.{key}!\n");
        }
        let lead = if place == 0 { "- " } else { "  " };
        let about = format!("{id}.{key}");
        out += &format!("{pad}{lead}{key}:{}\n", value(dice, said, dash + 2, &about, indentless));
    }
    if dice.one_in(4) {
        out += &format!("{pad}  # {id} was: longer\n");
    }
    out
}

fn written(seed: u64) -> Written {
    let mut dice = Dice(seed);
    let count = 1 + dice.roll(5);
    let mut ids: Vec<String> = Vec::new();
    let tasks: Vec<Map<String, Value>> = (0..count)
        .map(|number| {
            let task = task(&mut dice, number, &ids);
            ids.push(format!("t{number}"));
            task
        })
        .collect();
    let is_bare = dice.one_in(4);
    let mut file =
        Written { tasks, rest: Map::new(), is_bare, text: String::new(), lines: Vec::new(), has_rows: true };
    if !is_bare && dice.one_in(2) {
        file.rest.insert("config".into(), json!({ "agent": "claude" }));
    }
    if !is_bare && dice.one_in(2) {
        file.rest.insert("metadata".into(), json!({ "author": "me" }));
    }
    match dice.roll(5) {
        0 => write_json(&mut dice, &mut file),
        1 => write_flow(&mut dice, &mut file),
        _ => write_rows(&mut dice, &mut file),
    }
    if dice.one_in(3) {
        file.text = file.text.trim_end().to_owned();
    }
    if dice.one_in(4) {
        file.text = file.text.replace('\n', "\r\n");
    }
    file
}

fn write_json(dice: &mut Dice, file: &mut Written) {
    let whole = file.whole(&file.tasks);
    file.text = match dice.roll(2) {
        0 => whole.to_string(),
        _ => format!("{whole:#}"),
    };
    file.has_rows = false;
    file.lines = vec![0..usize::MAX; file.tasks.len()];
}

/// Between brackets, with lines for each task or without.
fn write_flow(dice: &mut Dice, file: &mut Written) {
    let is_spread = dice.one_in(2);
    let last_comma = dice.one_in(3);
    let mut list = String::from(if is_spread { "[\n" } else { "[" });
    for (place, task) in file.tasks.iter().enumerate() {
        let is_last = place + 1 == file.tasks.len();
        let comma = if is_last && !last_comma { "" } else { "," };
        match is_spread {
            true => list += &spread(dice, task, comma),
            false => {
                list += &format!("{}{comma}{}", inline(dice, &json!(task)), if is_last { "" } else { " " })
            }
        }
    }
    list.push(']');
    file.text = if file.is_bare { list } else { format!("tasks: {list}") };
    for (key, said) in &file.rest {
        file.text = format!("# About {key}\n{key}: {}\n{}", inline(dice, said), file.text);
    }
    file.text.push('\n');
    file.has_rows = false;
    file.lines = vec![0..usize::MAX; file.tasks.len()];
}

/// A task in lines of its own between brackets, with comments.
fn spread(dice: &mut Dice, task: &Map<String, Value>, comma: &str) -> String {
    let id = task["id"].as_str().expect("an id");
    let mut out = String::new();
    for number in 0..dice.roll(3) {
        out += &format!("  # {id} comment {number}\n");
    }
    let beside = if dice.one_in(3) { format!("  # {id} comment beside") } else { String::new() };
    if dice.one_in(2) {
        return out + &format!("  {}{comma}{beside}\n", inline(dice, &json!(task)));
    }
    out += "  {\n";
    for (place, (key, said)) in task.iter().enumerate() {
        let comma = if place + 1 < task.len() || dice.one_in(3) { "," } else { "" };
        let beside = if dice.one_in(4) { format!(" # {id}.{key}!") } else { String::new() };
        out += &format!("    {key}: {}{comma}{beside}\n", inline(dice, said));
    }
    out + &format!("  }}{comma}{beside}\n")
}

fn write_rows(dice: &mut Dice, file: &mut Written) {
    let indentless = dice.one_in(2);
    let dash = if file.is_bare || indentless { 0 } else { 2 };
    let gap = dice.one_in(2);
    let mut out =
        String::from(dice.of(&["", "# A file.\n\n", "---\n", "%YAML 1.2\n# A file.\n---\n# of chores\n"]));
    let mut rest: Vec<(String, Value)> = file.rest.clone().into_iter().collect();
    if let Some((key, said)) = rest.pop() {
        out += &format!("{key}: {}  # {key}\n", inline(dice, &said));
    }
    if !file.is_bare {
        out += dice.of(&["tasks:\n", "tasks:  # all of them\n", "\ntasks:\n\n"]);
    }
    for (place, task) in file.tasks.clone().iter().enumerate() {
        if place > 0 && gap {
            out.push('\n');
        }
        if place > 0 && dice.one_in(6) {
            out += &format!("\n{}# === part {place} ===\n\n", " ".repeat(dash));
        }
        let start = out.matches('\n').count();
        out += &row(dice, task, dash, indentless);
        file.lines.push(start..out.matches('\n').count());
    }
    if let Some((key, said)) = rest.pop() {
        out += &format!("{}# The end\n{key}: {}\n", dice.of(&["", "\n"]), inline(dice, &said));
    }
    file.text = out;
}

/// An edit, and the tasks that are wanted by it.
fn edit(dice: &mut Dice, file: &Written, text: &str, number: usize) -> (Change, Vec<Map<String, Value>>) {
    let mut tasks = file.tasks.clone();
    let (count, place) = (tasks.len(), dice.roll(tasks.len()));
    let id = file.id(place).to_owned();
    let needed = |id: &str| tasks.iter().any(|task| names(task, id));
    match dice.roll(5) {
        0 => {
            let (to, at) = somewhere(dice, file);
            let earlier: Vec<String> = (0..count).map(|place| file.id(place).to_owned()).collect();
            let mut new = task(dice, number, &earlier);
            new.shift_remove("run");
            new.insert("prompt".into(), text.into());
            tasks.insert(at, new.clone());
            (Change::Add { fields: new, place: to }, tasks)
        }
        1 if count > 1 && !needed(&id) => {
            tasks.remove(place);
            (remove(&id), tasks)
        }
        2 => {
            let (to, at) = somewhere(dice, file);
            let task = tasks.remove(place);
            tasks.insert(if at > place { at - 1 } else { at }, task);
            (shift(&id, to), tasks)
        }
        3 => {
            let to = format!("renamed{number}");
            for task in &mut tasks {
                if let Some(Value::Array(on)) = task.get_mut("dependencies") {
                    on.iter_mut().filter(|on| **on == *id).for_each(|on| *on = to.as_str().into());
                }
            }
            tasks[place].insert("id".into(), to.as_str().into());
            (rename(&id, &to), tasks)
        }
        _ => {
            let earlier: Vec<String> = (0..place).map(|place| file.id(place).to_owned()).collect();
            let mut new = some_fields(dice, &earlier);
            if dice.one_in(2) && tasks[place].contains_key("prompt") {
                new.insert("prompt".into(), text.into());
            }
            for key in ["name", "timeout", "dependencies", "env", "verify"] {
                if dice.one_in(5) {
                    new.insert(key.into(), Value::Null);
                }
            }
            for (key, value) in &new {
                match value {
                    Value::Null => tasks[place].shift_remove(key),
                    value => tasks[place].insert(key.clone(), value.clone()),
                };
            }
            (set(&id, Value::Object(new)), tasks)
        }
    }
}

fn names(task: &Map<String, Value>, id: &str) -> bool {
    task.get("dependencies").and_then(Value::as_array).is_some_and(|on| on.iter().any(|on| on == id))
}

/// A place, and the number of tasks before it.
fn somewhere(dice: &mut Dice, file: &Written) -> (Place, usize) {
    let place = dice.roll(file.tasks.len());
    match dice.roll(4) {
        0 => (Place::First, 0),
        1 => (Place::Last, file.tasks.len()),
        2 => (Place::Before(file.id(place).to_owned()), place),
        _ => (Place::After(file.id(place).to_owned()), place + 1),
    }
}

/// The plan of what is meant, written as plainly as can be.
fn meant(whole: &Value) -> Plan {
    let mut text = String::new();
    for c in whole.to_string().chars() {
        match c {
            ' '..='~' => text.push(c),
            c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text += &format!("\\u{unit:04x}")),
        }
    }
    plan(&text)
}

/// How many lines two texts have in common at their start, and at their end behind these.
fn common(old: &[&str], new: &[&str]) -> (usize, usize) {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    (start, end)
}

/// Whether all lines stayed that the edit is not about.
fn check_lines(file: &Written, change: &Change, new: &str) -> Result<(), TestCaseError> {
    let old: Vec<&str> = file.text.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let (start, end) = common(&old, &new);
    // A comma joins or leaves a line beside.
    let beside = usize::from(!file.has_rows);
    let place = |id: &String| (0..file.tasks.len()).find(|place| file.id(*place) == id).expect("a task");
    match change {
        Change::Add { .. } => prop_assert!(start + end + beside >= old.len(), "lines are lost"),
        Change::Remove { .. } => prop_assert!(start + end + beside >= new.len(), "lines are new"),
        Change::Set { id, .. } if file.has_rows => {
            let own = &file.lines[place(id)];
            prop_assert!(
                start >= own.start && start + end >= own.start + old.len() - own.end,
                "other lines changed"
            );
        }
        Change::Move { .. } if !file.has_rows => {
            let sorted = |lines: &[&str]| {
                let mut all: Vec<char> = lines.iter().flat_map(|line| line.chars()).collect();
                all.retain(|c| !c.is_whitespace() && *c != ',');
                all.sort_unstable();
                all
            };
            prop_assert_eq!(sorted(&old), sorted(&new));
        }
        Change::Move { .. } => {
            let sorted = |lines: &[&str]| {
                let mut lines: Vec<String> = lines.iter().map(|line| line.trim_end().to_owned()).collect();
                lines.retain(|line| !line.is_empty());
                lines.sort();
                lines
            };
            prop_assert_eq!(sorted(&old), sorted(&new));
        }
        Change::Rename { id, .. } => {
            prop_assert_eq!(old.len(), new.len());
            for (old, new) in old.iter().zip(&new).filter(|(old, _)| !old.contains(id.as_str())) {
                prop_assert_eq!(old, new);
            }
        }
        Change::Set { .. } => {}
    }
    Ok(())
}

/// Every comment stays that is not about what is changed or removed.
fn check_comments(file: &Written, change: &Change, new: &str) -> Result<(), TestCaseError> {
    let is_meant = |comment: &str| match change {
        Change::Remove { id } => comment.contains(id.as_str()),
        Change::Set { id, fields } => fields.keys().any(|key| comment.contains(&format!("{id}.{key}"))),
        _ => false,
    };
    for comment in file.text.lines().filter_map(|line| line.rsplit_once("# ")).map(|(_, comment)| comment) {
        // What follows a mark in a text is no comment.
        let is_comment = comment.ends_with('!') || comment.contains(" comment ") || comment.contains("===");
        if is_comment && !is_meant(comment) {
            prop_assert!(new.contains(comment), "the comment '{}' is lost", comment);
        }
    }
    Ok(())
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~\n]{1,60}",
        any::<String>(),
        prop::sample::select(TEXTS.to_vec()).prop_map(str::to_owned),
        Just("ends in a backslash \\\nthen\ttabs\n\n  and spaces  \n".to_owned()),
        Just("\u{85}\u{2028}\u{feff}\u{7f}\u{1}".to_owned()),
    ]
    .prop_filter("a task has words", |text| !text.trim().is_empty() && !text.contains(['\0', '[']))
}

proptest! {
    #[test]
    fn an_edit_does_what_it_says_and_nothing_else(seed in any::<u64>(), then in any::<u64>(), text in any_text()) {
        let file = written(seed);
        prop_assert_eq!(plan(&file.text), meant(&file.whole(&file.tasks)), "the test writes what it means");
        let (change, wanted) = edit(&mut Dice(then), &file, &text, 99);
        let new = match edited(&source(&file.text), &[Edit::task(change.clone())]) {
            Ok(new) => new,
            Err(error) => return Err(TestCaseError::fail(format!("{error}\n{change:?}\n{}", file.text))),
        };
        let told = format!("\n{change:?}\n--- old:\n{}\n--- new:\n{new}\n---", file.text);
        prop_assert_eq!(plan(&new), meant(&file.whole(&wanted)), "{}", told);
        check_lines(&file, &change, &new).map_err(|error| TestCaseError::fail(format!("{error}{told}")))?;
        check_comments(&file, &change, &new).map_err(|error| TestCaseError::fail(format!("{error}{told}")))?;
        let is_windows = file.text.contains("\r\n");
        prop_assert!(!is_windows || !new.replace("\r\n", "").contains('\n'), "{}", told);
        prop_assert!(is_windows || !new.contains('\r'), "{}", told);
        prop_assert_eq!(new.ends_with('\n'), file.text.ends_with('\n'), "{}", told);
        let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok();
        prop_assert!(!is_json(&file.text) || is_json(&new), "{}", told);
        if let Change::Add { .. } = change {
            let back = edited(&source(&new), &[Edit::task(remove("t99"))]);
            prop_assert_eq!(back.as_deref(), Ok(file.text.as_str()), "{}", told);
        }
    }

    #[test]
    fn edits_follow_each_other(seed in any::<u64>(), then in any::<u64>(), text in any_text()) {
        let mut file = written(seed);
        let (old, mut dice) = (file.text.clone(), Dice(then));
        let mut edits = Vec::new();
        for number in 90..95 {
            let (change, wanted) = edit(&mut dice, &file, &text, number);
            file.tasks = wanted;
            edits.push(Edit::task(change));
        }
        match edited(&source(&old), &edits) {
            Ok(new) => prop_assert_eq!(plan(&new), meant(&file.whole(&file.tasks)), "{:?}{}{}", edits, old, new),
            // Tasks that have moved may come to wait for each other.
            Err(error) => prop_assert!(error.to_string().contains("in a circle"), "{}\n{:?}\n{}", error, edits, old),
        }
    }

    #[test]
    fn any_text_reads_back_as_it_was_given(text in any_text(), style in 0usize..4) {
        let file = [
            "tasks:\n  - id: a\n    prompt: x  # c\n    timeout: 5\n",
            "- { id: a, prompt: x }\n",
            "[{\"id\": \"a\", \"prompt\": \"x\"}]",
            "- id: a\r\n  prompt: 'x'\r\n",
        ][style];
        let new = edited(&source(file), &[Edit::task(set("a", json!({ "prompt": text })))]).unwrap();
        prop_assert_eq!(&plan(&new).tasks[0].work, &Work::Prompt(text));
    }

    #[test]
    fn no_file_is_too_odd_to_be_refused_politely(file in "[ \n#:\\-a{}\\[\\],\"'|>&*!?]{0,60}", seed in any::<u64>()) {
        let text = written(seed).text.replacen("t0", &file, 1);
        let edits = [remove("t1"), set("t0", json!({ "timeout": 5 })), shift("t1", Place::First), rename("t0", "x")];
        for change in edits {
            let _ = edited(&source(&text), &[Edit::task(change)]);
        }
    }
}
