//! `conductor worktree`: conflicts solved, kept work brought in, branches brought up to date, leftovers cleared.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{World, expect_no_leftovers};
use crate::repository::{
    CONFLICT, checkout, command, conductor, conflicted, conflicted_by, expect_tidy, git, on_branch,
    repository, start, status,
};

fn git_in(world: &World, folder: &Path, args: &[&str]) -> String {
    let output = world.command_of("git").current_dir(folder).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// The folder in which the conflict of `right` is laid out.
#[track_caller]
fn laid_out(world: &World) -> PathBuf {
    let folder = conductor(world, &["worktree", "resolve", "right"]).expect(0).stdout;
    PathBuf::from(folder.trim_end())
}

/// What people read, gaps made one, with the run's name and folders taken out.
fn plain(world: &World, text: &str) -> String {
    let text = text.replace(&world.home().display().to_string(), "HOME").replace(&world.run_id(), "RUN");
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

/// Those of other repositories are counted, and shown when they are asked for.
#[test]
fn a5_the_workspaces_of_this_repository_are_listed_and_the_rest_by_a_flag() {
    let world = conflicted();
    let folder = laid_out(&world).display().to_string();
    let list = |folder: &str, args: &[&str]| {
        let mut command = world.command(&[&["worktree", "list"], args].concat());
        world.spawn(command.current_dir(world.path(folder))).ended().expect(0)
    };
    fs::create_dir(world.path("elsewhere")).unwrap();
    let told = list("elsewhere", &[]);
    assert!(!told.stdout.contains(&folder), "{}", told.stdout);
    told.says("1 workspace of other repositories: --all");
    list("elsewhere", &["--all"]).says(&folder);
    let here = list("repo", &[]).says(&folder);
    assert!(!here.stderr.contains("other repositories"), "{}", here.stderr);
}

#[test]
fn a_conflict_is_listed_laid_out_solved_and_lands() {
    let world = conflicted();
    let before = checkout(&world);
    let listed = conductor(&world, &["worktree", "list"]).expect(0).stdout;
    insta::assert_snapshot!(plain(&world, &listed), @r"
    RUN TASK FILES SUBJECT KEPT AS
    RUN right 2 chore(right): right refs/conductor/rescue/RUN/right/unmerged
    ");
    let told = conductor(&world, &["worktree", "resolve", "right"]).expect(0);
    insta::assert_snapshot!(plain(&world, &told.stderr), @r"
    conductor: the conflict of right is laid out there; both sides changed:
    f.txt
    when it is solved: conductor worktree resolve right --run RUN --continue
    to give it up: conductor worktree resolve right --run RUN --abort
    ");
    let folder = PathBuf::from(told.stdout.trim_end());
    assert_eq!(git_in(&world, &folder, &["status", "--porcelain"]), "UU f.txt\nA  own.txt");
    assert_eq!(
        git_in(&world, &folder, &["branch", "--show-current"]),
        format!("conductor-task/{}/right", world.run_id())
    );
    let marked = fs::read_to_string(folder.join("f.txt")).unwrap();
    assert_eq!(marked, "a\n<<<<<<< landed\nLEFT\n=======\nRIGHT\n>>>>>>> task/right\nc\n");
    let listed = conductor(&world, &["worktree", "list", "--json"]).expect(0).json();
    assert_eq!(listed["schema"], "conductor.worktrees/1");
    assert_eq!(listed["workspaces"][0]["task"], "right");
    assert_eq!(listed["workspaces"][0]["live"], false);
    assert_eq!(listed["rescued"][0]["files"], 2);
    conductor(&world, &["worktree", "path", "right"]).expect(0).says(&folder.display().to_string());

    let refused = conductor(&world, &["worktree", "resolve", "right", "--continue"]).expect(101);
    refused.says("the marks of the conflict are still in f.txt");
    git_in(&world, &folder, &["merge", "--abort"]);
    let emptied = conductor(&world, &["worktree", "resolve", "right", "--continue"]).expect(101);
    emptied.says("holds nothing but what has landed already").says("--ours");
    conductor(&world, &["worktree", "resolve", "right", "--abort"]).expect(0);
    assert_eq!(laid_out(&world), folder);

    fs::write(folder.join("f.txt"), "a\nLEFT and RIGHT\nc\n").unwrap();
    assert_eq!(laid_out(&world), folder, "what was begun is left as it is");
    let done = conductor(&world, &["worktree", "resolve", "right", "--continue"]).expect(0);
    done.says("right landed on conductor/").says("is completed; next: git merge conductor/");

    assert_eq!(on_branch(&world, "f.txt"), "a\nLEFT and RIGHT\nc");
    assert_eq!(on_branch(&world, "own.txt"), "own");
    let branch = format!("conductor/{}", world.run_id());
    let message = git(&world, &["log", "-1", "--format=%B", &branch]);
    assert_eq!(
        message,
        format!("Merge task right: right\n\nConductor-Run: {0}\nConductor-Task: right", world.run_id())
    );
    assert_eq!(git(&world, &["log", "--first-parent", "--format=%s", &branch]).lines().count(), 3);
    assert_eq!((status(&world).as_str(), world.statuses()["right"].as_str()), ("completed", "completed"));
    assert_eq!(world.summary()["results"][1]["files_touched"], serde_json::json!(["f.txt", "own.txt"]));
    assert_eq!(world.summary()["ledger"]["lost"], serde_json::json!([]));
    assert_eq!(checkout(&world), before);
    expect_tidy(&world);
    conductor(&world, &["diff", "right"]).expect(0).says("+LEFT and RIGHT");
    conductor(&world, &["worktree", "list"]).expect(0).says("no work is kept aside");
    conductor(&world, &["worktree", "merge", "right"]).expect(4).says("has landed already");
    conductor(&world, &["run", "--resume", &world.run_id()]).expect(4).says("nothing left to do");
}

#[test]
fn a_side_can_be_chosen_at_once_and_what_waited_goes_on() {
    for (side, line) in [("--ours", "LEFT"), ("--theirs", "RIGHT")] {
        let tasks =
            format!("{CONFLICT}  - {{ id: after, run: cp own.txt copy.txt, dependencies: [right] }}\n");
        let world = conflicted_by(&tasks);
        let decided = conductor(&world, &["worktree", "resolve", "right", side]).expect(0);
        decided.says("1 more can be done now: conductor run --resume").says("--retry-failed");
        assert_eq!(on_branch(&world, "f.txt"), format!("a\n{line}\nc"));
        assert_eq!(status(&world), "failed");
        conductor(&world, &["checkpoint", "list"]).expect(0).says("before: the conflict of right is decided");
        conductor(&world, &["run", "--resume", "--retry-failed"]).expect(0).says("3 of 3 completed");
        assert_eq!(on_branch(&world, "copy.txt"), "own");
        expect_tidy(&world);
    }
}

#[test]
fn a_merge_committed_with_ones_own_git_lands_as_well() {
    for strategy in ["merge", "squash", "rebase"] {
        let world =
            conflicted_by(&CONFLICT.replace("id: right", &format!("id: right, merge_strategy: {strategy}")));
        let folder = laid_out(&world);
        fs::write(folder.join("f.txt"), "a\nboth\nc\n").unwrap();
        git_in(&world, &folder, &["add", "f.txt"]);
        git_in(&world, &folder, &["commit", "-q", "--no-edit"]);
        // From within the folder itself, where people are when they have solved it.
        let mut proceed = world.command(&["worktree", "resolve", "right", "--continue"]);
        world
            .spawn(proceed.current_dir(&folder))
            .ended()
            .expect(0)
            .says("the folder you are in is gone: cd ");
        assert_eq!(on_branch(&world, "f.txt"), "a\nboth\nc");
        let branch = format!("conductor/{}", world.run_id());
        let parents = git(&world, &["log", "-1", "--format=%P", &branch]);
        let expected = if strategy == "merge" { 2 } else { 1 };
        assert_eq!(parents.split(' ').count(), expected, "{strategy}");
        conductor(&world, &["worktree", "list"]).expect(0).says("no work is kept aside");
        assert_eq!(git(&world, &["log", "--first-parent", "--format=%s", &branch]).lines().count(), 3);
        expect_tidy(&world);
    }
}

#[test]
fn a_solution_that_fails_the_checks_does_not_land_and_can_be_mended() {
    let world = conflicted();
    let branch = format!("conductor/{}", world.run_id());
    let tip = git(&world, &["rev-parse", &branch]);
    let folder = laid_out(&world);
    fs::write(folder.join("f.txt"), "a\nBAD\nc\n").unwrap();
    let red = conductor(&world, &["worktree", "resolve", "right", "--continue"]).expect(100);
    red.says("on the combined tree").says("the combined tree has to pass: ! grep -q BAD f.txt");
    assert_eq!(git(&world, &["rev-parse", &branch]), tip);
    assert_eq!(status(&world), "failed");
    fs::write(folder.join("f.txt"), "a\ngood\nc\n").unwrap();
    conductor(&world, &["worktree", "resolve", "right", "--continue"]).expect(0);
    assert_eq!(on_branch(&world, "f.txt"), "a\ngood\nc");
    expect_tidy(&world);
}

#[test]
fn giving_up_keeps_what_was_done_and_takes_the_folder_away() {
    let world = conflicted();
    let folder = laid_out(&world);
    fs::write(folder.join("f.txt"), "a\nhalf-way\nc\n").unwrap();
    let kept = format!("refs/conductor/rescue/{}/right/unfinished", world.run_id());
    conductor(&world, &["worktree", "resolve", "right", "--abort"]).expect(0).says(&kept);
    assert_eq!(git(&world, &["show", &format!("{kept}:f.txt")]), "a\nhalf-way\nc");
    assert!(!folder.exists());
    expect_tidy(&world);
    conductor(&world, &["worktree", "resolve", "right", "--abort"]).expect(4).says("no conflict of 'right'");
    conductor(&world, &["worktree", "resolve", "right", "--continue"]).expect(4).says("begin with: ");
    laid_out(&world);
}

/// The branch moves on while the user solves a conflict: a new conflict is laid out with that work in it.
#[test]
fn a_branch_that_went_on_meanwhile_is_merged_again() {
    let world = conflicted();
    let folder = laid_out(&world);
    fs::write(folder.join("f.txt"), "a\nmine\nc\n").unwrap();
    let branch = format!("conductor/{}", world.run_id());
    let add = |line: &str| {
        git(&world, &["checkout", "-q", &branch]);
        world.write("repo/f.txt", &format!("a\n{line}\nc\n"));
        git(&world, &["commit", "-q", "-a", "-m", line]);
        git(&world, &["checkout", "-q", "main"]);
    };
    add("other");
    let again = conductor(&world, &["worktree", "resolve", "right", "--continue"]).expect(101);
    again.says("has gone on; the new conflict is in the same folder");
    let text = fs::read_to_string(folder.join("f.txt")).unwrap();
    assert!(text.contains("\nother\n=======\nmine\n"), "{text}");
    fs::write(folder.join("f.txt"), "a\nall\nc\n").unwrap();
    conductor(&world, &["worktree", "resolve", "right", "--continue"]).expect(0);
    assert_eq!(on_branch(&world, "f.txt"), "a\nall\nc");
    assert_eq!(on_branch(&world, "own.txt"), "own");
    expect_tidy(&world);
}

#[test]
fn a_resume_leaves_a_conflict_that_is_being_solved_alone() {
    let world = conflicted();
    let folder = laid_out(&world);
    fs::write(folder.join("f.txt"), "a\nmine\nc\n").unwrap();
    conductor(&world, &["worktree", "clean"]).expect(0).says("a conflict is being solved in it");
    let resumed = conductor(&world, &["run", "--resume", "--retry-failed", "--stats"]).expect(0);
    resumed.says("0 lost, 0 leaked").says("in use:").says(&folder.display().to_string());
    assert_eq!(fs::read_to_string(folder.join("f.txt")).unwrap(), "a\nmine\nc\n");
    conductor(&world, &["worktree", "resolve", "right", "--continue"]).expect(4).says("has landed already");
    let cleared = conductor(&world, &["worktree", "clean", &world.run_id()]).expect(0);
    cleared.says("1 workspace cleared").says("workspace-resolve-right/left");
    expect_tidy(&world);
}

#[test]
fn kept_work_is_merged_once_the_other_side_makes_room() {
    let world = conflicted();
    let merge = ["worktree", "merge", "right"];
    let refused = conductor(&world, &merge).expect(101);
    insta::assert_snapshot!(plain(&world, &refused.stderr), @r"
    conductor: the combined tree has to pass: ! grep -q BAD f.txt
    error: right conflicts with what landed meanwhile in f.txt
    help: solve it: conductor worktree resolve right --run RUN (or decide it at once: --ours, --theirs)
    ");
    assert!(refused.stdout.contains("\nLEFT\n=======\nRIGHT\n"), "{}", refused.stdout);
    expect_tidy(&world);

    let branch = format!("conductor/{}", world.run_id());
    git(&world, &["checkout", "-q", &branch]);
    world.write("repo/f.txt", "a\nb\nc\nLEFT\n");
    conductor(&world, &merge).expect(101);
    git(&world, &["commit", "-q", "-a", "-m", "make room"]);
    world.write("repo/f.txt", "dirty\n");
    conductor(&world, &merge).expect(1).says("uncommitted changes").says("commit or stash");
    git(&world, &["checkout", "-q", "f.txt"]);
    conductor(&world, &["worktree", "resolve", "right"]).expect(4).says("conductor worktree merge right");
    conductor(&world, &merge).expect(0).says("is completed");
    assert_eq!(world.read("repo/f.txt"), "a\nRIGHT\nc\nLEFT\n", "a checkout of the branch goes along");
    assert_eq!(git(&world, &["status", "--porcelain"]), "");
    assert_eq!(status(&world), "completed");
    expect_tidy(&world);
}

#[test]
fn work_that_is_red_stays_out_however_often_it_is_tried() {
    let world = repository("tasks: [{ id: red, run: echo no > n.txt, verify: ['! grep -q no n.txt'] }]");
    conductor(&world, &["run", "../tasks.yaml"]).expect(100);
    for _ in 0..2 {
        conductor(&world, &["worktree", "merge", "red"]).expect(100).says("red does not land");
        assert_eq!(git(&world, &["for-each-ref", "refs/heads/conductor"]), "", "no branch for nothing");
    }
    expect_tidy(&world);
    assert_eq!(status(&world), "failed");
}

/// What a person merged with their own git, or a process that died before it could say so, is found on the branch.
#[test]
fn work_that_is_on_the_branch_already_is_only_recorded() {
    let world = conflicted();
    git(&world, &["checkout", "-q", &format!("conductor/{}", world.run_id())]);
    let kept = format!("refs/conductor/rescue/{}/right/unmerged", world.run_id());
    git(&world, &["merge", "-q", "-X", "theirs", "-m", "by hand", &kept]);
    git(&world, &["checkout", "-q", "main"]);
    let tip = git(&world, &["rev-parse", &format!("conductor/{}", world.run_id())]);
    conductor(&world, &["worktree", "merge", "right"]).expect(0);
    assert_eq!(git(&world, &["rev-parse", &format!("conductor/{}", world.run_id())]), tip);
    assert_eq!(status(&world), "completed");
}

#[test]
fn the_branch_follows_the_one_it_started_from() {
    let world = repository("tasks: [{ id: a, run: 'sed -i s/a/A/ f.txt' }]");
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    let branch = format!("conductor/{}", world.run_id());
    conductor(&world, &["worktree", "sync"]).expect(0).says("holds main already");
    world.write("repo/mine.txt", "mine\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "user goes on"]);
    conductor(&world, &["worktree", "sync"]).expect(0).says(&format!("{branch} holds main now"));
    conductor(&world, &["checkpoint", "list"]).expect(0).says("before: main is merged into");
    git(&world, &["merge", "-q", "--ff-only", &branch]);
    assert_eq!(
        (world.read("repo/f.txt").as_str(), world.read("repo/mine.txt").as_str()),
        ("A\nb\nc\n", "mine\n")
    );

    git(&world, &["branch", "-f", &branch, "main"]);
    git(&world, &["checkout", "-q", &branch]);
    world.write("repo/f.txt", "theirs\nb\nc\n");
    git(&world, &["commit", "-q", "-a", "-m", "on the run's branch"]);
    git(&world, &["checkout", "-q", "main"]);
    world.write("repo/f.txt", "ours\nb\nc\n");
    git(&world, &["commit", "-q", "-a", "-m", "on main"]);
    let tip = git(&world, &["rev-parse", &branch]);
    let conflict = conductor(&world, &["worktree", "sync", &world.run_id()]).expect(101);
    assert!(conflict.stdout.contains("\ntheirs\n=======\nours\n"), "{}", conflict.stdout);
    conflict.says("conflicts with main in f.txt; nothing was moved");
    assert_eq!(git(&world, &["rev-parse", &branch]), tip);
    git(&world, &["branch", "-D", &branch]);
    conductor(&world, &["worktree", "sync"]).expect(4).says("no run here has a branch");
}

/// A killed coordinator, and with it what it had started.
fn killed(world: &World) -> String {
    let mut live = start(world, &[]);
    world.wait_for_file("started");
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    world.run_id()
}

#[test]
fn clearing_a_killed_run_saves_what_was_not_saved() {
    let world = repository(
        "tasks: [{ id: cut, run: 'echo half > half.txt; AGENT make HERE/started; AGENT await HERE/go; echo done > done.txt' }]",
    );
    let run = killed(&world);
    let folder = conductor(&world, &["worktree", "path", "cut"]).expect(0).stdout;
    let folder = PathBuf::from(folder.trim_end());
    assert!(folder.join("half.txt").exists());
    conductor(&world, &["worktree", "clean"]).expect(0).says("nothing to clear");
    // The user's own shell, say: it is told of and left alone, and the folder stays for it.
    let mut theirs = world.command_of("sleep").arg("600").current_dir(&folder).spawn().unwrap();
    let who = format!("left {}, sleep (process {}) is in it", folder.display(), theirs.id());
    conductor(&world, &["worktree", "clean", &run]).expect(0).says(&who);
    expect_no_leftovers(&run);
    assert!(folder.exists() && theirs.try_wait().unwrap().is_none());
    theirs.kill().unwrap();
    theirs.wait().unwrap();
    conductor(&world, &["worktree", "clean", "--all"]).expect(0).says("1 workspace cleared");
    assert!(!folder.exists());
    assert_eq!(git(&world, &["show", &format!("refs/conductor/rescue/{run}/cut/1:half.txt")]), "half");
    conductor(&world, &["worktree", "path", "cut"]).expect(4).says("has no workspace");
    conductor(&world, &["diff", "cut"]).expect(0);
    world.write("go", "");
    conductor(&world, &["run", "--resume"]).expect(0);
    assert_eq!(on_branch(&world, "done.txt"), "done");
    expect_tidy(&world);
}

#[test]
fn a_live_run_is_shown_and_left_alone() {
    let world = repository(
        "
tasks:
  - { id: bad, run: 'echo x > x.txt; exit 1' }
  - { id: slow, run: 'AGENT make HERE/started; AGENT await HERE/go', dependencies: [{ id: bad, when: finished }] }
",
    );
    let live = start(&world, &[]);
    world.wait_for_file("started");
    let run = world.run_id();
    let listed = conductor(&world, &["worktree", "list", "--run", &run[..4], "--json"]).expect(0).json();
    let room = &listed["workspaces"][0];
    assert_eq!((&room["task"], &room["live"]), (&"slow".into(), &true.into()), "{listed}");
    assert!(!room["used_by"].as_array().unwrap().is_empty());
    let path = conductor(&world, &["worktree", "path", "slow"]).expect(0).stdout;
    assert_eq!(path.trim_end(), room["path"].as_str().unwrap());
    conductor(&world, &["worktree", "clean"]).expect(0);
    for args in [&["worktree", "clean", &run][..], &["worktree", "merge", "bad"], &["worktree", "sync"]] {
        conductor(&world, args).expect(8).says("another conductor").says("wait for it to end");
    }
    world.write("go", "");
    live.ended().expect(100);
    conductor(&world, &["worktree", "merge", "bad"]).expect(0).says("bad landed");
    assert_eq!(on_branch(&world, "x.txt"), "x");
    expect_tidy(&world);
}

#[test]
fn an_interrupted_check_leaves_everything_as_it_was() {
    let tasks = "tasks: [{ id: a, run: 'echo x > x.txt; test -e HERE/once', verify: ['AGENT make HERE/checking; AGENT await HERE/go'] }]";
    let world = repository(tasks);
    conductor(&world, &["run", "../tasks.yaml"]).expect(100);
    let live = world.spawn(&mut command(&world, &["worktree", "merge", "a"]));
    world.wait_for_file("checking");
    live.signal(rustix::process::Signal::TERM);
    live.ended().expect(143).says("nothing was moved");
    expect_tidy(&world);
    assert_eq!(git(&world, &["for-each-ref", "refs/heads/conductor"]), "");
}

#[test]
fn where_there_is_nothing_that_is_said() {
    let world = World::new();
    world.conductor(&["worktree", "list"]).expect(0).says("there is no workspace");
    assert!(!world.database().exists(), "looking makes no database");
    world.conductor(&["worktree", "list", "--run", "nope"]).expect(2).says("there is no run 'nope'");
    world.conductor(&["worktree", "clean"]).expect(0).says("nothing to clear");
    for verb in ["path", "merge", "resolve"] {
        world.conductor(&["worktree", verb, "a"]).expect(4).says("nothing has been run here yet");
    }
    world.conductor(&["worktree", "resolve", "a", "--ours", "--theirs"]).expect(2);
    world.write("tasks.yaml", "tasks: [{ id: build, run: 'false' }]");
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    world.conductor(&["worktree", "merge", "build"]).expect(4).says("worked in place");
    world.conductor(&["worktree", "merge", "biuld"]).expect(2).says("did you mean 'build'?");
    world.conductor(&["worktree", "sync"]).expect(3).says("is not in a git repository");
    world.conductor(&["worktree", "clean", &world.run_id()]).expect(0).says("nothing to clear");
    let mut world = repository("tasks: [{ id: a, run: 'true' }]");
    world.set("PATH", world.path("nowhere"));
    conductor(&world, &["worktree", "list"]).expect(3).says("git cannot be started");
}

/// Killed after its last event and before it could clear up: the next run here does that, and loses nothing.
#[test]
fn what_a_finished_run_could_not_clear_the_next_one_does() {
    let world = repository("tasks: [{ id: a, run: 'echo 1 > a.txt; AGENT make HERE/at' }]");
    start(&world, &[]).ended().expect(0);
    let first = world.run_id();
    let left = world.home().join("runs").join(&first).join("workspaces");
    std::fs::create_dir_all(&left).unwrap();
    let folder = left.join(format!("{first}-1"));
    git(&world, &["worktree", "add", "-q", "--detach", folder.to_str().unwrap()]);
    std::fs::write(folder.join("forgotten.txt"), "x").unwrap();
    std::fs::write(left.join("1.folder"), folder.as_os_str().as_encoded_bytes()).unwrap();
    std::fs::write(left.join("1.base"), git(&world, &["rev-parse", "HEAD"])).unwrap();
    start(&world, &[]).ended().expect(0);
    assert!(!left.exists(), "its workspaces are gone");
    assert_eq!(git(&world, &["worktree", "list"]).lines().count(), 1);
    let kept =
        git(&world, &["show", &format!("refs/conductor/rescue/{first}/workspace-1/left:forgotten.txt")]);
    assert_eq!(kept, "x");
}
