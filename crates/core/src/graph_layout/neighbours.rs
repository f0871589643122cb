//! Who is linked to whom, in one piece of memory.

/// For each of many numbers, a list of others, in the order in which they were given.
#[derive(Debug, Clone)]
pub(super) struct Neighbours {
    /// Where each one's list begins; the next one's beginning is its end.
    starts: Vec<u32>,
    all: Vec<u32>,
}

impl Neighbours {
    /// From pairs of a number below `count` and what is put on its list.
    pub(super) fn of(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Neighbours {
        let mut starts = vec![0u32; count + 1];
        for (of, _) in pairs.clone() {
            starts[of as usize + 1] += 1;
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut all = vec![0; starts[count] as usize];
        for (of, other) in pairs {
            all[next[of as usize] as usize] = other;
            next[of as usize] += 1;
        }
        Neighbours { starts, all }
    }

    pub(super) fn get(&self, of: u32) -> &[u32] {
        &self.all[self.starts[of as usize] as usize..self.starts[of as usize + 1] as usize]
    }
}
