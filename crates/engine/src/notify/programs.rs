//! Programs that make a sound or show a message, where there are any.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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
    let found = PLAYERS.iter().find_map(|(name, args)| Some((on_path(name)?, args)));
    let Some((program, args)) = found else {
        return Err("no program that plays sounds is installed (pw-play, paplay, aplay)".to_owned());
    };
    if PLAYING.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let started = quiet(Command::new(program).args(*args).arg(file)).spawn();
    let Ok(mut player) = started else {
        PLAYING.store(false, Ordering::Relaxed);
        return Err(format!("{} could not be played", file.display()));
    };
    std::thread::spawn(move || {
        let _ = player.wait();
        PLAYING.store(false, Ordering::Relaxed);
    });
    Ok(())
}

/// Shows a message on the desktop.
pub(super) fn notify(message: &str) -> Result<(), ()> {
    let program = on_path("notify-send").ok_or(())?;
    let mut command = Command::new(program);
    command.args(["--app-name=Conductor", "--", "Conductor"]).arg(message);
    let mut child = quiet(&mut command).spawn().map_err(|_| ())?;
    match wait(&mut child) {
        Some(true) => Ok(()),
        Some(false) => Err(()),
        None => {
            let _ = child.kill();
            let _ = child.wait();
            Err(())
        }
    }
}

/// Whether it ended well; nothing where it has not ended in time.
fn wait(child: &mut Child) -> Option<bool> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status.success());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}
