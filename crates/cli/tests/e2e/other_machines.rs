//! Workers on other machines over a real Redis and a real RabbitMQ, as a user meets them. Each worker is a world: a home of its
//! own, and neither the repository nor the store.

use conductor_testkit::servers::{self, RabbitMq, Redis};
use rustix::process::Signal;
use serde_json::json;

use crate::harness::{Live, World, wait_for};
use crate::repository::{command, conductor, git, repository, start};
use crate::server::client::Served;

/// A broker that a test has for itself.
trait Server {
    fn address(&self) -> String;
    fn kill(&mut self);
    fn begin(&mut self);
}

impl Server for Redis {
    fn address(&self) -> String {
        self.address()
    }

    fn kill(&mut self) {
        self.kill();
    }

    fn begin(&mut self) {
        self.begin().unwrap();
    }
}

impl Server for RabbitMq {
    fn address(&self) -> String {
        self.address()
    }

    fn kill(&mut self) {
        self.kill();
    }

    fn begin(&mut self) {
        self.begin().unwrap();
    }
}

/// Changes that conflict, and come to the same in any order.
const GRAPH: &str =
    "config: { on_conflict: retry-later, retry_policy: { max_attempts: 20, initial_delay: 10ms } }
tasks:
- { id: a, run: 'echo a >> list; sort -o list list' }
- { id: b, run: 'echo b >> list; sort -o list list' }
- { id: c, run: 'echo c >> list; sort -o list list; echo spoken aloud', dependencies: [a] }
- { id: d, run: 'echo d > d.txt', dependencies: [a, b] }
- { id: e, run: 'echo e > e.txt' }
";

/// Each attempt says which one it is, and waits.
const WAITS: &str = "tasks:
- { id: a, run: 'echo $CONDUCTOR_ATTEMPT >> HEREbegun; while [ ! -e HEREgo ]; do sleep 0.05; done; echo a > a.txt; echo $CONDUCTOR_ATTEMPT >> HEREdone' }
";

/// A worker, and the world it lives in.
struct Worker {
    live: Live,
    world: World,
}

/// The machine that drives runs.
fn coordinator(server: &dyn Server, tasks: &str) -> World {
    let mut world = repository(tasks);
    let remote = world.root().join("code.git");
    git(&world, &["init", "-q", "--bare", remote.to_str().unwrap()]);
    world.set("CONDUCTOR_QUEUE", server.address());
    world.set("CONDUCTOR_GIT", &remote);
    world
}

fn worker(machine: &World, name: &str, args: &[&str]) -> Worker {
    let token = conductor(machine, &["workers", "token", name, "--json"]).expect(0).json();
    let mut world = World::new();
    for variable in ["CONDUCTOR_QUEUE", "CONDUCTOR_GIT"] {
        world.set(variable, machine.variable(variable));
    }
    let join = ["worker", "--join", token["token"].as_str().unwrap()];
    let live = world.start(&[&join[..], args].concat());
    Worker { live, world }
}

fn lines(machine: &World, name: &str) -> usize {
    machine.read(name).lines().count()
}

#[test]
#[cfg(feature = "redis")]
fn runs_over_redis() {
    let Some(server) = servers::or_skip(Redis::start()) else { return };
    runs_with_workers_on_other_machines(&server);
}

#[test]
#[cfg(feature = "redis")]
fn faults_over_redis() {
    let Some(mut server) = servers::or_skip(Redis::start()) else { return };
    faults_of_workers_and_of_the_server(&mut server, 3);
    a_worker_that_is_stopped_loses_its_task_and_lands_nothing(&server);
}

#[test]
#[cfg(feature = "rabbitmq")]
fn runs_over_rabbitmq() {
    let Some(server) = servers::or_skip(RabbitMq::start()) else { return };
    runs_with_workers_on_other_machines(&server);
}

#[test]
#[cfg(feature = "rabbitmq")]
fn faults_over_rabbitmq() {
    let Some(mut server) = servers::or_skip(RabbitMq::start()) else { return };
    faults_of_workers_and_of_the_server(&mut server, 1);
}

/// One after the other: a server is started once.
fn runs_with_workers_on_other_machines(server: &dyn Server) {
    three_workers_come_to_the_same_as_one_machine(server);
    a_worker_is_drained_on_its_own_machine(server);
    what_is_said_elsewhere_is_heard_while_it_is_said(server);
    who_is_there_is_told_and_may_be_shut_out(server);
    a_run_that_is_taken_up_goes_on_with_its_workers(server);
    what_cannot_work_is_refused_before_anything_starts(server);
}

fn faults_of_workers_and_of_the_server(server: &mut dyn Server, kills: usize) {
    a_worker_that_is_killed_loses_its_task_to_another(server);
    a_server_that_is_killed_is_waited_for(server, kills);
}

fn three_workers_come_to_the_same_as_one_machine(server: &dyn Server) {
    let mut machine = coordinator(server, GRAPH);
    let (queue, git_remote) = (machine.variable("CONDUCTOR_QUEUE"), machine.variable("CONDUCTOR_GIT"));
    machine.unset("CONDUCTOR_QUEUE");
    conductor(&machine, &["run", "../tasks.yaml", "--parallel", "5"]).expect(0);
    let here = git(&machine, &["rev-parse", &format!("conductor/{}^{{tree}}", machine.run_id())]);
    machine.set("CONDUCTOR_QUEUE", queue);
    conductor(&machine, &["doctor"]).says("CONDUCTOR_QUEUE answers");
    let workers = ["w1", "w2", "w3"].map(|name| worker(&machine, name, &["--slots", "2"]));
    conductor(&machine, &["run", "../tasks.yaml", "--parallel", "5"]).expect(0);
    let listed = conductor(&machine, &["workers", "list", "--json"]).expect(0).json();
    assert_eq!(listed["workers"].as_array().unwrap().len(), 3, "{listed}");
    let runs = conductor(&machine, &["runs", "--json"]).expect(0).json();
    let there = runs["runs"][0]["run"].as_str().unwrap().to_owned();
    assert_eq!(git(&machine, &["rev-parse", &format!("conductor/{there}^{{tree}}")]), here);
    let events = conductor(&machine, &["events", &there]).expect(0);
    let count = |kind: &str| events.json_lines().iter().filter(|event| event["type"] == kind).count();
    assert_eq!(count("attempt_leased"), count("attempt_started"), "all of it was done elsewhere");
    assert!(count("attempt_leased") >= 5);
    conductor(&machine, &["logs", "c", "--run", &there]).expect(0).says("spoken aloud");
    let left = machine
        .command_of("git")
        .args(["-C", git_remote.to_str().unwrap(), "for-each-ref"])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&left.stdout),
        "",
        "what was handed over is gone, and no branch was made"
    );
    conductor(&machine, &["workers", "revoke", "w3"]).expect(0).says("shut out");
    for Worker { live, world } in workers {
        live.signal(Signal::TERM);
        live.ended().expect(0);
        assert!(!world.database().exists(), "a worker has no store");
    }
}

/// A4. With its agents: the reaper ends them.
fn a_worker_that_is_killed_loses_its_task_to_another(server: &dyn Server) {
    let machine = coordinator(server, WAITS);
    let first = worker(&machine, "w1", &[]);
    let run = start(&machine, &[]);
    wait_for("the first attempt", || (lines(&machine, "begun") == 1).then_some(()));
    first.live.signal(Signal::KILL);
    let second = worker(&machine, "w2", &[]);
    wait_for("the second attempt", || (lines(&machine, "begun") == 2).then_some(()));
    machine.write("go", "");
    run.ended().expect(0);
    assert_eq!(machine.read("done"), "2\n", "what the killed one had begun came to no end");
    second.live.signal(Signal::TERM);
    second.live.ended().expect(0);
}

/// It takes nothing more, ends when its attempt has, and the one that asked for that waits as long.
fn a_worker_is_drained_on_its_own_machine(server: &dyn Server) {
    let machine = coordinator(server, WAITS);
    let worker = worker(&machine, "w1", &[]);
    conductor(&machine, &["worker", "--drain", "--name", "w9"]).expect(4).says("no worker is at work");
    let run = start(&machine, &[]);
    wait_for("the attempt", || (lines(&machine, "begun") == 1).then_some(()));
    // As often as it likes: it is no reason to hurry.
    let drains = [(); 2].map(|()| worker.world.start(&["worker", "--drain"]));
    drains.iter().for_each(|drain| drain.wait_for_stderr("takes nothing more"));
    worker.live.wait_for_stderr("takes nothing more");
    machine.write("go", "");
    run.ended().expect(0);
    worker.live.ended().expect(0);
    drains.into_iter().for_each(|drain| drop(drain.ended().expect(0).says("the worker has ended")));
    assert_eq!(lines(&machine, "begun"), 1, "it was not cut short");
}

/// And once, although its words come piece by piece and then as a whole.
fn what_is_said_elsewhere_is_heard_while_it_is_said(server: &dyn Server) {
    let tasks = "tasks: [{ id: a, run: 'echo before the wait; while [ ! -e HEREgo ]; do sleep 0.05; done; echo after it' }]\n";
    let machine = coordinator(server, tasks);
    let worker = worker(&machine, "w1", &[]);
    let run = start(&machine, &[]);
    let id = machine.wait_for_run();
    wait_for("the attempt", || machine.logged("attempt_leased").first().cloned());
    let follow = machine.spawn(&mut command(&machine, &["logs", "a", "--run", &id, "--follow"]));
    wait_for("what is said", || follow.stdout().contains("before the wait").then_some(()));
    machine.write("go", "");
    let heard = follow.ended().expect(0).stdout;
    run.ended().expect(0);
    let kept = conductor(&machine, &["logs", "a", "--run", &id]).expect(0).stdout;
    for text in [&heard, &kept] {
        assert_eq!(text.matches("before the wait").count(), 1, "{text}");
        assert_eq!(text.matches("after it").count(), 1, "{text}");
    }
    worker.live.signal(Signal::TERM);
    worker.live.ended().expect(0);
}

fn who_is_there_is_told_and_may_be_shut_out(server: &dyn Server) {
    let machine = coordinator(server, WAITS);
    let first = worker(&machine, "w1", &["--slots", "3", "--labels", "gpu"]);
    let served = Served::start(&machine);
    let of = |name: &str| {
        let listed = served.get("/api/workers");
        listed["workers"].as_array().unwrap().iter().find(|one| one["name"] == name).cloned()
    };
    let run = start(&machine, &[]);
    wait_for("the first attempt", || (lines(&machine, "begun") == 1).then_some(()));
    let one = of("w1").unwrap();
    assert_eq!(
        (&one["here"], &one["slots"], &one["busy"], &one["labels"]),
        (&json!(true), &json!(3), &json!(1), &json!(["gpu"]))
    );
    let listed = conductor(&machine, &["workers", "list"]).expect(0).stdout;
    let row: Vec<&str> = listed.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..7], ["w1", "enrolled", "yes", "1", "of", "3", "gpu"], "{listed}");
    let metrics = served.by(&served.owner(), "GET", "/metrics", &json!({})).expect(200).body;
    for sample in [
        "conductor_workers{state=\"here\"} 1",
        "conductor_worker_slots{state=\"busy\"} 1",
        "conductor_worker_slots{state=\"free\"} 2",
    ] {
        assert!(metrics.contains(sample), "{metrics}");
    }
    let second = worker(&machine, "w2", &[]);
    wait_for("the second", || of("w2").filter(|one| one["here"] == true));
    served.by(&served.owner(), "DELETE", "/api/workers/w1", &json!({})).expect(200);
    wait_for("the second attempt", || (lines(&machine, "begun") == 2).then_some(()));
    assert!(of("w1").is_none(), "it was shut out");
    // What it had is not waited for: the file that its command waits for is not there yet.
    first.live.signal(Signal::TERM);
    first.live.ended().expect(0).says("no more: it was revoked");
    machine.write("go", "");
    run.ended().expect(0);
    assert_eq!(machine.read("done"), "2\n", "the attempt of the one that was shut out came to no end");
    second.live.signal(Signal::TERM);
    second.live.ended().expect(0);
}

/// By the queue and the remote that the run was started with, which are not said again; without the password of the queue.
fn a_run_that_is_taken_up_goes_on_with_its_workers(server: &dyn Server) {
    let mut machine = coordinator(server, WAITS);
    let worker = worker(&machine, "w1", &[]);
    let (queue, git) = (machine.variable("CONDUCTOR_QUEUE"), machine.variable("CONDUCTOR_GIT"));
    for variable in ["CONDUCTOR_QUEUE", "CONDUCTOR_GIT"] {
        machine.unset(variable);
    }
    let flags = ["--queue", queue.to_str().unwrap(), "--git", git.to_str().unwrap()];
    conductor(&machine, &["run", "../tasks.yaml", flags[0], flags[1]]).expect(2).says("--queue needs --git");
    let run = start(&machine, &flags);
    wait_for("the first attempt", || (lines(&machine, "begun") == 1).then_some(()));
    run.signal(Signal::KILL);
    run.ended();
    let kept =
        machine.command_of("grep").args(["-rl", "tested-password"]).arg(machine.home()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&kept.stdout), "", "the password is nowhere");
    let refused = conductor(&machine, &["run", "--resume"]).expect(1);
    refused.says("set CONDUCTOR_QUEUE_PASSWORD").says("--queue none");
    machine.set("CONDUCTOR_QUEUE_PASSWORD", "tested-password");
    let again = machine.spawn(&mut command(&machine, &["run", "--resume"]));
    wait_for("the second attempt", || (lines(&machine, "begun") == 2).then_some(()));
    machine.write("go", "");
    again.ended().expect(0);
    assert_eq!(machine.logged("attempt_leased"), ["a", "a"], "both were the worker's");
    worker.live.signal(Signal::TERM);
    worker.live.ended().expect(0);
}

/// Past its lease, which a beat renews: its task is done elsewhere, and what it did of it lands nowhere when it goes on.
#[cfg(feature = "redis")]
fn a_worker_that_is_stopped_loses_its_task_and_lands_nothing(server: &dyn Server) {
    let machine = coordinator(server, WAITS);
    let zombie = worker(&machine, "w1", &[]);
    let run = start(&machine, &[]);
    wait_for("the first attempt", || (lines(&machine, "begun") == 1).then_some(()));
    zombie.live.signal(Signal::STOP);
    let second = worker(&machine, "w2", &[]);
    wait_for("the second attempt", || (lines(&machine, "begun") == 2).then_some(()));
    machine.write("go", "");
    run.ended().expect(0);
    zombie.live.signal(Signal::CONT);
    assert_eq!(machine.logged("lease_lost"), ["a"]);
    assert_eq!(machine.logged("task_completed"), ["a"], "it landed once");
    assert_eq!(machine.logged("attempt_leased"), ["a", "a"], "nothing was started twice");
    for Worker { live, .. } in [zombie, second] {
        live.signal(Signal::TERM);
        live.ended().expect(0);
    }
}

/// F: the broker is killed while an attempt is at work, again and again, and comes back with what it had written.
fn a_server_that_is_killed_is_waited_for(server: &mut dyn Server, kills: usize) {
    let machine = coordinator(server, WAITS);
    let worker = worker(&machine, "w1", &[]);
    let run = start(&machine, &[]);
    wait_for("the attempt", || (lines(&machine, "begun") == 1).then_some(()));
    for _ in 0..kills {
        server.kill();
        server.begin();
    }
    machine.write("go", "");
    run.ended().expect(0);
    assert_eq!(lines(&machine, "begun"), 1, "it was started once");
    worker.live.signal(Signal::TERM);
    worker.live.ended().expect(0);
}

fn what_cannot_work_is_refused_before_anything_starts(server: &dyn Server) {
    let machine = coordinator(server, "tasks: [{ id: a, run: 'true', requires: [gpu], isolation: none }]\n");
    conductor(&machine, &["run", "../tasks.yaml"]).expect(3).says("requires a worker with gpu");
    let mut alone = coordinator(server, "tasks: [{ id: a, run: 'true', requires: [gpu] }]\n");
    alone.unset("CONDUCTOR_QUEUE");
    conductor(&alone, &["run", "../tasks.yaml"]).expect(3).says("this run has no workers but this machine");
    alone.set("CONDUCTOR_QUEUE", server.address());
    alone.set("CONDUCTOR_GIT", alone.root().join("nowhere.git"));
    conductor(&alone, &["run", "../tasks.yaml"]).expect(1).says("nowhere.git cannot be used");
    // A token that was used, and one that was made up.
    let token = conductor(&machine, &["workers", "token"]).expect(0);
    let word = token.stdout.trim().to_owned();
    let made_up = word.replace("conductor-worker-1.", "conductor-worker-1.0");
    conductor(&machine, &["worker", "--join", &made_up]).expect(2).says("no token");
    conductor(&machine, &["worker"]).expect(2).says("no worker was taken in");
    conductor(&machine, &["workers", "revoke", "w1"]).expect(0);
    conductor(&machine, &["workers", "revoke", "w1"]).expect(2).says("there is no worker w1");
}
