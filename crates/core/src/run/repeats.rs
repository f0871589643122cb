//! How tasks came to be done more than once, or by another agent than planned.

use std::collections::BTreeMap;

use crate::plan::graph::Node;
use crate::run::event::RECOVERY;
use crate::run::event::{
    Again, Answer, Change, Event, Failure, FailureClass, Outcome, Question, Round, SetAside, StopReason,
};
use crate::values::ids::TaskId;

use super::{Run, TaskState};

/// How a task came to be done more than once. Few have that, so it is kept apart from what every task has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repeats {
    /// Rounds of mending and beginnings anew since it was last opened.
    pub rounds: u32,
    pub anew: u32,
    /// What its next attempt is to mend, or to go on with.
    pub round: Option<Round>,
    /// Why what it did last did not land; its next attempt begins without that.
    pub set_back: Option<Failure>,
    /// The conversation of its last attempt, and with whom.
    pub session: Option<(String, String)>,
    /// The executor that began it, in its workspace.
    pub session_of: Option<u32>,
    /// What it asked, and was answered.
    pub answers: Vec<(Question, Answer)>,
    /// Messages of people to the agent that works on it.
    pub words: Vec<String>,
    /// Those of them that came while the run was not active, until an attempt has had them.
    pub unheard: Vec<String>,
    /// Agents that could not do it, for reasons of their own.
    pub unfit: Vec<String>,
    /// How many of its models could not do it.
    pub models: u32,
    /// What it failed of, where a person may be asked about that.
    pub failure: Option<Failure>,
    /// Whether the branch was remembered before it began.
    pub secured: bool,
    /// Its last attempt ended without a fault of its work: another one goes on with that.
    pub cut_short: bool,
    /// Attempts whose work was bad, by any agent.
    pub bad_tries: u32,
    /// How often it was stopped for something more urgent since it was last opened.
    pub preempted: u32,
    /// How many workers were lost while they were at it, since it was last opened.
    pub lost_workers: u32,
    /// How many shims were lost while they held an agent of it, since it was last opened.
    pub lost_shims: u32,
    /// Work that had not landed when its last attempt began on it: whose, and which commit.
    pub stack: BTreeMap<TaskId, String>,
    /// What it would begin on does not fit what has landed: it waits until all of that has.
    pub does_not_fit: bool,
}

impl Run {
    /// Whether its last attempt began on work that has not landed yet.
    pub(crate) fn lands_after_another(&self, place: usize) -> bool {
        let is_open = |task: &TaskId| {
            self.place(task).is_some_and(|place| self.tasks[place].state != TaskState::Completed)
        };
        self.repeats.get(&(place as Node)).is_some_and(|repeats| repeats.stack.keys().any(is_open))
    }

    /// Most events say nothing of it, and most runs have none.
    pub(super) fn account_repeats(&mut self, place: usize, event: &Event) {
        let node = place as Node;
        if let Event::AttemptEnded { outcome: Outcome::Failed(failure), .. }
        | Event::MergeFailed { failure, .. } = event
        {
            self.account_failure(place, failure);
        }
        match event {
            Event::MergeFailed { failure, .. } if self.agent_choice.contains_key(&node) => {
                self.repeats.entry(node).or_default().set_back = Some(failure.clone());
            }
            Event::AttemptStarted { on, .. } => {
                if !on.is_empty() {
                    self.repeats.entry(node).or_default().stack = on.clone();
                } else if let Some(repeats) = self.repeats.get_mut(&node) {
                    (repeats.stack, repeats.does_not_fit) = (BTreeMap::new(), false);
                }
            }
            Event::WorkSetAside { why, .. } => {
                let repeats = self.repeats.entry(node).or_default();
                (repeats.round, repeats.session, repeats.cut_short) = (None, None, false);
                repeats.answers.clear();
                repeats.stack.clear();
                repeats.does_not_fit = *why == SetAside::DoesNotFit;
            }
            Event::SessionStarted { session, .. } => self.account_session(place, session),
            Event::RetryScheduled { again, .. } => self.account_retry(node, again),
            // A task that has not begun asked nothing itself: the question was whether to do it.
            Event::QuestionAnswered { answer, .. } if self.tasks[place].last_attempt > 0 => {
                if let TaskState::Asking { question, .. } = &self.tasks[place].state
                    && question.tool != RECOVERY
                {
                    let answered = (question.as_ref().clone(), answer.clone());
                    self.repeats.entry(node).or_default().answers.push(answered);
                }
            }
            Event::TaskFailed { failure, .. }
                if failure.class == FailureClass::HeldBack && self.agent_choice.contains_key(&node) =>
            {
                let change = self.tasks[place].state.landing().map(|landing| landing.change.clone());
                let repeats = self.repeats.entry(node).or_default();
                repeats.round = change.map(|change| left_behind(&change, &failure.message));
                repeats.cut_short = true;
            }
            Event::StopRequested { why: StopReason::Preempted, .. } => {
                self.repeats.entry(node).or_default().preempted += 1;
            }
            Event::LeaseLost { .. } => self.repeats.entry(node).or_default().lost_workers += 1,
            Event::ShimLost { .. } => self.repeats.entry(node).or_default().lost_shims += 1,
            Event::WordsSent { words, unheard, .. } => self.account_words(node, words, *unheard),
            Event::AttemptEnded { outcome, change, .. } => {
                self.account_end(node, outcome, change.as_deref());
                self.account_hearing(node, outcome);
            }
            Event::TaskReopened { .. } => self.account_reopening(node),
            _ => {}
        }
    }

    fn account_words(&mut self, node: Node, words: &str, unheard: bool) {
        let repeats = self.repeats.entry(node).or_default();
        repeats.words.push(words.to_owned());
        repeats.unheard.extend(unheard.then(|| words.to_owned()));
    }

    /// An attempt that was not cut short has heard all there was to hear.
    fn account_hearing(&mut self, node: Node, outcome: &Outcome) {
        if !matches!(outcome, Outcome::Interrupted)
            && let Some(repeats) = self.repeats.get_mut(&node)
        {
            repeats.unheard.clear();
        }
    }

    fn account_reopening(&mut self, node: Node) {
        let Some(before) = self.repeats.remove(&node).filter(|repeats| repeats.cut_short) else { return };
        let Repeats { round, session, session_of, answers, words, unheard, stack, .. } = before;
        let kept =
            Repeats { round, session, session_of, answers, words, unheard, stack, ..Repeats::default() };
        self.repeats.insert(node, kept);
    }

    fn account_session(&mut self, place: usize, session: &str) {
        let node = place as Node;
        let agent = self
            .agent_choice
            .get(&node)
            .map_or_else(|| self.plan.tasks[place].agent_name(), |choice| &choice.agent);
        let session = (agent.to_owned(), session.to_owned());
        let executor = self.tasks[place].executor;
        let repeats = self.repeats.entry(node).or_default();
        repeats.unheard.clear();
        // One that goes on is told of again.
        if repeats.session.as_ref() != Some(&session) {
            (repeats.session, repeats.session_of) = (Some(session), executor);
        }
    }

    /// Why it is to be done once more.
    fn account_retry(&mut self, node: Node, again: &Again) {
        match again {
            Again::Mend(round) => {
                let repeats = self.repeats.entry(node).or_default();
                repeats.rounds += 1;
                repeats.round = Some(round.as_ref().clone());
            }
            // A person's word opens the rounds of mending anew.
            Again::SentBack(round) => {
                let repeats = self.repeats.entry(node).or_default();
                (repeats.rounds, repeats.round) = (0, Some(round.as_ref().clone()));
            }
            Again::Model => {
                self.repeats.entry(node).or_default().models += 1;
            }
            Again::Back => {
                let repeats = self.repeats.entry(node).or_default();
                (repeats.session, repeats.round) = (None, None);
                repeats.answers.clear();
            }
            Again::Anew => {
                let repeats = self.repeats.entry(node).or_default();
                repeats.anew += 1;
                repeats.session = None;
            }
            Again::Failed | Again::Other => {}
        }
    }

    /// What its attempt left for the next one.
    fn account_end(&mut self, node: Node, outcome: &Outcome, change: Option<&Change>) {
        match (outcome, change) {
            (Outcome::Interrupted | Outcome::Asked(_), Some(change)) => {
                self.repeats.entry(node).or_default().round = Some(left_behind(change, "it was cut short"));
            }
            (Outcome::Interrupted | Outcome::Asked(_), None) => {}
            (Outcome::Failed(failure), change)
                if failure.class.cuts_short() && self.agent_choice.contains_key(&node) =>
            {
                self.account_unfit(node, outcome);
                let repeats = self.repeats.entry(node).or_default();
                repeats.round =
                    change.map(|change| left_behind(change, &failure.message)).or(repeats.round.take());
                repeats.cut_short = true;
            }
            (outcome, _) if !self.repeats.is_empty() || !self.agent_choice.is_empty() => {
                let failed = matches!(outcome, Outcome::Failed(_));
                self.account_unfit(node, outcome);
                if let Some(repeats) = self.repeats.get_mut(&node) {
                    (repeats.round, repeats.set_back, repeats.cut_short) = (None, None, false);
                    repeats.session = repeats.session.take().filter(|_| !failed);
                }
            }
            _ => {}
        }
    }

    fn account_failure(&mut self, place: usize, failure: &Failure) {
        if self.plan.tasks[place].recovery.as_ref().is_some_and(|recovery| recovery.asks()) {
            self.repeats.entry(place as Node).or_default().failure = Some(failure.clone());
        }
    }

    fn account_unfit(&mut self, node: Node, outcome: &Outcome) {
        let (Outcome::Failed(failure), Some(choice)) = (outcome, self.agent_choice.get(&node)) else {
            return;
        };
        if !failure.class.is_agents_own() {
            self.repeats.entry(node).or_default().bad_tries += 1;
        } else {
            let unfit = &mut self.repeats.entry(node).or_default().unfit;
            if !unfit.contains(&choice.agent) {
                unfit.push(choice.agent.clone());
            }
        }
    }
}

/// What an attempt that was cut short left, for the next one to go on with.
fn left_behind(change: &Change, why: &str) -> Round {
    let message = format!("{why}; the files are as they were left");
    let failure = Failure::new(FailureClass::Killed, message);
    Round { change: change.clone(), failure }
}
