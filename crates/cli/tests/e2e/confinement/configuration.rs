//! What the user's programs go by later: hooks, configuration, trust. An agent cannot put it where it was missing, either.

use std::fs;

use crate::confinement::{User, can_confine, run, world};
use crate::harness::World;
use crate::repository::{conductor, git};

/// A world whose agent does this; `ROOT` is its root.
fn agent(script: &str, settings: &str) -> World {
    let world = world("", settings);
    let script = script.replace("ROOT", &world.root().display().to_string());
    fs::write(world.root().join("programs/script"), format!("#!/bin/sh\n{script}")).unwrap();
    world
}

#[test]
fn hooks_are_not_made_where_there_were_none() {
    let script = "for git in $(git rev-parse --git-common-dir) .git; do mkdir -p $git/hooks; hook=$git/hooks/post-commit\n\
                  printf '#!/bin/sh\\ntouch ROOT/ESCAPED\\n' > $hook && chmod +x $hook; done; echo worked > work.txt\n";
    for settings in ["", ", isolation: clone", ", isolation: none", ", sandbox: require"] {
        let settings =
            format!("{settings}, verify: 'git hook run --ignore-missing post-commit; test -e work.txt'");
        let world = agent(script, &settings);
        if !can_confine(&world) {
            return;
        }
        for folder in ["hooks", "info"] {
            let _ = fs::remove_dir_all(world.path("repo/.git").join(folder));
        }
        let ended = run(&world, User::Own).expect(0);
        assert!(!world.root().join("ESCAPED").exists(), "{settings}: {}", ended.stderr);
        git(&world, &["commit", "-q", "--allow-empty", "-m", "the user's"]);
        assert!(!world.root().join("ESCAPED").exists(), "{settings}: the user's commit");
    }
}

/// The file that says where a worktree's git directory is stays as it is in a worktree of the user's own.
#[test]
fn a_worktree_of_the_users_own_is_not_sent_elsewhere() {
    let script = "git init -q ev; git -C ev config core.fsmonitor 'touch ROOT/ESCAPED'\n\
                  echo \"gitdir: $PWD/ev/.git\" > .git; mv .git away; echo worked > work.txt\n";
    let world = agent(script, ", isolation: none");
    if !can_confine(&world) {
        return;
    }
    git(&world, &["worktree", "add", "-q", "../tree"]);
    world.conductor(&["-C", "tree", "run", "../tasks.yaml", "--ui", "plain"]).expect(0);
    assert!(world.path("tree/work.txt").exists());
    git(&world, &["-C", "../tree", "status"]);
    assert!(!world.root().join("ESCAPED").exists());
}

#[test]
fn an_agent_trusts_nothing_in_the_users_name() {
    let script = "mkdir -p .conductor; echo \"verify: ['touch ROOT/ESCAPED']\" > .conductor/config.yaml\n\
                  /run/conductor/inner trust --yes; true\n";
    let world = agent(script, ", isolation: none");
    if !can_confine(&world) {
        return;
    }
    run(&world, User::Own).expect(0);
    assert!(world.path("repo/.conductor/config.yaml").exists());
    let listed = conductor(&world, &["trust", "--list", "--json"]).expect(0).json();
    assert_eq!(listed["trusted"], serde_json::json!([]));
    run(&world, User::Own).expect(3).says("have not trusted");
    assert!(!world.root().join("ESCAPED").exists());
}
