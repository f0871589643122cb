//! An event that the run refuses: a mistake in the rules, which must not become a deed.

use super::*;

/// A scheduler that believes `b` can start, while the run says that it is over.
fn misled() -> Script {
    let (mut s, told) = Script::start(plan("a; b"), queue(1));
    assert_eq!(told, "start a");
    let seq = s.scheduler.run.seq() + 1;
    let event = Event::TaskCancelled { task: id("b") };
    s.scheduler.run.apply(&Record { seq, at: now(1).at, tick: now(1).tick, event }).unwrap();
    s
}

#[test]
fn nothing_follows_from_an_event_that_the_run_refuses() {
    let mut s = misled();
    let input = Input::AttemptEnded {
        task: id("a"),
        attempt: Attempt(1),
        outcome: Outcome::Succeeded,
        change: None,
        phases: None,
    };
    let decision = s.scheduler.handle(now(2), input);
    let illegal = decision.illegal.clone().unwrap();
    assert_eq!(illegal.to_string(), "event 7 (attempt_started) does not fit task 'b', which is cancelled");
    assert_eq!((decision.records, decision.actions), (Vec::new(), Vec::new()));
    // Whatever comes later, it is not decided as if nothing had been.
    let later = s.scheduler.handle(now(3), Input::Asked(Request::CancelAll));
    assert_eq!((later.illegal, later.records, later.actions), (Some(illegal), Vec::new(), Vec::new()));
}
