//! Plugins of a repository, and those of the user that changed.

use std::fs;

use super::{hello, script};
use crate::harness::World;
use crate::repository::{conductor, git, repository};

/// A verifier that leaves a file when it is started, whatever is asked of it.
fn canary(world: &World) -> String {
    format!(
        "#!/bin/sh\ntouch {}\n{}read -r line\necho '{{\"type\":\"done\"}}'\n",
        world.path("canary").display(),
        hello("verifier")
    )
}

fn with_plugin() -> World {
    let world = repository("tasks: [{ id: a, run: 'echo x > x.txt', verify: ['plugin:canary'] }]");
    script(&world.path("repo/.conductor/plugins/conductor-verifier-canary"), &canary(&world));
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "a plugin"]);
    world
}

#[test]
fn a_plugin_of_a_repository_does_nothing_until_it_is_trusted() {
    let world = with_plugin();
    for args in [
        &["run", "../tasks.yaml"][..],
        &["plugin", "verify", "canary"],
        &["plugin", "test", "canary"],
        &["plugin", "test", "conductor-verifier-canary"],
    ] {
        conductor(&world, args).expect(7).says("you have not trusted it").says("conductor trust");
    }
    conductor(&world, &["plugin", "list"]).expect(0).says("not trusted");
    assert!(!world.path("canary").exists() && world.runs().is_empty());
    conductor(&world, &["trust", "--yes"]).expect(0).says("conductor-verifier-canary");
    conductor(&world, &["plugin", "list"]).expect(0).says("ready");
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    assert!(world.path("canary").exists());
    fs::remove_file(world.path("canary")).unwrap();
    // A byte of it, or of what lies beside it, and it is another one.
    let helper = world.path("repo/.conductor/plugins/helper.sh");
    fs::write(&helper, "x").unwrap();
    conductor(&world, &["run", "../tasks.yaml"]).expect(7);
    fs::remove_file(&helper).unwrap();
    script(&world.path("repo/.conductor/plugins/conductor-verifier-canary"), &(canary(&world) + "# more\n"));
    conductor(&world, &["run", "../tasks.yaml"]).expect(7);
    conductor(&world, &["trust", "--show"]).expect(0).says("changed since you trusted it").says("+ # more");
    assert!(!world.path("canary").exists());
}

#[test]
fn a_job_trusts_a_repository_with_its_plugins_by_hash() {
    let mut world = with_plugin();
    let hash = conductor(&world, &["trust", "--show", "--json"]).expect(0).json()["hash"]
        .as_str()
        .unwrap()
        .to_owned();
    world.set("CONDUCTOR_TRUST", hash.as_str());
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    assert!(world.path("canary").exists());
    fs::write(world.path("repo/.conductor/plugins/helper.sh"), "x").unwrap();
    conductor(&world, &["run", "../tasks.yaml"]).expect(7);
}

/// What an agent writes in its workspace is not what is started.
#[test]
fn the_plugin_is_that_of_the_checkout() {
    let world = repository(
        "tasks: [{ id: a, run: \"printf '#!/bin/sh\\\\ntouch HERE/evil\\\\n' > .conductor/plugins/conductor-verifier-canary\", verify: ['plugin:canary'] }]",
    );
    script(&world.path("repo/.conductor/plugins/conductor-verifier-canary"), &canary(&world));
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "a plugin"]);
    world.trust("repo");
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    assert!(world.path("canary").exists() && !world.path("evil").exists());
}

#[test]
fn a_plugin_of_the_user_that_changed_is_shown_and_asked_about() {
    let world = World::new();
    let plugin = world.path("conductor-verifier-canary");
    script(&plugin, &canary(&world));
    let file = plugin.to_str().unwrap();
    world.conductor(&["plugin", "add", file]).expect(5).says("no terminal").says("touch");
    world.conductor(&["plugin", "add", file, "--yes"]).expect(0);
    world.conductor(&["plugin", "verify", "canary"]).expect(0);
    let own = world.home().join("plugins/conductor-verifier-canary");
    script(&own, &(canary(&world) + "# more\n"));
    fs::remove_file(world.path("canary")).unwrap();
    world.conductor(&["plugin", "list"]).expect(0).says("changed");
    world
        .conductor(&["plugin", "verify", "canary"])
        .expect(7)
        .says("changed since you added it")
        .says("plugin add");
    assert!(!world.path("canary").exists());
    let added = world.conductor(&["plugin", "add", own.to_str().unwrap(), "--yes"]).expect(0);
    added.says("changed since it was added").says("+ # more");
    world.conductor(&["plugin", "verify", "canary"]).expect(0);
    let lock = fs::read_to_string(world.home().join("plugins.lock")).unwrap();
    assert!(lock.contains("conductor-verifier-canary") && lock.contains("sha256"), "{lock}");
    world.conductor(&["plugin", "remove", "canary"]).expect(0).says("removed verifier canary");
    assert!(!own.exists());
    world.conductor(&["plugin", "remove", "canary"]).expect(4);
    world.conductor(&["plugin", "verify", "canary"]).expect(7);
}

#[test]
fn names_that_are_none_are_refused() {
    let world = World::new();
    script(&world.path("verifier"), "#!/bin/sh\n");
    world.conductor(&["plugin", "add", "verifier", "--yes"]).expect(2).says("conductor-KIND-NAME");
    world.conductor(&["plugin", "new", "../x", "--kind", "agent"]).expect(2).says("letters, digits");
    world.conductor(&["plugin", "test", "nothing"]).expect(7).says("plugin list");
}
