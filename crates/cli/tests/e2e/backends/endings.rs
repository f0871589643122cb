//! A task is never done on the agent's say-so, nor by an exit code alone.

use std::path::Path;

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::{Bench, for_each_agent, prompt};
use crate::repository::{expect_tidy, git};

for_each_agent!(are_judged_by_what_is_there);

/// Not in the system's folder for temporary files, where tests live otherwise: one of them may write there.
const OUTSIDE: &str = env!("CARGO_TARGET_TMPDIR");

/// A false "done" is no change, nothing is written out of bounds, caps hold, and an agent that dies has not
/// finished.
fn are_judged_by_what_is_there(agent: Agent) {
    let tasks = [
        prompt("liar", ""),
        prompt("stray", ""),
        prompt("forbidden", ""),
        prompt("turns", "max_turns: 2"),
        prompt("exact", "max_turns: 2"),
        prompt("dies", "retry_policy: { max_attempts: 2, initial_delay: 0 }"),
    ];
    let config = "retry_policy: { max_attempts: 1 }";
    let Some(bench) = Bench::new(agent, config, &tasks.concat()) else { return };
    let here = |name: &str| bench.world.path(name).display().to_string();
    let outside = Path::new(OUTSIDE).join(format!("stray-{}.txt", fastrand::u64(..)));
    bench.script("liar", Script::new().finish("All done, everything is written."));
    bench.script("stray", Script::new().write_file(outside.display().to_string(), "x\n").finish("Written."));
    bench.script("forbidden", Script::new().run("git push origin main; touch pushed.txt").finish("Pushed."));
    let steps = (0..6).fold(Script::new(), |script, n| script.run(format!("echo {n} >> n.txt")));
    bench.script("turns", steps.finish("Counted."));
    bench.script("exact", Script::new().run("echo 1 > exact.txt").finish("Just in time."));
    let wait = format!("until test -e {}; do sleep 0.05; done", here("go"));
    bench.script("dies", Script::new().write_file("half.txt", "x\n").run(wait).finish("Written."));

    let live = bench.run(&["-p", "3"]);
    bench.await_requests("dies", 2);
    bench.kill(&live, "dies");
    bench.world.write("go", "");
    live.ended_within(super::SLOW).expect(100);

    let summary = bench.world.summary();
    let mut told = Vec::new();
    for result in summary["results"].as_array().unwrap() {
        println!("{} {} {}", result["task_id"], result["attempts"], result["error"]);
        let class = result["error"]["class"].as_str().unwrap_or("completed").to_owned();
        told.push((class, result["attempts"].as_u64().unwrap()));
    }
    let expected = [
        ("no_changes", 1),
        ("no_changes", 1),
        ("no_changes", 1),
        ("budget", 1),
        ("completed", 1),
        ("completed", 2),
    ];
    assert_eq!(told, expected.map(|(class, attempts)| (class.to_owned(), attempts)));
    // Codex lets itself write to the system's folder for temporary files, and we may be built in there.
    let its_own = agent == Agent::Codex && outside.starts_with(std::env::temp_dir());
    assert!(its_own || !outside.exists(), "what is outside of the workspace stays as it is");
    assert!(bench.said("forbidden").contains("[denied]"), "{}", bench.said("forbidden"));
    // The tools of gemini refuse that themselves.
    assert!(agent == Agent::Gemini || bench.said("stray").contains("[denied]"), "{}", bench.said("stray"));
    assert_eq!(bench.classes("dies"), ["unfinished"], "its first attempt");
    let kept = git(&bench.world, &["for-each-ref", "--format=%(refname)", "refs/conductor/rescue"]);
    assert!(kept.contains("/dies/1"), "what it had written is kept: {kept}");
    assert_eq!(bench.landed("half.txt"), "x");
    expect_tidy(&bench.world);
}

/// Without a final result, an exit code of 0 is no success.
mod with_zero_in_the_middle {
    use super::*;

    for_each_agent!(are_no_ends);

    fn are_no_ends(agent: Agent) {
        let config = "retry_policy: { max_attempts: 1 }";
        let Some(mut bench) = Bench::new(agent, config, &prompt("leaves", "")) else { return };
        bench.always_exits_with_zero(agent);
        let script = Script::new().write_file("half.txt", "x\n").run("tail -f /dev/null").finish("Written.");
        bench.script("leaves", script);
        let live = bench.run(&[]);
        bench.await_requests("leaves", 2);
        bench.kill_below(&live, "leaves");
        live.ended().expect(100);
        let result = &bench.world.summary()["results"][0];
        println!("{}", result["error"]["message"]);
        assert_eq!((&result["status"], &result["error"]["class"]), (&"failed".into(), &"unfinished".into()));
        assert_eq!(bench.world.summary()["ledger"]["landed"], 0);
        expect_tidy(&bench.world);
    }
}
