//! The real agent CLIs do their work inside, with a full network and with one that reaches their model alone.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::{Bench, SLOW, prompt};
use crate::confinement::{Tier, can_confine, can_confine_by};

fn works_inside(agent: Agent) {
    let tasks = prompt("free", "") + &prompt("limited", "network: { allow: ['127.0.0.1:PORT'] }");
    let Some(mut bench) = Bench::new(agent, "", &tasks) else { return };
    let url = bench.stand_in.base_url("none");
    let port = url.split(':').nth(2).unwrap().split('/').next().unwrap();
    let file = bench.world.read("tasks.yaml").replace("PORT", port);
    bench.world.write("tasks.yaml", &file);
    bench.world.unset("CONDUCTOR_SANDBOX");
    if !can_confine(&bench.world) {
        return;
    }
    let keys = bench.world.root().join("user/.ssh");
    std::fs::create_dir_all(&keys).unwrap();
    for task in ["free", "limited"] {
        // In a file: rules about commands that name paths elsewhere are not what this is about.
        let looks = format!("ls -a ~ > {task}-home.txt; cat /proc/net/dev > {task}-net.txt\n");
        let script = Script::new()
            .write_file(format!("{task}.txt"), "done\n")
            .write_file(format!("{task}.sh"), looks)
            .run(format!("sh {task}.sh"))
            .finish("Done.");
        bench.script(task, script);
    }
    bench.run(&[]).ended_within(SLOW).expect(0);
    for task in ["free", "limited"] {
        assert_eq!(bench.landed(&format!("{task}.txt")), "done");
        let home = bench.landed(&format!("{task}-home.txt"));
        assert!(!home.contains(".ssh") && home.contains(".gitconfig"), "{home}");
    }
    // Beside two lines of a head there is loopback alone.
    assert_eq!(bench.landed("limited-net.txt").lines().count(), 3);
}

/// The same where there are rules of the kernel's alone.
fn works_by_landlock(agent: Agent) {
    let Some(mut bench) = Bench::new(agent, "", &prompt("free", "")) else { return };
    bench.world.unset("CONDUCTOR_SANDBOX");
    if !can_confine_by(&mut bench.world, Tier::Landlock) {
        return;
    }
    let keys = bench.world.root().join("user/.ssh");
    std::fs::create_dir_all(&keys).unwrap();
    std::fs::write(keys.join("id"), "secret").unwrap();
    let looks = format!("ls -a ~ > home.txt; cat '{}' > key.txt; true\n", keys.join("id").display());
    let script = Script::new()
        .write_file("free.txt", "done\n")
        .write_file("free.sh", looks)
        .run("sh free.sh")
        .finish("Done.");
    bench.script("free", script);
    bench.run(&[]).ended_within(SLOW).expect(0);
    assert_eq!(bench.landed("free.txt"), "done");
    assert_eq!(bench.landed("key.txt"), "");
    let home = bench.landed("home.txt");
    assert!(!home.contains(".ssh") && home.contains(".gitconfig"), "{home}");
}

#[test]
fn claude() {
    works_inside(Agent::Claude);
    works_by_landlock(Agent::Claude);
}

#[test]
fn gemini() {
    works_inside(Agent::Gemini);
    works_by_landlock(Agent::Gemini);
}

#[test]
fn opencode() {
    works_inside(Agent::Opencode);
    works_by_landlock(Agent::Opencode);
}

/// Its own sandbox does not work inside of ours: that is said before anything starts, not by its first command.
#[test]
fn codex_keeps_to_its_own_sandbox_or_does_not_start() {
    let Some(mut bench) = Bench::new(Agent::Codex, "", &prompt("own", "")) else { return };
    bench.world.unset("CONDUCTOR_SANDBOX");
    if !can_confine(&bench.world) {
        return;
    }
    bench.script(
        "own",
        Script::new().write_file("own.txt", "done\n").run("cat own.txt > copy.txt").finish("Done."),
    );
    for words in [
        &["--sandbox", "require"][..],
        &["--network", "off"],
        &["--sandbox", "prefer", "--network", "example.com"],
    ] {
        let refused = bench.run(words).ended_within(SLOW).expect(7);
        refused.says("codex does not work inside of a sandbox").says("nothing was started");
    }
    bench.run(&[]).ended_within(SLOW).expect(0);
    assert_eq!(bench.landed("copy.txt"), "done");
}
