//! Something in front of the screen: the help, what a command printed.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::data::state::Glyphs;
use crate::data::text::{Line, Tone};
use crate::theme::Theme;
use crate::widgets::lines::{self, Lines};

/// Room in the middle, with a title above and a word below; what is left inside of it.
pub(crate) fn open(
    buffer: &mut Buffer,
    area: Rect,
    (title, below): (&str, &str),
    (theme, glyphs): (&Theme, Glyphs),
) -> Rect {
    let width = area.width.saturating_sub(4).min(110);
    let height = area.height.saturating_sub(2);
    let room = Rect { x: area.x + (area.width - width) / 2, y: area.y + 1, width, height };
    for y in room.y..room.bottom() {
        for x in room.x..room.right() {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.reset();
                cell.set_style(theme.base());
            }
        }
    }
    Lines { buffer, glyphs, style: theme.border(true) }.around(room);
    let on_line = |y: u16| Rect { x: room.x + 2, y, width: width.saturating_sub(4), height: 1 };
    lines::put_tone(buffer, on_line(room.y), Tone::Strong, &format!(" {title} "), theme);
    lines::put_tone(buffer, on_line(room.bottom() - 1), Tone::Dim, &format!(" {below} "), theme);
    Rect { x: room.x + 2, y: room.y + 1, width: width.saturating_sub(4), height: height.saturating_sub(2) }
}

/// Lines from one on, as many as fit.
pub(crate) fn put(buffer: &mut Buffer, area: Rect, text: &[Line], scroll: usize, theme: &Theme) {
    let top = scroll.min(text.len().saturating_sub(usize::from(area.height)));
    for (at, line) in text.iter().skip(top).take(usize::from(area.height)).enumerate() {
        lines::put(buffer, lines::row(area, at as u16), line, theme);
    }
}
