//! The tabs above the text.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Modifier;

use crate::app::pane::Tab;
use crate::data::text::{Tone, width_of};
use crate::theme::Theme;

/// Where each was drawn.
pub(crate) fn draw(buffer: &mut Buffer, area: Rect, shown: Tab, theme: &Theme) -> Vec<(Rect, Tab)> {
    let whole: usize = Tab::ALL.iter().map(|tab| tab.name().len() + 4).sum();
    let is_brief = whole > usize::from(area.width);
    let gap = if is_brief { 1 } else { 2 };
    let mut x = area.x + 1;
    let mut areas = Vec::new();
    for (number, tab) in Tab::ALL.into_iter().enumerate() {
        let name = if is_brief { tab.brief() } else { tab.name() };
        let text = format!("{} {name}", number + 1);
        let width = width_of(&text) as u16;
        if x + width > area.right() {
            break;
        }
        let style = match tab == shown {
            true => theme.style(Tone::Accent).add_modifier(Modifier::UNDERLINED),
            false => theme.style(Tone::Dim),
        };
        buffer.set_string(x, area.y, &text, style);
        areas.push((Rect { x, width, ..area }, tab));
        x += width + gap;
    }
    areas
}
