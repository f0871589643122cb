//! The tasks, under their groups.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use crate::app::{Focus, Watched};
use crate::data::row::{self, Row};
use crate::data::state::Glyphs;
use crate::data::text::{Tone, cut, width_of};
use crate::data::tree::Node;
use crate::theme::Theme;
use crate::widgets::lines;

/// From this width on, words are spelled out.
const WIDE: u16 = 50;
const ELAPSED: usize = 7;
const WORD: usize = 12;
const COST: usize = 9;
/// Something about a task is of use from this width on.
const NOTE: usize = 8;
/// What a name is given before anything else gets more.
const NAME: usize = 26;

/// Draws what fits, with the selection in sight.
pub(crate) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    watched: &mut Watched,
    (theme, glyphs): (&Theme, Glyphs),
) {
    let (selected, height) = (watched.tree.selected(), usize::from(area.height));
    watched.top = watched.top.min(selected).max((selected + 1).saturating_sub(height));
    // Fewer lines than before leave no gap at the end.
    watched.top = watched.top.min(watched.tree.nodes().len().saturating_sub(height));
    let nodes = watched.tree.nodes().iter().enumerate().skip(watched.top).take(height);
    for (at, (number, node)) in nodes.enumerate() {
        let line = lines::row(area, at as u16);
        match node {
            Node::Heading(group) => heading(buffer, line, watched, *group, (theme, glyphs)),
            Node::Task(place) => task(buffer, line, watched, *place, (theme, glyphs)),
        }
        if number == selected {
            mark(buffer, line, watched.focus == Focus::Tasks, theme, glyphs);
        }
    }
    if watched.tree.nodes().is_empty() {
        let words = format!("no task has '{}' in it; Esc shows all", watched.tree.filter());
        lines::put_tone(buffer, area, Tone::Dim, &words, theme);
    }
}

fn mark(buffer: &mut Buffer, line: Rect, has_focus: bool, theme: &Theme, glyphs: Glyphs) {
    if has_focus {
        buffer.set_style(line, theme.selected());
    }
    buffer.set_string(line.x, line.y, glyphs.either("▌", ">"), theme.style(Tone::Accent));
}

fn heading(
    buffer: &mut Buffer,
    line: Rect,
    watched: &Watched,
    group: usize,
    (theme, glyphs): (&Theme, Glyphs),
) {
    let folded = watched.tree.is_folded(group);
    let fold = if folded { glyphs.either("▸", "+") } else { glyphs.either("▾", "-") };
    let sum = watched.tree.sum(group, watched.run());
    let cost = row::cost(sum.usage);
    let figures = format!("{}/{} done {cost:>8}", sum.done, sum.total);
    let name = &watched.tree.group(group).name;
    let name = if name.is_empty() { "without a group" } else { name };
    let room = usize::from(line.width).saturating_sub(width_of(&figures) + 4);
    let left = Rect { x: line.x + 1, width: line.width.saturating_sub(1), ..line };
    lines::put_tone(buffer, left, Tone::Strong, &format!("{fold} {}", cut(name, room, "…")), theme);
    right(buffer, line, &figures, theme.style(Tone::Dim));
}

fn task(buffer: &mut Buffer, line: Rect, watched: &Watched, place: usize, (theme, glyphs): (&Theme, Glyphs)) {
    let row = Row::of(watched.run(), place, &watched.live);
    let style = theme.style(Tone::State(row.state));
    buffer.set_string(line.x + 1, line.y, glyphs.of(row.state), style);
    let inner = Rect { x: line.x + 3, width: line.width.saturating_sub(3), ..line };
    match line.width >= WIDE {
        true => wide(buffer, inner, &row, style, theme),
        false => narrow(buffer, inner, &row, style, theme),
    }
}

/// Name, state, time, cost, and what else there is to know.
fn wide(buffer: &mut Buffer, area: Rect, row: &Row, style: Style, theme: &Theme) {
    let columns = WORD + ELAPSED + COST + 3;
    let room = usize::from(area.width).saturating_sub(columns);
    let note = room.saturating_sub(NAME).max(NOTE).min(room / 2);
    let name = room.saturating_sub(note + 1);
    let mut x = area.x;
    let mut column = |text: &str, width: usize, to_right: bool, style: Style| {
        let text = cut(text, width, "…");
        let gap = if to_right { width - width_of(&text) } else { 0 };
        buffer.set_stringn(x + gap as u16, area.y, &text, width, style);
        x += width as u16 + 1;
    };
    column(&row.id, name, false, Style::new());
    column(row.word, WORD, false, style);
    column(&row.elapsed, ELAPSED, true, Style::new());
    column(&row.cost, COST, true, Style::new());
    column(&row.note, note, false, theme.style(Tone::Dim));
}

/// Name, time or state, cost.
fn narrow(buffer: &mut Buffer, area: Rect, row: &Row, style: Style, theme: &Theme) {
    let is_at_it =
        matches!(row.state, crate::data::state::State::Running | crate::data::state::State::NeedsYou);
    let (middle, tone) = match row.elapsed.is_empty() || is_at_it {
        true => (row.word, style),
        false => (row.elapsed.as_str(), theme.style(Tone::Dim)),
    };
    let figures = COST + 1 + width_of(middle);
    let name = usize::from(area.width).saturating_sub(figures + 1);
    buffer.set_stringn(area.x, area.y, cut(&row.id, name, "…"), name, Style::new());
    let at = Rect { width: area.width.saturating_sub(COST as u16 + 1), ..area };
    right(buffer, at, middle, tone);
    right(buffer, area, &row.cost, Style::new());
}

fn right(buffer: &mut Buffer, area: Rect, text: &str, style: Style) {
    let width = width_of(text).min(usize::from(area.width)) as u16;
    buffer.set_stringn(area.right() - width, area.y, text, usize::from(width), style);
}
