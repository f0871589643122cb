//! What became of each batch, with `--strategy batch`.

use serde::Serialize;

use crate::run::Batch;
use crate::run::costs;
use crate::run::event::BatchResult;
use crate::values::ids::TaskId;
use crate::values::units::Millis;

#[derive(Debug, Serialize)]
pub(super) struct BatchFigures<'a> {
    batch_number: u32,
    completed: u32,
    failed: &'a [TaskId],
    /// Skipped or cancelled.
    left_out: &'a [TaskId],
    duration_ms: Millis,
    /// Nothing where a part of it has no known price.
    cost_usd: Option<f64>,
}

impl<'a> BatchFigures<'a> {
    pub(super) fn new(batch: &'a Batch) -> Option<BatchFigures<'a>> {
        let BatchResult { completed, failed, left_out, elapsed, usage } = batch.result.as_ref()?;
        Some(BatchFigures {
            batch_number: batch.number,
            completed: *completed,
            failed,
            left_out,
            duration_ms: *elapsed,
            cost_usd: costs::dollars(*usage),
        })
    }
}
