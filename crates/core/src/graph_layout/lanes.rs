//! A connected part of the graph in layers: its nodes, and the lanes on which long lines pass between them.
//!
//! A line that skips layers takes a *lane* in each of them, so that there is room for it. Lines of one node share their
//! lanes as far as they go together, at the end where more of them meet.

use super::Line;

/// So many lanes are made for one picture; the longest of the lines that are left take a way around the part.
pub(super) const MOST_LANES: usize = 200_000;

/// Nodes and lanes are *spots* of a layer: nodes by their number within the part, then lanes.
pub(super) struct Part {
    /// The nodes, by their number in the outline.
    pub(super) nodes: Vec<u32>,
    /// The layer of each spot.
    pub(super) layers: Vec<u32>,
    /// From each spot to those of the next layer that it is linked to.
    pub(super) segments: Vec<(u32, u32)>,
    pub(super) ways: Vec<Way>,
}

/// How a line runs.
pub(super) struct Way {
    pub(super) line: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) via: Via,
}

pub(super) enum Via {
    /// So many lanes from this spot on, one in each layer.
    Lanes(u32, u32),
    /// Below everything else.
    Around,
}

/// Lanes that lines share: those that leave one node, or those that reach one.
#[derive(Clone)]
struct Trunk {
    low: u32,
    /// The layer behind its last lane.
    high: u32,
    first: u32,
}

impl Part {
    pub(super) fn spots(&self) -> usize {
        self.layers.len()
    }

    pub(super) fn is_lane(&self, spot: u32) -> bool {
        spot as usize >= self.nodes.len()
    }

    /// Of some nodes with their layers and of all lines among them, each by its ends within the part.
    pub(super) fn of(
        nodes: Vec<u32>,
        layers: Vec<u32>,
        lines: &[(u32, Line)],
        lanes_left: &mut usize,
    ) -> Part {
        let count = nodes.len();
        let (sharing, trunks) = trunks(&layers, lines, lanes_left);
        let mut part = Part { nodes, layers, segments: Vec::new(), ways: Vec::new() };
        let trunks = part.lay(trunks);
        for ((number, line), shared) in lines.iter().zip(sharing) {
            let (from, to) = (line.from, line.to);
            let via = match shared {
                Shared::Nothing => {
                    part.segments.push((from, to));
                    Via::Lanes(0, 0)
                }
                Shared::Trunk(at) => {
                    let (first, last) = (part.layers[from as usize] + 1, part.layers[to as usize] - 1);
                    let lane = |layer: u32| trunks[at].first + layer - trunks[at].low;
                    // One end of the trunk is linked once for all of its lines.
                    part.segments.push(if at < count { (lane(last), to) } else { (from, lane(first)) });
                    Via::Lanes(lane(first), last + 1 - first)
                }
                Shared::Around => Via::Around,
            };
            part.ways.push(Way { line: *number, from, to, via });
        }
        part
    }

    /// Gives every trunk its spots, and links them with each other and with the trunk's own node.
    fn lay(&mut self, mut trunks: Vec<Trunk>) -> Vec<Trunk> {
        let count = trunks.len() / 2;
        for (at, trunk) in trunks.iter_mut().enumerate().filter(|(_, trunk)| trunk.low < trunk.high) {
            trunk.first = self.layers.len() as u32;
            self.layers.extend(trunk.low..trunk.high);
            let last = self.layers.len() as u32 - 1;
            self.segments.extend((trunk.first..last).map(|lane| (lane, lane + 1)));
            let own = (at % count) as u32;
            self.segments.push(if at < count { (own, trunk.first) } else { (last, own) });
        }
        trunks
    }
}

#[derive(Clone, Copy)]
enum Shared {
    /// It goes to the next layer.
    Nothing,
    Trunk(usize),
    Around,
}

/// What each line shares with others: the trunk of the node it leaves, numbered like the node, or that of the node it reaches,
/// numbered behind those.
fn trunks(layers: &[u32], lines: &[(u32, Line)], lanes_left: &mut usize) -> (Vec<Shared>, Vec<Trunk>) {
    let count = layers.len();
    let span = |line: &Line| layers[line.to as usize] - layers[line.from as usize];
    let mut trunks: Vec<Trunk> =
        layers.iter().map(|&layer| Trunk { low: layer + 1, high: layer + 1, first: 0 }).collect();
    trunks.extend(layers.iter().map(|&layer| Trunk { low: layer, high: layer, first: 0 }));
    let mut long: Vec<usize> = (0..lines.len()).filter(|&at| span(&lines[at].1) > 1).collect();
    long.sort_by_key(|&at| span(&lines[at].1));
    let mut meet = vec![0u32; 2 * count];
    for &at in &long {
        meet[lines[at].1.from as usize] += 1;
        meet[count + lines[at].1.to as usize] += 1;
    }
    let mut shared = vec![Shared::Nothing; lines.len()];
    for at in long {
        let line = &lines[at].1;
        let (leaving, reaching) = (line.from as usize, count + line.to as usize);
        let is_leaving = meet[leaving] >= meet[reaching];
        let number = if is_leaving { leaving } else { reaching };
        let trunk = &mut trunks[number];
        let (low, high) = match is_leaving {
            true => (trunk.low, trunk.high.max(layers[line.to as usize])),
            false => (trunk.low.min(layers[line.from as usize] + 1), trunk.high),
        };
        let more = ((high - low) - (trunk.high - trunk.low)) as usize;
        shared[at] = match more <= *lanes_left {
            true => {
                *lanes_left -= more;
                (trunk.low, trunk.high) = (low, high);
                Shared::Trunk(number)
            }
            false => Shared::Around,
        };
    }
    (shared, trunks)
}
