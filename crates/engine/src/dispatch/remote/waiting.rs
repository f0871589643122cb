//! Orders for which no worker has room, and which of them is next.
//!
//! What has the highest priority comes first, and of those that have the same the one that became due first. Orders that
//! ask for the same labels stand in one row, so that ten thousand which wait for one kind of worker cost no more than one.

use std::collections::{BTreeMap, HashMap};

use conductor_core::plan::Priority;
use conductor_core::values::ids::{Attempt, TaskId};

use crate::dispatch::Order;

/// Smaller is sooner.
type Key = (Priority, i64);

#[derive(Default)]
pub(super) struct Waiting {
    /// By the labels that they ask for.
    rows: BTreeMap<Vec<String>, BTreeMap<Key, Order>>,
    /// Where the user has said another than the plan.
    priorities: HashMap<TaskId, Priority>,
    /// Of the next that becomes due, and of the next that was a worker's and has to wait again.
    last: i64,
    first: i64,
}

impl Waiting {
    /// After all of its priority.
    pub(super) fn put(&mut self, order: Order) {
        self.last += 1;
        self.insert(self.last, order);
    }

    /// Before all of its priority: it had its turn once.
    pub(super) fn put_first(&mut self, order: Order) {
        self.first -= 1;
        self.insert(self.first, order);
    }

    fn insert(&mut self, number: i64, order: Order) {
        let task = &order.plan.tasks[order.place];
        let priority = self.priorities.get(&order.task).copied().unwrap_or(task.priority);
        let row = task.requires.clone();
        self.rows.entry(row).or_default().insert((priority, number), order);
    }

    /// What waits of a task keeps its place among those that are as urgent now.
    pub(super) fn prioritize(&mut self, task: &TaskId, priority: Priority) {
        self.priorities.insert(task.clone(), priority);
        for row in self.rows.values_mut() {
            let its: Vec<Key> =
                row.iter().filter(|(_, order)| order.task == *task).map(|(key, _)| *key).collect();
            for key in its {
                if let Some(order) = row.remove(&key) {
                    row.insert((priority, key.1), order);
                }
            }
        }
    }

    /// The next of those for whose labels there is room.
    pub(super) fn take(&mut self, has_room: impl Fn(&[String]) -> bool) -> Option<Order> {
        let firsts = self.rows.iter().filter_map(|(labels, row)| Some((row.keys().next()?, labels)));
        let (_, labels) = firsts.filter(|(_, labels)| has_room(labels)).min()?;
        let labels = labels.clone();
        let row = self.rows.get_mut(&labels)?;
        let taken = row.pop_first();
        if row.is_empty() {
            self.rows.remove(&labels);
        }
        taken.map(|(_, order)| order)
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, task: &TaskId, attempt: Attempt) -> bool {
        let before = self.len();
        for row in self.rows.values_mut() {
            row.retain(|_, order| order.task != *task || order.attempt != attempt);
        }
        self.rows.retain(|_, row| !row.is_empty());
        self.len() < before
    }

    /// The labels that are asked for, and who asks for them first.
    pub(super) fn firsts(&self) -> impl Iterator<Item = (&[String], &TaskId)> {
        self.rows.iter().filter_map(|(labels, row)| Some((&labels[..], &row.values().next()?.task)))
    }

    fn len(&self) -> usize {
        self.rows.values().map(BTreeMap::len).sum()
    }
}
