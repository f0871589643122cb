//! A status that is shown again and again: on a screen of its own on a terminal, below one another elsewhere.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use conductor_core::values::ids::RunId;
use conductor_engine::dispatch::LiveView;
use conductor_engine::host::home::Home;
use conductor_engine::runs::control::{self, ControlError};
use rustix::process::{Signal as Sent, getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Seen, block_on, json, text};
use crate::archive::Archive;
use crate::commands::wait::exit_code;
use crate::console::{self, Unanswered};
use crate::error::{CliError, Exit};
use crate::output::width::{self, Room, width_of};

/// At most twice a second.
const PAUSE: Duration = Duration::from_millis(500);

/// A screen of its own, which leaves nothing in what was there before.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// Between these a terminal that knows them shows nothing half drawn; others pass them over.
const BEGIN: &str = "\x1b[?2026h\x1b[H";
const END: &str = "\x1b[J\x1b[?2026l";

/// Until the run ends; then as it was left, and with the exit code it had.
pub(super) fn watch(home: &Home, first: LiveView, as_json: bool) -> Result<Exit, CliError> {
    let run = first.run.clone();
    let mut view = View { as_json, last: None, own: None };
    if !as_json && can_be_drawn_over() {
        view.own = Some(OwnScreen::enter()?);
    }
    let stopped = block_on(follow(home, first, &mut view))?;
    view.own = None;
    if let Some(exit) = stopped {
        return Ok(exit);
    }
    home.wait_until_left(&run)?;
    block_on(last(home, &run, &mut view))
}

async fn last(home: &Home, run: &RunId, view: &mut View) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    view.show(&Seen::left(&archive.home, archive.read(&archive.named(run.as_str())?).await?))?;
    exit_code(home, run).await
}

/// Shows what there is until the run ends, or until a signal ends the watching.
async fn follow(home: &Home, first: LiveView, view: &mut View) -> Result<Option<Exit>, CliError> {
    let run = first.run.clone();
    let mut live_view = Some(first);
    let mut signals = Signals::new()?;
    loop {
        if let Some(live_view) = live_view.take() {
            view.show(&Seen::live(live_view))?;
        }
        if let Some(exit) = signals.within(PAUSE, view.own.as_ref()).await {
            return Ok(Some(exit));
        }
        match control::live_view(&home.run(&run)) {
            Ok(next) => live_view = Some(next),
            // It is being left, to another process maybe.
            Err(ControlError::NotThere) if home.is_live(&run) => {}
            Err(_) if !home.is_live(&run) => return Ok(None),
            Err(error) => return Err(crate::archive::live::unable(home, &run, error)),
        }
    }
}

/// Those that would leave the terminal with our screen on it.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    stop: Signal,
}

impl Signals {
    fn new() -> io::Result<Signals> {
        let stop = SignalKind::from_raw(Sent::TSTP.as_raw());
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            stop: signal(stop)?,
        })
    }

    /// Which exit code a signal within this time stands for; nothing where there is none.
    async fn within(&mut self, time: Duration, own: Option<&OwnScreen>) -> Option<Exit> {
        tokio::select! {
            () = tokio::time::sleep(time) => None,
            _ = self.interrupt.recv() => Some(Exit::Interrupted),
            _ = self.terminate.recv() => Some(Exit::Terminated),
            _ = self.hangup.recv() => Some(Exit::Terminated),
            _ = self.stop.recv() => {
                own.inspect(|own| own.write(LEAVE));
                let _ = kill_process(getpid(), Sent::STOP);
                own.inspect(|own| own.write(ENTER));
                None
            }
        }
    }
}

fn can_be_drawn_over() -> bool {
    let kind = std::env::var_os("TERM");
    io::stdout().is_terminal() && kind.is_some_and(|kind| !kind.is_empty() && kind != "dumb")
}

struct View {
    as_json: bool,
    /// The state that was shown last; time alone is no news where everything stays to be read.
    last: Option<(u64, bool)>,
    own: Option<OwnScreen>,
}

impl View {
    fn show(&mut self, seen: &Seen) -> Result<(), Unanswered> {
        if let Some(own) = &self.own {
            own.draw(seen);
            return Ok(());
        }
        let state = (seen.snapshot.seq, seen.pid.is_some());
        if self.last.replace(state) == Some(state) {
            return Ok(());
        }
        let text = if self.as_json { json(seen).to_string() } else { text::whole(seen) };
        let mut out = io::stdout().lock();
        writeln!(out, "{}", console::clean(&text))?;
        Ok(out.flush()?)
    }
}

/// The terminal's other screen, which is left on every way out.
struct OwnScreen;

impl OwnScreen {
    fn enter() -> io::Result<OwnScreen> {
        let mut out = io::stdout().lock();
        out.write_all(ENTER.as_bytes())?;
        out.flush()?;
        Ok(OwnScreen)
    }

    fn draw(&self, seen: &Seen) {
        let (body, calls) = (text::body(seen), text::calls(seen));
        let lines =
            fitted(&console::clean(&body), &console::clean(&calls), width::room().unwrap_or(width::USUAL));
        let drawn: Vec<String> = lines.iter().map(|line| format!("{line}\x1b[K")).collect();
        self.write(&format!("{BEGIN}{}{END}", drawn.join("\r\n")));
    }

    /// A terminal that went away ends nothing but itself.
    fn write(&self, text: &str) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

impl Drop for OwnScreen {
    fn drop(&mut self) {
        self.write(LEAVE);
    }
}

/// Whole lines, as many as there is room for: the terminal breaks those that are longer than it is wide, so they can be
/// copied. What the user has to answer is always there; what goes is the end of the rest.
fn fitted(body: &str, calls: &str, room: Room) -> Vec<String> {
    let rows = |line: &str| width_of(line).div_ceil(room.columns.max(1)).max(1);
    let height = |lines: &[&str]| lines.iter().map(|line| rows(line)).sum::<usize>();
    let calls: Vec<&str> = calls.lines().collect();
    let mut body: Vec<&str> = body.lines().collect();
    let mut left_out = 0;
    let note = |left_out: usize| usize::from(left_out > 0);
    while !body.is_empty() && height(&body) + note(left_out) + height(&calls) > room.rows {
        body.pop();
        left_out += 1;
    }
    let note = (left_out > 0).then(|| format!("… and {left_out} more: conductor status"));
    let mut lines: Vec<String> = body.iter().map(|line| (*line).to_owned()).chain(note).collect();
    let mut used = lines.iter().map(|line| rows(line)).sum::<usize>();
    for line in calls {
        used += rows(line);
        if used <= room.rows {
            lines.push(line.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(columns: usize, rows: usize) -> Vec<String> {
        fitted("one\ntwo two two\nthree\n", "\nanswer it\n", Room { columns, rows })
    }

    #[test]
    fn what_is_shown_is_whole_and_what_has_to_be_answered_is_there() {
        assert_eq!(shown(80, 9), ["one", "two two two", "three", "", "answer it"]);
        assert_eq!(shown(80, 5), shown(80, 9));
        assert_eq!(shown(80, 4), ["one", "… and 2 more: conductor status", "", "answer it"]);
        assert_eq!(shown(6, 9)[..2], ["one", "two two two"], "a line that takes two rows is not cut");
        assert_eq!(shown(80, 2), ["… and 3 more: conductor status", ""]);
    }
}
