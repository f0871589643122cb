//! One task in the list.

use conductor_core::run::event::{ASK_HUMAN, FOLLOW_UP, RECOVERY, Usage};
use conductor_core::run::{Run, TaskState, costs};
use conductor_core::schedule::Wait;
use conductor_core::values::units::Millis;

use super::live::{Live, phase_word};
use super::state::{self, State};
use super::text::clean;
use super::times;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) state: State,
    pub(crate) id: String,
    /// The state, or what it is doing.
    pub(crate) word: &'static str,
    pub(crate) elapsed: String,
    pub(crate) cost: String,
    /// Something short that is worth knowing.
    pub(crate) note: String,
}

impl Row {
    pub(crate) fn of(run: &Run, place: usize, live: &Live) -> Row {
        let (task, progress) = run.task(place);
        let state = State::of(progress);
        let elapsed = match &progress.state {
            TaskState::Running(_) => live.since(&task.id).or_else(|| spent_time(run, place)),
            TaskState::Pending => None,
            _ => spent_time(run, place),
        };
        Row {
            state,
            id: task.id.to_string(),
            word: word(run, place, live),
            elapsed: elapsed.map(times::briefly).unwrap_or_default(),
            cost: cost(run.usage(place)),
            note: note(run, place, live),
        }
    }
}

/// Nothing where it has not begun.
fn spent_time(run: &Run, place: usize) -> Option<Millis> {
    let took = run.took(place);
    (took.0 > 0 || run.progress(place).last_attempt > 0).then_some(took)
}

/// Nothing where no model was used.
pub(crate) fn cost(usage: Usage) -> String {
    match usage.tokens == 0 && usage.cost.0 == 0 {
        true => String::new(),
        false => costs::words(usage),
    }
}

fn word(run: &Run, place: usize, live: &Live) -> &'static str {
    let (task, progress) = run.task(place);
    match &progress.state {
        TaskState::Running(running) => match live.at_work(&task.id) {
            Some(at_work) => phase_word(at_work.phase),
            None if running.ended => "landing",
            None => "working",
        },
        TaskState::Racing => "racing",
        TaskState::Asking { question, .. } => match question.tool.as_str() {
            ASK_HUMAN => "question",
            FOLLOW_UP => "follow-up",
            RECOVERY => "recovery",
            _ => "permission",
        },
        TaskState::InReview { .. } => "review",
        TaskState::Waiting { .. } => "retry",
        _ => state::word(State::of(progress)),
    }
}

fn note(run: &Run, place: usize, live: &Live) -> String {
    let (task, progress) = run.task(place);
    match &progress.state {
        TaskState::Running(_) => {
            run.agent_choice(place).map(|choice| choice.agent.clone()).unwrap_or_default()
        }
        TaskState::Asking { .. } | TaskState::InReview { .. } => "for you".to_owned(),
        TaskState::Waiting { .. } => match live.waits(&task.id).and_then(<[Wait]>::first) {
            Some(Wait::Retry { left, .. }) => format!("in {}", times::briefly(*left)),
            _ => String::new(),
        },
        TaskState::Failed(failure) => clean(failure.message.lines().next().unwrap_or("")),
        TaskState::Skipped { culprit: Some(culprit) } => format!("for {culprit}"),
        TaskState::Completed => progress.ended.map(times::of_day).unwrap_or_default(),
        _ => String::new(),
    }
}
