//! Runs whose logs are in PostgreSQL, as the user of two machines meets them. Each world is a machine.

use conductor_testkit::servers::{self, Postgres};
use rustix::process::Signal;
use serde_json::json;

use crate::harness::{Ended, World};
use crate::server::client::Served;

const TASKS: &str = "tasks: [{ id: a, run: echo one }, { id: b, run: echo two, dependencies: [a] }]\n";

const WAITS: &str = "tasks: [{ id: a, run: 'touch begun; while [ ! -e go ]; do sleep 0.05; done' }]\n";

fn conductor(world: &World, args: &[&str]) -> Ended {
    world.conductor(args)
}

fn machine(address: &str, tasks: &str) -> World {
    let mut world = World::in_place(tasks);
    world.set("CONDUCTOR_STORE", address);
    world
}

/// One after the other: a server is started once.
#[test]
fn runs_on_a_store_that_machines_share() {
    let Some(server) = servers::or_skip(Postgres::start()) else { return };
    the_commands_work_as_they_do_on_a_file(&server);
    one_machine_sees_what_another_drives_and_leaves_it_alone(&server);
    a_server_starts_nothing_that_another_machine_drives(&server);
    a_machine_that_is_gone_leaves_its_run_to_another(&server);
    runs_move_house_and_back(&server);
    what_is_wrong_with_the_address_is_said(&server);
}

fn the_commands_work_as_they_do_on_a_file(server: &Postgres) {
    let world = machine(&server.database("verbs"), TASKS);
    conductor(&world, &["run", "tasks.yaml"]).expect(0);
    assert!(!world.database().exists(), "nothing is kept in a file");
    let listed = conductor(&world, &["runs", "--json"]).expect(0).json();
    assert_eq!(listed["runs"][0]["state"], "completed", "{listed}");
    conductor(&world, &["status"]).expect(0).says("completed");
    conductor(&world, &["logs", "b"]).expect(0).says("two");
    conductor(&world, &["report"]).expect(0);
    conductor(&world, &["doctor"]).says("CONDUCTOR_STORE answers: 1 run");
    world.write("tasks.yaml", "tasks: [{ id: a, run: 'test -e mended' }]\n");
    conductor(&world, &["run", "tasks.yaml"]).expect(100);
    world.write("mended", "");
    conductor(&world, &["run", "--resume", "--retry-failed"]).expect(0);
    // Without it the state directory has a database of its own, and says nothing of runs it never had.
    let mut alone = world;
    alone.unset("CONDUCTOR_STORE");
    conductor(&alone, &["runs"]).expect(0).says("nothing has been run yet");
}

fn one_machine_sees_what_another_drives_and_leaves_it_alone(server: &Postgres) {
    let address = server.database("two");
    let (here, there) = (machine(&address, WAITS), machine(&address, TASKS));
    let live = here.start(&["run", "tasks.yaml"]);
    here.wait_for_file("begun");
    let listed = conductor(&there, &["runs", "--json"]).expect(0).json();
    let run = listed["runs"][0]["run"].as_str().unwrap().to_owned();
    assert_eq!(listed["runs"][0]["state"], "running", "{listed}");
    assert!(listed["runs"][0]["driven_by"].is_string(), "{listed}");
    conductor(&there, &["run", "--resume", &run]).expect(8).says("is being worked on by the conductor of");
    conductor(&there, &["runs", "prune", "--force", "--yes"]).expect(0);
    // It is steered from there all the same: what is asked goes through the store.
    let status = conductor(&there, &["status", &run, "--json"]).expect(0).json();
    assert_eq!((&status["state"], &status["live"]), (&"running".into(), &true.into()), "{status}");
    conductor(&there, &["pause", &run]).expect(0).says("is paused");
    conductor(&there, &["pause", &run]).expect(4).says("is paused already");
    conductor(&here, &["status", "--json"]).expect(0).says("paused");
    conductor(&there, &["parallel", "7", "--run", &run]).expect(0).says("7 at a time");
    conductor(&there, &["resume", &run]).expect(0).says("goes on");
    conductor(&there, &["task", "send", "a", "hello", "--run", &run]).expect(0).says("a: sent");
    conductor(&there, &["logs", "a", "--run", &run]).expect(4).says("what the tasks of run");
    conductor(&there, &["status", &run, "--watch"]).expect(8).says("driven by another machine");
    let (events, waits) = (there.start(&["events", &run, "--follow"]), there.start(&["wait", &run]));
    here.write("go", "");
    live.ended().expect(0);
    waits.ended().expect(0);
    events.ended().expect(0).says("run_finished");
    conductor(&there, &["status", &run]).expect(0).says("completed");
    let cancelled = machine(&address, WAITS);
    let live = cancelled.start(&["run", "tasks.yaml"]);
    cancelled.wait_for_file("begun");
    let listed = conductor(&there, &["runs", "--json"]).expect(0).json();
    let run = listed["runs"][0]["run"].as_str().unwrap();
    conductor(&there, &["cancel", "--all", "--run", run]).expect(0);
    live.ended().expect(9);
}

/// Over HTTP: what another machine drives is under way, is not started twice, and can be cancelled from here.
fn a_server_starts_nothing_that_another_machine_drives(server: &Postgres) {
    let address = server.database("served");
    let (here, there) = (machine(&address, WAITS), machine(&address, TASKS));
    let folder = here.path("tasks.yaml").parent().unwrap().display().to_string();
    conductor(&there, &["project", "add", "--id", "web", &folder]).expect(0);
    let live = here.start(&["run", "tasks.yaml"]);
    here.wait_for_file("begun");
    let run = here.run_id();
    let served = Served::start(&there);
    let status = served.get("/api/projects/web/parallel/status");
    assert_eq!((&status["running"], &status["run"]), (&true.into(), &run.as_str().into()), "{status}");
    for path in ["/api/projects/web/parallel/start".to_owned(), format!("/api/runs/{run}/resume")] {
        let refused = served.post(&path, json!({})).expect(409).json();
        assert_eq!(refused["run"], run.as_str(), "{refused}");
    }
    let cancelled = served.post("/api/projects/web/parallel/cancel", json!({})).expect(200).json();
    assert_eq!(cancelled["run"], run.as_str(), "{cancelled}");
    live.ended().expect(9);
}

/// Its directory can be reached from the other: it is on a file system that both have.
fn a_machine_that_is_gone_leaves_its_run_to_another(server: &Postgres) {
    let address = server.database("gone");
    let (here, there) = (machine(&address, WAITS), machine(&address, TASKS));
    let live = here.start(&["run", "tasks.yaml"]);
    here.wait_for_file("begun");
    let run = here.run_id();
    live.signal(Signal::KILL);
    live.ended();
    conductor(&there, &["run", "--resume", &run]).expect(8).says("is being worked on by the conductor of");
    // As if nothing had been heard of it for fifteen seconds.
    let lapse = "UPDATE conductor.leaders SET until = clock_timestamp() - interval '1 millisecond'";
    assert_eq!(server.query("gone", lapse), "UPDATE 1");
    conductor(&there, &["status", &run]).expect(0).says("left in the middle");
    here.write("go", "");
    conductor(&there, &["run", "--resume", &run]).expect(0);
    conductor(&here, &["status", &run]).expect(0).says("completed");
}

fn runs_move_house_and_back(server: &Postgres) {
    let world = World::in_place(TASKS);
    conductor(&world, &["run", "tasks.yaml"]).expect(0);
    conductor(&world, &["run", "tasks.yaml"]).expect(0);
    let (address, before) = (server.database("house"), conductor(&world, &["events"]).expect(0));
    let copy = |from: &str, to: &str| conductor(&world, &["store", "copy", "--from", from, "--to", to]);
    copy("sqlite", &address).expect(0).says("copied 2 runs, 0 were there already");
    copy("sqlite", &address).expect(0).says("copied 0 runs, 2 were there already");
    copy(&address, "sqlite").expect(0).says("copied 0 runs, 2 were there already");
    copy("sqlite", "sqlite").expect(2);
    copy("mysql", "sqlite").expect(2).says("mysql is no store");
    let mut moved = world;
    moved.set("CONDUCTOR_STORE", &address);
    assert_eq!(conductor(&moved, &["events"]).expect(0).stdout, before.stdout);
    conductor(&moved, &["runs"]).expect(0).says("completed");
}

fn what_is_wrong_with_the_address_is_said(server: &Postgres) {
    let refused = |address: &str| conductor(&machine(address, TASKS), &["runs"]);
    refused("redis://localhost").expect(1).says("postgres://USER@HOST/DATABASE");
    let no_such = server.address("nothing-of-that-name");
    refused(&no_such).expect(1).says("does not exist");
    refused("postgres://u:hidden@192.0.2.1/c?sslmode=disable").expect(1).says("gives up encryption");
}
