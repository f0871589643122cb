//! How long things took, or how much: how many of them were how long, and all of them together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Lengths of time in microseconds, or amounts in bytes, counted by upper bounds. The bounds are kept with the counts, so that what an earlier
/// version has counted can still be added.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Histogram {
    /// How many were at most as long as this, and longer than the bound before it.
    buckets: BTreeMap<u64, u64>,
    /// All of them, those beyond the last bound included.
    count: u64,
    sum: u64,
}

impl Histogram {
    /// `bounds` are ascending.
    pub fn observe(&mut self, amount: u64, bounds: &[u64]) {
        if let Some(bound) = bounds.iter().find(|bound| amount <= **bound) {
            let bucket = self.buckets.entry(*bound).or_default();
            *bucket = bucket.saturating_add(1);
        }
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(amount);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// In the unit of what was counted.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// How many were at most as long as each bound: of these bounds, and of those that were counted by.
    pub fn cumulative(&self, bounds: &[u64]) -> Vec<(u64, u64)> {
        let all: BTreeSet<u64> = bounds.iter().chain(self.buckets.keys()).copied().collect();
        let mut so_far = 0u64;
        let up_to = |bound: u64| {
            so_far = so_far.saturating_add(self.buckets.get(&bound).copied().unwrap_or_default());
            (bound, so_far)
        };
        all.into_iter().map(up_to).collect()
    }
}

impl AddAssign<&Histogram> for Histogram {
    fn add_assign(&mut self, more: &Histogram) {
        for (bound, count) in &more.buckets {
            let bucket = self.buckets.entry(*bound).or_default();
            *bucket = bucket.saturating_add(*count);
        }
        self.count = self.count.saturating_add(more.count);
        self.sum = self.sum.saturating_add(more.sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_what_is_below_it_and_nothing_is_lost_beyond_the_last() {
        let mut histogram = Histogram::default();
        for micros in [0, 10, 11, 20, 21, u64::MAX] {
            histogram.observe(micros, &[10, 20]);
        }
        assert_eq!(histogram.cumulative(&[10, 20]), [(10, 2), (20, 4)]);
        assert_eq!((histogram.count(), histogram.sum()), (6, u64::MAX));
    }

    #[test]
    fn what_was_counted_by_other_bounds_is_still_there() {
        let (mut before, mut now) = (Histogram::default(), Histogram::default());
        before.observe(12, &[15]);
        now.observe(12, &[10, 20]);
        now += &before;
        assert_eq!(now.cumulative(&[10, 20]), [(10, 0), (15, 1), (20, 2)]);
        let text = serde_json::to_string(&now).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), now);
    }
}
