//! `conductor demo`: everything it promises to show, and nothing left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use conductor_testkit::agents::{Agent, or_skip};

use crate::harness::{Ended, World};

/// A world whose temporary files can be looked at.
fn world() -> (World, PathBuf) {
    let mut world = World::new();
    let scratch = world.path("tmp");
    fs::create_dir(&scratch).unwrap();
    world.set("TMPDIR", &scratch);
    (world, scratch)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Three faults and how each was handled, the ledger, the stand-in for the model, and the next command.
#[track_caller]
fn expect_the_whole_show(ended: Ended) -> Ended {
    let conflict = "did not merge with what landed meanwhile: sent back, mended";
    ended
        .expect(0)
        .says("6 of 6 completed")
        .says("6 claimed, 4 verified, 5 landed; 0 lost, 0 leaked")
        .says("  total    said it was done, but `sh check.sh total` failed: sent back, mended\n")
        .says(conflict)
        .says("  receipt  said it was done and had changed nothing: not believed, done again\n")
        .says("Only the model was a stand-in; nothing was billed.")
        .says("conductor run tasks.yaml --parallel 3")
}

#[test]
fn it_shows_a_whole_run_and_leaves_nothing() {
    let (world, scratch) = world();
    let ended = expect_the_whole_show(world.conductor(&["demo", "--agent", "builtin"]));
    assert!(!ended.stdout.contains("\ncost "), "no tokens were used, so no cost is shown: {}", ended.stdout);
    for gone in ["next   git merge", "\nfiles ", "next   conductor run --resume"] {
        assert!(!ended.stdout.contains(gone), "{gone:?} is of no use any more: {}", ended.stdout);
    }
    assert_eq!(entries(&scratch), Vec::<PathBuf>::new());
    assert!(!world.home().join("conductor.db").exists(), "the user's own runs are untouched");
}

#[test]
fn what_is_kept_is_what_was_shown() {
    let (world, scratch) = world();
    let ended = expect_the_whole_show(world.conductor(&["demo", "--agent", "builtin", "--keep"]));
    let kept = entries(&scratch).pop().unwrap();
    let branch = ended.stdout.split_whitespace().find(|word| word.starts_with("conductor/")).unwrap();
    let in_shop = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(kept.join("shop")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(in_shop("git", &["status", "--porcelain"]).is_empty(), "the checkout was not touched");
    in_shop("git", &["checkout", "--quiet", branch]);
    assert!(!in_shop("sh", &["check.sh"]).contains("FAILED"), "what landed is what the checks want");
    assert_eq!(
        in_shop("sh", &["receipt.sh", "tea", "coffee", "cake"]),
        "tea 250\ncoffee 300\ncake 420\nto pay 942\n"
    );
    let log =
        in_shop("git", &["log", "--format=%(trailers:key=Conductor-Task,valueonly,separator=)", branch]);
    for task in ["total", "discount", "vat", "receipt", "manual"] {
        assert!(log.lines().any(|line| line == task), "{task} is not in {log}");
    }
}

#[test]
fn an_agent_that_is_installed_is_taken_and_kept_to_the_stand_in() {
    let Some(bin) = or_skip(Agent::Claude) else { return };
    let (mut world, scratch) = world();
    let inherited = std::env::var_os("PATH").unwrap();
    let path = std::iter::once(bin).chain(std::env::split_paths(&inherited));
    world.set("PATH", std::env::join_paths(path).unwrap());
    world.set("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/nowhere");
    let ended = expect_the_whole_show(world.conductor(&["demo"]));
    assert!(ended.stdout.contains("The agent is your own claude."), "{}", ended.stdout);
    assert_eq!(entries(&scratch), Vec::<PathBuf>::new());
}

#[test]
fn an_agent_that_is_not_there_is_told_before_anything_begins() {
    let (mut world, scratch) = world();
    world.set("PATH", "/nowhere");
    world.conductor(&["demo", "--agent", "codex"]).expect(7).says("codex is not on PATH");
    world.conductor(&["demo", "--agent", "gpt"]).expect(2).says("builtin");
    world.conductor(&["demo"]).expect(1).says("install git");
    assert_eq!(entries(&scratch), Vec::<PathBuf>::new());
}
