//! A person's review before work lands: who waits for one, and what follows from the verdict.
//!
//! What waits for a review holds nothing, neither slot nor files: the reviewer may come tomorrow. An approval counts for
//! the commit that it names. Where that does not merge any more and is mended, there is a new commit, and the person is
//! asked again.

use super::requests::wrong;
use super::{Refusal, Scheduler};
use crate::plan::graph::Node;
use crate::plan::{Land, Work};
use crate::run::event::{Again, Comment, Event, Failure, FailureClass, ReviewVerdict, Round};
use crate::run::{Running, TaskState};
use crate::values::ids::TaskId;
use crate::values::units::Now;

impl Scheduler {
    /// Whether what a task did lands only when a person has approved it.
    pub(super) fn lands_by_approval(&self, place: usize) -> bool {
        let wanted = |place: usize| self.run.plan().tasks[place].land;
        let land = self.run.options().land.unwrap_or_else(|| match self.epics.members_with(place) {
            [] => wanted(place),
            // What lands as one is approved as one.
            members => match members.iter().any(|&member| wanted(member) == Land::Approve) {
                true => Land::Approve,
                false => Land::Auto,
            },
        });
        land == Land::Approve
    }

    /// Whether the work is done, and a person has not seen it yet.
    pub(super) fn needs_review(&self, place: usize) -> bool {
        let unseen = |running: &Running| {
            let landing = running.landing.as_ref();
            landing.is_some_and(|landing| !landing.approved && landing.intent.is_none())
        };
        self.lands_by_approval(place)
            && matches!(&self.run.progress(place).state, TaskState::Running(running) if unseen(running))
    }

    pub(super) fn request_review(&mut self, now: Now, place: usize) {
        let TaskState::Running(running) = &self.run.progress(place).state else { return };
        let (task, attempt) = (self.graph.id(place as Node).clone(), running.attempt);
        self.ready.release(place as Node);
        self.emit(now, Event::ReviewRequested { task, attempt });
    }

    pub(super) fn is_in_review(&self, place: usize) -> bool {
        matches!(self.run.progress(place).state, TaskState::InReview { .. })
    }

    pub(super) fn on_review(
        &mut self,
        now: Now,
        task: &TaskId,
        verdict: ReviewVerdict,
    ) -> Result<(), Refusal> {
        let named = self.known(task)?;
        let entrants = self.run.entrants(named).iter().copied();
        let place = std::iter::once(named).chain(entrants).find(|&place| self.is_in_review(place));
        let Some(place) = place else {
            let status = self.run.progress(named).state.status();
            return Err(wrong(task, status, "it does not wait for a review"));
        };
        let TaskState::InReview { running, .. } = &self.run.progress(place).state else { return Ok(()) };
        let Running { attempt, landing: Some(landing), .. } = running.as_ref() else { return Ok(()) };
        let (attempt, change) = (*attempt, landing.change.clone());
        let again = match &verdict {
            ReviewVerdict::Approved { commit } if *commit != change.commit => {
                let why = format!(
                    "the work of '{task}' is {:.10} now, not {commit:.10}; look at it again",
                    change.commit
                );
                return Err(Refusal::NotPossible(why));
            }
            ReviewVerdict::SentBack { comments } => {
                self.may_go_back(place)?;
                Some(Again::SentBack(Box::new(Round { change, failure: sent_back(comments) })))
            }
            _ => None,
        };
        let dropped = verdict == ReviewVerdict::Dropped;
        let task = self.graph.id(place as Node).clone();
        self.emit(now, Event::ReviewGiven { task, attempt, verdict });
        match again {
            Some(again) if self.epics.of(place).is_some() => self.again_in_epic(now, place, again),
            Some(again) => self.at_once(now, place, again),
            None if dropped => self.drop_work(now, place),
            // An epic and a race send their work off themselves; what is stacked lands after what is below.
            None if self.epics.of(place).is_some() || self.run.raced_by(place).is_some() => {}
            None if self.has_stack(place) => {}
            None => {
                self.ready.hold_files(place as Node);
                self.board(vec![place]);
            }
        }
        Ok(())
    }

    /// Whether work lands by itself may be said otherwise each time a run is taken up.
    pub(super) fn settle_reviews(&mut self, now: Now) {
        for place in 0..self.graph.len() {
            if self.epics.of(place).is_none()
                && self.run.raced_by(place).is_none()
                && self.needs_review(place)
            {
                self.request_review(now, place);
            } else if self.is_in_review(place) && !self.lands_by_approval(place) {
                let TaskState::InReview { running, .. } = &self.run.progress(place).state else { continue };
                let Some(landing) = &running.landing else { continue };
                let verdict = ReviewVerdict::Approved { commit: landing.change.commit.clone() };
                let (task, attempt) = (self.graph.id(place as Node).clone(), running.attempt);
                self.emit(now, Event::ReviewGiven { task, attempt, verdict });
            }
        }
    }

    fn may_go_back(&self, place: usize) -> Result<(), Refusal> {
        let task = &self.run.plan().tasks[place];
        let why = if matches!(task.work, Work::Run(_)) {
            "is a command, which would do the same again"
        } else if self.task_is_over_budget(place) {
            "has used up its budget"
        } else {
            return Ok(());
        };
        Err(Refusal::NotPossible(format!("task '{}' {why}; edit its work, or drop it", task.id)))
    }

    /// What an epic lands as one is dropped as one.
    pub(super) fn drop_work(&mut self, now: Now, place: usize) {
        let together = self.epics.aboard_with(place);
        for &place in &together {
            let task = self.graph.id(place as Node).clone();
            self.end(now, place, Event::TaskCancelled { task });
        }
        if self.epics.of(place).is_some() {
            // What was let go on by work that is dropped now may have no point any more.
            self.rebuild(now);
        }
    }

    /// Whether nothing is left but work that waits for a review.
    pub(super) fn only_reviews_are_left(&self) -> bool {
        let mut reviews = false;
        self.ready.is_empty()
            && (0..self.graph.len()).all(|place| match self.run.progress(place).state {
                TaskState::InReview { .. } => {
                    reviews = true;
                    true
                }
                TaskState::Waiting { .. } => self.is_behind_review(place),
                TaskState::Asking { .. } => false,
                _ => true,
            })
            && reviews
    }
}

fn sent_back(comments: &[Comment]) -> Failure {
    let words: Vec<String> = comments.iter().map(Comment::to_string).collect();
    Failure::new(FailureClass::SentBack, words.join("\n"))
}
