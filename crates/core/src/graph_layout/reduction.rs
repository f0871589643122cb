//! Lines that follow from others.

use super::Line;
use super::neighbours::Neighbours;

/// So many nodes are looked for at once: the memory stays small however many nodes there are.
const WORDS: usize = 16;
const BLOCK: usize = WORDS * 64;

type Set = [u64; WORDS];

/// For each line whether what it says follows from others. The order has every line's beginning before its end.
pub(super) fn implied(order: &[u32], lines: &[Line]) -> Vec<bool> {
    let mut implied = vec![false; lines.len()];
    let mut place = vec![0u32; order.len()];
    for (at, &node) in (0..).zip(order) {
        place[node as usize] = at;
    }
    let counted = (0..).zip(lines).filter(|(_, line)| line.count > 0);
    let into = Neighbours::of(order.len(), counted.map(|(number, line)| (line.to, number)));
    // Nothing follows where nothing is reached twice.
    if (0..order.len() as u32).all(|node| into.get(node).len() < 2) {
        return implied;
    }
    for first in (0..order.len()).step_by(BLOCK) {
        look(first, order, &place, lines, &into, &mut implied);
    }
    implied
}

/// For lines that leave one of the nodes of a block: which of those can be reached over another line?
fn look(first: usize, order: &[u32], place: &[u32], lines: &[Line], into: &Neighbours, implied: &mut [bool]) {
    let from = |line: u32| (place[lines[line as usize].from as usize] as usize).checked_sub(first);
    let mut before: Vec<Set> = vec![[0; WORDS]; order.len() - first];
    for at in first..order.len() {
        let direct = into.get(order[at]);
        let mut all: Set = [0; WORDS];
        for from in direct.iter().filter_map(|&line| from(line)) {
            all.iter_mut().zip(&before[from]).for_each(|(all, more)| *all |= more);
        }
        for &line in direct {
            let Some(from) = from(line).filter(|from| *from < BLOCK) else { continue };
            let is_reached = all[from / 64] & (1 << (from % 64)) != 0;
            implied[line as usize] |= is_reached && lines[line as usize].back == 0;
        }
        for from in direct.iter().filter_map(|&line| from(line)).filter(|from| *from < BLOCK) {
            all[from / 64] |= 1 << (from % 64);
        }
        before[at - first] = all;
    }
}
