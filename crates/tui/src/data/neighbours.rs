//! The graph around a task: what it needs, and what needs it, as two trees.

use std::collections::{HashMap, HashSet};

use conductor_core::run::Run;
use conductor_core::values::ids::TaskId;

use super::state::{Glyphs, State, word};
use super::text::{Line, Text, Tone};

/// More lines than this are not looked at; the page draws the whole graph.
const MOST: usize = 400;

pub(crate) fn text(run: &Run, place: usize, glyphs: Glyphs) -> Text {
    let mut text = Text::default();
    let before = |at: usize| -> Vec<usize> {
        run.task(at).0.dependencies.iter().filter_map(|on| run.place(&on.id)).collect()
    };
    let after = dependents(run);
    let mut drawing = Drawing { run, glyphs, seen: HashSet::new(), text: &mut text };
    drawing.text.push(Line::of(Tone::Dim, "needs"));
    drawing.branches(place, "", &before);
    drawing.text.gap();
    drawing.task(place, "", Tone::Strong);
    drawing.text.gap();
    drawing.text.push(Line::of(Tone::Dim, "is needed by"));
    drawing.seen.clear();
    drawing.branches(place, "", &|at| after.get(&run.task(at).0.id).cloned().unwrap_or_default());
    if text.0.len() >= MOST {
        text.push(Line::of(Tone::Dim, "and more: conductor graph, or the page, has all of it"));
    }
    text
}

fn dependents(run: &Run) -> HashMap<&TaskId, Vec<usize>> {
    let mut after: HashMap<&TaskId, Vec<usize>> = HashMap::new();
    for (place, task, _) in run.asked() {
        for on in &task.dependencies {
            after.entry(&on.id).or_default().push(place);
        }
    }
    after
}

struct Drawing<'a> {
    run: &'a Run,
    glyphs: Glyphs,
    /// A task that is reached twice is drawn with its own branches once.
    seen: HashSet<usize>,
    text: &'a mut Text,
}

impl Drawing<'_> {
    /// Depth first, without recursion: a chain may be as long as the plan.
    fn branches(&mut self, root: usize, lead: &str, of: &dyn Fn(usize) -> Vec<usize>) {
        let first = of(root);
        if first.is_empty() {
            return self.text.push(Line::of(Tone::Dim, "  nothing"));
        }
        let mut ahead: Vec<(usize, String, bool)> = stacked(first, lead);
        while let Some((place, lead, is_last)) = ahead.pop() {
            if self.text.0.len() >= MOST {
                return;
            }
            let is_new = self.seen.insert(place);
            let [corner, side] = match is_last {
                true => [self.glyphs.either("└ ", "` "), "  "],
                false => [self.glyphs.either("├ ", "+ "), self.glyphs.either("│ ", "| ")],
            };
            self.task(place, &format!("  {lead}{corner}"), Tone::Plain);
            if is_new {
                ahead.extend(stacked(of(place), &format!("{lead}{side}")));
            }
        }
    }

    fn task(&mut self, place: usize, lead: &str, tone: Tone) {
        let (task, progress) = self.run.task(place);
        let state = State::of(progress);
        let line = Line::of(Tone::Dim, lead)
            .and(Tone::State(state), format!("{} ", self.glyphs.of(state)))
            .and(tone, task.id.to_string())
            .and(Tone::Dim, format!("  {}", word(state)));
        self.text.push(line);
    }
}

/// The first one on top.
fn stacked(places: Vec<usize>, lead: &str) -> Vec<(usize, String, bool)> {
    let last = places.len().saturating_sub(1);
    let each = places.into_iter().enumerate().map(|(at, place)| (place, lead.to_owned(), at == last));
    let mut all: Vec<_> = each.collect();
    all.reverse();
    all
}
