//! The figures of a run: what was tried, what it used, and what has landed.

use super::{Issue, Landed, Run, TaskState};
use crate::plan::graph::Node;
use crate::run::event::{Again, Change, Event, ModelUsage, Outcome, Planning, Record, Report, Usage};
use crate::values::units::Timestamp;

impl Run {
    /// The figures that go along with a transition.
    pub(super) fn account(&mut self, place: usize, event: &Event, record: &Record) {
        let progress = &mut self.tasks[place];
        match event {
            Event::AttemptStarted { attempt, executor, choice, .. } => {
                if let Some(choice) = choice {
                    self.agent_choice.insert(place as Node, choice.as_ref().clone());
                }
                self.costs.open.remove(&(place as Node));
                progress.last_attempt = attempt.0;
                progress.begun = true;
                progress.executor = Some(*executor);
                self.executors = self.executors.max(*executor);
                progress.first_started.get_or_insert(record.at);
            }
            Event::UsageReported { usage, model, taken_back, .. } => {
                self.account_usage(place, (*usage, *taken_back), model.as_deref(), record.at);
            }
            // What its work was built on is gone, which is no fault of the try.
            Event::WorkSetAside { .. }
                if matches!(progress.state, TaskState::Running(_) | TaskState::InReview { .. }) =>
            {
                progress.tried = progress.tried.saturating_sub(1);
            }
            Event::AttemptEnded { outcome, elapsed, .. } => {
                self.costs.open.remove(&(place as Node));
                progress.worked += *elapsed;
                match outcome {
                    Outcome::Interrupted | Outcome::Asked(_) => progress.interruptions += 1,
                    Outcome::Succeeded | Outcome::Failed(_) | Outcome::Cancelled => {
                        progress.tried += 1;
                        self.attempts += 1;
                    }
                }
            }
            Event::TaskReported { task, report: Report::Issue { severity, words }, .. } => {
                let (task, words) = (task.clone(), words.clone());
                self.issues.push(Issue { task, severity: *severity, words });
            }
            Event::RetryScheduled {
                again: Again::Mend(_) | Again::Anew | Again::Other | Again::Model | Again::SentBack(_),
                ..
            } => {
                // What is mended or done anew was no failed try.
                progress.tried = progress.tried.saturating_sub(1);
            }
            Event::TaskCompleted { commit: Some(commit), .. } | Event::TaskResolved { commit, .. } => {
                self.account_landing(place, event, commit);
            }
            Event::TaskReopened { .. } => {
                progress.tried = 0;
                progress.begun = false;
                progress.landed = None;
            }
            _ => {}
        }
    }

    fn account_usage(
        &mut self,
        place: usize,
        (usage, taken_back): (Usage, Usage),
        model: Option<&str>,
        at: Timestamp,
    ) {
        self.tasks[place].usage.report(usage, taken_back);
        self.spent.report(usage, taken_back);
        let open = self.costs.open.entry(place as Node).or_default();
        match open.iter_mut().find(|known| known.model.as_deref() == model) {
            Some(known) => known.usage.report(usage, taken_back),
            None => open.push(ModelUsage { model: model.map(Box::from), usage }),
        }
        if let Some(model) = model {
            self.costs.models.entry(model.into()).or_default().report(usage, taken_back);
            self.costs.last.insert(place as Node, model.into());
        }
        if let Some(choice) = self.agent_choice.get(&(place as Node)).filter(|_| !self.parked.is_empty()) {
            self.outages.remove(&choice.agent);
            self.parked.retain(|agent, until| *agent != choice.agent || *until > at);
        }
    }

    fn account_landing(&mut self, place: usize, event: &Event, commit: &str) {
        if let Some(landed) = self.landed_by_winner(place) {
            self.tasks[place].landed = Some(landed);
            return;
        }
        let progress = &mut self.tasks[place];
        let change = match (&progress.state, event) {
            (TaskState::Running(running), _) => running.landing.as_ref().map(|landing| &landing.change),
            (_, Event::TaskResolved { change, .. }) => change.as_deref(),
            _ => None,
        };
        let change = change.cloned().unwrap_or_else(|| Change::new("", commit));
        progress.landed = Some(Box::new(Landed::of(commit.to_owned(), change)));
        self.tip = Some(commit.to_owned());
    }

    /// What making the plan has used counts for the run.
    pub(super) fn account_planning(&mut self, planning: &Planning) {
        for used in &planning.usage {
            self.spent += used.usage;
            if let Some(model) = &used.model {
                *self.costs.models.entry(model.clone()).or_default() += used.usage;
            }
        }
        self.costs.planning.push(planning.clone());
    }
}
