//! What an agent wants to do and only a person can allow: what it was answered before, and what it asks now.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use conductor_core::run::event::ASK_HUMAN;
use conductor_core::run::event::{Answer, Answerer, Question};

use crate::host::redact;

/// What is done before an agent does what a tool is used for; why it may not, where that could not be done.
type Before = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

#[derive(Clone, Default)]
struct Guard(Option<Arc<Before>>);

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Guard").field(&self.0.is_some()).finish()
    }
}

/// What an agent is told that has to wait for a person.
pub(super) const STOP: &str = "a person has to allow this first; stop here, you will be told";

#[derive(Debug, Clone, Default)]
pub struct Questions {
    answered: Arc<[(Question, Answer)]>,
    open: Arc<Mutex<Option<Question>>>,
    guard: Guard,
    /// What comes now was answered before: nothing has to be done ahead of it.
    is_past: Arc<AtomicBool>,
}

impl Questions {
    pub fn answered(answered: Vec<(Question, Answer)>) -> Questions {
        Questions { answered: answered.into(), ..Questions::default() }
    }

    /// Calls `before` ahead of everything that is allowed.
    pub(crate) fn guarded(
        self,
        before: impl Fn(&str, &str) -> Option<String> + Send + Sync + 'static,
    ) -> Questions {
        Questions { guard: Guard(Some(Arc::new(before))), ..self }
    }

    /// Before an agent does what is allowed; why it may not after all.
    pub(super) fn before(&self, tool: &str, what: &str) -> Option<String> {
        let guard = self.guard.0.as_ref().filter(|_| !self.is_past.load(Ordering::Relaxed));
        guard.and_then(|before| before(tool, what))
    }

    /// Whether what comes now was answered before.
    pub(crate) fn are_past(&self, so: bool) {
        self.is_past.store(so, Ordering::Relaxed);
    }

    /// Puts a question again that another coordinator has heard.
    pub(crate) fn put_again(&self, question: Question) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(question);
    }

    /// The question it has to stop for, if it has put one.
    pub fn open(&self) -> Option<Question> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The reply to an agent that asks a person: the answer if there is one, else to stop.
    pub(crate) fn ask_human(&self, question: String) -> String {
        let clean = redact::known().text(&question).into_owned();
        let same = |asked: &Question| asked.tool == ASK_HUMAN && asked.what == clean;
        match self.answered.iter().rev().find(|(asked, _)| same(asked)) {
            Some((_, answer)) => answered(answer),
            None => {
                let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                open.get_or_insert(Question { tool: ASK_HUMAN.into(), what: question, why: String::new() });
                "a person was asked; stop here, you will be told the answer".to_owned()
            }
        }
    }

    /// What was asked and answered of what an agent wants to do.
    pub(super) fn answers(&self) -> impl Iterator<Item = (&Question, &Answer)> {
        let answered = self.answered.iter().filter(|(asked, _)| asked.tool != ASK_HUMAN);
        answered.map(|(asked, answer)| (asked, answer))
    }

    /// Whether a person has allowed just that.
    pub(super) fn has_allowed(&self, tool: &str, what: &str) -> bool {
        let mut answers = self.answered.iter().rev();
        let last = answers.find(|(asked, _)| asked.tool == tool && asked.what == what);
        last.is_some_and(|(_, answer)| answer.allow)
    }

    /// Nothing where a person has allowed just that; otherwise what the agent is told.
    pub(super) fn put(&self, tool: &str, what: String, why: String) -> Option<String> {
        // What is kept of a question is without secrets.
        let clean = redact::known().text(&what).into_owned();
        let same = |asked: &Question| asked.tool == tool && (asked.what == what || asked.what == clean);
        match self.answered.iter().rev().find(|(asked, _)| same(asked)) {
            Some((_, answer)) if answer.allow => None,
            Some((_, answer)) => Some(refused(answer)),
            None => {
                let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                open.get_or_insert(Question { tool: tool.to_owned(), what, why });
                Some(STOP.to_owned())
            }
        }
    }
}

/// What an agent is told of a question it has put, when it goes on.
pub fn told(question: &Question, answer: &Answer) -> String {
    if question.tool == ASK_HUMAN {
        let answered = answered(answer);
        return format!("You asked: {} — {}. Go on.", question.what, answered.trim_end_matches('.'));
    }
    match answer.allow {
        true => {
            let words = answer.words.as_ref().map_or_else(String::new, |words| format!(": {words}"));
            format!("You asked for `{question}`. It is allowed{words}. Go on with it.")
        }
        false => format!("You asked for `{question}`: {}. Go on without it.", refused(answer)),
    }
}

/// To a question that is no request.
fn answered(answer: &Answer) -> String {
    match (&answer.words, answer.by, answer.allow) {
        (Some(words), _, _) => format!("a person answers: {words}"),
        (None, Answerer::Person, true) => "a person says yes".to_owned(),
        (None, Answerer::Person, false) => "a person says no".to_owned(),
        (None, Answerer::Deadline, _) => "no person was there to ask; decide as seems best".to_owned(),
    }
}

fn refused(answer: &Answer) -> String {
    match (&answer.words, answer.by) {
        (Some(words), _) => format!("it is not allowed: {words}"),
        (None, Answerer::Person) => "it is not allowed, a person said".to_owned(),
        (None, Answerer::Deadline) => "it is not allowed, for no person was there to ask".to_owned(),
    }
}
