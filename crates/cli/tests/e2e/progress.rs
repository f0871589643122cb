//! Progress where there is no terminal: plain lines with a heartbeat, and commands for GitHub Actions.

use crate::harness::World;

#[test]
fn a_heartbeat_says_what_is_running_where_nothing_else_is_said() {
    let world = World::with("tasks: [{ id: slow, run: AGENT await go }]");
    let live = world.start(&["run", "tasks.yaml", "--heartbeat", "100ms"]);
    live.wait_for_stderr("conductor: still running 1: slow (");
    world.write("go", "");
    let ended = live.ended().expect(0);
    assert!(!ended.stderr.contains('\x1b'), "no colours, no drawing: {}", ended.stderr);
}

#[test]
fn github_gets_groups_annotations_and_a_summary() {
    let mut world = World::with(
        "
tasks:
  - { id: good, run: 'echo ::set-output name=x::y' }
  - { id: bad, run: 'echo about to fail; exit 3', dependencies: [good] }
  - { id: after, run: 'true', dependencies: [bad] }
",
    );
    world.set("GITHUB_ACTIONS", "true");
    world.set("NO_COLOR", "1");
    world.set("GITHUB_STEP_SUMMARY", world.path("summary.md"));
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(100);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let at = |wanted: &str| {
        let found = lines.iter().position(|line| line.starts_with(wanted));
        found.unwrap_or_else(|| panic!("no {wanted:?} in\n{}", ended.stderr))
    };
    let token = lines[at("::stop-commands::")].trim_start_matches("::stop-commands::");
    let said = at("::set-output name=x::y");
    assert!(at("::group::[1/3] ok      good") < said && said < at(&format!("::{token}::")));
    assert!(at("::group::[2/3] FAILED  bad") < at("about to fail"));
    assert_eq!(lines[at("::error ")], "::error title=bad failed::exit code 3");
    assert_eq!(lines[at("::warning ")], "::warning title=after was skipped::it needs bad");
    let summary = world.read("summary.md");
    assert!(summary.starts_with(&format!("# Run {}: failed\n", world.run_id())), "{summary}");
    assert!(summary.contains("| bad | failed |"), "{summary}");
}

/// Everything but paths, commands and what tasks said, which stay whole to be copied.
#[test]
fn the_end_block_fits_eighty_columns() {
    let long = "no user reads lines that go on and on without an end ".repeat(4);
    let world = World::with(&format!(
        "
tasks:
  - {{ id: a-task-whose-name-is-nearly-as-long-as-it-can-be, run: 'echo {long}; exit 3' }}
  - {{ id: b, run: 'no-such-program {long}', dependencies: [{{ id: c, when: finished }}] }}
  - {{ id: c, run: 'exit 4' }}
  - {{ id: d, run: 'true', dependencies: [a-task-whose-name-is-nearly-as-long-as-it-can-be] }}
"
    ));
    let ended = world.conductor(&["run", "tasks.yaml", "-p", "2", "--stats"]).expect(100);
    let ours = |line: &&str| !line.contains("/state/runs/") && !line.starts_with("       |");
    let prose = ended.stdout.lines().filter(ours);
    for line in prose {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
    for word in ["time   ", "work   ", "shares ", "files  ", "next   conductor run --resume "] {
        assert!(ended.stdout.contains(&format!("\n{word}")), "no {word:?} in {}", ended.stdout);
    }
    let summary = world.summary();
    assert!(summary["at_best_ms"].is_u64() && summary["time"]["working_ms"].is_u64(), "{summary}");
    assert_eq!(summary["tasks_per_executor"].as_array().unwrap().len(), 2, "{summary}");
}
