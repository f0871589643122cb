//! Lines between the parts of a screen, and text on one line.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use crate::data::state::Glyphs;
use crate::data::text::{Line, Tone, cut};
use crate::theme::Theme;

/// Where lines meet and end.
pub(crate) struct Lines<'a> {
    pub(crate) buffer: &'a mut Buffer,
    pub(crate) glyphs: Glyphs,
    pub(crate) style: Style,
}

impl Lines<'_> {
    /// Around an area.
    pub(crate) fn around(&mut self, area: Rect) {
        if area.width < 2 || area.height < 2 {
            return;
        }
        let (right, bottom) = (area.right() - 1, area.bottom() - 1);
        self.across(area.x, right, area.y, ["┌", "┐"]);
        self.across(area.x, right, bottom, ["└", "┘"]);
        self.down(area.x, area.y + 1, bottom - 1, None);
        self.down(right, area.y + 1, bottom - 1, None);
    }

    pub(crate) fn across(&mut self, left: u16, right: u16, y: u16, ends: [&'static str; 2]) {
        for x in left..=right {
            let symbol = match x {
                x if x == left => self.glyphs.either(ends[0], "+"),
                x if x == right => self.glyphs.either(ends[1], "+"),
                _ => self.glyphs.either("─", "-"),
            };
            self.put(x, y, symbol);
        }
    }

    pub(crate) fn down(&mut self, x: u16, top: u16, bottom: u16, ends: Option<[&'static str; 2]>) {
        for y in top..=bottom {
            let symbol = match ends {
                Some([end, _]) if y == top => self.glyphs.either(end, "+"),
                Some([_, end]) if y == bottom => self.glyphs.either(end, "+"),
                _ => self.glyphs.either("│", "|"),
            };
            self.put(x, y, symbol);
        }
    }

    fn put(&mut self, x: u16, y: u16, symbol: &str) {
        if let Some(cell) = self.buffer.cell_mut((x, y)) {
            cell.set_symbol(symbol).set_style(self.style);
        }
    }
}

/// A line in its tones, cut where there is no room. How many columns it took.
pub(crate) fn put(buffer: &mut Buffer, area: Rect, line: &Line, theme: &Theme) -> u16 {
    // Without Unicode, the whole screen is made ASCII in the end.
    put_by(buffer, area, line, Glyphs::Unicode, |tone| theme.style(tone))
}

/// As `put`, with looks of the caller's.
pub(crate) fn put_by(
    buffer: &mut Buffer,
    area: Rect,
    line: &Line,
    glyphs: Glyphs,
    style: impl Fn(Tone) -> Style,
) -> u16 {
    let mut x = area.x;
    for piece in &line.pieces {
        let room = area.right().saturating_sub(x);
        let text = cut(&piece.text, usize::from(room), glyphs.ellipsis());
        (x, _) = buffer.set_stringn(x, area.y, &text, usize::from(room), style(piece.tone));
        // One sign is enough for all that is missing.
        if x >= area.right() || text != piece.text {
            break;
        }
    }
    x.min(area.right()) - area.x
}

pub(crate) fn put_tone(buffer: &mut Buffer, area: Rect, tone: Tone, text: &str, theme: &Theme) -> u16 {
    put(buffer, area, &Line::of(tone, text), theme)
}

/// One row of an area.
pub(crate) fn row(area: Rect, at: u16) -> Rect {
    Rect { y: area.y + at, height: 1, ..area }
}
