//! What goes on between a task's rounds and attempts: the conversation, what was asked and answered, what people said.

use conductor_core::run::event::{Failure, FailureClass};
use conductor_core::values::ids::TaskId;

use super::{AttemptContext, MessageQueue};
use crate::agents::{self, Questions, Session};
use crate::worker::feedback::{Feedback, News};

/// What goes on between a task's rounds, beyond its files.
pub(super) struct SessionState {
    pub(super) session: Session,
    /// It was begun by an earlier attempt, and nothing has been heard of it yet.
    resumed: bool,
    pub(super) questions: Questions,
    /// What people had to say before it began.
    words: Vec<String>,
    /// Those of it that came while the run was not active.
    unheard: Vec<String>,
    /// Whether it has used anything.
    pub(super) spent: bool,
    /// What it is told of the last question it has put.
    answered: Option<String>,
    /// Why what it did before did not land, where its files are without that now.
    set_back: Option<Failure>,
}

impl SessionState {
    pub(super) fn new(context: &AttemptContext<'_>) -> SessionState {
        let mut start_from = context.order.start_from.as_deref().cloned().unwrap_or_default();
        let agent = agents::agent(context.plan, context.task.agent_name());
        if start_from.moved && agent.is_ok_and(|agent| agent.stays_where_it_began()) {
            start_from.session = None;
        }
        let begun = start_from.session.is_some();
        let id = match context.order.choice {
            Some(_) => start_from.session.unwrap_or_else(new_session),
            None => String::new(),
        };
        let session = Session { id, begun };
        let answered = start_from.answers.last().map(|(question, answer)| agents::told(question, answer));
        let questions = Questions::answered(start_from.answers);
        let (words, unheard, set_back) = (start_from.words, start_from.unheard, start_from.set_back);
        SessionState { session, resumed: begun, questions, words, unheard, spent: false, answered, set_back }
    }

    /// As it was when another coordinator began a round.
    pub(super) fn of_round(
        context: &AttemptContext<'_>,
        session: Session,
        resumed: bool,
        spent: bool,
    ) -> SessionState {
        // What the round began with, it was told.
        let told = (Vec::new(), None, None);
        let (unheard, answered, set_back) = told;
        SessionState { session, resumed, spent, unheard, answered, set_back, ..SessionState::new(context) }
    }

    pub(super) fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// What the first round starts from, if not from nothing.
    pub(super) fn feedback(&mut self, context: &AttemptContext<'_>) -> Option<Feedback> {
        if let Some(failure) = self.set_back.take() {
            return Some(Feedback { round: 0, news: News::SetBack(failure) });
        }
        let before = context.request.round.as_ref();
        match self.answered.take() {
            Some(told) => {
                let round = before.map_or(0, |(number, _)| *number);
                Some(Feedback { round, news: News::Answered(told) })
            }
            None if self.session.begun && before.is_none() => {
                Some(Feedback { round: 0, news: News::CutShort })
            }
            None => before.map(|(number, round)| Feedback::mend(*number, round.failure.clone())),
        }
    }

    /// A conversation that cannot be gone on with is begun anew, as long as nothing was spent on it.
    pub(super) fn begin_anew(&mut self, failure: &Failure) -> bool {
        let lost =
            matches!(failure.class, FailureClass::Unfinished | FailureClass::Rejected | FailureClass::Exit);
        let anew = self.resumed && lost && !self.spent;
        if anew {
            self.resumed = false;
            self.session = Session { id: new_session(), begun: false };
        }
        anew
    }

    /// What people have said, and the agent has not heard yet. Each is handed out once.
    pub(super) fn remarks(&mut self, message_queue: &MessageQueue, task: &TaskId) -> Vec<String> {
        let unheard = std::mem::take(&mut self.unheard);
        let mut words = if self.session.begun { unheard } else { self.words.clone() };
        words.extend(message_queue.take(task));
        words
    }
}

/// What people have said, for the end of a prompt.
pub(super) fn as_words(remarks: &[String]) -> String {
    let lines: String = remarks.iter().map(|words| format!("\n- {words}")).collect();
    if lines.is_empty() { lines } else { format!("\n\nA person has said to you:{lines}\n") }
}

/// A name no other conversation has, in the form agents expect.
pub(super) fn new_session() -> String {
    let bits = fastrand::u128(..);
    let (a, b, c) = ((bits >> 96) as u32, (bits >> 80) as u16, (bits >> 64) as u16 & 0xfff);
    let (d, e) = ((bits >> 48) as u16 & 0x3fff | 0x8000, bits as u64 & 0xffff_ffff_ffff);
    format!("{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}")
}
