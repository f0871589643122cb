//! Commands that a model proposed are run only where the project uses them already or the user agrees. So it is with
//! settings that start, hand out or allow something.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use conductor_core::plan::{Demand, Plan};
use conductor_core::planner::Draft;
use conductor_engine::planner::{is_settled, new_commands};

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

/// What a plan starts, hands out or allows that is new to the project in a directory. What the user's own configs say for
/// every task is not, nor what is in `before`.
pub(crate) fn of_plan(
    plan: &Plan,
    before: Option<&Plan>,
    directory: &Path,
    file: Option<&Path>,
) -> Result<Vec<String>, CliError> {
    let mut demands = plan.demands();
    for known in before.map(Plan::demands).into_iter().chain([of_configs(directory)?]) {
        demands.retain(|demand| !known.contains(demand));
    }
    let is_settled = file.is_some_and(|file| is_settled(directory, file));
    let (mut commands, mut settings) = (Vec::new(), Vec::new());
    for demand in demands {
        match demand {
            Demand::Command(command) => commands.push(command),
            setting if !is_settled => settings.push(setting.to_string()),
            _ => {}
        }
    }
    let mut new = new_commands(directory, &commands, file);
    new.extend(settings);
    Ok(new)
}

/// What any task of this directory gets from the user's configs, and from the repository's where that is trusted.
fn of_configs(directory: &Path) -> Result<BTreeSet<Demand>, CliError> {
    let plan = diagnostics::plan_of_one_prompt(directory)?;
    Ok(plan.map(|plan| plan.demands()).unwrap_or_default())
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
    let demands = if number == 1 { "a command or a setting" } else { "commands or settings" };
    let message = format!(
        "{} has {demands} that this project does not use yet, and a person has to allow that; nothing was started",
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
