//! What is done about a failure: its ways out are tried in order, and the first that is open is taken. Every such
//! decision is recorded with its reason, right before what follows from it.

use super::Scheduler;
use crate::plan::Isolation;
use crate::plan::graph::Node;
use crate::plan::recovery::{Nature, Strategy};
use crate::run::TaskState;
use crate::run::event::RECOVERY;
use crate::run::event::{Again, AgentChoice, DrainReason, Event, Failure, FailureClass, Question};
use crate::schedule::recovery::{self, Judgement};
use crate::schedule::retry;
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::{Millis, Now};

impl Scheduler {
    pub(super) fn on_failure(&mut self, now: Now, place: usize, failure: Failure) {
        let task = &self.run.plan().tasks[place];
        let Judgement { nature, why } = recovery::judge(task, &failure);
        let mut reasons = vec![why];
        for way in recovery::ways(task, nature, failure.class) {
            let way = match way {
                Strategy::Alternative if self.has_another_model(place, failure.class) => Strategy::Model,
                way => way,
            };
            match self.opening(place, way) {
                Ok(open) => {
                    reasons.push(open);
                    self.decide(now, place, nature, way, &reasons.join("; "));
                    return self.go(now, place, way, failure);
                }
                Err(shut) => reasons.extend(shut),
            }
        }
        self.decide(now, place, nature, Strategy::Fail, &reasons.join("; "));
        self.fail(now, place, failure);
    }

    /// Makes a decision part of the run.
    pub(super) fn decide(
        &mut self,
        now: Now,
        place: usize,
        nature: Nature,
        strategy: Strategy,
        reason: &str,
    ) {
        let (task, progress) = self.run.task(place);
        let (task, attempt, reason) = (task.id.clone(), Attempt(progress.last_attempt), reason.to_owned());
        self.emit(now, Event::RecoveryDecided { task, attempt, nature, strategy, reason });
    }

    /// What taking this way means, or why it cannot be taken, where that needs saying.
    fn opening(&self, place: usize, way: Strategy) -> Result<String, Option<String>> {
        let (task, progress) = self.run.task(place);
        let most = task.retry.max_attempts;
        let again = || match progress.tried < most {
            true => Ok(format!("try {} of {most}", progress.tried + 1)),
            false if most == 1 => Err(Some("it has one try".to_owned())),
            false => Err(Some(format!("none of its {most} tries is left"))),
        };
        if !matches!(way, Strategy::Skip | Strategy::Fail) && self.task_is_over_budget(place) {
            let cap = self.cap_words(place);
            return Err(Some(format!("it reached {cap}")));
        }
        match way {
            Strategy::Retry => again(),
            Strategy::Model => Ok("its agent does it with its next model".into()),
            Strategy::Alternative if self.has_another(place) => Ok("the next of its agents does it".into()),
            Strategy::Alternative if task.fallback_agents.is_empty() => Err(None),
            Strategy::Alternative => Err(Some("no other of its agents is left".into())),
            Strategy::Rollback
                if task.isolation.or(self.run.options().isolation) == Some(Isolation::None) =>
            {
                Err(Some("it works in place, where nothing can be set back".into()))
            }
            Strategy::Rollback => again().map(|tries| format!("from a clean beginning, {tries}")),
            Strategy::Skip => Ok("the run goes on without it".into()),
            Strategy::Ask => Ok("a person is asked".into()),
            Strategy::Escalate => Ok("a person is asked, and nothing new starts before the answer".into()),
            Strategy::Fail | Strategy::Mend => Ok("so it ends".into()),
        }
    }

    fn go(&mut self, now: Now, place: usize, way: Strategy, failure: Failure) {
        let (task, progress) = self.run.task(place);
        let id = task.id.clone();
        match way {
            Strategy::Retry => {
                let delay = retry::delay(&task.retry, progress.tried, now.jitter).unwrap_or_default();
                self.emit(now, Event::RetryScheduled { task: id, delay, again: Again::Failed });
                self.timers.arm(place as Node, now.tick + delay);
            }
            Strategy::Alternative => self.at_once(now, place, Again::Other),
            Strategy::Model => self.at_once(now, place, Again::Model),
            Strategy::Rollback => self.at_once(now, place, Again::Back),
            Strategy::Skip => self.end(now, place, Event::TaskSkipped { task: id, culprit: None }),
            Strategy::Ask => self.ask_about(now, place, &failure),
            Strategy::Escalate => {
                self.ask_about(now, place, &failure);
                if !self.run.is_paused() {
                    self.emit(now, Event::RunPaused { by: Some(id) });
                }
            }
            Strategy::Fail | Strategy::Mend => self.fail(now, place, failure),
        }
    }

    pub(super) fn at_once(&mut self, now: Now, place: usize, again: Again) {
        let task = self.graph.id(place as Node).clone();
        self.emit(now, Event::RetryScheduled { task, delay: Millis(0), again });
        self.enqueue(now, place as Node);
    }

    fn ask_about(&mut self, now: Now, place: usize, failure: &Failure) {
        let task = self.graph.id(place as Node).clone();
        let why = format!("{task} failed and may be tried once more");
        let question = Question { tool: RECOVERY.to_owned(), what: failure.message.clone(), why };
        self.emit(now, Event::ApprovalAsked { task, question: Box::new(question) });
        self.await_answer(now, place, now.at);
    }

    /// Whether it asks what is to become of its failure.
    pub(super) fn asks_about_failure(&self, place: usize) -> bool {
        matches!(&self.run.progress(place).state, TaskState::Asking { question, .. } if question.tool == RECOVERY)
    }

    /// Once more, or it has failed of what it asked about.
    pub(super) fn on_answered_failure(&mut self, now: Now, place: usize, allowed: bool) {
        match allowed {
            true => self.enqueue(now, place as Node),
            false => {
                let failure = failure_asked_about(&self.run, place);
                self.fail(now, place, failure);
            }
        }
    }

    pub(super) fn fail(&mut self, now: Now, place: usize, failure: Failure) {
        let task = self.graph.id(place as Node).clone();
        self.leave_unauthorized(now, place, &failure);
        self.end(now, place, Event::TaskFailed { task, failure });
        let counts = self.run.raced_by(place).is_none() && !self.run.is_dispensable(place);
        if self.run.options().fail_fast && counts {
            self.drain(now, DrainReason::FailFast);
        }
    }

    /// A run that is taken up again waits for the answer that it was left with.
    pub(super) fn pause_for_escalation(&mut self, now: Now) {
        if let Some(task) = self.run.escalation().cloned() {
            self.emit(now, Event::RunPaused { by: Some(task) });
        }
    }

    /// Goes on when nothing is left that it was paused for, however that came to its end.
    pub(super) fn lift_escalation(&mut self, now: Now) {
        if self.run.is_escalated() && self.run.escalation().is_none() {
            self.emit(now, Event::RunContinued {});
        }
    }

    /// Records, once, that another agent does the task because its first one is not available now.
    pub(super) fn tell_of_stand_in(&mut self, now: Now, place: usize, choice: &AgentChoice) {
        let task = &self.run.plan().tasks[place];
        let first = task.agent_name();
        if first == choice.agent
            || self.run.agent_choice(place).is_some_and(|before| before.agent == choice.agent)
        {
            return;
        }
        let (nature, why) = match self.run.options().absent.contains(first) {
            true => (Nature::Permanent, "is not installed"),
            false if self.run.parked().get(first).is_some_and(|until| *until > now.at) => {
                (Nature::Transient, "takes nothing more for now")
            }
            // An agent that could not do it was passed over by a decision of its own.
            false => return,
        };
        let reason = format!("{first} {why}; {} does it", choice.agent);
        let attempt = Attempt(self.run.progress(place).last_attempt + 1);
        let (task, strategy) = (task.id.clone(), Strategy::Alternative);
        self.emit(now, Event::RecoveryDecided { task, attempt, nature, strategy, reason });
    }

    /// As `tell_of_stand_in`, for a specialist that does not exist.
    pub(super) fn tell_of_other_specialist(&mut self, now: Now, place: usize) {
        let (task, progress) = self.run.task(place);
        let missing = task.preparation.as_ref().and_then(|known| known.missing_subagent.as_ref());
        let (Some(missing), Some(other), 0) = (missing, &task.subagent_type, progress.last_attempt) else {
            return;
        };
        let reason = format!("there is no specialist {missing}; {other} does it");
        let (task, nature, strategy) = (task.id.clone(), Nature::Permanent, Strategy::Alternative);
        self.emit(now, Event::RecoveryDecided { task, attempt: Attempt(1), nature, strategy, reason });
    }

    /// Remembered before the next attempt, if the branch is to be remembered at all.
    pub(super) fn to_secure(&self, place: usize) -> Option<String> {
        if self.run.repeats(place).is_some_and(|repeats| repeats.secured) {
            return None;
        }
        let risks = recovery::risks(&self.run.plan().tasks[place]);
        let words = risks.iter().map(|(risk, words)| format!("{} ({words})", risk.name()));
        (!risks.is_empty()).then(|| words.collect::<Vec<_>>().join(", "))
    }

    /// Checkpoints of an attempt that is over are ignored.
    pub(super) fn on_checkpoint(
        &mut self,
        now: Now,
        task: TaskId,
        attempt: Attempt,
        (commit, name, reason): (String, String, String),
    ) {
        if self.current(&task, attempt).is_some() {
            self.emit(now, Event::CheckpointMade { task, attempt, commit, name, reason });
        }
    }
}

/// What a task failed of that a person is asked about.
pub(crate) fn failure_asked_about(run: &crate::run::Run, place: usize) -> Failure {
    let known = run.repeats(place).and_then(|repeats| repeats.failure.clone());
    known.unwrap_or_else(|| {
        let what = match &run.progress(place).state {
            TaskState::Asking { question, .. } => question.what.clone(),
            _ => "a person did not want it tried again".to_owned(),
        };
        Failure::new(FailureClass::Exit, what)
    })
}
