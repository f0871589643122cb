//! A stand-in for `bd`, the command of beads, for tests: the part of its contract that Conductor and beads' own client
//! use, over a JSON file `.beads/fake.json` in the working directory or one above it.
//!
//! Like the real one it refuses a second caller at the same time, closes nothing that is blocked by open issues, and
//! gives errors as JSON on standard error. `.beads/calls.log` has every call. `FAKE_BD_FAULTS` is a list of faults in
//! percent of the calls, such as `seed=7,lock=20,lost=20`: `lock` (the database is locked), `lost` (it says it wrote, and
//! did not), `mute` (it wrote, and failed for all that), `garbage` (an answer that is none).

use std::env;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process;

use serde_json::{Map, Value, json};

const NOW: &str = "2026-05-01T10:00:00Z";

type Issue = Map<String, Value>;

fn main() {
    let words: Vec<String> = env::args().skip(1).filter(|word| word != "--json").collect();
    if words.first().is_some_and(|word| word == "version") {
        println!("bd version 1.0.5 (stand-in)");
        return;
    }
    let Some(place) = place() else { fail("no active beads workspace found") };
    let lock = File::options().create(true).truncate(false).write(true).open(place.join(".lock"));
    let Ok(lock) = lock else { fail("embeddeddolt: acquiring lock") };
    if lock.try_lock().is_err() {
        let _ = append(&place.join("overlaps.log"), &words.join(" "));
        fail(
            "embeddeddolt: another process holds the exclusive lock on .beads; the embedded backend supports only one writer at a time",
        );
    }
    let number = append(&place.join("calls.log"), &words.join(" "));
    let fault = fault(number);
    match fault {
        Some("lock") => fail("Error 1105: database is locked"),
        Some("garbage") => {
            println!("panic: runtime error [{{");
            return;
        }
        _ => {}
    }
    let mut tracker = Tracker::read(&place);
    let answer = tracker.perform(&words.iter().map(String::as_str).collect::<Vec<_>>());
    match answer {
        Err(why) => fail(&why),
        Ok(answer) => {
            if tracker.changed && fault != Some("lost") {
                tracker.write(&place);
            }
            if tracker.changed && fault == Some("mute") {
                fail("connection reset");
            }
            if let Some(answer) = answer {
                println!("{:#}", versioned(answer));
            }
        }
    }
}

fn place() -> Option<PathBuf> {
    if let Some(given) = env::var_os("BEADS_DIR") {
        return Some(given.into());
    }
    let here = env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(".beads")).find(|folder| folder.is_dir())
}

fn fail(why: &str) -> ! {
    let error = json!({ "error": why, "schema_version": 1 });
    eprintln!("{error:#}");
    process::exit(1)
}

/// Objects say their version themselves; with the envelope everything is wrapped.
fn versioned(answer: Value) -> Value {
    if env::var("BD_JSON_ENVELOPE").is_ok_and(|on| on == "1") {
        return json!({ "schema_version": 1, "data": answer });
    }
    match answer {
        Value::Object(mut fields) => {
            fields.insert("schema_version".to_owned(), json!(1));
            Value::Object(fields)
        }
        other => other,
    }
}

/// The number of the line that was added.
fn append(file: &Path, line: &str) -> u64 {
    let before = fs::read_to_string(file).unwrap_or_default().lines().count() as u64;
    let log = File::options().create(true).append(true).open(file);
    if let Ok(mut log) = log {
        let _ = writeln!(log, "{}", line.replace('\n', " "));
    }
    before
}

/// Which fault this call has, drawn by the seed and the call's number.
fn fault(number: u64) -> Option<&'static str> {
    let text = env::var("FAKE_BD_FAULTS").ok()?;
    let part = |name: &str| -> u64 {
        let found = text.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        found.and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    let drawn =
        fastrand::Rng::with_seed(part("seed").wrapping_mul(1_000_003).wrapping_add(number)).u64(0..100);
    let mut below = 0;
    ["lock", "lost", "mute", "garbage"].into_iter().find(|name| {
        below += part(name);
        drawn < below
    })
}

struct Tracker {
    issues: Vec<Issue>,
    changed: bool,
}

impl Tracker {
    fn read(place: &Path) -> Tracker {
        let text = fs::read_to_string(place.join("fake.json")).unwrap_or_else(|_| "[]".to_owned());
        let issues = serde_json::from_str(&text).unwrap_or_else(|error| fail(&error.to_string()));
        Tracker { issues, changed: false }
    }

    fn write(&self, place: &Path) {
        let next = place.join("fake.json.next");
        let text = serde_json::to_string_pretty(&self.issues).unwrap_or_default();
        if fs::write(&next, text).and_then(|()| fs::rename(&next, place.join("fake.json"))).is_err() {
            fail("cannot write");
        }
    }

    fn perform(&mut self, words: &[&str]) -> Result<Option<Value>, String> {
        let (verb, rest) = words.split_first().ok_or("no command")?;
        let rest = Words::new(rest);
        let answer = match *verb {
            "list" => self.list(&rest),
            "ready" => {
                Value::Array(self.issues.iter().filter(|issue| self.is_ready(issue)).map(counted).collect())
            }
            "blocked" => self.blocked(),
            "show" => self.show(&rest)?,
            "create" => self.create(&rest)?,
            "update" => self.update(&rest)?,
            "close" => self.close(&rest)?,
            "reopen" => self.set(&rest, |issue| {
                issue.insert("status".to_owned(), json!("open"));
                issue.remove("closed_at");
            })?,
            "dep" => {
                self.depend(&rest)?;
                return Ok(None);
            }
            other => return Err(format!("unknown command {other:?}")),
        };
        Ok(Some(answer))
    }

    fn find(&self, id: &str) -> Result<usize, String> {
        let found = self.issues.iter().position(|issue| text(issue, "id") == id);
        found.ok_or_else(|| "no issues found matching the provided IDs".to_owned())
    }

    fn list(&self, words: &Words<'_>) -> Value {
        let wanted = |issue: &&Issue| match words.option("--status") {
            Some(status) => text(issue, "status") == status,
            None => words.has("--all") || text(issue, "status") != "closed",
        };
        // As the real one: gates are in no list.
        let shown = self.issues.iter().filter(wanted).filter(|issue| text(issue, "issue_type") != "gate");
        let limit = words.option("--limit").and_then(|limit| limit.parse().ok()).unwrap_or(50usize);
        let limit = if limit == 0 || (words.has("--all") && words.option("--limit").is_none()) {
            usize::MAX
        } else {
            limit
        };
        shown.take(limit).map(counted).collect()
    }

    fn links<'a>(&self, issue: &'a Issue) -> Vec<(&'a str, &'a str)> {
        let all = issue.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        let read =
            |link: &'a Value| Some((link.get("depends_on_id")?.as_str()?, link.get("type")?.as_str()?));
        all.filter_map(read).collect()
    }

    fn is_open(&self, id: &str) -> bool {
        self.find(id).map_or(true, |at| text(&self.issues[at], "status") != "closed")
    }

    /// The open issues that hold one back, also through its parents.
    fn blockers(&self, issue: &Issue) -> Vec<String> {
        let (mut found, mut open, mut seen) = (Vec::new(), vec![issue], Vec::new());
        while let Some(issue) = open.pop() {
            let id = text(issue, "id");
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            for (on, kind) in self.links(issue) {
                match kind {
                    "blocks" | "conditional-blocks" | "waits-for" if self.is_open(on) => {
                        found.push(on.to_owned())
                    }
                    "parent-child" => open.extend(self.find(on).ok().map(|at| &self.issues[at])),
                    _ => {}
                }
            }
        }
        found
    }

    fn is_ready(&self, issue: &Issue) -> bool {
        text(issue, "status") == "open"
            && !["gate", "message", "molecule"].contains(&text(issue, "issue_type"))
            && self.blockers(issue).is_empty()
    }

    fn blocked(&self) -> Value {
        let held = |issue: &Issue| {
            let by = self.blockers(issue);
            let is_held = !by.is_empty() && text(issue, "status") != "closed";
            is_held.then(|| {
                let mut told = counted(issue);
                told["blocked_by_count"] = json!(by.len());
                told["blocked_by"] = json!(by);
                told
            })
        };
        self.issues.iter().filter_map(held).collect()
    }

    /// With its dependencies as whole issues.
    fn show(&self, words: &Words<'_>) -> Result<Value, String> {
        let mut shown = Vec::new();
        for id in &words.plain {
            let Ok(at) = self.find(id) else { continue };
            let mut issue = self.issues[at].clone();
            let links = self.links(&self.issues[at]).into_iter().filter_map(|(on, kind)| {
                let mut other = self.issues[self.find(on).ok()?].clone();
                other.remove("dependencies");
                other.insert("dependency_type".to_owned(), json!(kind));
                Some(Value::Object(other))
            });
            issue.insert("dependencies".to_owned(), links.collect());
            shown.push(Value::Object(issue));
        }
        match shown.is_empty() {
            true => Err("no issues found matching the provided IDs".to_owned()),
            false => Ok(Value::Array(shown)),
        }
    }

    fn create(&mut self, words: &Words<'_>) -> Result<Value, String> {
        let title = words.plain.first().ok_or("title required")?;
        let id =
            words.option("--id").map_or_else(|| format!("fake-{}", self.issues.len() + 1), str::to_owned);
        let priority: u8 = words.option("-p").unwrap_or("2").parse().map_err(|_| "bad priority")?;
        let issue = json!({
            "id": id, "title": title, "description": words.option("-d").unwrap_or_default(), "status": "open",
            "priority": priority, "issue_type": words.option("-t").unwrap_or("task"),
            "created_at": NOW, "updated_at": NOW,
        });
        let issue = issue.as_object().cloned().unwrap_or_default();
        self.issues.push(issue.clone());
        self.changed = true;
        Ok(Value::Object(issue))
    }

    fn update(&mut self, words: &Words<'_>) -> Result<Value, String> {
        self.set(words, |issue| {
            if words.has("--claim") {
                issue.insert("status".to_owned(), json!("in_progress"));
                issue.insert("assignee".to_owned(), json!("another-user"));
            }
            if let Some(status) = words.option("--status") {
                issue.insert("status".to_owned(), json!(status));
            }
        })
    }

    fn close(&mut self, words: &Words<'_>) -> Result<Value, String> {
        for id in &words.plain {
            let issue = &self.issues[self.find(id)?];
            let by = self.blockers(issue);
            if !by.is_empty() {
                return Err(format!(
                    "cannot close {id}: blocked by open issues {by:?} (use --force to override)"
                ));
            }
        }
        self.set(words, |issue| {
            issue.insert("status".to_owned(), json!("closed"));
            issue.insert("closed_at".to_owned(), json!(NOW));
            issue.insert("close_reason".to_owned(), json!(words.option("--reason").unwrap_or("Closed")));
            if let Some(session) = words.option("--session") {
                issue.insert("closed_by_session".to_owned(), json!(session));
            }
        })
    }

    fn set(&mut self, words: &Words<'_>, change: impl Fn(&mut Issue)) -> Result<Value, String> {
        let mut told = Vec::new();
        for id in &words.plain {
            let at = self.find(id)?;
            change(&mut self.issues[at]);
            let mut issue = self.issues[at].clone();
            issue.remove("dependencies");
            told.push(Value::Object(issue));
        }
        self.changed = true;
        Ok(Value::Array(told))
    }

    fn depend(&mut self, words: &Words<'_>) -> Result<(), String> {
        let ["add", issue, on] = words.plain[..] else { return Err("dep add ISSUE ON".to_owned()) };
        self.find(on)?;
        let at = self.find(issue)?;
        let kind = words.option("--type").unwrap_or("blocks");
        let link = json!({ "issue_id": issue, "depends_on_id": on, "type": kind, "created_at": NOW });
        let all = self.issues[at].entry("dependencies").or_insert_with(|| json!([]));
        all.as_array_mut().ok_or("bad dependencies")?.push(link);
        self.changed = true;
        println!("added");
        Ok(())
    }
}

fn text<'a>(issue: &'a Issue, name: &str) -> &'a str {
    issue.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn counted(issue: &Issue) -> Value {
    let mut issue = issue.clone();
    let count = issue.get("dependencies").and_then(Value::as_array).map_or(0, Vec::len);
    issue.insert("dependency_count".to_owned(), json!(count));
    issue.insert("dependent_count".to_owned(), json!(0));
    Value::Object(issue)
}

/// What was typed: options with their values, and the rest.
struct Words<'w> {
    options: Vec<(&'w str, &'w str)>,
    flags: Vec<&'w str>,
    plain: Vec<&'w str>,
}

impl<'w> Words<'w> {
    fn new(words: &[&'w str]) -> Words<'w> {
        const FLAGS: [&str; 3] = ["--all", "--claim", "--unassigned"];
        let mut read = Words { options: Vec::new(), flags: Vec::new(), plain: Vec::new() };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.starts_with('-') {
                true if FLAGS.contains(word) => read.flags.push(word),
                true => {
                    read.options.push((word, rest.next().unwrap_or_else(|| fail("an option has no value"))))
                }
                false => read.plain.push(word),
            }
        }
        read
    }

    fn option(&self, name: &str) -> Option<&'w str> {
        self.options.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn has(&self, name: &str) -> bool {
        self.flags.contains(&name)
    }
}
