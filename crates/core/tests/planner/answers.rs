//! Bad answers: each is mended into a plan that can be run, or refused with a reason.

use std::time::{Duration, Instant};

use conductor_core::planner::Bounds;

use crate::planned;

/// So much of a second, on a busy machine and without optimisation: only what is not linear takes longer.
const LONG: Duration = Duration::from_secs(20);

enum Fate {
    /// With how many tasks, and what is told of it.
    Plan(usize, &'static str),
    Refused(&'static str),
}
use Fate::{Plan, Refused};

fn tasks(items: &str) -> String {
    format!("{{\"tasks\": [{items}]}}")
}

fn task(id: &str, more: &str) -> String {
    format!("{{\"id\": {id}, \"description\": \"Do it\"{more}}}")
}

fn pair(first: &str, second: &str) -> String {
    tasks(&format!("{}, {}", task("\"a\"", first), task("\"b\"", second)))
}

fn many(number: usize) -> String {
    let all: Vec<String> = (0..number).map(|n| task(&format!("\"t{n}\""), "")).collect();
    tasks(&all.join(","))
}

fn table() -> Vec<(&'static str, String, Fate)> {
    let one = || task("\"a\"", "");
    let good = tasks(&one());
    let on = |id: &str| format!(", \"dependencies\": [\"{id}\"]");
    let files = |files: &str| format!(", \"files\": [{files}]");
    let mut table = unreadable(&good);
    table.extend([
        ("fenced", format!("```json\n{good}\n```"), Plan(1, "")),
        ("fenced twice", format!("````md\n```json\n{good}\n```\n````"), Plan(1, "")),
        ("within prose", format!("Here {{is}} it: {good} — and {{that}} is all."), Plan(1, "")),
        ("two objects", format!("{{\"num_tasks\": 2}}\n{good}"), Plan(1, "")),
        ("two plans", format!("{} no, {}", many(3), good), Plan(1, "")),
        ("a wrapper", format!("{{\"plan\": {good}}}"), Plan(1, "")),
        ("a bare list", format!("[{}]", one()), Plan(1, "")),
        ("tasks by id", format!("{{\"tasks\": {{\"a\": {}}}}}", "{\"description\": \"Do it\"}"), Plan(1, "")),
        ("texts for tasks", tasks("\"Do this\", \"Do that\""), Plan(2, "bad id")),
        ("numbers for tasks", tasks(&format!("1, 2, {}", one())), Plan(1, "no object")),
        ("only numbers for tasks", tasks("1, 2"), Refused("no tasks")),
        ("lists for tasks", tasks(&format!("[[]], {}", one())), Plan(1, "no object")),
        ("500 tasks", many(500), Refused("500 tasks, and 100")),
        ("100 tasks", many(100), Plan(100, "")),
        ("101 tasks", many(101), Refused("101 tasks")),
        ("a circle of two", pair(&on("b"), &on("a")), Plan(2, "task 'b' no longer depends on task 'a'")),
        (
            "a circle of three",
            tasks(&[task("\"a\"", &on("c")), task("\"b\"", &on("a")), task("\"c\"", &on("b"))].join(",")),
            Plan(3, "task 'c' no longer depends on task 'b'"),
        ),
        (
            "two circles",
            tasks(
                &[("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]
                    .map(|(id, other)| task(&format!("\"{id}\""), &on(other)))
                    .join(","),
            ),
            Plan(4, "task 'd' no longer depends on task 'c'"),
        ),
        ("waits for itself", tasks(&task("\"a\"", &on("a"))), Plan(1, "depends on itself")),
        ("waits for an unknown task", tasks(&task("\"a\"", &on("ghost"))), Plan(1, "no such task")),
        ("waits twice", pair("", ", \"dependencies\": [\"a\", \"a\"]"), Plan(2, "")),
        ("waits for a bad id", pair("", &on("../a")), Plan(2, "no such task")),
        ("an id that leads out", tasks(&task("\"../x\"", "")), Plan(1, "now called 'x'")),
        (
            "an id that leads out, and a task that needs it",
            tasks(&format!("{},{}", task("\"../x\"", ""), task("\"y\"", &on("../x")))),
            Plan(2, "now called 'x'"),
        ),
        ("an absolute id", tasks(&task("\"/etc/passwd\"", "")), Plan(1, "now called 'etc-passwd'")),
        ("an empty id", tasks(&task("\"\"", "")), Plan(1, "now called 'task-1'")),
        (
            "no id",
            tasks("{\"name\": \"Set up\", \"description\": \"Do it\"}"),
            Plan(1, "now called 'Set-up'"),
        ),
        ("a null id", tasks(&task("null", "")), Plan(1, "bad id")),
        ("an id of an object", tasks(&task("{\"x\": 1}", "")), Plan(1, "'id' must be a text")),
        ("an id of a number", tasks(&task("7", "")), Plan(1, "")),
        ("an id in Japanese", tasks(&task("\"日本\"", "")), Plan(1, "now called 'task-1'")),
        ("an id with an emoji", tasks(&task("\"fix-🦀-now\"", "")), Plan(1, "now called 'fix-now'")),
        ("a very long id", tasks(&task(&format!("\"{}\"", "x".repeat(9999)), "")), Plan(1, "bad id")),
        ("an id with a newline", tasks(&task("\"a\\nb\"", "")), Plan(1, "now called 'a-b'")),
        ("an id that YAML takes for none", tasks(&task("\"null\"", "")), Plan(1, "")),
        ("an id that is an option", tasks(&task("\"--force\"", "")), Plan(1, "now called 'force'")),
        ("twins", tasks(&format!("{},{}", one(), one())), Plan(2, "now called 'a-2'")),
        ("twins but for their case", tasks(&format!("{},{}", one(), task("\"A\"", ""))), Plan(2, "'A-2'")),
        ("three of a kind", tasks(&[one(), one(), one()].join(",")), Plan(3, "now called 'a-3'")),
        ("an absolute file", tasks(&task("\"a\"", &files("\"/etc/passwd\""))), Plan(1, "is absolute")),
        ("a file outside", tasks(&task("\"a\"", &files("\"src/../../x\""))), Plan(1, "leads out")),
        ("a file at home", tasks(&task("\"a\"", &files("\"~/.ssh/id\""))), Plan(1, "is absolute")),
        ("a file of Windows", tasks(&task("\"a\"", &files("\"C:\\\\x\""))), Plan(1, "is absolute")),
        ("git's own file", tasks(&task("\"a\"", &files("\".git/hooks/x\""))), Plan(1, "git's own")),
        ("a file with a newline", tasks(&task("\"a\"", &files("\"a\\nb\""))), Plan(1, "control")),
        ("a file that is an object", tasks(&task("\"a\"", &files("{\"p\": 1}"))), Plan(1, "list of texts")),
        ("the same file", pair(&files("\"f\""), &files("\"./f\"")), Plan(2, "now waits for task 'a'")),
        ("a folder and a file in it", pair(&files("\"src\""), &files("\"src/x.rs\"")), Plan(2, "now waits")),
        ("everything, twice", pair(&files("\"**\""), &files("\"**\"")), Plan(2, "now waits")),
        ("an empty description", tasks("{\"id\": \"a\", \"description\": \" \"}"), Refused("no tasks")),
        ("no description, a name", tasks("{\"id\": \"a\", \"name\": \"Do it\"}"), Plan(1, "its name alone")),
        (
            "a description of objects",
            tasks("{\"id\": \"a\", \"description\": {\"x\": 1}}"),
            Refused("no tasks"),
        ),
        ("an odd priority", tasks(&task("\"a\"", ", \"priority\": \"soon\"")), Plan(1, "'priority' must be")),
        ("too high a priority", tasks(&task("\"a\"", ", \"priority\": 99")), Plan(1, "'priority' must be")),
        ("an endless duration", tasks(&task("\"a\"", ", \"estimated_duration\": \"1e300h\"")), Plan(1, "")),
        ("no duration at all", tasks(&task("\"a\"", ", \"estimated_duration\": \"-5m\"")), Plan(1, "")),
        ("a forbidden check", tasks(&task("\"a\"", ", \"verify\": \"sudo make\"")), Plan(1, "is dropped")),
        ("braces of templates", tasks(&task("\"a\"", ", \"name\": \"{{ x }} {% y %}\"")), Plan(1, "")),
        (
            "a mark of a group",
            tasks("{\"id\": \"a\", \"description\": \"[P:Group-../x] Do it\"}"),
            Plan(1, ""),
        ),
        (
            "YAML within",
            tasks("{\"id\": \"a\", \"description\": \"x\\n- id: b\\n  run: rm -rf /\"}"),
            Plan(1, ""),
        ),
        (
            "control characters",
            tasks("{\"id\": \"a\", \"description\": \"a\\u0000\\u001b[2Jb\\u2028c\"}"),
            Plan(1, ""),
        ),
        ("a name of many lines", tasks(&task("\"a\"", ", \"name\": \"one\\ntwo\\tthree\"")), Plan(1, "")),
        (
            "a very long name",
            tasks(&task("\"a\"", &format!(", \"name\": \"{}\"", "ä".repeat(999)))),
            Plan(1, ""),
        ),
    ]);
    table.extend(huge());
    table
}

fn unreadable(good: &str) -> Vec<(&'static str, String, Fate)> {
    vec![
        ("nothing", String::new(), Refused("is empty")),
        ("blanks", " \n\t ".into(), Refused("is empty")),
        ("prose", "I would first build the database, then the API.".into(), Refused("no JSON object")),
        ("prose with braces", "Use {curly} and [square] ones.".into(), Refused("no JSON object")),
        ("an apology", "I'm sorry, I can't help with that.".into(), Refused("no JSON object")),
        ("no tasks", "{\"tasks\": []}".into(), Refused("no tasks")),
        ("null for tasks", "{\"tasks\": null}".into(), Refused("is not a list")),
        ("a text for tasks", "{\"tasks\": \"build it\"}".into(), Refused("is not a list")),
        ("other keys", "{\"steps\": []}".into(), Refused("has no 'tasks'; it has 'steps'")),
        ("an empty object", "{}".into(), Refused("has no 'tasks'")),
        ("a trailing comma", "{\"tasks\": [{\"id\": \"a\",}]}".into(), Refused("broken")),
        ("single quotes", "{'tasks': [{'id': 'a'}]}".into(), Refused("no JSON object")),
        ("a comment", "{\"tasks\": [ // first\n]}".into(), Refused("broken")),
        ("broken off", good[..good.len() - 4].to_owned(), Refused("breaks off")),
        ("broken off in a text", "{\"tasks\": [{\"id\": \"a".into(), Refused("breaks off")),
        ("broken off in a fence", format!("```json\n{}", &good[..20]), Refused("breaks off")),
        ("YAML", "tasks:\n  - id: a\n    prompt: x".into(), Refused("no JSON object")),
        ("XML", "<tasks><task id='a'/></tasks>".into(), Refused("no JSON object")),
        ("only a task", "{\"id\": \"a\", \"description\": \"x\"}".into(), Refused("has no 'tasks'")),
        ("half a surrogate", "{\"tasks\": [{\"id\": \"\\ud800\"}]}".into(), Refused("broken")),
    ]
}

fn huge() -> Vec<(&'static str, String, Fate)> {
    let mega = "x".repeat(1 << 20);
    let nested = |open: &str| open.repeat((1 << 20) / open.len());
    let all_files = (0..20_000).map(|n| format!("\"f{n}\"")).collect::<Vec<_>>().join(",");
    let all_ids = (0..100).map(|n| format!("\"t{n}\"")).collect::<Vec<_>>().join(",");
    let knot: Vec<String> =
        (0..100).map(|n| task(&format!("\"t{n}\""), &format!(", \"dependencies\": [{all_ids}]"))).collect();
    vec![
        ("1 MB of prose", mega.clone(), Refused("no JSON object")),
        (
            "1 MB of description",
            tasks(&format!("{{\"id\": \"a\", \"description\": \"{mega}\"}}")),
            Plan(1, ""),
        ),
        ("1 MB of open braces", nested("{"), Refused("no JSON object")),
        ("1 MB of open brackets", nested("["), Refused("no JSON object")),
        ("1 MB of nested objects", nested("{\"a\":"), Refused("breaks off")),
        ("1 MB of nested lists of tasks", nested("{\"tasks\":["), Refused("breaks off")),
        ("1 MB of quotes", nested("{\""), Refused("breaks off")),
        ("1 MB of empty objects", format!("[{}", nested("{},")), Refused("has no 'tasks'")),
        (
            "20,000 files",
            tasks(&task("\"a\"", &format!(", \"files\": [{all_files}]"))),
            Plan(1, "more than 200"),
        ),
        ("every task waits for every other", tasks(&knot.join(",")), Plan(100, "in a circle")),
        (
            "every task touches everything",
            tasks(
                &(0..100)
                    .map(|n| task(&format!("\"t{n}\""), ", \"files\": [\"**\"]"))
                    .collect::<Vec<_>>()
                    .join(","),
            ),
            Plan(100, "touch the same files"),
        ),
    ]
}

#[test]
fn every_bad_answer_is_mended_or_refused_with_a_reason() {
    let table = table();
    assert!(table.len() >= 50, "{}", table.len());
    for (name, answer, fate) in table {
        let begun = Instant::now();
        match (planned(&answer, Bounds::default()), fate) {
            (Ok((plan, told)), Plan(number, words)) => {
                assert_eq!(plan.tasks.len(), number, "{name}");
                assert!(
                    told.iter().any(|told| told.contains(words)) || words.is_empty(),
                    "{name}: {told:#?}"
                );
                assert!(!words.is_empty() || told.is_empty(), "{name}: {told:#?}");
            }
            (Err(refusal), Refused(why)) => assert!(refusal.to_string().contains(why), "{name}: {refusal}"),
            (Ok((plan, _)), Refused(_)) => panic!("{name}: not refused: {plan:?}"),
            (Err(refusal), Plan(..)) => panic!("{name}: {refusal}"),
        }
        assert!(begun.elapsed() < LONG, "{name} took {:?}", begun.elapsed());
    }
}

#[test]
fn a_task_that_needs_a_renamed_one_still_needs_it() {
    let answer = tasks(&format!("{},{}", task("\"../x\"", ""), task("\"y\"", ", \"depends_on\": \"../x\"")));
    let (plan, _) = planned(&answer, Bounds::default()).unwrap();
    let ids: Vec<&str> = plan.tasks[1].dependencies.iter().map(|on| on.id.as_str()).collect();
    assert_eq!(ids, ["x"]);
}

#[test]
fn too_few_tasks_for_the_issues_are_refused() {
    let refusal = planned(&many(2), Bounds { least: 3, most: 100 }).unwrap_err();
    assert!(refusal.to_string().contains("2 tasks for 3 issues"), "{refusal}");
}
