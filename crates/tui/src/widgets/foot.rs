//! The last lines: keys that fit what is selected, and figures of the run.

use conductor_core::run::TaskState;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::app::{App, Focus, Watched};
use crate::data::state::{Glyphs, State};
use crate::data::text::{Line, Tone, width_of};
use crate::data::times;
use crate::keys::{self, Act};
use crate::theme::Theme;
use crate::widgets::lines;

/// A bar is drawn from this width on.
const WITH_BAR: u16 = 110;
const BAR: usize = 40;

/// Keys for the selection, on as many lines as there are; on one line those of the selection come first.
pub(crate) fn keys(buffer: &mut Buffer, area: Rect, app: &App) {
    let (own, general) = of_selection(app);
    let rows: Vec<Vec<Act>> = match area.height {
        0 | 1 => vec![own.into_iter().chain(general).collect()],
        _ => vec![own, general],
    };
    for (at, acts) in rows.iter().enumerate() {
        let room = usize::from(area.width).saturating_sub(1);
        let mut line = Line::default();
        let mut used = 0;
        // Help is never cut off.
        let help = if at + 1 == rows.len() { width_of("  ? help") } else { 0 };
        for act in acts {
            let Some(binding) = keys::binding(*act) else { continue };
            let (key, words) = (key(*act, binding.keys), short(app, *act, binding.short));
            let gap = if used == 0 { " " } else { "  " };
            let width = width_of(gap) + width_of(key) + 1 + width_of(words);
            if used + width + if *act == Act::Help { 0 } else { help } > room {
                continue;
            }
            used += width;
            line = line.and(Tone::Plain, gap).and(Tone::Accent, key).and(Tone::Plain, format!(" {words}"));
        }
        lines::put(buffer, lines::row(area, at as u16), &line, &app.theme);
    }
}

/// One key stands for those that do the same.
fn key(act: Act, keys: &'static str) -> &'static str {
    match act {
        Act::MoreSlots => "+/-",
        _ => keys.split(' ').next_back().unwrap_or(keys),
    }
}

/// What a key will do just now, in a word.
fn short(app: &App, act: Act, usual: &'static str) -> &'static str {
    let watched = app.watched.as_ref();
    let is_review = watched.is_some_and(|watched| {
        let place = watched.tree.place();
        place.is_some_and(|place| matches!(watched.run().progress(place).state, TaskState::InReview { .. }))
    });
    match act {
        Act::Approve if is_review => "approve",
        Act::Deny if is_review => "send back",
        Act::Pause if watched.is_some_and(|w| !w.live.is_live()) => "resume",
        Act::Pause if watched.is_some_and(|w| w.course.now().is_paused()) => "go on",
        Act::Editor if selected(app) == Some(State::Conflict) => "resolve",
        Act::Filter if watched.is_some_and(|watched| watched.focus == Focus::Text) => "search",
        _ => usual,
    }
}

fn selected(app: &App) -> Option<State> {
    let watched = app.watched.as_ref()?;
    Some(State::of(watched.run().progress(watched.tree.place()?)))
}

fn of_selection(app: &App) -> (Vec<Act>, Vec<Act>) {
    let why = Act::Tab(3);
    if app.watched.as_ref().is_some_and(|watched| watched.course.is_past()) {
        let own = vec![Act::StepBack, Act::StepForward, why, Act::Page, Act::Copy];
        return (own, vec![Act::Filter, Act::NeedsYou, Act::Failed, Act::Running, Act::Help, Act::Leave]);
    }
    let own: &[Act] = match selected(app) {
        Some(State::NeedsYou) => {
            &[Act::Approve, Act::Deny, Act::Send, Act::Diff, Act::Page, Act::Editor, Act::Cancel]
        }
        Some(State::Failed) => &[Act::Retry, Act::Page, Act::Diff, why, Act::Send, Act::Editor, Act::Copy],
        Some(State::Conflict) => &[Act::Editor, Act::Diff, Act::Retry, Act::Page, why, Act::Copy],
        Some(State::Running) => &[Act::Send, Act::Cancel, Act::Diff, Act::Page, why, Act::Editor, Act::Copy],
        Some(State::Pending | State::Waiting) => &[why, Act::Priority, Act::Skip, Act::Cancel, Act::Send],
        Some(State::Landed | State::Completed) => &[Act::Diff, Act::Page, Act::Copy, why],
        Some(State::Skipped | State::Cancelled) => &[Act::Retry, why, Act::Page],
        None => &[],
    };
    let general = [
        Act::Filter,
        Act::NeedsYou,
        Act::Failed,
        Act::Running,
        Act::Pause,
        Act::MoreSlots,
        Act::Cap,
        Act::Board,
        Act::StepBack,
        Act::PullRequest,
        Act::Theme,
        Act::Command,
        Act::Help,
        Act::Leave,
    ];
    (own.to_vec(), general.to_vec())
}

/// How far the run is, what it costs, and how long it will take.
pub(crate) fn figures(buffer: &mut Buffer, area: Rect, app: &App, watched: &Watched) {
    let (figures, glyphs) = (&watched.figures, app.glyphs);
    let mut line = match area.width >= WITH_BAR {
        true => bar(watched, glyphs, BAR.min(usize::from(area.width) / 4)).and(Tone::Plain, "  "),
        false => Line::default(),
    };
    line =
        line.and(Tone::Strong, format!("{}/{} done", figures.done(), figures.total)).and(Tone::Plain, "  ");
    for state in [State::NeedsYou, State::Failed, State::Conflict, State::Running] {
        let count = figures.count(state);
        if count > 0 {
            line = line.and(Tone::State(state), format!("{}{count} ", glyphs.of(state)));
        }
    }
    let cap = figures.cap.as_ref().map(|cap| format!(" of {cap}")).unwrap_or_default();
    line = line.and(Tone::Plain, format!(" {}{cap}", figures.spent));
    if watched.is_live() {
        line = line.and(Tone::Plain, format!("  slots {}/{}", figures.busy, figures.slots));
    }
    if let Some(left) = figures.left.filter(|_| watched.is_live()) {
        let tasks = if left.tasks == 1 { "task" } else { "tasks" };
        let time = left.time.map(times::briefly).unwrap_or_else(|| format!("{} {tasks}", left.tasks));
        line = line.and(Tone::Plain, format!("  critical path {time}"));
    }
    if let Some(over) = figures.over_at(app.now).filter(|_| watched.is_live()) {
        line = line.and(Tone::Plain, format!("  done {}", times::of_day(over)));
    }
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    lines::put(buffer, area, &line, &app.theme);
}

/// A part for each state, never too small to be seen.
fn bar(watched: &Watched, glyphs: Glyphs, width: usize) -> Line {
    let figures = &watched.figures;
    let parts = [
        (State::Landed, figures.done(), glyphs.either("█", "#")),
        (State::Running, figures.count(State::Running), glyphs.either("▓", "*")),
        (State::NeedsYou, figures.count(State::NeedsYou), glyphs.of(State::NeedsYou)),
        (State::Conflict, figures.count(State::Conflict), glyphs.of(State::Conflict)),
        (State::Failed, figures.count(State::Failed), glyphs.of(State::Failed)),
    ];
    let (mut line, mut left) = (Line::default(), width);
    for (state, count, symbol) in parts.into_iter().filter(|(_, count, _)| *count > 0) {
        let cells = (count * width / figures.total.max(1)).max(1).min(left);
        left -= cells;
        line = line.and(Tone::State(state), symbol.repeat(cells));
    }
    line.and(Tone::Dim, glyphs.either("░", ".").repeat(left))
}

/// What was said last, what is asked, or what is typed, in place of the keys.
pub(crate) fn said(buffer: &mut Buffer, area: Rect, (words, is_bad): (&str, bool), theme: &Theme) {
    let tone = if is_bad { Tone::State(State::Failed) } else { Tone::Strong };
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    lines::put_tone(buffer, area, tone, words, theme);
}
