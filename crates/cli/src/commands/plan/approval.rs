//! A person looks at a plan before it is used: approves it, drops tasks, edits it.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::process::Command;

use conductor_core::planner::Draft;

use super::existing::written_in;
use super::table;
use crate::commands::talk;
use crate::console;
use crate::error::{CliError, Exit};
use crate::output::writing::{self, ask};
use crate::settings::diagnostics;

/// Asked before anything is spent.
pub(crate) fn need_person() -> Result<(), CliError> {
    match writing::attended() {
        true => Ok(()),
        false => Err(CliError::new(Exit::Usage, "--interactive needs a terminal to ask its questions on")
            .help("leave --interactive out, and look at the task file yourself")),
    }
}

/// The file as it was approved in the end, which stands at `place` meanwhile. `write` makes one of a draft.
pub(crate) fn approve(
    place: &Path,
    text: String,
    write: impl Fn(&Draft) -> String,
) -> Result<String, CliError> {
    writing::write(place, &text)?;
    loop {
        let plan = diagnostics::load(place)?;
        console::say(format_args!("\n{}", table(&plan)));
        let answer = ask(&mut io::stdin().lock(), "[a]pprove, [d]rop ID, [e]dit, [q]uit? ")?;
        let mut words = answer.split_whitespace();
        match (words.next().unwrap_or_default(), words.next()) {
            ("a" | "approve" | "y" | "yes", None) => {
                return Ok(std::fs::read_to_string(place)?);
            }
            ("d" | "drop", Some(id)) => drop_task(place, id, &write)?,
            ("e" | "edit", None) => edit(place)?,
            ("q" | "quit" | "n" | "no", None) => return Err(refused(place)),
            // The end of the input is no consent.
            ("", None) if answer.is_empty() && !writing::attended() => return Err(refused(place)),
            _ => talk("a, e, q, or d and the id of a task"),
        }
    }
}

fn refused(place: &Path) -> CliError {
    CliError::new(Exit::NothingToDo, "the plan was not approved")
        .help(format!("nothing was started; the plan is kept in {}", place.display()))
}

fn drop_task(place: &Path, id: &str, write: &impl Fn(&Draft) -> String) -> Result<(), CliError> {
    let Some((mut draft, _)) = written_in(place)? else {
        talk("this file says more than a planner can by now; drop the task in the editor");
        return Ok(());
    };
    if !draft.tasks.iter().any(|task| task.id == id) {
        talk(format!("there is no task '{id}'"));
        return Ok(());
    }
    let gone = with_dependents(&draft, id);
    if gone.len() == draft.tasks.len() {
        talk("nothing would be left; quit instead");
        return Ok(());
    }
    draft.tasks.retain(|task| !gone.contains(&task.id));
    let mut others: Vec<&str> = gone.iter().map(String::as_str).filter(|other| *other != id).collect();
    others.sort_unstable();
    match others.is_empty() {
        true => talk(format!("dropped {id}")),
        false => talk(format!("dropped {id}, and what depends on it: {}", others.join(", "))),
    }
    writing::write(place, &write(&draft))
}

fn with_dependents(draft: &Draft, id: &str) -> HashSet<String> {
    let mut gone = HashSet::from([id.to_owned()]);
    loop {
        let needs = |on: &String| gone.contains(on);
        let more = draft.tasks.iter().filter(|task| task.dependencies.iter().any(needs));
        let more: Vec<String> = more.map(|task| task.id.clone()).filter(|id| !gone.contains(id)).collect();
        if more.is_empty() {
            return gone;
        }
        gone.extend(more);
    }
}

/// Until there are no mistakes left, or the person gives up; then the file is as it was before.
fn edit(place: &Path) -> Result<(), CliError> {
    let before = std::fs::read_to_string(place)?;
    loop {
        open_editor(place)?;
        let (plan, findings) = diagnostics::check(place)?;
        findings.show();
        if plan.is_some() {
            return Ok(());
        }
        let again = ask(&mut io::stdin().lock(), "Edit it again? [Y/n] ")?;
        if matches!(again.to_lowercase().as_str(), "n" | "no") || !writing::attended() {
            talk("the plan is as it was before");
            return writing::write(place, &before);
        }
    }
}

fn open_editor(place: &Path) -> Result<(), CliError> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    // As every program does: the variable may hold options too.
    let ended = Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(place).status();
    match ended {
        Ok(status) if status.success() => {}
        Ok(_) => talk(format!("'{editor}' did not end well; set EDITOR to another")),
        Err(error) => talk(format!("'{editor}' cannot be started: {error}; set EDITOR to another")),
    }
    Ok(())
}
