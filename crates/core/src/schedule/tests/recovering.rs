//! Ways out of failures: each of them, in lists, and what is recorded of it.

use super::*;
use crate::plan::recovery::{Nature, Pattern, Recovery, Strategy};
use crate::plan::{Isolation, OnConflict};
use crate::run::event::{Answerer, Capped};
use Strategy::{Alternative, Ask, Escalate, Fail, Retry, Rollback, Skip};

/// As `plan`, with these ways out of ambiguous failures, and two tries.
fn ways(text: &str, ambiguous: &[Strategy]) -> Plan {
    let mut plan = plan(text);
    for task in &mut plan.tasks {
        task.retry = RetryPolicy { max_attempts: 2, ..RetryPolicy::default() };
        task.recovery = Some(Box::new(Recovery { ambiguous: ambiguous.to_vec(), ..Recovery::default() }));
    }
    plan
}

fn answer(task: &str, allow: bool) -> Request {
    Request::Answer { task: id(task), answer: Answer { allow, words: None, by: Answerer::Person } }
}

impl Script {
    fn decided(&self) -> Vec<String> {
        let decisions = self.scheduler.run().decisions().iter();
        decisions
            .map(|one| format!("{}#{} {}: {}", one.task, one.attempt, one.strategy.name(), one.words()))
            .collect()
    }

    fn says(&mut self, task: &str, class: FailureClass, words: &str) -> String {
        self.ended(task, Outcome::Failed(Failure::new(class, words)))
    }
}

#[test]
fn every_failure_is_decided_with_its_reason_right_before_what_follows() {
    let mut plan = plan("a; b");
    plan.tasks[0].retry.max_attempts = 2;
    let (mut s, _) = Script::start(plan, queue(2));
    assert_eq!(s.says("a", FailureClass::Exit, "connection reset by peer"), "retry a in 5.0s");
    let kinds: Vec<bool> =
        s.log.iter().map(|one| matches!(one.event, Event::RecoveryDecided { .. })).collect();
    assert!(kinds[kinds.len() - 2], "before the retry");
    s.wait(5);
    s.says("a", FailureClass::Exit, "exit code 1");
    assert_eq!(s.says("b", FailureClass::Exit, "exit code 127"), "failed b (Exit), finished (Failed)");
    assert_eq!(
        s.decided(),
        [
            "a#1 retry: transient: it says \"connection reset\"; try 2 of 2",
            "a#2 fail: ambiguous: nothing tells whether it would pass; none of its 2 tries is left",
            "b#1 fail: permanent: it says \"exit code 127\"",
        ]
    );
    assert_eq!(Run::replay(&s.log).unwrap().decisions(), s.scheduler.run().decisions());
}

#[test]
fn a_command_that_cannot_succeed_is_not_tried_in_vain_unless_that_is_wanted() {
    let mut plan = plan("a; b; c");
    for task in &mut plan.tasks {
        task.retry.max_attempts = 3;
    }
    plan.tasks[1].recovery = Some(Box::new(Recovery { permanent: vec![Retry], ..Recovery::default() }));
    let patterns = vec![Pattern { words: "127".into(), nature: Nature::Transient }];
    plan.tasks[2].recovery = Some(Box::new(Recovery { patterns, ..Recovery::default() }));
    let (mut s, _) = Script::start(plan, queue(3));
    assert_eq!(s.says("a", FailureClass::Exit, "exit code 127"), "failed a (Exit)");
    assert_eq!(s.says("b", FailureClass::Exit, "exit code 127"), "retry b in 5.0s");
    assert_eq!(s.says("c", FailureClass::Exit, "exit code 127"), "retry c in 5.0s");
}

#[test]
fn ways_are_tried_in_order_and_never_more_than_the_policy_grants() {
    let (mut s, _) = Script::start(ways("a", &[Retry, Rollback, Skip]), queue(1));
    assert_eq!(s.fail("a"), "retry a in 5.0s");
    assert_eq!(s.wait(5), "start a#2");
    assert_eq!(s.fail("a"), "skip a, finished (Failed)", "a rollback is a try, and none is left");
    let reason = "a#2 skip: ambiguous: nothing tells whether it would pass; none of its 2 tries is left; none of its 2 \
                  tries is left; the run goes on without it";
    assert_eq!(s.decided()[1], reason);
}

#[test]
fn who_is_skipped_takes_its_dependents_along_and_nothing_is_pretended() {
    let (mut s, _) = Script::start(ways("a; b <- a; c <- a~", &[Skip]), queue(1));
    assert_eq!(s.fail("a"), "skip a, skip b (by a), start c");
    assert_eq!(s.ok("c"), "done c, finished (Failed)");
}

#[test]
fn a_rollback_forgets_the_conversation_and_the_answers_and_is_a_try() {
    let mut plan = ways("a", &[Rollback]);
    plan.tasks[0].work = Work::Prompt("x".into());
    let (mut s, _) = Script::start(plan.clone(), queue(1));
    let attempt = s.attempt_of("a");
    s.input(Input::SessionStarted { task: id("a"), attempt, session: "s1".into() });
    let question = Question { tool: "Bash".into(), what: "make".into(), why: String::new() };
    let change = Some(Box::new(Change::new("base", "half")));
    let outcome = Outcome::Asked(Box::new(question));
    s.input(Input::AttemptEnded { task: id("a"), attempt, outcome, change, phases: None });
    s.ask(answer("a", true));
    assert_eq!(s.fail("a"), "back a, start a#3", "at once");
    assert!(matches!(&s.actions[..], [Action::Start { start_from: None, .. }]), "{:?}", s.actions);
    assert_eq!(s.fail("a"), "failed a (Exit), finished (Failed)");
    plan.tasks[0].isolation = Some(Isolation::None);
    let (mut s, _) = Script::start(plan, queue(1));
    assert_eq!(s.fail("a"), "failed a (Exit), finished (Failed)");
    assert!(
        s.decided()[0].ends_with("it works in place, where nothing can be set back"),
        "{:?}",
        s.decided()
    );
}

#[test]
fn a_person_is_asked_and_the_slot_is_free_meanwhile() {
    let (mut s, _) = Script::start(ways("a; b", &[Ask]), queue(1));
    assert_eq!(s.fail("a"), "asked a, start b");
    assert_eq!(s.ok("b"), "done b");
    let (mut s, told) = s.crash(queue(1));
    assert_eq!(told, "");
    assert_eq!(s.ask(answer("a", true)), "start a#2");
    assert!(
        matches!(&s.actions[..], [Action::Start { start_from: None, .. }]),
        "the answer is not the agent's"
    );
    assert_eq!(s.fail("a"), "asked a", "as often as a person wants it");
    assert_eq!(s.ask(answer("a", true)), "start a#3");
    s.fail("a");
    assert_eq!(s.ask(answer("a", false)), "failed a (Exit), finished (Failed)");
}

#[test]
fn no_answer_is_a_no_and_a_no_without_a_coordinator_is_the_end() {
    let options = Options { answer_within: Some(Millis::from_secs(60)), ..queue(1) };
    let (mut s, _) = Script::start(ways("a", &[Ask]), options);
    s.fail("a");
    assert_eq!(s.wait(60), "failed a (Exit), finished (Failed)");
    let options = Options { leave_unanswered: true, ..queue(1) };
    let (mut s, _) = Script::start(ways("a; b <- a", &[Ask]), options.clone());
    assert_eq!(s.says("a", FailureClass::TimedOut, "too long"), "asked a, stopped (Person)");
    let no = Answer { allow: false, words: None, by: Answerer::Person };
    for event in crate::schedule::amend::answered(s.scheduler.run(), &id("a"), no).unwrap() {
        let seq = s.log.len() as u64 + 1;
        s.log.push(Record { seq, at: Timestamp(0), tick: Tick(0), event });
    }
    let (s, told) = s.crash(options);
    assert_eq!(told, "skip b (by a), finished (Failed)");
    let TaskState::Failed(failure) = &s.scheduler.run().progress(0).state else { panic!() };
    assert_eq!((failure.class, failure.message.as_str()), (FailureClass::TimedOut, "too long"));
}

#[test]
fn an_escalation_holds_everything_up_until_it_is_answered() {
    let (mut s, _) = Script::start(ways("a; b; c", &[Escalate]), queue(2));
    assert_eq!(s.fail("a"), "asked a, paused for a");
    assert_eq!(s.fail("b"), "asked b", "it is paused already");
    let (mut s, told) = s.crash(queue(2));
    assert_eq!(told, "paused for b");
    assert_eq!(s.ask(answer("a", true)), "", "another is open");
    assert_eq!(s.ask(answer("b", false)), "failed b (Exit), start a#2, start c");
    assert_eq!(s.fail("a"), "asked a, paused for a");
    assert_eq!(s.ok("c"), "done c");
    assert_eq!(s.ask(Request::Cancel(id("a"))), "cancelled a, finished (Failed)");
}

#[test]
fn a_persons_own_pause_stays() {
    let (mut s, _) = Script::start(ways("a; b; c", &[Escalate]), queue(2));
    s.ask(Request::Pause);
    assert_eq!(s.fail("a"), "asked a");
    assert_eq!(s.ask(answer("a", true)), "");
    assert_eq!(s.ask(Request::Continue), "start a#2");
    s.fail("a");
    s.ask(Request::Pause);
    assert_eq!(s.ask(answer("a", true)), "", "it was wanted meanwhile");
    let options = Options { leave_unanswered: true, ..queue(1) };
    let (mut s, _) = Script::start(ways("a; b", &[Escalate]), options);
    assert_eq!(s.fail("a"), "asked a, paused for a, stopped (Person)", "nothing else may go on");
}

#[test]
fn alternatives_are_other_agents_and_a_retry_is_the_same() {
    let prompts = |natures: Recovery| {
        let mut task = Task::new(id("a"), Work::Prompt("x".into()));
        (task.agent, task.fallback_agents) = (Some("one".into()), vec!["two".into()]);
        task.recovery = Some(Box::new(natures));
        Plan { tasks: vec![task], ..Plan::default() }
    };
    let choice = |s: &Script| s.scheduler.run().agent_choice(0).unwrap().agent.clone();
    let own =
        Recovery { ambiguous: vec![Alternative, Retry], transient: vec![Retry, Fail], ..Recovery::default() };
    let (mut s, _) = Script::start(prompts(own.clone()), queue(1));
    assert_eq!(s.fail("a"), "other a, start a#2", "bad work too, where it says so");
    assert_eq!(choice(&s), "two");
    assert_eq!(s.fail("a"), "retry a in 5.0s");
    let (mut s, _) = Script::start(prompts(own), queue(1));
    assert_eq!(s.says("a", FailureClass::Overloaded, "no"), "retry a in 5.0s");
    let (mut s, _) = s.crash(queue(1));
    assert_eq!(s.wait(5), "start a#2");
    assert_eq!(choice(&s), "one", "it is to try again itself");
    let (mut s, _) =
        Script::start(prompts(Recovery { permanent: vec![Skip], ..Recovery::default() }), queue(1));
    assert_eq!(s.says("a", FailureClass::Billing, "no"), "skip a, finished (Failed)");
}

#[test]
fn a_stand_in_for_an_agent_that_is_not_there_is_decided_once() {
    let mut task = Task::new(id("a"), Work::Prompt("x".into()));
    (task.agent, task.fallback_agents) = (Some("one".into()), vec!["two".into()]);
    let plan = Plan { tasks: vec![task], ..Plan::default() };
    let mut options = queue(1);
    options.absent.insert("one".into());
    let (mut s, _) = Script::start(plan.clone(), options);
    assert_eq!(s.decided(), ["a#1 alternative: permanent: one is not installed; two does it"]);
    s.fail("a");
    s.wait(5);
    assert_eq!(s.decided().len(), 2, "the second is about the failure: {:?}", s.decided());
    let (mut s, _) = Script::start(plan, queue(1));
    s.input(Input::ProviderParked { agent: "one".into(), until: Timestamp(100_000) });
    s.ended("a", Outcome::Interrupted);
    assert_eq!(s.decided(), ["a#2 alternative: transient: one takes nothing more for now; two does it"]);
}

#[test]
fn what_does_not_merge_is_decided_too() {
    let mut plan = ways("a; b", &[Skip]);
    plan.tasks[0].fix_rounds = 1;
    plan.tasks[1].on_conflict = OnConflict::RetryLater;
    let (mut s, _) = Script::start(plan, queue(2));
    s.left("a");
    s.merged("", "a");
    s.left("a");
    assert_eq!(s.merged("", "a"), "unmerged a, skip a");
    s.left("b");
    s.merged("", "b");
    assert_eq!(
        s.decided(),
        [
            "a#1 mend: ambiguous: its work does not merge; it goes back to be mended, round 1 of 1",
            "a#2 skip: ambiguous: its work does not merge; the run goes on without it",
            "b#1 rollback: ambiguous: its work does not merge; it is done anew from where the branch is, 1 of 3",
        ]
    );
}

#[test]
fn risky_work_is_made_safe_before_its_first_attempt_and_not_again() {
    let mut plan = ways("a; b", &[Retry]);
    plan.tasks[0].work = Work::Run(Command::Line("git push origin main".into()));
    let secure = |s: &Script| match s.actions.first() {
        Some(Action::Start { task, start_from, .. }) if *task == id("a") => {
            start_from.as_ref().and_then(|start_from| start_from.secure.clone())
        }
        _ => None,
    };
    let (s, _) = Script::start(plan, queue(2));
    assert_eq!(secure(&s).as_deref(), Some("push (git push origin main)"));
    let (mut s, _) = s.crash(queue(2));
    assert!(secure(&s).is_some(), "no report says that it was made");
    let attempt = s.attempt_of("a");
    let made = |attempt| Input::CheckpointMade {
        task: id("a"),
        attempt,
        commit: "c0".into(),
        name: "n".into(),
        reason: "push".into(),
    };
    assert_eq!(s.input(made(Attempt(1))), "", "of an attempt that is over");
    assert_eq!(s.input(made(attempt)), "secured a");
    assert_eq!(s.fail("a"), "retry a in 5.0s");
    assert_eq!(s.wait(5), "start a#3");
    assert_eq!(secure(&s), None, "once is enough");
    assert_eq!(s.scheduler.run().secured().len(), 1);
    s.fail("a");
    s.ask(Request::Retry(id("a")));
    assert!(secure(&s).is_some(), "the branch may be elsewhere by now");
}

fn near(s: &Script) -> Vec<(Option<TaskId>, Capped, u64, u64)> {
    let near = |record: &Record| match &record.event {
        Event::BudgetNeared { task, what, used, cap } => Some((task.clone(), *what, *used, *cap)),
        _ => None,
    };
    s.log.iter().filter_map(near).collect()
}

#[test]
fn time_that_is_nearly_used_up_is_told_once() {
    let mut plan = plan("a; b");
    plan.tasks[0].timeout = Some(Millis::from_secs(100));
    plan.tasks[0].retry.max_attempts = 2;
    let mut options = queue(1);
    options.limits.max_time = Some(Millis::from_secs(1000));
    let (mut s, _) = Script::start(plan, options.clone());
    assert_eq!(s.scheduler.next_deadline(), Some(Tick(80_000)));
    s.wait(79);
    assert_eq!(near(&s), []);
    s.wait(1);
    assert_eq!(near(&s), [(Some(id("a")), Capped::Time, 80_000, 100_000)]);
    assert_eq!(s.wait(20), "stop a (TimedOut)", "and the deadline stands");
    s.ended("a", Outcome::Cancelled);
    let (mut s, _) = s.crash(options);
    s.wait(5);
    s.wait(90);
    assert_eq!(near(&s).len(), 1, "once for each cap");
    s.ok("a");
    s.wait(505);
    assert_eq!(near(&s)[1], (None, Capped::Time, 800_000, 1_000_000));
    assert_eq!(s.wait(200), "drain (Budget), stop b (Interrupted)");
}

/// Others may join a run meanwhile, by which everything that is derived is made anew.
#[test]
fn a_warning_outlives_what_is_made_anew() {
    let mut plan = plan("a; b");
    plan.tasks[0].timeout = Some(Millis::from_secs(100));
    let (mut s, _) = Script::start(plan, queue(1));
    s.wait(50);
    s.scheduler.rebuild(now(50));
    assert_eq!(s.scheduler.next_deadline(), Some(Tick(80_000)));
    s.wait(30);
    s.scheduler.rebuild(now(80));
    assert_eq!((near(&s).len(), s.scheduler.next_deadline()), (1, Some(Tick(100_000))));
}

#[test]
fn attempts_that_are_nearly_used_up_are_told_once() {
    let mut options = queue(1);
    options.limits.max_attempts = Some(5);
    let (mut s, _) = Script::start(plan("a; b; c; d; e; f"), options);
    for task in ["a", "b", "c"] {
        s.ok(task);
    }
    assert_eq!(near(&s), []);
    s.ok("d");
    assert_eq!(near(&s), [(None, Capped::Attempts, 4, 5)]);
    assert_eq!(s.ok("e"), "done e, drain (Budget), stopped (Budget)");
    assert_eq!(near(&s).len(), 1);
}

#[test]
fn a_specialist_who_does_not_exist_is_told_once() {
    let mut task = Task::new(id("a"), Work::Prompt("x".into()));
    task.subagent_type = Some("not-known".into());
    task.fallback_agents = vec!["test-automator".into()];
    let mut plan = Plan { tasks: vec![task], ..Plan::default() };
    let known = crate::plan::subagents::Known::new(&[], &[]);
    let found = crate::plan::subagents::find(&plan.tasks[0], &known);
    crate::plan::subagents::settle(&mut plan, 0, found, &known);
    let (mut s, _) = Script::start(plan, queue(1));
    s.fail("a");
    s.wait(5);
    let reason = "a#1 alternative: permanent: there is no specialist not-known; test-automator does it";
    assert_eq!((s.decided()[0].as_str(), s.decided().len()), (reason, 2));
}

fn engaged(s: &Script) -> String {
    let choice = s.scheduler.run().agent_choice(0).unwrap();
    format!("{} {}", choice.agent, choice.model.as_deref().unwrap_or("-"))
}

#[test]
fn another_model_comes_before_another_agent_where_it_may_help() {
    let mut plan = plan("a");
    let task = &mut plan.tasks[0];
    task.work = Work::Prompt("do it".into());
    (task.agent, task.model) = (Some("claude".into()), Some("opus".into()));
    task.fallback_agents = vec!["codex".into()];
    task.preparation.get_or_insert_default().fallback_models = vec!["sonnet".into(), "haiku".into()];
    let (mut s, _) = Script::start(plan.clone(), queue(1));
    let mut seen = vec![engaged(&s)];
    for class in [FailureClass::Overloaded, FailureClass::UnknownModel, FailureClass::UnknownModel] {
        s.says("a", class, "no");
        seen.push(engaged(&s));
    }
    assert_eq!(seen, ["claude opus", "claude sonnet", "claude haiku", "codex gpt-5.6-sol"]);
    let ways: Vec<&str> = s.scheduler.run().decisions().iter().map(|one| one.strategy.name()).collect();
    assert_eq!(ways, ["alternative_model", "alternative_model", "alternative"]);
    assert_eq!(s.scheduler.run().progress(0).tried, 0, "none of that was a try");
    // What holds for every model of an agent goes to another agent at once.
    let (mut s, _) = Script::start(plan, queue(1));
    s.says("a", FailureClass::Unauthorized, "no");
    assert_eq!(engaged(&s), "codex gpt-5.6-sol");
}
