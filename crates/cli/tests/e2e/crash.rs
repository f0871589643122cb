//! A1 and A2 as far as there are no merges: the coordinator is killed at random moments and taken up again until the
//! graph is done.
//!
//! Every task leaves one line in a file. What the log had called completed before a kill must not have run again; what
//! was running may have; and every line comes after those of the tasks it waited for.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::harness::{Live, World, expect_no_leftovers};
use crate::soak::{amount, seeded};

const TASKS: usize = 200;

/// How often the coordinator is killed; a soak test asks for more.
fn points() -> usize {
    amount("CONDUCTOR_CRASH_POINTS", 25) as usize
}

struct RandomGraph {
    before: Vec<Vec<usize>>,
    text: String,
}

fn random_graph(rng: &mut Rng) -> RandomGraph {
    let mut before = Vec::new();
    let mut text = String::from("tasks:\n");
    for task in 0..TASKS {
        let mut on: Vec<usize> = (0..rng.usize(0..4))
            .filter(|_| task > 0)
            .map(|_| rng.usize(task.saturating_sub(20)..task))
            .collect();
        on.sort_unstable();
        on.dedup();
        let names: Vec<String> = on.iter().map(|on| format!("t{on}")).collect();
        let sleep = rng.u32(0..40);
        text.push_str(&format!(
            "  - {{ id: t{task}, run: AGENT sleep 0.0{sleep:02} then touch done, dependencies: [{}] }}\n",
            names.join(", ")
        ));
        before.push(on);
    }
    RandomGraph { before, text }
}

fn lines_by_task(world: &World) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in world.read("done").lines() {
        *counts.entry(line.split(' ').next().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// Starts the run, or takes it up where there is one in the store.
fn take_up(world: &World) -> Live {
    let known =
        world.database().exists() && world.try_sql("SELECT id FROM runs").is_ok_and(|runs| !runs.is_empty());
    match known {
        true => world.start(&["run", "--resume", "-p", "4"]),
        false => {
            // Killed between its folder and its first event: that is an empty folder, and goes when asked.
            if !world.runs().is_empty() {
                world.conductor(&["runs", "prune", "--yes"]).expect(0).says("an empty folder");
                assert_eq!(world.runs(), [""; 0]);
            }
            world.start(&["run", "tasks.yaml", "-p", "4"])
        }
    }
}

/// Lets it live for a random while; whether it ended by itself.
fn lives_through(live: &mut Live, rng: &mut Rng) -> bool {
    let end = Instant::now() + Duration::from_millis(rng.u64(0..700));
    while Instant::now() < end {
        if !live.is_running() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// What a coordinator leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Death {
    /// All it has written.
    Killed,
    /// What was on the disk, and of the rest what happened to be there.
    PowerCut,
}

#[test]
fn killed_at_random_moments_nothing_is_lost_and_nothing_done_twice() {
    die_often(Death::Killed);
}

/// What was told as completed stays so; what was only written may be done again.
#[test]
fn without_power_at_random_moments_nothing_that_was_told_is_lost() {
    die_often(Death::PowerCut);
}

fn die_often(death: Death) {
    let mut rng = seeded();
    let mut kills = 0;
    while kills < points() {
        kills += crash_one_graph(&mut rng, points() - kills, death);
    }
    println!("{kills} kills");
}

/// Kills the coordinator of one graph until it is done, or often enough; how often that was.
fn crash_one_graph(rng: &mut Rng, most: usize, death: Death) -> usize {
    let graph = random_graph(rng);
    let world = World::with(&graph.text);
    let mut completed = BTreeMap::new();
    let mut kills = 0;
    loop {
        let mut live = take_up(&world);
        if kills == most || lives_through(&mut live, rng) {
            let ended = live.ended();
            expect_no_failure(&world);
            ended.expect(0).says(&format!("{TASKS} of {TASKS} completed"));
            break;
        }
        live.child.kill().unwrap();
        live.child.wait().unwrap();
        kills += 1;
        if death == Death::PowerCut {
            lose_a_part_of_the_journal(&world, rng);
        }
        expect_no_failure(&world);
        note_completed(&world, &mut completed, death);
        if completed.len() == TASKS && world.sql("SELECT status FROM runs").trim() == "completed" {
            // The last kill came after the last event: what is left are the last steps, if they are.
            let id = world.run_id();
            if !world.home().join("runs").join(&id).join("exit_code").exists() {
                world.conductor(&["run", "--resume"]).expect(0).says("last steps");
            }
            world.conductor(&["run", "--resume"]).expect(4);
            world.conductor(&["run", "--resume", &id]).expect(4);
            assert_eq!(world.summary()["completed"], TASKS, "a report is made late rather than never");
            break;
        }
    }
    check(&world, &graph, &completed, death);
    kills
}

fn lose_a_part_of_the_journal(world: &World, rng: &mut Rng) {
    for run in world.runs() {
        let journal = world.home().join("runs").join(run).join("journal");
        let Ok(bytes) = std::fs::read(&journal) else { continue };
        let mut left = bytes[..rng.usize(0..=bytes.len())].to_vec();
        if rng.bool() && !left.is_empty() {
            // A block that was made longer and never filled.
            let from = rng.usize(0..left.len());
            left[from..].fill(0);
        }
        std::fs::write(&journal, left).unwrap();
    }
}

/// No task here can fail by itself, and being killed with the coordinator is no failure.
fn expect_no_failure(world: &World) {
    let failed =
        "SELECT seq, body FROM events WHERE json_extract(body, '$.attempt_ended.outcome.failed') IS NOT NULL";
    let failed = world.try_sql(failed).unwrap_or_default();
    assert!(failed.is_empty(), "{failed}\nlog:\n{}", around(world, &failed));
}

/// What the log says before and after the first of these.
fn around(world: &World, failed: &str) -> String {
    let seq: i64 = failed.split('|').next().and_then(|seq| seq.parse().ok()).unwrap_or(0);
    world.sql(&format!(
        "SELECT seq, at, substr(body, 1, 200) FROM events WHERE seq BETWEEN {} AND {}",
        seq - 12,
        seq + 4
    ))
}

/// Remembers how often each completed task had run; those known before must not have run since.
fn note_completed(world: &World, completed: &mut BTreeMap<String, usize>, death: Death) {
    let counts = lines_by_task(world);
    let known = match death {
        Death::Killed => world.logged("task_completed"),
        Death::PowerCut => world.synced("task_completed"),
    };
    for task in known {
        let now = counts.get(&task).copied().unwrap_or(0);
        let before = completed.entry(task.clone()).or_insert(now);
        assert_eq!(*before, now, "{task} ran again after it was completed");
    }
}

fn check(world: &World, graph: &RandomGraph, completed: &BTreeMap<String, usize>, death: Death) {
    let counts = lines_by_task(world);
    assert_eq!(counts.len(), TASKS, "every task has left a line");
    for (task, count) in completed {
        assert_eq!(counts[task], *count, "{task} ran again after it was completed");
    }
    let mut started: BTreeMap<String, usize> = BTreeMap::new();
    for task in world.logged("attempt_started") {
        *started.entry(task).or_default() += 1;
    }
    for (task, count) in counts.iter().filter(|_| death == Death::Killed) {
        assert!(started[task] >= *count, "{task}: {count} lines, but {} attempts in the log", started[task]);
    }
    expect_order(world, graph);
    let run = world.sql("SELECT id FROM runs");
    assert_eq!(run.lines().count(), 1, "one run, taken up again and again");
    assert_eq!(world.sql("PRAGMA integrity_check").trim(), "ok");
    expect_no_leftovers(run.trim());
}

fn expect_order(world: &World, graph: &RandomGraph) {
    let mut seen = [false; TASKS];
    for line in world.read("done").lines() {
        let task: usize = line.split(' ').next().unwrap()[1..].parse().unwrap();
        for &on in &graph.before[task] {
            assert!(seen[on], "t{task} ran before t{on}");
        }
        seen[task] = true;
    }
}
