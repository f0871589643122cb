//! Every screen, as it is drawn: at the smallest size that is promised and at a large one, in two themes.

use std::collections::BTreeMap;
use std::time::Instant;

use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;
use ratatui_core::terminal::Terminal;

use super::draw;
use crate::app::tests::{app_of, large, press, script};
use crate::app::{App, Message, Screen};
use crate::data::board::{Board, Project};
use crate::data::text::{Text, Tone};
use crate::theme::{Depth, Theme};

fn drawn(app: &mut App, (width, height): (u16, u16)) -> Buffer {
    app.now = conductor_core::values::units::Timestamp(1_700_000_500_000);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, app)).unwrap();
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let line: String = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// Which colours and modifiers each line has, in the order in which they come.
fn styles(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut runs: Vec<(Style, u16)> = Vec::new();
        for x in 0..buffer.area.width {
            let style = buffer[(x, y)].style();
            match runs.last_mut() {
                Some((last, count)) if *last == style => *count += 1,
                _ => runs.push((style, 1)),
            }
        }
        let each: Vec<String> = runs.iter().map(|(style, count)| format!("{count}{}", word(style))).collect();
        out += &format!("{:>2}: {}\n", y, each.join(" "));
    }
    out
}

fn word(style: &Style) -> String {
    let color =
        |color: Option<ratatui_core::style::Color>| color.map(|color| color.to_string()).unwrap_or_default();
    format!("({} {} {:?})", color(style.fg), color(style.bg), style.add_modifier)
}

const SIZES: [(u16, u16); 2] = [(80, 24), (200, 50)];
const THEMES: [&str; 2] = ["default", "dracula"];

/// Snapshots hold times of day, which are local. The other theme has the same words; what differs is how they look, which
/// is counted: how many cells have which style.
fn check(name: &str, mut app: App) {
    let mut looks = String::new();
    for size in SIZES {
        let words = text(&drawn(&mut app, size));
        insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), masked(&words));
        for theme in THEMES {
            app.theme = Theme::named(theme, Depth::True);
            let buffer = drawn(&mut app, size);
            assert_eq!(text(&buffer), words, "{name} in {theme}");
            looks += &format!("{theme} at {}x{}\n{}", size.0, size.1, cells(&buffer));
        }
        app.theme = Theme::named(THEMES[0], Depth::True);
    }
    insta::assert_snapshot!(format!("{name}_looks"), looks);
}

/// How many cells have each style; the clock's digits change how words are laid out and never how they look.
fn cells(buffer: &Buffer) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for cell in &buffer.content {
        *counts.entry(word(&cell.style())).or_default() += 1;
    }
    counts.iter().map(|(style, count)| format!("{count:>6} {style}\n")).collect()
}

/// `14:05` and `14:05:09` become as many dots.
fn masked(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let is_time = |at: usize| {
        let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
        digit(at) && digit(at + 1) && chars.get(at + 2) == Some(&':') && digit(at + 3) && digit(at + 4)
    };
    let mut out = chars.clone();
    for at in 0..chars.len() {
        if is_time(at) {
            out[at..at + 5].copy_from_slice(&['.', '.', ':', '.', '.']);
            if chars.get(at + 5) == Some(&':') {
                out[at + 6..at + 8].copy_from_slice(&['.', '.']);
            }
        }
    }
    out.into_iter().collect()
}

#[test]
fn a_live_run_at_its_question() {
    check("live", app_of(&script(), true, "default"));
}

#[test]
fn a_run_that_was_left_has_a_slider() {
    let mut app = app_of(&script(), false, "default");
    press(&mut app, "[[");
    check("past", app);
}

#[test]
fn every_tab() {
    let mut app = app_of(&script(), true, "default");
    press(&mut app, "f");
    let wanted = app.wanted().unwrap();
    let mut log = Text::default();
    log.add(Tone::Plain, "> form\nrunning 2 tests\n漢字 and a line that is much too long for the window it is shown in, so it is broken");
    app.hear(Message::Read { wanted, text: log });
    check("log", app);
    for (name, keys) in [("why", "f4"), ("attempts", "f5"), ("graph", ":graph api\n")] {
        let mut app = app_of(&script(), true, "default");
        press(&mut app, keys);
        check(name, app);
    }
}

#[test]
fn what_is_in_front() {
    for (name, keys) in [
        ("help", "?pager"),
        ("confirm", "rx"),
        ("typed", "smind the tests"),
        ("filter", "/pay"),
        ("cap", "c12.5"),
        ("priority", "uurgent\n"),
    ] {
        let mut app = app_of(&script(), true, "default");
        press(&mut app, keys);
        check(name, app);
    }
}

#[test]
fn the_board() {
    let script = script();
    let mut app = app_of(&script, false, "default");
    let run = app.watched.take().unwrap();
    let plan = Some(run.run().plan().as_ref().clone());
    let project = Project { file: Some("checkout.yaml".into()), plan, problem: None };
    let runs = vec![run.stored];
    app.hear(Message::Board(Box::new(Board { project, runs, ..Board::default() })));
    app.screen = Screen::Board;
    press(&mut app, "j ");
    check("board", app);
}

/// The same words in another theme, with its own colours; and none where none are wanted.
#[test]
fn two_themes() {
    let plain = drawn(&mut app_of(&script(), true, "default"), (80, 24));
    let dracula = drawn(&mut app_of(&script(), true, "dracula"), (80, 24));
    assert_eq!(text(&plain), text(&dracula));
    insta::assert_snapshot!("default_styles", styles(&plain));
    insta::assert_snapshot!("dracula_styles", styles(&dracula));
}

#[test]
fn it_fits_every_size_and_nothing_panics() {
    for keys in ["", "f", "4", "6", "?", "rx", ":lo", "[", "\n", "/x", "cx\n", "ux\n"] {
        let mut app = app_of(&script(), true, "default");
        press(&mut app, keys);
        for (width, height) in
            [(1, 1), (20, 5), (40, 10), (41, 11), (69, 12), (72, 10), (80, 24), (109, 30), (300, 100)]
        {
            drawn(&mut app, (width, height));
        }
    }
}

/// The most that a frame may take in a build without optimisation, which is ten times slower: it catches what grows with the
/// number of tasks where it must not. `cargo xtask bench` has the figures.
#[test]
fn many_tasks_are_drawn_as_quickly_as_few() {
    let mut app = app_of(&large(2_000), true, "default");
    drawn(&mut app, (200, 50));
    let begun = Instant::now();
    for _ in 0..20 {
        press(&mut app, "jjjjjjj");
        drawn(&mut app, (200, 50));
    }
    let each = begun.elapsed() / 20;
    assert!(each.as_millis() < 400, "{each:?}");
}

#[test]
fn the_mouse_selects_scrolls_and_goes_back_in_time() {
    use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    let mut app = app_of(&script(), false, "default");
    drawn(&mut app, (80, 24));
    let point = |app: &mut App, kind, (column, row)| {
        app.point(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
        drawn(app, (80, 24));
    };
    let press = MouseEventKind::Down(MouseButton::Left);
    let selected = |app: &App| app.watched.as_ref().unwrap().selected().unwrap().1.to_string();
    point(&mut app, press, (5, 2));
    assert_eq!(selected(&app), "schema");
    point(&mut app, MouseEventKind::ScrollDown, (5, 5));
    assert_eq!(selected(&app), "api");
    point(&mut app, press, (60, 1));
    assert_eq!(app.watched.as_ref().unwrap().pane.tab(), crate::app::pane::Tab::Why);
    point(&mut app, press, (3, 20));
    let (at, all) = app.watched.as_ref().unwrap().course.place();
    assert!(at < all / 4 && app.watched.as_ref().unwrap().course.is_past(), "{at} of {all}");
}
