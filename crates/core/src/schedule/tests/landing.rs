//! The merge train and shared epics.

use super::*;
use crate::plan::{Epic, EpicLanding, OnConflict, Preparation, Scope};
use crate::report::SummaryFile;
use crate::values::ids::RunId;
use serde_json::json;

#[test]
fn done_means_landed_and_who_comes_later_takes_the_next_train() {
    let (mut s, told) = Script::start(plan("a; b; c <- a; d"), queue(2));
    assert_eq!(told, "start a, start b");
    assert_eq!(s.left("a"), "start d");
    assert_eq!(s.left("b"), "");
    assert_eq!(s.merged("b", ""), "", "b is not under way");
    assert_eq!(s.merged("a", ""), "merging a");
    assert_eq!(s.moved("a", true), "done a, start c");
    assert_eq!(s.merged("b", ""), "merging b");
    assert_eq!(s.moved("b", false), "", "another process moved the branch: merged anew");
    assert_eq!(s.merged("b", ""), "merging b");
    assert_eq!(s.moved("b", true), "done b");
}

#[test]
fn all_that_wait_travel_together_and_the_culprit_alone_is_left_behind() {
    let (mut s, _) = Script::start(plan("a; b; c; d; e <- c"), queue(4));
    s.left("a");
    for task in ["b", "c", "d"] {
        assert_eq!(s.left(task), "");
    }
    s.merged("a", "");
    s.moved("a", true);
    let cars = match &s.actions[..] {
        [Action::Integrate { cars }] => cars.iter().map(|car| car.task.as_str()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(cars, ["b", "c", "d"]);
    assert_eq!(s.merged("b", "c"), "merging b, unmerged c, failed c (Conflict), skip e (by c)");
    assert_eq!(s.actions, [Action::MoveBranch { from: "tip".into(), to: "merged-b".into() }]);
    assert_eq!(s.moved("b", true), "done b");
    assert_eq!(s.merged("d", ""), "merging d", "what was not looked at goes next");
    assert_eq!(s.moved("d", true), "done d, finished (Failed)");
}

#[test]
fn a_conflict_is_a_failure_and_the_train_goes_on() {
    let (mut s, _) = Script::start(plan("a; b; c <- a"), queue(2));
    s.left("a");
    s.left("b");
    assert_eq!(s.merged("", "a"), "unmerged a, failed a (Conflict), skip c (by a)");
    assert_eq!(s.merged("b", ""), "merging b");
    assert_eq!(s.moved("b", true), "done b, finished (Failed)");
}

#[test]
fn a_conflict_goes_back_to_be_mended_before_it_is_a_failure() {
    let mut plan = plan("a");
    plan.tasks[0].fix_rounds = 2;
    plan.tasks[0].on_conflict = OnConflict::Theirs;
    let (mut s, _) = Script::start(plan, queue(1));
    s.left("a");
    assert_eq!(s.merged("", "a"), "unmerged a, mend a, start a#2");
    let Some(Action::Start { start_from: Some(start_from), .. }) = s.actions.pop() else { panic!() };
    let (number, round) = start_from.round.unwrap();
    assert_eq!((number, round.change.commit.as_str(), round.failure.class), (1, "a", FailureClass::Conflict));
    let (mut s, told) = s.crash(queue(1));
    assert_eq!(told, "interrupted a, start a#3", "a round survives a crash");
    assert!(matches!(&s.actions[..], [Action::Start { start_from: Some(_), .. }]));
    s.left("a");
    assert_eq!(s.merged("", "a"), "unmerged a, mend a, start a#4");
    s.left("a");
    let favour = match &s.actions[..] {
        [Action::Integrate { cars }] => cars[0].favour,
        other => panic!("{other:?}"),
    };
    assert_eq!(favour, Some(Side::Theirs), "only now does a side win");
    assert_eq!(s.merged("", "a"), "unmerged a, failed a (Conflict), finished (Failed)");
}

#[test]
fn what_is_to_be_retried_later_is_done_anew_three_times() {
    let mut plan = plan("a");
    plan.tasks[0].on_conflict = OnConflict::RetryLater;
    let (mut s, _) = Script::start(plan, queue(1));
    for next in 2..=4 {
        s.left("a");
        assert_eq!(s.merged("", "a"), format!("unmerged a, anew a, start a#{next}"));
        assert!(matches!(&s.actions[..], [Action::Start { start_from: None, .. }]));
    }
    s.left("a");
    assert_eq!(s.merged("", "a"), "unmerged a, failed a (Conflict), finished (Failed)");
}

#[test]
fn files_stay_taken_until_the_work_has_landed() {
    let mut plan = plan("a; b");
    plan.tasks[0].files = vec!["src/**".into()];
    let learned_files = vec!["src/b.rs".into()];
    plan.tasks[1].preparation = Some(Box::new(Preparation { learned_files, ..Preparation::default() }));
    let (mut s, told) = Script::start(plan, queue(2));
    assert_eq!(told, "start a");
    assert_eq!(s.left("a"), "");
    assert_eq!(s.merged("a", ""), "merging a");
    assert_eq!(s.moved("a", true), "done a, start b");
}

/// Killed between the intent and the report: whether the branch was moved is looked up, not guessed.
#[test]
fn a_crash_in_the_middle_of_a_merge_asks_whether_it_happened() {
    let (mut s, _) = Script::start(plan("x; a; b; c <- b"), queue(3));
    s.left("x");
    s.left("b");
    s.left("a");
    s.merged("x", "");
    s.moved("x", true);
    assert_eq!(s.merged("b a", ""), "merging b, merging a");
    let (mut s, told) = s.crash(queue(1));
    assert_eq!(told, "");
    assert_eq!(s.actions, [Action::MoveBranch { from: "tip".into(), to: "merged-a".into() }]);
    assert_eq!(s.moved("a", true), "done b, done a, start c");
    assert_eq!(s.scheduler.run().tip(), Some("merged-a"));
}

#[test]
fn a_branch_that_cannot_be_moved_fails_the_task_that_was_to_land() {
    let (mut s, _) = Script::start(plan("a; b"), queue(2));
    s.left("a");
    s.merged("a", "");
    let failure = Failure::new(FailureClass::Unstartable, "read-only");
    let stuck = |to: &str| Input::BranchStuck { to: to.into(), failure: failure.clone() };
    assert_eq!(s.input(stuck("elsewhere")), "", "not the move that is under way");
    assert_eq!(s.input(stuck("merged-a")), "unmerged a, failed a (Unstartable)");
    s.left("b");
    assert_eq!(s.merged("b", ""), "merging b");
    assert_eq!(s.moved("b", true), "done b, finished (Failed)");
}

fn epics(mut plan: Plan, members: &str) -> Plan {
    for (epic, tasks) in members.split(';').filter_map(|entry| entry.split_once(':')) {
        for task in
            plan.tasks.iter_mut().filter(|task| tasks.split(' ').any(|name| *name == *task.id.as_str()))
        {
            task.epic = Some(epic.trim().into());
        }
        let (id, isolation_scope) = (epic.trim().into(), Scope::Epic);
        plan.epics.push(Epic {
            id,
            name: None,
            dependencies: Vec::new(),
            isolation_scope,
            land: None,
            epic_landing: Default::default(),
        });
    }
    plan
}

#[test]
fn an_epic_that_shares_a_workspace_works_in_line_and_lands_as_one() {
    let (mut s, told) = Script::start(epics(plan("a; b <- a; c; x; y <- a"), "e: a b c"), queue(4));
    assert_eq!(told, "start a, start x");
    assert_eq!(s.left("a"), "start b", "b builds on a, y waits for the landing");
    let Some(Action::Start { start_from: Some(start_from), .. }) = s.actions.pop() else { panic!() };
    assert_eq!(start_from.onto.as_deref(), Some("a"));
    assert_eq!(s.ok("x"), "done x");
    let (mut s, told) = s.crash(queue(4));
    assert_eq!(told, "interrupted b, start b#2");
    assert_eq!(s.left("b"), "start c");
    assert_eq!(s.fail("c"), "failed c (Exit)");
    let Some(Action::Integrate { cars }) = s.actions.pop() else { panic!() };
    assert_eq!((cars[0].task.as_str(), cars[0].others.as_slice()), ("b", &[id("a")][..]));
    assert_eq!(s.merged("b", ""), "merging a, merging b");
    let (mut s, _) = s.crash(queue(4));
    assert_eq!(s.actions, [Action::MoveBranch { from: "tip".into(), to: "merged-b".into() }]);
    assert_eq!(s.moved("b", true), "done a, done b, start y");
}

#[test]
fn an_epic_that_lands_as_a_whole_holds_back_what_is_good_until_the_rest_is() {
    let mut plan = epics(plan("a; b <- a; y <- a; z"), "e: a b");
    plan.epics[0].epic_landing = EpicLanding::All;
    plan.tasks[0].work = Work::Prompt("do it".into());
    let (mut s, told) = Script::start(plan, queue(4));
    assert_eq!(told, "start a, start z");
    assert_eq!(s.left("a"), "start b");
    assert_eq!(s.fail("b"), "failed b (Exit), failed a (HeldBack), skip y (by a)");
    let refused = s.ask(Request::Retry(id("a")));
    assert_eq!(refused, "refused: task 'a' is held back by 'b'; retry 'b', and both land");
    assert_eq!(s.ask(Request::Retry(id("b"))), "reopen b, reopen a, reopen y, start a#2");
    let Some(Action::Start { start_from: Some(start_from), .. }) = s.actions.pop() else { panic!() };
    let (_, round) = start_from.round.unwrap();
    assert_eq!(round.change.commit, "a", "its agent goes on with what it had");
    assert_eq!(s.left("a"), "start b#2");
    s.left("b");
    assert_eq!(s.merged("b", ""), "merging a, merging b");
    assert!(s.moved("b", true).starts_with("done a, done b"));
}

#[test]
fn an_epic_that_does_not_fit_fails_as_one_and_one_that_is_left_waits() {
    let (mut s, _) = Script::start(epics(plan("a; b <- a"), "e: a b"), queue(4));
    s.left("a");
    assert_eq!(s.ask(Request::Drain), "drain (User)");
    assert_eq!(s.ask(Request::Stop), "stop b (Interrupted)");
    assert_eq!(s.fail("b"), "interrupted b, stopped (User)");
    let (mut s, told) = s.crash(queue(4));
    assert_eq!(told, "start b#2");
    s.left("b");
    let failed = "unmerged a, failed a (Conflict), unmerged b, failed b (Conflict), finished (Failed)";
    assert_eq!(s.merged("", "b"), failed);
}

#[test]
fn epics_that_each_land_as_one_cannot_wait_for_each_others_tasks() {
    let plan = epics(plan("a1; b1; a2 <- b1; b2 <- a1"), "a: a1 a2; b: b1 b2");
    let (run, _) = Run::create(plan, now(0));
    let refused = Scheduler::start(run, queue(1), now(0)).err().unwrap();
    assert!(refused.to_string().starts_with("epic a, b cannot land as one"), "{refused}");
}

#[test]
fn a_conflict_ahead_is_told_once_and_gone_when_one_of_them_ends() {
    let (mut s, _) = Script::start(plan("a; b"), queue(2));
    let ahead = || Input::ConflictForeseen { task: id("a"), with: Some(id("b")), files: vec!["x".into()] };
    s.input(ahead());
    s.input(ahead());
    assert_eq!(s.scheduler.run().foreseen().len(), 1);
    assert_eq!(s.log.iter().filter(|r| matches!(r.event, Event::ConflictForeseen { .. })).count(), 1);
    s.ok("a");
    assert!(s.scheduler.run().foreseen().is_empty());
    s.input(ahead());
    assert!(s.scheduler.run().foreseen().is_empty(), "a has ended");
}

/// The one in front does not fit any more where the branch is now; what was stacked on it is not what lands.
#[test]
fn a_stack_that_was_overtaken_is_void() {
    let (mut s, _) = Script::start(plan("a; b"), queue(2));
    s.left("a");
    s.merged("a", "");
    s.moved("a", false);
    s.left("b");
    s.merged("a", "");
    s.moved("a", true);
    let (mut s, _) = Script::start(plan("x; a; b"), queue(3));
    assert_eq!(s.left("x"), "");
    assert_eq!((s.left("a"), s.left("b")), (String::new(), String::new()));
    assert_eq!(s.merged("x", ""), "merging x");
    assert_eq!(s.moved("x", true), "done x");
    assert_eq!(s.merged("a b", ""), "merging a, merging b");
    assert_eq!(s.moved("b", false), "");
    assert_eq!(s.merged("", "a"), "unmerged a, failed a (Conflict)");
    assert!(matches!(&s.actions[..], [Action::Integrate { cars }] if cars.len() == 1), "{:?}", s.actions);
    let (s, told) = s.crash(queue(3));
    assert_eq!(told, "");
    assert!(matches!(&s.actions[..], [Action::Integrate { .. }]), "{:?}", s.actions);
}

#[test]
fn a_task_of_an_epic_that_is_done_again_lands_after_those_that_were_sent() {
    let mut plan = plan("a; b");
    for task in &mut plan.tasks {
        task.epic = Some("e".into());
    }
    let scope = crate::plan::Scope::Epic;
    let epic = crate::plan::Epic {
        id: "e".into(),
        name: None,
        dependencies: Vec::new(),
        isolation_scope: scope,
        land: None,
        epic_landing: Default::default(),
    };
    plan.epics = vec![epic];
    let (mut s, told) = Script::start(plan, queue(2));
    assert_eq!(told, "start a");
    assert_eq!(s.left("a"), "start b");
    assert_eq!(s.fail("b"), "failed b (Exit)");
    assert!(matches!(&s.actions[..], [Action::Integrate { .. }]));
    assert_eq!(s.ask(Request::Retry(id("b"))), "reopen b, start b#2");
    assert_eq!(s.left("b"), "");
    assert_eq!(s.merged("a", ""), "merging a");
    assert_eq!(s.moved("a", true), "done a");
    assert!(matches!(&s.actions[..], [Action::Integrate { .. }]), "{:?}", s.actions);
    assert_eq!(s.merged("b", ""), "merging b");
    assert_eq!(s.moved("b", true), "done b, finished (Completed)");
}

/// An epic whose last task may mend it once or twice.
fn mendable_epic(rounds: u32) -> Plan {
    let mut plan = epics(plan("a; b <- a; y <- a"), "e: a b");
    plan.tasks[1].fix_rounds = rounds;
    plan
}

#[test]
fn an_epic_that_does_not_fit_goes_back_to_its_last_task() {
    let (mut s, _) = Script::start(mendable_epic(2), queue(4));
    assert_eq!((s.left("a"), s.left("b")), ("start b".to_owned(), String::new()));
    assert_eq!(s.merged("", "b"), "unmerged b, mend b", "what a did is kept, and y waits for it");
    assert_eq!(s.wait(0), "start b#2");
    let Some(Action::Start { start_from: Some(start_from), .. }) = s.actions.pop() else { panic!() };
    let (number, round) = start_from.round.unwrap();
    assert_eq!((number, round.change.commit.as_str()), (1, "b"));
    assert_eq!(start_from.onto.as_deref(), Some("a"), "on top of what the others did");
    let (mut s, told) = s.crash(queue(4));
    assert_eq!(told, "interrupted b, start b#3", "a round survives a crash");
    s.left_as("b", "b2");
    let cars = |s: &Script| match &s.actions[..] {
        [Action::Integrate { cars }] => (cars[0].change.commit.clone(), cars[0].others.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(cars(&s), ("b2".to_owned(), vec![id("a")]), "they land together all the same");
    assert_eq!(s.merged("", "b"), "unmerged b, mend b");
    s.wait(0);
    s.left("b");
    let failed =
        "unmerged a, failed a (Conflict), skip y (by a), unmerged b, failed b (Conflict), finished (Failed)";
    assert_eq!(s.merged("", "b"), failed, "its rounds are used up");
}

#[test]
fn a_mended_epic_lands_as_one_and_a_side_wins_only_after_its_rounds() {
    let mut plan = mendable_epic(1);
    plan.tasks[1].on_conflict = OnConflict::Ours;
    let (mut s, _) = Script::start(plan, queue(4));
    s.left("a");
    s.left("b");
    let favour = |s: &Script| match &s.actions[..] {
        [Action::Integrate { cars }] => cars[0].favour,
        other => panic!("{other:?}"),
    };
    assert_eq!(favour(&s), None);
    s.merged("", "b");
    s.wait(0);
    s.left("b");
    assert_eq!(favour(&s), Some(Side::Ours));
    assert_eq!(s.merged("b", ""), "merging a, merging b");
    assert_eq!(s.moved("b", true), "done a, done b, start y");
}

/// It has begun on the commit that does not fit, so what it leaves holds all of the epic's work.
#[test]
fn what_was_opened_again_while_its_epic_landed_is_the_last_one() {
    let mut plan = epics(plan("a; b; c"), "e: a b c");
    plan.tasks.iter_mut().for_each(|task| task.fix_rounds = 1);
    let (mut s, _) = Script::start(plan, queue(4));
    s.left("a");
    s.left("b");
    assert_eq!(s.fail("c"), "failed c (Exit)");
    assert_eq!(s.ask(Request::Retry(id("c"))), "reopen c, start c#2");
    assert_eq!(s.merged("", "b"), "", "c goes on from what b left");
    assert_eq!(s.left("c"), "");
    let [Action::Integrate { cars }] = &s.actions[..] else { panic!("{:?}", s.actions) };
    assert_eq!((cars[0].task.as_str(), cars[0].others.as_slice()), ("c", &[id("a"), id("b")][..]));
    assert_eq!(s.merged("", "c"), "unmerged c, mend c");
}

#[test]
fn a_batch_counts_what_only_lands_with_its_epic_apart() {
    let batches = Options { strategy: Strategy::Batch, ..queue(4) };
    let (mut s, told) = Script::start(epics(plan("a; x; b <- a"), "e: a b"), batches);
    assert_eq!(told, "start a, start x");
    s.left("a");
    assert_eq!(s.ok("x"), "done x, start b");
    let result = |s: &Script, number: usize| s.scheduler.run().batches()[number].result.clone();
    let first = result(&s, 0).unwrap();
    assert_eq!((first.completed, first.unlanded), (1, vec![id("a")]), "a has not landed");
    s.left("b");
    assert_eq!(result(&s, 1).map(|second| (second.completed, second.unlanded)), Some((0, vec![id("b")])));
    s.merged("b", "");
    assert_eq!(s.moved("b", true), "done a, done b, finished (Completed)");
    let run = RunId::parse("k3v9wq2t").unwrap();
    let summary = SummaryFile::new(&run, s.scheduler.run(), s.scheduler.graph(), None);
    let results = serde_json::to_value(summary).unwrap()["batch_results"].clone();
    let counts =
        [0, 1].map(|number: usize| (results[number]["completed"].clone(), results[number]["open"].clone()));
    assert_eq!(counts, [(json!(2), json!([])), (json!(1), json!([]))], "now it has");
}
