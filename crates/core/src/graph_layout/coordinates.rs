//! How far down each spot is, so that lines run straight: the method of Brandes and Köpf.
//!
//! Each spot is lined up with the middle one of its neighbours, from the left or from the right, the upper or the lower of two
//! middle ones. Spots in one line form a block, and blocks are moved together as far as the spots of each layer allow. Of
//! the four pictures that come of it each spot takes the mean of the two middle places, which keeps all distances.

use super::crossings::Arranged;
use super::lanes::Part;
use super::relaxation::relaxed;

/// Between two nodes, a node and a lane, two lanes.
const GAP: i32 = 14;
const LANE_GAP: i32 = 10;
const LANES_GAP: i32 = 8;

/// Straight lines may make a picture so many times as tall as its fullest layer.
const TALLEST: i64 = 2;

/// For each spot, how far down its middle is; the topmost edge is at 0. `halves` has half of each spot's height.
pub(super) fn rows(part: &Part, arranged: &Arranged, halves: &[i32]) -> Vec<i32> {
    let lined = Lined::of(part, arranged, halves);
    let conflicts = lined.conflicts();
    let runs = [(true, true), (true, false), (false, true), (false, false)];
    let drawn = runs
        .map(|(from_left, from_top)| lined.picture(&lined.blocks(&conflicts, from_left, from_top), from_top));
    let mut middles = lined.mean(drawn);
    let (top, bottom) = lined.ends(&middles);
    if i64::from(bottom - top) > TALLEST * i64::from(lined.fullest()) {
        middles = relaxed(&lined);
    }
    let (top, _) = lined.ends(&middles);
    let mut rows = vec![0; middles.len()];
    for (at, &spot) in arranged.spots.iter().enumerate() {
        rows[spot as usize] = middles[at] - top;
    }
    rows
}

/// The spots numbered as they are arranged: one layer behind the other, from top to bottom.
pub(super) struct Lined<'a> {
    /// Where each layer begins; the next one's beginning is its end.
    pub(super) starts: &'a [usize],
    /// Neighbours to the left and to the right from top to bottom, each with the number of the segment.
    pub(super) sides: [Links; 2],
    halves: Vec<i32>,
    is_lane: Vec<bool>,
    /// Whether a spot is the last of its layer, or the first.
    is_last: Vec<bool>,
    is_first: Vec<bool>,
}

/// Neighbours on one side.
pub(super) struct Links {
    starts: Vec<u32>,
    all: Vec<(u32, u32)>,
}

impl Links {
    pub(super) fn get(&self, spot: usize) -> &[(u32, u32)] {
        &self.all[self.starts[spot] as usize..self.starts[spot + 1] as usize]
    }

    /// From segments sorted by the other end, so that every list is sorted.
    fn of(spots: usize, segments: impl Iterator<Item = (u32, u32, u32)> + Clone) -> Links {
        let mut starts = vec![0u32; spots + 1];
        segments.clone().for_each(|(of, ..)| starts[of as usize + 1] += 1);
        for at in 0..spots {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut all = vec![(0, 0); starts[spots] as usize];
        for (of, other, number) in segments {
            all[next[of as usize] as usize] = (other, number);
            next[of as usize] += 1;
        }
        Links { starts, all }
    }
}

/// Which spots are in one line.
struct Blocks {
    /// The first spot of each spot's block.
    root: Vec<u32>,
    /// The next one of the block; the root again behind the last.
    next: Vec<u32>,
}

impl<'a> Lined<'a> {
    fn of(part: &Part, arranged: &'a Arranged, halves: &[i32]) -> Lined<'a> {
        let spots = part.spots();
        let mut at = vec![0u32; spots];
        for (number, &spot) in (0..).zip(&arranged.spots) {
            at[spot as usize] = number;
        }
        let mut segments: Vec<(u32, u32)> =
            part.segments.iter().map(|&(from, to)| (at[from as usize], at[to as usize])).collect();
        segments.sort_unstable();
        let numbered = || (0..).zip(&segments);
        let left = Links::of(spots, numbered().map(|(number, &(from, to))| (to, from, number)));
        let right = Links::of(spots, numbered().map(|(number, &(from, to))| (from, to, number)));
        let (mut is_first, mut is_last) = (vec![false; spots], vec![false; spots]);
        for layer in arranged.starts.windows(2).filter(|layer| layer[0] < layer[1]) {
            is_first[layer[0]] = true;
            is_last[layer[1] - 1] = true;
        }
        Lined {
            starts: &arranged.starts,
            sides: [left, right],
            halves: arranged.spots.iter().map(|&spot| halves[spot as usize]).collect(),
            is_lane: arranged.spots.iter().map(|&spot| part.is_lane(spot)).collect(),
            is_last,
            is_first,
        }
    }

    pub(super) fn spots(&self) -> usize {
        self.halves.len()
    }

    /// How far apart the middles of two neighbours in a layer are at least.
    pub(super) fn apart(&self, above: usize, below: usize) -> i32 {
        let gap = match (self.is_lane[above], self.is_lane[below]) {
            (false, false) => GAP,
            (true, true) => LANES_GAP,
            _ => LANE_GAP,
        };
        self.halves[above] + self.halves[below] + gap
    }

    /// Segments that cross one between two lanes: long lines run straight, others give way.
    fn conflicts(&self) -> Vec<bool> {
        let mut conflicts = vec![false; self.sides[0].all.len()];
        for layer in 1..self.starts.len() - 1 {
            let (begin, end) = (self.starts[layer], self.starts[layer + 1]);
            let (mut high, mut checked) = (self.starts[layer - 1] as u32, begin);
            for spot in begin..end {
                let inner = self.inner(spot).filter(|other| *other >= high);
                if inner.is_none() && spot + 1 < end {
                    continue;
                }
                let low = inner.unwrap_or(begin as u32 - 1);
                for &(other, number) in (checked..=spot).flat_map(|spot| self.sides[0].get(spot)) {
                    conflicts[number as usize] |= other < high || other > low;
                }
                (high, checked) = (low, spot + 1);
            }
        }
        conflicts
    }

    /// The lane before a lane.
    fn inner(&self, spot: usize) -> Option<u32> {
        let before = self.sides[0].get(spot).iter().map(|(other, _)| *other);
        before.into_iter().find(|&other| self.is_inner(spot, other as usize))
    }

    /// Whether both are lanes of one line.
    pub(super) fn is_inner(&self, spot: usize, other: usize) -> bool {
        self.is_lane[spot] && self.is_lane[other]
    }

    /// The height of the layer that needs most.
    fn fullest(&self) -> i32 {
        let height = |layer: &[usize]| {
            let between: i32 = (layer[0] + 1..layer[1]).map(|spot| self.apart(spot - 1, spot)).sum();
            between + self.halves[layer[0]] + self.halves[layer[1] - 1]
        };
        self.starts.windows(2).map(height).max().unwrap_or(0)
    }

    /// The upper edge of the topmost and the lower edge of the lowest.
    fn ends(&self, rows: &[i32]) -> (i32, i32) {
        let top = (0..rows.len()).map(|at| rows[at] - self.halves[at]).min().unwrap_or(0);
        (top, (0..rows.len()).map(|at| rows[at] + self.halves[at]).max().unwrap_or(0))
    }

    fn blocks(&self, conflicts: &[bool], from_left: bool, from_top: bool) -> Blocks {
        let numbers: Vec<u32> = (0..self.spots() as u32).collect();
        let mut blocks = Blocks { root: numbers.clone(), next: numbers };
        let layers = self.starts.len() - 1;
        for turn in 1..layers {
            let layer = if from_left { turn } else { layers - 1 - turn };
            let (begin, end) = (self.starts[layer], self.starts[layer + 1]);
            let mut reached: Option<u32> = None;
            for step in 0..end - begin {
                let spot = if from_top { begin + step } else { end - 1 - step };
                let found =
                    self.middle(spot, from_left, from_top).into_iter().flatten().find(|&(other, number)| {
                        let is_free = reached
                            .is_none_or(|reached| if from_top { other > reached } else { other < reached });
                        is_free && !conflicts[number as usize]
                    });
                if let Some((other, _)) = found {
                    let root = blocks.root[other as usize];
                    blocks.next[other as usize] = spot as u32;
                    (blocks.root[spot], blocks.next[spot]) = (root, root);
                    reached = Some(other);
                }
            }
        }
        blocks
    }

    /// The middle neighbour, or both where there are two.
    fn middle(&self, spot: usize, from_left: bool, from_top: bool) -> [Option<(u32, u32)>; 2] {
        let links = self.sides[usize::from(!from_left)].get(spot);
        let Some(last) = links.len().checked_sub(1) else { return [None, None] };
        let (upper, lower) = (links[last / 2], links[last.div_ceil(2)]);
        if from_top { [Some(upper), Some(lower)] } else { [Some(lower), Some(upper)] }
    }

    /// Puts blocks as far up as they can be, then as near to those below as these allow. Not from the top, everything is
    /// turned upside down.
    fn picture(&self, blocks: &Blocks, from_top: bool) -> Vec<i32> {
        let order = self.in_order(blocks, from_top);
        let mut rows = vec![0i32; self.spots()];
        for &block in &order {
            let above = spots_of(blocks, block).filter_map(|spot| {
                let other = self.beside(spot, !from_top)?;
                Some(rows[blocks.root[other] as usize] + self.apart(other, spot))
            });
            rows[block as usize] = above.max().unwrap_or(0);
        }
        for &block in order.iter().rev() {
            let below = spots_of(blocks, block).filter_map(|spot| {
                let other = self.beside(spot, from_top)?;
                Some(rows[blocks.root[other] as usize] - self.apart(spot, other))
            });
            if let Some(row) = below.min() {
                rows[block as usize] = rows[block as usize].max(row);
            }
        }
        let sign = if from_top { 1 } else { -1 };
        (0..self.spots()).map(|spot| sign * rows[blocks.root[spot] as usize]).collect()
    }

    /// The next spot of the same layer, downwards or upwards.
    pub(super) fn beside(&self, spot: usize, down: bool) -> Option<usize> {
        match down {
            true => (!self.is_last[spot]).then_some(spot + 1),
            false => (!self.is_first[spot]).then(|| spot - 1),
        }
    }

    /// All blocks, each behind those that are above it in some layer.
    fn in_order(&self, blocks: &Blocks, from_top: bool) -> Vec<u32> {
        let mut waiting = vec![0u32; self.spots()];
        for spot in (0..self.spots()).filter(|&spot| self.beside(spot, !from_top).is_some()) {
            waiting[blocks.root[spot] as usize] += 1;
        }
        let is_ready = |block: &u32| blocks.root[*block as usize] == *block && waiting[*block as usize] == 0;
        let mut order: Vec<u32> = (0..self.spots() as u32).filter(is_ready).collect();
        let mut at = 0;
        while let Some(&block) = order.get(at) {
            at += 1;
            for other in spots_of(blocks, block).filter_map(|spot| self.beside(spot, from_top)) {
                let other = blocks.root[other];
                waiting[other as usize] -= 1;
                if waiting[other as usize] == 0 {
                    order.push(other);
                }
            }
        }
        order
    }

    /// All pictures are moved to the lowest one of them, those from the top by their top, the others by their bottom.
    fn mean(&self, mut drawn: [Vec<i32>; 4]) -> Vec<i32> {
        let ends = drawn.iter().map(|rows| self.ends(rows));
        let (top, bottom) = ends.min_by_key(|(top, bottom)| bottom - top).unwrap_or((0, 0));
        for (number, rows) in drawn.iter_mut().enumerate() {
            let (own_top, own_bottom) = self.ends(rows);
            let by = if number % 2 == 0 { top - own_top } else { bottom - own_bottom };
            rows.iter_mut().for_each(|row| *row += by);
        }
        let [a, b, c, d] = drawn;
        let middle = |at: usize| {
            let mut rows = [a[at], b[at], c[at], d[at]];
            rows.sort_unstable();
            (rows[1] + rows[2]).div_euclid(2)
        };
        (0..self.spots()).map(middle).collect()
    }
}

fn spots_of(blocks: &Blocks, block: u32) -> impl Iterator<Item = usize> {
    let next = move |&spot: &u32| Some(blocks.next[spot as usize]).filter(|next| *next != block);
    std::iter::successors(Some(block), next).map(|spot| spot as usize)
}
