//! Why a group went as it went: every decision about its tasks, in order, each with its reason.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::status::moment;
use crate::plan::recovery::Strategy;
use crate::plan::{Plan, Stage, Task, Work};
use crate::run::event::{Answer, Answerer, Event, Record, StopReason};
use crate::run::recovery_words;
use crate::run::subject;
use crate::values::ids::TaskId;
use crate::values::units::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    pub at: String,
    /// Nothing where it is about the whole group.
    pub task: Option<String>,
    pub decision: String,
    pub reason: String,
}

/// From the log of a run that carries groups out.
pub fn decisions(records: &[Record], group: &str) -> Vec<Decided> {
    let Some(Record { at, event: Event::RunCreated { plan, .. }, .. }) = records.first() else {
        return Vec::new();
    };
    let Some(execution) = &plan.execution else { return Vec::new() };
    let stages: Vec<&Stage> = execution.stages_of(group).collect();
    let mut log = Log { plan, blocked: execution.blocked.clone(), decided: Vec::new(), at: *at };
    log.place(group);
    for stage in &stages {
        stage.tasks.iter().filter_map(|task| plan.task(task)).for_each(|task| log.begin(task));
    }
    let is_step = |task: &TaskId| {
        stages.iter().any(|stage| stage.tasks.contains(task) || stage.steps().any(|step| step == task))
    };
    let raced = |task: &TaskId| plan.task(task).and_then(Task::entrant_of).is_some_and(is_step);
    let own = |task: &TaskId| is_step(task) || raced(task);
    for record in records {
        if let Event::StageExamined { stage, blocked } = &record.event
            && let Some(stage) = execution.stages.get(*stage as usize).filter(|stage| stage.group == group)
        {
            log.at = record.at;
            log.examined(stage, blocked);
        }
        if let Some(task) = about(&record.event).filter(|task| own(task)) {
            log.at = record.at;
            log.note(task, &record.event);
        }
    }
    log.decided
}

/// Whom an event is about.
fn about(event: &Event) -> Option<&TaskId> {
    match event {
        Event::RecoveryDecided { task, .. } | Event::CheckpointMade { task, .. } => Some(task),
        event => subject(event).map(|(task, _)| task),
    }
}

struct Log<'r> {
    plan: &'r Arc<Plan>,
    /// As it was last looked up.
    blocked: BTreeMap<TaskId, String>,
    decided: Vec<Decided>,
    at: Timestamp,
}

impl Log<'_> {
    fn say(&mut self, task: Option<&TaskId>, decision: impl Into<String>, reason: impl Into<String>) {
        let (at, task) = (moment(self.at), task.map(TaskId::to_string));
        let (decision, reason) = (line(&decision.into()), line(&reason.into()));
        self.decided.push(Decided { at, task, decision, reason });
    }

    fn place(&mut self, group: &str) {
        let Some(execution) = self.plan.execution.clone() else { return };
        let places: Vec<usize> = (1..=execution.stages.len())
            .filter(|number| execution.stages[number - 1].group == group)
            .collect();
        let count = execution.stages.len();
        let words: Vec<String> = places.iter().map(usize::to_string).collect();
        let reason = match count {
            1 => "it is carried out by itself",
            _ => "in the order of the file, behind the groups it waits for",
        };
        self.say(None, format!("is stage {} of {count}", words.join(" and ")), reason);
    }

    fn examined(&mut self, stage: &Stage, blocked: &BTreeMap<TaskId, String>) {
        self.blocked.retain(|task, _| !stage.tasks.contains(task));
        self.blocked.extend(blocked.clone());
        self.say(None, "what blocks it is looked up again", "it is about to begin");
    }

    /// What is settled before anything starts.
    fn begin(&mut self, task: &Task) {
        if let Some(name) = &task.subagent_type {
            let known = task.preparation.as_deref();
            let missing = known.and_then(|known| known.missing_subagent.as_ref());
            let words = known.map(|known| known.subagent_words.join(", ")).unwrap_or_default();
            let reason = match (missing, words.as_str()) {
                (Some(missing), _) => format!("there is no {missing}, and it is named in its stead"),
                (None, "") => "it is named for it".to_owned(),
                (None, words) => format!("its words: {words}"),
            };
            self.say(Some(&task.id), format!("is for {name}"), reason);
        }
        if !task.applicable_skills.is_empty() {
            let skills = task.applicable_skills.join(", ");
            self.say(Some(&task.id), format!("applies {skills} first"), "the task names them");
        }
    }

    fn note(&mut self, task: &TaskId, event: &Event) {
        let of = Some(task);
        match event {
            Event::AttemptStarted { attempt, choice: Some(choice), .. } => {
                let model = choice.model.as_ref().map(|model| format!(" with {model}")).unwrap_or_default();
                let why = if choice.why.is_empty() { "the first that may do it" } else { &choice.why };
                self.say(of, format!("attempt {} by {}{model}", attempt.0, choice.agent), why);
            }
            Event::StopRequested { why, .. } => self.say(of, "is stopped", stopped(*why)),
            Event::MergeFailed { failure, .. } => self.say(of, "is not merged", failure.message.clone()),
            Event::RecoveryDecided { nature, strategy, reason, .. } => {
                self.say(of, way(*strategy), recovery_words(*nature, reason));
            }
            Event::CheckpointMade { commit, reason, .. } => {
                self.say(of, format!("begins with a checkpoint of {}", short(commit)), reason.clone());
            }
            Event::ApprovalAsked { question, .. } => self.say(of, "waits for a person", question.put()),
            Event::QuestionAnswered { answer, .. } => self.answered(task, answer),
            Event::TaskCompleted { commit, .. } => self.completed(task, commit.as_deref()),
            Event::TaskResolved { commit, .. } => {
                self.say(of, format!("landed as {}", short(commit)), "a person brought it onto the branch");
            }
            Event::RaceDecided { winner, why, .. } => {
                self.say(of, format!("is won by {winner}"), why.clone())
            }
            Event::TaskFailed { failure, .. } => self.say(of, "has failed", failure.message.clone()),
            Event::TaskSkipped { culprit, .. } => {
                let why = match (self.blocked.get(task).map(String::as_str), culprit) {
                    (Some(why), _) => why.to_owned(),
                    (None, Some(culprit)) => format!("{culprit} did not land"),
                    (None, None) => "on request".to_owned(),
                };
                self.say(of, "is not begun", why);
            }
            Event::TaskCancelled { .. } => self.say(of, "is not done", "on request"),
            Event::TaskReopened { .. } => self.say(of, "is to be done again", "on request"),
            _ => {}
        }
    }

    fn answered(&mut self, task: &TaskId, answer: &Answer) {
        let decision = if answer.allow { "is allowed" } else { "is not allowed" };
        let reason = match (answer.by, &answer.words) {
            (Answerer::Deadline, _) => "no answer within the time limit".to_owned(),
            (Answerer::Person, Some(words)) => format!("a person: {words}"),
            (Answerer::Person, None) => "a person".to_owned(),
        };
        self.say(Some(task), decision, reason);
    }

    fn completed(&mut self, task: &TaskId, commit: Option<&str>) {
        let step = self.plan.task(task);
        let checks = step.map_or(0, |task| task.verify.len());
        let reason = match checks {
            0 => "it has no checks of its own".to_owned(),
            1 => "its check passed".to_owned(),
            count => format!("its {count} checks passed"),
        };
        match (commit, step.map(|task| &task.work)) {
            (Some(commit), _) => self.say(Some(task), format!("landed as {}", short(commit)), reason),
            (None, Some(Work::Prompt(_))) => {
                self.say(Some(task), "is completed", "nothing was to be changed")
            }
            (None, _) => self.say(Some(task), "is completed", reason),
        }
    }
}

/// What is done about a failure.
fn way(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Retry => "is tried again",
        Strategy::Alternative => "goes to another",
        Strategy::Model => "goes to another model",
        Strategy::Rollback => "begins anew",
        Strategy::Skip => "is left out",
        Strategy::Ask => "is a person's to decide",
        Strategy::Escalate => "is a person's to decide before anything new starts",
        Strategy::Fail => "is given up",
        Strategy::Mend => "goes back to be mended",
    }
}

fn stopped(why: StopReason) -> &'static str {
    match why {
        StopReason::TimedOut => "its time is up",
        StopReason::Budget => "its budget is used up",
        StopReason::Cancelled => "on request",
        StopReason::Interrupted => "the run is being left",
        StopReason::Preempted => "something more urgent is ready",
        StopReason::Outrun => "another entrant of the race has landed",
        StopReason::BaseChanged => "the work it is built on was dropped, sent back or changed",
    }
}

fn short(commit: &str) -> &str {
    &commit[..commit.floor_char_boundary(10)]
}

/// The first line, for a list of lines.
fn line(text: &str) -> String {
    const MOST: usize = 300;
    let line: String = text.trim().lines().next().unwrap_or_default().chars().take(MOST).collect();
    line.replace(char::is_control, " ")
}
