//! A session that exists, until its work is in the workspace or it is certain that there is none.

use std::time::{Duration, Instant};

use conductor_core::plan::Transport as Kind;
use conductor_core::run::event::FailureClass;
use serde_json::json;

use super::driver::{Driver, LOOKS, Step};
use super::ending::{refused, told};
use super::looking::{Found, Look};
use super::managed::passes;
use super::record::Stage;
use super::telling::{End, note, tell, tell_line};
use super::transport::{Line, Observed, SessionName, State};

/// How long one look at a session waits for something to happen: what the coordinator says is not kept waiting longer.
const GLANCE: Duration = Duration::from_millis(500);

/// How long nothing new is pushed before a session that cannot be watched counts as done.
const USUAL_SETTLE: Duration = Duration::from_secs(5 * 60);

/// A session that cannot be watched and pushes nothing for so long is given up.
const LONGEST_SILENCE: Duration = Duration::from_secs(2 * 60 * 60);

/// A session that has pushed its last commit and can be watched has so long to say that it is done, and what it cost.
const FAREWELL: Duration = Duration::from_secs(60);

/// What is known of a session while it is watched.
struct Watch {
    session: SessionName,
    /// The work that was taken before, where it was sent back.
    before: Option<String>,
    found: Option<Found>,
    /// Since when the remote has shown the same.
    since: Instant,
    looked: Option<Instant>,
    /// Looks at the remote since the session said that it is done.
    idle_looks: u32,
    state: State,
    last_words: Option<String>,
    asked_often: u32,
}

impl Driver {
    pub(super) fn watch(&mut self, session: SessionName, before: Option<String>) -> Step<End> {
        let mut watch = Watch {
            session,
            before,
            found: None,
            since: Instant::now(),
            looked: None,
            idle_looks: 0,
            state: State::Working,
            last_words: None,
            asked_often: 0,
        };
        loop {
            self.glance(&mut watch)?;
            while let Ok(word) = self.says.try_recv() {
                self.on_word(Some(&watch.session.clone()), word)?;
            }
            if let State::Waiting(words) = watch.state.clone() {
                return self.ask(&watch, &words);
            }
            let is_due = watch.looked.is_none_or(|looked| looked.elapsed() >= self.poll);
            if is_due && let Some(end) = self.look_at_work(&mut watch)? {
                return Ok(end);
            }
        }
    }

    /// What the session says of itself: a hint when to look, and words for people.
    fn glance(&mut self, watch: &mut Watch) -> Step<()> {
        let patience = GLANCE.min(self.poll);
        if watch.session.id.is_empty() {
            return self.pause(None, patience);
        }
        match self.transport.observe(&watch.session, patience) {
            Ok(observed) => {
                self.hear(watch, observed);
                watch.asked_often = 0;
                Ok(())
            }
            Err(refusal) if passes(&refusal) => {
                // The session goes on whether it can be seen or not.
                watch.asked_often += 1;
                if watch.asked_often.is_power_of_two() {
                    tell_line(&Line::Waiting(format!(
                        "the session cannot be watched right now: {}",
                        told(&refusal)
                    )));
                }
                let pause = self.poll.min(Duration::from_secs(1 << watch.asked_often.min(6)));
                self.pause(Some(&watch.session), pause)
            }
            Err(refusal) => Err(refused(refusal)),
        }
    }

    fn hear(&mut self, watch: &mut Watch, observed: Observed) {
        for line in &observed.said {
            if let Line::Text(text) = line {
                watch.last_words = Some(text.clone());
            }
            tell_line(line);
        }
        self.count(&observed);
        if watch.state != observed.state {
            watch.idle_looks = 0;
            watch.looked = None;
        }
        watch.state = observed.state;
    }

    /// Told first, then recorded: a cost that is told twice errs towards the cap, and one that is never told lifts it.
    fn count(&mut self, observed: &Observed) {
        let Some(current) = &mut self.record.current else { return };
        let Some(line) = current.meter.advance(observed) else { return };
        tell(&line);
        if let Err(error) = self.record.keep() {
            note(format!("what the session cost could not be recorded: {error}"));
        }
    }

    /// Only what is on the remote is work.
    fn look_at_work(&mut self, watch: &mut Watch) -> Step<Option<End>> {
        let looked = self.look();
        watch.looked = Some(Instant::now());
        match looked {
            None => return Ok(None),
            Some(Look::Several(branches)) if watch.state != State::Working => {
                self.over()?;
                let message = format!(
                    "several branches descend from its anchor and none holds the others: {}",
                    branches.join(", ")
                );
                return Err(End::failed(FailureClass::Diverged, message));
            }
            Some(Look::Found(found)) => {
                if watch.found.as_ref() != Some(&found) {
                    note(format!("{} is at {}", found.tip.branch, short(&found.tip.commit)));
                    watch.since = Instant::now();
                    watch.found = Some(found);
                }
            }
            Some(_) => {}
        }
        if let Some(found) = watch.found.clone() {
            self.open_pull_request(&watch.session, &found, false);
        }
        watch.idle_looks += u32::from(watch.state == State::Idle);
        self.judge(watch)
    }

    /// Whether the work is there, is certain not to come, or is still waited for.
    fn judge(&mut self, watch: &mut Watch) -> Step<Option<End>> {
        let is_watched = matches!(self.kind, Kind::Managed | Kind::Browser) && !watch.session.id.is_empty();
        let settle = self.job.cloud.settle.map_or(USUAL_SETTLE, |settle| Duration::from_millis(settle.0));
        let is_new =
            watch.found.as_ref().is_some_and(|found| Some(&found.tip.commit) != watch.before.as_ref());
        let is_quiet = watch.since.elapsed() >= settle;
        let is_over = match &watch.state {
            State::Idle | State::Ended(_) => is_new || watch.found.is_some() && watch.idle_looks >= LOOKS,
            _ => {
                let is_last = watch.found.as_ref().is_some_and(|found| found.is_last);
                let is_farewell = !is_watched || watch.since.elapsed() >= FAREWELL;
                is_new && (is_last && is_farewell || !is_watched && is_quiet)
            }
        };
        match (&watch.found, &watch.state) {
            (Some(found), _) if is_over => return self.settle(watch, &found.clone()).map(Some),
            (None, State::Ended(why)) => {
                self.over()?;
                let message = format!("{why}, and nothing that descends from its anchor was pushed");
                return Err(End::failed(FailureClass::Exit, message));
            }
            (None, State::Idle) if watch.idle_looks >= LOOKS => return self.nothing(watch).map(Some),
            (found, State::Working) if !is_watched && watch.since.elapsed() >= LONGEST_SILENCE => {
                let what = if found.is_some() { "nothing new" } else { "nothing" };
                self.over()?;
                let message = format!(
                    "{what} was pushed within {} s, and the session cannot be asked",
                    LONGEST_SILENCE.as_secs()
                );
                return Err(End::failed(FailureClass::TimedOut, message));
            }
            _ => {}
        }
        Ok(None)
    }

    /// The session says that it is done, and nothing of it is there.
    fn nothing(&mut self, watch: &Watch) -> Step<End> {
        self.lift_anchor();
        let commit = watch.before.clone().unwrap_or_default();
        self.afterwards = Some(Stage::Settled { session: Some(watch.session.clone()), commit });
        self.nothing_came(watch.last_words.clone())
    }

    pub(super) fn nothing_came(&self, last_words: Option<String>) -> Step<End> {
        let words = "the session says that it is done, and nothing that descends from its anchor was pushed";
        match self.job.changes_required {
            true => Err(End::failed(FailureClass::NoChanges, words)),
            false => {
                note(words);
                Ok(End::Done(last_words.unwrap_or_default()))
            }
        }
    }

    pub(super) fn bring(&self, commit: &str) -> Step<()> {
        self.courier.bring(commit).map_err(|error| {
            let message = format!("the work cannot be taken into the workspace: {error}");
            End::failed(FailureClass::Unstartable, message)
        })
    }

    /// Takes the work into the workspace, where it is judged like any other.
    fn settle(&mut self, watch: &Watch, found: &Found) -> Step<End> {
        let commit = found.tip.commit.clone();
        self.bring(&commit)?;
        self.open_pull_request(&watch.session, found, true);
        let session = Some(watch.session.clone()).filter(|session| !session.id.is_empty());
        self.lift_anchor();
        self.afterwards = Some(Stage::Settled { session, commit: commit.clone() });
        note(format!("takes {} of {}", short(&commit), found.tip.branch));
        let words = watch.last_words.clone();
        Ok(End::Done(words.unwrap_or_else(|| format!("{} of {}", short(&commit), found.tip.branch))))
    }

    /// It wants to know something: a person is asked, and the next attempt passes the answer on.
    fn ask(&mut self, watch: &Watch, words: &str) -> Step<End> {
        let (session, before) = (watch.session.clone(), watch.before.clone());
        self.keep(Stage::Live { session: session.clone(), asked: true, before: before.clone() })?;
        tell(
            &json!({ "type": "question", "kind": "session", "what": words, "why": "the session waits for an answer" }),
        );
        match self.answer()? {
            (_, true, _) => Err(End::Left),
            (_, false, said) => {
                self.say(&watch.session, &said.unwrap_or_else(|| "yes".to_owned()))?;
                self.keep(Stage::Live { session: session.clone(), asked: false, before: before.clone() })?;
                self.watch(session, before)
            }
        }
    }
}

pub(super) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
