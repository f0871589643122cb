//! What agents do with git in their workspaces: it undoes nothing that has landed, and conflict markers do
//! not land. A command plays the agent.

use serde_json::json;

use crate::harness::{Ended, World};
use crate::repository::{checkout, conductor, expect_tidy, git, on_branch, repository};

/// Two tasks that land one after the other, and then one whose command is `acts`.
fn third(acts: &str, more: &str) -> String {
    format!(
        "
tasks:
  - {{ id: one, run: 'echo 1 > one.txt; sed -i s/a/ONE/ f.txt' }}
  - {{ id: two, run: 'echo 2 > two.txt', dependencies: [one] }}
  - id: agent
    dependencies: [two]
    run: |
      set -e
      {}
{more}",
        acts.replace('\n', "\n      ")
    )
}

#[track_caller]
fn acted(acts: &str, more: &str) -> (World, Ended) {
    let world = repository(&third(acts, more));
    let before = checkout(&world);
    let ended = conductor(&world, &["run", "../tasks.yaml"]);
    assert_eq!(checkout(&world), before, "{acts}");
    assert_eq!(world.summary()["ledger"]["lost"], json!([]), "{acts}: {}", ended.stderr);
    (world, ended)
}

#[track_caller]
fn expect_both_there(world: &World, acts: &str) {
    let there = (on_branch(world, "one.txt"), on_branch(world, "two.txt"), on_branch(world, "f.txt"));
    assert_eq!(there, ("1".into(), "2".into(), "ONE\nb\nc".into()), "{acts}");
}

/// The files a task is said to have touched.
fn touched(world: &World, task: usize) -> serde_json::Value {
    world.summary()["results"][task]["files_touched"].clone()
}

/// Wherever its HEAD is, the agent's work is the difference from where its HEAD left the run's branch.
#[test]
fn an_agent_that_goes_back_to_main_takes_nothing_back_that_landed() {
    for acts in [
        "git checkout -q -b feature main\necho m > mine.txt",
        "git checkout -q -b feature main\necho m > mine.txt\ngit add -A\ngit commit -qm own",
        "git checkout -q --detach main\necho m > mine.txt",
        "git reset -q --hard main\necho m > mine.txt",
        "git reset -q --hard HEAD~1\necho m > mine.txt",
        "git reset -q --hard main\ngit commit -q --allow-empty -m e\necho m > mine.txt\ngit add -A\ngit commit -qm own",
        "git reset -q --soft main\necho m > mine.txt",
        "git reset -q main\necho m > mine.txt",
        "git reset -q --soft main\necho m > mine.txt\ngit add -A\ngit commit -qm squashed",
        "echo m > mine.txt\ngit add -A\ngit commit -qm own\ngit rebase -q --onto main HEAD~1",
        "git commit -q --amend --allow-empty -m amended\necho m > mine.txt",
        "echo m > mine.txt\ngit add -A\ngit commit -q --amend --no-edit",
        "git branch -q -m renamed\necho m > mine.txt\ngit add -A\ngit commit -qm own",
        "git update-ref -d HEAD\necho m > mine.txt",
        "git update-ref -d HEAD\necho m > mine.txt\ngit add -A\ngit commit -qm first",
        "git merge -q --no-edit main\necho m > mine.txt",
        "git stash -q --include-untracked || true\necho m > mine.txt",
        "rm .git\necho m > mine.txt",
    ] {
        let (world, ended) = acted(acts, "");
        ended.expect(0).says("landed agent");
        expect_both_there(&world, acts);
        assert_eq!(on_branch(&world, "mine.txt"), "m", "{acts}");
        assert_eq!(touched(&world, 2), json!(["mine.txt"]), "{acts}");
        expect_tidy(&world);
    }
}

#[test]
fn in_a_private_clone_too_nothing_is_taken_back_that_landed() {
    for acts in [
        "git reset -q --hard HEAD~2\necho m > mine.txt",
        "git checkout -q -b feature HEAD~2\necho m > mine.txt\ngit add -A\ngit commit -qm own",
        "git reset -q --soft HEAD~2\necho m > mine.txt\ngit add -A\ngit commit -qm own",
    ] {
        for strategy in ["merge", "squash", "rebase"] {
            let more = format!("    isolation: clone\n    merge_strategy: {strategy}\n");
            let (world, ended) = acted(acts, &more);
            ended.expect(0);
            expect_both_there(&world, acts);
            assert_eq!(on_branch(&world, "mine.txt"), "m", "{acts}");
            assert_eq!(touched(&world, 2), json!(["mine.txt"]), "{acts}");
            expect_tidy(&world);
        }
    }
}

/// What an agent does to the files themselves is its work, whatever it takes away.
#[test]
fn what_an_agent_deletes_or_reverts_on_its_own_branch_is_its_work() {
    for acts in
        ["rm one.txt", "git rm -q one.txt\ngit commit -qm gone", "git checkout main -- f.txt\nrm one.txt"]
    {
        let (world, ended) = acted(acts, "");
        ended.expect(0);
        assert_eq!(on_branch(&world, "two.txt"), "2");
        let tip = format!("conductor/{}", world.run_id());
        assert!(!git(&world, &["ls-tree", "--name-only", &tip]).contains("one.txt"), "{acts}");
    }
}

/// An edit of what landed, made after the branch was set back without its files.
#[test]
fn an_edit_of_landed_work_after_a_soft_reset_is_an_edit() {
    let (world, ended) = acted("git reset -q --soft main\necho uno > one.txt", "");
    ended.expect(0);
    assert_eq!((on_branch(&world, "one.txt"), on_branch(&world, "two.txt")), ("uno".into(), "2".into()));
    assert_eq!(touched(&world, 2), json!(["one.txt"]));
}

/// The same lines as what landed, seen from where it had not landed: that is a conflict and nothing else.
#[test]
fn an_edit_of_what_landed_made_on_main_is_a_conflict() {
    let (world, ended) = acted("git checkout -q -b feature main\nsed -i s/a/MINE/ f.txt", "");
    ended.expect(101).says("conflicts with what landed meanwhile in f.txt");
    expect_both_there(&world, "");
    conductor(&world, &["worktree", "resolve", "agent", "--theirs"]).expect(0);
    assert_eq!(on_branch(&world, "f.txt"), "MINE\nb\nc");
    assert_eq!((on_branch(&world, "one.txt"), on_branch(&world, "two.txt")), ("1".into(), "2".into()));
}

/// If it cannot be determined what the agent started from, its work is refused and kept, and the message says
/// so.
#[test]
fn work_whose_start_cannot_be_told_is_refused_and_kept() {
    for (acts, isolation, words) in [
        ("git checkout -q --orphan x\ngit rm -rfq .\necho m > mine.txt", "worktree", "HEAD names no commit"),
        (
            "git checkout -q --orphan x\ngit rm -rfq .\necho m > mine.txt\ngit add -A\ngit commit -qm x",
            "worktree",
            "no history in common",
        ),
        (
            "git checkout -q --orphan x\ngit rm -rfq .\necho m > mine.txt\ngit add -A\ngit commit -qm x",
            "clone",
            "no history in common",
        ),
        (
            "rm one.txt\necho m > mine.txt\necho rubbish > \"$(git rev-parse --git-dir)/HEAD\"",
            "worktree",
            "HEAD names no commit",
        ),
        ("rm -rf .git one.txt\necho m > mine.txt", "clone", "HEAD names no commit"),
        (
            "git reset -q --soft HEAD~2\nrm one.txt\necho m > mine.txt",
            "worktree",
            "holds some of what had landed and lacks some",
        ),
        (
            "echo m > mine.txt\ngit add -A\ngit commit -qm own\ngit checkout -q --detach HEAD~1",
            "worktree",
            "commits on its branch that its HEAD does not hold",
        ),
        (
            "echo m > mine.txt\ngit add -A\ngit commit -qm own\ngit checkout -q --detach HEAD~2",
            "clone",
            "commits on its branch that its HEAD does not hold",
        ),
    ] {
        let (world, ended) = acted(acts, &format!("    isolation: {isolation}\n"));
        let kept = format!("refs/conductor/rescue/{}/agent/1", world.run_id());
        ended.expect(100).says(words).says(&kept);
        expect_both_there(&world, acts);
        assert_eq!(world.statuses()["agent"], "failed");
        assert_eq!(git(&world, &["show", &format!("{kept}:mine.txt")]), "m", "{acts}");
        assert_eq!(world.summary()["ledger"]["rescued"], json!([kept]), "{acts}");
        expect_tidy(&world);
        // A person who brings it in by hand takes nothing back either.
        let _ = conductor(&world, &["worktree", "merge", "agent"]);
        expect_both_there(&world, acts);
    }
}

/// The tasks of an epic that share a workspace build on one another before any of them lands.
#[test]
fn an_epics_earlier_work_is_not_taken_back_either() {
    let tasks = "
epics: [{ id: e, isolation_scope: epic }]
tasks:
  - { id: first, run: 'echo 1 > one.txt', epic: e }
  - { id: second, run: 'git checkout -q -b feature main; echo 2 > two.txt', epic: e, dependencies: [first] }
  - { id: last, run: 'echo 3 > three.txt', epic: e, dependencies: [second] }
";
    let world = repository(tasks);
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    for (file, text) in [("one.txt", "1"), ("two.txt", "2"), ("three.txt", "3")] {
        assert_eq!(on_branch(&world, file), text);
    }
    assert_eq!(world.summary()["ledger"]["lost"], json!([]));
    expect_tidy(&world);
}

/// The user's own commits, made while the run was at work, come along with an agent that builds on them.
#[test]
fn an_agent_on_a_newer_main_brings_the_users_commits_along_and_it_is_said() {
    let acts =
        "AGENT make HERE/ready\nAGENT await HERE/moved\ngit checkout -q -b feature main\necho m > mine.txt";
    let world = repository(&third(acts, ""));
    let live = world.spawn(&mut crate::repository::command(&world, &["run", "../tasks.yaml"]));
    world.wait_for_file("ready");
    world.write("repo/users.txt", "users\n");
    git(&world, &["add", "users.txt"]);
    git(&world, &["commit", "-q", "-m", "the user goes on"]);
    world.write("moved", "");
    live.ended().expect(0).says("1 commit of main that the run did not start from");
    expect_both_there(&world, acts);
    assert_eq!((on_branch(&world, "mine.txt"), on_branch(&world, "users.txt")), ("m".into(), "users".into()));
    git(&world, &["merge", "-q", "--ff-only", &format!("conductor/{}", world.run_id())]);
}

/// An agent that merges what has landed meanwhile has not done that itself.
#[test]
fn what_an_agent_merges_from_the_runs_branch_is_not_counted_as_its_own() {
    let world = repository(
        "
tasks:
  - { id: other, run: 'echo 1 > one.txt' }
  - id: agent
    run: |
      AGENT await HERE/landed
      echo m > mine.txt
      git add -A
      git commit -qm own
      git merge -q --no-edit conductor/$CONDUCTOR_RUN
",
    );
    let live = world.spawn(&mut crate::repository::command(&world, &["run", "../tasks.yaml", "-p", "2"]));
    live.wait_for_stderr("ok      other");
    world.write("landed", "");
    live.ended().expect(0);
    assert_eq!(touched(&world, 1), json!(["mine.txt"]));
    assert_eq!((on_branch(&world, "mine.txt"), on_branch(&world, "one.txt")), ("m".into(), "1".into()));
}

/// `left` lands while `right` is at work on the same line; `right` is sent back to mend that, and leaves the marks.
const UNMENDED: &str = "
tasks:
  - { id: left, run: 'sed -i s/b/LEFT/ f.txt; AGENT make HERE/left' }
  - id: right
    fix_rounds: 1
    run: 'test -f \"$CONDUCTOR_FEEDBACK\" || { AGENT await HERE/left; sed -i s/b/RIGHT/ f.txt; AGENT await HERE/landed; }; echo own > own.txt'
";

#[track_caller]
fn unmended() -> World {
    crate::repository::conflicted_by(UNMENDED)
}

#[track_caller]
fn expect_unmarked(world: &World) {
    let tip = format!("conductor/{}", world.run_id());
    let found = world
        .command_of("git")
        .current_dir(world.path("repo"))
        .args(["grep", "-l", "^<<<<<<<", &tip])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "marks on the branch");
}

/// What the end block recommends works in the very state it recommends it in.
#[test]
fn marks_that_mending_left_never_land_and_the_recommended_way_works() {
    let world = unmended();
    let refused = conductor(&world, &["worktree", "merge", "right"]).expect(101);
    refused.says("the marks of a conflict are still in f.txt").says("worktree resolve right");
    for side in ["--ours", "--theirs"] {
        conductor(&world, &["worktree", "resolve", "right", side]).expect(101).says("still in f.txt");
    }
    expect_unmarked(&world);
    let told = conductor(&world, &["worktree", "resolve", "right"]).expect(0);
    let folder = std::path::PathBuf::from(told.stdout.trim_end());
    told.says("the marks of a conflict are in:").says("f.txt");
    conductor(&world, &["worktree", "resolve", "right", "--continue"])
        .expect(101)
        .says("the marks of the conflict are still in f.txt");
    // A single mark that was overlooked is one too many.
    std::fs::write(folder.join("f.txt"), "a\n<<<<<<< landed\nboth\nc\n").unwrap();
    conductor(&world, &["worktree", "resolve", "right", "--continue"]).expect(101);
    expect_unmarked(&world);
    std::fs::write(folder.join("f.txt"), "a\nboth\nc\n").unwrap();
    conductor(&world, &["worktree", "resolve", "right", "--continue"]).expect(0);
    assert_eq!(
        (on_branch(&world, "f.txt"), on_branch(&world, "own.txt")),
        ("a\nboth\nc".into(), "own".into())
    );
    expect_tidy(&world);
}

/// Conflict markers land only in a file that the user names.
#[test]
fn marks_land_where_a_person_names_the_file() {
    let world = unmended();
    conductor(&world, &["worktree", "merge", "right", "--allow-markers", "own.txt"]).expect(101);
    conductor(&world, &["worktree", "resolve", "right", "--allow-markers", "f.txt"]).expect(2);
    expect_unmarked(&world);
    conductor(&world, &["worktree", "merge", "right", "--allow-markers", "f.txt"]).expect(0);
    assert!(on_branch(&world, "f.txt").contains("<<<<<<<"));

    let world = unmended();
    conductor(&world, &["worktree", "resolve", "right"]).expect(0);
    conductor(&world, &["worktree", "resolve", "right", "--continue", "--allow-markers", "f.txt"]).expect(0);
    assert!(on_branch(&world, "f.txt").contains("<<<<<<<"));
}

/// Writes what git would leave of a conflict.
const MARKS: &str = "printf 'a\\n<<<<<<< HEAD\\nours\\n=======\\ntheirs\\n>>>>>>> main\\n'";

fn marking(more: &str) -> String {
    format!("tasks:\n  - id: agent\n    run: |\n      {MARKS} > marked.txt\n{more}")
}

#[test]
fn marks_that_an_agent_writes_or_commits_do_not_land() {
    for (acts, file) in [
        (format!("{MARKS} > marked.txt"), "marked.txt"),
        (format!("{MARKS} > marked.txt; git add -A; git commit -qm own; echo x > x.txt"), "marked.txt"),
        (format!("{MARKS} | sed 's/$/\\r/' >> f.txt"), "f.txt"),
        (
            "git checkout -qb side; sed -i s/b/SIDE/ f.txt; git commit -qam side; git checkout -q -; \
             sed -i s/b/MINE/ f.txt; git commit -qam mine; git merge -q side || git commit -qam merged"
                .to_owned(),
            "f.txt",
        ),
        (
            "echo \"f.txt conflict-marker-size=12\" > .gitattributes; git add -A; git commit -qm attributes; \
             git checkout -qb side; sed -i s/b/SIDE/ f.txt; git commit -qam side; git checkout -q -; \
             sed -i s/b/MINE/ f.txt; git commit -qam mine; git -c merge.conflictStyle=zdiff3 merge -q side || git commit -qam merged"
                .to_owned(),
            "f.txt",
        ),
    ] {
        for isolation in ["worktree", "clone"] {
            let acts = acts.replace('\n', "\n      ");
            let world = repository(&format!(
                "tasks:\n  - id: agent\n    isolation: {isolation}\n    run: |\n      {acts}\n"
            ));
            let ended = conductor(&world, &["run", "../tasks.yaml"]).expect(101);
            ended.says(&format!("the marks of a conflict are still in {file}")).says("worktree resolve agent");
            conductor(&world, &["worktree", "merge", "agent"]).expect(101);
            conductor(&world, &["worktree", "resolve", "agent"]).expect(0).says(file);
            conductor(&world, &["worktree", "resolve", "agent", "--continue"]).expect(101);
            conductor(&world, &["worktree", "resolve", "agent", "--abort"]).expect(0);
            assert_eq!(git(&world, &["for-each-ref", "refs/heads/conductor"]), "", "nothing landed: {acts}");
        }
    }
}

#[test]
fn a_task_may_say_in_which_files_marks_are_meant() {
    let world = repository(&marking("    conflict_markers: [marked.txt]\n"));
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    assert!(on_branch(&world, "marked.txt").contains("<<<<<<< HEAD"));
    let world = repository(&marking("    conflict_markers: [other.txt]\n"));
    conductor(&world, &["run", "../tasks.yaml"]).expect(101);
}

/// Text that only looks like it, and marks that were there before, are nothing to refuse.
#[test]
fn headings_binaries_and_marks_that_were_there_before_land() {
    for acts in [
        "printf 'Title\\n=======\\n\\n>>>>>>> quoted\\n' > doc.rst",
        "echo more >> fixture.txt",
        "sed -i s/ours/OURS/ fixture.txt",
        "git mv fixture.txt moved.txt",
        "printf '\\0<<<<<<< a\\n=======\\n>>>>>>> b\\n' > bin",
        "git rm -q fixture.txt",
    ] {
        let world =
            repository(&format!("tasks:\n  - id: agent\n    changes: required\n    run: |\n      {acts}\n"));
        world.write("repo/fixture.txt", "a\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> main\n");
        git(&world, &["add", "."]);
        git(&world, &["commit", "-q", "-m", "a fixture"]);
        conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    }
}

/// In the agent's own merge, git still has several versions of a file without markers: the result is not
/// decided.
#[test]
fn a_merge_that_an_agent_left_unfinished_is_a_failure_that_names_the_files() {
    let acts = "git checkout -qb side; git rm -q f.txt; git commit -qm side; git checkout -q -; \
                sed -i s/b/MINE/ f.txt; git commit -qam mine; git merge -q side || echo x > x.txt";
    for isolation in ["worktree", "clone"] {
        let world = repository(&format!(
            "tasks:\n  - id: agent\n    isolation: {isolation}\n    run: |\n      {acts}\n"
        ));
        let ended = conductor(&world, &["run", "../tasks.yaml"]).expect(101);
        ended.says("a merge is left unfinished").says("several versions of f.txt");
        let told = conductor(&world, &["worktree", "resolve", "agent"]).expect(0);
        assert!(std::path::Path::new(told.stdout.trim_end()).join("x.txt").exists());
        conductor(&world, &["worktree", "resolve", "agent", "--continue"]).expect(0);
        assert_eq!(
            (on_branch(&world, "f.txt"), on_branch(&world, "x.txt")),
            ("a\nMINE\nc".into(), "x".into())
        );
        expect_tidy(&world);
    }
}
