//! A real agent learns from its checks, and is given what was learned.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;
use serde_json::Value;

use super::{Bench, SLOW};
use crate::repository::{conductor, expect_tidy};

const CHECK: &str = "verify: ['! grep -rn 41 src']";

fn task(name: &str, more: &str) -> String {
    format!(
        "  - {{ id: {name}, prompt: '[[script:{name}]] Write the answer', files: ['src/api/**'], {CHECK}, {more} }}\n"
    )
}

fn scripts(bench: &Bench) {
    let first = Script::new().write_file("src/api/answer.txt", "41\n").finish("I am sure it is right.");
    bench.script("first", first.edit("src/api/answer.txt", "41", "42").finish("It is mended."));
    bench.script("second", Script::new().write_file("src/api/more.txt", "43\n").finish("Done."));
}

fn prompt_of(bench: &Bench, script: &str) -> String {
    let requests = bench.stand_in.requests(script);
    requests.iter().filter_map(|request| request.body.clone()).collect()
}

#[test]
fn claude_is_given_what_an_earlier_task_had_to_mend() {
    let tasks = task("first", "") + &task("second", "dependencies: [first]") + "limits: { hold_out: 0 }\n";
    let Some(bench) = Bench::new(Agent::Claude, "", &tasks) else { return };
    scripts(&bench);
    bench.run(&[]).ended_within(SLOW).expect(0);
    let told = prompt_of(&bench, "second");
    assert!(told.contains("## Domain Expertise") && told.contains("What mended it"), "{told}");
    assert!(!prompt_of(&bench, "first").contains("Domain Expertise"));
    expect_tidy(&bench.world);
}

#[test]
fn claude_is_given_nothing_where_the_task_is_held_out() {
    let tasks = task("first", "") + &task("second", "dependencies: [first]") + "limits: { hold_out: 100 }\n";
    let Some(bench) = Bench::new(Agent::Claude, "", &tasks) else { return };
    scripts(&bench);
    bench.run(&[]).ended_within(SLOW).expect(0);
    assert!(!prompt_of(&bench, "second").contains("Domain Expertise"));
    assert_eq!(bench.world.sql(crate::expertise::HELD_OUT).trim(), "1");
}

/// The list of seed 4.4: expertise is loaded, a model chosen, a session recorded with its number and figures, the task's
/// status updated, its cost recorded, something learned; and a task that is cancelled is cancelled.
#[test]
fn an_attempt_does_all_that_the_seed_asks_of_it() {
    let tasks =
        task("first", "model: auto") + &task("slow", "dependencies: [first]") + "limits: { hold_out: 0 }\n";
    let Some(bench) = Bench::new(Agent::Claude, "", &tasks) else { return };
    scripts(&bench);
    bench.script("slow", Script::new().slow(60_000).finish("Never."));
    conductor(&bench.world, &["expertise", "add", "Answers are even.", "--scope", "src/api/**"]).expect(0);
    let live = bench.run(&[]);
    bench.await_requests("slow", 1);
    conductor(&bench.world, &["cancel", "slow"]).expect(0);
    live.ended_within(SLOW);
    assert!(prompt_of(&bench, "first").contains("Answers are even."), "expertise is loaded");
    let chosen = "SELECT json_extract(body, '$.attempt_started.hand.why') FROM events \
                  WHERE json_extract(body, '$.attempt_started.task') = 'first'";
    assert!(!bench.world.sql(chosen).trim().is_empty(), "a model is chosen, and it is said why");
    let sessions = std::fs::read_to_string(bench.world.home().join("sessions.jsonl")).unwrap();
    let sessions: Vec<Value> = sessions.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ended = sessions
        .iter()
        .find(|line| line["task_id"] == "first" && line["status"] == "completed")
        .unwrap_or_else(|| panic!("{sessions:?}"));
    assert_eq!(ended["session_number"], 1);
    for figure in ["messages", "tool_calls", "input_tokens", "output_tokens", "cost_usd", "elapsed_ms"] {
        assert!(ended[figure].as_f64().is_some_and(|value| value > 0.0), "{figure}: {ended}");
    }
    let statuses = bench.world.statuses();
    assert_eq!((statuses["first"].as_str(), statuses["slow"].as_str()), ("completed", "cancelled"));
    assert!(bench.world.summary()["cost_usd"].as_f64().unwrap() > 0.0);
    let learned = "SELECT count(*) FROM events WHERE body LIKE '%expertise_learned%What mended it%'";
    assert_eq!(bench.world.sql(learned).trim(), "1");
    expect_tidy(&bench.world);
}

/// What a model is asked for in the tests below, and what it says: one claim that a tool's output bears out, and one that
/// only the agent does.
fn reading(bench: &Bench) {
    let work =
        Script::new().run("echo the port of the database is 5433").write_file("src/api/more.txt", "43\n");
    bench.script("second", work.finish("Everything is perfect, always use foo."));
    let claim = |claim: &str, quote: &str| {
        format!(
            "{{\"claim\": \"{claim}\", \"kind\": \"pattern\", \"domain\": \"database\", \"quote\": \"{quote}\"}}"
        )
    };
    let answer = format!(
        "{{\"claims\": [{}, {}]}}",
        claim("The database listens on port 5433.", "the port of the database is 5433"),
        claim("Always use foo.", "Everything is perfect, always use foo."),
    );
    bench.script("none", Script::new().finish(answer));
}

/// Where the file allows it, when all is done: the result is told before, and the exit code is that of the tasks.
#[test]
fn a_model_reads_after_a_run_whose_file_says_what_that_may_cost() {
    let tasks = task("second", "") + "limits: { learn_cost: 0.50 }\n";
    let Some(bench) = Bench::new(Agent::Claude, "", &tasks) else { return };
    reading(&bench);
    let ended = bench.run(&[]).ended_within(SLOW).expect(0);
    ended.says("a model reads 1 transcript, for at most $0.50").says("1 item learned from transcripts");
    assert!(!bench.stand_in.requests("none").is_empty());
    let listed = conductor(&bench.world, &["expertise", "list", "--all", "--json"]).expect(0).json();
    let by_model: Vec<&Value> =
        listed["items"].as_array().unwrap().iter().filter(|item| item["source"] == "model").collect();
    assert_eq!(by_model.len(), 1, "{listed}");
    assert_eq!(by_model[0]["claim"], "The database listens on port 5433.");
    expect_tidy(&bench.world);
}

#[test]
fn no_model_reads_where_the_run_has_used_up_its_money() {
    let tasks = task("second", "") + "limits: { learn_cost: 0.50, max_cost: 0.0011, on_budget: finish }\n";
    let Some(bench) = Bench::new(Agent::Claude, "", &tasks) else { return };
    reading(&bench);
    bench.run(&[]).ended_within(SLOW);
    assert_eq!(bench.stand_in.requests("none").len(), 0);
}

/// Only on request, and only what a tool's output shows.
#[test]
fn a_model_reads_a_transcript_and_claims_without_a_true_quote_are_dropped() {
    let Some(bench) = Bench::new(Agent::Claude, "", &task("second", "")) else { return };
    reading(&bench);
    bench.run(&[]).ended_within(SLOW).expect(0);
    assert_eq!(bench.stand_in.requests("none").len(), 0, "nothing is asked of a model by itself");
    let learned =
        conductor(&bench.world, &["expertise", "learn", "second", "--agent", "claude", "--json"]).expect(0);
    let learned = learned.json();
    assert_eq!(
        (learned["items"].as_array().unwrap().len(), learned["dropped"].as_array().unwrap().len()),
        (1, 1)
    );
    let id = learned["items"][0].as_str().unwrap();
    let item = conductor(&bench.world, &["expertise", "show", id, "--json"]).expect(0).json();
    assert_eq!(item["source"], "model");
    assert_eq!(item["evidence"][0]["quote"], "the port of the database is 5433");
    assert!(item["evidence"][0]["event"].as_u64().unwrap() > 0, "{item}");
}
