//! What a run comes to: figures from the log, in the forms its files have.
//!
//! Every figure is measured. One that was not is null, never a guess.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::event::{DrainReason, RunOutcome};
use crate::graph::{Graph, Node};
use crate::ids::{RunId, TaskId};
use crate::plan::{Plan, Task, Work};
use crate::run::{Progress, Run, Stage, Status, TaskState};
use crate::units::Millis;

pub const PLAN_SCHEMA: &str = "conductor.plan/1";
pub const SUMMARY_SCHEMA: &str = "conductor.summary/1";

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
    pub cost: crate::units::Usd,
}

impl Summary {
    pub fn of(run: &Run, graph: &Graph) -> Summary {
        let took = |task: Node| run.progress(task as usize).worked;
        Summary {
            total: graph.len() as u32,
            completed: run.count(Status::Completed),
            failed: run.count(Status::Failed),
            skipped: run.count(Status::Skipped),
            cancelled: run.count(Status::Cancelled),
            open: graph.len() as u32 - run.ended_count(),
            attempts: run.attempts(),
            elapsed: run.active(),
            worked: run.tasks().fold(Millis(0), |sum, (_, progress)| sum + progress.worked),
            critical_path: graph.critical_path(took).length,
            executors: run.executors(),
            cost: run.spent().cost,
        }
    }
}

/// `execution_plan.json`.
pub fn plan_json(plan: &Plan, graph: &Graph, slots: u32) -> Value {
    let before = graph.dependencies();
    let names = |tasks: &[Node]| tasks.iter().map(|&task| graph.id(task).clone()).collect::<Vec<TaskId>>();
    let tasks: Vec<Value> =
        plan.tasks.iter().enumerate().map(|(place, task)| planned(task, &names(&before[place]))).collect();
    let dependencies: serde_json::Map<String, Value> = plan
        .tasks
        .iter()
        .enumerate()
        .filter(|(place, _)| !before[*place].is_empty())
        .map(|(place, task)| (task.id.to_string(), json!(names(&before[place]))))
        .collect();
    json!({
        "schema": PLAN_SCHEMA,
        "num_tasks": plan.tasks.len(),
        "executor_budget": slots,
        "execution_model": "task_queue",
        "tasks": tasks,
        "dependencies": dependencies,
        "execution_strategy": graph.batches().iter().map(|batch| names(batch)).collect::<Vec<_>>(),
        "notes": plan.metadata.get("notes").cloned().unwrap_or(Value::Null),
    })
}

fn planned(task: &Task, before: &[TaskId]) -> Value {
    let description = match &task.work {
        Work::Prompt(prompt) => prompt.clone(),
        Work::Run(command) => command.to_string(),
    };
    json!({
        "id": task.id,
        "name": task.name,
        "description": description,
        "priority": task.priority.0,
        "dependencies": before,
        "estimated_duration_ms": task.estimate.map(|estimate| estimate.0),
    })
}

/// `execution_summary.json`.
pub fn summary_json(id: &RunId, run: &Run, graph: &Graph) -> Value {
    let summary = Summary::of(run, graph);
    json!({
        "schema": SUMMARY_SCHEMA,
        "run": id,
        "outcome": outcome_name(run.stage()),
        "total_tasks": summary.total,
        "completed": summary.completed,
        "failed": summary.failed,
        "skipped": summary.skipped,
        "cancelled": summary.cancelled,
        "open": summary.open,
        "success_rate": rate(&summary),
        "total_files_created": Value::Null,
        "total_lines_of_code": Value::Null,
        "average_test_coverage": Value::Null,
        "attempts": summary.attempts,
        "elapsed_ms": summary.elapsed.0,
        "worked_ms": summary.worked.0,
        "critical_path_ms": summary.critical_path.0,
        "executors_used": summary.executors,
        "cost_usd": summary.cost.dollars(),
        "results": run.tasks().map(|(task, progress)| result_json(task, progress)).collect::<Vec<_>>(),
    })
}

/// One task's entry in the summary, and its own `result.json`.
pub fn result_json(task: &Task, progress: &Progress) -> Value {
    json!({
        "task_id": task.id,
        "name": task.name,
        "status": progress.state.status().name(),
        "error": match &progress.state {
            TaskState::Failed(failure) => json!({ "class": failure.class, "message": failure.message }),
            TaskState::Skipped { culprit } => json!({ "class": "skipped", "culprit": culprit }),
            _ => Value::Null,
        },
        "attempts": progress.last_attempt,
        "interruptions": progress.interruptions,
        "executor": progress.executor,
        "agent": task.agent_name(),
        "worked_ms": progress.worked.0,
        "cost_usd": progress.usage.cost.dollars(),
        "tokens": progress.usage.tokens,
    })
}

/// `report.md`.
pub fn markdown(id: &RunId, run: &Run, graph: &Graph) -> String {
    let summary = Summary::of(run, graph);
    let mut out = String::new();
    let _ = writeln!(out, "# Run {id}: {}\n", outcome_name(run.stage()));
    let _ = writeln!(
        out,
        "{} of {} tasks completed, {} failed, {} skipped, {} cancelled, {} open.\n",
        summary.completed, summary.total, summary.failed, summary.skipped, summary.cancelled, summary.open
    );
    let _ = writeln!(out, "| measured | |\n|---|---|");
    let _ = writeln!(out, "| elapsed | {} |", summary.elapsed);
    let _ = writeln!(out, "| work of all attempts | {} |", summary.worked);
    let _ = writeln!(out, "| critical path | {} |", summary.critical_path);
    let _ = writeln!(out, "| workers used | {} of {} |", summary.executors, run.options().slots);
    let _ = writeln!(out, "| attempts | {} |", summary.attempts);
    let _ = writeln!(out, "| cost | {} |\n", summary.cost);
    let _ = writeln!(out, "| task | status | time | attempts | worker | note |\n|---|---|---|---|---|---|");
    for (task, progress) in run.tasks() {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            task.id,
            progress.state.status(),
            progress.worked,
            progress.last_attempt,
            progress.executor.map(|number| number.to_string()).unwrap_or_default(),
            cell(&note(&progress.state)),
        );
    }
    out
}

/// Why a task is in the state it is in, where that needs saying.
pub fn note(state: &TaskState) -> String {
    match state {
        TaskState::Failed(failure) => failure.message.clone(),
        TaskState::Skipped { culprit: Some(culprit) } => format!("needs {culprit}"),
        TaskState::Skipped { culprit: None } => "skipped on request".to_owned(),
        TaskState::Waiting { delay, .. } => format!("waits {delay} for its next try"),
        _ => String::new(),
    }
}

pub fn outcome_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Created => "created",
        Stage::Active | Stage::Draining(_) => "running",
        Stage::Stopped(DrainReason::User) => "stopped",
        Stage::Stopped(DrainReason::FailFast) => "stopped at the first failure",
        Stage::Stopped(DrainReason::Budget) => "stopped at its budget",
        Stage::Finished(RunOutcome::Completed) => "completed",
        Stage::Finished(RunOutcome::Failed) => "failed",
    }
}

/// Of all tasks, in percent with one decimal.
fn rate(summary: &Summary) -> Value {
    match summary.total {
        0 => Value::Null,
        total => json!((f64::from(summary.completed) * 1000.0 / f64::from(total)).round() / 10.0),
    }
}

/// Text for a table cell: one line, bars escaped.
fn cell(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Failure, FailureClass, Options, Outcome};
    use crate::ids::Attempt;
    use crate::plan::{Command, Dependency};
    use crate::scheduler::{Input, Scheduler};
    use crate::units::{Now, Tick, Timestamp};

    fn at(secs: u64) -> Now {
        Now { at: Timestamp(secs as i64 * 1000), tick: Tick(secs * 1000), jitter: 0.5 }
    }

    /// `a` takes 3 s, `b` 5 s beside it, `c` waits for `a` and fails after 4 s, `d` waits for `c`.
    fn ended() -> Scheduler {
        let id = |text: &str| TaskId::parse(text).unwrap();
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
                Input::AttemptEnded { task: id(task), attempt: Attempt(1), outcome, change: None },
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
        let value = summary_json(&id, scheduler.run(), scheduler.graph());
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
        let plan = plan_json(scheduler.run().plan(), scheduler.graph(), 3);
        insta::assert_snapshot!(format!(
            "{}\n----\n{}",
            serde_json::to_string_pretty(&plan).unwrap(),
            markdown(&id, scheduler.run(), scheduler.graph())
        ));
    }
}
