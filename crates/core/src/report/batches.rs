//! What became of each batch and of the run, in the fields that programs know from plans that are carried out in batches.
//! The summary and the server tell both in these words.

use serde::Serialize;

use crate::plan::graph::{Graph, Strategy};
use crate::run::costs;
use crate::run::event::Usage;
use crate::run::{Run, Status, TaskState};
use crate::values::ids::TaskId;
use crate::values::units::Millis;

/// A task that failed, and of what.
#[derive(Debug, Serialize)]
pub(super) struct FailedTask<'a> {
    task_id: &'a TaskId,
    error: &'a str,
}

impl<'a> FailedTask<'a> {
    fn of(run: &'a Run, place: usize) -> Option<FailedTask<'a>> {
        let (task, progress) = run.task(place);
        match &progress.state {
            TaskState::Failed(failure) => Some(FailedTask { task_id: &task.id, error: &failure.message }),
            _ => None,
        }
    }

    /// In the order of the file.
    fn all(run: &'a Run) -> Vec<FailedTask<'a>> {
        run.asked().filter_map(|(place, _, _)| FailedTask::of(run, place)).collect()
    }
}

/// What came of a run. A batch is told of in one form in the summary, and with more in the server's answers.
#[derive(Debug, Serialize)]
pub struct ExecutionResult<'a, B = BatchFigures<'a>> {
    /// Nothing where the run does not go by batches.
    total_batches: Option<usize>,
    completed_batches: Option<usize>,
    total_tasks: u32,
    completed_tasks: u32,
    failed_tasks: Vec<FailedTask<'a>>,
    batch_results: Vec<B>,
    /// In seconds.
    total_duration: f64,
    /// Nothing where a part of it has no known price.
    total_cost: Option<f64>,
}

impl<'a, B> ExecutionResult<'a, B> {
    /// With the results of the batches that are over, of so many.
    pub fn new(run: &'a Run, total_batches: Option<usize>, over: Vec<B>) -> ExecutionResult<'a, B> {
        ExecutionResult {
            total_batches,
            completed_batches: total_batches.map(|_| over.len()),
            total_tasks: run.total(),
            completed_tasks: run.count(Status::Completed),
            failed_tasks: FailedTask::all(run),
            batch_results: over,
            total_duration: seconds(run.active()),
            total_cost: costs::dollars(run.spent()),
        }
    }
}

impl<'a> ExecutionResult<'a> {
    /// By the batches that the run has recorded.
    pub(super) fn of(run: &'a Run, graph: &Graph) -> ExecutionResult<'a> {
        let total = (run.options().strategy == Strategy::Batch).then(|| graph.batches().len());
        ExecutionResult::new(run, total, BatchFigures::all(run))
    }
}

/// What of the batches before a task's own is not over, where the run goes by batches: the task waits for that.
pub fn before_its_batch<'a>(run: &'a Run, task: &TaskId) -> Vec<&'a TaskId> {
    let graph = match run.options().strategy {
        Strategy::Batch => Graph::new(run.plan(), Strategy::Queue),
        _ => return Vec::new(),
    };
    let batches = graph.map(|graph| graph.batches()).unwrap_or_default();
    let place = |node: &u32| run.task(*node as usize);
    let earlier = batches.iter().take_while(|batch| !batch.iter().any(|node| place(node).0.id == *task));
    let open = earlier.flatten().map(place).filter(|(task, progress)| {
        // What only lands with its epic keeps no later batch waiting.
        let only_lands =
            progress.state.landing().is_some() && !matches!(progress.state, TaskState::InReview { .. });
        !task.is_entrant() && !progress.state.status().is_end() && !only_lands
    });
    open.map(|(task, _)| &task.id).collect()
}

/// One batch, as its tasks stand now: what lands later, with its epic, is counted where it landed.
#[derive(Debug, Serialize)]
pub struct BatchFigures<'a> {
    batch_number: u32,
    /// `pending`, `running`, `completed` or `failed`: over, and not all of it completed.
    status: &'static str,
    task_count: usize,
    task_ids: Vec<&'a TaskId>,
    completed: u32,
    failed: Vec<FailedTask<'a>>,
    failed_ids: Vec<&'a TaskId>,
    /// Skipped or cancelled.
    left_out: Vec<&'a TaskId>,
    /// Not over: at work again, or done and not landed yet.
    open: Vec<&'a TaskId>,
    /// Nothing where it was not measured.
    duration_ms: Option<Millis>,
    /// In seconds.
    duration: Option<f64>,
    /// Nothing where a part of it has no known price.
    cost_usd: Option<f64>,
    cost: Option<f64>,
}

impl<'a> BatchFigures<'a> {
    /// Entrants of a race are not counted beside their task.
    pub fn new(run: &'a Run, number: u32, places: &[usize], elapsed: Option<Millis>) -> BatchFigures<'a> {
        let tasks: Vec<usize> =
            places.iter().copied().filter(|&place| !run.task(place).0.is_entrant()).collect();
        let ids = |wanted: fn(Status) -> bool| -> Vec<&'a TaskId> {
            let some = tasks.iter().filter(|&&place| wanted(run.progress(place).state.status()));
            some.map(|&place| &run.task(place).0.id).collect()
        };
        let usage = tasks.iter().fold(Usage::default(), |mut sum, &place| {
            sum += run.usage(place);
            sum
        });
        let cost = costs::dollars(usage);
        let (task_ids, completed) = (ids(|_| true), ids(|status| status == Status::Completed).len());
        let (open, untouched) = (ids(|status| !status.is_end()), ids(|status| status == Status::Pending));
        BatchFigures {
            batch_number: number,
            status: match task_ids.len() {
                count if completed == count => "completed",
                _ if open.is_empty() => "failed",
                count if untouched.len() == count => "pending",
                _ => "running",
            },
            task_count: task_ids.len(),
            task_ids,
            completed: completed as u32,
            failed: tasks.iter().filter_map(|&place| FailedTask::of(run, place)).collect(),
            failed_ids: ids(|status| status == Status::Failed),
            left_out: ids(|status| matches!(status, Status::Skipped | Status::Cancelled)),
            open,
            duration_ms: elapsed,
            duration: elapsed.map(seconds),
            cost_usd: cost,
            cost,
        }
    }

    /// Those that are over, in the order of their beginnings.
    fn all(run: &'a Run) -> Vec<BatchFigures<'a>> {
        let over = run.batches().iter().filter_map(|batch| Some((batch, batch.result.as_ref()?)));
        over.map(|(batch, result)| {
            let places: Vec<usize> = batch.tasks.iter().map(|&node| node as usize).collect();
            BatchFigures::new(run, batch.number, &places, Some(result.elapsed))
        })
        .collect()
    }
}

fn seconds(length: Millis) -> f64 {
    length.0 as f64 / 1_000.0
}
