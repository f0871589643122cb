//! Work that another agent reviews before it lands.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::{Bench, SLOW};
use crate::repository::expect_tidy;

const TASK: &str = "  - id: work\n    prompt: '[[script:work]] Write the answer into answer.txt'\n    \
                    review: { rubric: '[[script:review]] It must be 42' }\n";

#[test]
fn a_rejection_goes_back_and_what_is_accepted_lands_with_its_score() {
    let Some(bench) = Bench::new(Agent::Claude, "", TASK) else { return };
    let work = Script::new().write_file("answer.txt", "41\n").finish("It is written.");
    bench.script("work", work.edit("answer.txt", "41", "42").finish("It is mended."));
    let rejects = r#"{"verdict": "reject", "score": 10, "findings": ["answer.txt says 41, not 42"]}"#;
    let accepts = r#"Now it is right. {"verdict": "accept", "score": 95, "findings": []}"#;
    bench.script("review", Script::new().lie(rejects, 1).finish(accepts));
    let ended = bench.run(&[]).ended_within(SLOW).expect(0);
    assert!(ended.stderr.contains("goes back to be mended: claude"), "{}", ended.stderr);
    let summary = bench.world.summary();
    let quality = &summary["results"][0]["quality"];
    let review = quality["parts"].as_array().unwrap().iter().find(|part| part["name"] == "review").unwrap();
    assert_eq!(review["score"], 0.95, "{quality}");
    let told = |request: &conductor_testkit::Request| {
        request.body.as_deref().is_some_and(|body| body.contains("answer.txt says 41, not 42"))
    };
    assert!(bench.stand_in.requests("work").iter().any(told), "the agent that did it gets the findings");
    expect_tidy(&bench.world);
}

#[test]
fn a_review_that_cannot_be_read_does_not_stop_the_work() {
    let Some(bench) = Bench::new(Agent::Claude, "", TASK) else { return };
    bench.script("work", Script::new().write_file("answer.txt", "42\n").finish("It is written."));
    bench.script("review", Script::new().finish("Looks good to me!"));
    bench.run(&[]).ended_within(SLOW).expect(0).says("no review by claude");
    let quality = &bench.world.summary()["results"][0]["quality"];
    assert!(quality.is_null(), "nothing about it was measured: {quality}");
    expect_tidy(&bench.world);
}
