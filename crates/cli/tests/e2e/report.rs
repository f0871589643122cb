//! `report`: a page, Markdown or JSON of a run that is over, failed or at work; and estimates against actuals.

use std::path::Path;

use crate::harness::World;
use crate::repository::{conductor, repository};

const HOSTILE: &str = "
tasks:
  - { id: first, name: '<script>alert(1)</script>', run: 'echo made > made.txt', verify: ['test -s made.txt'] }
  - { id: second, run: 'true', dependencies: [first], estimate: 10m }
";

#[test]
fn a_run_that_is_over_is_told_in_every_form() {
    let world = repository(HOSTILE);
    conductor(&world, &["report"]).expect(4).says("nothing has been run here yet");
    conductor(&world, &["run", "../tasks.yaml", "-o", "out"]).expect(0);
    let written = world.read("repo/out/report.html");
    let told = conductor(&world, &["report"]).expect(0).stdout;
    assert!(told.trim_end().ends_with("out/report.html"), "it goes where the run's files are: {told}");
    assert_eq!(world.read("repo/out/report.html"), written, "and tells the same at any later time");
    assert!(written.contains("&lt;script&gt;alert(1)") && !written.contains("<script"), "{written}");
    assert!(written.contains("<dt>landed</dt><dd><strong>1</strong>"), "the ledger is in it");
    let run = &world.run_id()[..4];
    conductor(&world, &["report", run, "-o", "../page.html"]).expect(0).says("../page.html");
    assert_eq!(world.read("page.html"), written);
    let page = conductor(&world, &["report", "-o", "-"]).expect(0).stdout;
    assert_eq!(page, written);
    let text = conductor(&world, &["report", "--format", "md"]).expect(0).stdout;
    assert_eq!(text, world.read("repo/out/report.md"));
    assert!(!text.contains("<script"), "{text}");
    let json = conductor(&world, &["report", "--json"]).expect(0).json();
    assert_eq!((&json["schema"], &json["ledger"]["landed"]), (&"conductor.summary/1".into(), &1.into()));
    let estimate = &json["results"][1]["estimate"];
    assert_eq!((&estimate["basis"], &estimate["samples"]), (&"estimate".into(), &serde_json::Value::Null));
    assert!(estimate["ratio"].as_f64().is_some_and(|ratio| ratio < 0.5), "{estimate}");
    assert_eq!(json["estimates"]["tasks"], 1);
    let nowhere = conductor(&world, &["report", "-o", "no/such/folder.html"]).expect(1);
    assert!(
        nowhere.stderr.contains("no/such/folder.html") && nowhere.stderr.contains("-o"),
        "{}",
        nowhere.stderr
    );
}

#[test]
fn a_failed_run_says_what_was_said_last_and_where_all_of_it_is() {
    let world = World::with(
        "tasks: [{ id: bad, run: 'echo one; echo \"<i>two</i>\" >&2; exit 3' }, { id: next, run: 'true', dependencies: [bad] }]",
    );
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let path = world.conductor(&["report"]).expect(0).stdout;
    let page = std::fs::read_to_string(path.trim_end()).unwrap();
    assert!(page.contains("exit code 3") && page.contains("one\n&lt;i&gt;two&lt;/i&gt;\n</pre>"), "{page}");
    let kept = page.split("All of it is in <code>").nth(1).and_then(|rest| rest.split("</code>").next());
    assert!(kept.is_some_and(|kept| Path::new(kept).is_file()), "{kept:?}");
    assert!(page.contains("needs bad") && page.contains("there was no repository to look into"), "{page}");
    let text = world.conductor(&["report", "--format", "md"]).expect(0).stdout;
    assert!(text.contains("### bad") && text.contains("    one\n    <i>two</i>\n"), "{text}");
}

#[test]
fn a_run_at_work_is_told_as_far_as_it_is() {
    let world = repository(
        "tasks: [{ id: first, run: 'AGENT touch HERE/started then await HERE/go' }, { id: second, run: 'true', dependencies: [first] }]",
    );
    let live = world.spawn(&mut crate::repository::command(&world, &["run", "../tasks.yaml"]));
    world.wait_for_file("started");
    let page = conductor(&world, &["report", "-o", "-"]).expect(0).stdout;
    for words in [">running<", "0 of 2", "not ended when this was written", "under way", "Not looked up"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let json = conductor(&world, &["report", "--json"]).expect(0).json();
    assert_eq!((&json["outcome"], &json["open"]), (&"running".into(), &2.into()));
    assert_eq!(json["ledger"], serde_json::Value::Null, "what is there changes while it is looked at");
    world.write("go", "");
    live.ended().expect(0);
    let page = conductor(&world, &["report", "-o", "-"]).expect(0).stdout;
    assert!(page.contains(">completed<") && page.contains("2 of 2"), "{page}");
}

/// The long one takes longer than the two others, which is what it is there for.
#[test]
fn what_former_runs_took_orders_the_next_and_is_held_against_it() {
    let world = World::with(
        "tasks: [{ id: a, run: 'true' }, { id: b, run: 'true' }, { id: long, run: 'sleep 0.5' }]",
    );
    let started = || {
        let told = world.sql(
            "SELECT json_extract(body, '$.attempt_started.task') AS task FROM events \
             WHERE task IS NOT NULL AND run = (SELECT max(run) FROM events) ORDER BY seq",
        );
        told.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let first = world.conductor(&["run", "tasks.yaml", "--stats"]).expect(0);
    assert!(!first.stdout.contains("guess"), "{}", first.stdout);
    let json = world.conductor(&["report", "--json"]).expect(0).json();
    assert_eq!(started(), ["a", "b", "long"]);
    assert_eq!(json["estimates"], serde_json::Value::Null);
    world
        .conductor(&["run", "tasks.yaml", "--stats"])
        .expect(0)
        .says("guess  3 tasks against their estimates: median error ");
    let json = world.conductor(&["report", "--json"]).expect(0).json();
    assert_eq!(started()[0], "long", "it is known to take longest");
    let estimate = &json["results"][2]["estimate"];
    assert_eq!((&estimate["basis"], &estimate["samples"]), (&"history".into(), &1.into()));
    assert!(estimate["expected_ms"].as_u64().is_some_and(|ms| ms >= 500), "{estimate}");
    let page = world.conductor(&["report", "-o", "-"]).expect(0).stdout;
    assert!(page.contains("1 former run"), "{page}");
}
