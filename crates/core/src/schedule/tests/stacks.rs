//! Tasks that begin on work that has not landed.

use super::*;
use crate::plan::Land;
use crate::run::event::Comment;

/// Prompts of which `a` lands by approval, and the others begin on what has not landed.
fn speculating(text: &str) -> Plan {
    let mut plan = plan(text);
    for task in &mut plan.tasks {
        (task.work, task.speculate) = (Work::Prompt("do it".into()), true);
        task.land = if task.id == id("a") { Land::Approve } else { Land::Auto };
    }
    plan
}

impl Script {
    fn verdict(&mut self, task: &str, verdict: ReviewVerdict) -> String {
        self.ask(Request::Review { task: id(task), verdict })
    }

    fn approves(&mut self, task: &str) -> String {
        self.verdict(task, ReviewVerdict::Approved { commit: task.into() })
    }

    fn sends_back(&mut self, task: &str) -> String {
        let comments = vec![Comment::parse("too long", |_| false)];
        self.verdict(task, ReviewVerdict::SentBack { comments })
    }
}

#[test]
fn a_task_begins_on_work_in_review_and_lands_after_it() {
    let (mut s, told) = Script::start(speculating("a; b <- a"), queue(2));
    assert_eq!(told, "start a");
    assert_eq!(s.left("a"), "review a, start b on a=a");
    let Some(Action::Start { start_from: Some(start_from), .. }) = s.actions.last() else { panic!() };
    let below = Unlanded { task: id("a"), commit: "a".into(), base: None };
    assert_eq!(start_from.stack, [below]);
    assert_eq!(s.left("b"), "stopped (Person)", "it waits for the other, which waits for a person");
    let (mut s, told) = s.crash(queue(2));
    assert_eq!(told, "stopped (Person)");
    let request = Request::Review { task: id("a"), verdict: ReviewVerdict::Approved { commit: "a".into() } };
    let told = Scheduler::ask_left(s.scheduler.run(), request, now(s.secs)).unwrap();
    for event in told {
        let seq = s.log.last().unwrap().seq + 1;
        s.log.push(Record { seq, at: now(s.secs).at, tick: now(s.secs).tick, event });
    }
    let (mut s, _) = s.crash(queue(2));
    assert_eq!(s.merged("a", ""), "merging a");
    assert_eq!(s.moved("a", true), "done a");
    assert_eq!(s.merged("b", ""), "merging b");
    assert_eq!(s.moved("b", true), "done b, finished (Completed)");
}

#[test]
fn a_task_that_does_not_speculate_waits() {
    let mut plan = speculating("a; b <- a; c <- a");
    plan.tasks[2].speculate = false;
    let (mut s, _) = Script::start(plan, queue(3));
    assert_eq!(s.left("a"), "review a, start b on a=a");
    s.approves("a");
    assert_eq!(s.merged("a", ""), "merging a");
    assert_eq!(s.moved("a", true), "done a, start c");
}

#[test]
fn what_is_dropped_takes_along_what_is_built_on_it() {
    let (mut s, _) = Script::start(speculating("a; b <- a; c <- a; d <- b; e"), queue(2));
    s.left("a");
    assert_eq!(s.left("b"), "start c on a=a");
    assert_eq!(s.left("e"), "start d on a=a and b=b", "what waits for the other can be built on too");
    let told = s.verdict("a", ReviewVerdict::Dropped);
    assert_eq!(
        told,
        "dropped a, cancelled a, aside b (by a), stop c (BaseChanged), stop d (BaseChanged), skip b (by a)"
    );
    assert_eq!(s.ended("c", Outcome::Cancelled), "interrupted c, aside c (by a), skip c (by a)");
    assert_eq!(s.left("d"), "aside d (by a), skip d (by a)");
}

#[test]
fn what_is_sent_back_has_what_is_built_on_it_begin_anew() {
    let (mut s, _) = Script::start(speculating("a; b <- a; c <- a"), queue(1));
    s.left("a");
    s.left("b");
    assert_eq!(s.attempt_of("c"), Attempt(1));
    assert_eq!(s.sends_back("a"), "sent back a, aside b (by a), stop c (BaseChanged)");
    assert_eq!(s.ended("c", Outcome::Cancelled), "interrupted c, aside c (by a)");
    assert_eq!(s.wait(0), "start a#2");
    assert_eq!(s.left_as("a", "a2"), "review a, start b#2 on a=a2");
    let run = s.scheduler.run();
    assert_eq!(run.progress(run.place(&id("b")).unwrap()).tried, 0, "no try is used up by that");
}

#[test]
fn what_does_not_fit_what_has_landed_waits_for_the_landing() {
    let (mut s, _) = Script::start(speculating("a; b <- a; c"), queue(2));
    s.left("a");
    let conflict = Outcome::Failed(Failure::new(FailureClass::Conflict, "conflicts"));
    assert_eq!(s.ended("b", conflict), "interrupted b, aside b");
    let (mut s, told) = s.crash(queue(2));
    assert_eq!(told, "interrupted c, start c#2");
    s.approves("a");
    s.merged("a", "");
    assert_eq!(s.moved("a", true), "done a, start b#2");
}

#[test]
fn what_is_done_and_waits_for_the_other_can_be_cancelled() {
    let (mut s, _) = Script::start(speculating("a; b <- a; c"), queue(1));
    s.left("a");
    s.left("b");
    assert_eq!(s.ask(Request::Cancel(id("b"))), "cancelled b");
}

#[test]
fn what_changed_nothing_is_done_only_when_what_it_ran_on_has_landed() {
    let (mut s, _) = Script::start(speculating("a; b <- a; c; d <- b"), queue(1));
    s.left("a");
    assert_eq!(s.ok("b"), "start c");
    s.approves("a");
    s.merged("a", "");
    assert_eq!(s.moved("a", true), "done a, done b");
    let (mut s, _) = Script::start(speculating("a; b <- a; c"), queue(1));
    s.left("a");
    s.ok("b");
    assert_eq!(
        s.verdict("a", ReviewVerdict::Dropped),
        "dropped a, cancelled a, aside b (by a), skip b (by a)"
    );
}

#[test]
fn both_can_be_reviewed_in_any_order() {
    let mut plan = speculating("a; b <- a; c");
    plan.tasks[1].land = Land::Approve;
    let (mut s, _) = Script::start(plan, queue(1));
    s.left("a");
    assert_eq!(s.left("b"), "review b, start c");
    assert_eq!(s.approves("b"), "approved b (b)", "it lands after the other");
    assert_eq!(s.approves("a"), "approved a (a)");
    assert_eq!(s.merged("a", ""), "merging a");
    assert_eq!(s.moved("a", true), "done a");
    assert_eq!(s.merged("b", ""), "merging b");
}
