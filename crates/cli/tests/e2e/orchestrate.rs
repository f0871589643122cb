//! `conductor orchestrate`: from words to landed work, with one cap on all of it.

use std::fs;
use std::path::Path;

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;
use serde_json::{Value, json};

use crate::backends::{Bench, SLOW};
use crate::harness::World;
use crate::plan::{SIX, todo, world};
use crate::repository::{command, conductor, expect_tidy, git};

const IDS: [&str; 6] = ["database", "api", "frontend", "ui", "integration", "testing"];

fn read(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
}

/// Six tasks, two of three workers, all landed, every file of a run in the folder.
#[track_caller]
fn expect_all_landed(world: &World, folder: &Path) {
    let (plan, summary) = (read(folder, "execution_plan.json"), read(folder, "execution_summary.json"));
    assert_eq!((&plan["num_tasks"], &plan["executor_budget"]), (&json!(6), &json!(2)));
    assert_eq!(plan["dependencies"]["integration"], json!(["api", "ui"]));
    assert_eq!((&summary["completed"], &summary["executors_used"]), (&json!(6), &json!(2)));
    assert_eq!(summary["total_files_created"], 6);
    for name in ["tasks.yaml", "report.md", "report.html", "orchestrator.log", "executor_1", "executor_2"] {
        assert!(folder.join(name).exists(), "{name}");
    }
    for result in summary["results"].as_array().unwrap() {
        let id = result["task_id"].as_str().unwrap();
        let diff = folder.join(format!("executor_{}/{id}/changes.diff", result["executor"]));
        let diff = fs::read_to_string(&diff).unwrap_or_else(|error| panic!("{}: {error}", diff.display()));
        assert!(diff.contains(&format!("+++ b/{id}.txt")), "{diff}");
    }
    let landed = git(world, &["ls-tree", "--name-only", &format!("conductor/{}", world.run_id())]);
    for id in IDS {
        assert!(landed.contains(&format!("{id}.txt")), "{landed}");
    }
    let finished = world.logged("task_completed");
    let place = |id: &str| finished.iter().position(|task| task == id).unwrap();
    for (after, before) in
        [("api", "database"), ("ui", "frontend"), ("integration", "api"), ("testing", "integration")]
    {
        assert!(place(before) < place(after), "{finished:?}");
    }
    expect_tidy(world);
}

#[test]
fn a_todo_app_is_planned_and_lands() {
    let world = world(&[("analysis", SIX), ("plan", &todo(|_| String::new()))]);
    let args = [
        "orchestrate",
        "build a todo app",
        "--agent",
        "planner",
        "--budget",
        "3",
        "-o",
        "../out",
        "--max-cost",
        "5",
    ];
    let ended = conductor(&world, &args).expect(0).says("6 of 6 completed");
    let summary = read(&world.path("out"), "execution_summary.json");
    let all = summary["cost_usd"].as_f64().unwrap() / 6.0 * 8.0;
    ended.says("planning: 2200 tokens, $0.0").says(&format!("with the run: ${all:.4}"));
    expect_all_landed(&world, &world.path("out"));
    conductor(&world, &["rehearse", "../out/tasks.yaml", "-p", "3"]).expect(0).says("20m");
    conductor(&world, &args).expect(2).says("tasks.yaml is there already");
}

#[test]
fn without_a_folder_the_plan_is_kept_with_the_planners_answers() {
    let world = world(&[("analysis", SIX), ("plan", &todo(|_| String::new()))]);
    let args = ["orchestrate", "build a todo app", "--agent", "planner", "--json", "--", "--fail-fast"];
    let ended = conductor(&world, &args).expect(0);
    assert!(ended.json_lines().len() > 12, "events of the run");
    let plans: Vec<_> = fs::read_dir(world.home().join("plans")).unwrap().flatten().collect();
    assert_eq!(plans.len(), 1);
    assert!(plans[0].path().join("tasks.yaml").exists());
    assert!(!world.path("repo/tasks.yaml").exists());
}

#[test]
fn one_cap_holds_for_planner_and_tasks() {
    let world = world(&[("analysis", SIX), ("plan", &todo(|_| String::new()))]);
    // Every answer costs 0.006: two for the plan, and the first task uses up the rest.
    let args = ["orchestrate", "build a todo app", "--agent", "planner", "--budget", "1", "--max-cost"];
    let ended = conductor(&world, &[&args[..], &["0.017"]].concat()).expect(6);
    drop(ended.says("planning: 2200 tokens"));
    assert!(world.summary()["completed"].as_u64().unwrap() < 6);
    conductor(&world, &[&args[..], &["0.001"]].concat()).expect(6).says("the planner cost more than $0.0010");
}

#[test]
fn a_bad_plan_runs_nothing() {
    let none = r#"{"tasks": []}"#;
    let world = world(&[("analysis", SIX), ("plan", none), ("repair", none)]);
    conductor(&world, &["orchestrate", "build it", "--agent", "planner"]).expect(3).says("has no tasks");
    conductor(&world, &["orchestrate", "build it", "--", "--no-such"]).expect(2).says("after `--`");
    assert!(world.runs().is_empty());
}

#[test]
fn claude() {
    plans_and_does_it(Agent::Claude, "claude-opus-5-5");
}

#[test]
fn codex() {
    plans_and_does_it(Agent::Codex, "gpt-5.5-codex");
}

#[test]
fn claude_is_given_nothing_to_change_anything_with() {
    let Some(bench) = Bench::new(Agent::Claude, "", "  - { id: none, run: 'true' }\n") else { return };
    bench.script("planner", Script::new().run("touch evil.txt").finish(SIX));
    let ended =
        conductor(&bench.world, &["plan", "[[script:planner]] build it", "--model", "claude-opus-5-5"]);
    drop(ended.expect(1).says("the request offers no tool for that, only: Agent, Glob, Grep, Read, Skill"));
}

/// Whoever is slow to start is only asked for a plan.
#[test]
fn gemini() {
    plans(Agent::Gemini, "gemini-2.5-flash");
}

#[test]
fn opencode() {
    plans(Agent::Opencode, "stand-in/stand-in");
}

fn plans(agent: Agent, model: &str) {
    let Some(bench) = Bench::new(agent, "", "  - { id: none, run: 'true' }\n") else { return };
    let config = "env_pass: [OPENCODE_DISABLE_MODELS_FETCH]\n";
    fs::write(bench.world.home().join("config.yaml"), config).unwrap();
    bench.script("planner", Script::new().finish(SIX).finish(todo(|_| String::new())));
    let args = ["plan", "[[script:planner]] build a todo app", "--agent", agent.program(), "--model", model];
    let ended = bench.world.spawn(&mut command(&bench.world, &args)).ended_within(SLOW).expect(0);
    drop(ended.says("6 tasks, moderate; there is use for 2 at once"));
    assert_eq!(bench.stand_in.requests("planner").len(), 2, "one conversation");
}

fn plans_and_does_it(agent: Agent, model: &str) {
    let Some(bench) = Bench::new(agent, "", "  - { id: none, run: 'true' }\n") else { return };
    let plan = todo(|id| format!("[[script:{id}]] "));
    let evil = bench.world.path("repo/evil.txt").display().to_string();
    let deeds = match agent {
        Agent::Codex => Script::new().run(format!("touch {evil}")).write_file(&evil, "evil"),
        _ => Script::new(),
    };
    bench.script("planner", deeds.finish(SIX).finish(format!("Here it is.\n\n```json\n{plan}\n```")));
    for id in IDS {
        bench.script(id, Script::new().write_file(format!("{id}.txt"), "done\n").finish("Done."));
    }
    let args = ["orchestrate", "[[script:planner]] build a todo app", "--budget", "3", "-o", "../out"];
    let args = [&args[..], &["--agent", agent.program(), "--model", model]].concat();
    let ended = bench.world.spawn(&mut command(&bench.world, &args)).ended_within(SLOW).expect(0);
    drop(ended.says("6 of 6 completed").says("with the run: $"));
    expect_all_landed(&bench.world, &bench.world.path("out"));
    let asked = if agent == Agent::Codex { 4 } else { 2 };
    assert_eq!(
        bench.stand_in.requests("planner").len(),
        asked,
        "an analysis, a plan, and what it tried by the way"
    );
    assert!(!Path::new(&evil).exists(), "whoever plans changes nothing");
}
