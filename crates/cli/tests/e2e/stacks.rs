//! Tasks that begin on work that waits for a person's approval (`speculate: true`).

use crate::harness::{Ended, World};
use crate::questions;
use crate::repository::{conductor, expect_tidy, git, on_branch, start, status};

/// Each adds a line to what the one before it wrote; when it is sent back, another.
const WRITER: &str = r#"
read -r task
echo "$CONDUCTOR_TASK" >> HERE/begun
case "$task" in
  *"sends it back"*) echo "first, mended" > story.txt ;;
  *) [ "$CONDUCTOR_TASK" = beside ] || sed -i "\$s/\$/ then $CONDUCTOR_TASK/" story.txt
     echo "by $CONDUCTOR_TASK" > "$CONDUCTOR_TASK.txt" ;;
esac
echo '{"type":"result","ok":true,"text":"I wrote the file."}'
"#;

const CHAIN: &str = "
config: { agent: writer, speculate: true, merge_strategy: STRATEGY }
tasks:
  - { id: first, prompt: Write it, land: approve }
  - { id: second, prompt: Go on, dependencies: [first] }
  - { id: third, prompt: Go on, dependencies: [second], verify: ['grep -q \"then second\" story.txt'] }
  - { id: beside, prompt: Do something else }
";

fn in_review(merge_strategy: &str) -> World {
    let tasks = CHAIN.replace("STRATEGY", merge_strategy);
    let world = questions::world(&tasks, &[("writer", WRITER)]);
    world.write("repo/story.txt", "once\n");
    git(&world, &["add", "story.txt"]);
    git(&world, &["commit", "-qm", "the story"]);
    start(&world, &[])
        .ended()
        .expect(5)
        .says("on the work of first, which has not landed")
        .says("first waits for your review");
    assert_eq!(world.statuses()["second"], "running", "done, and not landed");
    assert_eq!(on_branch(&world, "story.txt"), "once");
    assert_eq!(on_branch(&world, "beside.txt"), "by beside", "what is beside it lands");
    conductor(&world, &["diff", "second"])
        .expect(0)
        .says("-once then first\n")
        .says("+once then first then second");
    world
}

fn resume(world: &World) -> Ended {
    conductor(world, &["run", "--resume"])
}

#[test]
fn what_is_built_on_work_in_review_lands_after_it() {
    for merge_strategy in ["merge", "squash", "rebase"] {
        let world = in_review(merge_strategy);
        conductor(&world, &["status"]).expect(0).says("lands after what it is built on");
        resume(&world).expect(5).says("first waits for your review");
        conductor(&world, &["review", "approve", "first"]).expect(0);
        resume(&world).expect(0).says("4 of 4 completed");
        assert_eq!(on_branch(&world, "story.txt"), "once then first then second then third");
        let begun = world.read("begun");
        assert_eq!(begun.lines().count(), 4, "nothing was done twice: {begun}");
        let branch = format!("conductor/{}", world.run_id());
        let landed = git(
            &world,
            &["log", "--format=%(trailers:key=Conductor-Task,valueonly)", "--first-parent", &branch],
        );
        let order: Vec<&str> = landed.split_whitespace().collect();
        assert_eq!(order, ["third", "second", "first", "beside"], "{merge_strategy}");
        expect_tidy(&world);
    }
}

#[test]
fn what_is_built_on_work_that_is_dropped_does_not_land() {
    let world = in_review("squash");
    conductor(&world, &["review", "drop", "first"]).expect(0);
    for task in ["second", "third"] {
        assert_eq!(world.statuses()[task], "skipped");
    }
    assert_eq!(status(&world), "cancelled");
    let kept = git(&world, &["for-each-ref", "--format=%(refname)", "refs/conductor/rescue"]);
    assert!(kept.contains("/second/") && kept.contains("/third/"), "{kept}");
    assert_eq!(on_branch(&world, "story.txt"), "once");
    expect_tidy(&world);
}

#[test]
fn what_is_built_on_work_that_is_sent_back_begins_anew() {
    let world = in_review("squash");
    conductor(&world, &["review", "send-back", "first", "-m", "say it better"]).expect(0);
    resume(&world).expect(5).says("start   second  attempt 2  on the work of first, which has not landed");
    conductor(&world, &["diff", "second"]).expect(0).says("+first, mended then second");
    conductor(&world, &["review", "approve", "first"]).expect(0);
    resume(&world).expect(0).says("4 of 4 completed");
    assert_eq!(on_branch(&world, "story.txt"), "first, mended then second then third");
    expect_tidy(&world);
}
