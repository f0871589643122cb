//! A text in its window.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Modifier;

use crate::app::pane::Pane;
use crate::data::text::{Line, width_of};
use crate::theme::Theme;
use crate::widgets::lines;

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, pane: &mut Pane, theme: &Theme) {
    pane.fit(usize::from(area.width), usize::from(area.height));
    for (at, line) in pane.shown().iter().enumerate() {
        let row = lines::row(area, at as u16);
        lines::put(buffer, row, line, theme);
        highlight(buffer, row, line, pane.search());
    }
}

/// Every place at which the searched words are.
fn highlight(buffer: &mut Buffer, row: Rect, line: &Line, words: &str) {
    if words.is_empty() {
        return;
    }
    let text = line.plain().to_lowercase();
    for (at, found) in text.match_indices(words) {
        let x = row.x.saturating_add(width_of(&text[..at]) as u16);
        let width = (width_of(found) as u16).min(row.right().saturating_sub(x));
        let style = ratatui_core::style::Style::new().add_modifier(Modifier::REVERSED);
        buffer.set_style(Rect { x, width, ..row }, style);
    }
}

/// How far a text is scrolled, where not all of it is in sight.
pub(crate) fn place(pane: &Pane) -> Option<String> {
    let (scroll, all) = pane.place();
    let last = (scroll + pane.height()).min(all);
    (all > pane.height()).then(|| format!(" {last}/{all} "))
}
