//! Why a task is not at work: `explain` of a live run, for each reason.

use crate::harness::{Live, World, wait_for};
use crate::questions::{self, ASKER};
use crate::repository::{conductor, start};

/// Starts the tasks, waits for the file `started`, and asks about one of them.
fn why(world: &World, args: &[&str], task: &str) -> (Live, String) {
    let live = world.start(&[&["run", "tasks.yaml"], args].concat());
    world.wait_for_file("started");
    let told = world.conductor(&["explain", task]).expect(0).stdout;
    (live, told)
}

#[track_caller]
fn expect(tasks: &str, args: &[&str], task: &str, words: &str) {
    let world = World::with(tasks);
    let (live, told) = why(&world, args, task);
    assert!(told.contains(words), "no {words:?} in\n{told}");
    assert!(!told.contains("not active"), "{told}");
    world.write("go", "");
    live.ended();
}

const HOLDS: &str = "run: AGENT touch started then await go";

#[test]
fn a_dependency() {
    let tasks = format!("tasks: [{{ id: a, {HOLDS} }}, {{ id: b, run: 'true', dependencies: [a] }}]");
    expect(&tasks, &["-p", "4"], "b", "pending in run");
    expect(&tasks, &["-p", "4"], "b", "it waits for a (running)");
}

#[test]
fn a_slot() {
    let tasks = format!("tasks: [{{ id: a, {HOLDS} }}, {{ id: b, run: 'true' }}, {{ id: c, run: 'true' }}]");
    expect(&tasks, &[], "c", "it waits for a slot: the only one is taken; 1 before it");
}

#[test]
fn a_group() {
    let tasks = format!(
        "groups: [{{ name: g, max_parallel: 1 }}]\n\
         tasks: [{{ id: a, group: g, {HOLDS} }}, {{ id: b, group: g, run: 'true' }}]"
    );
    expect(&tasks, &["-p", "4"], "b", "it waits for its group g, of which 1 may run at once; a has it");
}

#[test]
fn a_resource() {
    let tasks = format!(
        "limits: {{ resources: {{ gpu: 2 }} }}\n\
         tasks: [{{ id: a, resources: {{ gpu: 2 }}, {HOLDS} }}, {{ id: b, resources: {{ gpu: 1 }}, run: 'true' }}]"
    );
    let words = "it waits for resource gpu: it wants 1, 0 of 2 are free; a has it";
    expect(&tasks, &["-p", "4"], "b", words);
}

#[test]
fn files() {
    let tasks = format!(
        "tasks: [{{ id: a, files: ['src/**'], {HOLDS} }}, {{ id: b, files: [src/x.rs], run: 'true' }}]"
    );
    expect(&tasks, &["-p", "4"], "b", "it waits for files it would touch, which a is to land first");
}

#[test]
fn a_retry() {
    let world = World::with(
        "tasks: [{ id: a, run: 'false', retry_policy: { max_attempts: 2, initial_delay: 50m } }]",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    live.wait_for_stderr("retry   a");
    let told = world.conductor(&["explain", "a"]).expect(0).stdout;
    assert!(told.contains("waiting in run"), "{told}");
    assert!(
        told.contains("it waits to be tried again in ") && told.contains(", after 1 that failed"),
        "{told}"
    );
    let json = world.conductor(&["explain", "a", "--json"]).expect(0).json();
    assert_eq!((&json["live"], &json["waits"][0]["on"]), (&true.into(), &"retry".into()));
    world.conductor(&["cancel", "a"]).expect(0);
    live.ended().expect(9);
}

#[test]
fn a_pause() {
    let tasks = format!("tasks: [{{ id: a, {HOLDS} }}, {{ id: b, run: 'true' }}]");
    let world = World::with(&tasks);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    world.conductor(&["pause"]).expect(0).says("is paused; 1 task is at work and goes on");
    world.conductor(&["pause"]).expect(4).says("paused already");
    world.write("go", "");
    wait_for("a's end", || (world.logged("task_completed") == ["a"]).then_some(()));
    world.conductor(&["explain", "b"]).expect(0).says("it waits because the run is paused: conductor resume");
    world.conductor(&["status"]).expect(0).says("paused, 1 of 2 done");
    world.conductor(&["resume"]).expect(0).says("goes on");
    live.ended().expect(0);
}

#[test]
fn a_budget() {
    let tasks = format!("tasks: [{{ id: a, {HOLDS} }}, {{ id: b, run: 'true' }}]");
    let words = "it waits because the run's budget is reached: 1 of 1 attempt; nothing new starts";
    expect(&tasks, &["-p", "4", "--max-attempts", "1"], "b", words);
    let world = World::with(&tasks);
    world.write("go", "");
    world.conductor(&["run", "tasks.yaml", "-p", "4", "--max-attempts", "1"]).expect(6);
    world
        .conductor(&["explain", "b"])
        .expect(0)
        .says("the run is not active, it was left at its budget")
        .says(&format!("conductor run --resume {}", world.run_id()));
}

#[test]
fn a_person() {
    let world = questions::world(questions::ASKING, &[("asker", ASKER)]);
    let live = start(&world, &["-p", "1", "--answer-within", "10m"]);
    live.wait_for_stderr("conductor task approve deploy");
    let told = conductor(&world, &["explain", "deploy"]).expect(0).stdout;
    assert!(told.contains("it waits for a person to answer: Bash: terraform apply (denied in 9m"), "{told}");
    conductor(&world, &["status"]).expect(0).says("to answer it: conductor task approve deploy");
    let json = conductor(&world, &["status", "--json"]).expect(0).json();
    assert_eq!(json["questions"][0]["question"], "Bash: terraform apply");
    conductor(&world, &["task", "deny", "deploy"]).expect(0);
    live.ended().expect(0);
}

#[test]
fn a_provider() {
    let parked = r#"read -r task; echo '{"type":"result","ok":false,"class":"usage_limit","resets_at":99999999999,"text":"no"}'"#;
    let tasks = "tasks: [{ id: a, prompt: Do it, agent: parked }, { id: b, prompt: Do it, agent: parked }]";
    let world = questions::world(tasks, &[("parked", parked)]);
    let live = start(&world, &["-p", "1"]);
    live.wait_for_stderr("takes nothing more until");
    let told = wait_for("a's end", || {
        let told = conductor(&world, &["explain", "b"]).expect(0).stdout;
        told.contains("whose provider").then_some(told)
    });
    assert!(told.contains("it waits for agent parked, whose provider takes nothing more for "), "{told}");
    conductor(&world, &["status"]).expect(0).says("whose provider takes nothing more");
    conductor(&world, &["cancel", "--all"]).expect(0);
    live.ended().expect(9);
}
