//! A person's review before work lands.

use super::*;
use crate::plan::{Epic, Land, OnConflict, Scope};
use crate::report::before_its_batch;
use crate::report::needs::{self, NeedKind};
use crate::run::event::Comment;

/// Prompts that land by approval.
fn approved(text: &str) -> Plan {
    let mut plan = plan(text);
    for task in &mut plan.tasks {
        (task.work, task.land, task.fix_rounds) = (Work::Prompt("do it".into()), Land::Approve, 2);
    }
    plan
}

impl Script {
    fn review(&mut self, task: &str, verdict: ReviewVerdict) -> String {
        self.ask(Request::Review { task: id(task), verdict })
    }

    fn approve(&mut self, task: &str, commit: &str) -> String {
        self.review(task, ReviewVerdict::Approved { commit: commit.into() })
    }

    /// The same of a run that is not active; what the next coordinator does then.
    fn review_left(mut self, task: &str, verdict: ReviewVerdict) -> (Script, String) {
        let request = Request::Review { task: id(task), verdict };
        for event in Scheduler::ask_left(self.scheduler.run(), request, now(self.secs)).unwrap() {
            let seq = self.log.last().unwrap().seq + 1;
            self.log.push(Record { seq, at: now(self.secs).at, tick: now(self.secs).tick, event });
        }
        self.crash(queue(1))
    }
}

fn sent_back(words: &str) -> ReviewVerdict {
    ReviewVerdict::SentBack { comments: vec![Comment::parse(words, |file| file == "a.rs")] }
}

#[test]
fn work_waits_for_a_person_without_a_slot_and_lands_by_approval() {
    let (mut s, _) = Script::start(approved("a; b; c <- a"), queue(1));
    assert_eq!(s.left("a"), "review a, start b", "it holds no slot");
    assert_eq!(s.approve("a", "old"), "refused: the work of 'a' is a now, not old; look at it again");
    assert_eq!(s.approve("b", "b"), "refused: task 'b' is running; it does not wait for a review");
    assert_eq!(s.approve("a", "a"), "approved a (a)");
    assert_eq!(s.merged("a", ""), "merging a");
    assert_eq!(s.moved("a", true), "done a");
    assert_eq!(s.left("b"), "review b, start c");
}

#[test]
fn a_run_is_left_when_only_reviews_are_and_goes_on_with_the_verdict() {
    let (mut s, _) = Script::start(approved("a; b <- a"), queue(1));
    assert_eq!(s.left("a"), "review a, stopped (Person)");
    let (s, told) = s.crash(queue(1));
    assert_eq!(told, "stopped (Person)", "taken up again, it still waits");
    let (mut s, told) = s.review_left("a", ReviewVerdict::Approved { commit: "a".into() });
    assert_eq!(told, "");
    assert_eq!(s.merged("a", ""), "merging a");
    assert_eq!(s.moved("a", true), "done a, start b");
}

/// A run of batches that was left for a review; the verdict comes long after, and another coordinator goes on.
#[test]
fn a_run_that_was_left_for_a_review_says_what_it_waits_for_until_it_goes_on() {
    let options = Options { strategy: Strategy::Batch, ..queue(2) };
    let (mut s, _) = Script::start(approved("a; b; c <- b"), options.clone());
    s.left("b");
    s.approve("b", "b");
    s.merged("b", "");
    s.moved("b", true);
    s.secs = 10;
    assert_eq!(s.left("a"), "review a, stopped (Person)");
    let ids = before_its_batch(s.scheduler.run(), &id("c"));
    assert_eq!(ids, [&id("a")], "c needs only b, and waits for its batch");
    assert!(before_its_batch(s.scheduler.run(), &id("a")).is_empty());
    let of = |log: &[Record]| needs::of(&Run::replay(log).unwrap(), false);
    assert_eq!(of(&s.log).iter().map(|need| need.kind).collect::<Vec<_>>(), [NeedKind::Review]);
    let later = |secs: u64| Now {
        at: Timestamp(1_000_000 + secs as i64 * 1_000),
        tick: Tick(secs * 1_000),
        jitter: 0.5,
    };
    let verdict = ReviewVerdict::Approved { commit: "a".into() };
    let request = Request::Review { task: id("a"), verdict };
    for event in Scheduler::ask_left(s.scheduler.run(), request, later(0)).unwrap() {
        let seq = s.log.last().unwrap().seq + 1;
        s.log.push(Record { seq, at: later(0).at, tick: later(0).tick, event });
    }
    let [need] = of(&s.log).try_into().unwrap();
    assert_eq!(need.kind, NeedKind::Left, "approved work lands only when the run goes on");
    assert!(need.words.contains("was not resumed"), "{}", need.words);
    let (scheduler, decision) = Scheduler::start(Run::replay(&s.log).unwrap(), options, later(0)).unwrap();
    let mut s = Script { scheduler, log: s.log, actions: Vec::new(), secs: 0 };
    s.told(decision);
    s.merged("a", "");
    let decision = s.scheduler.handle(later(2), Input::BranchMoved { to: "merged-a".into(), moved: true });
    assert_eq!(s.told(decision), "done a, start c");
    let result = s.scheduler.run().batches()[0].result.clone().unwrap();
    assert_eq!(result.elapsed, Millis::from_secs(12), "the time in between is not the batch's");
}

#[test]
fn what_is_sent_back_goes_on_in_its_conversation_with_the_comments() {
    let (mut s, _) = Script::start(approved("a"), queue(1));
    let attempt = s.attempt_of("a");
    s.input(Input::SessionStarted { task: id("a"), attempt, session: "s1".into() });
    s.left("a");
    let (mut s, _) = s.review_left("a", sent_back("a.rs:3: too long"));
    assert_eq!(s.wait(0), "start a#2");
    let Some(Action::Start { start_from: Some(start_from), .. }) = s.actions.last() else { panic!() };
    assert_eq!(start_from.session.as_deref(), Some("s1"));
    let (_, round) = start_from.round.as_ref().unwrap();
    assert_eq!((round.failure.class, &*round.failure.message), (FailureClass::SentBack, "a.rs:3: too long"));
    assert_eq!(s.left("a"), "review a, stopped (Person)", "what it did then is looked at again");
    let place = s.scheduler.run().place(&id("a")).unwrap();
    assert_eq!(s.scheduler.run().progress(place).tried, 1, "a round is no failed attempt");
}

#[test]
fn a_command_does_not_go_back() {
    let mut command = plan("a");
    command.tasks[0].land = Land::Approve;
    let (mut s, _) = Script::start(command, queue(1));
    s.left("a");
    let told = s.review("a", sent_back("again"));
    assert!(told.starts_with("refused: task 'a' is a command"), "{told}");
}

#[test]
fn what_is_dropped_or_cancelled_takes_those_behind_it_along() {
    let (mut s, _) = Script::start(approved("a; b <- a; c"), queue(1));
    s.left("a");
    assert_eq!(s.review("a", ReviewVerdict::Dropped), "dropped a, cancelled a, skip b (by a)");
    let (mut s, _) = Script::start(approved("a; b <- a; c"), queue(1));
    s.left("a");
    assert_eq!(s.ask(Request::Retry(id("a"))).split(':').next(), Some("refused"));
    assert_eq!(s.ask(Request::Cancel(id("a"))), "cancelled a, skip b (by a)");
}

#[test]
fn what_a_person_edited_lands_as_they_left_it() {
    let (mut s, _) = Script::start(approved("a; b"), queue(1));
    s.left("a");
    let change = Box::new(Change::new("base", "edited"));
    assert_eq!(s.review("a", ReviewVerdict::Edited { change }), "edited a");
    let [Action::Integrate { cars }] = &s.actions[..] else { panic!() };
    assert_eq!(cars[0].change.commit, "edited");
}

#[test]
fn what_was_mended_after_the_approval_is_asked_about_again() {
    let mut plan = approved("a; b");
    plan.tasks[0].on_conflict = OnConflict::Theirs;
    plan.tasks[0].fix_rounds = 1;
    let (mut s, _) = Script::start(plan, queue(2));
    s.left("a");
    s.approve("a", "a");
    assert_eq!(s.merged("", "a"), "unmerged a, mend a, start a#2");
    assert_eq!(s.left("a"), "review a", "another commit");
    s.approve("a", "a");
    let [Action::Integrate { cars }] = &s.actions[..] else { panic!() };
    assert_eq!(cars[0].favour, None, "a rule does not cut what was approved");
}

#[test]
fn files_are_free_while_the_work_waits_for_a_review() {
    let mut plan = approved("a; b");
    plan.tasks.iter_mut().for_each(|task| task.files = vec!["src/**".into()]);
    let (mut s, told) = Script::start(plan, queue(2));
    assert_eq!(told, "start a");
    assert_eq!(s.left("a"), "review a, start b");
}

#[test]
fn an_epic_that_lands_as_one_is_reviewed_as_one() {
    let mut plan = approved("a; b <- a; c <- b");
    let land = None;
    let (id, isolation_scope) = ("e".to_owned(), Scope::Epic);
    plan.epics = vec![Epic {
        id,
        name: None,
        dependencies: Vec::new(),
        isolation_scope,
        land,
        epic_landing: Default::default(),
    }];
    plan.tasks[0].epic = Some("e".into());
    plan.tasks[1].epic = Some("e".into());
    let (mut s, _) = Script::start(plan.clone(), queue(1));
    assert_eq!(s.left("a"), "start b");
    assert_eq!(s.left("b"), "review b, stopped (Person)");
    let (mut s, told) = s.review_left("b", ReviewVerdict::Approved { commit: "b".into() });
    assert_eq!(told, "");
    assert_eq!(s.merged("b", ""), "merging a, merging b");
    assert_eq!(s.moved("b", true), "done a, done b, start c");
    let (mut s, _) = Script::start(plan, queue(1));
    s.left("a");
    s.left("b");
    let (s, told) = s.review_left("b", ReviewVerdict::Dropped);
    assert_eq!(told, "finished (Cancelled)");
    drop(s);
}

#[test]
fn of_those_that_race_one_at_a_time_is_reviewed() {
    use crate::plan::{Entrant, Wins};
    let mut race = approved("a").tasks.remove(0);
    let entrants = race.raced(&[Entrant::default(), Entrant::default()], Wins::First).unwrap();
    let names: Vec<String> = entrants.iter().map(|task| task.id.to_string()).collect();
    let plan = Plan { tasks: std::iter::once(race).chain(entrants).collect(), ..Plan::default() };
    let (mut s, _) = Script::start(plan, queue(2));
    let (first, second) = (names[0].as_str(), names[1].as_str());
    assert_eq!(s.left(first), format!("review {first}"));
    assert_eq!(s.left(second), "stopped (Person)", "one at a time");
    let (s, told) = s.review_left("a", ReviewVerdict::Dropped);
    assert_eq!(told, "stopped (Person)", "the other one's turn");
    let (mut s, _) = s.review_left("a", ReviewVerdict::Approved { commit: second.into() });
    assert_eq!(s.merged(second, ""), format!("merging {second}"));
    assert!(s.moved(second, true).ends_with("done a, finished (Completed)"));
}

#[test]
fn whether_work_lands_by_itself_can_be_said_anew_each_time() {
    let (mut s, _) = Script::start(approved("a"), queue(1));
    s.left("a");
    let auto = Options { land: Some(Land::Auto), ..queue(1) };
    let (mut s, told) = s.crash(auto);
    assert_eq!(told, "approved a (a)");
    s.merged("a", "");
    assert_eq!(s.moved("a", true), "done a, finished (Completed)");
    let by_flag = Options { land: Some(Land::Approve), ..queue(1) };
    let (mut s, _) = Script::start(plan("a"), by_flag);
    assert_eq!(s.left("a"), "review a, stopped (Person)");
}
