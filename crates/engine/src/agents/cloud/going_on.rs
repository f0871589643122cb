//! What a driver begins with: nothing, or what a driver before it was doing when it was ended.

use super::driver::{Driver, Step};
use super::ending::{no_remote, refused};
use super::record::Stage;
use super::telling::{End, note};
use super::transport::{Refusal, SessionName};
use super::watching::short;

impl Driver {
    /// By what the record says: a killed driver's session goes on, and nothing is submitted twice.
    pub(super) fn carry_out(&mut self) -> Step<End> {
        match self.record.current.as_ref().map(|current| current.stage.clone()) {
            None | Some(Stage::Over) if self.job.begun && self.record.current.is_none() => self.lost_record(),
            None | Some(Stage::Over) => self.submit_anew(),
            Some(Stage::Intended) => self.submit(),
            Some(Stage::Creating) => self.resolve("the driver was ended while it asked for a session"),
            // Its work was judged, and a driver before this one was ended before it could record that it was taken.
            Some(Stage::Live { session, before: None, .. }) if self.job.sent_back => {
                let commit = self.courier.head().map_err(|error| no_remote(&self.job, &error))?;
                self.go_on(Some(session).filter(|session| !session.id.is_empty()), commit)
            }
            Some(Stage::Live { session, asked, before }) => self.take_up(session, asked, before),
            Some(Stage::Settled { session, commit }) if self.job.cut_short => {
                self.hand_in_again(session, commit)
            }
            Some(Stage::Settled { session, commit }) => self.go_on(session, commit),
        }
    }

    /// A session that was at work when the driver before this one ended.
    fn take_up(&mut self, session: SessionName, asked: bool, before: Option<String>) -> Step<End> {
        note(format!("goes on with the session {}", session.recorded()));
        if asked {
            let words = self.job.words.clone();
            self.say(&session, &words)?;
            self.keep(Stage::Live { session: session.clone(), asked: false, before: before.clone() })?;
        } else if !session.id.is_empty() {
            for words in std::mem::take(&mut self.job.said) {
                self.say(&session, &words)?;
            }
        }
        self.tell_session(&session);
        self.watch(session, before)
    }

    /// Work that was taken and never judged, since the attempt was cut short: it is the same work still.
    fn hand_in_again(&mut self, session: Option<SessionName>, commit: String) -> Step<End> {
        if let Some(session) = &session {
            self.tell_session(session);
        }
        if commit.is_empty() {
            return self.nothing_came(None);
        }
        self.bring(&commit)?;
        note(format!("hands in {} once more: the attempt before was cut short", short(&commit)));
        Ok(End::Done(short(&commit).to_owned()))
    }

    /// The run knows of a session that this machine has no record of: whether its work can be told is for a person.
    fn lost_record(&mut self) -> Step<End> {
        let why = format!(
            "the record of the session {} is gone, so that its work cannot be told from other work",
            self.job.session
        );
        self.ask_to_submit(&why)
    }

    /// Work was taken and sent back: the session goes on, where it can be spoken to; else another one begins on top of it.
    fn go_on(&mut self, session: Option<SessionName>, commit: String) -> Step<End> {
        let Some(session) = session.filter(|_| self.job.begun) else { return self.submit_anew() };
        let words = self.job.words.clone();
        let taken = Stage::Settled { session: Some(session.clone()), commit: commit.clone() };
        // First recorded, then said: one that is killed in between does not say it a second time.
        let before = Some(commit.clone());
        self.keep(Stage::Live { session: session.clone(), asked: false, before })?;
        match self.transport.send(&session, &words) {
            Ok(()) => {
                self.tell_session(&session);
                self.watch(session, Some(commit))
            }
            Err(Refusal::Unsure(why)) => {
                note(format!("whether it was told is not known: {why}"));
                self.tell_session(&session);
                self.watch(session, Some(commit))
            }
            Err(Refusal::Unable(why)) => {
                note(format!("{why}: another session begins"));
                self.keep(taken)?;
                self.submit_anew()
            }
            Err(refusal) => {
                self.keep(taken)?;
                Err(refused(refusal))
            }
        }
    }
}
