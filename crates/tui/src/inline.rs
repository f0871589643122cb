//! What the block below a run's lines is drawn with: the tones, glyphs and widths of the full screen, and the same buffer of
//! cells. Where the block stands on the terminal is not known here: see docs/decisions/0046.

use ratatui_core::buffer::{Buffer, CellWidth as _};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

pub use crate::data::state::{Glyphs, State};
pub use crate::data::text::{Line, Tone, cut, width_of};
pub use crate::data::times::clock;
use crate::theme::{Depth, Theme};
use crate::widgets::lines;

/// Lines as they are written to a terminal, each with its width. What is wider than there is room for is cut.
pub fn drawn(lines: &[Line], width: usize, glyphs: Glyphs, colored: bool) -> Vec<(String, usize)> {
    let area = Rect { x: 0, y: 0, width: u16::try_from(width).unwrap_or(u16::MAX), height: 1 };
    let depth = if colored { Depth::Sixteen } else { Depth::None };
    let theme = Theme::named("default", depth);
    let mut buffer = Buffer::empty(area);
    let one = |line: &Line| {
        buffer.reset();
        let taken = lines::put_by(&mut buffer, area, line, glyphs, |tone| style(tone, &theme, colored));
        (written(&buffer, taken), usize::from(taken))
    };
    lines.iter().map(one).collect()
}

/// As in the full screen, but for what is read on a paper that nothing is known of: grey may be that very paper, and a bar
/// that is struck out reads as one that is not there.
fn style(tone: Tone, theme: &Theme, colored: bool) -> Style {
    match tone {
        _ if !colored => Style::new(),
        Tone::Dim => Style::new().add_modifier(Modifier::DIM),
        Tone::State(State::Skipped | State::Cancelled) => Style::new().fg(Color::Yellow),
        tone => theme.style(tone),
    }
}

/// The first cells of a row, with what switches their looks on and off again.
fn written(buffer: &Buffer, cells: u16) -> String {
    let (mut out, mut now, mut at) = (String::new(), String::new(), 0);
    while at < cells {
        let cell = &buffer[(at, 0)];
        let codes = codes(cell.fg, cell.modifier);
        if codes != now {
            out.push_str(if now.is_empty() { "" } else { "\x1b[0m" });
            out.push_str(&codes);
            now = codes;
        }
        out.push_str(cell.symbol());
        at += cell.symbol().cell_width().max(1);
    }
    out.push_str(if now.is_empty() { "" } else { "\x1b[0m" });
    out
}

/// Nothing for text as it is.
fn codes(color: Color, modifier: Modifier) -> String {
    let mut codes = Vec::new();
    if modifier.contains(Modifier::BOLD) {
        codes.push("1");
    }
    if modifier.contains(Modifier::DIM) {
        codes.push("2");
    }
    codes.extend(match color {
        Color::Red => Some("31"),
        Color::Green => Some("32"),
        Color::Yellow => Some("33"),
        Color::Blue => Some("34"),
        Color::Magenta => Some("35"),
        Color::Cyan => Some("36"),
        _ => None,
    });
    match codes.is_empty() {
        true => String::new(),
        false => format!("\x1b[{}m", codes.join(";")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &Line, width: usize, glyphs: Glyphs, colored: bool) -> (String, usize) {
        drawn(std::slice::from_ref(line), width, glyphs, colored).remove(0)
    }

    #[test]
    fn what_is_written_is_as_wide_as_said_and_looks_are_switched_off_again() {
        let line =
            Line::of(Tone::State(State::Failed), "2 failed").and(Tone::Plain, "  漢字 ").and(Tone::Dim, "3s");
        let looks = "\x1b[1;31m2 failed\x1b[0m  漢字 \x1b[2m3s\x1b[0m".to_owned();
        assert_eq!(text(&line, 40, Glyphs::Unicode, true), (looks, 17));
        assert_eq!(text(&line, 40, Glyphs::Unicode, false), ("2 failed  漢字 3s".to_owned(), 17));
        assert_eq!(text(&line, 12, Glyphs::Unicode, false), ("2 failed  …".to_owned(), 11));
        assert_eq!(text(&line, 12, Glyphs::Ascii, false), ("2 failed ...".to_owned(), 12));
    }
}
