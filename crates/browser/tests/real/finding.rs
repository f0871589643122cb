//! Whether there is a session for a prompt that may have been submitted: a page that does not show everything proves nothing.

use super::*;

/// How a page is unsure, in words.
fn doubted(stage: &Stage, mark: &str) -> String {
    match stage.driver(mark).find(mark) {
        Err(DriveError::Unsure(why)) => why,
        other => panic!("it is not known whether there is one: {other:?}"),
    }
}

#[test]
fn every_session_that_is_listed_and_shows_another_prompt_is_another_one() {
    let Some(stage) = Stage::new(Skin::Plain) else { return };
    stage.site.put("Do it, marked r/t/12", 3);
    stage.site.put("Something of the user's", 0);
    assert_eq!(stage.driver("r/t/1").find("r/t/1").unwrap(), None);
    let found = stage.driver("r/t/12").find("r/t/12").unwrap();
    assert!(found.is_some_and(|found| found.ends_with("/code/session_01Test1")));
}

#[test]
fn a_list_that_is_empty_or_not_known_proves_nothing() {
    let Some(stage) = Stage::new(Skin::Plain) else { return };
    assert!(doubted(&stage, "r/t/1").contains("lists no session"));
    stage.site.put("Do it, marked r/t/1", 0);
    stage.site.set(|faults| faults.other_list = true);
    assert!(doubted(&stage, "r/t/1").contains("lists no session"));
}

#[test]
fn a_full_list_and_a_long_transcript_prove_nothing() {
    let Some(stage) = Stage::new(Skin::Plain) else { return };
    stage.site.put("Do it\n\nmarked r/t/1", 30);
    let said = doubted(&stage, "r/t/1");
    assert!(said.contains("/code/session_01Test1 does not show its prompt"), "{said}");
    // Now it is below those that are listed, and each of these shows another prompt.
    (2..=21).for_each(|number| stage.site.put(&format!("number {number}"), 0));
    assert!(doubted(&stage, "r/t/1").contains("there may be more"));
}

/// What was there before the click is none of ours, however little its page shows.
#[test]
fn sessions_from_before_the_submission_are_ruled_out() {
    let Some(stage) = Stage::new(Skin::Plain) else { return };
    stage.site.put("Long and old", 30);
    let folder = tempfile::tempdir().unwrap();
    let mut driver = stage.driver("r/t/1");
    driver.record_intent(folder.path(), "r/t/1");
    let address = driver.create(prompt("Do it, marked r/t/1")).unwrap();
    assert_eq!(driver.find("r/t/1").unwrap(), Some(address));
    let text = fs::read_to_string(folder.path().join("browser-intent")).unwrap();
    assert!(text.starts_with("submitting r/t/1") && text.ends_with("/code/session_01Test1"), "{text}");
}
