//! What a run comes to: figures from the log, in the forms its files have.
//!
//! Every figure is measured. One that was not is null, never a guess.

mod accuracy;
mod batches;
mod course;
mod files;
pub mod groups;
mod html;
pub mod ledger;
mod markdown;
mod measured;
pub mod needs;
pub mod notify;
mod plan_file;
mod profile;
mod races;
pub mod tally;
mod time;
pub mod timeline;
mod words;

use std::collections::BTreeMap;

use crate::plan::graph::{Graph, Node};
use crate::plan::{Plan, Task};
use crate::report::ledger::Ledger;
use crate::run::event::{DrainReason, RunOutcome, Usage};
use crate::run::{Run, Stage, Status, Stray, TaskState};
use crate::values::ids::{RunId, TaskId};
use crate::values::units::Millis;

pub use accuracy::{Accuracy, Held};
pub use batches::{BatchFigures, ExecutionResult, before_its_batch};
pub use files::{SUMMARY_SCHEMA, SummaryFile, TaskResult, findings_of};
pub use html::html;
pub use markdown::markdown;
pub use plan_file::PlanFile;
pub use profile::Shares;
pub use races::Contest;
pub use time::TimeSpent;

/// What a report is about: a run, and what was looked up outside of its log.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub id: &'a RunId,
    pub run: &'a Run,
    pub graph: &'a Graph,
    /// Nothing where there is nothing to look into, or the run is at work.
    pub ledger: Option<&'a Ledger>,
    /// The task file's name.
    pub source: Option<&'a str>,
    pub voices: &'a Voices,
    /// How long it took to put the results together; nothing where that was not measured.
    pub aggregation: Option<Millis>,
}

/// By the places of tasks that failed.
pub type Voices = BTreeMap<usize, Voice>;

/// What a task's last attempt said in the end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Voice {
    /// Where all of it is.
    pub transcript: String,
    pub lines: Vec<String>,
}

/// The figures people ask for first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub total: u32,
    pub completed: u32,
    pub failed: u32,
    pub skipped: u32,
    pub cancelled: u32,
    /// Not ended: still to do on a resume.
    pub open: u32,
    pub attempts: u32,
    /// Time a coordinator was at work.
    pub elapsed: Millis,
    /// Time of all attempts together.
    pub worked: Millis,
    /// The longest chain of dependent tasks by the time they really took: nothing could have been faster.
    pub critical_path: Millis,
    pub executors: u32,
    pub spent: Usage,
}

impl Summary {
    pub fn of(run: &Run, graph: &Graph) -> Summary {
        let took = |task: Node| run.took(task as usize);
        Summary {
            total: run.total(),
            completed: run.count(Status::Completed),
            failed: run.count(Status::Failed),
            skipped: run.count(Status::Skipped),
            cancelled: run.count(Status::Cancelled),
            open: run.total() - run.ended_count(),
            attempts: run.attempts(),
            elapsed: run.active(),
            worked: run.tasks().fold(Millis(0), |sum, (_, progress)| sum + progress.worked),
            critical_path: graph.critical_path(took).length,
            executors: run.executors(),
            spent: run.spent(),
        }
    }
}

/// Which tasks may have written where none should.
pub fn stray_words(stray: &Stray) -> String {
    let tasks = stray.tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ");
    let who = if tasks.is_empty() { "no task".to_owned() } else { tasks };
    format!(
        "your checkout changed while {who} worked, by one of them or by yourself: {}",
        stray.what.join(", ")
    )
}

/// Why a task is in the state it is in, where that needs saying.
pub fn note(plan: &Plan, task: &Task, state: &TaskState) -> String {
    match state {
        TaskState::Skipped { culprit: None } if plan.blocked(&task.id).is_some() => {
            format!("blocked: {}", plan.blocked(&task.id).unwrap_or_default())
        }
        TaskState::Failed(failure) => failure.message.clone(),
        TaskState::Skipped { culprit: Some(culprit) } => format!("needs {culprit}"),
        TaskState::Skipped { culprit: None } => "skipped, as a person or its recovery wanted".to_owned(),
        TaskState::Waiting { delay, .. } => format!("waits {delay} for its next try"),
        TaskState::Asking { question, .. } => format!("waits for a person: {}", question.put()),
        TaskState::InReview { .. } => "waits for your review".to_owned(),
        _ => String::new(),
    }
}

pub fn outcome_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Created => "created",
        Stage::Active | Stage::Draining(_) => "running",
        Stage::Stopped(DrainReason::User) => "stopped",
        Stage::Stopped(DrainReason::Person) => "waiting for a person",
        Stage::Stopped(DrainReason::FailFast) => "stopped at the first failure",
        Stage::Stopped(DrainReason::Budget) => "stopped at its budget",
        Stage::Stopped(DrainReason::Unauthorized) => "stopped, an agent is not logged in",
        Stage::Finished(RunOutcome::Completed) => "completed",
        Stage::Finished(RunOutcome::Failed) => "failed",
        Stage::Finished(RunOutcome::Cancelled) => "cancelled",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plan::sketch::id;
    use crate::plan::{Command, Dependency, Plan, Task, Work};
    use crate::report::ledger::Ledger;
    use crate::run::event::{Failure, FailureClass, Options, Outcome};
    use crate::schedule::{Input, Scheduler};
    use crate::values::ids::Attempt;
    use crate::values::units::{Now, Tick, Timestamp};

    fn at(secs: u64) -> Now {
        Now { at: Timestamp(secs as i64 * 1000), tick: Tick(secs * 1000), jitter: 0.5 }
    }

    /// `a` takes 3 s, `b` 5 s beside it, `c` waits for `a` and fails after 4 s, `d` waits for `c`.
    fn ended() -> Scheduler {
        let task = |name: &str, before: &[&str]| {
            let mut task = Task::new(id(name), Work::Run(Command::Line(format!("make {name}"))));
            task.dependencies = before.iter().map(|on| Dependency::on(id(on))).collect();
            task
        };
        let tasks = vec![task("a", &[]), task("b", &[]), task("c", &["a"]), task("d", &["c"])];
        let (run, _) = Run::create(Plan { tasks, ..Plan::default() }, at(0));
        let (mut scheduler, _) = Scheduler::start(run, Options::with_slots(3), at(0)).unwrap();
        let failed = Outcome::Failed(Failure::new(FailureClass::Exit, "exit code 1 | odd\nline"));
        for (secs, task, outcome) in
            [(3, "a", Outcome::Succeeded), (5, "b", Outcome::Succeeded), (7, "c", failed)]
        {
            scheduler.handle(
                at(secs),
                Input::AttemptEnded {
                    task: id(task),
                    attempt: Attempt(1),
                    outcome,
                    change: None,
                    phases: None,
                },
            );
        }
        scheduler
    }

    #[test]
    fn figures_come_from_the_log() {
        let scheduler = ended();
        let summary = Summary::of(scheduler.run(), scheduler.graph());
        assert_eq!((summary.total, summary.completed, summary.failed, summary.skipped), (4, 2, 1, 1));
        assert_eq!((summary.elapsed, summary.worked), (Millis(7_000), Millis(12_000)));
        assert_eq!(summary.critical_path, Millis(7_000));
        assert_eq!(summary.executors, 2);
    }

    #[test]
    fn what_was_not_measured_is_null() {
        let scheduler = ended();
        let id = RunId::parse("r1").unwrap();
        let summary = SummaryFile::new(&id, scheduler.run(), scheduler.graph(), None);
        let value = serde_json::to_value(summary).unwrap();
        assert_eq!(value["success_rate"], json!(50.0));
        for key in ["total_files_created", "total_lines_of_code", "average_test_coverage"] {
            assert_eq!(value[key], Value::Null, "{key}");
        }
        assert_eq!(value["results"][3]["error"]["culprit"], json!("c"));
    }

    #[test]
    fn the_files_read_well() {
        let scheduler = ended();
        let id = RunId::parse("r1").unwrap();
        let plan = PlanFile::new(scheduler.run().plan(), scheduler.graph(), 3);
        let ledger = Ledger::claimed(scheduler.run());
        let voices = Voices::new();
        let (run, graph) = (scheduler.run(), scheduler.graph());
        let source = Some("tasks.yaml");
        let subject = Subject {
            id: &id,
            run,
            graph,
            ledger: Some(&ledger),
            source,
            voices: &voices,
            aggregation: None,
        };
        insta::assert_snapshot!(format!(
            "{}\n----\n{}",
            serde_json::to_string_pretty(&plan).unwrap(),
            markdown(&subject)
        ));
    }
}
