//! The limit of an agent counts reviewers and agents that do tasks together.

use crate::questions;
use crate::repository::{expect_tidy, start};

/// Records if another agent of its name is at work already. `beta` is slower, so that a review by `beta` is
/// due while another `beta` still works. Reviews by accepting, does a task by writing a file.
const EITHER: &str = r#"
name=${0##*-}
mkdir "HERE/$name.busy" 2>/dev/null || echo "$name" >> HERE/crowded
read -r task
test $name = beta && sleep 0.5 || sleep 0.1
case "$task" in
  *"You review a change"*)
    echo "$name" >> HERE/reviews
    rmdir "HERE/$name.busy"
    echo '{"type":"result","ok":true,"text":"{\"verdict\": \"accept\", \"score\": 80, \"findings\": []}"}' ;;
  *)
    echo "$CONDUCTOR_TASK" > "$CONDUCTOR_TASK.txt"
    rmdir "HERE/$name.busy"
    echo '{"type":"result","ok":true,"text":"done"}' ;;
esac
"#;

/// `alpha` and `beta` review each other: agents that keep their place while they wait for a reviewer would
/// wait for ever.
#[test]
fn a_limit_of_an_agent_holds_for_those_who_review_too() {
    let world = questions::world(
        "
limits: { agents: { alpha: 1, beta: 1 } }
tasks:
  - { id: a1, prompt: Do it, agent: alpha, review: { agent: beta } }
  - { id: b1, prompt: Do it, agent: beta, review: { agent: alpha } }
  - { id: a2, prompt: Do it, agent: alpha, review: { agent: beta } }
  - { id: b2, prompt: Do it, agent: beta, review: { agent: alpha } }
  - { id: own, prompt: Do it, agent: alpha, review: true }
",
        &[("alpha", EITHER), ("beta", EITHER)],
    );
    start(&world, &["-p", "5"]).ended().expect(0).says("5 of 5 completed");
    let mut reviews: Vec<String> = world.read("reviews").lines().map(str::to_owned).collect();
    reviews.sort();
    assert_eq!(reviews, ["alpha", "alpha", "alpha", "beta", "beta"]);
    assert_eq!(world.read("crowded"), "", "never two of a kind at once");
    expect_tidy(&world);
}
