//! The terminal we draw on: lines that stay, a block below them that is drawn anew, and what has to be put back in the end.
//!
//! There is one, so its state is one for the whole process: every way to end the process can put it back.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::sync::{Mutex, Once};

use conductor_engine::host::redact::known;
use conductor_engine::process::transcript::shown;
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// Between these a terminal that knows them shows nothing half drawn; others pass them over.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// Where the terminal does not say how large it is.
const USUAL: Size = Size { columns: 80, rows: 24 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

#[derive(Default)]
struct Held {
    is_held: bool,
    /// How it was before us, where we changed it.
    before: Option<Termios>,
    /// How wide each line of the block is that stands there now.
    drawn: Vec<usize>,
}

static HELD: Mutex<Held> = Mutex::new(Held { is_held: false, before: None, drawn: Vec::new() });

fn held() -> std::sync::MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Whether there is a terminal that can be drawn on, and we are the ones it listens to.
pub(super) fn is_ours() -> bool {
    let able = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    able && stderr().is_terminal() && is_in_front()
}

/// By the user's locale, as every program decides it.
pub(crate) fn knows_unicode() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
    let locale = locale.to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// In the background, touching the terminal's settings would stop us.
fn is_in_front() -> bool {
    tcgetpgrp(stderr()).is_ok_and(|front| front == getpgrp())
}

pub(super) fn size() -> Size {
    match tcgetwinsize(stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            Size { columns: size.ws_col.into(), rows: size.ws_row.into() }
        }
        _ => USUAL,
    }
}

/// Hides the cursor and what is typed: both would be in the way of the block. Ctrl-C and its like work as ever.
pub(super) fn hold() {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            step_aside();
            before(panic);
        }));
    });
    let mut held = held();
    held.is_held = true;
    if is_in_front()
        && let Ok(now) = tcgetattr(stderr())
    {
        let mut quiet = now.clone();
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ECHONL;
        let _ = tcsetattr(stderr(), OptionalActions::Now, &quiet);
        held.before.get_or_insert(now);
    }
    write(HIDE_CURSOR);
}

/// Takes the block away and puts everything back.
pub(crate) fn release() {
    put_back(held(), |drawn| erase(drawn, size().columns, reflows()));
}

/// Puts everything back and leaves the block on the screen, so that other output can follow below it.
pub(crate) fn step_aside() {
    // A thread that panics while drawing holds the lock already.
    match HELD.try_lock() {
        Ok(held) => put_back(held, |_| "\r\n".to_owned()),
        Err(_) => write(&format!("{SHOW_CURSOR}\r\n")),
    }
}

/// Undoes another change of the terminal, and is called first.
static OTHER: Mutex<Option<fn()>> = Mutex::new(None);

/// Whether this module puts the terminal back whenever another process gets it, after a call of `other`.
pub(crate) fn sees_to(other: fn()) -> bool {
    *OTHER.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(other);
    held().is_held
}

fn put_back(mut held: std::sync::MutexGuard<'_, Held>, parting: impl Fn(&[usize]) -> String) {
    if !held.is_held {
        return;
    }
    if let Ok(Some(other)) = OTHER.try_lock().map(|other| *other) {
        other();
    }
    let mut last = String::from(SHOW_CURSOR);
    if !held.drawn.is_empty() {
        last.push_str(&parting(&held.drawn));
    }
    write(&last);
    if let Some(before) = held.before.take().filter(|_| is_in_front()) {
        let _ = tcsetattr(stderr(), OptionalActions::Now, &before);
    }
    *held = Held::default();
}

/// Shows lines that stay and, below them, the block in place of the last one. Each line of it comes with how wide it is,
/// which is less than the terminal.
pub(super) fn draw(above: &str, block: &[(String, usize)], columns: usize) {
    let mut held = held();
    let known = known();
    let above = &*known.text(above);
    if !held.is_held {
        write(above);
        return;
    }
    let clean = |(line, width): &(String, usize)| (known.text(line).into_owned(), *width);
    let clean: Vec<(String, usize)> = block.iter().map(clean).collect();
    write(&frame(&held.drawn, above, &clean, columns, reflows()));
    held.drawn = block.iter().map(|(_, width)| *width).collect();
}

fn frame(drawn: &[usize], above: &str, block: &[(String, usize)], columns: usize, reflows: bool) -> String {
    let mut out = format!("{BEGIN}{HIDE_CURSOR}{}", erase(drawn, columns, reflows));
    out.push_str(&above.replace('\n', "\r\n"));
    let lines: Vec<&str> = block.iter().map(|(line, _)| line.as_str()).collect();
    out.push_str(&lines.join("\r\n"));
    out.push_str(END);
    out
}

/// From the end of the block to its beginning, with everything from there on gone. Where the terminal has become narrower
/// its lines may have been broken in two.
fn erase(drawn: &[usize], columns: usize, reflows: bool) -> String {
    let rows = |width: &usize| if reflows { width.div_ceil(columns.max(1)).max(1) } else { 1 };
    match drawn.iter().map(rows).sum::<usize>() {
        0 => String::new(),
        1 => "\r\x1b[J".to_owned(),
        rows => format!("\r\x1b[{}A\x1b[J", rows - 1),
    }
}

/// Whether lines are broken anew when the terminal becomes narrower. Most do that; those that cut them off are known.
fn reflows() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let term = std::env::var("TERM").unwrap_or_default();
    let screen = term.starts_with("screen") && !is_set("TMUX");
    !(is_set("XTERM_VERSION") || term == "linux" || term.starts_with("rxvt") || screen)
}

/// Asks the terminal to notify the user, by both escape codes there are. Does nothing without a terminal.
pub(super) fn ring(text: &str) {
    if stderr().is_terminal() {
        let text = known().text(&shown(text.as_bytes())).replace(['\n', ';'], " ");
        write(&format!("\x1b]9;{text}\x07\x1b]777;notify;Conductor;{text}\x07"));
    }
}

pub(crate) fn ring_bell() {
    if stderr().is_terminal() {
        write("\x07");
    }
}

/// A terminal that went away must not end the run.
fn write(text: &str) {
    let mut out = stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(lines: &[&str]) -> Vec<(String, usize)> {
        lines.iter().map(|line| ((*line).to_owned(), line.len())).collect()
    }

    #[test]
    fn what_stays_is_written_over_the_block_and_the_block_below_it() {
        let first = frame(&[], "one\ntwo\n", &block(&["a", "bb"]), 80, true);
        assert_eq!(first, format!("{BEGIN}{HIDE_CURSOR}one\r\ntwo\r\na\r\nbb{END}"));
        let next = frame(&[1, 2], "", &block(&["c"]), 80, true);
        assert_eq!(next, format!("{BEGIN}{HIDE_CURSOR}\r\x1b[1A\x1b[Jc{END}"));
        let last = frame(&[1], "", &[], 80, true);
        assert_eq!(last, format!("{BEGIN}{HIDE_CURSOR}\r\x1b[J{END}"));
    }

    #[test]
    fn a_terminal_that_became_narrower_has_broken_the_lines() {
        assert_eq!(erase(&[79, 40, 10], 40, true), "\r\x1b[3A\x1b[J", "two rows, one, and one");
        assert_eq!(erase(&[79, 40, 10], 40, false), "\r\x1b[2A\x1b[J");
        assert_eq!(erase(&[0, 0], 0, true), "\r\x1b[1A\x1b[J");
    }
}
