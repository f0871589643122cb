//! What the global options do, before the command begins.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use conductor_core::values::units::Millis;
use conductor_engine::host::home::Home;

use crate::args::{Color, Global};
use crate::console;
use crate::error::{CliError, Exit};
use crate::logging;
use crate::output::talk;
use crate::settings::{config, trust};

static STARTED_IN: OnceLock<PathBuf> = OnceLock::new();

/// Where the program was started, where it has gone elsewhere since.
pub(crate) fn started_in() -> Option<&'static Path> {
    STARTED_IN.get().map(PathBuf::as_path)
}

pub(crate) fn apply(global: &Global) -> Result<(), CliError> {
    color(global.color);
    trust::typed(&global.trust);
    if global.quiet {
        console::be_quiet();
    }
    logging::begin(global)?;
    enter(&global.directories)?;
    if let Ok(here) = std::env::current_dir() {
        trust::plugins_of(&here);
    }
    if global.verbose > 0 {
        console::be_verbose();
        introduce();
    }
    Ok(())
}

pub(crate) fn color(color: Color) {
    let choice = match color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// The same options, for this program started by itself.
pub(crate) fn handed_on() -> Vec<String> {
    let words = match anstream::ColorChoice::global() {
        anstream::ColorChoice::Never => vec!["--color=never"],
        anstream::ColorChoice::Always | anstream::ColorChoice::AlwaysAnsi => vec!["--color=always"],
        anstream::ColorChoice::Auto => Vec::new(),
    };
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    words.extend(console::is_quiet().then(|| "--quiet".to_owned()));
    words.extend(console::is_verbose().then(|| "--verbose".to_owned()));
    words.extend(trust::handed_on());
    words.extend(logging::handed_on());
    words
}

fn enter(directories: &[PathBuf]) -> Result<(), CliError> {
    if directories.is_empty() {
        return Ok(());
    }
    if let Ok(here) = std::env::current_dir() {
        let _ = STARTED_IN.set(here);
    }
    for directory in directories {
        std::env::set_current_dir(directory).map_err(|error| {
            CliError::new(Exit::Usage, format!("-C: cannot change to {}: {error}", directory.display()))
        })?;
    }
    Ok(())
}

/// Where everything is looked for.
fn introduce() {
    let here = std::env::current_dir().map(|here| here.display().to_string());
    talk(format!(
        "version {}, in {}",
        env!("CARGO_PKG_VERSION"),
        here.unwrap_or_else(|error| error.to_string())
    ));
    match Home::root_of_environment() {
        Ok(root) => {
            let there = if root.join("runs").is_dir() { "" } else { " (not there yet)" };
            talk(format!("state directory {}{there}", root.display()));
        }
        Err(error) => talk(error),
    }
    for place in config::places().unwrap_or_default() {
        let there = if place.path.is_file() { "" } else { " (not there)" };
        talk(format!("config of the {} {}{there}", place.of.name(), place.path.display()));
    }
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut set: Vec<String> = names.filter(|name| name.starts_with("CONDUCTOR_")).collect();
    set.sort();
    if !set.is_empty() {
        talk(format!("variables that are set: {}", set.join(", ")));
    }
}

fn millis(time: Duration) -> Millis {
    Millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// The last line of a verbose command.
pub(crate) fn tell_exit(exit: Exit, since: Instant) {
    if console::is_verbose() {
        talk(format!("exit code {} after {}", exit as u8, millis(since.elapsed())));
    }
}
