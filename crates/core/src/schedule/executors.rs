//! Who works: a number for each attempt under way.

use std::collections::BTreeSet;

/// Numbers for who works, from 1, always the lowest free one: the highest ever given is how many the run could use.
#[derive(Default)]
pub(super) struct Executors {
    free: BTreeSet<u32>,
    highest: u32,
}

impl Executors {
    /// The one that is wanted, if it is free; else the lowest.
    pub(super) fn take(&mut self, wanted: Option<u32>) -> u32 {
        if let Some(wanted) = wanted.filter(|wanted| *wanted > self.highest || self.free.contains(wanted)) {
            self.claim(wanted);
            return wanted;
        }
        self.free.pop_first().unwrap_or_else(|| {
            self.highest += 1;
            self.highest
        })
    }

    pub(super) fn claim(&mut self, number: u32) {
        self.free.extend(self.highest + 1..number);
        self.highest = self.highest.max(number);
        self.free.remove(&number);
    }

    pub(super) fn free(&mut self, number: u32) {
        self.free.insert(number);
    }

    /// Those that are not needed where this many tasks can still begin, as the lowest are taken first.
    pub(super) fn spare(&self, open: usize) -> impl Iterator<Item = u32> {
        self.free.iter().copied().skip(open)
    }
}
