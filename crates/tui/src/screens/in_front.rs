//! What is in front of every screen: the help, what a command printed, the line that is typed.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};

use crate::app::input::Input;
use crate::app::{App, Mode};
use crate::data::text::{Line, Tone, width_of};
use crate::keys;
use crate::widgets::{foot, lines, overlay};

/// Draws it, and returns where the cursor belongs.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &App) -> Option<Position> {
    let parts = (&app.theme, app.glyphs);
    // The keys of every screen are two lines above its end.
    let line = Rect { x: area.x + 1, y: area.bottom() - 3, width: area.width - 2, height: 1 };
    match &app.mode {
        Mode::Keys => {
            if let Some((words, is_bad)) = &app.said {
                clear(buffer, line, app);
                foot::said(buffer, line, (words, *is_bad), &app.theme);
            }
            None
        }
        Mode::Filter(input) => typed(buffer, line, app, "filter: ", input),
        Mode::Search(input) => typed(buffer, line, app, "search: ", input),
        Mode::Command(input) => complained(buffer, line, app, ":", input),
        Mode::Message { task, input } => {
            typed(buffer, line, app, &format!("to the agent of {task}: "), input)
        }
        Mode::Comment { task, input } => {
            typed(buffer, line, app, &format!("what is to be changed in {task} (FILE:LINE: words): "), input)
        }
        Mode::Cap(input) => complained(buffer, line, app, &app.cap_prompt(), input),
        Mode::Priority { task, input } => complained(buffer, line, app, &app.priority_prompt(task), input),
        Mode::Confirm { question, .. } => {
            clear(buffer, line, app);
            let words = format!("{question}  y/n");
            foot::said(buffer, line, (&words, false), &app.theme);
            None
        }
        Mode::Help { input, scroll } => {
            let below = "type to search  ↑ ↓ scroll  Enter or Esc closes";
            let room = overlay::open(buffer, area, ("keys and commands", below), parts);
            let cursor = typed(buffer, Rect { height: 1, ..room }, app, "search: ", input);
            let room = Rect { y: room.y + 2, height: room.height.saturating_sub(2), ..room };
            overlay::put(buffer, room, &help(&input.text(), usize::from(room.width)), *scroll, &app.theme);
            cursor
        }
        Mode::Output { title, text, scroll } => {
            let room = overlay::open(buffer, area, (title, "↑ ↓ scroll  Enter or Esc closes"), parts);
            overlay::put(buffer, room, &text.broken(usize::from(room.width)), *scroll, &app.theme);
            None
        }
    }
}

/// A line that is typed, and above it what was said about it.
fn complained(buffer: &mut Buffer, line: Rect, app: &App, prompt: &str, input: &Input) -> Option<Position> {
    let cursor = typed(buffer, line, app, prompt, input);
    if let Some((words, is_bad)) = &app.said {
        let above = Rect { y: line.y - 1, ..line };
        clear(buffer, above, app);
        foot::said(buffer, above, (words, *is_bad), &app.theme);
    }
    cursor
}

fn clear(buffer: &mut Buffer, line: Rect, app: &App) {
    buffer.set_string(line.x, line.y, " ".repeat(usize::from(line.width)), app.theme.base());
}

fn typed(buffer: &mut Buffer, line: Rect, app: &App, prompt: &str, input: &Input) -> Option<Position> {
    clear(buffer, line, app);
    let room = usize::from(line.width).saturating_sub(2);
    let before = width_of(prompt) + width_of(&input.before());
    // Where it is longer than the line, its end is what matters.
    let hidden = before.saturating_sub(room.saturating_sub(1));
    let text: String = format!("{prompt}{}", input.text()).chars().skip(hidden).collect();
    let shown = Line::of(Tone::Plain, text);
    lines::put(buffer, Rect { x: line.x + 1, width: line.width - 1, ..line }, &shown, &app.theme);
    Some(Position { x: line.x + 1 + (before - hidden) as u16, y: line.y })
}

fn help(words: &str, width: usize) -> Vec<Line> {
    const KEYS: usize = 11;
    const NAME: usize = 14;
    let found = keys::about(words);
    if found.is_empty() {
        return vec![Line::of(Tone::Dim, "no key has these words in its description")];
    }
    let mut text = crate::data::text::Text::default();
    for binding in found {
        let name = if binding.name.is_empty() { String::new() } else { format!(":{}", binding.name) };
        let line = Line::of(Tone::Accent, format!("{:<KEYS$}", binding.keys))
            .and(Tone::Dim, format!("{name:<NAME$}"))
            .and(Tone::Plain, binding.about)
            .set_in(KEYS + NAME);
        text.push(line);
    }
    text.broken(width)
}
