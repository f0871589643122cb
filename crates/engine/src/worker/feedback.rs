//! What a round of an attempt begins with, beyond the task itself.

use conductor_core::run::event::{Failure, FailureClass};

/// What an agent that goes on is told first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// How often it has been asked to mend its work.
    pub round: u32,
    pub news: News,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// What was found about the work so far, or what cut it short; it is still in the files.
    Found(Failure),
    /// Why what it did did not land; it is not in the files any more.
    SetBack(Failure),
    /// The answer to what it asked.
    Answered(String),
    /// It was cut short before it had changed anything.
    CutShort,
}

impl Feedback {
    /// What to do about work in which this was found.
    pub(super) fn mend(round: u32, failure: Failure) -> Feedback {
        Feedback { round, news: News::Found(failure) }
    }

    /// Whether what was done before was cut short unseen, and whether it was judged and is to be mended.
    pub(super) fn of_what_was_done(&self) -> (bool, bool) {
        match &self.news {
            News::CutShort => (true, false),
            News::Found(failure) if failure.class == FailureClass::Killed => (true, false),
            News::Found(_) | News::SetBack(_) => (false, true),
            News::Answered(_) => (false, false),
        }
    }

    /// By which a prompt's template knows what to say.
    pub(super) fn kind(&self) -> &'static str {
        match &self.news {
            News::SetBack(_) => "set_back",
            News::Answered(_) => "answered",
            News::CutShort => "killed",
            News::Found(failure) => match failure.class {
                FailureClass::Conflict => "conflict",
                FailureClass::Killed => "killed",
                FailureClass::SentBack => "sent_back",
                _ => "unverified",
            },
        }
    }

    pub(super) fn words(&self) -> String {
        match &self.news {
            News::Found(failure) | News::SetBack(failure) => {
                format!("{}\n\n{}", failure.message, failure.evidence).trim_end().to_owned()
            }
            News::Answered(words) => words.clone(),
            News::CutShort => {
                "You were cut short and had changed nothing yet. Go on where you were.".to_owned()
            }
        }
    }
}
