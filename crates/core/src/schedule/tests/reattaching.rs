//! Attempts whose agents outlive their coordinator.

use std::collections::BTreeMap;

use super::*;

/// The coordinator dies, and the next one finds these at work, for so many seconds by then.
fn take_up(s: Script, at_work: &[(&str, u32, u64)]) -> (Script, String) {
    let attached: BTreeMap<TaskId, Attached> = at_work
        .iter()
        .map(|&(task, attempt, secs)| {
            (id(task), Attached { attempt: Attempt(attempt), worked: Millis::from_secs(secs) })
        })
        .collect();
    let run = Run::replay(&s.log).unwrap();
    let resume_state = ResumeState { attached, ..ResumeState::default() };
    let (scheduler, decision) = Scheduler::take_up(run, queue(2), now(0), resume_state).unwrap();
    let mut script = Script { scheduler, log: s.log, actions: Vec::new(), secs: 0 };
    let told = script.told(decision);
    (script, told)
}

#[test]
fn what_lives_is_gone_on_with_and_the_rest_is_interrupted() {
    let (s, _) = Script::start(plan("a; b; c <- a"), queue(2));
    let (mut s, told) = take_up(s, &[("a", 1, 5)]);
    assert_eq!(told, "again a, interrupted b, start b#2");
    let reattach = Action::Reattach { task: id("a"), attempt: Attempt(1) };
    assert!(s.actions.contains(&reattach), "{:?}", s.actions);
    assert_eq!(s.ok("a"), "done a, start c");
    let ended = s.log.iter().find_map(|record| match &record.event {
        Event::AttemptEnded { task, elapsed, .. } if *task == id("a") => Some(*elapsed),
        _ => None,
    });
    assert_eq!(ended, Some(Millis::from_secs(5)), "its time counts on");
    assert_eq!(&Run::replay(&s.log).unwrap(), s.scheduler.run());
}

#[test]
fn only_the_very_attempt_is_gone_on_with() {
    let (s, _) = Script::start(plan("a"), queue(1));
    let (_, told) = take_up(s, &[("a", 2, 5)]);
    assert_eq!(told, "interrupted a, start a#2");
}

#[test]
fn one_that_was_told_to_stop_is_not_gone_on_with() {
    let mut plan = plan("a");
    plan.tasks[0].timeout = Some(Millis::from_secs(1));
    let (mut s, _) = Script::start(plan, queue(1));
    assert_eq!(s.wait(1), "stop a (TimedOut)");
    let (s, _) = take_up(s, &[("a", 1, 5)]);
    assert!(!s.log.iter().any(|record| matches!(record.event, Event::AttemptReattached { .. })));
    let place = s.scheduler.run().place(&id("a")).unwrap();
    assert_eq!(s.scheduler.run().progress(place).last_attempt, 1, "it timed out");
}

#[test]
fn its_time_out_counts_on() {
    let mut plan = plan("a; b");
    plan.tasks.iter_mut().for_each(|task| task.timeout = Some(Millis::from_secs(100)));
    let (s, _) = Script::start(plan, queue(2));
    let (mut s, told) = take_up(s, &[("a", 1, 90), ("b", 1, 200)]);
    assert_eq!(told, "again a, again b");
    assert_eq!(s.wait(0), "stop b (TimedOut)", "its time was up meanwhile");
    assert_eq!(s.wait(9), "");
    assert_eq!(s.wait(1), "stop a (TimedOut)");
}

impl Script {
    /// The process that holds the agent is ended, and the agent with it.
    fn loses_shim(&mut self, task: &str) -> String {
        let attempt = self.attempt_of(task);
        let told = self.input(Input::ShimLost { task: id(task), attempt });
        told + ", " + &self.ended(task, Outcome::Interrupted)
    }
}

#[test]
fn a_task_that_ends_what_holds_it_time_and_again_fails() {
    let mut plan = plan("a; b <- a");
    plan.tasks[0].retry.max_attempts = 2;
    let (mut s, _) = Script::start(plan, queue(1));
    assert_eq!(s.loses_shim("a"), "lost the shim of a, interrupted a, start a#2");
    assert_eq!(s.ended("a", Outcome::Interrupted), "interrupted a, start a#3", "that is not one of them");
    assert_eq!(s.loses_shim("a"), "lost the shim of a, interrupted a, start a#4");
    assert_eq!(s.scheduler.run().progress(0).tried, 0);
    let told = s.loses_shim("a");
    assert!(!told.contains("interrupted"), "{told}");
    let failure = s.log.iter().find_map(|record| match &record.event {
        Event::AttemptEnded { outcome: Outcome::Failed(failure), .. } => Some(failure.clone()),
        _ => None,
    });
    let words = failure.unwrap().message;
    assert_eq!(words, "the process that held it was ended 3 times while it was at work");
    s.wait(60);
    let told = s.loses_shim("a");
    assert!(told.contains("failed a (Killed)"), "its next try does not get three more: {told}");
    assert_eq!(s.scheduler.run().progress(0).tried, 2);
    assert_eq!(&Run::replay(&s.log).unwrap(), s.scheduler.run());
}

#[test]
fn one_that_was_told_to_stop_has_not_lost_its_shim() {
    let (mut s, _) = Script::start(plan("a"), queue(1));
    s.input(Input::Asked(Request::Cancel(id("a"))));
    assert_eq!(s.loses_shim("a"), ", cancelled a, finished (Cancelled)");
}
