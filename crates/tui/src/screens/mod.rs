//! Whole screens, put together from widgets. They draw what the view knows and change nothing of it but where things are.

mod board;
mod in_front;
mod run;
#[cfg(test)]
mod tests;

use ratatui_core::buffer::Buffer;
use ratatui_core::terminal::Frame;

use crate::app::{App, Screen};
use crate::data::state::Glyphs;
use crate::data::text::Tone;
use crate::widgets::lines;

/// Less than this is no room for anything.
const SMALLEST: (u16, u16) = (40, 10);

pub(crate) fn draw(frame: &mut Frame<'_>, app: &mut App) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    buffer.set_style(area, app.theme.base());
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let words = format!(
            "the terminal has {} × {}; this view needs {} × {}",
            area.width, area.height, SMALLEST.0, SMALLEST.1
        );
        lines::put_tone(buffer, area, Tone::Plain, &words, &app.theme);
        return;
    }
    match app.screen {
        Screen::Run => run::draw(buffer, area, app),
        Screen::Board => board::draw(buffer, area, app),
    }
    let cursor = in_front::draw(buffer, area, app);
    if app.glyphs == Glyphs::Ascii {
        only_ascii(buffer);
    }
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
}

/// What a terminal without Unicode would show as something else.
fn only_ascii(buffer: &mut Buffer) {
    for cell in buffer.content.iter_mut().filter(|cell| !cell.symbol().is_ascii()) {
        let symbol = match cell.symbol() {
            "…" => "~",
            "×" => "x",
            "↑" => "^",
            "↓" => "v",
            "→" => ">",
            "←" => "<",
            _ => "?",
        };
        cell.set_symbol(symbol);
    }
}
