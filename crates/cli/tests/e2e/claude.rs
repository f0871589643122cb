//! The real Claude Code, against a stand-in for its model: prompts that land, go wrong, and are paid for.

use conductor_testkit::agents::{Agent, Lodging, or_skip};
use conductor_testkit::{Fault, Kind, Script, StandIn, UsageLimit};

use crate::harness::World;
use crate::repository::{command, expect_tidy, git, repository};

/// A repository in which prompts are done by Claude Code. Which script it follows is told by a mark in the prompt.
struct Bench {
    world: World,
    stand_in: StandIn,
}

impl Bench {
    /// Nothing, and a loud word, where the program cannot be had.
    fn new(tasks: &str) -> Option<Bench> {
        let bin = or_skip(Agent::Claude)?;
        let stand_in = StandIn::start_blocking().unwrap();
        let mut world = repository(tasks);
        let home = world.root().join("user");
        let base_url = stand_in.base_url("none");
        let lodging = Lodging { bin: &bin, home: &home, base_url: &base_url, retries: 1 };
        for (name, value) in lodging.furnish(Agent::Claude).unwrap() {
            world.set(name, value);
        }
        Some(Bench { world, stand_in })
    }

    fn run(&self, args: &[&str]) -> crate::harness::Live {
        self.world.spawn(&mut command(&self.world, &[&["run", "../tasks.yaml"], args].concat()))
    }

    fn landed(&self, file: &str) -> String {
        git(&self.world, &["show", &format!("conductor/{}:{file}", self.world.run_id())])
    }
}

/// Three tasks: one writes, one builds on it, one meets the first and mends the conflict in a second round.
#[test]
fn a_graph_of_prompts_is_written_built_upon_mended_verified_and_merged() {
    let tasks = "
config: { model: claude-opus-5-5 }
tasks:
  - { id: write, prompt: '[[script:write]] Write the greeting', verify: [test -s hello.txt] }
  - { id: depend, prompt: '[[script:depend]] Build on it', dependencies: [write], verify: [test -s copy.txt] }
  - { id: clash, prompt: '[[script:clash]] Change the second line', verify: ['! grep -q wrong f.txt'] }
";
    let Some(bench) = Bench::new(tasks) else { return };
    let path = |name: &str| bench.world.path(name).display().to_string();
    let scripts = [
        (
            "write",
            Script::new().write_file("hello.txt", "hello\n").edit("f.txt", "b", "FIRST").finish("Written."),
        ),
        ("depend", Script::new().run("cp hello.txt copy.txt").finish("Copied.")),
        (
            "clash",
            Script::new()
                .edit("f.txt", "b", "SECOND")
                .run(format!("while [ ! -e {} ]; do sleep 0.05; done", path("go")))
                .finish("Changed.")
                .run("printf 'a\nFIRST and SECOND\nc\n' > f.txt")
                .finish("Mended."),
        ),
    ];
    for (name, script) in scripts {
        bench.stand_in.script(name, script);
    }
    let live = bench.run(&["-p", "4"]);
    crate::harness::wait_for("the first to land", || {
        bench.world.logged("task_completed").contains(&"write".to_owned()).then_some(())
    });
    bench.world.write("go", "");
    let ended = live.ended();
    println!("{}", String::from_utf8_lossy(&bench.world.transcript("clash")));
    println!(
        "{:?}",
        bench.stand_in.requests("clash").iter().map(|r| format!("{:?}", r)).collect::<Vec<_>>().join("\n")
    );
    println!("{}", bench.world.sql("select substr(body,1,300) from events where body like '%clash%'"));
    let ended = ended.expect(0).says("3 claimed, 3 verified, 3 landed; 0 lost, 0 leaked");
    assert_eq!(bench.landed("copy.txt"), "hello");
    assert_eq!(bench.landed("f.txt"), "a\nFIRST and SECOND\nc");
    assert!(bench.world.summary()["cost_usd"].as_f64().unwrap() > 0.02, "{}", ended.stdout);
    expect_tidy(&bench.world);
}

/// None of these is a success; each has its class, and only what may pass by itself is tried again.
#[test]
fn whatever_the_provider_says_no_to_is_no_success() {
    let kinds = [
        (Kind::Authentication, "unauthorized", 1),
        (Kind::Permission, "unauthorized", 1),
        (Kind::ModelNotFound, "unknown_model", 1),
        (Kind::RateLimit, "rate_limited", 2),
        (Kind::Overloaded, "overloaded", 2),
        (Kind::PromptTooLong, "too_long", 1),
        (Kind::CreditTooLow, "billing", 1),
    ];
    let tasks: String =
        (0..kinds.len()).map(|n| format!("  - {{ id: t{n}, prompt: '[[script:s{n}]] Do it' }}\n")).collect();
    let tasks =
        format!("config: {{ retry_policy: {{ max_attempts: 2, initial_delay: 0 }} }}\ntasks:\n{tasks}");
    let Some(bench) = Bench::new(&tasks) else { return };
    for (n, (kind, _, _)) in kinds.iter().enumerate() {
        bench.stand_in.script(&format!("s{n}"), Script::new().error(Fault::of(*kind)));
    }
    bench.run(&["-p", "2"]).ended().expect(100);
    let summary = bench.world.summary();
    for (n, (kind, class, attempts)) in kinds.iter().enumerate() {
        let result = &summary["results"][n];
        assert_eq!(result["status"], "failed", "{kind:?}");
        assert_eq!(result["error"]["class"], *class, "{kind:?}: {}", result["error"]);
        assert_eq!(result["attempts"], *attempts, "{kind:?}");
    }
    assert_eq!(summary["ledger"]["landed"], 0);
    expect_tidy(&bench.world);
}

#[test]
fn a_lie_is_no_change_a_foreign_path_is_denied_and_an_end_without_a_word_is_none() {
    let tasks = "
config: { retry_policy: { max_attempts: 1 } }
tasks:
  - { id: liar, prompt: '[[script:liar]] Write it' }
  - { id: stray, prompt: '[[script:stray]] Write it there', changes: optional }
  - { id: dies, prompt: '[[script:dies]] Write it' }
";
    let Some(bench) = Bench::new(tasks) else { return };
    let outside = bench.world.path("outside.txt").display().to_string();
    bench.stand_in.script("liar", Script::new().finish("All done, everything is written."));
    bench.stand_in.script("stray", Script::new().write_file(outside, "x").finish("Written."));
    bench.stand_in.script(
        "dies",
        Script::new().write_file("half.txt", "x").run("kill -9 $PPID").finish("Not reached."),
    );
    bench.run(&["-p", "3"]).ended().expect(100);
    let results = &bench.world.summary()["results"];
    assert_eq!(results[0]["error"]["class"], "no_changes");
    assert!(!bench.world.path("outside.txt").exists(), "what is outside of the workspace is denied");
    assert!(String::from_utf8(bench.world.transcript("stray")).unwrap().contains("[denied] Write"));
    assert_eq!(results[2]["error"]["class"], "unfinished");
    let kept = git(&bench.world, &["for-each-ref", "--format=%(refname)", "refs/conductor/rescue"]);
    assert!(kept.contains("/dies/1"), "what it had written is kept: {kept}");
    expect_tidy(&bench.world);
}

/// A call costs about 0.0055 dollars here; the cap of the task ends it while it works.
#[test]
fn a_cap_on_money_holds_while_the_agent_works() {
    let tasks =
        "tasks: [{ id: a, prompt: '[[script:long]] Do a lot', model: claude-opus-5-5, max_cost: 0.012 }]";
    let Some(bench) = Bench::new(tasks) else { return };
    let script = (0..40).fold(Script::new(), |script, n| script.run(format!("echo {n} >> n.txt; sleep 0.1")));
    bench.stand_in.script("long", script.finish("Done."));
    bench.run(&[]).ended().expect(100).says("reached its own budget");
    let cost = bench.world.summary()["cost_usd"].as_f64().unwrap();
    assert!((0.012..0.025).contains(&cost), "{cost}");
    expect_tidy(&bench.world);
}

/// C9: the allowance is used up. The slot is free for others; at the reset the same conversation goes on.
#[test]
fn a_used_up_allowance_parks_the_agent_and_goes_on_at_its_reset() {
    let tasks = "
tasks:
  - { id: agent, prompt: '[[script:limit]] Write it', retry_policy: { max_attempts: 1 } }
  - { id: other, run: 'echo 1 > other.txt' }
";
    let Some(mut bench) = Bench::new(tasks) else { return };
    bench.world.unset("ANTHROPIC_API_KEY");
    bench.world.set("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-dummy");
    let script = Script::new()
        .write_file("first.txt", "1\n")
        .usage_limit(UsageLimit::lasting(4))
        .write_file("second.txt", "2\n")
        .finish("Written.");
    bench.stand_in.script("limit", script);
    bench.run(&[]).ended().expect(0).says("2 of 2 completed");
    assert_eq!(bench.world.logged("provider_parked").len(), 1, "one probe, not a stampede");
    let started = bench.world.logged("attempt_started");
    assert_eq!(started, ["agent", "other", "agent"], "the slot was free meanwhile");
    assert_eq!((bench.landed("first.txt"), bench.landed("second.txt")), ("1".into(), "2".into()));
    assert_eq!(bench.world.summary()["results"][0]["interruptions"], 1, "not an attempt");
    expect_tidy(&bench.world);
}
