//! Several machines that want the same at once: what each pushes arrives, and one alone goes on with a run.

use crate::harness::{Ended, Live, World, is_alive, wait_for};
use crate::outliving::shims;
use crate::repository::{command, conductor, git};
use crate::sync::{Machines, QUICK, TASKS, events, killed};

/// Both have the run, which was killed on one of them, and its code.
fn left(machines: &Machines) -> String {
    let Machines { a, b } = machines;
    machines.share(&machines.remote());
    let run = killed(a);
    conductor(a, &["sync", "push", "--yes"]).expect(0).says("pushed 1 run");
    conductor(b, &["sync", "pull", "--yes"]).expect(0).says("pulled 1 run");
    let branch = format!("refs/heads/conductor/{run}:refs/heads/conductor/{run}");
    git(a, &["push", "-q", "origin", &branch]);
    git(b, &["fetch", "-q", "origin", &branch]);
    run
}

fn both(machines: &Machines, args: &[&str]) -> [Live; 2] {
    [&machines.a, &machines.b].map(|world| world.spawn(&mut command(world, args)))
}

#[track_caller]
fn expect_lost(ended: &Ended) {
    let is_told = ["is claimed by", "at the same moment by another machine", "has gone on elsewhere"];
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(is_told.iter().any(|words| ended.stderr.contains(words)), "{}", ended.stderr);
}

#[test]
fn encrypted_pushes_at_once_into_one_remote_all_arrive() {
    let machines = Machines::with(QUICK);
    machines.share(&machines.remote());
    machines.b.write("tasks.yaml", QUICK);
    for world in [&machines.a, &machines.b] {
        conductor(world, &["run", "../tasks.yaml", "-q"]).expect(0);
        conductor(world, &["expertise", "add", &format!("Known by {}.", world.run_id())]).expect(0);
    }
    let [first, second] = both(&machines, &["sync", "push", "--transcripts", "--yes"]).map(Live::ended);
    for ended in [&first, &second] {
        assert!(ended.stdout.contains("pushed 1 run") || ended.stderr.contains("pushed 1 run"), "{ended:?}");
    }
    // What a project has taught is one ref for both: the one that was second is told, and pushes again.
    for (world, ended) in [(&machines.a, &first), (&machines.b, &second)] {
        if ended.code != Some(0) {
            assert!(ended.stderr.contains("push again"), "{}", ended.stderr);
            conductor(world, &["sync", "push"]).expect(0);
        }
    }
    let own = [machines.a.run_id(), machines.b.run_id()];
    for world in [&machines.a, &machines.b] {
        conductor(world, &["sync", "pull", "--yes"]).expect(0).says("pulled 1 run");
        for run in &own {
            conductor(world, &["logs", "a", "--run", run]).expect(0).says("said");
            conductor(world, &["expertise", "list"]).expect(0).says(&format!("Known by {run}"));
        }
    }
    assert_eq!(events(&machines.a, &own[1]), events(&machines.b, &own[1]));
}

#[test]
fn of_two_machines_that_claim_a_run_at_once_one_has_it() {
    let machines = Machines::with(QUICK);
    let Machines { a, b } = &machines;
    machines.share(&machines.remote());
    conductor(a, &["run", "../tasks.yaml", "-q"]).expect(0);
    let run = a.run_id();
    conductor(a, &["sync", "push", "--yes"]).expect(0);
    conductor(b, &["sync", "pull", "--yes"]).expect(0);
    let ended = both(&machines, &["sync", "claim", &run]).map(Live::ended);
    let (won, lost): (Vec<_>, Vec<_>) = ended.iter().partition(|ended| ended.code == Some(0));
    assert_eq!(won.len(), 1, "{ended:?}");
    expect_lost(lost[0]);
    let is_ours = |world: &World| {
        conductor(world, &["sync", "status", "--json"]).expect(0).json()["runs"][0]["claimed_here"] == true
    };
    assert_eq!([is_ours(a), is_ours(b)], [ended[0].code == Some(0), ended[1].code == Some(0)]);
}

#[test]
fn of_two_machines_that_resume_a_run_at_once_one_goes_on() {
    let machines = Machines::with(TASKS);
    let run = left(&machines);
    let mut lives = both(&machines, &["run", "--resume", &run]);
    let lost = wait_for("one to be refused", || lives.iter_mut().position(|live| !live.is_running()));
    let [a, b] = lives;
    let (won, lost) = if lost == 0 { (b, a) } else { (a, b) };
    expect_lost(&lost.ended());
    machines.a.write("go", "");
    won.ended().expect(0).says("3 of 3 completed");
}

/// For a minute after a kill its agents are at work and paid, though no coordinator is there.
#[test]
fn a_run_whose_agents_live_on_is_not_gone_on_with_elsewhere() {
    let machines = Machines::with(&TASKS.replace("id: two,", "id: two, survive: true,"));
    let Machines { a, b } = &machines;
    machines.share(&machines.remote());
    let mut live = a.spawn(&mut command(a, &["run", "../tasks.yaml"]));
    live.wait_for_stderr("start   two");
    let shim = wait_for("its shim", || shims(a).first().copied());
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    let run = a.run_id();
    conductor(a, &["sync", "push", "--yes"]).expect(0).says("pushed 1 run").says("are still at work here");
    conductor(a, &["sync", "release", &run]).expect(8).says("still at work").says("orphan_grace");
    conductor(b, &["sync", "pull", "--yes"]).expect(0).says("pulled 1 run");
    conductor(b, &["run", "--resume", &run]).expect(1).says("is claimed by");
    a.write("go", "");
    wait_for("the end of what went on", || (!is_alive(shim)).then_some(()));
    let freed = conductor(a, &["sync", "push"]).expect(0).says("pushed 1 run");
    assert!(!freed.stderr.contains("still at work"), "{}", freed.stderr);
    conductor(a, &["sync", "status"]).expect(0).says("the same  -");
}
