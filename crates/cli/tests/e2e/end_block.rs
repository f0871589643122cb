//! The end block of a run on a user's screen: failed tasks, the verdict and the next command come last.

use crate::harness::World;
use crate::repository::{conductor, repository};
use crate::tmux::{Terminal, masked, seen};

/// Twelve tasks: nine land, two fail, one is skipped. Some have names, one an id as long as it can be.
fn twelve() -> World {
    let mut tasks = String::from("tasks:\n");
    for n in 1..=8 {
        let name = if n % 2 == 0 { format!(", name: Build part {n} of the whole") } else { String::new() };
        tasks += &format!("  - {{ id: part-{n}, run: 'seq {n} > part-{n}.txt'{name} }}\n");
    }
    tasks += "  - { id: a-task-whose-id-is-as-long-as-any-id-may-ever-be50, run: 'echo 1 > long.txt' }\n";
    tasks += "  - { id: flood, run: 'seq 300; exit 3' }\n";
    tasks += "  - { id: check, name: Check what the parts come to, run: 'echo expected 4; echo found 5; exit 1' }\n";
    tasks += "  - { id: after, run: 'true', dependencies: [check] }\n";
    repository(&tasks)
}

/// All of it but what the failed tasks said is on the screen at once, in a terminal of the usual size and in a large one.
#[test]
fn a3_twelve_tasks_fit_a_screen() {
    for (name, size) in [("80x24", (80, 24)), ("160x40", (160, 40))] {
        let mut world = twelve();
        let Some(terminal) = Terminal::open_in(&mut world, "repo", size, "run ../tasks.yaml") else { return };
        let all = terminal.ended(100);
        let screen = terminal.screen();
        for task in ["landed part-1 ", "landed a-task-", "failed flood", "failed check", "skipped after"] {
            assert!(screen.contains(task), "no {task:?} on the screen:\n{screen}");
        }
        let from = screen.find("landed part-1 ").unwrap();
        insta::assert_snapshot!(format!("end_block_{name}"), masked(terminal.world, &screen[from..]));
        assert!(all.contains("output flood\n       | 101\n"), "the last 200 lines:\n{all}");
        assert!(all.contains("       | 300\n       the end of it; all of it: "), "{all}");
        assert!(
            all.contains("       | expected 4\n       | found 5\n"),
            "all of it, where that is little:\n{all}"
        );
    }
}

/// Where there is no terminal the order is the same, and there are no colours.
#[test]
fn a3_plain_output_ends_with_the_verdict_and_the_next_command() {
    let world = twelve();
    let ended = conductor(&world, &["run", "../tasks.yaml"]).expect(100);
    let at =
        |words: &str| ended.stdout.find(words).unwrap_or_else(|| panic!("no {words:?} in\n{}", ended.stdout));
    let id = world.run_id();
    let order = [
        "output flood\n",
        "output check (Check what the parts come to)\n",
        "landed part-1 ",
        "skipped after: needs check\n",
        "files  ",
        &format!("result 9 tasks landed on conductor/{id}\n"),
        "failed flood: exit code 3\n",
        "failed check (Check what the parts come to): exit code 1\n",
        &format!("run {id} failed: 9 of 12 completed, 2 failed, 1 skipped; took "),
        &format!("next   git merge conductor/{id}\n"),
        &format!("next   conductor run --resume {id} --retry-failed\n"),
    ];
    assert!(order.map(at).is_sorted(), "{}", ended.stdout);
    assert!(ended.stdout.ends_with(order[10]) && !ended.stdout.contains('\x1b'), "{}", ended.stdout);
    for word in ["time   ", "work   ", "ledger "] {
        assert!(!ended.stdout.contains(&format!("\n{word}")), "{word} without --stats:\n{}", ended.stdout);
    }
    let shown = conductor(&world, &["runs", "show", "--stats"]).expect(0).stdout;
    for word in ["time   ", "work   ", "ledger "] {
        assert!(shown.contains(&format!("\n{word}")), "no {word} in\n{shown}");
    }
}

#[test]
fn a3_what_failed_and_the_verdict_are_coloured_on_a_terminal() {
    let mut world = repository("tasks: [{ id: bad, run: 'exit 3' }, { id: good, run: 'echo 1 > g.txt' }]");
    let run = format!("read go; {} run ../tasks.yaml", crate::harness::CONDUCTOR);
    let Some(terminal) = Terminal::with(&mut world, (80, 24), "cd repo", &run) else { return };
    let bytes = terminal.record();
    terminal.press(&["Enter"]);
    terminal.ended(100);
    let (id, sent) = (terminal.world.run_id(), seen(&bytes));
    for words in [
        "\x1b[1;31mfailed\x1b[0m bad: exit code 3".to_owned(),
        format!("\x1b[1;31mrun {id} failed: 1 of 2 completed"),
        "\x1b[32mlanded\x1b[0m good".to_owned(),
        format!("\x1b[1mconductor run --resume {id} --retry-failed\x1b[0m"),
    ] {
        assert!(sent.contains(&words), "no {words:?} in\n{sent:?}");
    }
}

/// Three that take as long as each other on two slots cannot take one and a half times as long.
#[test]
fn a8_the_figures_at_the_end_are_possible() {
    let world = repository(
        "tasks: [{ id: a, run: 'sleep 0.3' }, { id: b, run: 'sleep 0.3' }, { id: c, run: 'sleep 0.3' }]",
    );
    conductor(&world, &["run", "../tasks.yaml", "-p", "2", "--stats"]).expect(0).says("with 2 at a time");
    let summary = world.summary();
    let figure = |name: &str| summary[name].as_u64().unwrap_or_else(|| panic!("no {name} in {summary}"));
    assert!(figure("at_best_ms") >= 600, "two of them follow each other: {summary}");
    assert!(figure("at_best_ms") <= figure("elapsed_ms"), "{summary}");
}

#[test]
fn a8_one_after_the_other_is_one_at_a_time() {
    let world = repository("tasks: [{ id: a, run: 'true' }, { id: b, run: 'true' }]");
    let args = ["run", "../tasks.yaml", "--strategy", "sequential", "-p", "2", "--stats"];
    let mut dry = args.to_vec();
    dry.push("--dry-run");
    conductor(&world, &dry).expect(0).says("would run 2 tasks, 1 at a time");
    let ended = conductor(&world, &args).expect(0).says("2 tasks, 1 at a time").says("with 1 at a time");
    assert!(!ended.stderr.contains("2 at a time") && !ended.stdout.contains("2 at a time"), "{ended:?}");
}

/// Only the first of very many are listed in the log; all of them are counted.
#[test]
fn every_changed_file_is_counted() {
    let world = repository("tasks:\n  - { id: many, run: 'for i in $(seq 230); do echo $i > f$i; done' }\n");
    conductor(&world, &["run", "../tasks.yaml", "--land", "approve"]).expect(5).says("+230 -0 in 230 files");
    conductor(&world, &["review"]).expect(0).says("230 files, +230 -0");
    conductor(&world, &["review", "approve", "many"]).expect(0);
    conductor(&world, &["run", "--resume"]).expect(0).says("landed many  +230 -0 in 230 files");
}
