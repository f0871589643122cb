//! The table of legal transitions: what a task's state becomes by an event about it, if anything.

use super::{Intent, Landing, Progress, Running, TaskState};
use crate::run::event::{Event, Outcome, Record, ReviewVerdict};
use crate::values::ids::TaskId;
use crate::values::units::Millis;

/// The task an event is about, and the event's name.
pub(crate) fn subject(event: &Event) -> Option<(&TaskId, &'static str)> {
    Some(match event {
        Event::AttemptStarted { task, .. } => (task, "attempt_started"),
        Event::ProcessStarted { task, .. } => (task, "process_started"),
        Event::AttemptLeased { task, .. } => (task, "attempt_leased"),
        Event::LeaseLost { task, .. } => (task, "lease_lost"),
        Event::ShimLost { task, .. } => (task, "shim_lost"),
        Event::AttemptReattached { task, .. } => (task, "attempt_reattached"),
        Event::SessionStarted { task, .. } => (task, "session_started"),
        Event::UsageReported { task, .. } => (task, "usage_reported"),
        Event::StopRequested { task, .. } => (task, "stop_requested"),
        Event::ExpertiseUsed { task, .. } => (task, "expertise_used"),
        Event::ExpertiseLearned { task, .. } => (task, "expertise_learned"),
        Event::AttemptEnded { task, .. } => (task, "attempt_ended"),
        Event::MergeIntended { task, .. } => (task, "merge_intended"),
        Event::MergeWithdrawn { task, .. } => (task, "merge_withdrawn"),
        Event::MergeFailed { task, .. } => (task, "merge_failed"),
        Event::WorkSetAside { task, .. } => (task, "work_set_aside"),
        Event::ReviewRequested { task, .. } => (task, "review_requested"),
        Event::ReviewGiven { task, .. } => (task, "review_given"),
        Event::RetryScheduled { task, .. } => (task, "retry_scheduled"),
        Event::ApprovalAsked { task, .. } => (task, "approval_asked"),
        Event::TaskReported { task, .. } => (task, "task_reported"),
        Event::QuestionAnswered { task, .. } => (task, "question_answered"),
        Event::WordsSent { task, .. } => (task, "words_sent"),
        Event::PriorityChanged { task, .. } => (task, "priority_changed"),
        Event::TaskCompleted { task, .. } => (task, "task_completed"),
        Event::TaskFailed { task, .. } => (task, "task_failed"),
        Event::RaceDecided { task, .. } => (task, "race_decided"),
        Event::TaskSkipped { task, .. } => (task, "task_skipped"),
        Event::TaskCancelled { task } => (task, "task_cancelled"),
        Event::TaskReopened { task } => (task, "task_reopened"),
        Event::TaskResolved { task, .. } => (task, "task_resolved"),
        _ => return None,
    })
}

/// The table of legal transitions; `None` is everything else.
pub(super) fn step(progress: &Progress, event: &Event, record: &Record) -> Option<TaskState> {
    use TaskState as S;
    Some(match (&progress.state, event) {
        (S::Pending | S::Waiting { .. }, Event::AttemptStarted { attempt, executor, .. })
            if attempt.0 == progress.last_attempt + 1 =>
        {
            S::Running(Running {
                attempt: *attempt,
                executor: *executor,
                since: record.tick,
                worked: Millis(0),
                process: None,
                worker: None,
                lost: false,
                stopping: None,
                ended: false,
                landing: None,
            })
        }
        (state, event) if leaves_state(event) && !state.status().is_end() => state.clone(),
        (S::Asking { .. }, Event::QuestionAnswered { .. }) => S::Pending,
        (S::Pending, Event::ApprovalAsked { question, .. }) if progress.last_attempt == 0 => {
            S::Asking { question: question.clone(), since: record.at }
        }
        (S::Running(running), event) if !running.ended => step_running(running, event, record)?,
        (
            S::Running(running),
            Event::MergeIntended { .. } | Event::MergeWithdrawn { .. } | Event::MergeFailed { .. },
        ) => step_landing(running, event)?,
        (S::Running(running), Event::ReviewRequested { attempt, .. }) => {
            let landing = running.landing.as_ref().filter(|landing| landing.intent.is_none())?;
            (running.attempt == *attempt && !landing.approved).then_some(())?;
            S::InReview { running: Box::new(running.clone()), since: record.at }
        }
        (S::InReview { running, .. }, Event::ReviewGiven { attempt, verdict, .. })
            if running.attempt == *attempt =>
        {
            S::Running(reviewed(running, verdict, record)?)
        }
        (S::Running(running), Event::WorkSetAside { attempt, .. }) => {
            let is_sent_off = running.landing.as_ref().is_some_and(|landing| landing.intent.is_some());
            (running.attempt == *attempt && !is_sent_off).then_some(S::Pending)?
        }
        (
            S::Pending | S::Waiting { .. } | S::Asking { .. } | S::InReview { .. },
            Event::WorkSetAside { attempt, .. },
        ) => (progress.last_attempt == attempt.0).then_some(S::Pending)?,
        (S::Running(_), Event::RetryScheduled { delay, .. }) => {
            S::Waiting { delay: *delay, since: record.at }
        }
        (S::Running(_), Event::ApprovalAsked { question, .. }) => {
            S::Asking { question: question.clone(), since: record.at }
        }
        (S::Racing | S::Pending, Event::RaceDecided { .. }) => S::Racing,
        (S::Running(_) | S::Racing, Event::TaskCompleted { .. }) => S::Completed,
        (
            S::Running(_) | S::Racing | S::Pending | S::Waiting { .. } | S::InReview { .. },
            Event::TaskFailed { failure, .. },
        ) => S::Failed(failure.clone()),
        (state, Event::TaskCancelled { .. }) if !state.status().is_end() => S::Cancelled,
        (state, Event::TaskSkipped { culprit, .. }) if !state.status().is_end() => {
            S::Skipped { culprit: culprit.clone() }
        }
        (S::Failed(_) | S::Skipped { .. } | S::Cancelled | S::Completed, Event::TaskReopened { .. }) => {
            S::Pending
        }
        (S::Failed(_), Event::TaskResolved { .. }) => S::Completed,
        _ => return None,
    })
}

/// What a person says of a task that has not ended, whatever it is at.
fn leaves_state(event: &Event) -> bool {
    matches!(event, Event::WordsSent { .. } | Event::PriorityChanged { .. })
}

fn step_running(running: &Running, event: &Event, record: &Record) -> Option<TaskState> {
    let mut next = running.clone();
    match event {
        Event::ProcessStarted { attempt, process, .. } if *attempt == running.attempt => {
            next.process = Some(*process);
        }
        Event::AttemptLeased { attempt, worker, .. }
            if *attempt == running.attempt && running.worker.is_none() =>
        {
            next.worker = Some(worker.clone());
        }
        Event::LeaseLost { attempt, worker, .. }
            if *attempt == running.attempt && running.worker.as_ref() == Some(worker) && !running.lost =>
        {
            next.lost = true;
        }
        Event::ShimLost { attempt, .. }
            if *attempt == running.attempt && running.worker.is_none() && !running.lost =>
        {
            next.lost = true;
        }
        Event::AttemptReattached { attempt, worked, .. } if *attempt == running.attempt => {
            (next.since, next.worked) = (record.tick, *worked);
        }
        Event::UsageReported { attempt, .. }
        | Event::SessionStarted { attempt, .. }
        | Event::TaskReported { attempt, .. }
        | Event::ExpertiseUsed { attempt, .. }
        | Event::ExpertiseLearned { attempt, .. }
            if *attempt == running.attempt => {}
        Event::StopRequested { attempt, why, .. } if *attempt == running.attempt => {
            next.stopping = Some(*why);
        }
        Event::AttemptEnded { attempt, outcome, change, .. } if *attempt == running.attempt => {
            match outcome {
                Outcome::Interrupted => return Some(TaskState::Pending),
                Outcome::Asked(question) => {
                    return Some(TaskState::Asking { question: question.clone(), since: record.at });
                }
                _ => {}
            }
            next.ended = true;
            // What an agent left that was cut short is gone on with, and does not land.
            let lands = change.as_deref().filter(|_| *outcome == Outcome::Succeeded);
            next.landing = lands.cloned().map(|change| {
                Box::new(Landing {
                    change,
                    intent: None,
                    since: record.seq,
                    tick: record.tick,
                    approved: false,
                })
            });
        }
        _ => return None,
    }
    Some(TaskState::Running(next))
}

/// An approval counts for the commit that it names, and for no other.
fn reviewed(running: &Running, verdict: &ReviewVerdict, record: &Record) -> Option<Running> {
    let mut next = running.clone();
    let landing = next.landing.as_mut()?;
    match verdict {
        ReviewVerdict::Approved { commit } if *commit == landing.change.commit => {}
        ReviewVerdict::Approved { .. } => return None,
        ReviewVerdict::Edited { change } => landing.change = change.as_ref().clone(),
        ReviewVerdict::SentBack { .. } | ReviewVerdict::Dropped => {
            next.landing = None;
            return Some(next);
        }
    }
    (landing.approved, landing.tick) = (true, record.tick);
    Some(next)
}

fn step_landing(running: &Running, event: &Event) -> Option<TaskState> {
    let mut next = running.clone();
    match event {
        Event::MergeIntended { attempt, from, to, last, .. } if *attempt == running.attempt => {
            let last = last.as_ref().unwrap_or(to).clone();
            next.landing.as_mut()?.intent = Some(Intent { from: from.clone(), to: to.clone(), last });
        }
        Event::MergeWithdrawn { attempt, .. } if *attempt == running.attempt => {
            next.landing.as_mut()?.intent = None;
        }
        Event::MergeFailed { attempt, .. } if *attempt == running.attempt => {
            next.landing.take()?;
        }
        _ => return None,
    }
    Some(TaskState::Running(next))
}
