//! A status that is shown again and again: in place on a terminal, below one another elsewhere.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use conductor_engine::control::{self, ControlError, Glance};
use conductor_engine::home::Home;

use super::{Seen, block_on, json, text};
use crate::archive::Archive;
use crate::console::{self, Unanswered};
use crate::fault::{Exit, Fault};

/// At most twice a second.
const PAUSE: Duration = Duration::from_millis(500);

/// Until the run ends; then as it was left.
pub(super) fn watch(home: &Home, first: Glance, as_json: bool) -> Result<Exit, Fault> {
    let run = first.run.clone();
    let mut screen = Screen { in_place: can_be_drawn_over() && !as_json, as_json, last: None, lines: 0 };
    let mut glance = first;
    loop {
        screen.show(&Seen::live(glance))?;
        std::thread::sleep(PAUSE);
        match control::glance(&home.run(&run)) {
            Ok(next) => glance = next,
            Err(ControlError::NotThere) => break,
            Err(_) if !home.is_live(&run) => break,
            Err(error) => return Err(crate::live::unable(home, &run, error)),
        }
    }
    home.wait_until_left(&run)?;
    let found = block_on(async {
        let archive = Archive::open().await?;
        archive.read(&archive.named(run.as_str())?).await
    })?;
    screen.show(&Seen::left(found))?;
    Ok(Exit::Done)
}

fn can_be_drawn_over() -> bool {
    let kind = std::env::var_os("TERM");
    io::stdout().is_terminal() && kind.is_some_and(|kind| !kind.is_empty() && kind != "dumb")
}

struct Screen {
    in_place: bool,
    as_json: bool,
    /// The state that was shown last; time alone is no news where everything stays to be read.
    last: Option<(u64, bool)>,
    /// How many lines it took.
    lines: usize,
}

impl Screen {
    fn show(&mut self, seen: &Seen) -> Result<(), Unanswered> {
        let state = (seen.snapshot.seq, seen.pid.is_some());
        if !self.in_place && self.last == Some(state) {
            return Ok(());
        }
        self.last = Some(state);
        let mut out = io::stdout().lock();
        if self.as_json {
            writeln!(out, "{}", console::clean(&json(seen).to_string()))?;
        } else if self.in_place {
            let text = fitted(&console::clean(&text::whole(seen)));
            let up = if self.lines == 0 { String::new() } else { format!("\x1b[{}A\r\x1b[J", self.lines) };
            self.lines = text.lines().count();
            write!(out, "{up}{text}")?;
        } else {
            writeln!(out, "{}", console::clean(&text::whole(seen)))?;
        }
        Ok(out.flush()?)
    }
}

/// No line longer than the terminal is wide and no more of them than it is high: else it could not be drawn over.
fn fitted(text: &str) -> String {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    // One that does not know its size says nought.
    let known = |side: u16, usual: usize| if side == 0 { usual } else { usize::from(side).max(5) };
    let (columns, rows) = size.map_or((80, 24), |size| (known(size.ws_col, 80), known(size.ws_row, 24)));
    let cut = |line: &str| line.chars().take(columns - 1).collect::<String>() + "\n";
    let all = text.lines().count();
    match all < rows {
        true => text.lines().map(cut).collect(),
        false => {
            let shown: String = text.lines().take(rows - 2).map(cut).collect();
            format!("{shown}… {} more lines\n", all - (rows - 2))
        }
    }
}
