//! A list with one line selected.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::data::state::Glyphs;
use crate::data::text::{Line, Tone};
use crate::theme::Theme;
use crate::widgets::lines;

pub(crate) struct List<'a> {
    pub(crate) title: &'a str,
    pub(crate) count: usize,
    pub(crate) selected: usize,
    pub(crate) has_focus: bool,
}

impl List<'_> {
    /// Only the lines that are in sight are made.
    pub(crate) fn draw(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        (theme, glyphs): (&Theme, Glyphs),
        line: impl Fn(usize) -> Line,
    ) {
        let head = Rect { x: area.x + 1, width: area.width.saturating_sub(1), height: 1, ..area };
        lines::put_tone(buffer, head, Tone::Dim, self.title, theme);
        let height = usize::from(area.height.saturating_sub(1));
        let top = (self.selected + 1).saturating_sub(height);
        for (at, number) in (top..self.count).take(height).enumerate() {
            let row = lines::row(area, at as u16 + 1);
            let inner = Rect { x: row.x + 1, width: row.width.saturating_sub(1), ..row };
            lines::put(buffer, inner, &line(number), theme);
            if number == self.selected {
                if self.has_focus {
                    buffer.set_style(row, theme.selected());
                }
                buffer.set_string(row.x, row.y, glyphs.either("▌", ">"), theme.style(Tone::Accent));
            }
        }
    }
}
