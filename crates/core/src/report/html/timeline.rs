//! The timeline: a lane for each slot, a bar for each attempt, and how many tasks waited.

use super::markup::{Markup, Px, cut, label, put, rect, region};
use crate::report::Subject;
use crate::report::course::{Course, depth, length};
use crate::run::{End, Span};
use crate::values::counted::size;
use crate::values::units::Millis;

const WIDTH: f64 = 1000.0;
/// Where the lanes begin and end.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 992.0;
/// So much of a lane is free above its bars and below them, for the marks of failures and for merging.
const MARK: f64 = 3.0;
/// What can still be seen.
const LEAST: f64 = 0.8;
/// About how wide a letter is.
const LETTER: f64 = 6.3;
/// How exactly the depth of the queue is drawn, and how high.
const PARTS: usize = 400;
const QUEUE: f64 = 30.0;

pub(super) fn timeline(out: &mut Markup, subject: &Subject<'_>) {
    let course = Course::of(subject.run, subject.graph);
    put!(out; "<section id=\"timeline\"><h2>Timeline</h2>");
    if course.spans.is_empty() {
        put!(out; "<p>Nothing has begun.</p></section>\n");
        return;
    }
    let drawing = Drawing::of(&course);
    legend(out, &course, &drawing);
    region(out, "Timeline");
    put!(out; "<svg class=\"wide\" viewBox=\"0 0 " (Px(WIDTH)) " " (Px(drawing.height)) "\" role=\"img\" \
        aria-label=\"What was done in each slot, and when; the table of tasks tells the same\">");
    drawing.axis(out);
    drawing.lanes(out);
    for span in &course.spans {
        drawing.span(out, subject, span);
    }
    drawing.queue(out);
    put!(out; "</svg></div><p class=\"note\">Time counts from the run&#39;s beginning, and only while the \
        run was active. The parts of an attempt are drawn one after the other, each as long as all of it was \
        together. A mark above a bar is an attempt that did not succeed; the line below is its merging.");
    left_out(out, &course);
    put!(out; "</p></section>\n");
}

fn left_out(out: &mut Markup, course: &Course<'_>) {
    if course.left_out > 0 {
        let all = course.left_out + course.spans.len();
        put!(out; " Not drawn: " (course.left_out) " of " (all) " attempts, the shortest");
        if course.lanes_left_out > 0 {
            put!(out; ", and those of " (course.lanes_left_out) " slots after the first " (course.lanes));
        }
        put!(out; "; the table of tasks has all of them.");
    }
}

fn legend(out: &mut Markup, course: &Course<'_>, drawing: &Drawing<'_>) {
    let spans = &course.spans;
    let phase = |of: fn(&Span) -> bool| spans.iter().any(|span| of(span));
    put!(out; "<ul class=\"legend\">");
    if course.waiting.is_some() {
        put!(out; "<li><i class=\"q\"></i>waiting</li>");
    }
    let entries: [(bool, &'static str); 6] = [
        (
            phase(|span| span.phases.is_some_and(|phases| phases.preparing.0 > 0)),
            "<li><i class=\"p\"></i>preparing</li>",
        ),
        (
            phase(|span| span.phases.is_some_and(|phases| phases.working.0 > 0)),
            "<li><i class=\"w\"></i>working</li>",
        ),
        (
            phase(|span| span.phases.is_some_and(|phases| phases.verifying.0 > 0)),
            "<li><i class=\"v\"></i>verifying</li>",
        ),
        (phase(|span| span.merged.is_some()), "<li><i class=\"m\"></i>merging</li>"),
        (
            spans.iter().any(|span| drawing.has_rest(span)),
            "<li><i class=\"u\"></i>at work, with what was not measured</li>",
        ),
        (phase(is_bad), "<li><i class=\"x\"></i>did not succeed</li>"),
    ];
    for (there, entry) in entries {
        if there {
            out.raw(entry);
        }
    }
    put!(out; "</ul>");
}

/// What an attempt took beside its parts.
fn rest(span: &Span, now: Millis) -> Millis {
    let parts = span.phases.map_or(0, |phases| phases.preparing.0 + phases.working.0 + phases.verifying.0);
    Millis(length(span, now).0.saturating_sub(parts))
}

fn is_bad(span: &Span) -> bool {
    span.end.is_some_and(|end| end != End::Succeeded)
}

struct Drawing<'c> {
    course: &'c Course<'c>,
    scale: f64,
    lane: f64,
    height: f64,
}

impl<'c> Drawing<'c> {
    fn of(course: &'c Course<'c>) -> Drawing<'c> {
        let lane = match course.lanes {
            0..=12 => 30.0,
            13..=40 => 18.0,
            _ => 10.0,
        };
        let queue = if course.waiting.is_some() { QUEUE + 8.0 } else { 0.0 };
        let height = f64::from(course.lanes) * lane + queue + 26.0;
        let scale = (RIGHT - LEFT) / course.length.0.max(1) as f64;
        Drawing { course, scale, lane, height }
    }

    fn x(&self, at: Millis) -> f64 {
        LEFT + at.0 as f64 * self.scale
    }

    fn bottom(&self) -> f64 {
        self.height - 20.0
    }

    fn axis(&self, out: &mut Markup) {
        let step = step(self.course.length);
        let mut at = Millis(0);
        while at <= self.course.length {
            let x = self.x(at);
            put!(out; "<path class=\"g\" d=\"M" (Px(x)) " 0V" (Px(self.bottom())) "\"/>");
            label(out, "t", (x, self.height - 6.0), &tick(at));
            at += step;
        }
    }

    fn lanes(&self, out: &mut Markup) {
        let every = if self.lane < 12.0 { 5 } else { 1 };
        for lane in (1..=self.course.lanes).filter(|lane| *lane == 1 || lane.is_multiple_of(every)) {
            let y = (f64::from(lane) - 0.5) * self.lane + 4.0;
            label(out, "l", (0.0, y), &format_args!("slot {lane}"));
        }
    }

    fn span(&self, out: &mut Markup, subject: &Subject<'_>, span: &Span) {
        let top = f64::from(span.executor - 1) * self.lane + MARK + 1.0;
        let high = self.lane - 2.0 * MARK - 3.0;
        let bar = |out: &mut Markup, class: &'static str, from: f64, to: f64| {
            rect(out, class, (from, top), ((to - from).max(LEAST), high));
        };
        let (from, to) = (self.x(span.from), self.x(span.to.unwrap_or(self.course.length)));
        put!(out; "<g><title>" (self.title(subject, span)) "</title>");
        let mut room = (from, to);
        match span.phases {
            None => bar(out, "u", from, to),
            Some(phases) => {
                let parts = [("p", phases.preparing), ("w", phases.working), ("v", phases.verifying)];
                let mut at = from;
                if self.has_rest(span) {
                    bar(out, "u", from, to);
                }
                for (class, part) in parts.into_iter().filter(|(_, part)| part.0 > 0) {
                    let end = (at + part.0 as f64 * self.scale).min(to);
                    bar(out, class, at, end);
                    if class == "w" {
                        room = (at, end);
                    }
                    at = end;
                }
            }
        }
        self.name(out, subject, span, room);
        if is_bad(span) {
            rect(out, "x", (from, top - MARK), ((to - from).max(LEAST), MARK));
        }
        if let Some(merged) = span.merged {
            rect(out, "m", (to, top + high), ((self.x(merged) - to).max(LEAST), MARK));
        }
        put!(out; "</g>");
    }

    /// Whether so much of it lies between its parts that it can be seen.
    fn has_rest(&self, span: &Span) -> bool {
        rest(span, self.course.length).0 as f64 * self.scale > LEAST
    }

    fn name(&self, out: &mut Markup, subject: &Subject<'_>, span: &Span, (from, to): (f64, f64)) {
        let letters = ((to - from - 8.0) / LETTER).floor();
        if letters >= 3.0 && self.lane >= 18.0 {
            let y = (f64::from(span.executor) - 0.5) * self.lane + 3.5;
            let name = cut(subject.graph.id(span.task).as_str(), letters as usize);
            label(out, "b", (from + 4.0, y), &name);
        }
    }

    fn title(&self, subject: &Subject<'_>, span: &Span) -> String {
        let mut parts = Vec::new();
        if let (Some(waited), 1) = (self.course.waits[span.task as usize], span.attempt.0) {
            parts.push(format!("waited {waited}"));
        }
        match span.phases {
            None => parts.push(format!("{} at work", length(span, self.course.length))),
            Some(phases) => {
                let all = [
                    ("preparing", phases.preparing),
                    ("working", phases.working),
                    ("verifying", phases.verifying),
                ];
                parts.extend(
                    all.iter().filter(|(_, part)| part.0 > 0).map(|(name, part)| format!("{name} {part}")),
                );
            }
        }
        if let Some(processes) = span.phases.and_then(|phases| phases.processes) {
            parts.push(format!("{} of a processor", processes.cpu));
            parts.extend(
                processes
                    .peak_together()
                    .or(processes.peak())
                    .map(|memory| format!("{} of memory", size(memory))),
            );
        }
        if let (Some(merged), Some(to)) = (span.merged, span.to) {
            parts.push(format!("merging {}", Millis(merged.0.saturating_sub(to.0))));
        }
        parts.push(span.end.map_or("under way", End::name).to_owned());
        format!(
            "{}, attempt {}, from {}: {}",
            subject.graph.id(span.task),
            span.attempt,
            span.from,
            parts.join(", ")
        )
    }

    /// An area as high as there were tasks that waited for something else than other tasks.
    fn queue(&self, out: &mut Markup) {
        let Some(waiting) = &self.course.waiting else { return };
        let depth = depth(waiting, self.course.length, PARTS);
        let most = depth.iter().copied().max().unwrap_or(0);
        let floor = self.bottom() - 2.0;
        let middle = floor - QUEUE / 2.0 + 4.0;
        label(out, "l", (0.0, middle), &"waiting");
        if most == 0 {
            label(out, "l", (LEFT + 4.0, middle), &"no task waited long enough to be seen");
            return;
        }
        let wide = (RIGHT - LEFT) / PARTS as f64;
        put!(out; "<g><title>Tasks that waited for their turn, for another try or for a person: at most " (most)
            " at once</title><path class=\"q\" d=\"M" (Px(LEFT)) " " (Px(floor)));
        let mut before = 0;
        for (part, &now) in
            depth.iter().enumerate().filter(|(part, now)| *part == 0 || **now != depth[part - 1])
        {
            let x = LEFT + part as f64 * wide;
            let high = |tasks: u32| floor - f64::from(tasks) / f64::from(most) * QUEUE;
            put!(out; "L" (Px(x)) " " (Px(high(before))) "L" (Px(x)) " " (Px(high(now))));
            before = now;
        }
        let high = floor - f64::from(before) / f64::from(most) * QUEUE;
        put!(out; "L" (Px(RIGHT)) " " (Px(high)) "L" (Px(RIGHT)) " " (Px(floor)) "Z\"/></g>");
        label(out, "l e", (RIGHT, floor - QUEUE + 8.0), &format_args!("up to {most}"));
    }
}

/// A length that gives a handful of marks people count by.
fn step(length: Millis) -> Millis {
    const STEPS: [u64; 24] = [
        10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
        600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 21_600_000, 43_200_000, 86_400_000,
    ];
    let fits = |step: &u64| length.0 / step <= 9;
    Millis(STEPS.into_iter().find(fits).unwrap_or((length.0 / 9).max(1)))
}

/// Without what is nought.
fn tick(at: Millis) -> String {
    let (hours, minutes, secs, ms) = (at.0 / 3_600_000, at.0 / 60_000 % 60, at.0 / 1000 % 60, at.0 % 1000);
    match (hours, minutes, secs, ms) {
        (0, 0, 0, 0) => "0".to_owned(),
        (0, 0, 0, ms) => format!("{ms}ms"),
        (0, 0, secs, 0) => format!("{secs}s"),
        (0, 0, secs, ms) => format!("{secs}.{}s", ms / 100),
        (0, minutes, 0, _) => format!("{minutes}m"),
        (0, minutes, secs, _) => format!("{minutes}m{secs:02}s"),
        (hours, 0, _, _) => format!("{hours}h"),
        (hours, minutes, _, _) => format!("{hours}h{minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_few_and_round() {
        for (length, expected) in [(0, 10), (105, 20), (4_200, 500), (61_000, 10_000), (7_300_000, 900_000)] {
            assert_eq!(step(Millis(length)), Millis(expected), "{length}");
        }
        assert!(u64::MAX / step(Millis(u64::MAX)).0 <= 9);
        let told = [0, 500, 2_000, 2_500, 90_000, 120_000, 3_600_000, 5_400_000].map(|ms| tick(Millis(ms)));
        assert_eq!(told, ["0", "500ms", "2s", "2.5s", "1m30s", "2m", "1h", "1h30m"]);
    }
}
