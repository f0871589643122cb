//! Providers that fail, and those that let no agent in.

use super::*;

/// Prompts that are tried once.
fn once(text: &str) -> Plan {
    let mut plan = prompts(text);
    plan.tasks.iter_mut().for_each(|task| task.retry.max_attempts = 1);
    plan
}

fn patient(slots: u32, minutes: u64) -> Options {
    let mut options = queue(slots);
    options.limits.outage_patience = Some(Millis::from_secs(minutes * 60));
    options
}

impl Script {
    fn refused(&mut self, task: &str, class: FailureClass) -> String {
        self.ended(task, Outcome::Failed(Failure::new(class, "no")))
    }
}

#[test]
fn an_outage_fails_nothing_and_one_alone_looks_whether_it_is_over() {
    let (mut s, told) = Script::start(once("a claude; b claude; c claude"), patient(3, 60));
    assert_eq!(told, "start a, start b, start c");
    assert_eq!(s.refused("a", FailureClass::RateLimited), "parked claude until 5, interrupted a");
    assert_eq!(s.refused("b", FailureClass::Overloaded), "interrupted b", "it asked before");
    assert_eq!(s.refused("c", FailureClass::Provider), "interrupted c");
    assert_eq!(s.wait(4), "");
    assert_eq!(s.wait(2), "start a#2");
    // From here on it is left alone for longer each time, and never longer than ten minutes.
    let mut pauses = Vec::new();
    for look in 2.. {
        let told = s.refused("a", FailureClass::Provider);
        let until: u64 = told.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
        pauses.push(until - s.secs);
        if pauses.len() == 9 {
            break;
        }
        s.secs = until;
        assert_eq!(s.wait(1), format!("start a#{}", look + 1));
    }
    assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 600, 600, 600]);
}

#[test]
fn the_task_that_gets_an_answer_lets_the_others_in() {
    let (mut s, _) = Script::start(once("a claude; b claude"), patient(2, 60));
    s.refused("a", FailureClass::RateLimited);
    s.refused("b", FailureClass::RateLimited);
    assert_eq!(s.wait(6), "start a#2");
    assert_eq!(s.use_up("a", 0.1), "start b#2");
    // The outage is over: the next one begins with a short pause.
    assert_eq!(s.refused("b", FailureClass::RateLimited), "parked claude until 11, interrupted b");
}

#[test]
fn patience_comes_to_an_end() {
    let (mut s, _) = Script::start(once("a claude"), patient(1, 1));
    assert_eq!(s.refused("a", FailureClass::Provider), "parked claude until 5, interrupted a");
    assert_eq!(s.wait(6), "start a#2");
    s.secs = 61;
    assert_eq!(s.refused("a", FailureClass::Provider), "failed a (Provider), finished (Failed)");
}

#[test]
fn another_agent_takes_over_in_the_meantime() {
    let (mut s, _) = Script::start(once("a claude codex; b claude"), patient(2, 60));
    assert_eq!(s.refused("a", FailureClass::Overloaded), "parked claude until 5, interrupted a, start a#2");
    let place = s.scheduler.run().place(&id("a")).unwrap();
    assert_eq!(s.scheduler.run().agent_choice(place).unwrap().agent, "codex");
}

#[test]
fn a_run_that_is_taken_up_asks_at_once() {
    let (mut s, _) = Script::start(once("a claude"), patient(1, 60));
    s.refused("a", FailureClass::Provider);
    let (mut s, told) = s.crash(patient(1, 60));
    assert_eq!(told, "start a#2");
    assert_eq!(s.refused("a", FailureClass::Provider), "parked claude until 5, interrupted a");
}

#[test]
fn one_that_is_not_let_in_stops_all_that_ask_the_same_provider() {
    let (mut s, _) = Script::start(once("a claude; b claude; c codex; d claude"), patient(3, 60));
    let told = s.refused("a", FailureClass::Unauthorized);
    assert!(told.contains("failed a (Unauthorized)") && told.contains("stop b"), "{told}");
    assert!(!told.contains("stop c"), "{told}");
    s.ended("b", Outcome::Interrupted);
    let told = s.ok("c");
    assert!(told.ends_with("stopped (Unauthorized)"), "{told}");
    assert_eq!(s.scheduler.run().count(crate::run::Status::Pending), 2);
}

/// The wait is of an hour; then the clock is set back by years, and the hour passes.
#[test]
fn a_clock_that_is_set_back_makes_no_wait_longer() {
    let (mut s, _) = Script::start(once("a claude"), queue(1));
    let later = |tick: u64, at: i64| Now { at: Timestamp(at * 1000), tick: Tick(tick * 1000), jitter: 0.5 };
    let parked = Input::ProviderParked { agent: "claude".into(), until: Timestamp(1_000_003_600_000) };
    let decision = s.scheduler.handle(later(1, 1_000_000_000), parked);
    s.told(decision);
    let attempt = s.attempt_of("a");
    let ended = Input::AttemptEnded {
        task: id("a"),
        attempt,
        outcome: Outcome::Interrupted,
        change: None,
        phases: None,
    };
    let decision = s.scheduler.handle(later(2, 1_000_000_001), ended);
    assert_eq!(s.told(decision), "interrupted a");
    let decision = s.scheduler.handle(later(3700, 600_000_000), Input::TimerDue);
    assert!(s.told(decision).ends_with("start a#2"));
}

/// What it has done stays, and it goes on in the same conversation.
#[test]
fn what_was_cut_short_by_its_provider_is_gone_on_with() {
    let mut plan = once("a claude");
    plan.tasks[0].retry.max_attempts = 2;
    let (mut s, _) = Script::start(plan, queue(1));
    let attempt = s.attempt_of("a");
    s.input(Input::SessionStarted { task: id("a"), attempt, session: "first".into() });
    let change = Some(Box::new(Change::new("base", "half")));
    let outcome = Outcome::Failed(Failure::new(FailureClass::Provider, "500"));
    let ended = Input::AttemptEnded { task: id("a"), attempt, outcome, change, phases: None };
    assert_eq!(s.input(ended), "retry a in 5.0s");
    assert_eq!(s.wait(5), "start a#2");
    let start_from = s.actions.iter().find_map(|action| match action {
        Action::Start { start_from, .. } => start_from.as_deref(),
        _ => None,
    });
    let start_from = start_from.unwrap();
    assert_eq!(start_from.session.as_deref(), Some("first"));
    assert_eq!(start_from.round.as_ref().unwrap().1.change.commit, "half");
}
