//! What needs the user, and what happens otherwise; and which tasks look different after what happened.

use super::*;
use crate::report::needs::{self, Need, NeedKind};

fn asks(s: &mut Script, task: &str) {
    let question =
        Question { tool: "Bash".into(), what: "terraform apply".into(), why: "Bash(terraform*)".into() };
    s.ended(task, Outcome::Asked(Box::new(question)));
}

fn of(s: &Script, is_live: bool) -> Vec<Need> {
    needs::of(s.scheduler.run(), is_live)
}

fn kinds(needs: &[Need]) -> Vec<NeedKind> {
    needs.iter().map(|need| need.kind).collect()
}

#[test]
fn a_question_has_its_time_and_names_what_it_holds_up() {
    let options = Options { answer_within: Some(Millis::from_secs(60)), ..queue(2) };
    let (mut s, _) = Script::start(plan("a; b <- a; c <- b"), options);
    asks(&mut s, "a");
    let needs = of(&s, true);
    let [need] = needs.as_slice() else { panic!("{needs:?}") };
    assert_eq!((need.kind, need.held, need.evidence.as_str()), (NeedKind::Permission, 2, "terraform apply"));
    assert_eq!(need.due.unwrap() - need.since.unwrap(), Millis::from_secs(60));
    assert!(need.otherwise.contains("denied"), "{}", need.otherwise);
    let needs = of(&s, false);
    assert_eq!(kinds(&needs), [NeedKind::Permission, NeedKind::Left], "a run that was left says so");
    assert_eq!(needs[0].due, None, "no clock runs for it");
    assert!(needs[0].otherwise.contains("until the run is resumed"), "{}", needs[0].otherwise);
}

#[test]
fn without_a_limit_a_question_waits_and_says_for_whom() {
    let (mut s, _) = Script::start(plan("a; b <- a"), queue(2));
    asks(&mut s, "a");
    let needs = of(&s, true);
    assert_eq!(needs[0].due, None);
    assert!(needs[0].otherwise.ends_with("b is waiting for it"), "{}", needs[0].otherwise);
}

#[test]
fn what_failed_names_what_is_not_done_for_it_and_comes_behind_questions() {
    let (mut s, _) = Script::start(plan("a; b <- a; c <- b; d; e"), queue(3));
    s.fail("a");
    asks(&mut s, "d");
    let needs = of(&s, true);
    assert_eq!(kinds(&needs), [NeedKind::Permission, NeedKind::Failed]);
    assert_eq!(needs[1].held, 2, "both that were skipped for it");
    assert!(needs[1].otherwise.contains("are not done"), "{}", needs[1].otherwise);
    assert!(of(&s, true).iter().all(|need| need.task != Some(id("e"))), "what runs needs nothing");
}

#[test]
fn a_run_that_is_over_does_not_end_once_more() {
    let (mut s, _) = Script::start(plan("a; b"), queue(2));
    s.fail("a");
    assert_eq!(of(&s, true)[0].otherwise, "it stays failed, and the run ends incomplete");
    s.ok("b");
    assert_eq!(of(&s, false)[0].otherwise, "it stays failed");
}

#[test]
fn only_tasks_that_something_happened_to_look_different() {
    let (mut s, _) = Script::start(plan("a; b; c <- a"), queue(2));
    let before = s.log.len();
    s.fail("a");
    let places = s.scheduler.run().touched_by(&s.log[before..]).unwrap();
    assert_eq!(places.into_iter().collect::<Vec<_>>(), [0, 2], "a failed, and c is skipped for it");
    assert_eq!(s.scheduler.run().touched_by(&s.log[..before]), None, "a run that starts is new as a whole");
    assert_eq!(s.scheduler.run().touched_by(&[]).unwrap().len(), 0);
}
