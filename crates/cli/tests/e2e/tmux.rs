//! A terminal that tmux plays: keys are pressed in it, and its screen is what a person sees.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{CONDUCTOR, World, skipped, wait_for};

/// A terminal of a size, with a shell in it that ends by telling what the program left.
pub(crate) struct Terminal<'w> {
    pub(crate) world: &'w World,
    socket: PathBuf,
    /// Lines that were on the screen and are to stay.
    told: RefCell<BTreeSet<String>>,
}

/// What a shell that nothing has happened to leaves a terminal in: the cursor shows, lines are broken at the edge, and
/// nothing else is switched on.
const SANE: &str = "1 1 0 0 0 0 0 0\n";
const MODES: &str = "#{cursor_flag} #{wrap_flag} #{alternate_on} #{insert_flag} #{origin_flag} #{keypad_flag} \
                     #{keypad_cursor_flag} #{mouse_any_flag}";

impl<'w> Terminal<'w> {
    /// Nothing where there is no tmux to play it.
    pub(crate) fn open(world: &'w mut World, size: (u16, u16), args: &str) -> Option<Terminal<'w>> {
        Terminal::with(world, size, ":", &format!("{CONDUCTOR} {args}"))
    }

    /// As `open`, with the program in a folder below the world's.
    pub(crate) fn open_in(
        world: &'w mut World,
        folder: &str,
        size: (u16, u16),
        args: &str,
    ) -> Option<Terminal<'w>> {
        Terminal::with(world, size, &format!("cd {folder}"), &format!("{CONDUCTOR} {args}"))
    }

    /// With a command that was typed before, and any program.
    pub(crate) fn with(
        world: &'w mut World,
        size: (u16, u16),
        before: &str,
        program: &str,
    ) -> Option<Terminal<'w>> {
        let told = Command::new("tmux").arg("-V").output();
        if !told.is_ok_and(|told| told.status.success()) {
            skipped("tmux is not installed; cargo xtask test gets it");
            return None;
        }
        world.set("LANG", "C.UTF-8");
        world.set("SHELL", "/bin/sh");
        // One each: a server that was told to end may still answer while the next one starts.
        let socket = world.root().join(format!("tmux{}", fastrand::u32(..)));
        let terminal = Terminal { socket, world, told: RefCell::default() };
        let script = format!(
            "trap : INT QUIT; {before}; was=$(stty -g); {program}; code=$?; \
             test \"$was\" = \"$(stty -g)\" || echo the terminal is not as it was; echo ended with $code; sleep 900"
        );
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        terminal.tmux(&["new-session", "-d", "-x", &columns, "-y", &rows, &script]);
        Some(terminal)
    }

    pub(crate) fn tmux(&self, args: &[&str]) -> String {
        let mut command = self.world.command_of("tmux");
        let output = command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket).args(args).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn screen(&self) -> String {
        let whole = self.tmux(&["capture-pane", "-p", "-J"]);
        let stays = |line: &&str| line.starts_with(['[', 'c']) || line.starts_with("run ");
        self.told.borrow_mut().extend(whole.lines().filter(stays).map(|line| line.trim_end().to_owned()));
        let text = self.tmux(&["capture-pane", "-p"]);
        text.trim_end().lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    /// With everything that has scrolled out of sight, each line whole.
    pub(crate) fn everything(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    pub(crate) fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, words: &[&str]) -> String {
        wait_for(&format!("{words:?} on the screen"), || {
            let screen = self.screen();
            words.iter().all(|word| screen.contains(word)).then_some(screen)
        })
    }

    /// What the program left, once it has: the terminal as it was, and every line that was to stay.
    #[track_caller]
    pub(crate) fn ended(&self, code: i32) -> String {
        let text = wait_for("the end", || {
            let text = self.everything();
            text.contains("ended with ").then_some(text)
        });
        assert!(text.contains(&format!("ended with {code}\n")), "{text}");
        assert!(!text.contains("panicked"), "{text}");
        self.expect_sane(&text);
        assert_eq!(bars(&self.screen()), 0, "the block is still there:\n{text}");
        for line in self.told.borrow().iter() {
            assert!(text.contains(line.as_str()), "{line:?} was told and is gone:\n{text}");
        }
        text
    }

    /// The line discipline, the modes and the colours are as they were before the program.
    #[track_caller]
    pub(crate) fn expect_sane(&self, text: &str) {
        assert!(!text.contains("the terminal is not as it was\n"), "{text}");
        assert_eq!(self.tmux(&["display-message", "-p", MODES]), SANE, "{MODES}");
        let colored = self.tmux(&["capture-pane", "-p", "-e"]);
        let last = colored.lines().find(|line| line.contains("ended with ")).unwrap();
        let usual = ["\x1b[0m", "\x1b[39m", "\x1b[49m"]
            .iter()
            .fold(last.to_owned(), |line, code| line.replace(code, ""));
        assert!(!usual.contains('\x1b'), "{last:?}");
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let mut command = self.world.command_of("tmux");
        let _ = command.arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}

pub(crate) fn bars(screen: &str) -> usize {
    let is_bar = |line: &&str| {
        line.contains(['━', '─']) || !line.starts_with('[') && line.contains("/") && line.contains(" running")
    };
    screen.lines().filter(is_bar).count()
}

/// What differs from one time to the next is made the same: the run's name, times, how far the bar goes, folders.
pub(crate) fn masked(world: &World, text: &str) -> String {
    let text = text.replace(&world.run_id(), "RUN").replace(&world.root().display().to_string(), "HERE");
    let mut out = String::new();
    for line in text.lines() {
        let words = line.split(' ').map(|word| if is_time(word) { "TIME" } else { word });
        let mut line = words.collect::<Vec<_>>().join(" ");
        // How much of it there was is the machine's.
        if line.starts_with("work ") || line.starts_with("waited ") {
            continue;
        }
        for cell in ["━", "─"] {
            while line.contains(&cell.repeat(2)) {
                line = line.replace(&cell.repeat(2), cell);
            }
        }
        while line.contains("  TIME") {
            line = line.replace("  TIME", " TIME");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// `850ms`, `4.2s,`, `3m05s:` and their like.
fn is_time(word: &str) -> bool {
    let word = word.trim_end_matches([',', ';', ':']);
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.ends_with('s')
        && word.chars().all(|c| c.is_ascii_digit() || ".hms".contains(c))
}

impl Terminal<'_> {
    /// Every byte the terminal is sent from now on goes to a file too.
    pub(crate) fn record(&self) -> PathBuf {
        let file = self.world.root().join("bytes");
        self.tmux(&["pipe-pane", "-o", &format!("cat >> {}", file.display())]);
        file
    }
}

/// What it has been sent so far.
pub(crate) fn seen(file: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned()
}
