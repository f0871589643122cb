//! `conductor tui`: the full-screen view, of a run or of the project's board.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::CommandFactory as _;
use conductor_core::values::ids::RunId;
use conductor_engine::host::home::Home;
use conductor_engine::stores::StoredRun;
use conductor_tui::{Invocation, KnownCommand, Leaving, Left, NamesRun, Project, TuiError};

use super::{block_on, runs, talk, wait};
use crate::archive::Archive;
use crate::archive::live;
use crate::args::{self, Arguments};
use crate::error::{CliError, Exit};
use crate::progress::terminal;
use crate::settings::{diagnostics, taskfile};

pub(crate) fn run(args: &args::Tui) -> Result<Exit, CliError> {
    let left = block_on(show(args.run.as_deref()))?;
    wait_for_its_end(&left)?;
    say_goes_on(&left)?;
    Ok(exit(&left, Exit::Done))
}

/// Shows a run that was started for it, and exits as that does where it is over by then.
pub(crate) fn follow(run: &RunId) -> Result<Exit, CliError> {
    let left = block_on(show(Some(run.as_str())))?;
    wait_for_its_end(&left)?;
    let home = Home::open()?;
    if home.is_live(run) {
        say_goes_on(&left)?;
        return Ok(exit(&left, Exit::StillRunning));
    }
    runs::show(run)?;
    block_on(wait::exit_code(&home, run))
}

/// A run with nothing left to do is not said to go on, only because its reports are being written.
fn wait_for_its_end(left: &Left) -> Result<(), CliError> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let home = Home::open()?;
    let begun = Instant::now();
    let is_ending = || left.is_over && left.run.as_ref().is_some_and(|run| home.is_live(run));
    while is_ending() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn exit(left: &Left, otherwise: Exit) -> Exit {
    match left.by {
        Leaving::ByKey => otherwise,
        Leaving::Interrupted => Exit::Interrupted,
        Leaving::Terminated => Exit::Terminated,
    }
}

fn say_goes_on(left: &Left) -> Result<(), CliError> {
    if let Some(run) = left.run.as_ref().filter(|run| Home::open().is_ok_and(|home| home.is_live(run))) {
        talk(format!("run {run} goes on; back to it: conductor tui {run}"));
    }
    Ok(())
}

async fn show(word: Option<&str>) -> Result<Left, CliError> {
    if !conductor_tui::is_possible() {
        return Err(no_terminal());
    }
    let archive = Archive::open().await?;
    let run = meant(&archive, word)?;
    let invocation = Invocation {
        home: archive.home.clone(),
        store: archive.store(),
        directory: archive.directory.clone(),
        program: std::env::current_exe()?,
        run,
        project: Box::new(project),
        commands: commands(),
        colored: anstream::ColorChoice::global() != anstream::ColorChoice::Never,
        unicode: terminal::knows_unicode(),
    };
    conductor_tui::show(invocation).await.map_err(|error| match error {
        TuiError::NoTerminal => no_terminal(),
        error => CliError::new(Exit::Unexpected, error),
    })
}

fn no_terminal() -> CliError {
    CliError::new(Exit::Usage, "there is no terminal to draw on: the full-screen view needs one")
        .help("`conductor status --watch` and `conductor run --ui plain` say the same in plain lines")
}

/// The run that is named; else the newest active one here. Nothing where there is none: the board is shown.
fn meant(archive: &Archive, word: Option<&str>) -> Result<Option<StoredRun>, CliError> {
    if let Some(word) = word {
        return Ok(Some(archive.named(word)?));
    }
    // One that does not answer is on the board like the others.
    let live = live::meant(&archive.home, None).ok().flatten();
    Ok(live.and_then(|live_view| archive.known(&live_view.run).cloned()))
}

/// Every command that is shown, with all words that lead to it.
fn commands() -> Vec<KnownCommand> {
    let mut known = Vec::new();
    let mut ahead = vec![(Vec::new(), Arguments::command())];
    while let Some((words, command)) = ahead.pop() {
        let below: Vec<&clap::Command> = command.get_subcommands().filter(|one| !one.is_hide_set()).collect();
        if below.is_empty() || command.get_arguments().next().is_some() && !words.is_empty() {
            known.push(KnownCommand { words: words.clone(), names_run: names_run(&command) });
        }
        ahead.extend(below.into_iter().map(|one| {
            let words = words.iter().cloned().chain([one.get_name().to_owned()]).collect();
            (words, one.clone())
        }));
    }
    // The longest first: `runs show` is not `runs`.
    known.sort_by(|one, two| two.words.len().cmp(&one.words.len()).then_with(|| one.words.cmp(&two.words)));
    known
}

fn names_run(command: &clap::Command) -> NamesRun {
    match command.get_arguments().find(|arg| arg.get_id() == "run") {
        Some(arg) if arg.is_positional() => NamesRun::ByWord,
        Some(_) => NamesRun::ByOption,
        None => NamesRun::Never,
    }
}

/// The task file of this directory, as `conductor run` would take it.
fn project() -> Project {
    let file = std::env::current_dir().ok().and_then(|here| taskfile::found(&here));
    let Some(file) = file else {
        let words = "There is no task file here.\n\nWrite one with `conductor init`, or have an agent write it:\n\
            conductor plan \"what is to be done\"";
        return Project { file: None, plan: None, problem: Some(words.to_owned()) };
    };
    let (plan, problem) = read(&file);
    Project { file: Some(file), plan, problem }
}

fn read(file: &Path) -> (Option<conductor_core::Plan>, Option<String>) {
    match diagnostics::check(file) {
        Ok((Some(plan), _)) => (Some(plan), None),
        Ok((None, findings)) => (None, Some(findings.text())),
        Err(error) => (None, Some(error.message().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_with_how_they_name_a_run() {
        let known = commands();
        let of = |words: &str| {
            let words: Vec<&str> = words.split(' ').collect();
            known.iter().find(|known| known.words == words).map(|known| known.names_run)
        };
        assert_eq!(of("task retry"), Some(NamesRun::ByOption));
        assert_eq!(of("pause"), Some(NamesRun::ByWord));
        assert_eq!(of("runs show"), Some(NamesRun::ByWord));
        assert_eq!(of("validate"), Some(NamesRun::Never));
        assert_eq!(of("task"), None, "it needs a verb");
        assert_eq!(of("reaper"), None, "it is hidden");
    }
}
