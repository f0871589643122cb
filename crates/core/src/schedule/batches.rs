//! Batches, with `--strategy batch`: each begins when all before it are over, and both are told.

use super::Scheduler;
use crate::plan::graph::{Graph, Node, Strategy};
use crate::run::event::{BatchResult, Event, Usage};
use crate::run::{Batch, Run, Stage, Status};
use crate::values::units::{Millis, Now};

#[derive(Debug, Default)]
pub(super) struct Batches {
    /// Nothing with another strategy.
    all: Vec<Vec<Node>>,
    /// The first that is not over, and how many of its tasks are known to be.
    current: usize,
    over: usize,
}

impl Batches {
    pub(super) fn new(run: &Run, graph: &Graph) -> Batches {
        match run.options().strategy {
            Strategy::Batch => Batches { all: graph.batches(), ..Batches::default() },
            Strategy::Queue | Strategy::Sequential => Batches::default(),
        }
    }
}

impl Scheduler {
    /// Tells which batches are over and which one is under way.
    pub(super) fn see_to_batches(&mut self, now: Now) {
        while let Some(batch) = self.batches.all.get(self.batches.current) {
            let rest = batch.iter().skip(self.batches.over);
            self.batches.over += rest.take_while(|&&node| self.is_over_for_batch(node as usize)).count();
            let (number, is_over) = (self.batches.current as u32 + 1, self.batches.over == batch.len());
            let known = self.run.batches().iter().find(|known| known.number == number);
            let is_open = known.is_some_and(|known| known.result.is_none());
            match (is_over, is_open) {
                // What was over before is not told again; what was opened anew is.
                (true, false) => {}
                (true, true) => self.end_batch(now, number),
                (false, true) => return,
                (false, false) if self.run.stage() != Stage::Active => return,
                (false, false) => {
                    let ids = |node: &Node| self.graph.id(*node).clone();
                    let tasks = batch.iter().map(ids).collect();
                    self.emit(now, Event::BatchStarted { number, tasks });
                    return;
                }
            }
            self.batches.current += 1;
            self.batches.over = 0;
        }
    }

    /// What is done and only lands with its epic keeps no later batch waiting.
    fn is_over_for_batch(&self, place: usize) -> bool {
        self.run.progress(place).state.status().is_end() || self.epics.is_parked(place)
    }

    /// Entrants of a race are not counted beside their task.
    fn end_batch(&mut self, now: Now, number: u32) {
        let Some(batch) = self.batches.all.get(number as usize - 1) else { return };
        let batch: Vec<Node> = batch.iter().copied().filter(|&node| !self.graph.is_entrant(node)).collect();
        let ids = |wanted: fn(Status) -> bool| {
            let is_wanted = |node: &&Node| wanted(self.run.progress(**node as usize).state.status());
            batch.iter().filter(is_wanted).map(|node| self.graph.id(*node).clone()).collect::<Vec<_>>()
        };
        let started = self.run.batches().iter().find(|known| known.number == number);
        // The time in which nothing drove the run is none of it, as in the run's own figure.
        let active = self.run.active_until(now.tick);
        let elapsed = started
            .map_or_else(Default::default, |Batch { began, .. }| Millis(active.0.saturating_sub(began.0)));
        let usage = batch.iter().fold(Usage::default(), |mut sum, node| {
            sum += self.run.usage(*node as usize);
            sum
        });
        let result = Box::new(BatchResult {
            completed: ids(|status| status == Status::Completed).len() as u32,
            failed: ids(|status| status == Status::Failed),
            left_out: ids(|status| matches!(status, Status::Skipped | Status::Cancelled)),
            unlanded: ids(|status| !status.is_end()),
            elapsed,
            usage,
        });
        self.emit(now, Event::BatchCompleted { number, result });
    }
}
