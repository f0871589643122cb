//! What is left to be drawn once tasks are folded: nodes, and lines that all go forward.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::neighbours::Neighbours;
use super::{Folding, Stand, TaskGraph};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Task,
    Group,
    /// Tasks of one state, all over the graph.
    Rest,
    /// Where many lines meet and part again.
    Gate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutlineNode {
    pub kind: Kind,
    /// Whether the critical path goes through it.
    pub critical: bool,
}

/// All dependencies between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    pub from: u32,
    pub to: u32,
    /// How many dependencies it stands for.
    pub count: u32,
    /// How many run against it: two groups can wait for each other's tasks.
    pub back: u32,
    pub critical: bool,
}

/// Nodes by number: those of the folding, then gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    pub nodes: Vec<OutlineNode>,
    /// By their ends; every one goes from a node that stands earlier in the order to a later one.
    pub lines: Vec<Line>,
    pub order: Vec<u32>,
}

/// A dependency between two nodes, and how often it is there.
type Counted = (u32, u32, u32);

impl Outline {
    pub fn of(graph: &TaskGraph, folding: &Folding) -> Outline {
        let mut draft = Draft::of(graph, folding);
        draft.dissolve();
        let numbers = draft.numbers();
        let number = |node: u32| numbers[node as usize];
        let walk: Vec<u32> =
            graph.critical.iter().filter_map(|&node| number(stand(graph, folding, node))).collect();
        let mut nodes: Vec<OutlineNode> = folding.nodes.iter().map(|stand| node(kind(*stand))).collect();
        nodes.resize(numbers.iter().flatten().count(), node(Kind::Gate));
        walk.iter().for_each(|&at| nodes[at as usize].critical = true);
        let edges: Vec<Counted> = merged(
            draft.edges().filter_map(|(from, to, count)| Some((number(from)?, number(to)?, count))).collect(),
        );
        let mut first = vec![u32::MAX; nodes.len()];
        for (node, rank) in (0..).zip(ranks(graph)) {
            if let Some(at) = number(stand(graph, folding, node)) {
                first[at as usize] = first[at as usize].min(rank);
            }
        }
        let order = in_order(&edges, &first);
        let lines = lines(&nodes, &order, edges, &walk);
        Outline { nodes, lines, order }
    }
}

fn node(kind: Kind) -> OutlineNode {
    OutlineNode { kind, critical: false }
}

fn kind(stand: Stand) -> Kind {
    match stand {
        Stand::Task(_) => Kind::Task,
        Stand::Group(_) => Kind::Group,
        Stand::Rest(_) => Kind::Rest,
    }
}

/// The node for a task; gates are behind all nodes.
fn stand(graph: &TaskGraph, folding: &Folding, node: u32) -> u32 {
    match folding.stands.get(node as usize) {
        Some(stand) => *stand,
        None => node - graph.tasks.len() as u32 + folding.nodes.len() as u32,
    }
}

/// Each pair once, with the sum of its counts.
fn merged(mut edges: Vec<Counted>) -> Vec<Counted> {
    edges.sort_unstable();
    edges.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2 = kept.2.saturating_add(next.2);
        }
        same
    });
    edges
}

/// For each task and gate, its place among all of them, what it waits for first.
fn ranks(graph: &TaskGraph) -> Vec<u32> {
    let edges: Vec<Counted> = graph.edges.iter().map(|&(from, to)| (from, to, 1)).collect();
    let numbers: Vec<u32> = (0..graph.nodes() as u32).collect();
    let mut ranks = vec![0; graph.nodes()];
    for (rank, node) in (0..).zip(in_order(&edges, &numbers)) {
        ranks[node as usize] = rank;
    }
    ranks
}

/// Every node behind those that lead to it, the one with the lower `first` before others. Where nodes wait for each other
/// in a circle, the one with the lowest `first` goes on.
fn in_order(edges: &[Counted], first: &[u32]) -> Vec<u32> {
    let after = Neighbours::of(first.len(), edges.iter().map(|&(from, to, _)| (from, to)));
    let mut waiting = vec![0u32; first.len()];
    edges.iter().for_each(|&(_, to, _)| waiting[to as usize] += 1);
    let mut by_first: Vec<u32> = (0..first.len() as u32).collect();
    by_first.sort_by_key(|&node| (first[node as usize], node));
    let entry = |node: u32| Reverse((first[node as usize], node));
    let mut ready: BinaryHeap<_> =
        by_first.iter().filter(|&&node| waiting[node as usize] == 0).map(|&node| entry(node)).collect();
    let mut is_placed = vec![false; first.len()];
    let mut order = Vec::with_capacity(first.len());
    let mut left = by_first.into_iter();
    while let Some(node) = ready.pop().map(|Reverse((_, node))| node).or_else(|| left.next()) {
        if std::mem::replace(&mut is_placed[node as usize], true) {
            continue;
        }
        order.push(node);
        for &next in after.get(node) {
            waiting[next as usize] -= 1;
            if waiting[next as usize] == 0 && !is_placed[next as usize] {
                ready.push(entry(next));
            }
        }
    }
    order
}

/// Both directions between two nodes become one line that goes forward.
fn lines(nodes: &[OutlineNode], order: &[u32], edges: Vec<Counted>, walk: &[u32]) -> Vec<Line> {
    let mut place = vec![0u32; order.len()];
    for (at, &node) in (0..).zip(order) {
        place[node as usize] = at;
    }
    let is_rest = |node: u32| nodes[node as usize].kind == Kind::Rest;
    let mut lines: Vec<Line> = Vec::with_capacity(edges.len());
    for (from, to, count) in edges {
        if place[from as usize] < place[to as usize] {
            lines.push(Line { from, to, count, back: 0, critical: false });
        } else if !is_rest(from) && !is_rest(to) {
            // What is left over is all over the graph: that it also comes before says nothing.
            lines.push(Line { from: to, to: from, count: 0, back: count, critical: false });
        }
    }
    lines.sort_unstable_by_key(|line| (line.from, line.to));
    lines.dedup_by(|next, kept| {
        let same = (next.from, next.to) == (kept.from, kept.to);
        if same {
            (kept.count, kept.back) = (kept.count + next.count, kept.back + next.back);
        }
        same
    });
    for pair in walk.windows(2) {
        if let Ok(at) = lines.binary_search_by_key(&(pair[0], pair[1]), |line| (line.from, line.to)) {
            lines[at].critical = true;
        }
    }
    lines
}

/// An outline in the making. Joins that folding has made idle are taken out of it.
struct Draft {
    /// How many nodes there are before the first gate.
    nodes: u32,
    direct: Vec<Counted>,
    gates: Vec<Gate>,
}

#[derive(Default, Clone)]
struct Gate {
    /// Who comes before and after it, with how many dependencies; a gate among them has this one on its other list.
    before: Vec<(u32, u32)>,
    after: Vec<(u32, u32)>,
    is_gone: bool,
}

impl Draft {
    fn of(graph: &TaskGraph, folding: &Folding) -> Draft {
        let mapped =
            graph.edges.iter().map(|&(from, to)| (stand(graph, folding, from), stand(graph, folding, to), 1));
        let edges = merged(mapped.filter(|(from, to, _)| from != to).collect());
        let nodes = folding.nodes.len() as u32;
        let mut draft = Draft { nodes, direct: Vec::new(), gates: vec![Gate::default(); graph.gates] };
        edges.into_iter().for_each(|edge| draft.add(edge));
        draft
    }

    fn add(&mut self, (from, to, count): Counted) {
        if from == to {
            return;
        }
        let (leaves, enters) = (self.gate(from), self.gate(to));
        if let Some(gate) = leaves {
            self.gates[gate].after.push((to, count));
        }
        if let Some(gate) = enters {
            self.gates[gate].before.push((from, count));
        }
        if leaves.is_none() && enters.is_none() {
            self.direct.push((from, to, count));
        }
    }

    fn gate(&self, node: u32) -> Option<usize> {
        node.checked_sub(self.nodes).map(|gate| gate as usize)
    }

    /// A gate with one line on one side joins nothing.
    fn dissolve(&mut self) {
        let mut open: Vec<usize> = (0..self.gates.len()).rev().collect();
        while let Some(at) = open.pop() {
            let gate = &mut self.gates[at];
            settle(&mut gate.before);
            settle(&mut gate.after);
            if gate.is_gone || gate.before.len() > 1 && gate.after.len() > 1 {
                continue;
            }
            let gate = std::mem::replace(&mut self.gates[at], Gate { is_gone: true, ..Gate::default() });
            let own = at as u32 + self.nodes;
            for (node, _) in gate.before.iter().chain(&gate.after) {
                if let Some(other) = self.gate(*node) {
                    self.gates[other].before.retain(|(node, _)| *node != own);
                    self.gates[other].after.retain(|(node, _)| *node != own);
                    open.push(other);
                }
            }
            for &(from, before) in &gate.before {
                for &(to, after) in &gate.after {
                    self.add((from, to, before.saturating_mul(after)));
                }
            }
        }
    }

    /// What each node is called from now on; nothing for gates that are gone.
    fn numbers(&self) -> Vec<Option<u32>> {
        let mut next = self.nodes;
        let gates = self.gates.iter().map(|gate| {
            (!gate.is_gone).then(|| {
                next += 1;
                next - 1
            })
        });
        let gates: Vec<Option<u32>> = gates.collect();
        (0..self.nodes).map(Some).chain(gates).collect()
    }

    fn edges(&self) -> impl Iterator<Item = Counted> {
        let gates = (self.nodes..).zip(&self.gates);
        let gated = gates.flat_map(|(own, gate)| {
            let before = gate.before.iter().map(move |&(from, count)| (from, own, count));
            let after = gate.after.iter().filter(|(to, _)| self.gate(*to).is_none());
            before.chain(after.map(move |&(to, count)| (own, to, count)))
        });
        self.direct.iter().copied().chain(gated)
    }
}

/// Each node once, with the sum of its counts.
fn settle(list: &mut Vec<(u32, u32)>) {
    list.sort_unstable();
    list.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        same
    });
}
