//! Where in time the run is looked at.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use conductor_core::run::event::Record;
use conductor_engine::records::flat;

use crate::app::Watched;
use crate::data::state::Glyphs;
use crate::data::text::{Line, Tone, width_of};
use crate::data::times;
use crate::theme::Theme;
use crate::widgets::lines;

/// The room that can be pointed at.
pub(crate) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    watched: &Watched,
    (theme, glyphs): (&Theme, Glyphs),
) -> Rect {
    let (count, all) = watched.course.place();
    let time = times::to_the_second(watched.course.time());
    let event = watched.course.last_record().map(|record| named(watched, record)).unwrap_or_default();
    let end = match watched.course.is_past() {
        true => format!(" {time}  event {count} of {all}: {event}  Esc now"),
        false => format!(" {time}  {all} events  [ ] go through them"),
    };
    let room = area.width.saturating_sub(width_of(&end) as u16 + 1);
    let bar = Rect { x: area.x + 1, width: room, ..area };
    let at = match all > 1 && room > 1 {
        true => (count.saturating_sub(1)) * usize::from(room - 1) / (all - 1),
        false => 0,
    };
    let before = glyphs.either("━", "=").repeat(at);
    let after = glyphs.either("─", "-").repeat(usize::from(room).saturating_sub(at + 1));
    let line = Line::of(Tone::Accent, before)
        .and(Tone::Accent, glyphs.either("●", "O"))
        .and(Tone::Dim, after)
        .and(Tone::Plain, end);
    lines::put(buffer, Rect { x: area.x + 1, width: area.width - 1, ..area }, &line, theme);
    bar
}

/// An event by its name in the log, and its task.
fn named(watched: &Watched, record: &Record) -> String {
    let flat = flat::event(watched.id(), record);
    let word = |key: &str| flat.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    format!("{} {}", word("type").replace('_', " "), word("task")).trim_end().to_owned()
}
