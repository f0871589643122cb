//! Tasks that join a run under way, and edits of those that have not started.

use super::*;
use crate::plan::{Amendment, Edit};

fn amend(script: &mut Script, text: &str) -> String {
    let amendment = Amendment { tasks: plan(text).tasks, ..Amendment::default() };
    script.ask(Request::Amend(Box::new(amendment)))
}

#[test]
fn a_task_that_joins_is_done_when_its_turn_comes() {
    let (mut script, told) = Script::start(plan("a; b <- a"), queue(2));
    assert_eq!(told, "start a");
    assert_eq!(amend(&mut script, "c; d <- b c"), "start c");
    assert_eq!(script.ok("a"), "done a, start b");
    assert_eq!(script.ok("c"), "done c");
    assert_eq!(script.ok("b"), "done b, start d");
    assert_eq!(script.ok("d"), "done d, finished (Completed)");
    assert_eq!(&Run::replay(&script.log).unwrap(), script.scheduler.run());
}

#[test]
fn what_has_not_started_can_be_put_another_way() {
    let (mut script, _) = Script::start(plan("a; b <- a; c"), queue(1));
    assert_eq!(amend(&mut script, "b <- c"), "");
    assert_eq!(script.ok("a"), "done a, start c");
    assert_eq!(script.ok("c"), "done c, start b");
    assert_eq!(amend(&mut script, "c <- b"), "refused: task 'c' has begun and stays as it is");
}

#[test]
fn what_cannot_be_is_refused_whole() {
    let (mut script, _) = Script::start(plan("a; b <- a"), queue(1));
    let circle = "refused: tasks would wait for each other in a circle: b, c";
    assert_eq!(amend(&mut script, "d; b <- c; c <- b"), circle);
    assert_eq!(
        amend(&mut script, "d <- unknown"),
        "refused: task 'd' depends on 'unknown', which does not exist"
    );
    assert_eq!(amend(&mut script, "d; d"), "refused: task 'd' is there twice");
    assert_eq!(script.scheduler.run().plan().tasks.len(), 2);
    script.ok("a");
    assert_eq!(script.ok("b"), "done b, finished (Completed)");
    assert_eq!(amend(&mut script, "e"), "refused: the run is over");
}

#[test]
fn a_task_that_joins_behind_a_failure_is_skipped_like_the_others() {
    let (mut script, _) = Script::start(plan("a; b"), queue(2));
    script.fail("a");
    assert_eq!(amend(&mut script, "c <- a"), "skip c (by a)");
}

#[test]
fn no_task_gains_time_when_another_joins() {
    let mut timed = plan("a");
    timed.tasks[0].timeout = Some(Millis::from_secs(10));
    let (mut script, _) = Script::start(timed, queue(1));
    script.wait(8);
    assert_eq!(amend(&mut script, "b"), "");
    assert_eq!(script.wait(2), "stop a (TimedOut)");
}

#[test]
fn an_edit_is_what_a_file_has_more_or_otherwise() {
    let (before, mut after) = (plan("a; b <- a; c"), plan("a; b; d"));
    after.parallel = Some(2);
    let Edit { amendment, removed, settings } = Edit::between(&before, &after);
    let names: Vec<&str> = amendment.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!((names, removed, settings), (vec!["b", "d"], vec![id("c")], true));
    assert!(Edit::between(&before, &before).amendment.is_empty());
}

fn with_follow_ups(text: &str, most: u32, unasked: bool) -> (Script, String) {
    let mut options = queue(2);
    options.limits.follow_ups = most;
    options.limits.follow_ups_unasked = unasked;
    Script::start(plan(text), options)
}

fn propose(script: &mut Script, by: &str, text: &str) -> String {
    let (by, attempt, tasks) = (id(by), script.attempt_of(by), plan(text).tasks);
    script.ask(Request::Propose { by, attempt, tasks })
}

fn approve(script: &mut Script, task: &str, allow: bool) -> String {
    let answer = Answer { allow, words: None, by: crate::run::event::Answerer::Person };
    script.ask(Request::Answer { task: id(task), answer })
}

#[test]
fn an_agent_adds_as_many_tasks_as_the_run_takes() {
    let (mut script, _) = with_follow_ups("a; b <- a", 2, true);
    assert_eq!(propose(&mut script, "a", "c"), "start c");
    let circle = "refused: tasks would wait for each other in a circle: d";
    assert_eq!(propose(&mut script, "a", "d <- d"), circle);
    let known = "refused: there is a task 'b' already; choose another id";
    assert_eq!(propose(&mut script, "c", "b"), known);
    assert_eq!(propose(&mut script, "c", "d <- c"), "");
    assert_eq!(propose(&mut script, "c", "e"), "refused: this run takes 2 tasks from agents and has 2");
    let attempt = script.attempt_of("c");
    assert_eq!(script.ok("c"), "done c, start d");
    let late = script.ask(Request::Propose { by: id("c"), attempt, tasks: plan("f").tasks });
    assert_eq!(late, "refused: task 'c' is completed; only the agent at work on it can propose tasks");
}

#[test]
fn no_agent_adds_tasks_where_the_run_takes_none() {
    let (mut script, _) = Script::start(plan("a"), queue(2));
    assert_eq!(propose(&mut script, "a", "c"), "refused: this run takes no tasks from agents");
}

#[test]
fn a_person_is_asked_before_a_follow_up_is_done() {
    let (mut script, _) = with_follow_ups("a", 5, false);
    assert_eq!(propose(&mut script, "a", "b; c <- b; d <- a"), "");
    assert_eq!(script.ok("a"), "done a", "nothing of it starts, and the run does not end");
    assert_eq!(approve(&mut script, "c", true), "");
    assert_eq!(approve(&mut script, "b", false), "cancelled b, skip c (by b)");
    assert_eq!(approve(&mut script, "d", true), "start d");
    let (mut script, told) = script.crash(queue(2));
    assert_eq!(told, "interrupted d, start d#2");
    assert_eq!(script.ok("d"), "done d, finished (Cancelled)");
}

#[test]
fn what_it_would_have_built_on_may_fail_before_it_is_allowed() {
    let (mut script, _) = with_follow_ups("a; x", 5, false);
    propose(&mut script, "x", "b <- a");
    script.fail("a");
    assert_eq!(approve(&mut script, "b", true), "skip b (by a)");
}
