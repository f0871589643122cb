//! Repositories in every state, and agents that do to them what they should not.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::harness::{World, wait_for};
use crate::repository::{checkout, expect_tidy, git, repository, start};
use crate::soak::amount;

#[test]
fn what_is_no_repository_or_a_bare_one_is_told_and_nothing_starts() {
    let world = repository("tasks: [{ id: a, run: AGENT touch HERE/done }]");
    fs::remove_dir_all(world.path("repo/.git")).unwrap();
    start(&world, &["--isolation", "worktree"]).ended().expect(3).says("is not in a git repository");
    git(&world, &["init", "-q", "--bare", "."]);
    start(&world, &[]).ended().expect(3).says("is a bare repository").says("--isolation none");
    assert!(!world.path("done").exists());
}

/// Codex leaves an empty `.git` in every folder its commands may write to, `/tmp` among them.
#[test]
fn an_empty_folder_named_git_above_is_no_repository() {
    let world = World::with("tasks: [{ id: a, run: touch done }]");
    fs::create_dir(world.path("../.git")).unwrap();
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    assert!(world.path("done").exists());
}

#[test]
fn a_first_commit_is_made_when_asked_for_and_touches_nothing_else() {
    let world = repository("tasks: [{ id: a, run: 'echo 1 > a.txt' }]");
    fs::remove_dir_all(world.path("repo/.git")).unwrap();
    git(&world, &["init", "-q", "-b", "main", "."]);
    start(&world, &[]).ended().expect(3).says("has no commit yet").says("--first-commit");
    start(&world, &["--first-commit"]).ended().expect(0);
    assert_eq!(git(&world, &["log", "--format=%s", "main"]), "Start");
    assert_eq!(
        git(&world, &["status", "--porcelain"]),
        "?? f.txt",
        "what was there is still the user's to add"
    );
}

#[test]
fn a_detached_head_works_and_has_no_branch_to_bring_forward() {
    let world = repository("tasks: [{ id: a, run: 'echo 1 > a.txt' }]");
    git(&world, &["checkout", "-q", "--detach"]);
    let before = checkout(&world);
    start(&world, &["--merge", "branch"]).ended().expect(0).says("no branch is checked out");
    assert_eq!(checkout(&world), before);
    expect_tidy(&world);
}

#[test]
fn a_target_that_is_dirty_moved_or_gone_is_left_alone_and_the_command_is_told() {
    let tasks = "tasks: [{ id: a, run: 'echo 1 > a.txt; AGENT make HERE/at; AGENT await HERE/go' }]";
    for (deed, words) in [
        (vec!["commit", "-q", "--allow-empty", "-m", "mine"], "the branch it started from has moved"),
        (vec!["checkout", "-q", "-b", "other"], "and main holds it"),
        (vec!["rm", "-q", "--cached", "f.txt"], "its checkout has uncommitted changes"),
    ] {
        let world = repository(tasks);
        let live = start(&world, &["--merge", "branch", "--conflict-monitor", "0"]);
        world.wait_for_file("at");
        git(&world, &deed);
        let before = checkout(&world);
        world.write("go", "");
        live.ended().expect(0).says(words);
        assert_eq!(checkout(&world), before, "{deed:?}");
    }
    let world = repository(tasks);
    let live = start(&world, &["--merge", "branch"]);
    world.wait_for_file("at");
    git(&world, &["checkout", "-q", "--detach"]);
    git(&world, &["branch", "-q", "-D", "main"]);
    world.write("go", "");
    live.ended().expect(0).says("the branch it started from is gone").says("git merge conductor/");
}

/// B4 and the rest of the list: whatever an agent does to its own worktree and to the repository around it, its files
/// land or are kept, later tasks start clean and the checkout stays as it was.
#[test]
fn agents_that_commit_rewrite_delete_and_plant_do_no_harm() {
    let world = repository(
        "
tasks:
  - { id: commits, run: 'echo 1 > c.txt; git add c.txt; git -c user.name=A -c user.email=a commit -qm own; echo 2 > d.txt' }
  - { id: rewrites, run: 'git update-ref -d HEAD; echo 1 > r.txt' }
  - { id: deletes, run: 'rm -rf .git; echo 1 > e.txt' }
  - { id: nested, run: 'mkdir n; cd n; git init -q; echo 1 > inner.txt' }
  - { id: links, run: 'ln -s / rootlink; ln -s ../../outside away; echo 1 > l.txt' }
  - { id: hooks, run: 'for h in pre-commit post-checkout reference-transaction post-merge; do printf \"#!/bin/sh\\ntouch HERE/fired\\n\" > ../../../../../work/repo/.git/hooks/$h; chmod +x ../../../../../work/repo/.git/hooks/$h; done; echo 1 > h.txt' }
  - { id: names, run: \"printf x > 'new\\nline'; printf x > \\\"$(printf 'raw\\\\377')\\\"; echo 1 > o.txt\" }
  - { id: last, run: 'ls -a | sort | tr \"\\n\" \" \"', dependencies: [commits, rewrites, deletes, nested, links, hooks, names] }
",
    );
    let before = checkout(&world);
    start(&world, &["-p", "1"]).ended().expect(0);
    let branch = format!("conductor/{}", world.run_id());
    for file in ["c.txt", "d.txt", "r.txt", "e.txt", "n/inner.txt", "l.txt", "h.txt", "o.txt", "f.txt"] {
        git(&world, &["cat-file", "-e", &format!("{branch}:{file}")]);
    }
    assert_eq!(git(&world, &["cat-file", "-p", &format!("{branch}:rootlink")]), "/");
    assert_eq!(checkout(&world), before);
    assert!(!world.path("fired").exists(), "a planted hook fired");
    expect_tidy(&world);
}

#[test]
fn odd_file_names_land() {
    let world = repository(
        "tasks: [{ id: a, run: 'sh HERE/names.sh' }, { id: b, run: 'ls | wc -l', dependencies: [a] }]",
    );
    fs::write(
        world.path("names.sh"),
        b"printf x > 'new\nline'\nprintf y > 'raw\xff\xfe'\nprintf z > '-x $(id)'\n",
    )
    .unwrap();
    start(&world, &[]).ended().expect(0);
    let branch = format!("conductor/{}", world.run_id());
    let output = world
        .command_of("git")
        .current_dir(world.path("repo"))
        .args(["ls-tree", "-z", "--name-only", &branch])
        .output()
        .unwrap();
    let names: Vec<&[u8]> = output.stdout.split(|&byte| byte == 0).collect();
    for name in [b"new\nline".as_slice(), b"raw\xff\xfe", b"-x $(id)"] {
        assert!(names.contains(&name), "{:?}", std::ffi::OsStr::from_bytes(name));
    }
}

/// A large file is streamed: it lands, and neither we nor our git hold it in memory.
#[test]
fn a_huge_file_lands_without_being_held_in_memory() {
    let size = amount("CONDUCTOR_HUGE_MIB", 300);
    let world = repository(&format!("tasks: [{{ id: a, run: 'truncate -s {size}M huge.bin' }}]"));
    let mut live = start(&world, &["--json"]);
    let mut peak = 0;
    wait_for("the run to end", || {
        peak = peak.max(resident(live.pid()));
        (!live.is_running()).then_some(())
    });
    let ended = live.ended().expect(0);
    assert!(ended.stdout.contains(&format!("a left huge.bin of {size} MiB")), "it is told: {}", ended.stdout);
    assert!(peak < 100 << 10, "{peak} KiB resident");
    let landed = git(&world, &["cat-file", "-s", &format!("conductor/{}:huge.bin", world.run_id())]);
    assert_eq!(landed.parse::<u64>().unwrap(), size << 20);
}

/// The disk the workspaces are on is full: no task fails, and the run goes on when there is room.
#[test]
fn no_room_for_a_workspace_is_waited_out() {
    let world = repository(
        "
config: { workspace_path: 'HERE/small/{run}-{n}' }
tasks: [{ id: a, run: 'echo 1 > a.txt' }]
",
    );
    fs::create_dir(world.path("small")).unwrap();
    fs::write(world.path("repo/big.bin"), vec![7; 700 << 10]).unwrap();
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "big"]);
    let small = world.path("small").display().to_string();
    let mount = format!("mount -t tmpfs -o size=1m tmpfs {small}");
    let mountable = world.command_of("unshare").args(["-m", "sh", "-c", &mount]).output();
    if !mountable.is_ok_and(|output| output.status.success()) {
        return crate::harness::skipped("needs root and `unshare -m` to mount a small disk");
    }
    let script = format!(
        "{mount} && head -c 600000 /dev/zero > {small}/fill || exit 9\n\
         (timeout 100 {agent} await {go}; rm {small}/fill) &\n\
         {conductor} run ../tasks.yaml",
        agent = crate::harness::agent(),
        go = world.path("go").display(),
        conductor = crate::harness::CONDUCTOR,
    );
    let mut shell = world.command_of("unshare");
    shell.args(["-m", "sh", "-c", &script]).current_dir(world.path("repo"));
    let live = world.spawn(&mut shell);
    live.wait_for_stderr("waiting for room on the disk");
    world.write("go", "");
    live.ended().expect(0).says("1 task landed");
}

/// In KiB.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
}
