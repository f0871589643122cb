//! What agents ask of a person: the slot is free meanwhile, and nothing is forgotten.

use super::*;
use crate::plan::Permissions;
use crate::run::event::Answerer;

fn ask(s: &mut Script, task: &str) -> String {
    let question = Question { tool: "Bash".into(), what: "terraform apply".into(), why: String::new() };
    let attempt = s.attempt_of(task);
    s.input(Input::SessionStarted { task: id(task), attempt, session: "s1".into() });
    let change = Some(Box::new(Change::new("base", "half")));
    let outcome = Outcome::Asked(Box::new(question));
    s.input(Input::AttemptEnded { task: id(task), attempt, outcome, change, phases: None })
}

fn yes(task: &str) -> Request {
    let answer = Answer { allow: true, words: Some("with care".into()), by: Answerer::Person };
    Request::Answer { task: id(task), answer }
}

fn prompts(names: &str) -> Plan {
    let mut plan = plan(names);
    for task in &mut plan.tasks {
        *task = Task::new(task.id.clone(), Work::Prompt("do it".into()));
    }
    plan
}

#[test]
fn an_agent_that_asks_frees_the_slot_and_goes_on_with_the_answer_even_after_a_restart() {
    let (mut s, told) = Script::start(prompts("a; b"), queue(1));
    assert_eq!(told, "start a");
    assert_eq!(ask(&mut s, "a"), "start b");
    assert_eq!(s.ok("b"), "done b");
    assert_eq!(s.wait(100_000), "", "for ever, where no time limit is set");
    let (mut s, told) = s.crash(queue(1));
    assert_eq!(told, "");
    assert_eq!(
        s.ask(Request::Retry(id("a"))),
        "refused: task 'a' is waiting; it has asked a person, and goes on when it is answered"
    );
    assert_eq!(s.ask(yes("a")), "start a#2");
    let Some(Action::Start { start_from: Some(start_from), .. }) = s.actions.pop() else { panic!() };
    assert_eq!(start_from.session.as_deref(), Some("s1"));
    assert_eq!(start_from.round.map(|(_, round)| round.change.commit), Some("half".into()));
    assert_eq!(start_from.answers.len(), 1);
    assert!(start_from.answers[0].1.allow);
    assert_eq!(s.ask(yes("a")), "refused: task 'a' is running; it has asked nothing");
    assert_eq!(s.ok("a"), "done a, finished (Completed)");
    assert_eq!(s.scheduler.run().attempts(), 2, "a question is no attempt");
}

/// C11.
#[test]
fn without_an_answer_in_time_the_answer_is_no() {
    let mut plan = prompts("a; b");
    let rules = Permissions { answer_within: Some(Millis::from_secs(10)), ..Permissions::default() };
    plan.tasks[1].permissions = Some(Box::new(rules));
    let options = Options { answer_within: Some(Millis::from_secs(60)), ..queue(2) };
    let (mut s, _) = Script::start(plan, options.clone());
    assert_eq!((ask(&mut s, "a"), ask(&mut s, "b")), (String::new(), String::new()));
    assert_eq!(s.wait(10), "start b#2");
    let Some(Action::Start { start_from: Some(start_from), .. }) = s.actions.pop() else { panic!() };
    assert_eq!((start_from.answers[0].1.allow, start_from.answers[0].1.by), (false, Answerer::Deadline));
    s.secs += 20;
    let (mut s, told) = s.crash(options);
    assert_eq!(told, "interrupted b, start b#3");
    assert_eq!(s.scheduler.next_deadline(), Some(Tick(60_000)), "the time that has passed counts");
    assert_eq!(s.wait(30), "start a#2");
}

#[test]
fn a_run_can_be_left_with_its_questions_and_taken_up_when_they_are_answered() {
    let options = Options { leave_unanswered: true, ..queue(2) };
    let (mut s, _) = Script::start(prompts("a; b"), options.clone());
    assert_eq!(ask(&mut s, "a"), "");
    assert_eq!(s.fail("b"), "retry b in 5.0s", "another task still has something to do");
    assert_eq!(s.wait(5), "start b#2");
    assert_eq!(s.ok("b"), "done b, stopped (Person)");
    let (mut s, told) = s.crash(options);
    assert_eq!(told, "stopped (Person)", "it has no answer yet");
    let answered = crate::schedule::amend::answered(
        s.scheduler.run(),
        &id("a"),
        Answer { allow: true, words: None, by: Answerer::Person },
    );
    let seq = s.scheduler.run().seq() + 1;
    let [event] = <[Event; 1]>::try_from(answered.unwrap()).unwrap();
    s.log.push(Record { seq, at: Timestamp(0), tick: Tick(0), event });
    let (mut s, told) = s.crash(queue(2));
    assert_eq!(told, "start a#2");
    assert_eq!(s.ok("a"), "done a, finished (Completed)");
}

#[test]
fn words_for_a_task_reach_its_agents_now_and_later() {
    let (mut s, _) = Script::start(prompts("a; b"), queue(1));
    s.ask(Request::Tell { task: id("a"), words: "use tabs".into() });
    assert!(matches!(&s.actions[..], [Action::Say { words, .. }] if words == "use tabs"));
    s.ask(Request::Tell { task: id("b"), words: "use spaces".into() });
    assert!(s.actions.is_empty(), "no agent works on it yet");
    assert_eq!(s.ok("a"), "done a, start b");
    let Some(Action::Start { start_from: Some(start_from), .. }) = s.actions.pop() else { panic!() };
    assert_eq!(start_from.words, ["use spaces"]);
    assert_eq!(
        s.ask(Request::Tell { task: id("a"), words: "late".into() }),
        "refused: task 'a' is completed; only a task that has not ended takes messages"
    );
}
