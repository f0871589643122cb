//! The events that are recorded when a person changes a run without a coordinator, and nothing else.
//!
//! A run with a coordinator is changed by its scheduler alone. The caller looks up where a commit is.

use crate::plan::{Amendment, Edit, Plan, Task};
use crate::run::event::{Answer, Change, DrainReason, Event, RunOutcome};
use crate::run::event::{FOLLOW_UP, RECOVERY};
use crate::run::{Run, Stage, Status, TaskState};
use crate::schedule::{Refusal, failure_asked_about};
use crate::values::ids::TaskId;

/// A failed task's work is on the branch after all: `change` leads from where the branch was to where it is. Where that
/// was the last thing missing, the run is completed.
pub fn resolved(run: &Run, task: &TaskId, change: Change) -> Vec<Event> {
    let commit = change.commit.clone();
    let race = run.place(task).and_then(|place| run.raced_by(place)).map(|race| run.task(race).0.id.clone());
    let also = race.map(|task| Event::TaskResolved { task, commit: commit.clone(), change: None });
    let own =
        Event::TaskResolved { task: task.clone(), commit: commit.clone(), change: Some(Box::new(change)) };
    let mut events: Vec<Event> = std::iter::once(own).chain(also).collect();
    if run.count(Status::Completed) + 1 == run.total() {
        events.push(Event::RunFinished { outcome: RunOutcome::Completed });
    }
    events
}

/// An edit of a run's file, as far as the run can take it over when what ended badly is done again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Retaken {
    pub amendment: Amendment,
    /// Edited tasks that have landed, or have begun and go on: they keep their text.
    pub kept: Vec<TaskId>,
    /// Tasks that are not in the file any more, and stay.
    pub removed: Vec<TaskId>,
    /// Whether something beside tasks, groups and epics is different.
    pub settings: bool,
}

/// What a file that is read again says otherwise than its run. Tasks that agents added are in no file.
pub fn edited(run: &Run, file: &Plan) -> Retaken {
    let Edit { mut amendment, removed, settings } = Edit::between(run.plan(), file);
    let keeps = |task: &Task| match run.place(&task.id).map(|place| run.progress(place)) {
        None => false,
        Some(progress) => match progress.state.status() {
            Status::Failed | Status::Skipped | Status::Cancelled => false,
            Status::Pending => progress.begun,
            Status::Completed | Status::Running | Status::Waiting => true,
        },
    };
    let (kept, taken) = std::mem::take(&mut amendment.tasks).into_iter().partition(keeps);
    amendment.tasks = taken;
    let removed = removed.into_iter().filter(|task| !run.follow_ups().contains(task)).collect();
    Retaken { amendment, kept: Vec::into_iter(kept).map(|task| task.id).collect(), removed, settings }
}

/// The branch was set back to a commit: what had landed and is not there any more is to be done again. Nothing where
/// the log says all that already.
pub fn rolled_back(run: &Run, to: &str, is_there: impl Fn(&str) -> bool) -> Vec<Event> {
    let lost = run
        .tasks()
        .filter(|(_, progress)| progress.state == TaskState::Completed)
        .filter(|(_, progress)| progress.landed.as_ref().is_some_and(|landed| !is_there(&landed.commit)));
    // An entrant that was beaten may win the next time.
    let beaten = |task: &crate::plan::Task| {
        let place = run.place(&task.id).unwrap_or_default();
        let ended =
            |at: &&usize| run.progress(**at).state.status().is_end() && run.winner(place) != Some(**at);
        run.entrants(place).iter().filter(ended).map(|&at| run.task(at).0.id.clone()).collect::<Vec<_>>()
    };
    let mut events: Vec<Event> = lost
        .flat_map(|(task, _)| std::iter::once(task.id.clone()).chain(beaten(task)))
        .map(|task| Event::TaskReopened { task })
        .collect();
    let reopened = !events.is_empty();
    if reopened || run.tip().is_some_and(|tip| tip != to) {
        events.push(Event::BranchRolledBack { to: to.to_owned() });
    }
    if reopened && matches!(run.stage(), Stage::Finished(_)) {
        // It has tasks to do again, so it is not over any more.
        events.push(Event::RunStopped { why: DrainReason::User });
    }
    events
}

/// A person answers what a task has asked.
pub fn answered(run: &Run, task: &TaskId, answer: Answer) -> Result<Vec<Event>, Refusal> {
    let place = run.place(task).ok_or_else(|| Refusal::UnknownTask(task.clone()))?;
    match &run.progress(place).state {
        TaskState::Asking { question, .. } => {
            // No to the question whether something is done at all is its end.
            let end = match question.tool.as_str() {
                _ if answer.allow => None,
                RECOVERY => {
                    let failure = failure_asked_about(run, place);
                    Some(Event::TaskFailed { task: task.clone(), failure })
                }
                FOLLOW_UP => Some(Event::TaskCancelled { task: task.clone() }),
                _ => None,
            };
            let answered = Event::QuestionAnswered { task: task.clone(), answer };
            Ok(std::iter::once(answered).chain(end).collect())
        }
        state => Err(Refusal::WrongStatus {
            task: task.clone(),
            status: state.status(),
            wants: "it has asked nothing",
        }),
    }
}

/// A person says something to the agent that works on a task next.
pub fn told(run: &Run, task: &TaskId, words: String) -> Result<Vec<Event>, Refusal> {
    let place = run.place(task).ok_or_else(|| Refusal::UnknownTask(task.clone()))?;
    match run.progress(place).state.status() {
        status if status.is_end() => Err(Refusal::WrongStatus {
            task: task.clone(),
            status,
            wants: "only a task that has not ended takes messages",
        }),
        _ => Ok(vec![Event::WordsSent { task: task.clone(), words, unheard: true }]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sketch::{id, plan};
    use crate::run::event::{Failure, FailureClass, Options, Outcome, Touched};
    use crate::schedule::tests::apply;
    use crate::schedule::{Action, Input, LeftBehind, Scheduler, Stacked};
    use crate::values::ids::Attempt;
    use crate::values::units::Now;

    /// `good` has landed, `bad` does not merge.
    fn ended() -> Run {
        let (run, _) = Run::create(plan("good; bad"), Now::default());
        let (mut scheduler, _) = Scheduler::start(run, Options::with_slots(2), Now::default()).unwrap();
        for name in ["good", "bad"] {
            let (attempt, change) = (Attempt(1), Some(Box::new(Change::new("base", name))));
            let outcome = Outcome::Succeeded;
            scheduler.handle(
                Now::default(),
                Input::AttemptEnded { task: id(name), attempt, outcome, change, phases: None },
            );
        }
        let stacked = vec![Stacked { task: id("good"), attempt: Attempt(1), to: "landed".into() }];
        for input in [
            Input::MergesPrepared { from: "base".into(), stacked, failed: vec![] },
            Input::BranchMoved { to: "landed".into(), moved: true },
            Input::MergesPrepared {
                from: "landed".into(),
                stacked: vec![],
                failed: vec![LeftBehind {
                    task: id("bad"),
                    attempt: Attempt(1),
                    failure: Failure::new(FailureClass::Conflict, "conflicts"),
                }],
            },
        ] {
            scheduler.handle(Now::default(), input);
        }
        let run = scheduler.into_run();
        assert_eq!(run.stage(), Stage::Finished(RunOutcome::Failed));
        run
    }

    fn resolve() -> Run {
        let mut run = ended();
        let touched = Touched { files: vec!["f".into()], added: 3, removed: 1, ..Touched::default() };
        let change = Change { touched, ..Change::new("landed", "resolved") };
        let events = resolved(&run, &id("bad"), change);
        apply(&mut run, &events);
        run
    }

    #[test]
    fn the_last_task_resolved_completes_the_run() {
        let run = resolve();
        assert_eq!(run.stage(), Stage::Finished(RunOutcome::Completed));
        assert_eq!(run.tip(), Some("resolved"));
        let landed = run.progress(1).landed.as_ref().unwrap();
        assert_eq!((landed.commit.as_str(), landed.touched.added), ("resolved", 3));
    }

    #[test]
    fn a_rollback_reopens_what_is_not_there_any_more_and_the_run_goes_on() {
        let mut run = resolve();
        let events = rolled_back(&run, "landed", |commit| commit == "landed");
        assert_eq!(
            events,
            [
                Event::TaskReopened { task: id("bad") },
                Event::BranchRolledBack { to: "landed".into() },
                Event::RunStopped { why: DrainReason::User },
            ]
        );
        apply(&mut run, &events);
        assert_eq!((run.tip(), run.all_ended()), (Some("landed"), false));
        assert!(rolled_back(&run, "landed", |commit| commit == "landed").is_empty(), "said once");
        let (_, first) = Scheduler::start(run, Options::with_slots(2), Now::default()).unwrap();
        assert!(matches!(&first.actions[..], [Action::Start { task, .. }] if *task == id("bad")));
    }

    #[test]
    fn a_rollback_that_takes_no_work_is_only_noted() {
        let run = ended();
        let events = rolled_back(&run, "further", |_| true);
        assert_eq!(events, [Event::BranchRolledBack { to: "further".into() }]);
    }
}
