//! Caps: told when they are near, held over everything a task is tried with, and what becomes of those at work.

use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

use super::slices::{Slice, slices};
use super::*;
use crate::plan::OnBudget;
use crate::run::event::{Capped, ModelUsage, Planning};

fn prompts(names: &str) -> Plan {
    let mut plan = plan(names);
    for task in &mut plan.tasks {
        task.work = Work::Prompt(task.id.to_string());
    }
    plan
}

/// What was told to be near, as often as it was.
fn neared(log: &[Record]) -> Vec<String> {
    let told = |record: &Record| match &record.event {
        Event::BudgetNeared { task, what, used, cap } => {
            let who = task.as_ref().map_or("run", TaskId::as_str);
            Some(format!("{who} {what:?} {used}/{cap}"))
        }
        _ => None,
    };
    log.iter().filter_map(told).collect()
}

#[test]
fn a_cap_that_is_near_is_told_once_and_a_resume_does_not_repeat_it() {
    let mut plan = prompts("a; b");
    plan.tasks[0].max_cost = Some(Usd(1_000_000));
    plan.tasks[0].max_turns = Some(5);
    let mut options = queue(2);
    options.limits.max_cost = Some(Usd(2_000_000));
    let (mut s, _) = Script::start(plan, options.clone());
    s.use_up("a", 0.79);
    assert_eq!(neared(&s.log), Vec::<String>::new());
    s.use_up("a", 0.01);
    s.use_up("a", 0.01);
    assert_eq!(neared(&s.log), ["a Cost 800000/1000000"]);
    s.use_up("a", 0.01);
    s.use_up("b", 0.9);
    let all = ["a Cost 800000/1000000", "a Turns 4/5", "run Cost 1720000/2000000"];
    assert_eq!(neared(&s.log), all);
    let (mut s, _) = s.crash(options.clone());
    s.use_up("b", 0.1);
    assert_eq!(neared(&s.log), all, "not again");
    // A cap that was raised is another one.
    options.limits.max_cost = Some(Usd(2_200_000));
    let (mut s, _) = s.crash(options);
    s.use_up("b", 0.01);
    assert_eq!(neared(&s.log).last().unwrap(), "run Cost 1830000/2200000");
}

/// What each may use while no coordinator counts: of the run and of its task, less what earlier attempts have used.
#[test]
fn slices_are_cut_from_what_the_run_and_the_task_have_left() {
    let mut plan = prompts("a; b; c");
    plan.tasks[1].max_cost = Some(Usd(200_000));
    let mut options = queue(3);
    options.limits.max_cost = Some(Usd(1_000_000));
    let (mut s, _) = Script::start(plan, options);
    s.use_up("a", 0.1);
    s.use_up("c", 0.3);
    let run = s.scheduler.run();
    let cut = slices(run, &[(0, Slice::NOTHING), (1, Slice::NOTHING)]);
    let used = |cost| Usage { cost: Usd(cost), tokens: 5, turns: 9, ..Usage::default() };
    let reached = |at: usize, cost| cut[at].unwrap().is_used_up(&used(cost));
    assert!(!reached(0, 399_999) && reached(0, 400_000), "what it used and half of what is left");
    assert!(!reached(1, 199_999) && reached(1, 200_000), "its own cap is less than that half");
    let held: Vec<(usize, Slice)> =
        cut.iter().enumerate().map(|(place, cut)| (place, cut.unwrap())).collect();
    assert_eq!(slices(run, &held), [None, None], "they hold that already");
    s.use_up("a", 0.001);
    assert_eq!(slices(s.scheduler.run(), &held), [None, None], "that is not worth a word");
    s.use_up("a", 0.2);
    let cut = slices(s.scheduler.run(), &held);
    assert!(
        cut[0].is_none() && cut[1].is_some(),
        "the second gives back before the first gets more: {cut:?}"
    );
}

/// What was spent on the plan counts like what tasks spend, also for the coordinator that resumes the run.
#[test]
fn what_planning_used_counts_towards_the_caps_of_the_run() {
    let planned = |cost: f64| {
        let (mut run, created) = Run::create(prompts("a; b"), now(0));
        let usage = Usage { cost: Usd::from_dollars(cost), tokens: 10, turns: 1, ..Usage::default() };
        let usage = vec![ModelUsage { model: Some("opus".into()), usage }];
        let planning = Planning {
            plan: "p".into(),
            agent: "claude".into(),
            at: now(0).at,
            usage,
            analysed_in: Millis(0),
            planned_in: Millis(0),
        };
        let event = Event::PlanningAccounted { planning: Box::new(planning) };
        let record = Record { seq: 2, at: now(0).at, tick: now(0).tick, event };
        run.apply(&record).unwrap();
        let mut options = queue(1);
        options.limits.max_cost = Some(Usd::from_dollars(1.0));
        let (scheduler, decision) = Scheduler::start(run, options, now(0)).unwrap();
        let log = vec![created, record];
        let mut script = Script { scheduler, log, actions: Vec::new(), secs: 0 };
        let told = script.told(decision);
        (script, told)
    };
    assert_eq!(planned(1.0).1, "drain (Budget), stopped (Budget)", "nothing is left for tasks");
    let (mut s, told) = planned(0.7);
    assert_eq!(told, "start a");
    assert_eq!(s.use_up("a", 0.3), "drain (Budget), stop a (Interrupted)");
    let run = Run::replay(&s.log).unwrap();
    assert_eq!(run.spent().cost, Usd::from_dollars(1.0));
    assert_eq!(run.planning()[0].total().cost, Usd::from_dollars(0.7));
    assert_eq!(run.models()["opus"].tokens, 10);
    let tasks: u64 = run.tasks().map(|(_, progress)| progress.usage.cost.0).sum();
    assert_eq!(tasks, Usd::from_dollars(0.3).0, "it is no task's");
}

fn capped(dollars: f64) -> Request {
    Request::SetCaps([(Capped::Cost, Usd::from_dollars(dollars).0)].into())
}

#[test]
fn a_run_that_is_being_left_for_its_cost_goes_on_when_the_cap_is_raised() {
    let mut options = queue(1);
    options.limits.max_cost = Some(Usd::from_dollars(1.0));
    options.limits.on_budget = OnBudget::Finish;
    let (mut s, _) = Script::start(prompts("a; b; c"), options);
    assert_eq!(s.use_up("a", 1.2), "drain (Budget)");
    assert_eq!(s.ask(capped(1.2)), "", "all of it is used up");
    assert_eq!(s.ask(capped(2.0)), "lifted");
    assert_eq!(s.ok("a"), "done a, start b");
    assert_eq!(s.ask(capped(1.0)), "drain (Budget)", "less than is spent");
    assert_eq!(s.ok("b"), "done b, stopped (Budget)");
    let refused = s.ask(capped(9.0));
    assert_eq!(refused, "refused: the run is over", "its coordinator leaves in this moment");
    // The next coordinator has it from the log.
    let run = Run::replay(&s.log).unwrap();
    let mut raised = run.clone();
    apply(&mut raised, &Scheduler::ask_left(&run, capped(5.0), now(1)).unwrap());
    let options = raised.options().clone();
    assert_eq!(options.limits.max_cost, Some(Usd::from_dollars(5.0)));
    let (_, decision) = Scheduler::start(raised, options, now(1)).unwrap();
    assert!(matches!(&decision.actions[..], [Action::Start { task, .. }] if *task == id("c")));
}

#[test]
fn what_was_stopped_for_a_cap_is_done_again_when_it_is_raised() {
    let mut options = queue(1);
    options.limits.max_cost = Some(Usd::from_dollars(1.0));
    let (mut s, _) = Script::start(prompts("a; b"), options);
    assert_eq!(s.use_up("a", 1.0), "drain (Budget), stop a (Interrupted)");
    assert_eq!(s.ask(capped(2.0)), "lifted");
    assert_eq!(s.ended("a", Outcome::Interrupted), "interrupted a, start a#2");
}

#[test]
fn more_time_moves_the_deadline_and_less_brings_it_on() {
    let mut options = queue(1);
    options.limits.max_time = Some(Millis::from_secs(100));
    let (mut s, _) = Script::start(plan("a; b"), options);
    assert_eq!(s.wait(50), "");
    let time = |secs: u64| Request::SetCaps([(Capped::Time, secs * 1000)].into());
    assert_eq!(s.ask(time(200)), "");
    assert_eq!(s.wait(100), "", "150 of 200 seconds");
    assert_eq!(s.ask(time(120)), "");
    assert_eq!(s.wait(0), "drain (Budget), stop a (Interrupted)");
    assert_eq!(s.ask(time(150)), "", "150 of 150 seconds");
    assert_eq!(s.ask(time(400)), "lifted");
    assert_eq!(s.ended("a", Outcome::Interrupted), "interrupted a, start a#2");
}

#[test]
fn caps_that_make_no_sense_are_refused_and_change_nothing() {
    let (mut s, _) = Script::start(prompts("a"), queue(1));
    let (before, of) =
        (s.scheduler.run().seq(), |what| Request::SetCaps([(what, 7), (Capped::Cost, 7)].into()));
    assert_eq!(s.ask(of(Capped::Turns)), "refused: a run has no cap on turns; a task has one");
    let none = Request::SetCaps([(Capped::Tokens, 0), (Capped::Cost, 7)].into());
    assert_eq!(s.ask(none), "refused: a cap is more than 0");
    assert_eq!(s.scheduler.run().seq(), before);
}

#[test]
fn who_is_at_work_may_finish_where_that_is_wanted() {
    let mut options = queue(2);
    options.limits.max_cost = Some(Usd::from_dollars(1.0));
    options.limits.on_budget = OnBudget::Finish;
    let (mut s, _) = Script::start(prompts("a; b; c"), options);
    assert_eq!(s.use_up("a", 1.2), "drain (Budget)");
    assert_eq!(s.use_up("b", 0.2), "");
    assert_eq!(s.ok("a"), "done a");
    assert_eq!(s.ok("b"), "done b, stopped (Budget)");
}

#[test]
fn a_task_that_has_used_up_its_own_is_not_begun_again() {
    let mut plan = prompts("a; b");
    plan.tasks[0].max_cost = Some(Usd::from_dollars(1.0));
    let (mut s, _) = Script::start(plan, queue(1));
    s.use_up("a", 1.1);
    // It was stopped, but its coordinator died before it had ended.
    let (mut s, told) = s.crash(queue(1));
    assert_eq!(told, "failed a (Budget), start b");
    assert_eq!(s.ok("b"), "done b, finished (Failed)");
    // Nor where the user asks for it: the cap is what it was.
    let run = Run::replay(&s.log).unwrap();
    let (_, decision) =
        Scheduler::take_up(run, queue(1), now(9), ResumeState { reopen: true, ..ResumeState::default() })
            .unwrap();
    let told: Vec<String> = decision.records.iter().filter_map(|record| tell(&record.event)).collect();
    assert_eq!(told, ["reopen a", "failed a (Budget)", "finished (Failed)"]);
}

#[test]
fn what_was_spent_after_the_coordinator_died_counts_before_anything_starts() {
    let spent =
        |dollars: f64| Usage { cost: Usd::from_dollars(dollars), tokens: 10, turns: 1, ..Usage::default() };
    let taken_up = |task_cap: Option<f64>| {
        let mut plan = prompts("a; b");
        plan.tasks[0].max_cost = task_cap.map(Usd::from_dollars);
        let mut options = queue(1);
        options.limits.max_cost = Some(Usd::from_dollars(1.0));
        let (mut s, _) = Script::start(plan, options.clone());
        s.use_up("a", 0.3);
        let run = Run::replay(&s.log).unwrap();
        assert_eq!(run.used_in_attempt(0), [ModelUsage { model: None, usage: run.spent() }]);
        let task = run.plan().tasks[0].id.clone();
        let (dead, stale) = (Attempt(1), Attempt(7));
        let left =
            |attempt, dollars| LeftUsage { task: task.clone(), attempt, usage: spent(dollars), model: None };
        let used = if task_cap.is_some() { 0.3 } else { 0.8 };
        let used = vec![left(dead, used), left(stale, 5.0)];
        let (scheduler, decision) =
            Scheduler::take_up(run, options, now(9), ResumeState { used, ..ResumeState::default() }).unwrap();
        assert_eq!(scheduler.run().used_in_attempt(0), [], "the attempt is over");
        let told: Vec<String> = decision.records.iter().filter_map(|record| tell(&record.event)).collect();
        (scheduler.run().spent().cost, told.join(", "))
    };
    assert_eq!(
        taken_up(None),
        (Usd::from_dollars(1.1), "interrupted a, drain (Budget), stopped (Budget)".to_owned())
    );
    assert_eq!(
        taken_up(Some(0.5)),
        (Usd::from_dollars(0.6), "interrupted a, failed a (Budget), start b".to_owned())
    );
}

const MOST: u64 = 9;
const CAP: u64 = 30;

#[derive(Debug, Clone)]
enum Step {
    Use(usize, u64),
    End(usize, Option<FailureClass>),
    Leave(usize),
    Merge(bool),
    Wait,
    Park,
    /// The run is left while this task's last report is still under way, and taken up again.
    Left(usize, u64),
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    use FailureClass as C;
    let classes = [C::Exit, C::NoChanges, C::Overloaded, C::Unauthorized, C::Unfinished, C::Unverified];
    prop_oneof![
        8 => (0..3usize, 1..=MOST).prop_map(|(task, cost)| Step::Use(task, cost)),
        3 => (0..3usize, prop::option::of(prop::sample::select(classes.to_vec()))).prop_map(|(t, c)| Step::End(t, c)),
        2 => (0..3usize).prop_map(Step::Leave),
        2 => any::<bool>().prop_map(Step::Merge),
        3 => Just(Step::Wait),
        1 => Just(Step::Park),
        2 => (0..3usize, 1..=MOST).prop_map(|(task, cost)| Step::Left(task, cost)),
        1 => Just(Step::Crash),
    ]
}

fn report(s: &mut Script, task: &str, cost: u64) {
    let (usage, attempt) = (Usage { cost: Usd(cost), turns: 1, ..Usage::default() }, s.attempt_of(task));
    s.input(Input::UsageReported {
        task: id(task),
        attempt,
        usage,
        model: None,
        taken_back: Usage::default(),
    });
}

/// Whose work is to be merged now, if that was asked for last.
fn asked_to_merge(s: &Script) -> Option<String> {
    s.actions.iter().find_map(|action| match action {
        Action::Integrate { cars } => {
            Some(cars.iter().map(|car| car.task.to_string()).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// All attempts at a task together, by any of its agents, use at most its cap and one report; an agent
    /// that is told to stop makes no further one.
    #[test]
    fn a_tasks_lineage_stays_within_its_cap_and_one_report(steps in prop::collection::vec(step(), 1..120)) {
        let mut plan = prompts("a; b; c");
        for task in &mut plan.tasks {
            task.max_cost = Some(Usd(CAP));
            task.fallback_agents = vec!["codex".into(), "gemini".into()];
            task.retry = RetryPolicy { max_attempts: 10, ..RetryPolicy::default() };
            task.fix_rounds = 9;
        }
        let names = ["a", "b", "c"];
        let (mut s, _) = Script::start(plan, queue(2));
        let mut started_over_budget = Vec::new();
        let mut merging: Option<String> = asked_to_merge(&s);
        for step in steps {
            let running = |s: &Script, task: usize| match &s.scheduler.run().progress(task).state {
                TaskState::Running(running) if !running.ended => Some(running.stopping),
                _ => None,
            };
            let before = s.log.len();
            match step {
                Step::Use(task, cost) if running(&s, task) == Some(None) => {
                    report(&mut s, names[task], cost);
                }
                Step::End(task, class) if running(&s, task).is_some() => {
                    s.ended(names[task], class.map_or(Outcome::Succeeded, |class| Outcome::Failed(Failure::new(class, "no"))));
                }
                Step::Leave(task) if running(&s, task).is_some() => drop(s.left(names[task])),
                Step::Merge(fits) => {
                    if let Some(waiting) = merging.take() {
                        match fits {
                            true => {
                                s.merged(&waiting, "");
                                s.moved(waiting.split(' ').next_back().unwrap_or_default(), true);
                            }
                            false => drop(s.merged("", &waiting)),
                        }
                    }
                }
                Step::Wait => drop(s.wait(60)),
                Step::Park => drop(s.input(Input::ProviderParked { agent: "claude".into(), until: Timestamp((s.secs as i64 + 90) * 1000) })),
                Step::Left(task, cost) => {
                    let was_at_work = running(&s, task) == Some(None);
                    s.ask(Request::Stop);
                    if was_at_work {
                        report(&mut s, names[task], cost);
                    }
                    merging = None;
                    s = s.crash(queue(2)).0;
                }
                Step::Crash => {
                    merging = None;
                    s = s.crash(queue(2)).0;
                }
                _ => continue,
            }
            merging = asked_to_merge(&s).or(merging);
            for record in &s.log[before..] {
                if let Event::AttemptStarted { task, .. } = &record.event {
                    let place = s.scheduler.run().place(task).unwrap();
                    let used = s.log[..before].iter().filter_map(|record| match &record.event {
                        Event::UsageReported { task: of, usage, .. } if of == task => Some(usage.cost.0),
                        _ => None,
                    }).sum::<u64>();
                    if used >= CAP {
                        started_over_budget.push(place);
                    }
                }
            }
            for (task, progress) in s.scheduler.run().tasks() {
                prop_assert!(progress.usage.cost.0 < CAP + MOST, "{} used {}", task.id, progress.usage.cost.0);
            }
        }
        prop_assert!(started_over_budget.is_empty());
    }

    /// Near is 80 %, whatever the numbers.
    #[test]
    fn near_is_four_fifths(used in 0..2_000_000u64, cap in 1..1_000_000u64) {
        let mut plan = prompts("a");
        plan.tasks[0].max_tokens = Some(cap);
        let (mut s, _) = Script::start(plan, queue(1));
        let (usage, attempt) = (Usage { tokens: used, ..Usage::default() }, s.attempt_of("a"));
        s.input(Input::UsageReported { task: id("a"), attempt, usage, model: None, taken_back: Usage::default() });
        let told = s.log.iter().any(|record| matches!(record.event, Event::BudgetNeared { what: Capped::Tokens, .. }));
        prop_assert_eq!(told, used as f64 / cap as f64 >= 0.8);
    }
}

/// What was feared of a call under way may turn out to be less; the cap it was held against is named all the same.
#[test]
fn a_cap_that_was_reached_by_an_estimate_is_named() {
    let mut plan = prompts("a");
    plan.tasks[0].max_tokens = Some(50_000);
    plan.tasks[0].retry.max_attempts = 1;
    let (mut s, _) = Script::start(plan, queue(1));
    let attempt = s.attempt_of("a");
    let report = |usage: Usage, taken_back: Usage| Input::UsageReported {
        task: id("a"),
        attempt,
        usage,
        model: None,
        taken_back,
    };
    let tokens = |tokens| Usage { tokens, ..Usage::default() };
    assert!(s.scheduler.is_capped(&id("a")));
    assert_eq!(s.input(report(tokens(60_000), Usage::default())), "stop a (Budget)");
    s.input(report(Usage::default(), tokens(30_000)));
    s.ended("a", Outcome::Interrupted);
    let TaskState::Failed(failure) = &s.scheduler.run().progress(0).state else { panic!("it failed") };
    assert_eq!(failure.message, "reached max_tokens 50000, by an estimate from above");
}
