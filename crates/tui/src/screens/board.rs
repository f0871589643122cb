//! The board: the tasks of the project's file on the left, its runs on the right.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::app::App;
use crate::data::board::Board;
use crate::data::state::State;
use crate::data::text::{Line, Text, Tone, clean};
use crate::data::times;
use crate::widgets::lines::{self, Lines};
use crate::widgets::list::List;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &App) {
    let inner = Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 };
    let above_foot = inner.bottom() - 3;
    let body = Rect { height: above_foot - inner.y, ..inner };
    let left = Rect { width: body.width * 55 / 100, ..body };
    let right = Rect { x: left.right() + 1, width: body.right() - left.right() - 1, ..body };
    let mut frame = Lines { buffer, glyphs: app.glyphs, style: app.theme.border(false) };
    frame.around(area);
    frame.across(area.x, area.right() - 1, above_foot, ["├", "┤"]);
    frame.down(left.right(), area.y, above_foot, Some(["┬", "┴"]));
    let title = Rect { x: area.x + 2, y: area.y, width: left.width.saturating_sub(2), height: 1 };
    lines::put_tone(buffer, title, Tone::Strong, &format!(" {} ", name(&app.board)), &app.theme);
    tasks(buffer, left, app);
    runs(buffer, right, app);
    foot(buffer, Rect { y: above_foot + 1, height: 2, ..inner }, app);
}

fn name(board: &Board) -> String {
    let file = board.project.file.as_ref().map(|file| file.display().to_string());
    clean(&file.unwrap_or_else(|| "no task file".to_owned()))
}

fn tasks(buffer: &mut Buffer, area: Rect, app: &App) {
    let board = &app.board;
    if let Some(problem) = &board.project.problem {
        let mut text = Text::default();
        text.add(Tone::Plain, problem);
        let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        for (at, line) in
            text.broken(usize::from(inner.width)).iter().take(usize::from(area.height)).enumerate()
        {
            lines::put(buffer, lines::row(inner, at as u16), line, &app.theme);
        }
        return;
    }
    let done = board.tasks().iter().filter(|task| board.done.contains_key(&task.id)).count();
    let title = format!("tasks: {done} of {} landed by earlier runs", board.tasks().len());
    let list =
        List { title: &title, count: board.tasks().len(), selected: board.task, has_focus: !board.in_runs };
    list.draw(buffer, area, (&app.theme, app.glyphs), |at| {
        let task = &board.tasks()[at];
        let (state, words) = board.stand(task);
        let mark = if board.marked.contains(&task.id) { app.glyphs.either("■ ", "x ") } else { "  " };
        let name =
            if task.name == task.id.as_str() { String::new() } else { format!("  {}", clean(&task.name)) };
        Line::of(Tone::Accent, mark)
            .and(Tone::State(state), format!("{} ", app.glyphs.of(state)))
            .and(Tone::Plain, format!("{:<20} ", task.id.as_str()))
            .and(Tone::State(state), words)
            .and(Tone::Dim, name)
    });
}

fn runs(buffer: &mut Buffer, area: Rect, app: &App) {
    let board = &app.board;
    let title = match board.runs.is_empty() {
        true => "no run yet: Enter starts one",
        false => "runs, newest first",
    };
    let list = List { title, count: board.runs.len(), selected: board.run, has_focus: board.in_runs };
    list.draw(buffer, area, (&app.theme, app.glyphs), |at| {
        let run = &board.runs[at];
        let state = match (board.is_live(run), run.status.as_str()) {
            (true, _) => State::Running,
            (_, "completed") => State::Landed,
            (_, "failed") => State::Failed,
            (_, "cancelled") => State::Cancelled,
            _ => State::Waiting,
        };
        let word = match (state, run.status.as_str()) {
            (State::Waiting, "running") => "left",
            (_, status) => status,
        };
        Line::of(Tone::State(state), format!("{} {word:<10}", app.glyphs.of(state)))
            .and(Tone::Plain, format!("{}  ", run.id))
            .and(Tone::Dim, format!("{}  {} tasks", times::whole(run.created), run.tasks))
    });
}

fn foot(buffer: &mut Buffer, area: Rect, app: &App) {
    let board = &app.board;
    let enter = match (board.in_runs, board.marked.is_empty()) {
        (true, _) => "open the run",
        (false, true) => "start all tasks",
        (false, false) => "start what is marked",
    };
    let keys = [
        ("Enter", enter),
        ("Space", "mark"),
        ("Tab", "runs"),
        (":", "command"),
        ("?", "help"),
        ("q", "leave"),
    ];
    let mut line = Line::default();
    for (at, (key, words)) in keys.into_iter().enumerate() {
        let gap = if at == 0 { " " } else { "  " };
        line = line.and(Tone::Plain, gap).and(Tone::Accent, key).and(Tone::Plain, format!(" {words}"));
    }
    lines::put(buffer, lines::row(area, 0), &line, &app.theme);
    let live = board.live.len();
    let words = match live {
        0 => "no run is active here".to_owned(),
        1 => "1 run is active here".to_owned(),
        live => format!("{live} runs are active here"),
    };
    lines::put_tone(
        buffer,
        Rect { x: area.x + 1, y: area.y + 1, height: 1, width: area.width - 1 },
        Tone::Dim,
        &words,
        &app.theme,
    );
}
