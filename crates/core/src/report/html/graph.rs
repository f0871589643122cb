//! The graph: tasks in columns by what they wait for, the critical path in bold.

use std::collections::HashSet;

use super::markup::{Markup, Px, cut, put, region};
use crate::plan::graph::{Graph, Node};
use crate::report::{Subject, note};
use crate::run::Status;

/// With more tasks than this a picture tells nothing; how many of a long chain are named then.
const DRAWN: usize = 150;
const NAMED: usize = 200;

const BOX: (f64, f64) = (150.0, 32.0);
const GAP: (f64, f64) = (48.0, 10.0);
/// A level with more tasks than this goes into several columns.
const COLUMN: usize = 18;
const LETTERS: usize = 20;

pub(super) fn graph(out: &mut Markup, subject: &Subject<'_>) {
    let Subject { run, graph, .. } = subject;
    let path = graph.critical_path(|task| run.took(task as usize));
    put!(out; "<section id=\"graph\"><h2>Graph</h2>");
    let before = graph.dependencies();
    let linked = before.iter().any(|before| !before.is_empty());
    match (linked, graph.len() <= DRAWN) {
        (false, _) => put!(out; "<p>No task waits for another.</p>"),
        (true, true) => {
            put!(out; "<p class=\"note\">Bold is the critical path, " (path.length) ": nothing could have been faster \
                than that chain of tasks. What follows from other lines is not drawn.</p>");
            draw(out, subject, &before, &path.tasks);
        }
        (true, false) => {
            put!(out; "<p>" (graph.len()) " tasks are too many to be drawn. The critical path, " (path.length)
                ", nothing could have been faster than:</p><ol class=\"path\">");
            for &task in path.tasks.iter().take(NAMED) {
                put!(out; "<li><bdi>" (graph.id(task)) "</bdi> " (run.took(task as usize)) "</li>");
            }
            put!(out; "</ol>");
            let more = path.tasks.len().saturating_sub(NAMED);
            if more > 0 {
                put!(out; "<p class=\"note\">And " (more) " more.</p>");
            }
        }
    }
    put!(out; "</section>\n");
}

/// Where each task's box is, by its left upper corner.
struct Layout {
    places: Vec<(f64, f64)>,
    size: (f64, f64),
}

impl Layout {
    fn of(graph: &Graph, before: &[Vec<Node>]) -> Layout {
        let mut places = vec![(0.0, 0.0); graph.len()];
        let mut rank = vec![0.0; graph.len()];
        let (mut x, mut lowest) = (0.0, 0.0f64);
        for mut level in graph.batches() {
            let height = |task: &Node| middle(&before[*task as usize], &rank);
            level.sort_by(|a, b| height(a).total_cmp(&height(b)).then(a.cmp(b)));
            for (at, &task) in level.iter().enumerate() {
                rank[task as usize] = at as f64 / level.len() as f64;
            }
            let columns = level.len().div_ceil(COLUMN).max(1);
            for column in level.chunks(level.len().div_ceil(columns).max(1)) {
                for (row, &task) in column.iter().enumerate() {
                    let y = row as f64 * (BOX.1 + GAP.1);
                    places[task as usize] = (x, y);
                    lowest = lowest.max(y + BOX.1);
                }
                x += BOX.0 + GAP.0;
            }
        }
        Layout { places, size: ((x - GAP.0).max(BOX.0), lowest) }
    }
}

/// Where those it waits for are on average, so that lines cross seldom.
fn middle(before: &[Node], rank: &[f64]) -> f64 {
    let sum: f64 = before.iter().map(|&task| rank[task as usize]).sum();
    if before.is_empty() { 0.0 } else { sum / before.len() as f64 }
}

fn draw(out: &mut Markup, subject: &Subject<'_>, before: &[Vec<Node>], path: &[Node]) {
    let Subject { run, graph, .. } = subject;
    let layout = Layout::of(graph, before);
    let (width, height) = (layout.size.0 + 4.0, layout.size.1 + 4.0);
    region(out, "Graph");
    put!(out; "<svg width=\"" (Px(width)) "\" height=\"" (Px(height)) "\" viewBox=\"-2 -2 " (Px(width)) " " (Px(height))
        "\" role=\"img\" aria-label=\"Which task waits for which\">");
    let bold: HashSet<(Node, Node)> = path.windows(2).map(|pair| (pair[0], pair[1])).collect();
    for (from, to) in needed(graph, before) {
        let ((x1, y1), (x2, y2)) = (layout.places[from as usize], layout.places[to as usize]);
        let (x1, y1, y2) = (x1 + BOX.0, y1 + BOX.1 / 2.0, y2 + BOX.1 / 2.0);
        put!(out; "<path class=\"");
        out.raw(if bold.contains(&(from, to)) { "a c" } else { "a" });
        let (start, end) = (x1 + GAP.0 / 2.0, x2 - GAP.0 / 2.0);
        put!(out; "\" d=\"M" (Px(x1)) " " (Px(y1)) "C" (Px(start)) " " (Px(y1)) " " (Px(end)) " " (Px(y2)) " " (Px(x2))
            " " (Px(y2)) "\"/>");
    }
    for (place, task, progress) in run.asked() {
        let ((x, y), status) = (layout.places[place], progress.state.status());
        let about = note(run.plan(), task, &progress.state);
        put!(out; "<g class=\"n ");
        out.raw(class(status));
        out.raw(if path.contains(&(place as Node)) { " c" } else { "" });
        put!(out; "\"><title>" (task.name) ": " (status) ", " (run.took(place)));
        if !about.is_empty() {
            put!(out; "; " (about));
        }
        let name = format!("{} {}", sign(status), cut(task.id.as_str(), LETTERS));
        put!(out; "</title><rect x=\"" (Px(x)) "\" y=\"" (Px(y)) "\" width=\"" (Px(BOX.0)) "\" height=\"" (Px(BOX.1))
            "\" rx=\"4\"/><text x=\"" (Px(x + 8.0)) "\" y=\"" (Px(y + 20.0)) "\">" (name) "</text></g>");
    }
    put!(out; "</svg></div>");
}

/// Without the lines that follow from others.
fn needed(graph: &Graph, before: &[Vec<Node>]) -> Vec<(Node, Node)> {
    let mut above: Vec<HashSet<Node>> = vec![HashSet::new(); graph.len()];
    let mut lines = Vec::new();
    for &task in graph.order().iter().filter(|&&node| !graph.is_gate(node)) {
        let direct = &before[task as usize];
        let implied: HashSet<Node> =
            direct.iter().flat_map(|&on| above[on as usize].iter().copied()).collect();
        lines.extend(direct.iter().filter(|on| !implied.contains(on)).map(|&on| (on, task)));
        above[task as usize] = implied.into_iter().chain(direct.iter().copied()).collect();
    }
    lines
}

pub(super) fn class(status: Status) -> &'static str {
    match status {
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
        Status::Cancelled => "cancelled",
        Status::Running => "running",
        Status::Waiting => "waiting",
        Status::Pending => "pending",
    }
}

/// So that statuses differ by more than their colours.
pub(super) fn sign(status: Status) -> &'static str {
    match status {
        Status::Completed => "✓",
        Status::Failed => "✗",
        Status::Skipped => "–",
        Status::Cancelled => "⊘",
        Status::Running => "▶",
        Status::Waiting => "…",
        Status::Pending => "○",
    }
}
