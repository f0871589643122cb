//! How a group stands, in the words of the coordinator whose files these are: phase, status, results, errors.
//!
//! All of it follows from the run alone, so that it is the same during and after the run, for every reader.

use serde::Serialize;

use crate::plan::groups::SEQUENTIAL;
use crate::plan::{Done, Execution, Stage};
use crate::run::costs;
use crate::run::event::FailureClass;
use crate::run::{Progress, Run, Status as TaskStatus, TaskState};
use crate::values::counted::counted;
use crate::values::ids::TaskId;
use crate::values::units::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    PreExecution,
    ConcurrentExecution,
    Coordination,
    PostExecution,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    InProgress,
    Completed,
    Failed,
    /// Something it needs is not done.
    Blocked,
}

impl Status {
    pub const ALL: [Status; 5] =
        [Status::Pending, Status::InProgress, Status::Completed, Status::Failed, Status::Blocked];

    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::InProgress => "in_progress",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Blocked => "blocked",
        }
    }

    pub fn named(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.name() == name)
    }

    pub fn is_end(self) -> bool {
        !matches!(self, Status::Pending | Status::InProgress)
    }
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::PreExecution => "pre_execution",
            Phase::ConcurrentExecution => "concurrent_execution",
            Phase::Coordination => "coordination",
            Phase::PostExecution => "post_execution",
        }
    }
}

/// What became of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    pub task_id: String,
    /// The specialist it was for.
    pub subagent: Option<String>,
    pub status: Status,
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
}

/// The fields of `metadata.json`, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metadata {
    pub group_id: String,
    pub group_name: String,
    pub phase: Phase,
    pub tasks: Vec<String>,
    pub created_at: String,
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
    pub status: Status,
    pub results: Vec<Outcome>,
    pub errors: Vec<String>,
    pub pre_group_refresh_completed: bool,
}

impl Metadata {
    /// Of one group of a run that carries groups out, by its name or its id; nothing where it does not have it.
    pub fn of(run: &Run, group: &str) -> Option<Metadata> {
        let execution = run.plan().execution.as_deref()?;
        let group = run.plan().group_meant(group);
        let view = View { run, execution, stages: execution.stages_of(group).collect() };
        if view.stages.is_empty() {
            return None;
        }
        let status = view.status();
        Some(Metadata {
            group_id: run.plan().group_id(group).to_owned(),
            group_name: name(group, run.plan().group_id(group)),
            phase: view.phase(),
            tasks: view.names(),
            created_at: moment(run.created()),
            started_at: view.started().map(moment),
            completed_at: view.ended().filter(|_| status.is_end()).map(moment),
            status,
            results: view.results(),
            errors: view.errors(),
            pre_group_refresh_completed: view.is_refreshed(),
        })
    }

    /// As it stands in `metadata.json`: short lists on one line, everything else on lines of its own.
    pub fn text(&self) -> String {
        let list = |list: &[String]| {
            let items: Vec<String> = list.iter().map(json).collect();
            format!("[{}]", items.join(", "))
        };
        let results: Vec<String> =
            self.results.iter().map(|result| format!("    {}", outcome(result))).collect();
        let results = match results.is_empty() {
            true => "[]".to_owned(),
            false => format!("[\n{}\n  ]", results.join(",\n")),
        };
        let fields = [
            ("group_id", json(&self.group_id)),
            ("group_name", json(&self.group_name)),
            ("phase", json(&self.phase)),
            ("tasks", list(&self.tasks)),
            ("created_at", json(&self.created_at)),
            ("started_at", json(&self.started_at)),
            ("completed_at", json(&self.completed_at)),
            ("status", json(&self.status)),
            ("results", results),
            ("errors", list(&self.errors)),
            ("pre_group_refresh_completed", json(&self.pre_group_refresh_completed)),
        ];
        let lines: Vec<String> =
            fields.iter().map(|(name, value)| format!("  \"{name}\": {value}")).collect();
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }
}

/// How many tasks of a group have landed: their work is on a branch. One that changed nothing, or was closed elsewhere,
/// is completed and has not.
pub fn landed(run: &Run, group: &str) -> usize {
    let Some(execution) = run.plan().execution.as_deref() else { return 0 };
    let stages = execution.stages_of(run.plan().group_meant(group)).collect();
    let view = View { run, execution, stages };
    let now = view.tasks().filter(|(_, progress)| progress.landed.is_some()).count();
    now + view.done().filter(|done| done.landed).count()
}

/// `2 of 3 tasks landed`, and what else is completed.
pub fn landed_words(run: &Run, metadata: &Metadata) -> String {
    let landed = landed(run, &metadata.group_id);
    let completed = metadata.results.iter().filter(|result| result.status == Status::Completed).count();
    let others = match completed.saturating_sub(landed) {
        0 => String::new(),
        others => format!(", {others} completed without a change of their own"),
    };
    format!("{landed} of {} landed{others}", counted(metadata.tasks.len(), "task"))
}

/// One of the results, each field on a line of its own.
fn outcome(result: &Outcome) -> String {
    let text = serde_json::to_string_pretty(result).unwrap_or_default();
    text.replace('\n', "\n    ")
}

/// On one line.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A name that is an id says little by itself; any other was given to be read.
fn name(group: &str, id: &str) -> String {
    match group {
        SEQUENTIAL => "Sequential tasks".to_owned(),
        group if group == id => format!("Parallel Group {group}"),
        group => group.to_owned(),
    }
}

/// As `2024-01-01T00:00:00Z`.
pub(super) fn moment(at: Timestamp) -> String {
    let seconds = at.0.div_euclid(1000).rem_euclid(86_400);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", costs::day(at, 0))
}

/// Whether nothing failed in a run that carries groups out, and what is missing could not be begun.
pub fn only_blocked(run: &Run) -> bool {
    let Some(execution) = run.plan().execution.as_ref().filter(|execution| !execution.blocked.is_empty())
    else {
        return false;
    };
    run.tasks().all(|(task, progress)| match &progress.state {
        TaskState::Completed | TaskState::Skipped { culprit: Some(_) } => true,
        TaskState::Skipped { culprit: None } => execution.blocked.contains_key(&task.id),
        _ => execution.is_dispensable(&task.id),
    })
}

/// A group in a run.
struct View<'r> {
    run: &'r Run,
    execution: &'r Execution,
    stages: Vec<&'r Stage>,
}

impl<'r> View<'r> {
    fn progress(&self, task: &TaskId) -> Option<&'r Progress> {
        self.run.place(task).map(|place| self.run.progress(place))
    }

    fn tasks(&self) -> impl Iterator<Item = (&'r TaskId, &'r Progress)> {
        let tasks = self.stages.iter().flat_map(|stage| &stage.tasks);
        tasks.filter_map(|task| Some((task, self.progress(task)?)))
    }

    /// When it began, or the first of those who race for it.
    fn begun(&self, task: &TaskId) -> Option<Timestamp> {
        let place = self.run.place(task)?;
        let all = self.run.entrants(place).iter().copied().chain([place]);
        all.filter_map(|place| self.run.progress(place).first_started).min()
    }

    fn tests(&self) -> impl Iterator<Item = (&'r TaskId, &'r Progress)> {
        let tests = self.stages.iter().filter_map(|stage| stage.tests.as_ref());
        tests.filter_map(|task| Some((task, self.progress(task)?)))
    }

    fn refreshes(&self) -> impl Iterator<Item = &'r Progress> {
        let refreshes = self.stages.iter().filter_map(|stage| stage.refresh.as_ref());
        refreshes.filter_map(|task| self.progress(task))
    }

    fn all(&self) -> impl Iterator<Item = &'r TaskId> {
        self.stages.iter().flat_map(|stage| stage.refresh.iter().chain(&stage.tasks).chain(&stage.tests))
    }

    fn done(&self) -> impl Iterator<Item = &'r Done> {
        let group = self.stages.first().map(|stage| stage.group.as_str());
        self.execution.done.iter().filter(move |done| Some(done.group.as_str()) == group)
    }

    /// Those that were done before come first.
    fn names(&self) -> Vec<String> {
        let tasks = self.tasks().map(|(task, _)| task.to_string());
        self.done().map(|done| done.task.to_string()).chain(tasks).collect()
    }

    fn started(&self) -> Option<Timestamp> {
        self.all().filter_map(|task| self.begun(task)).min()
    }

    fn ended(&self) -> Option<Timestamp> {
        self.all().filter_map(|task| self.progress(task)?.ended).max()
    }

    fn is_refreshed(&self) -> bool {
        let mut refreshes = self.refreshes().peekable();
        refreshes.peek().is_some() && refreshes.all(|progress| progress.state == TaskState::Completed)
    }

    fn phase(&self) -> Phase {
        let mut begun = self.tasks().map(|(task, progress)| is_over(progress) || self.begun(task).is_some());
        if self.tasks().all(|(_, progress)| is_over(progress)) {
            Phase::PostExecution
        } else if !self.tasks().any(|(task, _)| self.begun(task).is_some()) {
            Phase::PreExecution
        } else if begun.all(|begun| begun) {
            Phase::Coordination
        } else {
            Phase::ConcurrentExecution
        }
    }

    fn status(&self) -> Status {
        let tasks = || self.tasks().map(|(task, progress)| self.status_of(task, progress));
        let over = self.tasks().chain(self.tests()).all(|(_, progress)| is_over(progress));
        let failed = self.tests().any(|(_, progress)| matches!(progress.state, TaskState::Failed(_)));
        match over {
            false if self.started().is_some() => Status::InProgress,
            false => Status::Pending,
            true if failed || tasks().any(|status| status == Status::Failed) => Status::Failed,
            true if tasks().all(|status| status == Status::Completed) => Status::Completed,
            true => Status::Blocked,
        }
    }

    /// A task skipped because of another one is blocked; one skipped by itself or cancelled has failed.
    fn status_of(&self, task: &TaskId, progress: &Progress) -> Status {
        match &progress.state {
            TaskState::Pending => Status::Pending,
            TaskState::Running(_)
            | TaskState::Racing
            | TaskState::Waiting { .. }
            | TaskState::Asking { .. }
            | TaskState::InReview { .. } => Status::InProgress,
            TaskState::Completed => Status::Completed,
            TaskState::Skipped { culprit: None } if !self.execution.blocked.contains_key(task) => {
                Status::Failed
            }
            TaskState::Skipped { .. } => Status::Blocked,
            TaskState::Failed(_) | TaskState::Cancelled => Status::Failed,
        }
    }

    /// Of every task that has begun or ended.
    fn results(&self) -> Vec<Outcome> {
        let before = self.done().map(|done| Outcome {
            task_id: done.task.to_string(),
            subagent: done.subagent.clone(),
            status: Status::Completed,
            started_at: done.started.map(moment),
            completed_at: done.ended.map(moment),
        });
        let each = self.tasks().map(|(task, progress)| (task, progress, self.begun(task)));
        let known = each.filter(|(_, progress, begun)| begun.is_some() || is_over(progress));
        let each = known.map(|(task, progress, begun)| Outcome {
            task_id: task.to_string(),
            subagent: self.run.plan().task(task).and_then(|task| task.subagent_type.clone()),
            status: self.status_of(task, progress),
            started_at: begun.map(moment),
            completed_at: progress.ended.filter(|_| begun.is_some()).map(moment),
        });
        before.chain(each).collect()
    }

    fn errors(&self) -> Vec<String> {
        let tasks = self.tasks().filter_map(|(task, progress)| self.error(task, progress));
        let tests = self.tests().filter_map(|(_, progress)| match &progress.state {
            TaskState::Failed(failure) => Some(format!("Tests failed: {}", failure.message)),
            TaskState::Cancelled => Some("Tests were cancelled".to_owned()),
            _ => None,
        });
        tasks.chain(tests).collect()
    }

    fn error(&self, task: &TaskId, progress: &Progress) -> Option<String> {
        Some(match &progress.state {
            TaskState::Failed(failure) if failure.class == FailureClass::Conflict => {
                format!("Task {task} failed: its work does not merge: {}", failure.message)
            }
            TaskState::Failed(failure) => format!("Task {task} failed: {}", failure.message),
            TaskState::Cancelled => format!("Task {task} was cancelled"),
            TaskState::Skipped { culprit } => match (self.execution.blocked.get(task), culprit) {
                (Some(why), _) => format!("Task {task} is blocked: {why}"),
                (None, Some(culprit)) => format!("Task {task} is blocked: {culprit} did not land"),
                (None, None) => format!("Task {task} was skipped on request"),
            },
            _ => return None,
        })
    }
}

fn is_over(progress: &Progress) -> bool {
    let status: TaskStatus = progress.state.status();
    status.is_end()
}

#[cfg(test)]
mod tests;
