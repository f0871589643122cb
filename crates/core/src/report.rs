//! What a run comes to: figures from the log, in the forms its files have.
//!
//! Every figure is measured. One that was not is null, never a guess.

mod time;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::costs;
use crate::event::{DrainReason, Failure, Hand, RunOutcome, Usage};
use crate::graph::{Graph, Node};
use crate::ids::{RunId, TaskId};
use crate::ledger::Ledger;
use crate::plan::{Plan, Task, Work};
use crate::run::{Landed, Progress, Run, Stage, Status, Stray, TaskState};
use crate::units::Millis;

pub use time::TimeSpent;

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
    pub spent: Usage,
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
            spent: run.spent(),
        }
    }
}

/// `execution_plan.json`.
#[derive(Debug, Serialize)]
pub struct PlanFile<'a> {
    schema: &'static str,
    num_tasks: usize,
    executor_budget: u32,
    execution_model: &'static str,
    tasks: Vec<PlannedTask<'a>>,
    dependencies: BTreeMap<&'a TaskId, Vec<&'a TaskId>>,
    execution_strategy: Vec<Vec<&'a TaskId>>,
    notes: Option<&'a Value>,
}

#[derive(Debug, Serialize)]
struct PlannedTask<'a> {
    id: &'a TaskId,
    name: &'a str,
    description: String,
    priority: u8,
    dependencies: Vec<&'a TaskId>,
    estimated_duration_ms: Option<Millis>,
}

impl<'a> PlanFile<'a> {
    pub fn new(plan: &'a Plan, graph: &'a Graph, slots: u32) -> PlanFile<'a> {
        let named = |tasks: &[Node]| tasks.iter().map(|&task| graph.id(task)).collect::<Vec<_>>();
        let before: Vec<Vec<&TaskId>> = graph.dependencies().iter().map(|tasks| named(tasks)).collect();
        let waiting = plan.tasks.iter().zip(&before).filter(|(_, before)| !before.is_empty());
        PlanFile {
            schema: PLAN_SCHEMA,
            num_tasks: plan.tasks.len(),
            executor_budget: slots,
            execution_model: "task_queue",
            dependencies: waiting.map(|(task, before)| (&task.id, before.clone())).collect(),
            tasks: plan.tasks.iter().zip(before).map(|(task, before)| planned(task, before)).collect(),
            execution_strategy: graph.batches().iter().map(|batch| named(batch)).collect(),
            notes: plan.metadata.get("notes"),
        }
    }
}

fn planned<'a>(task: &'a Task, dependencies: Vec<&'a TaskId>) -> PlannedTask<'a> {
    PlannedTask {
        id: &task.id,
        name: &task.name,
        description: match &task.work {
            Work::Prompt(prompt) => prompt.clone(),
            Work::Run(command) => command.to_string(),
        },
        priority: task.priority.0,
        dependencies,
        estimated_duration_ms: task.estimate,
    }
}

/// `execution_summary.json`.
#[derive(Debug, Serialize)]
pub struct SummaryFile<'a> {
    schema: &'static str,
    run: &'a RunId,
    outcome: &'static str,
    total_tasks: u32,
    completed: u32,
    failed: u32,
    skipped: u32,
    cancelled: u32,
    open: u32,
    success_rate: Option<f64>,
    /// Of what has landed; nothing where nothing is merged and so nothing measured.
    total_files_created: Option<u64>,
    total_lines_of_code: Option<u64>,
    /// Not measured, and so not claimed.
    average_test_coverage: Option<f64>,
    attempts: u32,
    elapsed_ms: Millis,
    worked_ms: Millis,
    critical_path_ms: Millis,
    /// What the same work takes at the least with so many at a time.
    at_best_ms: Millis,
    time: TimeFigures,
    executors_used: u32,
    tasks_per_executor: Vec<u32>,
    /// Nothing where a part of it has no known price.
    cost_usd: Option<f64>,
    known_cost_usd: f64,
    tokens: u64,
    unpriced_tokens: u64,
    cost_by_model: BTreeMap<&'a str, ModelCost>,
    ledger: Option<&'a Ledger>,
    results: Vec<TaskResult<'a>>,
}

impl<'a> SummaryFile<'a> {
    pub fn new(id: &'a RunId, run: &'a Run, graph: &Graph, ledger: Option<&'a Ledger>) -> SummaryFile<'a> {
        let (summary, spent) = (Summary::of(run, graph), TimeSpent::of(run, graph));
        let landed = |figure: fn(&Landed) -> u64| {
            let all = run.tasks().filter_map(|(_, progress)| progress.landed.as_deref());
            ledger.map(|_| all.map(figure).sum())
        };
        SummaryFile {
            schema: SUMMARY_SCHEMA,
            run: id,
            outcome: outcome_name(run.stage()),
            total_tasks: summary.total,
            completed: summary.completed,
            failed: summary.failed,
            skipped: summary.skipped,
            cancelled: summary.cancelled,
            open: summary.open,
            success_rate: rate(&summary),
            total_files_created: landed(|landed| landed.touched.created),
            total_lines_of_code: landed(|landed| landed.touched.added),
            average_test_coverage: None,
            attempts: summary.attempts,
            elapsed_ms: summary.elapsed,
            worked_ms: summary.worked,
            critical_path_ms: summary.critical_path,
            at_best_ms: spent.at_best,
            time: TimeFigures::new(&spent),
            tasks_per_executor: spent.per_worker,
            executors_used: summary.executors,
            cost_usd: costs::dollars(summary.spent),
            known_cost_usd: summary.spent.cost.dollars(),
            tokens: summary.spent.tokens,
            unpriced_tokens: summary.spent.unpriced,
            cost_by_model: run
                .models()
                .iter()
                .map(|(model, usage)| (&**model, ModelCost::new(*usage)))
                .collect(),
            ledger,
            results: (0..run.plan().tasks.len()).map(|place| TaskResult::new(run, place)).collect(),
        }
    }
}

/// Of all tasks together; what was not measured is null.
#[derive(Debug, Serialize)]
struct TimeFigures {
    waited_ms: Option<Millis>,
    preparing_ms: Option<Millis>,
    working_ms: Option<Millis>,
    verifying_ms: Option<Millis>,
    merging_ms: Millis,
    retrying_ms: Millis,
    asking_ms: Millis,
}

impl TimeFigures {
    fn new(spent: &TimeSpent) -> TimeFigures {
        let times = &spent.times;
        let told = |length: Millis| (times.attempts > 0).then_some(length);
        TimeFigures {
            waited_ms: spent.waited,
            preparing_ms: told(times.preparing),
            working_ms: told(times.working),
            verifying_ms: told(times.verifying),
            merging_ms: times.merging,
            retrying_ms: times.retrying,
            asking_ms: times.asking,
        }
    }
}

#[derive(Debug, Serialize)]
struct ModelCost {
    cost_usd: Option<f64>,
    tokens: u64,
    turns: u32,
}

impl ModelCost {
    fn new(usage: Usage) -> ModelCost {
        ModelCost { cost_usd: costs::dollars(usage), tokens: usage.tokens, turns: usage.turns }
    }
}

/// One task's entry in the summary, and its own `result.json`.
#[derive(Debug, Serialize)]
pub struct TaskResult<'a> {
    task_id: &'a TaskId,
    name: &'a str,
    status: &'static str,
    error: Option<TaskError<'a>>,
    attempts: u32,
    interruptions: u32,
    executor: Option<u32>,
    /// Who did it in the end; of a task that never began, who is to.
    agent: &'a str,
    /// As it calls itself, where it was heard of; else as it was asked for.
    model: Option<&'a str>,
    worked_ms: Millis,
    cost_usd: Option<f64>,
    tokens: u64,
    /// Where its work is on the run's branch.
    commit: Option<&'a str>,
    files_touched: Option<&'a [String]>,
    lines_added: Option<u64>,
    lines_removed: Option<u64>,
    /// Whether its checks notice damage, where that was put to the test.
    gate_holds: Option<bool>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum TaskError<'a> {
    Failed(&'a Failure),
    Skipped { class: &'static str, culprit: Option<&'a TaskId> },
}

impl<'a> TaskResult<'a> {
    pub fn new(run: &'a Run, place: usize) -> TaskResult<'a> {
        let (task, progress): (&Task, &Progress) = run.task(place);
        let hand = run.hand(place);
        let landed = progress.landed.as_deref();
        TaskResult {
            task_id: &task.id,
            name: &task.name,
            status: progress.state.status().name(),
            error: match &progress.state {
                TaskState::Failed(failure) => Some(TaskError::Failed(failure)),
                TaskState::Skipped { culprit } => {
                    Some(TaskError::Skipped { class: "skipped", culprit: culprit.as_ref() })
                }
                _ => None,
            },
            attempts: progress.last_attempt,
            interruptions: progress.interruptions,
            executor: progress.executor,
            agent: hand.map_or_else(|| task.agent_name(), |hand: &Hand| &hand.agent),
            model: run.model(place).or_else(|| hand.and_then(|hand| hand.model.as_deref())),
            worked_ms: progress.worked,
            cost_usd: costs::dollars(progress.usage),
            tokens: progress.usage.tokens,
            commit: landed.map(|landed| landed.commit.as_str()),
            files_touched: landed.map(|landed| landed.touched.files.as_slice()),
            lines_added: landed.map(|landed| landed.touched.added),
            lines_removed: landed.map(|landed| landed.touched.removed),
            gate_holds: landed.and_then(|landed| landed.gate.as_ref()).map(|gate| gate.holds),
        }
    }
}

/// `report.md`.
pub fn markdown(id: &RunId, run: &Run, graph: &Graph, ledger: Option<&Ledger>) -> String {
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
    let spent = TimeSpent::of(run, graph);
    let _ = writeln!(out, "| at best, {} at a time | {} |", run.options().slots, spent.at_best);
    for (name, length) in spent.parts() {
        let _ = writeln!(out, "| {name} | {length} |");
    }
    let _ = writeln!(out, "| workers used | {} of {} |", summary.executors, run.options().slots);
    let _ = writeln!(out, "| attempts | {} |", summary.attempts);
    let _ = writeln!(out, "| cost | {} |", costs::words(summary.spent));
    for (model, usage) in run.models() {
        let _ = writeln!(out, "| cost of {} | {} |", cell(model), costs::words(*usage));
    }
    let _ = writeln!(out);
    if let Some(ledger) = ledger {
        let _ = writeln!(out, "{}", ledger.markdown());
    }
    for stray in run.strays() {
        let _ = writeln!(out, "{}\n", stray_words(stray));
    }
    let _ = writeln!(
        out,
        "| task | status | agent | time | attempts | worker | note |\n|---|---|---|---|---|---|---|"
    );
    for (place, (task, progress)) in run.tasks().enumerate() {
        let result = TaskResult::new(run, place);
        let model = result.model.map(|model| format!(", {model}")).unwrap_or_default();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            task.id,
            progress.state.status(),
            cell(&format!("{}{model}", result.agent)),
            progress.worked,
            progress.last_attempt,
            progress.executor.map(|number| number.to_string()).unwrap_or_default(),
            cell(&note(&progress.state)),
        );
    }
    out
}

/// Who may have written where nobody should.
pub fn stray_words(stray: &Stray) -> String {
    let tasks = stray.tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ");
    let who = if tasks.is_empty() { "nobody".to_owned() } else { tasks };
    format!(
        "your checkout changed while {who} worked, by one of them or by yourself: {}",
        stray.what.join(", ")
    )
}

/// Why a task is in the state it is in, where that needs saying.
pub fn note(state: &TaskState) -> String {
    match state {
        TaskState::Failed(failure) => failure.message.clone(),
        TaskState::Skipped { culprit: Some(culprit) } => format!("needs {culprit}"),
        TaskState::Skipped { culprit: None } => "skipped on request".to_owned(),
        TaskState::Waiting { delay, .. } => format!("waits {delay} for its next try"),
        TaskState::Asking { question, .. } => format!("waits for a person: {}", question.put()),
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
        Stage::Finished(RunOutcome::Completed) => "completed",
        Stage::Finished(RunOutcome::Failed) => "failed",
    }
}

/// Of all tasks, in percent with one decimal.
fn rate(summary: &Summary) -> Option<f64> {
    let (completed, total) = (f64::from(summary.completed), f64::from(summary.total));
    (summary.total > 0).then(|| (completed * 1000.0 / total).round() / 10.0)
}

/// Text for a table cell: one line, bars escaped.
fn cell(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::{FailureClass, Options, Outcome};
    use crate::ids::Attempt;
    use crate::ledger::Ledger;
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
        insta::assert_snapshot!(format!(
            "{}\n----\n{}",
            serde_json::to_string_pretty(&plan).unwrap(),
            markdown(&id, scheduler.run(), scheduler.graph(), Some(&ledger))
        ));
    }
}
