//! Attempts in the hands of workers in other processes, which can be lost.

use super::*;
use crate::schedule::LEASE;
use crate::values::ids::WorkerId;

fn worker(name: &str) -> WorkerId {
    WorkerId::parse(name).unwrap()
}

impl Script {
    fn renews(&mut self, name: &str, task: &str) -> String {
        let attempt = self.attempt_of(task);
        self.input(Input::LeaseRenewed { task: id(task), attempt, worker: worker(name) })
    }

    fn loses(&mut self, name: &str) -> String {
        self.input(Input::WorkerLost { worker: worker(name) })
    }

    /// What the last decision asked to be taken from its worker is reported as interrupted.
    fn reclaim(&mut self) -> String {
        let reclaimed = self.actions.iter().find_map(|action| match action {
            Action::Reclaim { task, attempt, .. } => Some((task.clone(), *attempt)),
            _ => None,
        });
        let (task, attempt) = reclaimed.expect("something to reclaim");
        let outcome = Outcome::Interrupted;
        self.input(Input::AttemptEnded { task, attempt, outcome, change: None, phases: None })
    }
}

#[test]
fn a_worker_that_is_gone_has_lost_its_attempts_and_no_others() {
    let (mut s, told) = Script::start(plan("a; b; c"), queue(3));
    assert_eq!(told, "start a, start b, start c");
    assert_eq!(s.renews("w1", "a"), "leased a to w1");
    assert_eq!(s.renews("w2", "b"), "leased b to w2");
    assert_eq!(s.loses("w1"), "lost a");
    assert_eq!(s.reclaim(), "interrupted a, start a#2");
    assert_eq!(s.loses("w1"), "", "once is enough");
    assert_eq!(s.ended("b", Outcome::Succeeded), "done b");
    assert_eq!(s.loses("w2"), "", "it had nothing any more");
    assert_eq!(s.wait(1000), "", "what our own process does needs no lease");
}

#[test]
fn a_worker_that_is_not_heard_of_has_lost_them_when_its_lease_ends() {
    let (mut s, _) = Script::start(plan("a"), queue(1));
    s.renews("w1", "a");
    let lease = LEASE.0 / 1000;
    assert_eq!(s.scheduler.next_deadline(), Some(Tick(LEASE.0)));
    assert_eq!(s.wait(lease - 1), "");
    assert_eq!(s.renews("w1", "a"), "", "told once");
    assert_eq!(s.wait(lease - 1), "");
    assert_eq!(s.wait(1), "lost a");
    assert_eq!(s.renews("w1", "a"), "", "too late");
    assert_eq!(s.loses("w1"), "", "it is known");
    assert_eq!(s.scheduler.next_deadline(), None);
    assert_eq!(s.ended("a", Outcome::Interrupted), "interrupted a, start a#2");
    assert_eq!(s.scheduler.next_deadline(), None, "the new attempt is not leased yet");
}

#[test]
fn what_a_lost_worker_says_later_changes_nothing() {
    let (mut s, _) = Script::start(plan("a"), queue(1));
    s.renews("w1", "a");
    let first = s.attempt_of("a");
    s.loses("w1");
    s.reclaim();
    assert_eq!(s.renews("w2", "a"), "leased a to w2");
    let report =
        |outcome| Input::AttemptEnded { task: id("a"), attempt: first, outcome, change: None, phases: None };
    assert_eq!(s.input(report(Outcome::Succeeded)), "");
    assert_eq!(s.input(Input::LeaseRenewed { task: id("a"), attempt: first, worker: worker("w1") }), "");
    // Nor does one that has not been given it hold it.
    assert_eq!(s.renews("w3", "a"), "");
    assert_eq!(s.loses("w3"), "");
    assert_eq!(s.loses("w2"), "lost a");
    assert_eq!(s.reclaim(), "interrupted a, start a#3");
}

#[test]
fn a_task_that_takes_every_worker_along_is_set_aside() {
    let mut plan = plan("a; b <- a");
    plan.tasks[0].retry.max_attempts = 1;
    let (mut s, _) = Script::start(plan, queue(1));
    for name in ["w1", "w2"] {
        s.renews(name, "a");
        s.loses(name);
        assert!(s.reclaim().contains("interrupted a, start a#"));
    }
    s.renews("w3", "a");
    s.loses("w3");
    let told = s.reclaim();
    assert!(told.contains("failed a (Killed)"), "{told}");
    assert_eq!(s.scheduler.run().progress(0).tried, 1);
}

#[test]
fn one_that_was_to_stop_is_stopped_when_its_worker_is_lost() {
    let (mut s, _) = Script::start(plan("a; b"), queue(2));
    s.renews("w1", "a");
    s.input(Input::Asked(Request::Cancel(id("a"))));
    s.loses("w1");
    let told = s.reclaim();
    assert!(told.contains("cancelled a"), "{told}");
}

#[test]
fn a_restart_forgets_leases_for_what_was_leased_is_interrupted() {
    let (mut s, _) = Script::start(plan("a"), queue(1));
    s.renews("w1", "a");
    let run = Run::replay(&s.log).unwrap();
    let TaskState::Running(running) = &run.progress(0).state else { panic!("it runs") };
    assert_eq!(running.worker, Some(worker("w1")), "who has it is in the log");
    let (scheduler, decision) = Scheduler::start(run, queue(1), now(1)).unwrap();
    s.scheduler = scheduler;
    assert_eq!(s.told(decision), "interrupted a, start a#2");
    assert_eq!(s.scheduler.next_deadline(), None);
}

/// A coordinator that takes the run up gives a task to the worker that has its conversation, as the one before did.
#[test]
fn who_has_a_conversation_is_in_the_log() {
    let (mut s, _) = Script::start(plan("a; b"), queue(2));
    s.renews("w1", "a");
    for task in ["a", "b"] {
        let (session, attempt) = (format!("of {task}"), s.attempt_of(task));
        s.input(Input::SessionStarted { task: id(task), attempt, session });
    }
    let known = |s: &Script| Run::replay(&s.log).unwrap().conversations().collect::<Vec<_>>();
    assert_eq!(known(&s), [(id("a"), worker("w1"))], "what is said on this machine is at no worker");
    s.ended("a", Outcome::Interrupted);
    assert_eq!(known(&s), [(id("a"), worker("w1"))]);
    s.renews("w1", "a");
    s.loses("w1");
    assert!(known(&s).is_empty(), "what was said there is lost with it");
}
