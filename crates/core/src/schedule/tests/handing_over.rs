//! A run that is left to another coordinator while it goes on.

use super::*;

fn take_over(s: Script, at_work: &[&str], options: Options) -> (Script, String) {
    let of = |task: &&str| (id(task), Attached { attempt: Attempt(1), worked: Millis::from_secs(1) });
    let attached = at_work.iter().map(of).collect();
    let taken_over = Some(("1.0.0".to_owned(), "1.1.0".to_owned()));
    let run = Run::replay(&s.log).unwrap();
    let resume_state = ResumeState { attached, taken_over, ..ResumeState::default() };
    let (scheduler, decision) = Scheduler::take_up(run, options, now(0), resume_state).unwrap();
    let mut script = Script { scheduler, log: s.log, actions: Vec::new(), secs: 0 };
    let told = script.told(decision);
    (script, told)
}

fn handed_over() -> Input {
    Input::HandedOver { from: "1.0.0".into(), to: "1.1.0".into() }
}

#[test]
fn nothing_new_begins_while_the_run_is_held_back() {
    let (mut s, told) = Script::start(plan("a; b; c <- a"), queue(1));
    assert_eq!(told, "start a");
    assert_eq!(s.input(Input::HeldBack(true)), "");
    assert_eq!(s.ok("a"), "done a", "neither b nor c");
    assert_eq!(s.input(Input::HeldBack(false)), "start b");
}

#[test]
fn a_run_whose_last_tasks_end_meanwhile_is_over() {
    let (mut s, _) = Script::start(plan("a"), queue(1));
    s.input(Input::HeldBack(true));
    s.ok("a");
    assert!(s.actions.contains(&Action::Finish));
}

#[test]
fn one_that_is_being_left_is_left_by_the_next_coordinator() {
    let (mut s, _) = Script::start(plan("a; b"), queue(1));
    s.ask(Request::Drain);
    s.input(Input::HeldBack(true));
    s.ok("a");
    assert!(!s.actions.contains(&Action::Finish));
    s.input(handed_over());
    let (s, _) = take_over(s, &[], queue(1));
    assert!(s.actions.contains(&Action::Finish), "{:?}", s.actions);
    assert_eq!(s.scheduler.run().stage(), Stage::Stopped(DrainReason::User));
}

#[test]
fn what_people_wanted_holds_on_where_a_run_is_taken_over_and_not_where_it_is_resumed() {
    for is_taken_over in [true, false] {
        let (mut s, _) = Script::start(plan("a; b"), queue(1));
        s.ask(Request::Pause);
        s.input(Input::HeldBack(true));
        s.input(handed_over());
        let (mut s, told) = match is_taken_over {
            true => take_over(s, &["a"], queue(1)),
            false => s.crash(queue(1)),
        };
        assert_eq!(s.scheduler.run().is_paused(), is_taken_over);
        match is_taken_over {
            true => {
                assert_eq!(told, "again a");
                assert_eq!(s.ok("a"), "done a");
                assert_eq!(s.ask(Request::Continue), "start b");
            }
            false => assert!(told.contains("interrupted a"), "{told}"),
        }
        assert_eq!(&Run::replay(&s.log).unwrap(), s.scheduler.run());
    }
}
