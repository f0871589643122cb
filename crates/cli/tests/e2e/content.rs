//! Work lands as the user's own git would have stored it, and changes that an agent makes to git's
//! configuration are reported.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use crate::harness::{World, wait_for};
use crate::repository::{conductor, expect_tidy, git, on_branch, repository, start};

fn report(world: &World) -> String {
    fs::read_to_string(world.home().join("runs").join(world.run_id()).join("report.md")).unwrap()
}

/// A2: a file that the user ignores in `.git/info/exclude` or in their own file is theirs.
#[test]
fn a_file_the_user_ignores_outside_of_the_tree_is_neither_tracked_nor_overwritten() {
    let world = repository(
        "tasks: [{ id: a, run: 'cp .env.example .env; cp .env.example local.cfg; echo 1 > a.txt' }]",
    );
    world.write("repo/.env.example", "KEY=example\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "example"]);
    fs::write(world.path("repo/.git/info/exclude"), ".env\n").unwrap();
    let user = std::path::PathBuf::from(world.variable("HOME"));
    fs::create_dir_all(user.join(".config/git")).unwrap();
    fs::write(user.join(".config/git/ignore"), "*.cfg\n").unwrap();
    world.write("repo/.env", "KEY=real\n");
    world.write("repo/local.cfg", "real\n");
    start(&world, &["--merge", "branch"]).ended().expect(0).says("main holds it");
    assert_eq!(world.read("repo/.env"), "KEY=real\n");
    assert_eq!(world.read("repo/local.cfg"), "real\n");
    assert_eq!(git(&world, &["ls-files"]), ".env.example\na.txt\nf.txt");
}

/// A5 with the real program: what lands is encrypted, and the task sees and writes plain text.
#[test]
fn secrets_of_git_crypt_are_never_in_plain_text_on_the_branch() {
    let world = repository(
        "tasks: [{ id: a, run: 'grep -q plain s.secret && echo other > s.secret && echo new > n.secret' }]",
    );
    let made = world.command_of("git-crypt").arg("init").current_dir(world.path("repo")).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return crate::harness::skipped("git-crypt is not installed");
    }
    world.write("repo/.gitattributes", "*.secret filter=git-crypt diff=git-crypt\n");
    world.write("repo/s.secret", "plain\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "secret"]);
    conductor(&world, &["doctor"]).says("git-crypt").says("contents pass through");
    start(&world, &["--merge", "branch"]).ended().expect(0).says("main holds it");
    for (file, text) in [("s.secret", "other\n"), ("n.secret", "new\n")] {
        let blob = world
            .command_of("git")
            .current_dir(world.path("repo"))
            .args(["cat-file", "blob", &format!("main:{file}")])
            .output()
            .unwrap();
        assert!(blob.stdout.starts_with(b"\0GITCRYPT\0"), "{file} is in plain text");
        assert_eq!(world.read(&format!("repo/{file}")), text);
    }
    assert_eq!(git(&world, &["status", "--porcelain"]), "");
    expect_tidy(&world);
}

fn with_filter(tasks: &str, script: &str) -> World {
    let world = repository(tasks);
    world.write("filter.sh", script);
    fs::set_permissions(world.path("filter.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let command = world.path("filter.sh").display().to_string();
    for key in ["clean", "smudge"] {
        git(&world, &["config", &format!("filter.own.{key}"), &command]);
    }
    git(&world, &["config", "filter.own.required", "true"]);
    world.write("repo/.gitattributes", "*.key filter=own\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "filter"]);
    world
}

#[test]
fn a_required_filter_that_fails_fails_the_task_and_keeps_the_rest_of_its_work() {
    let world = with_filter(
        "tasks: [{ id: a, run: 'echo secret > a.key; echo 1 > a.txt' }, { id: b, run: 'echo 1 > b.txt' }]",
        "#!/bin/sh\necho 'no key here' >&2\nexit 1\n",
    );
    let ended = start(&world, &[]).ended().expect(100);
    ended.says("git's filter 'own' failed for a.key").says("no key here");
    assert_eq!(world.statuses()["b"], "completed");
    let kept = git(&world, &["for-each-ref", "--format=%(refname)", "refs/conductor/rescue"]);
    assert_eq!(git(&world, &["show", &format!("{kept}:a.txt")]), "1");
    let files = git(&world, &["ls-tree", "-r", "--name-only", &kept]);
    assert!(!files.contains("a.key"), "{files}");
}

#[test]
fn a_filter_that_hangs_is_ended_and_fails_the_task() {
    let mut world =
        with_filter("tasks: [{ id: a, run: 'echo secret > a.key' }]", "#!/bin/sh\nexec sleep 1000\n");
    world.set("CONDUCTOR_FILTER_TIMEOUT", "1");
    start(&world, &[])
        .ended_within(Duration::from_secs(60))
        .expect(100)
        .says("took longer than 1 s with the filters it runs");
}

#[test]
fn doctor_and_validate_say_which_filters_do_not_run() {
    let world = repository("tasks: [{ id: a, run: 'echo 1 > a.key' }]");
    world.write("repo/.gitattributes", "*.key filter=own\n*.other filter=unknown\n");
    world.write("repo/x.other", "x\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "attributes"]);
    let inside = world.path("repo/.git/filter.sh").display().to_string();
    git(&world, &["config", "filter.own.clean", &inside]);
    git(&world, &["config", "core.autocrlf", "input"]);
    conductor(&world, &["doctor"])
        .says("the filter 'own' is not run")
        .says("which agents can write to")
        .says("the filter 'unknown' is not configured")
        .says("core.autocrlf=input");
    conductor(&world, &["validate", "../tasks.yaml"])
        .expect(0)
        .says("the filter 'own' is not run")
        .says("the filter 'unknown' is not configured");
    start(&world, &[]).ended().expect(100).says("a.key: git's filter 'own' cannot be run safely");
}

/// A9: reported at once, with file and key, and again in the end block.
#[test]
fn what_an_agent_plants_in_gits_configuration_is_told_at_once_and_at_the_end() {
    let world = repository(
        "
tasks:
  - { id: plants, run: 'git config core.fsmonitor HERE/x; git config alias.st !evil; printf \"#!/bin/sh\\n\" > $(git rev-parse --git-common-dir)/hooks/post-merge; echo y > $(git rev-parse --git-common-dir)/info/exclude; echo 1 > a.txt' }
  - { id: waits, run: 'AGENT await HERE/go', dependencies: [plants] }
",
    );
    let live = start(&world, &[]);
    live.wait_for_stderr("git's configuration was changed while plants worked");
    let said = live.stderr();
    for words in [
        ".git/config: core.fsmonitor is new",
        ".git/config: alias.st is new",
        ".git/hooks/post-merge is new",
        ".git/info/exclude was changed",
    ] {
        assert!(said.contains(words), "{words} is not in {said}");
    }
    conductor(&world, &["status"]).expect(0).says("git's configuration was changed while plants worked");
    world.write("go", "");
    let ended = live.ended().expect(0);
    ended
        .says("look at it before you use git here")
        .says("/repo/.git/hooks/post-merge")
        .says("git merge conductor/");
    assert_eq!(world.logged("git_settings_touched").len(), 1, "once");
    let report = report(&world);
    assert!(report.contains("git's configuration was changed while plants worked"), "{report}");
}

/// The copy it is compared with is kept without passwords; every change is still reported, also of a
/// password.
#[test]
fn a_change_is_told_where_gits_configuration_holds_a_password() {
    for (change, told) in [
        ("git config core.fsmonitor HERE/x", ".git/config: core.fsmonitor is new"),
        ("git config remote.origin.url https://me:other-password@127.0.0.1:9/x", ".git/config was changed"),
    ] {
        let world = repository(&format!(
            "tasks: [{{ id: keeps, run: 'true' }}, {{ id: plants, run: '{change}', dependencies: [keeps] }}]"
        ));
        git(&world, &["remote", "add", "origin", "https://me:first-password@127.0.0.1:9/x"]);
        let ended = start(&world, &[]).ended().expect(0).says(told).says("while plants worked");
        assert!(!ended.stderr.contains("remote.origin.url"), "only what changed is told: {}", ended.stderr);
    }
}

/// A9: the baseline is that of the run's start, also for the coordinator that takes the run up.
#[test]
fn a_filter_planted_before_a_kill_does_not_fire_when_the_run_is_resumed() {
    let world = repository(
        "
tasks:
  - { id: plants, run: 'git config filter.evil.smudge \"touch HERE/fired; cat\"; git config filter.evil.clean \"touch HERE/fired; cat\"; echo \"* filter=evil\" > .gitattributes; echo 1 > a.txt' }
  - { id: cut, run: 'AGENT make HERE/at; AGENT await HERE/go; echo 1 > b.txt', dependencies: [plants] }
  - { id: next, run: 'echo 1 > c.txt', dependencies: [cut] }
",
    );
    let mut live = start(&world, &["--conflict-monitor", "0"]);
    world.wait_for_file("at");
    live.child.kill().unwrap();
    wait_for("its end", || (!live.is_running()).then_some(()));
    world.write("go", "");
    let ended = conductor(&world, &["run", "--resume", &world.run_id(), "--merge", "branch"]).expect(0);
    ended
        .says("git's configuration is not what it was when this run started: .git/config: filter.evil.clean is new")
        .says("look at it before you use git here");
    assert!(!world.path("fired").exists(), "a planted filter fired");
    assert_eq!(on_branch(&world, "c.txt"), "1");
}

/// A9: if git cannot work with the configuration any more, the message names the change.
#[test]
fn a_run_whose_repository_was_said_to_be_bare_or_elsewhere_says_what_was_changed() {
    for (key, value) in [("core.bare", "true"), ("core.worktree", "/nowhere")] {
        let world = repository(&format!(
            "tasks: [{{ id: a, run: 'echo 1 > a.txt; git config {key} {value}; AGENT make HERE/at; AGENT await HERE/go' }}]"
        ));
        let mut live = start(&world, &["--conflict-monitor", "0"]);
        world.wait_for_file("at");
        live.child.kill().unwrap();
        wait_for("its end", || (!live.is_running()).then_some(()));
        world.write("go", "");
        let resumed = conductor(&world, &["run", "--resume", &world.run_id()]);
        let resumed = resumed.expect(3).says(&format!(".git/config: {key} "));
        let undo = resumed.stderr.lines().find_map(|line| line.find("cp ").map(|at| line[at..].to_owned()));
        let undone =
            world.command_of("sh").args(["-c", &undo.unwrap()]).current_dir(world.path("repo")).status();
        assert!(undone.unwrap().success());
        conductor(&world, &["run", "--resume", &world.run_id()]).expect(0);
        assert_eq!(on_branch(&world, "a.txt"), "1");
    }
}

/// The same while the run is at work: our own git goes on.
#[test]
fn a_repository_that_is_said_to_be_bare_or_elsewhere_meanwhile_hinders_no_task() {
    for (key, value) in [("core.bare", "true"), ("core.worktree", "/nowhere")] {
        let world = repository(&format!(
            "
tasks:
  - {{ id: a, run: 'echo 1 > a.txt; git config {key} {value}' }}
  - {{ id: b, run: 'echo 1 > b.txt', dependencies: [a] }}
"
        ));
        start(&world, &["--merge", "branch"]).ended().expect(0).says(&format!(".git/config: {key} "));
        git(&world, &["--git-dir=.git", "config", "--unset", key]);
        assert_eq!(on_branch_or_main(&world, "b.txt"), "1");
    }
}

fn on_branch_or_main(world: &World, file: &str) -> String {
    let branch = format!("conductor/{}", world.run_id());
    let there = git(world, &["for-each-ref", &format!("refs/heads/{branch}")]);
    git(world, &["show", &format!("{}:{file}", if there.is_empty() { "main" } else { &branch })])
}

/// A9: hooks are wherever `core.hooksPath` says, also below the user's checkout and outside of it.
#[test]
fn a_hook_in_the_folder_that_the_user_named_is_told_too() {
    for folder in ["HERE/hooks", "HERE/repo/.githooks"] {
        let world = repository(&format!(
            "tasks: [{{ id: plants, run: 'echo evil > {folder}/pre-commit; echo evil >> {folder}/pre-push; echo 1 > a.txt' }}]"
        ));
        let folder = folder.replace("HERE/", "");
        fs::create_dir_all(world.path(&folder)).unwrap();
        world.write(&format!("{folder}/pre-push"), "#!/bin/sh\n");
        if folder.starts_with("repo") {
            git(&world, &["add", "."]);
            git(&world, &["commit", "-q", "-m", "hooks"]);
            git(&world, &["config", "core.hooksPath", ".githooks"]);
        } else {
            git(&world, &["config", "core.hooksPath", world.path(&folder).to_str().unwrap()]);
        }
        let ended = start(&world, &[]).ended().expect(0);
        ended.says("hooks/pre-commit is new").says("hooks/pre-push was changed");
    }
}

/// A9: the user's git reads a submodule's own configuration and hooks whenever it looks into it.
#[test]
fn what_an_agent_plants_in_a_submodules_git_directory_is_told() {
    let world = repository(
        "
tasks:
  - { id: plants, run: 'part=HERE/repo/.git/modules/part; git config -f $part/config core.fsmonitor HERE/x; mkdir -p $part/hooks; echo evil > $part/hooks/post-checkout; echo 1 > a.txt' }
",
    );
    let part = world.path("part");
    fs::create_dir(&part).unwrap();
    let at = part.to_str().unwrap();
    git(&world, &["init", "-q", at]);
    let user = ["-c", "user.name=User", "-c", "user.email=user@localhost"];
    git(&world, &[&["-C", at], &user[..], &["commit", "-q", "--allow-empty", "-m", "part"]].concat());
    git(&world, &["-c", "protocol.file.allow=always", "submodule", "add", "-q", at, "part"]);
    git(&world, &["commit", "-q", "-m", "a part"]);
    let ended = start(&world, &[]).ended().expect(0);
    ended
        .says(".git/modules/part/config: core.fsmonitor is new")
        .says(".git/modules/part/hooks/post-checkout is new");
}

/// A9: an object in another's place, and parents that a commit does not have. Our git sees neither.
#[test]
fn history_that_an_agent_has_replaced_is_told_and_not_believed() {
    let world = repository(
        "
tasks:
  - { id: replaces, run: 'git replace $(git rev-parse main) $(git commit-tree -m fake $(git mktree </dev/null)); git pack-refs --all; echo 1 > a.txt' }
  - { id: grafts, run: 'echo $(git rev-parse main) > $(git rev-parse --git-common-dir)/info/grafts; echo 1 > b.txt', dependencies: [replaces] }
",
    );
    let main = git(&world, &["rev-parse", "main"]);
    let ended = start(&world, &[]).ended().expect(0);
    ended
        .says(&format!("refs/replace/{main} is new"))
        .says(&format!("git replace -d {main}"))
        .says(".git/info/grafts is new");
    git(&world, &["replace", "-d", &main]);
    fs::remove_file(world.path("repo/.git/info/grafts")).unwrap();
    assert_eq!((on_branch(&world, "a.txt"), on_branch(&world, "b.txt")), ("1".into(), "1".into()));
    let base = git(&world, &["merge-base", "main", &format!("conductor/{}", world.run_id())]);
    assert_eq!(base, main, "the work is based on the commit that is there");
}
