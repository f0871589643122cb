//! Coverage and lint, measured on work that is about to land and on what it started from.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::repository::{checkout, expect_tidy, on_branch, repository, start};

fn part<'s>(result: &'s Value, name: &str) -> &'s Value {
    let parts = result["quality"]["parts"].as_array().unwrap();
    parts.iter().find(|part| part["name"] == name).unwrap()
}

/// A tenth of a line's worth of coverage for each line of `f.txt`, and a finding for each line that says TODO, in the
/// forms that coverage.py and a compiler have. Both leave a file behind.
const TOOLS: &str = "
config:
  on_conflict: theirs
  measure:
    coverage: 'echo $PWD >> HERE/covered; echo x > left.txt; printf \"TOTAL  9  1  %s%%\\n\" $((10 * $(wc -l < f.txt)))'
    lint: 'echo x >> HERE/linted; echo y > left.txt; grep -n TODO f.txt | sed \"s/^\\([0-9]*\\):/f.txt:\\1:1: /\"; ! grep -q TODO f.txt'
";

#[test]
fn a_change_is_told_from_what_it_started_from() {
    for isolation in ["worktree", "clone"] {
        let world = repository(&format!(
            "{TOOLS}
tasks:
  - {{ id: good, run: 'echo d >> f.txt; AGENT make HERE/good then await HERE/worse' }}
  - {{ id: bad, run: 'AGENT await HERE/good; printf \"a\\nTODO\\n\" > f.txt; AGENT make HERE/worse' }}
"
        ));
        let before = checkout(&world);
        start(&world, &["-p", "2", "--isolation", isolation]).ended().expect(0);
        let summary = world.summary();
        let (good, bad) = (&summary["results"][0], &summary["results"][1]);
        assert_eq!(good["coverage"], json!({ "before": 30.0, "after": 40.0, "change": 10.0 }));
        assert_eq!(bad["coverage"], json!({ "before": 30.0, "after": 20.0, "change": -10.0 }));
        assert_eq!(good["lint"], json!({ "findings_before": 0, "findings_after": 0, "passed": true }));
        assert_eq!(bad["lint"], json!({ "findings_before": 0, "findings_after": 1, "passed": false }));
        assert_eq!(part(good, "coverage")["words"], "30.0 % → 40.0 %");
        assert_eq!(part(good, "coverage")["score"], 0.4);
        assert!((part(bad, "coverage")["score"].as_f64().unwrap() - 0.2 * 2.0 / 3.0).abs() < 1e-9);
        assert_eq!((&part(good, "lint")["score"], &part(bad, "lint")["score"]), (&json!(1.0), &json!(0.25)));
        assert_eq!(summary["average_test_coverage"], 30.0, "the mean of 40 and 20");
        assert_eq!(world.read("covered").lines().count(), 3, "two changes, and once what both started from");
        assert_eq!(world.read("linted").lines().count(), 3);
        let repo = world.path("repo").display().to_string();
        assert!(!world.read("covered").contains(&repo), "never in the user's checkout");
        let folder = world.home().join("runs").join(world.run_id());
        let report = std::fs::read_to_string(folder.join("report.md")).unwrap();
        assert!(report.contains("coverage: 30.0 % → 20.0 %; lint: 0 findings → 1 finding"), "{report}");
        assert_eq!(checkout(&world), before);
        let files = crate::repository::git(
            &world,
            &["ls-tree", "--name-only", "-r", &format!("conductor/{}", world.run_id())],
        );
        assert_eq!(files, "f.txt", "what tools leave does not land");
        let kept = crate::repository::git(&world, &["for-each-ref", "refs/conductor/rescue"]);
        assert_eq!(kept, "", "nor is it kept as work of a task");
        expect_tidy(&world);
    }
}

#[test]
fn what_cannot_be_measured_is_reported_once_and_fails_no_task() {
    let world = repository(
        "
config: { timeout: 2s, measure: { coverage: 'echo x >> HERE/tried; sleep 600', lint: no-such-linter, within: 3s } }
tasks:
  - { id: a, run: 'echo a > a.txt' }
  - { id: b, run: 'echo b > b.txt', measure: { coverage: 'echo fine' } }
  - { id: c, run: 'echo c > c.txt', measure: { coverage: 'echo fine' } }
  - { id: plain, run: 'echo d > d.txt', measure: false }
  - { id: found, run: 'echo e > e.txt', measure: true }
",
    );
    let ended = start(&world, &["-p", "5"]).ended().expect(0);
    let told = |words: &str| ended.stderr.matches(words).count();
    assert_eq!(told("has measured nothing: it was not done within 3.0s"), 1, "{}", ended.stderr);
    assert_eq!(told("command not found: no-such-linter"), 1, "{}", ended.stderr);
    assert_eq!(told("`echo fine` tells no coverage that can be read"), 1, "of two: {}", ended.stderr);
    assert_eq!(told("coverage: auto has found no tool"), 1, "{}", ended.stderr);
    assert_eq!(world.read("tried"), "x\n", "what says nothing of the work is not asked of what was before");
    let summary = world.summary();
    assert_eq!(summary["completed"], 5);
    assert_eq!(summary["average_test_coverage"], Value::Null);
    for result in summary["results"].as_array().unwrap() {
        assert_eq!((&result["coverage"], &result["lint"]), (&Value::Null, &Value::Null), "{result}");
    }
    expect_tidy(&world);
}

#[test]
fn a_report_is_read_from_its_file_and_never_an_old_one() {
    let lcov = "printf \"SF:f\\nDA:1,1\\nDA:2,0\\nend_of_record\\n\"";
    let world = repository(&format!(
        "
tasks:
  - {{ id: new, run: 'echo a > a.txt', measure: {{ coverage: {{ run: 'mkdir -p out; {lcov} > out/lcov.info', report: out/lcov.info }} }} }}
  - {{ id: old, run: 'echo b > b.txt; {lcov} > old.info', measure: {{ coverage: {{ run: 'true', report: old.info }} }} }}
  - {{ id: away, run: 'echo c > c.txt; {lcov} > HERE/away.info; ln -s HERE away', measure: {{ coverage: {{ run: 'true', report: away/away.info }} }} }}
  - {{ id: unready, setup: 'test ! -f HERE/second || exit 3; touch HERE/second', run: 'echo d > d.txt', measure: {{ coverage: 'echo \"TOTAL 50%\"' }} }}
"
    ));
    let ended = start(&world, &[])
        .ended()
        .expect(0)
        .says("has written no old.info")
        .says("has written no away/away.info");
    assert!(ended.stderr.contains("exit 3; touch"), "{}", ended.stderr);
    assert!(ended.stderr.contains("fails there"), "{}", ended.stderr);
    let results = &world.summary()["results"];
    assert_eq!(results[0]["coverage"], json!({ "before": 50.0, "after": 50.0, "change": 0.0 }));
    assert_eq!((&results[1]["coverage"], &results[2]["coverage"]), (&Value::Null, &Value::Null));
    assert_eq!(
        results[3]["coverage"],
        json!({ "before": null, "after": 50.0, "change": null }),
        "after only"
    );
    assert_ne!(world.read("away.info"), "", "what lies outside is not touched");
    assert!(on_branch(&world, "old.info").contains("SF:f"), "nor what the task has made");
    expect_tidy(&world);
}

#[test]
fn a_task_that_is_being_measured_can_be_stopped() {
    let world = repository(
        "tasks: [{ id: a, run: 'echo a > a.txt', measure: { coverage: 'AGENT make HERE/measuring then sleep 600' } }]",
    );
    let live = start(&world, &[]);
    world.wait_for_file("measuring");
    live.signal(Signal::INT);
    live.wait_for_stderr("starting nothing new");
    live.signal(Signal::INT);
    live.ended().expect(0);
    assert_eq!(on_branch(&world, "a.txt"), "a");
    assert_eq!(world.summary()["results"][0]["coverage"], Value::Null);
    expect_tidy(&world);
}
