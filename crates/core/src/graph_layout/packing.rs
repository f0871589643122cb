//! The whole picture: connected parts one below the other, tasks without any line in rows behind them, and the course of
//! every line.

use super::coordinates::rows;
use super::crossings::arrange;
use super::lanes::{MOST_LANES, Part, Via, Way};
use super::reduction::implied;
use super::{Kind, Line, Outline};

/// Sizes are even, so that every middle is a whole number.
const WIDTH: i32 = 136;
const HEIGHT: i32 = 38;
/// With room for a bar by state.
const FOLDED_HEIGHT: i32 = 50;
const LINE_HEIGHT: i32 = 2;

const MARGIN: i32 = 16;
/// Between nodes that no line links.
const ROW_GAP: i32 = 14;
const PART_GAP: i32 = 28;
const AROUND_GAP: i32 = 16;
/// Between columns: wider where lines have far to go up or down, or they would be too steep to be followed.
const COLUMN_GAP: i32 = 32;
const WIDEST_GAP: i32 = 240;
const STEEPEST: i32 = 8;

pub type Point = (i32, i32);

/// A box by its left upper corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawnNode {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
    /// How many nodes are before it at the most.
    pub layer: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnLine {
    pub line: Line,
    /// An even number of points. From the first to the second it bends, from there to the third it runs straight and level,
    /// and so on by turns; the last piece bends again.
    pub points: Vec<Point>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub width: i32,
    pub height: i32,
    /// Those of the outline, in its order.
    pub nodes: Vec<DrawnNode>,
    /// Without those that follow from others.
    pub lines: Vec<DrawnLine>,
}

impl Layout {
    pub fn of(outline: &Outline) -> Layout {
        let implied = implied(&outline.order, &outline.lines);
        let lines: Vec<Line> =
            outline.lines.iter().zip(implied).filter(|(_, not)| !not).map(|(line, _)| *line).collect();
        let layers = layers(outline, &lines);
        let (parts, singles) = drawn_parts(outline, &lines, &layers);
        let columns = columns(&parts, singles.len());
        let mut layout = Layout::empty(&layers, lines.len());
        for part in &parts {
            layout.put(part, outline, &lines, &columns);
        }
        layout.put_singles(&singles, outline, columns_of_singles(&parts, singles.len()), &columns);
        layout.lines.sort_unstable_by_key(|drawn| (drawn.line.from, drawn.line.to));
        layout.width = layout.nodes.iter().map(|node| node.x + node.width).max().unwrap_or(MARGIN) + MARGIN;
        layout.height += MARGIN;
        layout
    }

    fn empty(layers: &[u32], lines: usize) -> Layout {
        let node = |&layer: &u32| DrawnNode { x: 0, y: 0, width: WIDTH, height: 0, layer };
        let nodes = layers.iter().map(node).collect();
        Layout { width: 0, height: MARGIN, nodes, lines: Vec::with_capacity(lines) }
    }

    /// Below what is there, which ends at the height so far.
    fn put(&mut self, drawn: &DrawnPart, outline: &Outline, lines: &[Line], columns: &[i32]) {
        let top = self.top();
        for (spot, &node) in drawn.part.nodes.iter().enumerate() {
            let half = half(outline.nodes[node as usize].kind);
            let at = &mut self.nodes[node as usize];
            (at.x, at.y, at.height) = (columns[at.layer as usize], top + drawn.rows[spot] - half, 2 * half);
        }
        let mut bottom = top + drawn.height;
        let around = bottom + AROUND_GAP;
        for way in &drawn.part.ways {
            if matches!(way.via, Via::Around) {
                bottom = around;
            }
            let points = drawn.points(way, top, around, columns);
            self.lines.push(DrawnLine { line: lines[way.line as usize], points });
        }
        self.height = bottom;
    }

    fn put_singles(&mut self, singles: &[u32], outline: &Outline, across: usize, columns: &[i32]) {
        let mut top = self.top();
        for row in singles.chunks(across.max(1)) {
            for (column, &node) in row.iter().enumerate() {
                let height = 2 * half(outline.nodes[node as usize].kind);
                let at = &mut self.nodes[node as usize];
                (at.x, at.y, at.height) = (columns[column], top, height);
                self.height = self.height.max(top + height);
            }
            top = self.height + ROW_GAP;
        }
    }

    fn top(&self) -> i32 {
        if self.height == MARGIN { MARGIN } else { self.height + PART_GAP }
    }
}

fn half(kind: Kind) -> i32 {
    match kind {
        Kind::Task => HEIGHT / 2,
        Kind::Group | Kind::Rest => FOLDED_HEIGHT / 2,
        Kind::Gate => LINE_HEIGHT / 2,
    }
}

/// The longest way to each node.
fn layers(outline: &Outline, lines: &[Line]) -> Vec<u32> {
    let mut place = vec![0u32; outline.order.len()];
    for (at, &node) in (0..).zip(&outline.order) {
        place[node as usize] = at;
    }
    let mut by_start: Vec<&Line> = lines.iter().collect();
    by_start.sort_by_key(|line| place[line.from as usize]);
    let mut layers = vec![0; outline.nodes.len()];
    for line in by_start {
        layers[line.to as usize] = layers[line.to as usize].max(layers[line.from as usize] + 1);
    }
    layers
}

struct DrawnPart {
    part: Part,
    rows: Vec<i32>,
    height: i32,
}

impl DrawnPart {
    fn points(&self, way: &Way, top: i32, around: i32, columns: &[i32]) -> Vec<Point> {
        let row = |spot: u32| top + self.rows[spot as usize];
        let column = |spot: u32| columns[self.part.layers[spot as usize] as usize];
        let (from, to) = (way.from, way.to);
        let mut points = vec![(column(from) + WIDTH, row(from))];
        match way.via {
            Via::Lanes(first, count) => {
                for lane in first..first + count {
                    match points.last_mut().filter(|_| lane > first) {
                        Some(last) if last.1 == row(lane) => last.0 = column(lane) + WIDTH,
                        _ => points.extend([(column(lane), row(lane)), (column(lane) + WIDTH, row(lane))]),
                    }
                }
            }
            Via::Around => {
                let layer = |spot: u32| self.part.layers[spot as usize] as usize;
                points.extend([(columns[layer(from) + 1], around), (columns[layer(to) - 1] + WIDTH, around)]);
            }
        }
        points.push((column(to), row(to)));
        points
    }
}

/// The parts, the biggest first, and nodes without any line.
fn drawn_parts(outline: &Outline, lines: &[Line], layers: &[u32]) -> (Vec<DrawnPart>, Vec<u32>) {
    let mut lanes_left = MOST_LANES;
    let mut local = vec![0u32; outline.nodes.len()];
    let (linked, singles) = connected(outline.nodes.len(), lines);
    let parts = linked.into_iter().map(|(nodes, own)| {
        for (number, &node) in (0..).zip(&nodes) {
            local[node as usize] = number;
        }
        let own: Vec<(u32, Line)> = own
            .into_iter()
            .map(|number| {
                let line = lines[number as usize];
                let (from, to) = (local[line.from as usize], local[line.to as usize]);
                (number, Line { from, to, ..line })
            })
            .collect();
        let halves: Vec<i32> = nodes.iter().map(|&node| half(outline.nodes[node as usize].kind)).collect();
        let layers = nodes.iter().map(|&node| layers[node as usize]).collect();
        drawn(Part::of(nodes, layers, &own, &mut lanes_left), halves)
    });
    (parts.collect(), singles)
}

fn drawn(part: Part, mut halves: Vec<i32>) -> DrawnPart {
    halves.resize(part.spots(), LINE_HEIGHT / 2);
    let rows = rows(&part, &arrange(&part), &halves);
    let height = rows.iter().zip(&halves).map(|(row, half)| row + half).max().unwrap_or(0);
    DrawnPart { part, rows, height }
}

/// Nodes that hang together, and the lines between them, all by number.
type Linked = (Vec<u32>, Vec<u32>);

/// Nodes that lines link, with those lines, the most nodes first; and nodes without any.
fn connected(nodes: usize, lines: &[Line]) -> (Vec<Linked>, Vec<u32>) {
    let mut sets = Sets((0..nodes as u32).collect());
    lines.iter().for_each(|line| sets.unite(line.from, line.to));
    let mut parts: Vec<Linked> = vec![Default::default(); nodes];
    (0..nodes as u32).for_each(|node| parts[sets.find(node) as usize].0.push(node));
    for (number, line) in (0..).zip(lines) {
        parts[sets.find(line.from) as usize].1.push(number);
    }
    let singles = parts.iter().filter(|(nodes, _)| nodes.len() == 1).map(|(nodes, _)| nodes[0]).collect();
    parts.retain(|(nodes, _)| nodes.len() > 1);
    parts.sort_by_key(|(nodes, _)| std::cmp::Reverse(nodes.len()));
    (parts, singles)
}

/// Sets that are united, each by its lowest number.
struct Sets(Vec<u32>);

impl Sets {
    fn find(&mut self, mut one: u32) -> u32 {
        while self.0[one as usize] != one {
            let above = self.0[self.0[one as usize] as usize];
            self.0[one as usize] = above;
            one = above;
        }
        one
    }

    fn unite(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}

/// Where each column begins.
fn columns(parts: &[DrawnPart], singles: usize) -> Vec<i32> {
    let mut steps: Vec<i32> = vec![0; layers_of(parts)];
    for drawn in parts {
        for &(from, to) in &drawn.part.segments {
            let step = &mut steps[drawn.part.layers[from as usize] as usize];
            *step = (*step).max((drawn.rows[from as usize] - drawn.rows[to as usize]).abs());
        }
    }
    steps.resize(layers_of(parts).max(columns_of_singles(parts, singles)), 0);
    let columns = steps.iter().scan(MARGIN, |next, step| {
        let x = *next;
        *next += WIDTH + (step / STEEPEST).clamp(COLUMN_GAP, WIDEST_GAP);
        Some(x)
    });
    columns.collect()
}

fn layers_of(parts: &[DrawnPart]) -> usize {
    let last = parts.iter().flat_map(|drawn| &drawn.part.layers).max();
    last.map_or(0, |last| *last as usize + 1)
}

/// How many singles are in a row: as many as there are layers, or so many that they fill a landscape page.
fn columns_of_singles(parts: &[DrawnPart], singles: usize) -> usize {
    let page = (singles as f64 / 2.0).sqrt().ceil() as usize;
    layers_of(parts).max(page).min(singles)
}
