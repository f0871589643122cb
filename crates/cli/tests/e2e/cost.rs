//! What runs use, by task, model, agent and day, and its caps. An unknown cost is never shown as zero.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use conductor_testkit::agents::{Agent, Lodging, or_skip};
use conductor_testkit::{Script, StandIn, Usage};
use serde_json::Value;

use crate::harness::{World, expect_no_leftovers};
use crate::repository::{command, conductor, repository};

/// A million tokens in and 500,000 out of a model that each of two agents calls its own.
const TASKS: &str = "
config:
  retry_policy: { max_attempts: 1 }
  prices: { 'house-*': { input: 0.5, output: 2 } }
tasks:
  - { id: known, epic: first, prompt: house-model, agent: teller }
  - { id: unknown, prompt: mystery-model, agent: teller }
  - { id: silent, prompt: quiet, agent: silent }
  - { id: command, run: 'true' }
";

/// A repository, and agents that change a file and tell what they used: as many tokens as a price is for.
fn world(tasks: &str) -> World {
    let mut world = repository(tasks);
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let usage = r#"{"type":"usage","model":"'$model'","input":1000000,"output":500000,"turns":2}"#;
    let told = format!("model=$(echo \"$task\" | grep -o '[a-z]*-model' | head -1)\necho '{usage}'");
    for (name, told) in [("teller", told.as_str()), ("silent", "")] {
        let text = format!(
            "#!/bin/sh\nread -r task\necho \"$task\" | tr -dc 'a-z' > $CONDUCTOR_TASK.txt\n{told}\n\
             echo '{{\"type\":\"result\",\"ok\":true,\"text\":\"done\"}}'\n"
        );
        let program = bin.join(format!("conductor-agent-{name}"));
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::join_paths(
        std::iter::once(bin).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    world.set("PATH", path.unwrap());
    world
}

fn line<'a>(sheet: &'a Value, key: &str) -> &'a Value {
    let lines = sheet["lines"].as_array().unwrap();
    lines.iter().find(|line| line["key"] == key).unwrap_or_else(|| panic!("no {key} in {sheet}"))
}

#[test]
fn what_is_not_known_is_told_and_never_nothing() {
    let world = world(TASKS);
    let ended = conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    assert_eq!(ended.stderr.matches("no price is known for mystery-model").count(), 1, "{}", ended.stderr);
    let ended = ended.says("cost caps do not apply to it").says("cost   $1.50 + unknown");
    assert!(ended.stdout.contains("no price for 1500000 tokens"), "{}", ended.stdout);

    let told = conductor(&world, &["cost"]).expect(0).stdout;
    let told: Vec<&str> = told.lines().skip(1).map(str::trim_end).collect();
    assert_eq!(
        told,
        [
            "TASK     ATTEMPTS  TURNS  TOKENS   COST",
            "known    1         2      1500000  $1.50",
            "unknown  1         2      1500000  unknown",
            "silent   1         0      0        not told",
            "total    3         4      3000000  $1.50 + unknown",
            "",
            "unknown: no price is known for these tokens; give one under `prices:` in the file's config",
            "",
            "1 attempt did not report usage",
        ]
    );
    let sheet = conductor(&world, &["cost", "--by", "model", "--json"]).expect(0).json();
    assert_eq!(sheet["schema"], "conductor.cost/1");
    assert_eq!(line(&sheet, "house-model")["cost_usd"], 1.5);
    assert_eq!(line(&sheet, "mystery-model")["cost_usd"], Value::Null);
    assert_eq!(line(&sheet, "mystery-model")["unpriced_tokens"], 1_500_000);
    let by = |by: &str| conductor(&world, &["cost", "--by", by, "--json"]).expect(0).json();
    assert_eq!(line(&by("epic"), "first")["cost_usd"], 1.5);
    assert_eq!(line(&by("agent"), "teller")["attempts"], 2);
    assert_eq!(line(&by("run"), &world.run_id())["tokens"], 3_000_000);
    assert_eq!(by("day")["lines"].as_array().unwrap().len(), 1);

    let summary = world.summary();
    assert_eq!((&summary["cost_usd"], summary["known_cost_usd"].as_f64()), (&Value::Null, Some(1.5)));
    assert_eq!(summary["cost_by_model"]["house-model"]["cost_usd"], 1.5);
    assert_eq!(
        (&summary["results"][0]["agent"], &summary["results"][0]["model"]),
        (&"teller".into(), &"house-model".into())
    );
    assert_eq!(summary["results"][1]["cost_usd"], Value::Null);
}

#[test]
fn runs_of_a_place_are_added_up_and_one_can_be_named() {
    let world = world(
        "tasks: [{ id: a, prompt: house-model, agent: teller }]\nconfig: { prices: { house-model: { input: 1, output: 0 } } }",
    );
    for _ in 0..2 {
        conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    }
    let all = conductor(&world, &["cost", "--all", "--json"]).expect(0).json();
    assert_eq!((all["runs"].as_array().unwrap().len(), &all["total"]["cost_usd"]), (2, &2.0.into()));
    let runs = conductor(&world, &["cost", "--all", "--by", "run", "--json"]).expect(0).json();
    assert_eq!(runs["lines"].as_array().unwrap().len(), 2);
    let one = world.runs().pop().unwrap();
    let named = conductor(&world, &["cost", &one[..5], "--json"]).expect(0).json();
    assert_eq!((&named["runs"][0], &named["total"]["cost_usd"]), (&one.into(), &1.0.into()));
    World::new().conductor(&["cost"]).expect(4).says("nothing has been run here yet");
}

#[test]
fn prices_say_who_says_so() {
    let world = world(TASKS);
    let told = |args: &[&str]| conductor(&world, args).expect(0);
    let list =
        told(&["prices", "house-model", "claude-opus-5-5", "mystery", "-f", "../tasks.yaml", "--json"])
            .json();
    let prices = &list["prices"];
    assert_eq!((&prices[0]["input"], &prices[0]["origin"]), (&0.5.into(), &"the file, house-*".into()));
    assert!(prices[1]["origin"].as_str().unwrap().starts_with("the list, anthropic/"), "{prices}");
    assert_eq!((&prices[2]["input"], &prices[2]["origin"]), (&Value::Null, &Value::Null));
    told(&["prices", "mystery"]).says("unknown").says("give it one under `prices:`");
    let all = told(&["prices", "-f", "../tasks.yaml"]).stdout;
    assert!(all.lines().count() > 100 && all.lines().nth(2).unwrap().starts_with("house-*"), "{all}");
}

/// A call costs two cents here. Nothing new begins, those at work are stopped, and it can be resumed.
#[test]
fn a_cap_on_the_runs_money_stops_the_real_agents_in_time() {
    let Some(bin) = or_skip(Agent::Claude) else { return };
    let tasks = "
config: { model: claude-opus-5-5 }
tasks:
  - { id: a, prompt: '[[script:long]] Do a lot' }
  - { id: b, prompt: '[[script:long]] Do a lot too' }
  - { id: c, prompt: '[[script:long]] And more' }
";
    let stand_in = StandIn::start_blocking().unwrap();
    let mut world = repository(tasks);
    let (home, base_url) = (world.root().join("user"), stand_in.base_url("none"));
    let lodging = Lodging { bin: &bin, home: &home, base_url: &base_url, retries: 1 };
    for (name, value) in lodging.furnish(Agent::Claude).unwrap() {
        world.set(name, value);
    }
    let usage = Usage { input: 4000, output: 200, cache_read: 0, cache_write: 0 };
    let script = (0..40).fold(Script::new(), |script, n| script.run(format!("echo {n} >> n.txt; sleep 0.1")));
    stand_in.script("long", script.finish("Done.").usage_by_default(usage));
    let live = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "2", "--max-cost", "0.05"]));
    let ended = live.ended().expect(6).says("budget reached, starting nothing new").says("--resume");
    assert!(ended.stderr.contains("the run has used"), "{}", ended.stderr);
    let summary = world.summary();
    let cost = summary["cost_usd"].as_f64().unwrap();
    assert!((0.05..=0.05 + 2.0 * 0.02 + 1e-9).contains(&cost), "{cost}");
    assert_eq!(summary["results"][2]["attempts"], 0, "the third never began");
    let sheet = world.spawn(&mut command(&world, &["cost", "--json"])).ended().expect(0).json();
    assert_eq!(sheet["total"]["cost_usd"].as_f64().unwrap(), cost);
    expect_no_leftovers(&world.run_id());
}
