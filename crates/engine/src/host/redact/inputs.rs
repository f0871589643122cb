//! What comes in from attempts, without its secrets: the one way into the log, and into all that is made of it.
//!
//! Names that git, agents or the scheduler go by (commits, branches, conversations, tasks) stay as they are, and so does
//! what the user says: the agent has to get it.

use conductor_core::expertise::{Draft, Lesson};
use conductor_core::run::event::{Change, Failure, Finding, Outcome, Question, Report, Reviewed};
use conductor_core::schedule::{Input, LeftBehind};

use super::Redactor;

impl Redactor {
    pub(crate) fn input(&self, input: Input) -> Input {
        match input {
            Input::AttemptEnded { task, attempt, outcome, change, phases } => {
                let change = change.map(|change| Box::new(self.change(*change)));
                Input::AttemptEnded { task, attempt, outcome: self.outcome(outcome), change, phases }
            }
            Input::MergesPrepared { from, stacked, failed } => {
                let clean = |left: LeftBehind| LeftBehind { failure: self.failure(left.failure), ..left };
                Input::MergesPrepared { from, stacked, failed: failed.into_iter().map(clean).collect() }
            }
            Input::BranchStuck { to, failure } => Input::BranchStuck { to, failure: self.failure(failure) },
            Input::ConflictForeseen { task, with, files } => {
                Input::ConflictForeseen { task, with, files: self.all(files) }
            }
            Input::CheckoutTouched { tasks, what } => Input::CheckoutTouched { tasks, what: self.all(what) },
            Input::GitSettingsTouched { what, undo, earlier } => {
                Input::GitSettingsTouched { what: self.all(what), undo: self.all(undo), earlier }
            }
            Input::StageExamined { stage, blocked } => {
                let clean = |(task, why)| (task, self.string(why));
                let blocked = blocked.map(|all| all.into_iter().map(clean).collect());
                Input::StageExamined { stage, blocked }
            }
            Input::Reported { task, attempt, report } => {
                Input::Reported { task, attempt, report: self.report(report) }
            }
            Input::CheckpointMade { task, attempt, commit, name, reason } => {
                Input::CheckpointMade { task, attempt, commit, name, reason: self.string(reason) }
            }
            Input::ExpertiseLearned { task, attempt, lessons } => {
                let lessons = lessons.into_iter().filter_map(|lesson| self.lesson(lesson)).collect();
                Input::ExpertiseLearned { task, attempt, lessons }
            }
            other @ (Input::ProcessStarted { .. }
            | Input::ShimLost { .. }
            | Input::SessionStarted { .. }
            | Input::LeaseRenewed { .. }
            | Input::WorkerLost { .. }
            | Input::ProviderParked { .. }
            | Input::UsageReported { .. }
            | Input::WorkHandedIn { .. }
            | Input::WorkGivenBack { .. }
            | Input::WorkAccepted { .. }
            | Input::MergesPutOff
            | Input::BranchMoved { .. }
            | Input::Asked(_)
            | Input::HeldBack(_)
            | Input::HandedOver { .. }
            | Input::ExpertiseUsed { .. }
            | Input::ExpertiseRetired { .. }
            | Input::TimerDue) => other,
        }
    }

    pub fn failure(&self, failure: Failure) -> Failure {
        let evidence = match failure.evidence.is_empty() {
            true => failure.evidence,
            false => self.string(failure.evidence.into()).into(),
        };
        let clean = |finding: Finding| Finding { message: self.string(finding.message), ..finding };
        let findings = failure.findings.into_iter().map(clean).collect();
        Failure { message: self.string(failure.message), evidence, findings, ..failure }
    }

    pub fn outcome(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Failed(failure) => Outcome::Failed(self.failure(failure)),
            Outcome::Asked(question) => {
                let Question { tool, what, why } = *question;
                let [tool, what, why] = [tool, what, why].map(|text| self.string(text));
                Outcome::Asked(Box::new(Question { tool, what, why }))
            }
            other => other,
        }
    }

    pub(crate) fn change(&self, mut change: Change) -> Change {
        change.touched.files = self.all(change.touched.files);
        change.gate.iter_mut().for_each(|gate| gate.file = self.string(std::mem::take(&mut gate.file)));
        change.reviewed = change.reviewed.map(|reviewed| {
            let Reviewed { by, score, findings } = *reviewed;
            Box::new(Reviewed { by: self.string(by), score, findings: self.all(findings) })
        });
        change
    }

    /// Nothing where it has a secret anywhere: what is left of a claim then is no claim.
    fn lesson(&self, lesson: Lesson) -> Option<Lesson> {
        let Draft { claim, domain, scope, check, .. } = &lesson.draft;
        let texts = [claim, domain, &lesson.key].into_iter().chain(scope).chain(check).chain(&lesson.quote);
        let is_clean = |text: &String| matches!(self.text(text), std::borrow::Cow::Borrowed(_));
        let clean = texts.into_iter().all(is_clean);
        clean.then_some(lesson)
    }

    fn report(&self, report: Report) -> Report {
        match report {
            Report::Status(words) => Report::Status(self.string(words)),
            Report::Issue { severity, words } => Report::Issue { severity, words: self.string(words) },
        }
    }

    fn all(&self, texts: Vec<String>) -> Vec<String> {
        texts.into_iter().map(|text| self.string(text)).collect()
    }

    /// As `text`, and the very same where it has no secrets.
    pub(crate) fn string(&self, text: String) -> String {
        match self.text(&text) {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(clean) => clean,
        }
    }
}
