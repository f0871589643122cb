//! The terminal: taken as a whole, and given back as it was, however the view is left.

use std::io::{self, IsTerminal as _, Stdout, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::execute;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui_core::terminal::{Frame, Terminal};
use ratatui_crossterm::CrosstermBackend;
use rustix::process::{Signal, getpid, kill_process};

/// More than this is not copied: terminals refuse longer texts, some without a word.
const MOST_COPIED: usize = 70_000;

/// Whether it is ours just now. Whatever ends the view looks here.
static TAKEN: AtomicBool = AtomicBool::new(false);

pub(crate) struct Window {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    mouse: bool,
}

/// Whether there is one that can be drawn on.
pub(crate) fn is_there() -> bool {
    let able = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    able && stdout().is_terminal() && io::stdin().is_terminal()
}

impl Window {
    pub(crate) fn open(mouse: bool) -> io::Result<Window> {
        static HOOKED: Once = Once::new();
        HOOKED.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        let window = Window { terminal: Terminal::new(CrosstermBackend::new(stdout()))?, mouse };
        window.take()?;
        Ok(window)
    }

    fn take(&self) -> io::Result<()> {
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        if self.mouse {
            execute!(stdout(), EnableMouseCapture)?;
        }
        Ok(())
    }

    /// Takes it again after it was given back. Everything is drawn anew, by one that remembers nothing: clearing the old one
    /// would ask the terminal where its cursor is, and the answer would be waited for among the keys.
    pub(crate) fn take_again(&mut self) -> io::Result<()> {
        self.take()?;
        execute!(stdout(), Clear(ClearType::All))?;
        self.terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(())
    }

    pub(crate) fn set_mouse(&mut self, mouse: bool) -> io::Result<()> {
        self.mouse = mouse;
        match mouse {
            true => execute!(stdout(), EnableMouseCapture),
            false => execute!(stdout(), DisableMouseCapture),
        }
    }

    /// One frame, which the terminal shows in one go where it can.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        execute!(stdout(), BeginSynchronizedUpdate)?;
        self.terminal.draw(draw)?;
        execute!(stdout(), EndSynchronizedUpdate)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives it back as it was. A terminal that is gone is no reason to fail.
pub(crate) fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(
        stdout(),
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        crossterm::style::ResetColor,
        Show
    );
    let _ = disable_raw_mode();
}

/// Stops this process as Ctrl-Z does elsewhere; returns when the user has brought it back.
pub(crate) fn stop() {
    give_back();
    let _ = kill_process(getpid(), Signal::STOP);
}

/// Into the clipboard of the terminal's own machine; how many bytes of it.
pub(crate) fn copy(text: &str) -> io::Result<usize> {
    let mut start = text.len().saturating_sub(MOST_COPIED);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    execute!(stdout(), CopyToClipboard::to_clipboard_from(&text[start..]))?;
    Ok(text.len() - start)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    /// Longer than this takes on a busy machine: only a hang gets there.
    const DEADLINE: Duration = Duration::from_secs(60);

    #[test]
    #[ignore = "it needs a terminal, which the test below opens"]
    fn it_is_taken_and_then_a_bug_strikes() {
        let _window = Window::open(true).unwrap();
        panic!("as it is meant to");
    }

    fn tmux(socket: &Path, words: &[&str]) -> String {
        let output =
            Command::new("tmux").args(["-u", "-f", "/dev/null", "-S"]).arg(socket).args(words).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    #[test]
    fn a_panic_gives_the_terminal_back_and_is_seen_on_it() {
        if !Command::new("tmux").arg("-V").output().is_ok_and(|told| told.status.success()) {
            eprintln!("\n*** SKIPPED: tmux is not installed; cargo xtask test gets it ***\n");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("tmux");
        let program = std::env::current_exe().unwrap().display().to_string();
        let script = format!(
            "was=$(stty -g); '{program}' --ignored --exact --nocapture \
             terminal::tests::it_is_taken_and_then_a_bug_strikes; \
             test \"$was\" = \"$(stty -g)\" && echo as it was; echo over; sleep 600"
        );
        tmux(&socket, &["new-session", "-d", "-x", "100", "-y", "30", &script]);
        let begun = Instant::now();
        let screen = loop {
            let screen = tmux(&socket, &["capture-pane", "-p"]);
            if screen.contains("\nover\n") || begun.elapsed() > DEADLINE {
                break screen;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let modes =
            tmux(&socket, &["display-message", "-p", "#{cursor_flag} #{alternate_on} #{mouse_any_flag}"]);
        tmux(&socket, &["kill-server"]);
        assert!(screen.contains("as it is meant to") && screen.contains("\nas it was\n"), "{screen}");
        assert_eq!(modes, "1 0 0\n");
    }
}
