//! A terminal that tmux plays, in which keys are pressed.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::super::product::said;
use crate::Result;
use crate::steps::quietly;

const PATIENCE: Duration = Duration::from_secs(20);
const BETWEEN_SCREENS: Duration = Duration::from_millis(50);

pub(super) struct Terminal {
    folder: tempfile::TempDir,
}

impl Terminal {
    pub(super) fn open(program: &Command) -> Result<Terminal> {
        let terminal = Terminal { folder: tempfile::tempdir()? };
        let mut start = terminal.tmux(&["new-session", "-d", "-x", "120", "-y", "40", "--"]);
        start.arg(program.get_program()).args(program.get_args());
        quietly(&mut start)?;
        Ok(terminal)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("tmux")
    }

    fn tmux(&self, words: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.args(["-u", "-f", "/dev/null", "-S"]).arg(self.socket()).args(words);
        tmux
    }

    pub(super) fn type_and_complete(&self, text: &str) -> Result {
        quietly(&mut self.tmux(&["send-keys", "-l", text]))?;
        // The shell has to have read the words before the key comes.
        self.expect(text)?;
        quietly(&mut self.tmux(&["send-keys", "Tab"]))
    }

    /// Waits until these words are on the screen.
    pub(super) fn expect(&self, words: &str) -> Result {
        let end = Instant::now() + PATIENCE;
        loop {
            let screen = said(&mut self.tmux(&["capture-pane", "-p", "-J"]))?;
            if screen.contains(words) {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("'{words}' is not on the screen:\n{}", screen.trim_end()).into());
            }
            std::thread::sleep(BETWEEN_SCREENS);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = quietly(&mut self.tmux(&["kill-server"]));
    }
}
