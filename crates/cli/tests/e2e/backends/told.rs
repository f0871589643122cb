//! Every message to an agent, as a real agent gets it, in its situation. docs/prompts.md lists all of them;
//! one that differs from the list fails here.

use std::path::PathBuf;

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::table::WRITE;
use super::{Bench, SLOW, prompt};
use crate::harness::{Live, wait_for};
use crate::repository::{command, conductor};

const SITUATIONS: [&str; 21] = [
    "A task begins",
    "A task begins in the user's own directory",
    "A check failed",
    "A conflict with what has landed meanwhile",
    "A conflict, and no fix round is left",
    "Interrupted, with changes",
    "Interrupted, without changes",
    "Interrupted, and its conversation is lost",
    "A cap that stopped it was raised",
    "A command that a rule denies",
    "A command that the user has to allow",
    "The user allows it",
    "The user denies it",
    "The user did not answer in time",
    "A question to the user",
    "The user's answer",
    "The user's message",
    "The agent repeats itself",
    "A review, and its rejection",
    "The user sends the work back",
    "A plan is requested, and corrected",
];

/// The message has to be the one that the list has for this situation.
#[track_caller]
fn listed(bench: &Bench, situation: &str, said: &[&str]) {
    assert!(SITUATIONS.contains(&situation), "{situation}");
    let said: Vec<String> = said.iter().map(|said| general(bench, said)).collect();
    let block: String = said.iter().map(|said| format!("````text\n{}\n````\n\n", said.trim())).collect();
    let text = std::fs::read_to_string(document()).unwrap();
    let head = format!("### {situation}\n\n");
    let start =
        text.find(&head).unwrap_or_else(|| panic!("docs/prompts.md has no '{situation}'")) + head.len();
    let end = text[start..].find("### ").map_or(text.len(), |length| start + length);
    if std::env::var_os(WRITE).is_some() {
        let rest = if end == text.len() { block.trim_end().to_owned() + "\n" } else { block };
        return std::fs::write(document(), [&text[..start], &rest, &text[end..]].concat()).unwrap();
    }
    assert_eq!(text[start..end].trim(), block.trim(), "{WRITE}=1 writes it into docs/prompts.md");
}

/// The message without the parts that differ from run to run.
fn general(bench: &Bench, said: &str) -> String {
    let run = bench.world.runs().first().cloned();
    let said = run.map_or_else(|| said.to_owned(), |run| said.replace(&run, "RUN"));
    let said = said.replace(&bench.world.root().display().to_string(), "…");
    let ports = said.find("use ports ").map(|at| &said[at + 10..at + 21]).unwrap_or("20000-20009").to_owned();
    let said = said.replace(&ports, "20000-20009");
    let hash = |word: &str| word.len() == 10 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = said.split_inclusive([' ', '(', ')', '\n']);
    words
        .map(|word| {
            if hash(word.trim_end_matches([' ', ')', '\n'])) {
                word.replace(&word[..10], "COMMIT")
            } else {
                word.to_owned()
            }
        })
        .collect()
}

fn document() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/prompts.md")
}

#[test]
fn nothing_else_is_listed() {
    let text = std::fs::read_to_string(document()).unwrap();
    let heads: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(heads, SITUATIONS);
}

fn bench(config: &str, tasks: &str) -> Option<Bench> {
    Bench::new(Agent::Claude, config, tasks)
}

/// The prompts that a script's agent got, in order.
fn prompts(bench: &Bench, script: &str) -> Vec<String> {
    let asked = bench.stand_in.requests(script).into_iter().filter(|request| request.turn.is_some());
    let mut prompts: Vec<String> = asked.map(|request| request.prompt).collect();
    prompts.dedup();
    prompts
}

/// The results of the tools it used, in order.
fn results(bench: &Bench, script: &str) -> Vec<String> {
    let asked = bench.stand_in.requests(script);
    let body = asked.iter().rev().find_map(|request| request.body.as_deref()).unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let messages = body["messages"].as_array().unwrap().iter();
    let parts = messages.filter_map(|message| message["content"].as_array()).flatten();
    let results = parts.filter(|part| part["type"] == "tool_result").map(|part| &part["content"]);
    results
        .map(|content| match content.as_str() {
            Some(text) => text.to_owned(),
            None => content[0]["text"].as_str().unwrap_or_default().to_owned(),
        })
        .collect()
}

#[test]
fn when_a_task_begins() {
    let tasks = "  - { id: schema, name: Design the schema, run: 'echo s > schema.sql' }
  - id: api
    name: The API
    prompt: '[[script:api]] Build the API on the schema.'
    expected_deliverable: src/api.rs with its tests
    files: [src/api.rs]
    verify: [test -s api.txt]
    dependencies: [schema]
";
    let Some(bench) = bench("", tasks) else { return };
    bench.script("api", Script::new().write_file("api.txt", "a\n").finish("Built."));
    bench.run(&[]).ended_within(SLOW).expect(0);
    let prompts = prompts(&bench, "api");
    assert_eq!(prompts.len(), 1, "{prompts:#?}");
    listed(&bench, "A task begins", &[&prompts[0]]);
}

#[test]
fn when_a_task_begins_in_the_users_own_directory() {
    let Some(bench) = bench("isolation: none,", &prompt("api", "")) else { return };
    bench.script("api", Script::new().write_file("api.txt", "a\n").finish("Built."));
    bench.run(&[]).ended_within(SLOW).expect(0);
    listed(&bench, "A task begins in the user's own directory", &[&prompts(&bench, "api")[0]]);
}

#[test]
fn when_work_goes_back() {
    let tasks = prompt("checked", "verify: [test -s b.txt]")
        + "  - id: reviewed\n    prompt: '[[script:reviewed]] Write the answer into answer.txt'\n    \
           review: { rubric: '[[script:review]] It must be 42' }\n";
    let Some(bench) = bench("", &tasks) else { return };
    let checked = Script::new().write_file("a.txt", "a\n").finish("Written.");
    bench.script("checked", checked.write_file("b.txt", "b\n").finish("Mended."));
    let work = Script::new().write_file("answer.txt", "41\n").finish("It is written.");
    bench.script("reviewed", work.edit("answer.txt", "41", "42").finish("It is mended."));
    let rejects = r#"{"verdict": "reject", "score": 10, "findings": ["answer.txt says 41, not 42"]}"#;
    let accepts = r#"{"verdict": "accept", "score": 95, "findings": []}"#;
    bench.script("review", Script::new().lie(rejects, 1).finish(accepts));
    bench.run(&["-p", "3"]).ended_within(SLOW).expect(0);
    listed(&bench, "A check failed", &[&prompts(&bench, "checked")[1]]);
    let (review, reviewed) = (prompts(&bench, "review"), prompts(&bench, "reviewed"));
    listed(&bench, "A review, and its rejection", &[&review[0], &reviewed[1]]);
}

#[test]
fn when_a_person_sends_the_work_back() {
    let Some(bench) = bench("land: approve,", &prompt("judged", "")) else { return };
    let script = Script::new().run("echo 41 > answer.txt").finish("Written.");
    bench.script("judged", script.run("echo 42 > answer.txt").finish("Put right."));
    bench.run(&[]).ended_within(SLOW).expect(5);
    let comments = ["-m", "answer.txt:1: it is 42", "-m", "Say how you know."];
    conductor(&bench.world, &[&["review", "send-back", "judged"], &comments[..]].concat()).expect(0);
    let resume = &mut command(&bench.world, &["run", "--resume"]);
    bench.world.spawn(resume).ended_within(SLOW).expect(5);
    listed(&bench, "The user sends the work back", &[&prompts(&bench, "judged")[1]]);
}

/// The prompts of an agent whose work conflicts with what landed meanwhile, in order.
fn clashing(settings: &str) -> Option<(Bench, Vec<String>)> {
    let first = "  - { id: first, run: \"AGENT await HERE/begun; printf 'a\\nFIRST\\nc\\n' > f.txt\" }\n";
    let bench = bench("", &(first.to_owned() + &prompt("clash", settings)))?;
    let wait = format!("until test -e {}; do sleep 0.05; done", bench.world.path("go").display());
    let script = Script::new().run("printf 'a\\nSECOND\\nc\\n' > f.txt").run(wait).finish("Changed.");
    bench.script("clash", script.run("printf 'a\\nBOTH\\nc\\n' > f.txt").finish("Both are served."));
    let live = bench.run(&["-p", "2"]);
    bench.await_requests("clash", 2);
    bench.world.write("begun", "");
    wait_for("the first to land", || (bench.world.logged("task_completed") == ["first"]).then_some(()));
    bench.world.write("go", "");
    live.ended_within(SLOW).expect(0);
    let prompts = prompts(&bench, "clash");
    Some((bench, prompts))
}

#[test]
fn when_work_does_not_fit_what_has_landed_meanwhile() {
    let Some((bench, prompts)) = clashing("") else { return };
    listed(&bench, "A conflict with what has landed meanwhile", &[&prompts[1]]);
    let again = "fix_rounds: 0, retry_policy: { max_attempts: 2, initial_delay: 0 }";
    let Some((bench, prompts)) = clashing(again) else { return };
    listed(&bench, "A conflict, and no fix round is left", &[&prompts[1]]);
}

/// Kills the coordinator while the agent waits for its model, and takes the run up again.
fn killed_and_resumed(begun: fn() -> Script, requests: usize, lost: bool) -> Option<Bench> {
    let mut bench = bench("", &prompt("cut", ""))?;
    bench.script("cut", begun().slow(600_000).finish("Never said."));
    bench.world.without_grace();
    let mut live = bench.run(&[]);
    bench.await_requests("cut", requests);
    wait_for("its conversation", || (!bench.world.logged("session_started").is_empty()).then_some(()));
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    if lost {
        std::fs::remove_dir_all(bench.world.root().join("user/.claude/projects")).unwrap();
    }
    bench.script("cut", begun().write_file("second.txt", "2\n").finish("Written."));
    bench.world.spawn(&mut command(&bench.world, &["run", "--resume"])).ended_within(SLOW).expect(0);
    Some(bench)
}

#[test]
fn when_it_was_interrupted() {
    let Some(bench) = killed_and_resumed(|| Script::new().write_file("first.txt", "1\n"), 2, false) else {
        return;
    };
    listed(&bench, "Interrupted, with changes", &[prompts(&bench, "cut").last().unwrap()]);
    let Some(bench) = killed_and_resumed(|| Script::new().run("true"), 2, false) else { return };
    listed(&bench, "Interrupted, without changes", &[prompts(&bench, "cut").last().unwrap()]);
    let Some(bench) = killed_and_resumed(|| Script::new().write_file("first.txt", "1\n"), 2, true) else {
        return;
    };
    listed(&bench, "Interrupted, and its conversation is lost", &[prompts(&bench, "cut").last().unwrap()]);
}

#[test]
fn when_a_cap_was_raised() {
    let Some(bench) = bench("", &prompt("long", "max_turns: 2")) else { return };
    let script = (0..4).fold(Script::new(), |script, n| script.run(format!("echo {n} >> n.txt")));
    bench.script("long", script.finish("Done."));
    bench.run(&[]).ended_within(SLOW).expect(100).says("max_turns 2");
    let raised = bench.world.read("tasks.yaml").replace("max_turns: 2", "max_turns: 20");
    bench.world.write("tasks.yaml", &raised);
    bench.run(&["--retry-failed"]).ended_within(SLOW).expect(0);
    listed(&bench, "A cap that stopped it was raised", &[prompts(&bench, "long").last().unwrap()]);
}

/// What Claude Code puts before our text.
const PASSED_ON: &str = "PreToolUse:Bash hook error: ";
const STOP: &str = "a person has to allow this first; stop here, you will be told";

const RULES: &str = "permissions: { deny: ['Bash(touch denied*)'], ask: ['Bash(touch asked*)'] }, ";

fn asking() -> Script {
    let script = Script::new().run("touch denied.txt").run("touch asked.txt").finish("I was stopped.");
    script.write_file("done.txt", "d\n").finish("Done.")
}

fn asks(live: &Live) {
    wait_for("a question", || live.stderr().contains("asks    a  Bash: touch asked.txt").then_some(()));
}

#[test]
fn when_rules_are_against_it_or_a_person_has_to_allow_it() {
    let Some(allowed) = bench("", &prompt("a", RULES)) else { return };
    allowed.script("a", asking());
    let live = allowed.run(&[]);
    asks(&live);
    conductor(&allowed.world, &["task", "approve", "a", "-m", "but only once"]).expect(0);
    live.ended_within(SLOW).expect(0);
    let results = results(&allowed, "a");
    let ours = |result: &str| result.strip_prefix(PASSED_ON).map(str::to_owned);
    listed(&allowed, "A command that a rule denies", &[&ours(&results[0]).expect("it was told")]);
    // We ask it to stop in the same breath: it may have done so before it passed on what was said.
    let stopped = ours(&results[1]).unwrap_or_else(|| STOP.to_owned());
    listed(&allowed, "A command that the user has to allow", &[&stopped]);
    listed(&allowed, "The user allows it", &[&prompts(&allowed, "a")[1]]);

    let Some(refused) = bench("", &prompt("a", RULES)) else { return };
    refused.script("a", asking());
    let live = refused.run(&[]);
    asks(&live);
    conductor(&refused.world, &["task", "deny", "a", "-m", "not on a Friday"]).expect(0);
    live.ended_within(SLOW).expect(0);
    listed(&refused, "The user denies it", &[&prompts(&refused, "a")[1]]);

    let Some(alone) = bench("", &prompt("a", RULES)) else { return };
    alone.script("a", asking());
    alone.run(&["--answer-within", "300ms"]).ended_within(SLOW).expect(0);
    listed(&alone, "The user did not answer in time", &[&prompts(&alone, "a")[1]]);
}

#[test]
fn when_it_asks_a_person() {
    let Some(bench) = bench("", &(prompt("a", "") + "limits: { follow_ups: 3 }\n")) else { return };
    let question = serde_json::json!({ "question": "Tabs or spaces?" });
    let script = Script::new().mcp("conductor", "ask_human", question).finish("I have asked.");
    bench.script("a", script.write_file("done.txt", "d\n").finish("Done."));
    let live = bench.run(&["--answer-within", "10m"]);
    wait_for("a question", || live.stderr().contains("asks    a").then_some(()));
    conductor(&bench.world, &["task", "approve", "a", "-m", "Tabs."]).expect(0);
    live.ended_within(SLOW).expect(0);
    listed(&bench, "A question to the user", &[&results(&bench, "a")[0]]);
    listed(&bench, "The user's answer", &[&prompts(&bench, "a")[1]]);
}

#[test]
fn when_a_person_has_something_to_say() {
    let tasks = "  - { id: first, run: 'AGENT await HERE/go' , changes: optional }\n".to_owned()
        + &prompt("a", "dependencies: [first]");
    let Some(bench) = bench("", &tasks) else { return };
    bench.script("a", Script::new().write_file("a.txt", "a\n").finish("Done."));
    let live = bench.run(&[]);
    wait_for("a start", || bench.world.logged("attempt_started").first().map(drop));
    conductor(&bench.world, &["task", "send", "a", "Use tabs."]).expect(0);
    bench.world.write("go", "");
    live.ended_within(SLOW).expect(0);
    let said = &prompts(&bench, "a")[0];
    listed(&bench, "The user's message", &[&said[said.find("A person has said").expect("it was told")..]]);
}

#[test]
fn when_it_goes_round_in_circles() {
    let Some(bench) = bench("", &prompt("a", "retry_policy: { max_attempts: 1 }")) else { return };
    let script = (0..5).fold(Script::new(), |script, _| script.run("curl -s localhost:1"));
    bench.script("a", script.write_file("a.txt", "a\n").finish("Done."));
    bench.run(&[]).ended_within(SLOW);
    let asked = bench.stand_in.requests("a");
    let bodies = asked.iter().rev().find_map(|request| request.body.as_deref()).unwrap();
    let start = bodies.find("You did `").expect("it was told");
    let end = start + bodies[start..].find(['"', '\\']).unwrap();
    listed(&bench, "The agent repeats itself", &[&bodies[start..end]]);
}

#[test]
fn when_a_plan_is_wanted() {
    let Some(bench) = bench("", "  - { id: none, run: 'true' }\n") else { return };
    let one = r#"{"num_tasks": 1, "reasoning": "it is small"}"#;
    let plan = |verify: &str| {
        format!(r#"{{"tasks": [{{"id": "page", "description": "Write the page.", {verify}}}]}}"#)
    };
    let (bad, good) = (plan(r#""dependencies": ["style"]"#), plan(r#""files": ["page.html"]"#));
    bench.script("planner", Script::new().finish(one).finish(bad).finish(good));
    let args = ["plan", "[[script:planner]] Build a page", "--model", "claude-opus-5-5"];
    bench.world.spawn(&mut command(&bench.world, &args)).ended_within(SLOW).expect(0);
    let prompts = prompts(&bench, "planner");
    assert_eq!(prompts.len(), 3, "{prompts:#?}");
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    listed(&bench, "A plan is requested, and corrected", &prompts);
}
