//! The user's review before work lands (`land: approve`).

use serde_json::Value;

use crate::harness::{World, wait_for};
use crate::questions;
use crate::repository::{checkout, conductor, expect_tidy, git, on_branch, start, status};
use crate::tmux::{Terminal, masked};

/// Writes a file for its task; what a person said of it goes into a second one.
const WRITER: &str = r#"
read -r task
printf '%s\n' "$task" >> HERE/tasks
echo "by $CONDUCTOR_TASK" > "$CONDUCTOR_TASK.txt"
case "$task" in
  *"sends it back"*) echo mended > "$CONDUCTOR_TASK.mended" ;;
esac
echo '{"type":"text","text":"I wrote the file, and nothing else."}'
echo '{"type":"usage","model":"quill-1","input":900,"output":50,"turns":1,"cost":0.25}'
echo '{"type":"result","ok":true,"text":"I wrote the file."}'
"#;

pub(crate) const TWO: &str = "
config: { agent: writer, land: approve }
tasks:
  - { id: api, name: Build the API, prompt: Write it, verify: ['test -s api.txt'] }
  - { id: docs, prompt: Describe it, dependencies: [api] }
";

pub(crate) fn left_for_review(tasks: &str) -> World {
    let world = questions::world(tasks, &[("writer", WRITER)]);
    let before = checkout(&world);
    start(&world, &[])
        .ended()
        .expect(5)
        .says("api (Build the API) waits for your review")
        .says("conductor review");
    assert_eq!(checkout(&world), before);
    world
}

fn commit_in_review(world: &World) -> String {
    let listed = conductor(world, &["review", "--json"]).expect(0).json();
    listed["reviews"][0]["commit"].as_str().unwrap().to_owned()
}

fn resume(world: &World) -> crate::harness::Ended {
    conductor(world, &["run", "--resume"])
}

#[test]
fn work_waits_for_a_person_and_lands_when_it_is_approved() {
    let world = left_for_review(TWO);
    let listed = conductor(&world, &["review", "--json"]).expect(0).json();
    assert_eq!(listed["schema"], "conductor.reviews/1");
    let api = &listed["reviews"][0];
    assert_eq!(
        (&api["task"], &api["files"], &api["added"]),
        (&Value::from("api"), &serde_json::json!(["api.txt"]), &Value::from(1))
    );
    conductor(&world, &["review"]).expect(0).says("Build the API").says("review approve TASK");
    conductor(&world, &[]).expect(0).says("waits for your review").says("see what waits, and decide");
    conductor(&world, &["status"]).expect(0).says("1 task waits for your review");
    conductor(&world, &["explain", "api"]).expect(0).says("its work waits for your review");
    conductor(&world, &["diff", "api"]).expect(0).says("+by api");
    resume(&world).expect(5).says("api (Build the API) waits for your review");
    conductor(&world, &["review", "approve", "docs"]).expect(4).says("does not wait for a review");
    let some = commit_in_review(&world);
    for no_commit in ["", &some[..3], "main"] {
        conductor(&world, &["review", "approve", "api", "--commit", no_commit])
            .expect(2)
            .says("is no commit");
    }
    conductor(&world, &["review", "approve", "api", "--commit", "0123456789"])
        .expect(2)
        .says("look at it again");
    conductor(&world, &["task", "retry", "api"]).expect(4).says("waits for your review");
    let commit = commit_in_review(&world);
    conductor(&world, &["review", "approve", "api", "--commit", &commit[..10]])
        .expect(0)
        .says("api: approved as")
        .says("conductor run --resume");
    resume(&world).expect(5).says("docs waits for your review");
    assert_eq!(on_branch(&world, "api.txt"), "by api");
    conductor(&world, &["review", "approve", "docs"]).expect(0);
    resume(&world).expect(0).says("2 of 2 completed");
    assert_eq!(on_branch(&world, "docs.txt"), "by docs");
    conductor(&world, &["review"]).expect(0).says("nothing waits for a review");
    expect_tidy(&world);
}

#[test]
fn what_is_sent_back_goes_on_in_the_same_conversation() {
    let world = left_for_review(TWO);
    conductor(&world, &["review", "send-back", "api"]).expect(2);
    conductor(&world, &["review", "send-back", "api", "-m", "  "]).expect(2).says("needs a comment");
    conductor(&world, &["review", "send-back", "api", "-m", "api.txt:1: say who", "-m", "and why"])
        .expect(0)
        .says("api: sent back with 2 comments");
    resume(&world).expect(5).says("api (Build the API) waits for your review");
    let told: Vec<Value> =
        world.read("tasks").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0]["session"]["id"], told[1]["session"]["id"]);
    let words = told[1]["words"].as_str().unwrap();
    assert!(words.contains("api.txt:1: say who\nand why"), "{words}");
    conductor(&world, &["review", "approve", "api"]).expect(0);
    resume(&world).expect(5).says("docs waits for your review");
    assert_eq!(on_branch(&world, "api.mended"), "mended");
    assert_eq!(on_branch(&world, "api.txt"), "by api", "the work before it is still there");
}

#[test]
fn what_is_dropped_is_kept_under_a_ref_and_does_not_land() {
    let world = left_for_review(TWO);
    let commit = commit_in_review(&world);
    let dropped =
        conductor(&world, &["review", "drop", "api"]).expect(0).says("api: dropped; its work is kept as");
    let name = dropped.stdout.split("kept as ").nth(1).unwrap().trim().to_owned();
    assert_eq!(git(&world, &["rev-parse", &name]), commit);
    assert_eq!(status(&world), "cancelled", "nothing was left to do");
    assert_eq!(world.statuses()["docs"], "skipped");
    assert_eq!(git(&world, &["show", &format!("{name}:api.txt")]), "by api");
    expect_tidy(&world);
}

#[test]
fn a_reviewer_edits_the_work_and_that_lands() {
    let world = left_for_review(TWO);
    let edit = |more: &[&str]| conductor(&world, &[&["review", "edit", "api"], more].concat());
    edit(&["--continue"]).expect(4).says("is not laid out");
    let folder = std::path::PathBuf::from(edit(&[]).expect(0).says("--continue").stdout.trim());
    edit(&["--continue"]).expect(4).says("as its agent left it");
    edit(&["--abort"]).expect(0);
    assert!(!folder.exists());
    edit(&[]).expect(0);
    std::fs::write(folder.join("api.txt"), "by a person\n").unwrap();
    std::fs::write(folder.join("more.txt"), "more\n").unwrap();
    edit(&["--continue"]).expect(0).says("api: lands as you left it");
    assert!(!folder.exists());
    resume(&world).expect(5).says("docs waits for your review");
    assert_eq!(on_branch(&world, "api.txt"), "by a person");
    assert_eq!(on_branch(&world, "more.txt"), "more");
}

/// Approving, sending back and dropping are about the work as its agent left it.
#[test]
fn edits_of_a_reviewer_are_not_passed_over() {
    let world = left_for_review(TWO);
    let folder = conductor(&world, &["review", "edit", "api"]).expect(0).stdout;
    let folder = std::path::PathBuf::from(folder.trim());
    std::fs::write(folder.join("api.txt"), "by a person\n").unwrap();
    for verdict in [&["approve", "api"][..], &["send-back", "api", "-m", "again"], &["drop", "api"]] {
        conductor(&world, &[&["review"], verdict].concat())
            .expect(2)
            .says("you have edited the work of 'api'")
            .says("--continue")
            .says("--abort");
    }
    assert_eq!(std::fs::read_to_string(folder.join("api.txt")).unwrap(), "by a person\n");
    conductor(&world, &["review", "edit", "api", "--continue"]).expect(0);
    resume(&world).expect(5).says("docs waits for your review");
    assert_eq!(on_branch(&world, "api.txt"), "by a person");

    let untouched = conductor(&world, &["review", "edit", "docs"]).expect(0).stdout;
    conductor(&world, &["review", "approve", "docs"]).expect(0);
    assert!(!std::path::Path::new(untouched.trim()).exists(), "an edit that changed nothing has ended");
    resume(&world).expect(0);
    expect_tidy(&world);
}

/// A coordinator may have had the work fixed in the meantime.
#[test]
fn edits_of_work_that_is_another_by_now_are_kept() {
    let world = left_for_review(TWO);
    let folder = conductor(&world, &["review", "edit", "api"]).expect(0).stdout;
    let folder = std::path::PathBuf::from(folder.trim());
    std::fs::write(folder.join("api.txt"), "by a person\n").unwrap();
    std::fs::write(folder.parent().unwrap().join("commit"), git(&world, &["rev-parse", "main"])).unwrap();
    conductor(&world, &["review", "edit", "api"])
        .expect(0)
        .says("what you edited of the work before this is kept");
    assert_eq!(std::fs::read_to_string(folder.join("api.txt")).unwrap(), "by api\n");
    let kept = git(&world, &["for-each-ref", "--format=%(refname)", "refs/conductor/rescue/"]);
    assert_eq!(git(&world, &["show", &format!("{kept}:api.txt")]), "by a person");
    conductor(&world, &["worktree", "list"]).expect(0).says(&kept);
}

#[test]
fn a_run_with_edits_of_a_reviewer_is_not_pruned() {
    let world = left_for_review(TWO);
    let folder = conductor(&world, &["review", "edit", "api"]).expect(0).stdout;
    let file = std::path::Path::new(folder.trim()).join("api.txt");
    std::fs::write(&file, "by a person\n").unwrap();
    let cancelled = conductor(&world, &["cancel", "--all", "--run", &world.run_id()]).expect(0);
    cancelled.says("what you edited of the work of api does not land; it is kept as refs/conductor/rescue/");
    let kept = git(&world, &["for-each-ref", "--format=%(refname)", "refs/conductor/rescue/*/api/edits-*"]);
    assert_eq!(git(&world, &["show", &format!("{kept}:api.txt")]), "by a person");
    conductor(&world, &["worktree", "clean"]).expect(0);
    conductor(&world, &["runs", "prune", "--older-than", "0s", "--yes"])
        .expect(0)
        .says("work of it is laid out to be edited in");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "by a person\n");
    conductor(&world, &["runs", "prune", "--older-than", "0s", "--yes", "--force"]).expect(0);
    assert!(!file.exists());
}

/// The checks run on what lands, also where a person wrote it.
#[test]
fn what_a_reviewer_broke_does_not_land() {
    let world = left_for_review(&TWO.replace("test -s api.txt", "grep -q by api.txt"));
    let folder = conductor(&world, &["review", "edit", "api"]).expect(0).stdout;
    std::fs::write(std::path::Path::new(folder.trim()).join("api.txt"), "nothing\n").unwrap();
    conductor(&world, &["review", "edit", "api", "--continue"]).expect(0);
    let ended = resume(&world);
    assert_ne!(ended.code, Some(0));
    let branch = format!("conductor/{}", world.run_id());
    let landed = git(&world, &["ls-tree", "--name-only", &branch]);
    assert!(!landed.contains("api.txt"), "{landed}");
}

#[test]
fn an_active_run_hears_the_verdict() {
    let tasks = "
tasks:
  - { id: api, prompt: Write it, agent: writer, land: approve }
  - { id: long, run: AGENT await HERE/go }
";
    let world = questions::world(tasks, &[("writer", WRITER)]);
    let live = start(&world, &["-p", "2"]);
    live.wait_for_stderr("its work waits for you");
    conductor(&world, &["review", "approve", "api"]).expect(0);
    wait_for("its landing", || world.logged("task_completed").contains(&"api".to_owned()).then_some(()));
    world.write("go", "");
    live.ended().expect(0).says("2 of 2 completed");
    expect_tidy(&world);
}

#[test]
fn whether_work_lands_by_itself_is_said_by_flag_task_epic_or_config() {
    let tasks = "
config: { agent: writer }
epics: [{ id: careful, land: approve }]
tasks:
  - { id: free, prompt: Write it }
  - { id: bound, prompt: Write it, epic: careful }
  - { id: own, prompt: Write it, epic: careful, land: auto }
";
    let world = questions::world(tasks, &[("writer", WRITER)]);
    let ended = start(&world, &["-p", "3"]).ended().expect(5).says("bound waits for your review");
    assert!(!ended.stderr.contains("own waits"), "{}", ended.stderr);
    let commit = commit_in_review(&world);
    conductor(&world, &["run", "--resume", "--land", "auto"]).expect(0).says("3 of 3 completed");
    assert_eq!(
        git(&world, &["merge-base", "--is-ancestor", &commit, &format!("conductor/{}", world.run_id())]),
        ""
    );
    let world = questions::world(&TWO.replace(", land: approve", ""), &[("writer", WRITER)]);
    start(&world, &["--land", "approve"]).ended().expect(5).says("waits for your review");
}

/// A walk through what waits, on a terminal: the work is shown, approved, and the run goes on.
#[test]
fn on_a_terminal_a_person_is_walked_through_what_waits() {
    let mut world = left_for_review(TWO);
    world.set("PAGER", "cat");
    let Some(terminal) = Terminal::open_in(&mut world, "repo", (100, 40), "review") else { return };
    terminal.wait_for(&["(1 of 1) api  Build the API", "passed: test -s api.txt", "+by api", "[a]pprove"]);
    terminal.press(&["x", "Enter"]);
    terminal.wait_for(&["a, s, e, d, v, l or q"]);
    terminal.press(&["a", "Enter"]);
    terminal.wait_for(&["Go on with run"]);
    terminal.press(&["y", "Enter"]);
    terminal.wait_for(&["docs waits for your review"]);
    terminal.ended(5);
}

/// A verdict that is refused is no reason to pass on to the next.
#[test]
fn a_refused_verdict_is_asked_for_again() {
    let mut world = questions::world("tasks: [{ id: a, run: 'echo 1 > a.txt', land: approve }]", &[]);
    start(&world, &[]).ended().expect(5);
    world.set("PAGER", "cat");
    let Some(terminal) = Terminal::open_in(&mut world, "repo", (80, 24), "review") else { return };
    terminal.wait_for(&["[a]pprove"]);
    terminal.press(&["s", "Enter"]);
    terminal.wait_for(&["One comment a line"]);
    terminal.press(&["no", "Enter", "Enter"]);
    let screen = terminal.wait_for(&["task 'a' is a command"]);
    assert_eq!(screen.matches("(1 of 1)").count(), 1, "{screen}");
    terminal.press(&["l", "Enter"]);
    terminal.ended(0);
}

/// What the terminal shows of two tasks, and each key that was not pressed above: look again, edit by hand, drop.
#[test]
fn the_walk_shows_cost_and_words_and_takes_every_key() {
    let tasks = TWO.replace(", dependencies: [api]", "");
    let mut world = left_for_review(&tasks);
    world.set("PAGER", "cat");
    let listed = conductor(&world, &["review", "--json"]).expect(0).json();
    let commits: Vec<String> =
        [0, 1].map(|at| listed["reviews"][at]["commit"].as_str().unwrap()[..10].to_owned()).to_vec();
    let Some(terminal) = Terminal::open_in(&mut world, "repo", (110, 50), "review") else { return };
    let everything = |words: &str, times: usize| {
        wait_for(words, || {
            let text = terminal.everything();
            (text.matches(words).count() == times).then_some(text)
        })
    };
    terminal.wait_for(&["(1 of 2) api", "[q]uit?"]);
    terminal.press(&["v", "Enter"]);
    everything("[q]uit?", 2);
    terminal.press(&["e", "Enter"]);
    let text = everything("Enter when you are done", 1);
    let root = terminal.world.root().display().to_string();
    let folder = text.lines().find(|line| line.starts_with(&root)).unwrap().trim();
    std::fs::write(std::path::Path::new(folder).join("api.txt"), "by a person\n").unwrap();
    terminal.press(&["Enter"]);
    terminal.wait_for(&["api: lands as you left it", "(2 of 2) docs"]);
    everything("[q]uit?", 3);
    terminal.press(&["d", "Enter"]);
    terminal.wait_for(&["docs: dropped", "Go on with run"]);
    terminal.press(&["n", "Enter"]);
    let text = terminal.ended(0);
    let edited =
        text.split("lands as you left it, ").nth(1).unwrap().lines().next().unwrap().trim().to_owned();
    let commits = commits.iter().chain([&edited]);
    let text = commits.fold(text.clone(), |text, commit| text.replace(commit.as_str(), "COMMIT"));
    assert!(text.contains("| I wrote the file, and nothing else."), "what the agent said: {text}");
    insta::assert_snapshot!(masked(terminal.world, &text));
    drop(terminal);
    resume(&world);
    assert_eq!(on_branch(&world, "api.txt"), "by a person");
    assert_eq!((&*world.statuses()["api"], &*world.statuses()["docs"]), ("completed", "cancelled"));
}

/// Changes a line; the second time it takes out the marks of the conflict that it finds.
const LINE_WRITER: &str = r#"
read -r task
if grep -q '<<<<<<<' f.txt; then sed -i '/^[<=>]/d' f.txt; else sed -i 's/^b$/API/' f.txt; fi
echo '{"type":"result","ok":true,"text":"done"}'
"#;

/// An approval is for what the person saw: where the branch has moved on, the checks run again on what would land, and
/// work that had to be changed for it is shown again.
#[test]
fn what_is_approved_after_the_branch_moved_is_checked_again_and_asked_again_if_it_changed() {
    for (other, asked_again) in [("echo x > other.txt", false), ("sed -i s/b/OTHER/ f.txt", true)] {
        let tasks = format!(
            "
tasks:
  - {{ id: api, prompt: Write it, agent: liner, land: approve, fix_rounds: 1, verify: ['ls >> HERE/checked; cat f.txt >> HERE/checked'] }}
  - {{ id: other, run: 'AGENT await HERE/go; {other}' }}
"
        );
        let world = questions::world(&tasks, &[("liner", LINE_WRITER)]);
        let live = start(&world, &["-p", "2"]);
        live.wait_for_stderr("its work waits for you");
        world.write("go", "");
        live.ended().expect(5).says("api waits for your review");
        let before = world.read("checked");
        assert!(!before.contains("other.txt") && !before.contains("OTHER"), "{before}");
        let seen = commit_in_review(&world);
        conductor(&world, &["review", "approve", "api", "--commit", &seen]).expect(0);
        if asked_again {
            resume(&world).expect(5).says("api waits for your review");
            assert_ne!(commit_in_review(&world), seen, "what was approved does not fit any more");
            conductor(&world, &["review", "approve", "api", "--commit", &seen]).expect(2);
            conductor(&world, &["review", "approve", "api"]).expect(0);
        }
        resume(&world).expect(0).says("2 of 2 completed");
        let checked = &world.read("checked")[before.len()..];
        assert!(checked.contains("other.txt") || checked.contains("OTHER"), "not on what landed: {checked}");
        let landed = on_branch(&world, "f.txt");
        assert_eq!(landed, if asked_again { "a\nOTHER\nAPI\nc" } else { "a\nAPI\nc" });
        expect_tidy(&world);
    }
}

/// Where files are changed in place nothing lands, so nothing waits; that is never silent.
#[test]
fn an_approval_of_what_works_in_place_is_told_to_have_no_effect() {
    const TOLD: &str = "land: approve has no effect on what works in place ('a')";
    let world = World::with("tasks: [{ id: a, run: 'true' }]");
    for args in [
        &["run", "tasks.yaml", "--land", "approve"][..],
        &["run", "tasks.yaml", "--land", "approve", "--dry-run"],
    ] {
        world.conductor(args).expect(0).says(TOLD);
    }
    let quiet = world.conductor(&["run", "tasks.yaml"]).expect(0);
    assert!(!quiet.stderr.contains("no effect"), "{}", quiet.stderr);
    world.write("tasks.yaml", "tasks: [{ id: a, run: 'true', land: approve, isolation: none }]");
    for args in [&["validate", "tasks.yaml"][..], &["run", "tasks.yaml"], &["run", "tasks.yaml", "--dry-run"]]
    {
        let told =
            world.conductor(args).expect(0).says("'land: approve' has no effect on what works in place: 'a'");
        assert!(!told.stderr.contains(TOLD), "said twice: {}", told.stderr);
    }
}
