//! Requests to a run that is not active: what they are recorded as, and what a coordinator makes of that.

use super::*;
use crate::plan::Amendment;
use crate::run::Stage;
use crate::run::event::RunOutcome;

/// The run with what was asked of it in its log.
fn asked(run: &Run, request: Request) -> Result<Run, Refusal> {
    let events = Scheduler::ask_left(run, request, Now::default())?;
    Ok(with(run, &events))
}

fn with(run: &Run, events: &[Event]) -> Run {
    let mut run = run.clone();
    apply(&mut run, events);
    run
}

fn states(run: &Run) -> String {
    let each = run.tasks().map(|(task, progress)| format!("{} {}", task.id, progress.state.status()));
    each.collect::<Vec<_>>().join(", ")
}

/// The run as it is when its coordinator was killed with `a` at work.
fn killed(text: &str) -> Run {
    let (script, told) = Script::start(plan(text), queue(1));
    assert_eq!(told, "start a");
    script.scheduler.into_run()
}

#[test]
fn what_was_at_work_is_ended_by_the_next_coordinator_and_not_begun_again() {
    let run = asked(&killed("a; b <- a; c"), Request::Cancel(id("a"))).unwrap();
    assert_eq!(states(&run), "a running, b pending, c pending");
    assert!(!is_called_off(&run), "c can begin");
    let (scheduler, first) = Scheduler::start(run, queue(1), Now::default()).unwrap();
    assert_eq!(states(scheduler.run()), "a cancelled, b skipped, c running");
    assert!(matches!(&first.actions[..], [Action::Start { task, .. }] if *task == id("c")));
}

#[test]
fn a_second_word_that_cancels_counts_more_than_a_first_that_interrupts() {
    let (mut script, _) = Script::start(plan("a; b"), queue(1));
    script.ask(Request::Stop);
    let run = asked(script.scheduler.run(), Request::CancelAll).unwrap();
    assert!(is_called_off(&run));
    let (scheduler, first) = Scheduler::start(run, queue(1), Now::default()).unwrap();
    assert_eq!(first.actions, [Action::Finish]);
    assert_eq!(states(scheduler.run()), "a cancelled, b cancelled");
    assert_eq!(scheduler.run().stage(), Stage::Finished(RunOutcome::Cancelled));
}

#[test]
fn one_that_is_retried_opens_a_run_that_was_over() {
    let (mut script, _) = Script::start(plan("a; b <- a; c"), queue(2));
    script.fail("a");
    script.ok("c");
    let run = asked(script.scheduler.run(), Request::Retry(id("a"))).unwrap();
    assert_eq!(states(&run), "a pending, b pending, c completed");
    assert_eq!(run.stage(), Stage::Stopped(DrainReason::User));
    let refused = asked(script.scheduler.run(), Request::Retry(id("c")));
    assert!(matches!(refused, Err(Refusal::WrongStatus { .. })));
}

#[test]
fn what_is_skipped_takes_along_what_needs_it_and_nothing_starts() {
    let run = asked(&killed("a; x <- a; y <- x; b; c <- b"), Request::Skip(id("b"))).unwrap();
    assert_eq!(states(&run), "a running, x pending, y pending, b skipped, c skipped");
}

#[test]
fn only_what_changes_tasks_can_be_asked() {
    for request in [Request::Pause, Request::SetSlots(3), Request::Drain] {
        assert!(matches!(asked(&killed("a"), request), Err(Refusal::NotPossible(_))));
    }
}

#[test]
fn an_edit_is_taken_over_by_what_is_done_again_and_kept_out_of_what_is_done() {
    let (mut script, _) = Script::start(plan("a; b <- a; c"), queue(2));
    script.fail("a");
    script.ok("c");
    let run = script.scheduler.run();
    let edit = |text: &str| Amendment { tasks: plan(text).tasks, ..Amendment::default() };
    let events = Scheduler::retry_edited(run, edit("a <- d; d"), Now::default()).unwrap();
    let taken = with(run, &events);
    assert_eq!(states(&taken), "a pending, b pending, c completed, d pending");
    let (_, first) = Scheduler::start(taken, queue(2), Now::default()).unwrap();
    assert!(matches!(&first.actions[..], [Action::Start { task, .. }] if *task == id("d")));
    let circle = Scheduler::retry_edited(run, edit("a <- b"), Now::default());
    assert!(matches!(circle, Err(Refusal::NotPossible(_))));
    let landed = Scheduler::retry_edited(run, edit("c <- a"), Now::default());
    assert!(matches!(landed, Err(Refusal::Begun(task)) if task == id("c")));
}

#[test]
fn a_run_is_cancelled_where_all_that_is_missing_was_and_failed_where_anything_did() {
    let (mut script, _) = Script::start(plan("a; b <- a; c"), queue(2));
    script.ok("c");
    script.ask(Request::Cancel(id("a")));
    script.fail("a");
    assert_eq!(script.scheduler.run().stage(), Stage::Finished(RunOutcome::Cancelled));
    let (mut script, _) = Script::start(plan("a; c"), queue(2));
    script.fail("c");
    script.ask(Request::Cancel(id("a")));
    script.fail("a");
    assert_eq!(script.scheduler.run().stage(), Stage::Finished(RunOutcome::Failed));
}

#[test]
fn work_that_is_being_merged_is_not_said_to_be_cancelled() {
    let (mut script, _) = Script::start(plan("a"), queue(1));
    let change = Some(Box::new(crate::run::event::Change::new("base", "work")));
    let (task, attempt, outcome) = (id("a"), Attempt(1), Outcome::Succeeded);
    script
        .scheduler
        .handle(Now::default(), Input::AttemptEnded { task, attempt, outcome, change, phases: None });
    let told = script.ask(Request::Cancel(id("a")));
    assert!(told.contains("refused: task 'a' is running; its work is being merged"), "{told}");
}

/// What comes after the end begins; what has ended stays as it is.
#[test]
fn tasks_join_a_run_that_was_over_and_open_nothing_else() {
    let (mut script, _) = Script::start(plan("a; b <- a"), queue(1));
    script.fail("a");
    let run = script.scheduler.into_run();
    assert_eq!(run.stage(), Stage::Finished(RunOutcome::Failed));
    let joins = Amendment { tasks: plan("c").tasks, by: Some(id("a")), ..Amendment::default() };
    let run = with(&run, &Scheduler::join_left(&run, joins, Now::default()).unwrap());
    assert_eq!(states(&run), "a failed, b skipped, c pending");
    assert!(run.follow_ups().contains(&id("c")));
    let (scheduler, first) = Scheduler::start(run, queue(1), Now::default()).unwrap();
    assert!(matches!(&first.actions[..], [Action::Start { task, .. }] if *task == id("c")));
    assert_eq!(states(scheduler.run()), "a failed, b skipped, c running");
}

/// Also an attempt that goes on with a conversation is told, once.
#[test]
fn what_is_said_while_no_coordinator_is_there_is_told_to_the_next_attempt() {
    let run = killed("a");
    let told = crate::schedule::amend::told(&run, &id("a"), "mind the tests".to_owned()).unwrap();
    let run = with(&run, &told);
    let unheard = |run: &Run| run.repeats(0).map_or(0, |repeats| repeats.unheard.len());
    assert_eq!(unheard(&run), 1);
    let (mut scheduler, first) = Scheduler::start(run, queue(1), Now::default()).unwrap();
    let [Action::Start { attempt, start_from: Some(from), .. }] = &first.actions[..] else {
        panic!("{:?}", first.actions)
    };
    assert_eq!(
        (from.words.as_slice(), from.unheard.as_slice()),
        (&["mind the tests".to_owned()][..], &["mind the tests".to_owned()][..])
    );
    let (task, attempt, session) = (id("a"), *attempt, "s-1".to_owned());
    scheduler.handle(now(1), Input::SessionStarted { task, attempt, session });
    assert_eq!(unheard(scheduler.run()), 0);
    let live = Input::Asked(Request::Tell { task: id("a"), words: "and the docs".to_owned() });
    scheduler.handle(now(2), live);
    assert_eq!(unheard(scheduler.run()), 0, "it is said right away");
}
