//! Tasks that several race for: who may land, who has won, and what becomes of the others.
//!
//! Two entrants of a race are never on the merge train together. An entrant that is done while another is
//! aboard, or, where the best wins, while others are at work, *stands by*: its attempt is over and its change
//! is kept. It holds nothing, not even its files: a task that another entrant waits for may need them.

use std::cmp::Reverse;

use super::Scheduler;
use crate::plan::Wins;
use crate::plan::graph::Node;
use crate::plan::recovery::Strategy;
use crate::run::event::{Change, Event, Failure, FailureClass, Standing, StopReason};
use crate::run::{Running, Status, TaskState};
use crate::schedule::quality::{self, Quality};
use crate::schedule::recovery::{self};
use crate::values::units::{Millis, Now, Usd};

impl Scheduler {
    /// Decides what can be decided and lets those board who may. Whether anything has ended by it.
    pub(super) fn see_to_races(&mut self, now: Now) -> bool {
        let mut ended = false;
        for race in self.run.races().collect::<Vec<_>>() {
            // One may have ended with the one before it.
            if !self.has_ended(race) {
                ended |= self.see_to_race(now, race);
            }
        }
        ended
    }

    fn see_to_race(&mut self, now: Now, race: usize) -> bool {
        if let Some(winner) = self.run.winner(race) {
            self.conclude_race(now, race, winner);
            return true;
        }
        let entrants = self.run.entrants(race).to_vec();
        if entrants.iter().all(|&entrant| self.has_ended(entrant)) {
            self.lose(now, race, &entrants);
            return true;
        }
        self.hold_back(now, race, &entrants);
        match self.next_aboard(race, &entrants) {
            Some(next) if self.needs_review(next) => {
                self.request_review(now, next);
                false
            }
            Some(next) if self.change_of(next).is_some() => {
                self.ready.hold_files(next as Node);
                self.board(vec![next]);
                false
            }
            Some(next) => {
                self.ready.release_files(next as Node);
                self.complete(now, next, None);
                true
            }
            None => false,
        }
    }

    /// Where the first wins, no entrant starts while another is about to land: it would only be stopped. One whose work a
    /// person sent back does: they wait for it.
    fn hold_back(&mut self, now: Now, race: usize, entrants: &[usize]) {
        let held = self.is_held_back(race);
        for &entrant in entrants {
            let node = entrant as Node;
            let could_start = match self.run.progress(entrant).state {
                TaskState::Pending => self.blockers.is_free(node),
                TaskState::Waiting { .. } => self.timers.of(node).is_none(),
                _ => false,
            };
            let held = held && !self.is_going_back(entrant);
            match (held, self.ready.is_waiting(node)) {
                (true, true) => self.ready.remove(node),
                (false, false) if could_start => self.enqueue(now, node),
                _ => {}
            }
        }
    }

    fn is_held_back(&self, race: usize) -> bool {
        self.run.wins(race) == Wins::First
            && self
                .run
                .entrants(race)
                .iter()
                .any(|&entrant| self.is_done(entrant) || self.is_in_review(entrant))
    }

    /// Whether a person sent its work back, and it has not been done again yet.
    fn is_going_back(&self, place: usize) -> bool {
        let is_open = match &self.run.progress(place).state {
            TaskState::Waiting { .. } => true,
            TaskState::Running(running) => !running.ended,
            _ => false,
        };
        let round = self.run.repeats(place).and_then(|repeats| repeats.round.as_ref());
        is_open && round.is_some_and(|round| round.failure.class == FailureClass::SentBack)
    }

    /// Whether it starts only if the work of another, which waits for a review, does not land.
    pub(super) fn is_behind_review(&self, place: usize) -> bool {
        let race = self.run.raced_by(place).filter(|&race| self.run.wins(race) == Wins::First);
        let is_reviewed = |race| self.run.entrants(race).iter().any(|&rival| self.is_in_review(rival));
        race.is_some_and(is_reviewed) && !self.is_going_back(place)
    }

    /// Who is about to land what it would do too.
    pub(super) fn ahead_in_race(&self, place: usize) -> Option<usize> {
        let race = self.run.raced_by(place).filter(|&race| self.is_held_back(race))?;
        let done = |&entrant: &usize| self.is_done(entrant) || self.is_in_review(entrant);
        self.run.entrants(race).iter().copied().find(done)
    }

    /// Its attempt is over and good, and others race for the same task: whether it lands is seen when the turn is over.
    pub(super) fn stand_by(&mut self, place: usize) {
        self.ready.release(place as Node);
    }

    pub(super) fn is_standing_by(&self, place: usize) -> bool {
        self.run.raced_by(place).is_some() && self.is_done(place) && !self.is_aboard(place)
    }

    /// How many stand by; while they do, nothing is under way for them.
    pub(super) fn standing_by(&self) -> usize {
        let entrants = self.run.races().flat_map(|race| self.run.entrants(race));
        entrants.filter(|&&entrant| self.is_standing_by(entrant)).count()
    }

    /// Whether whatever it does now is of no use any more.
    pub(super) fn is_outrun(&self, place: usize) -> bool {
        self.run.raced_by(place).is_some_and(|race| self.has_ended(race))
    }

    fn has_ended(&self, place: usize) -> bool {
        self.run.progress(place).state.status().is_end()
    }

    fn is_done(&self, place: usize) -> bool {
        matches!(&self.run.progress(place).state, TaskState::Running(running) if running.ended)
    }

    fn change_of(&self, place: usize) -> Option<&Change> {
        match &self.run.progress(place).state {
            TaskState::Running(Running { landing: Some(landing), .. }) => Some(&landing.change),
            _ => None,
        }
    }

    /// Who of these is to land next, if it is time for that.
    fn next_aboard(&self, race: usize, entrants: &[usize]) -> Option<usize> {
        if entrants.iter().any(|&entrant| self.is_aboard(entrant) || self.is_in_review(entrant)) {
            return None;
        }
        let approved =
            |place: usize| self.run.progress(place).state.landing().is_some_and(|landing| landing.approved);
        if let Some(&entrant) = entrants.iter().find(|&&entrant| approved(entrant)) {
            return Some(entrant);
        }
        if entrants.iter().any(|&entrant| self.is_going_back(entrant)) {
            return None;
        }
        let ready = || entrants.iter().copied().filter(|&entrant| self.is_done(entrant));
        match self.run.wins(race) {
            Wins::First => ready().min_by_key(|&entrant| (self.since(entrant), entrant)),
            Wins::Best => {
                let over = entrants.iter().all(|&entrant| self.has_ended(entrant) || self.is_done(entrant));
                ready().filter(|_| over).min_by_key(|&entrant| self.rank(entrant))
            }
        }
    }

    /// The event by which it was done; one that changed nothing has none to wait for.
    fn since(&self, place: usize) -> u64 {
        match &self.run.progress(place).state {
            TaskState::Running(Running { landing: Some(landing), .. }) => landing.since,
            _ => 0,
        }
    }

    /// Smaller is better: the score, then what it cost, then how long it took, then the order of the file.
    fn rank(&self, place: usize) -> (Reverse<Option<u64>>, Usd, Millis, usize) {
        let progress = self.run.progress(place);
        let score = self.quality_of(place).map(|quality| quality.score as u64);
        (Reverse(score), progress.usage.cost, progress.worked, place)
    }

    fn quality_of(&self, place: usize) -> Option<Quality> {
        let of_change = || quality::of_change(&self.run, place, self.change_of(place)?);
        quality::of(&self.run, place).or_else(of_change)
    }

    fn conclude_race(&mut self, now: Now, race: usize, winner: usize) {
        let entrants = self.run.entrants(race).to_vec();
        let standings = entrants.iter().map(|&entrant| self.standing(entrant)).collect();
        let decided = Event::RaceDecided {
            task: self.graph.id(race as Node).clone(),
            winner: self.graph.id(winner as Node).clone(),
            why: self.why_it_won(race, winner, &entrants),
            standings,
        };
        self.emit(now, decided);
        for entrant in entrants.into_iter().filter(|&entrant| entrant != winner) {
            self.dismiss(now, entrant, StopReason::Outrun);
        }
        let commit = self.run.progress(winner).landed.as_ref().map(|landed| landed.commit.clone());
        self.complete(now, race, commit);
    }

    fn standing(&self, place: usize) -> Standing {
        let quality = self.quality_of(place);
        let words = match (&self.run.progress(place).state, &quality) {
            (TaskState::Failed(failure), _) => failure.message.clone(),
            (_, Some(quality)) => quality.words(),
            (TaskState::Running(running), None) if !running.ended => "was at work".to_owned(),
            (TaskState::Running(_) | TaskState::Completed, None) => {
                "nothing about it was measured".to_owned()
            }
            (TaskState::InReview { .. }, None) => "waited for a review".to_owned(),
            (TaskState::Asking { .. }, None) => "waited for a person".to_owned(),
            (TaskState::Waiting { .. }, None) => "waited to be tried again".to_owned(),
            (TaskState::Cancelled | TaskState::Skipped { .. }, None) => "was taken out".to_owned(),
            (TaskState::Pending | TaskState::Racing, None) => "had not begun".to_owned(),
        };
        Standing {
            task: self.graph.id(place as Node).clone(),
            score: quality.map(|quality| quality.score),
            words,
            change: self.change_of(place).cloned().map(Box::new),
        }
    }

    fn why_it_won(&self, race: usize, winner: usize, entrants: &[usize]) -> String {
        let rival = |&&entrant: &&usize| entrant != winner && self.is_done(entrant);
        let second = entrants.iter().filter(rival).min_by_key(|&&entrant| self.rank(entrant));
        let (Wins::Best, Some(&second)) = (self.run.wins(race), second) else {
            return match self.run.wins(race) {
                Wins::First => format!("the first of {} to land", entrants.len()),
                Wins::Best => format!("the only one of {} whose work could land", entrants.len()),
            };
        };
        let name = self.graph.id(second as Node);
        let ((Reverse(own), cost, worked, _), (Reverse(other), dearer, longer, _)) =
            (self.rank(winner), self.rank(second));
        let words =
            |score: Option<u64>| score.map_or("no score".to_owned(), |score| format!("{score} of 100"));
        if own != other {
            return format!("{}, before {name} with {}", words(own), words(other));
        }
        let because = match (cost < dearer, worked < longer) {
            (true, _) => "for less money",
            (false, true) => "in less time",
            (false, false) => "and named before it",
        };
        format!("{}, as good as {name}, {because}", words(own))
    }

    /// It does not land; what it did stays where work that was stopped is kept.
    pub(super) fn dismiss(&mut self, now: Now, place: usize, why: StopReason) {
        let task = self.graph.id(place as Node).clone();
        match self.run.progress(place).state.status() {
            Status::Running if !self.is_done(place) => self.stop(now, place, why),
            Status::Running | Status::Pending | Status::Waiting => {
                self.forget(place);
                self.ready.release_files(place as Node);
                self.end(now, place, Event::TaskCancelled { task });
            }
            _ => {}
        }
    }

    /// All have ended and none of them has landed.
    fn lose(&mut self, now: Now, race: usize, entrants: &[usize]) {
        let task = self.graph.id(race as Node).clone();
        let state = |entrant: &&usize| &self.run.progress(**entrant).state;
        let failed = entrants.iter().filter(|entrant| matches!(state(entrant), TaskState::Failed(_)));
        let Some(&last) = failed.max_by_key(|entrant| (self.run.progress(**entrant).ended, **entrant)) else {
            let cancelled = entrants.iter().any(|entrant| state(&entrant) == &TaskState::Cancelled);
            let event = match cancelled {
                true => Event::TaskCancelled { task },
                false => Event::TaskSkipped { task, culprit: None },
            };
            return self.end(now, race, event);
        };
        let failure = self.lost(entrants, last);
        let nature = recovery::judge(&self.run.plan().tasks[race], &failure).nature;
        let reason = format!("none of the {} who raced for it could land", entrants.len());
        self.decide(now, race, nature, Strategy::Fail, &reason);
        self.fail(now, race, failure);
    }

    fn lost(&self, entrants: &[usize], last: usize) -> Failure {
        let each = entrants.iter().map(|&entrant| {
            let words = match &self.run.progress(entrant).state {
                TaskState::Failed(failure) => failure.message.clone(),
                state => state.status().to_string(),
            };
            format!("{}: {words}", self.graph.id(entrant as Node))
        });
        let message =
            format!("none of those who raced for it landed: {}", each.collect::<Vec<_>>().join("; "));
        match &self.run.progress(last).state {
            TaskState::Failed(failure) => Failure { message, ..failure.clone() },
            _ => Failure::new(FailureClass::Exit, message),
        }
    }

    /// The user no longer wants a raced task. An entrant that is about to land still lands.
    pub(super) fn call_off(&mut self, now: Now, race: usize, ending: Event) {
        let (landing, others): (Vec<usize>, Vec<usize>) =
            self.run.entrants(race).iter().partition(|&&entrant| self.is_aboard(entrant));
        for entrant in others {
            match (&ending, self.run.progress(entrant).state.status()) {
                (Event::TaskSkipped { .. }, Status::Pending | Status::Waiting) => {
                    self.forget(entrant);
                    let task = self.graph.id(entrant as Node).clone();
                    self.end(now, entrant, Event::TaskSkipped { task, culprit: None });
                }
                _ => self.dismiss(now, entrant, StopReason::Cancelled),
            }
        }
        if landing.is_empty() {
            self.end(now, race, ending);
        }
    }
}
