//! An agent is stopped for something more urgent, and goes on later.

use super::*;
use crate::plan::Amendment;
use crate::run::event::{Options, StopReason};

/// Prompts with a priority each; one that ends in `!` may have others stopped.
fn classes(text: &str) -> Plan {
    let tasks = text.split(';').map(|entry| {
        let mut words = entry.split_whitespace();
        let (name, class) = (words.next().unwrap(), words.next().unwrap());
        let mut task = Task::new(id(name), Work::Prompt(name.into()));
        task.priority = Priority(class.trim_end_matches('!').parse().unwrap());
        task.preempt = class.ends_with('!');
        task.dependencies = words.map(dependency).collect();
        task
    });
    Plan { tasks: tasks.collect(), ..Plan::default() }
}

impl Script {
    fn join(&mut self, plan: Plan) -> String {
        let told =
            self.ask(Request::Amend(Box::new(Amendment { tasks: plan.tasks, ..Amendment::default() })));
        match told.is_empty() {
            true => "amended".to_owned(),
            false => format!("amended, {told}"),
        }
    }

    fn handed_in(&mut self, task: &str) -> String {
        let attempt = self.attempt_of(task);
        self.input(Input::WorkHandedIn { task: id(task), attempt })
    }
}

#[test]
fn what_is_more_urgent_has_the_least_urgent_stopped_that_began_last() {
    let (mut s, told) = Script::start(classes("gate 0; old 2; new 2; mid 1; late 0! gate"), queue(4));
    assert_eq!(told, "start gate, start mid, start old, start new");
    assert_eq!(s.ok("gate"), "done gate, start late", "there is room");
    let (mut s, _) = Script::start(classes("gate 0; old 2; new 2; late 0! gate; later 1! gate"), queue(3));
    assert_eq!(s.ok("gate"), "done gate, start late, stop new (Preempted)");
    assert_eq!(s.wait(1), "", "one for each");
    assert_eq!(s.ended("new", Outcome::Interrupted), "interrupted new, start later");
    assert_eq!(s.ok("late"), "done late, start new#2", "it goes on when there is room");
    let run = s.scheduler.run();
    let progress = run.progress(run.place(&id("new")).unwrap());
    assert_eq!((progress.tried, progress.interruptions), (0, 1), "no try of its own");
}

#[test]
fn a_task_has_others_stopped_for_what_waits_for_it() {
    let (mut s, told) = Script::start(classes("busy 2; other 2"), queue(1));
    assert_eq!(told, "start busy");
    let told = s.join(classes("step 2; urgent 0! step"));
    assert_eq!(told, "amended, stop busy (Preempted)");
    assert_eq!(s.ended("busy", Outcome::Interrupted), "interrupted busy, start step");
}

#[test]
fn commands_equals_and_handed_in_work_are_not_stopped() {
    let begin = |change: &dyn Fn(&mut Plan)| {
        let mut plan = classes("gate 0; busy 2; late 0! gate; last 0! gate");
        change(&mut plan);
        Script::start(plan, queue(2)).0
    };
    let mut s = begin(&|_| {});
    assert_eq!(s.ok("gate"), "done gate, start late, stop busy (Preempted)");
    let mut s = begin(&|plan| plan.tasks[1].work = Work::Run(Command::Line("true".into())));
    assert_eq!(s.ok("gate"), "done gate, start late");
    let mut s = begin(&|plan| plan.tasks[1].priority = Priority(0));
    assert_eq!(s.ok("gate"), "done gate, start late", "equals wait for each other");
    let mut s = begin(&|_| {});
    s.handed_in("busy");
    assert_eq!(s.ok("gate"), "done gate, start late", "its work is being checked");
    let attempt = s.attempt_of("busy");
    let given_back = Input::WorkGivenBack { task: id("busy"), attempt };
    assert_eq!(s.input(given_back), "stop busy (Preempted)", "its agent works on it again");
    let mut s = begin(&|plan| plan.tasks.iter_mut().for_each(|task| task.preempt = false));
    assert_eq!(s.ok("gate"), "done gate, start late", "only where it is wanted");
}

#[test]
fn no_task_is_stopped_more_than_twice() {
    let (mut s, _) = Script::start(classes("slow 2"), queue(1));
    for urgent in ["a", "b"] {
        let told = s.join(classes(&format!("{urgent} 0!")));
        assert_eq!(told, "amended, stop slow (Preempted)");
        assert_eq!(s.ended("slow", Outcome::Interrupted), format!("interrupted slow, start {urgent}"));
        assert!(s.ok(urgent).starts_with(&format!("done {urgent}, start slow#")));
    }
    assert_eq!(s.join(classes("c 0!")), "amended");
    assert_eq!(s.ok("slow"), "done slow, start c");
}

#[test]
fn a_place_at_an_agent_is_made_room_for_as_a_slot_is() {
    let mut options = queue(4);
    options.limits.agents.insert("claude".into(), 1);
    let mut plan = classes("gate 0; slow 2; other 2; late 0! gate");
    for (task, agent) in plan.tasks.iter_mut().zip(["codex", "claude", "codex", "claude"]) {
        task.agent = Some(agent.into());
    }
    let (mut s, _) = Script::start(plan, options);
    assert_eq!(s.ok("gate"), "done gate, stop slow (Preempted)", "and not other, who has no such place");
    assert_eq!(s.ended("slow", Outcome::Interrupted), "interrupted slow, start late");
    assert_eq!(s.ok("late"), "done late, start slow#2");
}

#[test]
fn what_was_handed_in_in_that_moment_counts_and_a_cancel_ends_it() {
    let begin = || {
        let (mut s, _) = Script::start(classes("gate 0; busy 2; late 0! gate; last 0! gate"), queue(2));
        s.ok("gate");
        s
    };
    assert_eq!(begin().ok("busy"), "done busy, start last");
    let failure = Failure::new(FailureClass::Unverified, "red");
    let told = begin().ended("busy", Outcome::Failed(failure));
    assert!(told.contains("busy") && !told.contains("interrupted"), "what was found counts: {told}");
    let mut s = begin();
    assert_eq!(s.ask(Request::Cancel(id("busy"))), "stop busy (Cancelled)");
    let told = s.ended("busy", Outcome::Interrupted);
    assert!(told.starts_with("cancelled busy"), "{told}");
}

#[test]
fn a_coordinator_that_died_meanwhile_stops_no_task_twice() {
    let (mut s, _) = Script::start(classes("gate 0; busy 2; late 0! gate; last 0! gate"), queue(2));
    s.ok("gate");
    let (s, told) = s.crash(Options { slots: 2, ..queue(2) });
    assert!(told.contains("interrupted busy") && told.contains("start last"), "{told}");
    let stops = s
        .log
        .iter()
        .filter(|record| matches!(record.event, Event::StopRequested { why: StopReason::Preempted, .. }));
    assert_eq!(stops.count(), 1);
}
