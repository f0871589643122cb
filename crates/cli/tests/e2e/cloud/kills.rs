//! Kills at every step of a submission. However often and wherever a run is killed, a prompt is submitted once: counted by
//! the stand-in of the provider, never by what we say ourselves.

use fastrand::Rng;
use rustix::process::{Pid, Signal};

use super::{MANAGED, ROUTINE, RUNNER, branches, put_claude, world};
use crate::cloud::provider::Provider;
use crate::harness::{Ended, Live, World, leftovers, wait_for};
use crate::repository::{command, conductor, git, start};
use crate::soak::{amount, seeded};

/// Every step that is recorded or leaves the machine, in their order: the anchor comes to the remote and is there; the
/// request has come, was carried out, was answered; the session is recorded; its work is there; the anchor goes; the work is
/// judged.
const STEPS: [&str; 9] =
    ["anchor", "anchored", "asked", "taken", "answered", "live", "pushed", "lifting", "verifying"];

const TRANSPORTS: [&str; 3] = [ROUTINE, MANAGED, RUNNER];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Driver,
    Coordinator,
    Both,
}

impl Victim {
    pub(crate) const ALL: [Victim; 3] = [Victim::Driver, Victim::Coordinator, Victim::Both];

    /// Without a moment to end in order.
    pub(crate) fn kill(self, live: &Live, run: &str) {
        if self != Victim::Driver {
            live.signal(Signal::KILL);
        }
        if self != Victim::Coordinator {
            for (pid, words) in leftovers(run) {
                if words.contains(" cloud-session") {
                    let pid = Pid::from_raw(pid as i32).unwrap();
                    let _ = rustix::process::kill_process(pid, Signal::KILL);
                }
            }
        }
    }
}

/// Goes on until the run is over. A person who is asked looks at the sessions first, as the question says, and lets the prompt
/// be submitted only where there is none.
pub(crate) fn to_the_end(world: &World, mut ended: Ended, sessions: &dyn Fn() -> usize) -> Ended {
    for _ in 0..6 {
        match ended.code {
            Some(5) => {
                assert_eq!(
                    sessions(),
                    0,
                    "a person was asked though a session's work is there: {}",
                    ended.stderr
                );
                conductor(world, &["task", "approve", "a"]).expect(0);
            }
            Some(0) => return ended,
            _ => {}
        }
        ended = conductor(world, &["run", "--resume", "--leave-unanswered"]);
    }
    panic!("not over:\n{}\n{}", ended.stdout, ended.stderr)
}

/// One run of one task that is killed at a step, and what became of it.
fn killed_at(transport: &str, step: &str, victim: Victim) {
    let context = format!("{transport} at {step}: {victim:?}");
    println!("{context}");
    let (mut world, provider) = world("tasks: []\n");
    if transport == RUNNER {
        put_claude(&mut world, &provider);
    }
    let check = provider.trap.command("verifying");
    world.write(
        "tasks.yaml",
        &format!(
            "config: {{ agent: cloud, {transport}, check_base: false, retry_policy: {{ max_attempts: 5, initial_delay: 0 }} }}\n\
             tasks: [{{ id: a, prompt: 'do: work', verify: ['{check}', 'grep good a.txt'] }}]\n"
        ),
    );
    provider.trap.hook_into(&world.path("remote.git"));
    provider.trap.arm(step);
    let live = start(&world, &["--leave-unanswered"]);
    let run = world.wait_for_run();
    match step {
        "live" => wait_until_recorded(&world, &run),
        step => provider.trap.wait(step),
    }
    victim.kill(&live, &run);
    provider.trap.let_go();
    let ended = to_the_end(&world, live.ended(), &|| provider.submitted().len());
    assert_eq!(provider.submitted().len(), 1, "{context}: {}", ended.stderr);
    expect_landed_once(&world, &provider, &context);
}

fn wait_until_recorded(world: &World, run: &str) {
    let record = world.home().join("runs").join(run).join("cloud/a/record.json");
    wait_for("a session in the record", || {
        let text = std::fs::read_to_string(&record).ok()?;
        (text.contains("\"Live\"") || text.contains("\"Settled\"")).then_some(())
    });
}

#[track_caller]
fn expect_landed_once(world: &World, provider: &Provider, context: &str) {
    let branch = format!("conductor/{}", world.run_id());
    let commits = git(world, &["log", "--format=%h", &branch, "--", "a.txt"]);
    assert_eq!(commits.lines().count(), 1, "{context}: {commits}");
    let left = branches(world);
    assert!(!left.contains("heads/conductor-anchor"), "{context}: {left}");
    assert!(provider.stopped().is_empty(), "{context}: no kill stops a session");
}

/// Each step once, with transports and victims in turn; a soak test asks for as many more as it likes.
#[test]
fn whatever_is_killed_at_whichever_step_a_prompt_is_submitted_once() {
    let kills = amount("CONDUCTOR_CLOUD_KILLS", STEPS.len() as u64) as usize;
    let mut rng: Rng = seeded();
    let first = rng.usize(..STEPS.len());
    for number in 0..kills {
        let step = STEPS[number % STEPS.len()];
        let transport = TRANSPORTS[(first + number + number / STEPS.len()) % TRANSPORTS.len()];
        // The driver is gone when its work is judged.
        let victim = if step == "verifying" { Victim::Coordinator } else { Victim::ALL[rng.usize(..3)] };
        killed_at(transport, step, victim);
    }
    println!("{kills} kills, and each prompt was submitted once");
}

/// Work that was handed in and never judged is judged after the resume: a session that cannot be spoken to is not asked for
/// again, and one that can is told nothing.
#[test]
fn work_whose_check_was_killed_is_handed_in_once_more() {
    for transport in [ROUTINE, MANAGED] {
        killed_at(transport, "verifying", Victim::Coordinator);
    }
}

#[test]
fn what_is_said_while_a_run_is_down_reaches_the_session() {
    let (mut world, provider) =
        world(&format!("config: {{ agent: cloud, {MANAGED} }}\ntasks: [{{ id: a, prompt: 'do: wait' }}]\n"));
    world.without_grace();
    let live = start(&world, &[]);
    wait_for("the session to be recorded", || world.logged("session_started").pop());
    live.signal(Signal::KILL);
    drop(live.ended());
    conductor(&world, &["task", "send", "a", "now do: work"]).expect(0).says("its next attempt gets it");
    let resumed = world.spawn(&mut command(&world, &["run", "--resume"]));
    wait_for("the words", || (!provider.told().is_empty()).then_some(()));
    assert_eq!(provider.told(), ["now do: work"]);
    resumed.ended().expect(0);
    assert_eq!((provider.submitted().len(), provider.told().len()), (1, 1));
}
