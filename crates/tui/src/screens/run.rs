//! A run: its tasks on the left, one of them on the right, keys and figures below.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::app::{App, Areas, Focus, Watched};
use crate::data::figures;
use crate::data::row::Row;
use crate::data::state::State;
use crate::data::text::{Line, Tone, clean};
use crate::data::times;
use crate::widgets::lines::{self, Lines};
use crate::widgets::{foot, slider, tabs, tasks, text};

/// Below this width only one half is drawn: the one that has the focus.
const BOTH: u16 = 70;
/// From this width on, keys have two lines.
const TWO_LINES: u16 = 110;

struct Places {
    tasks: Rect,
    right: Rect,
    /// The column of the line between them.
    between: Option<u16>,
    slider: Option<Rect>,
    /// The row of the line above the foot.
    above_foot: u16,
    keys: Rect,
    figures: Rect,
}

impl Places {
    fn of(area: Rect, watched: &Watched) -> Places {
        let inner = Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 };
        let two = if area.width >= TWO_LINES { 2 } else { 1 };
        let slides = u16::from(watched.course.is_past() || !watched.live.is_live());
        let foot = two + 1 + slides;
        let above_foot = inner.bottom() - foot - 1;
        let body = Rect { height: above_foot - inner.y, ..inner };
        let (tasks, right, between) = halves(body, watched.focus);
        let row = |y| Rect { y, height: 1, ..inner };
        Places {
            tasks,
            right,
            between,
            slider: (slides > 0).then(|| row(above_foot + 1)),
            above_foot,
            keys: Rect { y: above_foot + 1 + slides, height: two, ..inner },
            figures: row(inner.bottom() - 1),
        }
    }
}

fn halves(body: Rect, focus: Focus) -> (Rect, Rect, Option<u16>) {
    let none = Rect { width: 0, ..body };
    if body.width < BOTH {
        return match focus {
            Focus::Tasks => (body, none, None),
            Focus::Text => (none, body, None),
        };
    }
    let left = (body.width * 47 / 100).clamp(36, 92);
    let right = Rect { x: body.x + left + 1, width: body.width - left - 1, ..body };
    (Rect { width: left, ..body }, right, Some(body.x + left))
}

pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let Some(mut watched) = app.watched.take() else { return };
    let places = Places::of(area, &watched);
    let mut areas = Areas { tasks: places.tasks, ..Areas::default() };
    frame(buffer, area, app, &places);
    titles(buffer, area, app, (&watched, &places));
    let parts = (&app.theme, app.glyphs);
    if places.tasks.width > 0 {
        tasks::draw(buffer, places.tasks, &mut watched, parts);
    }
    if places.right.width > 0 {
        areas.tabs = tabs::draw(buffer, lines::row(places.right, 0), watched.pane.tab(), &app.theme);
        let window = Rect {
            x: places.right.x + 1,
            y: places.right.y + 2,
            width: places.right.width.saturating_sub(2),
            height: places.right.height.saturating_sub(2),
        };
        text::draw(buffer, window, &mut watched.pane, &app.theme);
        areas.text = window;
        scrolled(buffer, &places, app, &watched);
    }
    if let Some(row) = places.slider {
        areas.slider = slider::draw(buffer, row, &watched, parts);
    }
    foot::figures(buffer, places.figures, app, &watched);
    app.areas = areas;
    app.watched = Some(watched);
    foot::keys(buffer, places.keys, app);
}

fn frame(buffer: &mut Buffer, area: Rect, app: &App, places: &Places) {
    let mut lines = Lines { buffer, glyphs: app.glyphs, style: app.theme.border(false) };
    lines.around(area);
    let right = area.right() - 1;
    lines.across(area.x, right, places.above_foot, ["├", "┤"]);
    if let Some(x) = places.between {
        lines.down(x, area.y, places.above_foot, Some(["┬", "┴"]));
        lines.across(x, right, area.y + 2, ["├", "┤"]);
    } else if places.right.width > 0 {
        lines.across(area.x, right, area.y + 2, ["├", "┤"]);
    }
}

/// The run above its tasks, the task above its text.
fn titles(buffer: &mut Buffer, area: Rect, app: &App, (watched, places): (&Watched, &Places)) {
    let top = |part: Rect| Rect { x: part.x + 1, y: area.y, width: part.width.saturating_sub(2), height: 1 };
    if places.tasks.width > 0 {
        lines::put(buffer, top(places.tasks), &title(app, watched), &app.theme);
    }
    if let (true, Some(line)) = (places.right.width > 0, task_title(app, watched)) {
        lines::put(buffer, top(places.right), &line, &app.theme);
    }
}

fn title(app: &App, watched: &Watched) -> Line {
    let run = watched.run();
    let (state, word) = figures::stage(run, watched.live.is_live());
    let name = watched.stored.file_name().map_or_else(|| watched.id().to_string(), clean);
    let elapsed = match watched.is_live() {
        true => watched.live.elapsed(),
        false => Some(run.active()),
    };
    let line = Line::of(Tone::Strong, format!(" {name} "))
        .and(Tone::State(state), format!("{} {word} ", app.glyphs.of(state)))
        .and(Tone::Dim, elapsed.map(|elapsed| format!(" {} ", times::clock(elapsed))).unwrap_or_default());
    let filter = watched.tree.filter();
    match filter.is_empty() {
        true => line.and(Tone::Dim, format!(" run {} ", watched.id())),
        false => line.and(Tone::Accent, format!(" /{filter} ")),
    }
}

fn task_title(app: &App, watched: &Watched) -> Option<Line> {
    let place = watched.tree.place()?;
    let (task, progress) = watched.run().task(place);
    let state = State::of(progress);
    let row = Row::of(watched.run(), place, &watched.live);
    let mut line = Line::of(Tone::Strong, format!(" {} ", task.id))
        .and(Tone::State(state), format!("{} {} ", app.glyphs.of(state), row.word));
    let newest = watched.run().progress(watched.run().doer(place)).last_attempt;
    if newest > 0 {
        let shown = watched.attempt.unwrap_or(newest);
        line = line.and(Tone::Dim, format!(" attempt {shown} of {newest} "));
    }
    if let Some(choice) = watched.run().agent_choice(place) {
        let model = watched.run().model(place).or(choice.model.as_deref());
        line = line.and(Tone::Dim, format!(" {} {} ", choice.agent, model.unwrap_or("")));
    }
    Some(line)
}

/// How far the text is scrolled, on the line below it; and that keys are about it.
fn scrolled(buffer: &mut Buffer, places: &Places, app: &App, watched: &Watched) {
    let words = text::place(&watched.pane).unwrap_or_default();
    let focus = if watched.focus == Focus::Text { " j/k scroll  / search  Esc tasks " } else { "" };
    let line = Line::of(Tone::Accent, focus).and(Tone::Dim, words);
    let width = crate::data::text::width_of(&line.plain()) as u16;
    let x = places.right.right().saturating_sub(width + 1).max(places.right.x);
    let row = Rect { x, y: places.above_foot, width, height: 1 };
    lines::put(buffer, row, &line, &app.theme);
}
