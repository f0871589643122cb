//! The order of the spots in each layer, so that few lines cross: sweeps by the mean place of neighbours, forth and back,
//! then neighbours in a layer are exchanged where that helps.

use super::lanes::Part;
use super::neighbours::Neighbours;

/// Sweeps of a small part; a big one gets fewer, so that each picture takes a bounded time.
const MOST_SWEEPS: usize = 24;
const LEAST_SWEEPS: usize = 4;
/// Spots and segments that may be looked at in all sweeps together.
const EFFORT: usize = 1_500_000;
/// After so many sweeps without a gain there will be none.
const PATIENCE: usize = 4;
/// Rounds of exchanges, and spots up to which they are tried.
const ROUNDS: usize = 6;
const EXCHANGED: usize = 20_000;

/// The spots of a part, layer by layer from left to right, from top to bottom within each.
pub(super) struct Arranged {
    pub(super) spots: Vec<u32>,
    /// Where each layer begins; the next one's beginning is its end.
    pub(super) starts: Vec<usize>,
}

pub(super) fn arrange(part: &Part) -> Arranged {
    let mut sweeper = Sweeper::of(part);
    sweeper.begin();
    sweeper.sweep();
    if part.spots() <= EXCHANGED {
        sweeper.exchange();
    }
    Arranged { spots: sweeper.order, starts: sweeper.starts }
}

struct Sweeper<'a> {
    part: &'a Part,
    left: Neighbours,
    right: Neighbours,
    order: Vec<u32>,
    starts: Vec<usize>,
    /// Where each spot is within its layer.
    place: Vec<u32>,
}

impl Sweeper<'_> {
    fn of(part: &Part) -> Sweeper<'_> {
        let spots = part.spots();
        let layers = part.layers.iter().max().map_or(0, |last| *last as usize + 1);
        let mut starts = vec![0; layers + 1];
        part.layers.iter().for_each(|&layer| starts[layer as usize + 1] += 1);
        for layer in 0..layers {
            starts[layer + 1] += starts[layer];
        }
        Sweeper {
            part,
            left: Neighbours::of(spots, part.segments.iter().map(|&(from, to)| (to, from))),
            right: Neighbours::of(spots, part.segments.iter().copied()),
            order: vec![0; spots],
            starts,
            place: vec![0; spots],
        }
    }

    fn layers(&self) -> usize {
        self.starts.len() - 1
    }

    fn layer(&self, layer: usize) -> &[u32] {
        &self.order[self.starts[layer]..self.starts[layer + 1]]
    }

    /// What hangs together is put together: each spot is followed to the right before the next one is looked at.
    fn begin(&mut self) {
        let mut next = self.starts.clone();
        let mut is_seen = vec![false; self.part.spots()];
        let first = (0..self.part.spots() as u32).filter(|&spot| self.part.layers[spot as usize] == 0);
        let mut open: Vec<u32> = first.collect();
        open.reverse();
        while let Some(spot) = open.pop() {
            if std::mem::replace(&mut is_seen[spot as usize], true) {
                continue;
            }
            let at = &mut next[self.part.layers[spot as usize] as usize];
            self.order[*at] = spot;
            *at += 1;
            open.extend(self.right.get(spot).iter().rev().filter(|&&next| !is_seen[next as usize]));
        }
        (0..self.layers()).for_each(|layer| self.number(layer));
    }

    fn number(&mut self, layer: usize) {
        for at in self.starts[layer]..self.starts[layer + 1] {
            self.place[self.order[at] as usize] = (at - self.starts[layer]) as u32;
        }
    }

    fn sweep(&mut self) {
        let size = self.part.spots() + self.part.segments.len();
        let sweeps = (EFFORT / size.max(1)).clamp(LEAST_SWEEPS, MOST_SWEEPS);
        let (mut best, mut fewest) = (self.order.clone(), self.crossings());
        let mut in_vain = 0;
        for sweep in 0..sweeps {
            if fewest == 0 || in_vain == PATIENCE {
                break;
            }
            let layers = self.layers();
            match sweep % 2 {
                0 => (1..layers).for_each(|layer| self.sort(layer, true)),
                _ => (0..layers - 1).rev().for_each(|layer| self.sort(layer, false)),
            }
            let crossings = self.crossings();
            in_vain += 1;
            if crossings < fewest {
                (fewest, in_vain) = (crossings, 0);
                best.clone_from(&self.order);
            }
        }
        self.order = best;
        (0..self.layers()).for_each(|layer| self.number(layer));
    }

    /// By the mean place of the neighbours on one side. Spots without any stay where they are.
    fn sort(&mut self, layer: usize, by_left: bool) {
        let range = self.starts[layer]..self.starts[layer + 1];
        let mut sorted: Vec<(u64, u32)> = Vec::with_capacity(range.len());
        let mut slots: Vec<usize> = Vec::with_capacity(range.len());
        for at in range {
            let spot = self.order[at];
            let others = if by_left { self.left.get(spot) } else { self.right.get(spot) };
            if others.is_empty() {
                continue;
            }
            let sum: u64 = others.iter().map(|&other| u64::from(self.place[other as usize])).sum();
            sorted.push(((sum << 20) / others.len() as u64, spot));
            slots.push(at);
        }
        // Stable: equal ones keep their order.
        sorted.sort_by_key(|(mean, _)| *mean);
        for (at, (_, spot)) in slots.into_iter().zip(sorted) {
            self.order[at] = spot;
        }
        self.number(layer);
    }

    fn crossings(&self) -> u64 {
        let widest = self.starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let mut below = Sums(vec![0; widest + 1]);
        (0..self.layers().saturating_sub(1)).map(|layer| self.crossings_behind(layer, &mut below)).sum()
    }

    fn crossings_behind(&self, layer: usize, seen: &mut Sums) -> u64 {
        let width = self.starts[layer + 2] - self.starts[layer + 1];
        seen.0[..=width].fill(0);
        let (mut crossings, mut count) = (0, 0);
        for &spot in self.layer(layer) {
            let places = self.right.get(spot).iter().map(|&other| self.place[other as usize] as usize);
            for place in places.clone() {
                crossings += u64::from(count - seen.up_to(place));
            }
            for place in places {
                seen.add(place, width);
                count += 1;
            }
        }
        crossings
    }

    /// Neighbours change places where fewer lines cross then.
    fn exchange(&mut self) {
        for _ in 0..ROUNDS {
            let mut is_better = false;
            for layer in 0..self.layers() {
                is_better |= self.exchange_in(layer);
            }
            if !is_better {
                break;
            }
        }
    }

    fn exchange_in(&mut self, layer: usize) -> bool {
        let range = self.starts[layer]..self.starts[layer + 1];
        let places = |neighbours: &Neighbours, spot: u32| {
            let mut places: Vec<u32> =
                neighbours.get(spot).iter().map(|&other| self.place[other as usize]).collect();
            places.sort_unstable();
            places
        };
        let mut sides: Vec<[Vec<u32>; 2]> = self.order[range.clone()]
            .iter()
            .map(|&spot| [places(&self.left, spot), places(&self.right, spot)])
            .collect();
        let mut is_better = false;
        for at in 1..range.len() {
            let (above, below) = (&sides[at - 1], &sides[at]);
            let now: u64 = (0..2).map(|side| above_others(&above[side], &below[side])).sum();
            let then: u64 = (0..2).map(|side| above_others(&below[side], &above[side])).sum();
            if then < now {
                sides.swap(at - 1, at);
                self.order.swap(range.start + at - 1, range.start + at);
                is_better = true;
            }
        }
        self.number(layer);
        is_better
    }
}

/// How many pairs of a line of the upper and one of the lower spot cross: those that go further down. Both are sorted.
fn above_others(upper: &[u32], lower: &[u32]) -> u64 {
    let mut less = 0;
    let mut crossings = 0;
    for place in upper {
        while lower.get(less).is_some_and(|other| other < place) {
            less += 1;
        }
        crossings += less as u64;
    }
    crossings
}

/// Counts by place, summed up quickly (a Fenwick tree).
struct Sums(Vec<u32>);

impl Sums {
    fn add(&mut self, place: usize, width: usize) {
        let mut at = place + 1;
        while at <= width {
            self.0[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    /// How many are at this place or above it.
    fn up_to(&self, place: usize) -> u32 {
        let (mut at, mut sum) = (place + 1, 0);
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
}
