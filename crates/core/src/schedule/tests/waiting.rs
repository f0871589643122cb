//! Why a task is not at work: each reason, in words.

use super::*;
use crate::plan::{Epic, Limits, Scope};

/// What keeps a task, each reason in words.
fn why(s: &Script, task: &str) -> Vec<String> {
    let place = s.scheduler.run().place(&id(task)).unwrap();
    s.scheduler.why_waiting(place, now(s.secs)).iter().map(ToString::to_string).collect()
}

fn prompts(names: &str) -> Plan {
    let mut plan = plan(names);
    for task in &mut plan.tasks {
        task.work = Work::Prompt("do it".into());
    }
    plan
}

fn epic(id: &str, on: &[&str], isolation_scope: Scope) -> Epic {
    let dependencies = on.iter().map(|&on| on.into()).collect();
    Epic {
        id: id.into(),
        name: None,
        dependencies,
        isolation_scope,
        land: None,
        epic_landing: Default::default(),
    }
}

#[test]
fn dependencies_are_named_with_what_they_do_even_through_a_gate() {
    let (s, _) = Script::start(plan("a; b; c <- a b"), queue(1));
    assert_eq!(why(&s, "c"), ["for a (running), b (pending)"]);
    assert!(why(&s, "a").is_empty(), "it is at work");
    let mut behind = plan("x1; x2; y");
    behind.tasks[0].epic = Some("x".into());
    behind.tasks[1].epic = Some("x".into());
    behind.tasks[2].epic = Some("y".into());
    let epic = |id: &str, on: &[&str]| epic(id, on, Scope::default());
    behind.epics = vec![epic("x", &[]), epic("y", &["x"])];
    let (mut s, _) = Script::start(behind, queue(2));
    assert_eq!(why(&s, "y"), ["for x1 (running), x2 (running)"]);
    s.ok("x1");
    assert_eq!(why(&s, "y"), ["for x2 (running)"]);
    s.ok("x2");
    assert!(why(&s, "y").is_empty());
}

#[test]
fn many_dependencies_are_counted() {
    let names: Vec<String> = (0..20).map(|n| format!("t{n}")).collect();
    let text = format!("{}; last <- {}", names.join("; "), names.join(" "));
    let (s, _) = Script::start(plan(&text), queue(1));
    let told = why(&s, "last");
    assert!(told[0].ends_with("and 12 more"), "{told:?}");
}

#[test]
fn slots_tell_how_many_stand_before_it() {
    let (mut s, _) = Script::start(plan("a; b; c"), queue(1));
    assert_eq!(why(&s, "b"), ["for a slot: the only one is taken; it is next"]);
    assert_eq!(why(&s, "c"), ["for a slot: the only one is taken; 1 before it"]);
    s.ask(Request::SetSlots(2));
    assert_eq!(why(&s, "c"), ["for a slot: all 2 are taken; it is next"]);
}

#[test]
fn a_group_tells_its_limit_and_who_is_in() {
    let mut plan = plan("a; b; c");
    for task in &mut plan.tasks {
        task.group = Some("g".into());
    }
    plan.groups = vec![Group { max_parallel: Some(1), ..Group::named("g") }];
    let (s, _) = Script::start(plan, queue(5));
    assert_eq!(why(&s, "b"), ["for its group g, of which 1 may run at once; a has it"]);
}

#[test]
fn an_epic_with_one_workspace_tells_who_sits_there() {
    let mut plan = plan("a; b");
    for task in &mut plan.tasks {
        task.epic = Some("e".into());
    }
    plan.epics = vec![epic("e", &[], Scope::Epic)];
    let (mut s, _) = Script::start(plan, queue(5));
    assert_eq!(why(&s, "b"), ["for the workspace of its epic e; a has it"]);
    s.left("a");
    let snapshot = s.scheduler.snapshot(now(0));
    assert_eq!(snapshot.running[0].phase, Phase::Aboard);
}

#[test]
fn a_resource_tells_what_is_left_and_no_task_is_overtaken() {
    let mut plan = plan("a; big; small");
    for (task, amount) in plan.tasks.iter_mut().zip([2, 3, 1]) {
        task.resources = [("gpu".to_owned(), amount)].into();
    }
    let limits = Limits { resources: [("gpu".to_owned(), 3)].into(), ..Limits::default() };
    let (s, _) = Script::start(plan, Options { limits, ..queue(5) });
    assert_eq!(why(&s, "big"), ["for resource gpu: it wants 3, 1 of 3 are free; a has it"]);
    assert_eq!(why(&s, "small"), ["for resource gpu: it wants 1, 1 of 3 are free; big comes first"]);
}

#[test]
fn an_agent_tells_how_many_it_does_at_once() {
    let limits = Limits { agents: [("claude".to_owned(), 1)].into(), ..Limits::default() };
    let (s, _) = Script::start(prompts("a; b"), Options { limits, ..queue(5) });
    assert_eq!(why(&s, "b"), ["for agent claude, who does 1 at once; a has it"]);
}

#[test]
fn files_tell_who_touches_them() {
    let mut plan = plan("a; b; c");
    plan.tasks[0].files = vec!["src/**".into()];
    plan.tasks[2].files = vec!["src/lib.rs".into()];
    let (mut s, _) = Script::start(plan, queue(5));
    assert_eq!(why(&s, "c"), ["for files it would touch, which a is to land first"]);
    s.left("a");
    assert_eq!(why(&s, "c"), ["for files it would touch, which a is to land first"], "until it has landed");
    s.left("b");
    let phases = s.scheduler.snapshot(now(0)).running.into_iter().map(|at_work| at_work.phase);
    assert_eq!(phases.collect::<Vec<_>>(), [Phase::Merging, Phase::Landing], "b waits for the next train");
}

#[test]
fn a_retry_tells_when() {
    let mut plan = plan("a; b");
    plan.tasks[0].retry = RetryPolicy::default();
    let (mut s, _) = Script::start(plan, queue(1));
    s.fail("a");
    s.wait(2);
    assert_eq!(why(&s, "a"), ["to be tried again in 3.0s, after 1 that failed"]);
    s.wait(3);
    assert_eq!(why(&s, "a"), ["for a slot: the only one is taken; it is next"], "its time has come");
}

#[test]
fn a_pause_is_told_with_whatever_else_keeps_it() {
    let (mut s, _) = Script::start(plan("a; b; c <- a"), queue(1));
    s.ask(Request::Pause);
    assert_eq!(why(&s, "b")[0], "because the run is paused: conductor resume");
    assert_eq!(why(&s, "c"), ["for a (running)", "because the run is paused: conductor resume"]);
    s.ok("a");
    assert_eq!(why(&s, "b"), ["because the run is paused: conductor resume"]);
}

#[test]
fn a_parked_provider_tells_for_how_long_and_then_who_tries() {
    let (mut s, _) = Script::start(prompts("a; b; c"), queue(1));
    let until = now(60).at;
    s.input(Input::ProviderParked { agent: "claude".into(), until });
    s.ended("a", Outcome::Interrupted);
    assert_eq!(why(&s, "b"), ["for agent claude, whose provider takes nothing more for 1m00s"]);
    s.secs = 20;
    assert_eq!(why(&s, "b"), ["for agent claude, whose provider takes nothing more for 40.0s"]);
    s.ask(Request::SetSlots(3));
    s.wait(41);
    assert_eq!(why(&s, "b"), ["for agent claude, whose provider is being tried by a"]);
}

#[test]
fn a_question_is_told_with_the_time_it_waits() {
    let options = Options { answer_within: Some(Millis::from_secs(600)), ..queue(1) };
    let (mut s, _) = Script::start(prompts("a; b"), options);
    let question = Question { tool: "Bash".into(), what: "terraform apply".into(), why: String::new() };
    s.ended("a", Outcome::Asked(Box::new(question)));
    assert_eq!(why(&s, "a"), ["for a person to answer: Bash: terraform apply (denied in 10m00s)"]);
    let snapshot = s.scheduler.snapshot(now(0));
    assert_eq!(snapshot.questions().collect::<Vec<_>>(), [(&id("a"), "Bash: terraform apply")]);
}

#[test]
fn a_budget_tells_which_cap() {
    let limits = Limits { max_cost: Some(Usd::from_dollars(1.0)), ..Limits::default() };
    let (mut s, _) = Script::start(prompts("a; b"), Options { limits, ..queue(1) });
    s.use_up("a", 1.5);
    let told = why(&s, "b");
    assert_eq!(told[0], "because the run's budget is reached: $1.50 of $1.00; nothing new starts");
    let limits = Limits { max_attempts: Some(1), ..Limits::default() };
    let (s, _) = Script::start(plan("a; b"), Options { limits, ..queue(5) });
    let told = why(&s, "b");
    assert_eq!(told, ["because the run's budget is reached: 1 of 1 attempt; nothing new starts"]);
}

#[test]
fn being_left_is_told() {
    let (mut s, _) = Script::start(plan("a; b"), queue(1));
    s.ask(Request::Drain);
    assert_eq!(
        why(&s, "b")[0],
        "because the run is being left, for the user asked for it; nothing new starts"
    );
}

/// A snapshot changes nothing, and a task that waits on nothing is about to start or has.
#[test]
fn a_snapshot_tells_the_whole_run() {
    let mut plan = plan("a; b; c <- b; d");
    plan.tasks[3].retry = RetryPolicy::default();
    let (mut s, _) = Script::start(plan, queue(2));
    s.fail("a");
    s.fail("d");
    s.secs = 3;
    let snapshot = s.scheduler.snapshot(now(3));
    let json = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), snapshot);
    assert_eq!((snapshot.state.as_str(), snapshot.total), ("running", 4));
    assert_eq!((snapshot.counts.running, snapshot.counts.waiting, snapshot.counts.failed), (1, 1, 1));
    assert_eq!(snapshot.running[0].since, Some(Millis(3_000)));
    assert_eq!(snapshot.failed[0].words, "exit 1");
    assert!(matches!(snapshot.waiting[0].why[..], [Wait::Retry { .. }]));
    let replayed = Snapshot::of(&Run::replay(&s.log).unwrap());
    assert_eq!((replayed.counts, replayed.seq), (snapshot.counts, snapshot.seq));
    assert_eq!(replayed.running[0].since, None, "unknown, where no coordinator drives it");
}

#[test]
fn a_group_is_cancelled_as_a_whole() {
    let mut plan = plan("a; b <- a; c; d");
    for task in &mut plan.tasks[..3] {
        task.group = Some("g".into());
    }
    let (mut s, _) = Script::start(plan, queue(1));
    assert_eq!(s.ask(Request::CancelGroup("h".into())), "refused: there is no group 'h' in this run");
    assert_eq!(s.ask(Request::CancelGroup("g".into())), "stop a (Cancelled), cancelled b, cancelled c");
    assert_eq!(s.ended("a", Outcome::Cancelled), "cancelled a, start d");
    assert_eq!(s.ask(Request::CancelGroup("g".into())), "refused: group 'g' has no task that has not ended");
}
