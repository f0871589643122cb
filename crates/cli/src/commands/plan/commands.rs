//! Commands that a model proposed are run only where the project uses them already or the user agrees.

use std::io;
use std::path::Path;

use conductor_core::plan::{Command, Plan, Work};
use conductor_core::planner::Draft;
use conductor_engine::planner::new_commands;

use crate::commands::talk;
use crate::error::{CliError, Exit};
use crate::output::writing;
use crate::settings::diagnostics;

/// Commands of a draft that are still in the plan made of it, and new to the project. What the user wrote into the plan
/// meanwhile is not among them.
pub(crate) fn proposed(draft: &Draft, plan: &Plan, file: &Path) -> Result<Vec<String>, CliError> {
    let kept: Vec<&String> = plan.tasks.iter().flat_map(|task| &task.verify).collect();
    let all = draft.tasks.iter().flat_map(|task| &task.verify).filter(|command| kept.contains(command));
    Ok(new_commands(&std::env::current_dir()?, &all.cloned().collect::<Vec<_>>(), Some(file)))
}

/// Commands of a plan that are new to the project in a directory.
pub(crate) fn of_plan(plan: &Plan, directory: &Path, file: Option<&Path>) -> Vec<String> {
    let of_work = plan.tasks.iter().filter_map(|task| match &task.work {
        Work::Run(Command::Line(line)) => Some(line.clone()),
        Work::Run(Command::Argv(words)) => Some(words.join(" ")),
        Work::Prompt(_) => None,
    });
    let own = diagnostics::plan_of_good_configs().agents;
    let programs = plan.agents.iter().filter(|(name, program)| own.get(*name) != Some(*program));
    let programs = programs.map(|(_, program)| program.command.join(" "));
    let all: Vec<String> = plan
        .tasks
        .iter()
        .flat_map(|task| task.verify.iter().cloned())
        .chain(of_work)
        .chain(programs)
        .collect();
    new_commands(directory, &all, file)
}

/// Shows new commands and asks for leave to run them.
pub(crate) fn consent(new: &[String], allowed: bool, asks: bool, file: &Path) -> Result<(), CliError> {
    if new.is_empty() {
        return Ok(());
    }
    talk("the planner proposes commands that this project does not use yet:");
    new.iter().for_each(|command| talk(format!("  {}", escaped(command))));
    if allowed {
        return Ok(());
    }
    if !asks || !writing::attended() {
        return Err(refused(new.len(), file).help(format!(
            "look at them, then `conductor run {}`; or allow whatever is proposed with --allow-commands",
            file.display()
        )));
    }
    let answer = writing::ask(&mut io::stdin().lock(), "Run them where tasks are checked? [y/N] ")?;
    match matches!(answer.to_lowercase().as_str(), "y" | "yes") {
        true => Ok(()),
        false => Err(CliError::new(Exit::NothingToDo, "the commands were not approved; nothing was started")
            .help(format!("the plan is kept in {}", file.display()))),
    }
}

/// For a start on behalf of a model: no person may have seen the file.
pub(crate) fn refuse(new: &[String], file: &Path) -> Result<(), CliError> {
    if new.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = new.iter().map(|command| escaped(command)).collect();
    let message = format!("{}: {}", refused(new.len(), file).message(), shown.join("; "));
    Err(CliError::new(Exit::Asked, message)
        .help("show them to the user; with their leave, leave out --known-commands"))
}

fn refused(number: usize, file: &Path) -> CliError {
    let commands = if number == 1 { "a command" } else { "commands" };
    let message = format!(
        "{} has {commands} that this project does not use yet, and a person has to allow that; nothing was started",
        file.display()
    );
    CliError::new(Exit::Asked, message)
}

/// On one line, with nothing in it that a terminal would act on.
fn escaped(command: &str) -> String {
    command
        .chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}
