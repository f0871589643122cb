//! What is said of confinement, where it is not to be had above all; and that confined work is work.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::confinement::{Tier, User, can_confine, can_confine_by, landed, run, without_bubblewrap, world};
use crate::harness::{Ended, World, wait_for};
use crate::repository::{command, conductor, git, start};

/// Runs the program where the kernel knows no landlock: a filter answers for it, as older kernels do.
fn without_landlock(world: &World, args: &[&str]) -> Option<Ended> {
    let bwrap =
        std::env::split_paths(&std::env::var_os("PATH")?).find(|folder| folder.join("bwrap").exists())?;
    let filter = world.root().join("no-landlock");
    // The number of the call is loaded and compared with three that follow each other; the answer is that there is none.
    let program: [(u16, u8, u8, u32); 5] = [
        (0x20, 0, 0, 0),
        (0x35, 0, 2, 444),
        (0x25, 1, 0, 446),
        (0x06, 0, 0, 0x0005_0026),
        (0x06, 0, 0, 0x7fff_0000),
    ];
    let bytes = program.iter().flat_map(|(code, yes, no, value)| {
        let mut bytes = code.to_ne_bytes().to_vec();
        bytes.extend([*yes, *no]);
        bytes.extend(value.to_ne_bytes());
        bytes
    });
    fs::write(&filter, bytes.collect::<Vec<_>>()).unwrap();
    let own = command(world, args);
    let mut outer = world.command_of("sh");
    outer.current_dir(own.get_current_dir().unwrap());
    outer.args(["-c", "exec 9< \"$0\"; exec \"$@\""]).arg(filter).arg(bwrap.join("bwrap"));
    outer.args(["--dev-bind", "/", "/", "--seccomp", "9", "--"]).arg(own.get_program()).args(own.get_args());
    Some(world.spawn(&mut outer).ended())
}

/// Neither tier is to be had.
#[test]
fn where_it_cannot_be_had_it_is_said_once_or_refused() {
    let mut world = world("echo x > x.txt\n", "");
    if !can_confine(&world) {
        return;
    }
    without_bubblewrap(&mut world);
    let run = |args: &[&str]| without_landlock(&world, args).unwrap();
    let ended = run(&["run", "../tasks.yaml", "--ui", "plain"]).expect(0);
    assert_eq!(ended.stderr.matches("agents are not confined").count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("install bubblewrap"), "{}", ended.stderr);
    run(&["doctor", "--machine"])
        .says("agents reach all that you can: bubblewrap is not installed, and landlock does not work here: this kernel has none")
        .says("install bubblewrap");
    run(&["explain", "t", "--file", "../tasks.yaml"]).says("none (prefer)").says("install bubblewrap");
    for words in [["--sandbox", "require"], ["--network", "off"]] {
        let refused = run(&[&["run", "../tasks.yaml"][..], &words].concat());
        refused
            .expect(7)
            .says("task 't' must be confined")
            .says("nothing was started")
            .says("install bubblewrap");
    }
    assert_eq!(world.runs().len(), 1, "what is refused leaves nothing behind");
    let quiet = run(&["run", "../tasks.yaml", "--sandbox", "off"]).expect(0);
    assert!(!quiet.stderr.contains("confined"), "{}", quiet.stderr);
}

#[test]
fn landlock_alone_is_said_and_is_not_enough_for_what_must_be_confined() {
    let script = "cat USER/.netrc > x.txt; echo $HOME > home.txt; cat ~/.gitconfig > git.txt\n\
                  echo said > /dev/stdout && echo said > /dev/stderr && bash -c 'cat <(true)' && echo yes > said.txt; true\n";
    let mut world = world(script, "");
    if !can_confine_by(&mut world, Tier::Landlock) {
        return;
    }
    fs::write(world.root().join("user/.netrc"), "secret").unwrap();
    let ended = run(&world, User::Own).expect(0);
    let told = "agents are confined by landlock alone: bubblewrap is not installed (install bubblewrap";
    assert_eq!(ended.stderr.matches(told).count(), 1, "{}", ended.stderr);
    assert_eq!(landed(&world, "x.txt"), "");
    assert!(landed(&world, "git.txt").contains("[user]"), "it commits as its user");
    assert_eq!(landed(&world, "said.txt"), "yes\n", "it opens its own output again");
    let home = landed(&world, "home.txt");
    assert!(home.starts_with(world.home().to_str().unwrap()), "a home of the attempt's own: {home}");
    assert!(!std::path::Path::new(home.trim()).exists(), "and it is gone");
    world
        .conductor(&["doctor", "--machine"])
        .says("landlock: agents do not reach")
        .says("install bubblewrap");
    conductor(&world, &["explain", "t", "--file", "../tasks.yaml"])
        .says("landlock (prefer)")
        .says("docs/security.md")
        .says("install bubblewrap");
    for words in [["--sandbox", "require"], ["--network", "off"]] {
        let refused = conductor(&world, &[&["run", "../tasks.yaml"][..], &words].concat());
        refused
            .expect(7)
            .says("task 't' must be confined, and bubblewrap is not installed; nothing was started")
            .says("install bubblewrap")
            .says("take what landlock stops (docs/security.md): --sandbox prefer");
    }
    assert_eq!(world.runs().len(), 1, "what is refused leaves nothing behind");
    world.set("CONDUCTOR_SANDBOX", "require");
    conductor(&world, &["explain", "t", "--file", "../tasks.yaml"])
        .says("require: it does not start here, bubblewrap is not installed");
}

/// A bubblewrap that is there and does not work is no bubblewrap.
#[test]
fn what_is_installed_and_does_not_work_is_passed_over() {
    let mut world = world("echo x > x.txt\n", "");
    if !can_confine_by(&mut world, Tier::Landlock) {
        return;
    }
    let broken = world.root().join("programs/bwrap");
    fs::write(&broken, "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2; exit 1\n")
        .unwrap();
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    world
        .conductor(&["doctor", "--machine"])
        .says("landlock: agents do not reach")
        .says("bubblewrap does not work here: setting up uid map: Permission denied")
        .says("let users have namespaces");
}

/// Who prefers a limit and cannot have it is told; a command with no network at all has none.
#[test]
fn what_landlock_limits_of_the_network_is_said() {
    let mut listed = world("echo x > x.txt\n", ", sandbox: prefer, network: { allow: [example.com] }");
    if !can_confine_by(&mut listed, Tier::Landlock) {
        return;
    }
    run(&listed, User::Own).expect(0).says("t: its network is not limited, landlock cannot do that");
    conductor(&listed, &["explain", "t", "--file", "../tasks.yaml"]).says("landlock limits no hosts");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let script =
        format!("if (exec 3<>/dev/tcp/127.0.0.1/{port}); then echo reached; else echo refused; fi > x.txt");
    let mut world = world("", "");
    assert!(can_confine_by(&mut world, Tier::Landlock));
    world.write(
        "tasks.yaml",
        &format!("tasks: [{{ id: t, run: [bash, -c, '{script}'], sandbox: prefer, network: off, changes: optional }}]\n"),
    );
    run(&world, User::Own).expect(0);
    assert_eq!(landed(&world, "x.txt"), "refused\n");
    assert!(listener.accept().is_err(), "it was reached");
}

#[test]
fn what_must_be_confined_gets_a_clone_and_no_worktree() {
    let world = world(
        "git commit -q --allow-empty -m own; cat .git/config > config.txt; echo x > x.txt\n",
        ", sandbox: require",
    );
    if !can_confine(&world) {
        return;
    }
    run(&world, User::Own).expect(0);
    assert_eq!(landed(&world, "x.txt"), "x\n");
    assert!(landed(&world, "config.txt").contains("[user]"), "a git directory of its own");
    conductor(&world, &["explain", "t", "--file", "../tasks.yaml"])
        .says("a clone of its own")
        .says("bwrap (require)");
    let tasks = world.read("tasks.yaml").replace("sandbox: require", "sandbox: require, isolation: worktree");
    world.write("tasks.yaml", &tasks);
    conductor(&world, &["validate", "../tasks.yaml"])
        .expect(3)
        .says("sandboxed-worktree")
        .says("isolation: clone");
    let tasks = tasks.replace("sandbox: require, ", "");
    for (tasks, words) in [
        (tasks.as_str(), &["--sandbox", "require"][..]),
        (tasks.as_str(), &["--network", "off"][..]),
        (
            tasks.replace(", isolation: worktree", "").as_str(),
            &["--sandbox", "require", "--isolation", "worktree"][..],
        ),
    ] {
        world.write("tasks.yaml", tasks);
        conductor(&world, &[&["run", "../tasks.yaml"][..], words].concat())
            .expect(3)
            .says("task 't' must be confined, and a worktree shares the repository's git directory")
            .says("--isolation clone");
    }
    assert_eq!(world.runs().len(), 1, "what is refused leaves nothing behind");
}

/// Nothing but a sandbox keeps to a limited network: where that is asked for, there is one.
#[test]
fn a_limited_network_is_not_passed_over_where_the_sandbox_is_switched_off() {
    let script = "cat /proc/net/dev > net.txt\n";
    let none: &[&str] = &[];
    for (settings, words) in
        [(", sandbox: off, network: off", none), (", sandbox: off", &["--network", "off"][..])]
    {
        let world = world(script, settings);
        if !can_confine(&world) {
            return;
        }
        conductor(&world, &[&["run", "../tasks.yaml", "--ui", "plain"][..], words].concat()).expect(0);
        // Beside two lines of a head there is loopback alone.
        assert_eq!(landed(&world, "net.txt").lines().count(), 3, "{settings} {words:?}");
    }
}

#[test]
fn what_the_file_adds_is_reached() {
    let world = world(
        "cat USER/given/x > x.txt; echo y > USER/taken/y; cat USER/other > z.txt; true\n",
        ", sandbox: { mode: prefer, read: ['~/given'], write: ['~/taken'] }",
    );
    if !can_confine(&world) {
        return;
    }
    let user = world.root().join("user");
    for (folder, file, text) in [("given", "given/x", "x\n"), ("taken", "other", "no\n")] {
        fs::create_dir_all(user.join(folder)).unwrap();
        fs::write(user.join(file), text).unwrap();
    }
    run(&world, User::Own).expect(0);
    assert_eq!(landed(&world, "x.txt"), "x\n");
    assert_eq!(fs::read_to_string(user.join("taken/y")).unwrap(), "y\n");
    assert_eq!(landed(&world, "z.txt"), "");
}

#[test]
fn a_confined_agent_commits_as_its_user_and_is_asked_to_end() {
    let script = "trap 'echo asked > asked.txt; git add . ; git commit -q -m asked; exit 0' TERM\n\
                  echo x > x.txt; git add .; git commit -q -m own; touch ready\nwhile :; do sleep 0.1; done\n";
    let world = world(script, ", timeout: 2s");
    if !can_confine(&world) {
        return;
    }
    run(&world, User::Own).expect(100);
    let run = world.run_id();
    let kept = git(&world, &["for-each-ref", "--format=%(refname)", "refs/conductor/rescue"]);
    let kept = kept.lines().next().unwrap_or_else(|| panic!("nothing of {run} was kept")).to_owned();
    assert_eq!(git(&world, &["show", &format!("{kept}:asked.txt")]), "asked", "it had time to save its work");
}

#[test]
fn a_killed_run_leaves_no_confined_process() {
    let mut world = world("env -i setsid sleep 600 &\ntouch USER/../work/never; sleep 600\n", "");
    if !can_confine(&world) {
        return;
    }
    world.without_grace();
    let mut live = start(&world, &[]);
    let run = world.wait_for_run();
    let marked = || crate::harness::leftovers(&run);
    wait_for("its agent", || marked().iter().any(|(_, name)| name.contains("sleep")).then_some(()));
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    wait_for("the end of its agent", || marked().is_empty().then_some(()));
}
