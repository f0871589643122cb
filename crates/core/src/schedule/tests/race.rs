//! Several race for one task.

use super::*;
use crate::plan::{Amendment, Entrant, Land, Wins};
use crate::run::event::{Answer, Answerer, Comment, Question, Touched};

/// `api`, for which two race, before `ui`.
fn raced(wins: Wins) -> Plan {
    racing("api; ui <- api", wins, 2)
}

/// Its first task is a prompt that so many race for.
fn racing(text: &str, wins: Wins, entrants: usize) -> Plan {
    let mut plan = plan(text);
    plan.tasks[0].work = Work::Prompt("do it".into());
    plan.tasks[0].retry = RetryPolicy::once();
    plan.tasks[0].fix_rounds = 0;
    let entrants = plan.tasks[0].raced(&vec![Entrant::default(); entrants], wins).unwrap();
    plan.tasks.splice(1..1, entrants);
    plan
}

impl Script {
    /// Ends well, with these files touched.
    fn touched(&mut self, task: &str, files: &[&str]) -> String {
        let attempt = self.attempt_of(task);
        let touched =
            Touched { files: files.iter().map(|&file| file.into()).collect(), ..Touched::default() };
        let change = Some(Box::new(Change { touched, ..Change::new("base", task) }));
        let (task, outcome) = (id(task), Outcome::Succeeded);
        self.input(Input::AttemptEnded { task, attempt, outcome, change, phases: None })
    }

    fn state(&self, task: &str) -> &TaskState {
        let run = self.scheduler.run();
        &run.progress(run.place(&id(task)).unwrap()).state
    }

    /// Whose work is being merged since the last input.
    fn cars(&self) -> String {
        let cars = self.actions.iter().filter_map(|action| match action {
            Action::Integrate { cars } => Some(cars.iter().map(|car| car.task.as_str())),
            _ => None,
        });
        cars.flatten().collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn the_first_that_lands_wins_and_the_other_is_stopped() {
    let (mut s, told) = Script::start(raced(Wins::First), queue(4));
    assert_eq!(told, "start api.1, start api.2");
    assert_eq!(s.scheduler.run().count(Status::Running), 1, "they are one task");
    assert_eq!((s.left("api.2").as_str(), s.cars().as_str()), ("", "api.2"));
    assert_eq!(s.merged("api.2", ""), "merging api.2");
    let told = s.moved("api.2", true);
    let won = "done api.2, api.2 wins api: the first of 2 to land, stop api.1 (Outrun), done api, start ui";
    assert_eq!(told, won);
    assert_eq!(s.ended("api.1", Outcome::Succeeded), "cancelled api.1", "too late");
    assert_eq!(s.ok("ui"), "done ui, finished (Completed)");
    let run = s.scheduler.run();
    assert_eq!((run.total(), run.count(Status::Completed), run.count(Status::Cancelled)), (2, 2, 0));
    assert_eq!(run.progress(0).landed.as_ref().unwrap().commit, "merged-api.2");
    assert_eq!(run.verdict(0).unwrap().winner, id("api.2"));
}

#[test]
fn two_of_a_race_are_never_on_the_train_together() {
    let (mut s, _) = Script::start(raced(Wins::First), queue(4));
    s.left("api.1");
    assert_eq!(s.cars(), "api.1");
    assert_eq!((s.left("api.2").as_str(), s.cars().as_str()), ("", ""), "it stands by");
    assert_eq!(s.merged("", "api.1"), "unmerged api.1, failed api.1 (Conflict)");
    assert_eq!(s.cars(), "api.2", "the next may");
    s.merged("api.2", "");
    let told = s.moved("api.2", true);
    assert_eq!(told, "done api.2, api.2 wins api: the first of 2 to land, done api, start ui");
}

#[test]
fn who_stood_by_when_another_landed_is_cancelled_and_its_work_remembered() {
    let (mut s, _) = Script::start(raced(Wins::First), queue(4));
    s.left("api.1");
    s.left("api.2");
    s.merged("api.1", "");
    let told = s.moved("api.1", true);
    assert_eq!(
        told,
        "done api.1, api.1 wins api: the first of 2 to land, cancelled api.2, done api, start ui"
    );
    let standings = &s.scheduler.run().verdict(0).unwrap().standings;
    let kept: Vec<Option<&str>> =
        standings.iter().map(|one| one.change.as_ref().map(|change| change.commit.as_str())).collect();
    assert_eq!(kept, [None, Some("api.2")]);
}

#[test]
fn who_goes_back_to_be_mended_lets_the_next_one_land() {
    let mut plan = raced(Wins::First);
    plan.tasks[1].fix_rounds = 1;
    let (mut s, _) = Script::start(plan, queue(4));
    s.left("api.1");
    s.left("api.2");
    assert_eq!(s.merged("", "api.1"), "unmerged api.1, mend api.1");
    assert_eq!(s.cars(), "api.2");
    assert_eq!(s.merged("", "api.2"), "unmerged api.2, failed api.2 (Conflict), start api.1#2");
}

#[test]
fn the_best_is_known_when_all_have_ended() {
    let mut plan = raced(Wins::Best);
    for task in &mut plan.tasks[..3] {
        task.files = vec!["src/**".into()];
    }
    let (mut s, told) = Script::start(plan, queue(4));
    assert_eq!(told, "start api.1, start api.2", "they touch the same files side by side");
    assert_eq!((s.touched("api.1", &["src/a", "README"]).as_str(), s.cars().as_str()), ("", ""));
    assert_eq!((s.touched("api.2", &["src/a"]).as_str(), s.cars().as_str()), ("", "api.2"));
    s.merged("api.2", "");
    let won = "api.2 wins api: 100 of 100, before api.1 with 75 of 100";
    assert_eq!(s.moved("api.2", true), format!("done api.2, {won}, cancelled api.1, done api, start ui"));
}

#[test]
fn of_equals_the_cheaper_wins_then_the_quicker_then_the_first_of_the_file() {
    let (mut s, _) = Script::start(racing("api", Wins::Best, 3), queue(4));
    s.use_up("api.1", 2.0);
    s.use_up("api.2", 1.0);
    s.use_up("api.3", 1.0);
    s.secs = 5;
    s.left("api.3");
    s.secs = 9;
    s.left("api.2");
    s.left("api.1");
    assert_eq!(s.cars(), "api.3");
    assert_eq!(s.merged("", "api.3"), "unmerged api.3, failed api.3 (Conflict)");
    assert_eq!(s.cars(), "api.2", "the next best");
    s.merged("api.2", "");
    let won = "api.2 wins api: no score, as good as api.1, for less money";
    assert_eq!(
        s.moved("api.2", true),
        format!("done api.2, {won}, cancelled api.1, done api, finished (Completed)")
    );
}

#[test]
fn where_all_fail_the_task_has_failed_with_what_each_says() {
    let (mut s, _) = Script::start(raced(Wins::First), queue(4));
    assert_eq!(s.fail("api.1"), "failed api.1 (Exit)");
    let timed_out = Failure::new(FailureClass::TimedOut, "timed out after 3 s");
    let told = s.ended("api.2", Outcome::Failed(timed_out));
    assert_eq!(told, "failed api.2 (TimedOut), failed api (TimedOut), skip ui (by api), finished (Failed)");
    let TaskState::Failed(failure) = s.state("api") else { panic!() };
    let words = "none of those who raced for it landed: api.1: exit 1; api.2: timed out after 3 s";
    assert_eq!(failure.message, words);
    let run = s.scheduler.run();
    assert_eq!((run.count(Status::Failed), run.count(Status::Skipped)), (1, 1));
}

#[test]
fn the_first_failure_is_that_of_the_task() {
    let fail_fast = Options { fail_fast: true, ..queue(4) };
    let (mut s, _) = Script::start(raced(Wins::First), fail_fast);
    assert_eq!(s.fail("api.1"), "failed api.1 (Exit)");
    let told = s.fail("api.2");
    assert_eq!(
        told,
        "failed api.2 (Exit), failed api (Exit), skip ui (by api), drain (FailFast), finished (Failed)"
    );
}

#[test]
fn with_one_slot_who_is_not_needed_never_starts() {
    let (mut s, told) = Script::start(raced(Wins::First), queue(1));
    assert_eq!(told, "start api.1");
    assert_eq!(s.left("api.1"), "", "the slot is free, and yet");
    let waits = s.scheduler.why_waiting(2, now(0));
    assert_eq!(
        waits.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["for api.1, which is about to land the same"]
    );
    assert_eq!(s.merged("", "api.1"), "unmerged api.1, failed api.1 (Conflict), start api.2");
    let (mut s, _) = Script::start(raced(Wins::First), queue(1));
    let told = s.ok("api.1");
    assert_eq!(
        told,
        "done api.1, api.1 wins api: the first of 2 to land, cancelled api.2, done api, start ui"
    );
}

#[test]
fn who_changes_nothing_does_not_overtake_who_is_landing() {
    let (mut s, _) = Script::start(raced(Wins::First), queue(4));
    s.left("api.1");
    assert_eq!(s.ok("api.2"), "");
    s.merged("api.1", "");
    let told = s.moved("api.1", true);
    assert_eq!(
        told,
        "done api.1, api.1 wins api: the first of 2 to land, cancelled api.2, done api, start ui"
    );
}

#[test]
fn no_other_task_touches_the_files_of_a_race_under_way() {
    let mut plan = racing("api; other", Wins::First, 2);
    plan.tasks.iter_mut().for_each(|task| task.files = vec!["src/**".into()]);
    let (mut s, told) = Script::start(plan, queue(4));
    assert_eq!(told, "start api.1, start api.2");
    s.left("api.1");
    s.merged("api.1", "");
    let told = s.moved("api.1", true);
    assert_eq!(told, "done api.1, api.1 wins api: the first of 2 to land, stop api.2 (Outrun), done api");
    assert_eq!(s.ended("api.2", Outcome::Cancelled), "cancelled api.2, start other");
}

#[test]
fn what_they_use_is_counted_together() {
    let mut plan = raced(Wins::First);
    plan.tasks[..3].iter_mut().for_each(|task| task.max_cost = Some(Usd::from_dollars(2.0)));
    let (mut s, _) = Script::start(plan, queue(4));
    assert_eq!(s.use_up("api.1", 1.5), "");
    assert_eq!(s.use_up("api.2", 0.6), "stop api.1 (Budget), stop api.2 (Budget)");
    let near = s.log.iter().find_map(|record| match &record.event {
        Event::BudgetNeared { task, used, .. } => Some((task.clone(), *used)),
        _ => None,
    });
    assert_eq!(near, Some((Some(id("api")), 2_100_000)), "told of the task, for all of them");
    assert_eq!(s.ended("api.1", Outcome::Cancelled), "failed api.1 (Budget)");
    let told = s.ended("api.2", Outcome::Cancelled);
    assert_eq!(told, "failed api.2 (Budget), failed api (Budget), skip ui (by api), finished (Failed)");
    let TaskState::Failed(failure) = s.state("api.1") else { panic!() };
    assert!(failure.message.contains("2.10"), "{}", failure.message);
    assert_eq!(s.scheduler.run().usage(0).cost, Usd::from_dollars(2.1));
}

#[test]
fn who_stands_by_when_the_money_is_gone_lands_all_the_same() {
    let mut plan = raced(Wins::Best);
    plan.tasks[..3].iter_mut().for_each(|task| task.max_cost = Some(Usd::from_dollars(2.0)));
    let (mut s, _) = Script::start(plan, queue(4));
    s.use_up("api.1", 1.0);
    s.left("api.1");
    assert_eq!(s.use_up("api.2", 1.5), "stop api.2 (Budget)");
    assert_eq!(s.ended("api.2", Outcome::Cancelled), "failed api.2 (Budget)");
    assert_eq!(s.cars(), "api.1");
}

#[test]
fn a_person_takes_one_out_or_calls_the_whole_race_off() {
    let (mut s, _) = Script::start(raced(Wins::First), queue(4));
    assert_eq!(s.ask(Request::Cancel(id("api.1"))), "stop api.1 (Cancelled)");
    assert_eq!(s.ended("api.1", Outcome::Cancelled), "cancelled api.1");
    assert_eq!(s.ask(Request::Cancel(id("api"))), "stop api.2 (Cancelled), cancelled api, skip ui (by api)");
    assert_eq!(s.ended("api.2", Outcome::Succeeded), "cancelled api.2, finished (Cancelled)");

    let (mut s, _) = Script::start(raced(Wins::Best), queue(4));
    s.left("api.1");
    assert_eq!(s.ask(Request::Cancel(id("api.1"))), "cancelled api.1", "although it stood by");
    s.left("api.2");
    assert_eq!(s.cars(), "api.2");
    assert_eq!(s.ask(Request::Cancel(id("api"))), "", "it is landing");
    s.merged("api.2", "");
    let won = "done api.2, api.2 wins api: the only one of 2 whose work could land, done api, start ui";
    assert_eq!(s.moved("api.2", true), won);
}

#[test]
fn a_race_that_ended_badly_is_run_again_as_a_whole() {
    let (mut s, _) = Script::start(raced(Wins::First), queue(4));
    s.fail("api.1");
    assert_eq!(s.ask(Request::Retry(id("api.1"))), "reopen api.1, start api.1#2", "as long as it goes on");
    s.fail("api.1");
    let (mut s, _) = Script::start(racing("api; other; ui <- api", Wins::First, 2), queue(4));
    s.fail("api.1");
    s.fail("api.2");
    let told = s.ask(Request::Retry(id("api.1")));
    assert!(told.starts_with("refused: the race for task 'api' is over"), "{told}");
    let told = s.ask(Request::Retry(id("api")));
    assert_eq!(told, "reopen api, reopen api.1, reopen api.2, reopen ui, start api.1#2, start api.2#2");
}

#[test]
fn what_is_skipped_or_pointless_is_so_with_all_who_race_for_it() {
    let mut plan = racing("api; base", Wins::First, 2);
    plan.tasks[..3].iter_mut().for_each(|task| task.dependencies = vec![Dependency::on(id("base"))]);
    let (mut s, told) = Script::start(plan.clone(), queue(4));
    assert_eq!(told, "start base");
    let told = s.fail("base");
    assert_eq!(
        told,
        "failed base (Exit), skip api (by base), skip api.1 (by base), skip api.2 (by base), finished (Failed)"
    );
    let (mut s, _) = Script::start(plan, queue(4));
    assert_eq!(s.ask(Request::Skip(id("api"))), "skip api.1, skip api.2, skip api");
    assert_eq!(s.ok("base"), "done base, finished (Failed)");
}

#[test]
fn words_for_the_task_are_for_all_who_race_for_it() {
    let (mut s, _) = Script::start(raced(Wins::First), queue(4));
    s.ask(Request::Tell { task: id("api"), words: "mind the gap".into() });
    let told = |action: &Action| matches!(action, Action::Say { words, .. } if words == "mind the gap");
    assert_eq!(s.actions.iter().filter(|action| told(action)).count(), 2);
    let (s, _) = s.crash(queue(4));
    let knows = |action: &Action| match action {
        Action::Start { start_from: Some(start_from), .. } => start_from.words == ["mind the gap"],
        _ => false,
    };
    assert_eq!(s.actions.iter().filter(|action| knows(action)).count(), 2, "who begins anew knows it too");
}

#[test]
fn a_question_of_one_entrant_holds_up_no_other() {
    let (mut s, _) = Script::start(raced(Wins::First), queue(4));
    let question = Question { tool: "Bash".into(), what: "deploy".into(), why: String::new() };
    s.ended("api.1", Outcome::Asked(Box::new(question)));
    s.left("api.2");
    s.merged("api.2", "");
    let told = s.moved("api.2", true);
    assert_eq!(
        told,
        "done api.2, api.2 wins api: the first of 2 to land, cancelled api.1, done api, start ui"
    );
    let answer = Answer { allow: true, words: None, by: Answerer::Person };
    let told = s.ask(Request::Answer { task: id("api.1"), answer });
    assert!(told.starts_with("refused"), "{told}");
}

#[test]
fn a_crash_between_landing_and_stopping_changes_nothing() {
    let (mut s, _) = Script::start(raced(Wins::First), queue(4));
    s.left("api.1");
    s.merged("api.1", "");
    // The branch may have been moved; the coordinator died before it recorded that.
    let (mut s, told) = s.crash(queue(4));
    assert_eq!(told, "interrupted api.2");
    assert!(matches!(&s.actions[..], [Action::MoveBranch { to, .. }] if to == "merged-api.1"));
    let told = s.moved("api.1", true);
    assert_eq!(
        told,
        "done api.1, api.1 wins api: the first of 2 to land, cancelled api.2, done api, start ui"
    );
    let (mut s, told) = s.crash(queue(4));
    assert_eq!(told, "interrupted ui, start ui#2", "losers stay losers");
    assert_eq!(s.ok("ui"), "done ui, finished (Completed)");
}

#[test]
fn a_crash_while_the_loser_stops_ends_it() {
    let (mut s, _) = Script::start(raced(Wins::First), queue(4));
    s.left("api.1");
    s.merged("api.1", "");
    s.moved("api.1", true);
    let (s, told) = s.crash(queue(4));
    assert_eq!(told, "cancelled api.2, interrupted ui, start ui#2");
    assert_eq!(*s.state("api.2"), TaskState::Cancelled);
}

#[test]
fn those_who_stand_by_are_found_again_after_a_crash() {
    let (mut s, _) = Script::start(raced(Wins::Best), queue(4));
    s.left("api.1");
    let (mut s, told) = s.crash(queue(4));
    assert_eq!((told.as_str(), s.cars().as_str()), ("interrupted api.2, start api.2#2", ""));
    assert_eq!(s.ask(Request::Stop), "drain (User), stop api.2 (Interrupted)");
    assert_eq!(s.ended("api.2", Outcome::Interrupted), "interrupted api.2, stopped (User)");
    let (mut s, told) = s.crash(queue(4));
    assert_eq!(told, "start api.2#3");
    s.fail("api.2");
    assert_eq!(s.cars(), "api.1", "it was the only one");
}

#[test]
fn what_failed_is_tried_again_but_not_who_was_beaten() {
    let (mut s, _) = Script::start(racing("api; bad", Wins::First, 2), queue(4));
    s.ok("api.1");
    s.ended("api.2", Outcome::Cancelled);
    assert_eq!(s.fail("bad"), "failed bad (Exit), finished (Failed)");
    let run = Run::replay(&s.log).unwrap();
    let resume_state = ResumeState { reopen: true, ..ResumeState::default() };
    let (_, decision) = Scheduler::take_up(run, queue(4), now(9), resume_state).unwrap();
    let told: Vec<String> = decision.records.iter().filter_map(|record| tell(&record.event)).collect();
    assert_eq!(told, ["reopen bad", "start bad#2"]);
}

#[test]
fn who_races_stays_as_it_is() {
    let (mut s, _) = Script::start(racing("base; api <- base", Wins::First, 2), queue(1));
    let amend = |tasks: Vec<Task>| Request::Amend(Box::new(Amendment { tasks, ..Amendment::default() }));
    let told = s.ask(amend(racing("api", Wins::First, 3).tasks));
    assert!(told.contains("who races for task 'api' stays as it is"), "{told}");
    let half = racing("late", Wins::First, 2).tasks.split_off(1);
    assert!(s.ask(amend(half)).starts_with("refused"), "no entrant races for what is not there");
    let mut new = racing("late", Wins::First, 2).tasks;
    assert_eq!(s.ask(amend(new.clone())), "");
    new.iter_mut().for_each(|task| task.name = "another name".into());
    assert_eq!(s.ask(amend(new)), "", "updated, all of them");
    assert_eq!(s.scheduler.run().total(), 3);
    let told = s.ok("base.1");
    assert!(told.contains("base.1 wins base"), "{told}");
}

#[test]
fn an_epic_waits_for_the_task_and_not_for_those_who_race() {
    let mut plan = racing("api; ui", Wins::First, 2);
    plan.tasks[..3].iter_mut().for_each(|task| task.epic = Some("one".into()));
    plan.tasks[3].epic = Some("two".into());
    let epic = |id: &str, on: &[&str]| crate::plan::Epic {
        id: id.into(),
        name: None,
        dependencies: on.iter().map(|&on| on.into()).collect(),
        isolation_scope: crate::plan::Scope::Task,
        land: None,
        epic_landing: Default::default(),
    };
    plan.epics = vec![epic("one", &[]), epic("two", &["one"])];
    for strategy in [Strategy::Queue, Strategy::Batch, Strategy::Sequential] {
        let (mut s, told) = Script::start(plan.clone(), Options { strategy, ..queue(4) });
        assert_eq!(told, "start api.1, start api.2", "{strategy:?}");
        let told = s.ok("api.1");
        assert!(told.ends_with("stop api.2 (Outrun), done api, start ui"), "{strategy:?}: {told}");
    }
}

/// Two race, and what they do lands by approval.
fn reviewed() -> Plan {
    let mut plan = raced(Wins::First);
    for task in &mut plan.tasks[..3] {
        task.land = Land::Approve;
    }
    plan
}

#[test]
fn who_waits_to_be_tried_again_does_not_hold_up_the_review_of_another() {
    let mut plan = reviewed();
    for task in &mut plan.tasks[1..3] {
        task.retry = RetryPolicy { max_attempts: 3, ..RetryPolicy::once() };
    }
    let (mut s, _) = Script::start(plan, queue(4));
    let told = s.fail("api.2");
    assert!(told.starts_with("retry api.2"), "{told}");
    assert_eq!(s.left("api.1"), "review api.1, stopped (Person)");
    let (_, told) = s.crash(queue(4));
    assert_eq!(told, "stopped (Person)", "taken up again too");
}

#[test]
fn who_was_sent_back_goes_on_before_the_work_of_another_is_looked_at() {
    let (mut s, _) = Script::start(reviewed(), queue(4));
    s.left("api.1");
    assert_eq!(s.left("api.2"), "stopped (Person)", "it stands by");
    let comments = vec![Comment::parse("no", |_| false)];
    let request = Request::Review { task: id("api"), verdict: ReviewVerdict::SentBack { comments } };
    for event in Scheduler::ask_left(s.scheduler.run(), request, now(s.secs)).unwrap() {
        let seq = s.log.last().unwrap().seq + 1;
        s.log.push(Record { seq, at: now(s.secs).at, tick: now(s.secs).tick, event });
    }
    let (mut s, told) = s.crash(queue(4));
    assert_eq!((told.as_str(), s.wait(0).as_str()), ("", "start api.1#2"));
    assert_eq!(s.left("api.1"), "review api.2, stopped (Person)", "which is next, for it was done first");
}
