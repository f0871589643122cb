//! Programs that make a sound or show a message, where there are any.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::process::{installed, run_beside};

/// Those that play a file and end.
const PLAYERS: [(&str, &[&str]); 5] = [
    ("pw-play", &[]),
    ("paplay", &[]),
    ("afplay", &[]),
    ("aplay", &["-q"]),
    ("ffplay", &["-nodisp", "-autoexit", "-loglevel", "quiet"]),
];

/// How long a message may take to be shown.
const PATIENCE: Duration = Duration::from_secs(3);

/// Plays a sound, unless one is being played.
pub(super) fn play(file: &Path) -> Result<(), String> {
    static PLAYING: AtomicBool = AtomicBool::new(false);
    if !file.is_file() {
        return Err(format!("there is no sound {}", file.display()));
    }
    let found = PLAYERS.iter().find_map(|(name, args)| Some((installed(name)?, args)));
    let Some((program, args)) = found else {
        return Err("no program that plays sounds is installed (pw-play, paplay, aplay)".to_owned());
    };
    if PLAYING.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let mut command = Command::new(program);
    command.args(*args).arg(file);
    std::thread::spawn(move || {
        // A sound that cannot be played is not worth a word more.
        let _ = run_beside(&mut command, None);
        PLAYING.store(false, Ordering::Relaxed);
    });
    Ok(())
}

/// Shows a message on the desktop; whether it could.
pub(super) fn notify(message: &str) -> bool {
    let Some(program) = installed("notify-send") else { return false };
    let mut command = Command::new(program);
    command.args(["--app-name=Conductor", "--", "Conductor"]).arg(message);
    run_beside(&mut command, Some(PATIENCE)).unwrap_or(false)
}
