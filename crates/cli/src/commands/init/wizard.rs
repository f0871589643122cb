//! `conductor init --wizard`: five questions on a terminal. Every answer may be empty, and then stays what was found.

use std::io::BufRead;

use conductor_core::values::suggest::did_you_mean;
use conductor_engine::agents::Entry;

use super::Choice;
use crate::commands::talk;
use crate::error::CliError;
use crate::output::writing;

pub(super) fn ask(mut choice: Choice, agents: &[Entry], from: &mut impl BufRead) -> Result<Choice, CliError> {
    ask_agent(&mut choice, agents, from)?;
    ask_checks(&mut choice, from)?;
    let parallel = format!("How many tasks at once? [{}] ", choice.parallel);
    let is_possible = |number: &u32| (1..=100_000).contains(number);
    let parallel =
        until(from, &parallel, "a number from 1 on", |said| said.parse().ok().filter(is_possible))?;
    choice.parallel = parallel.unwrap_or(choice.parallel);
    let cap = "How many dollars may a run cost? [no cap] ";
    let is_sum = |dollars: &f64| dollars.is_finite() && *dollars > 0.0;
    choice.max_cost = until(from, cap, "a sum in dollars, as 5 or 0.50", |said| {
        said.trim_start_matches('$').parse().ok().filter(is_sum)
    })?;
    let prompt = writing::ask(from, "What is to be done first? [an example] ")?;
    choice.prompt = Some(prompt).filter(|prompt| !prompt.is_empty());
    Ok(choice)
}

/// One that is known. What is not installed does nothing: then the tasks are commands until it is.
fn ask_agent(choice: &mut Choice, agents: &[Entry], from: &mut impl BufRead) -> Result<(), CliError> {
    let proposed = if choice.no_agent { "none is installed" } else { choice.agent.as_str() };
    let question = format!("Which agent does the work? [{proposed}] ");
    loop {
        let name = writing::ask(from, &question)?;
        if name.is_empty() {
            return Ok(());
        }
        if let Some(entry) = agents.iter().find(|entry| entry.name == name) {
            choice.no_agent = entry.path.is_none();
            (choice.agent, choice.is_named) = (name, true);
            return Ok(());
        }
        let names: Vec<&str> = agents.iter().map(|entry| entry.name.as_str()).collect();
        let meant = did_you_mean(&name, names.iter().copied());
        let meant = meant.map(|meant| format!(", did you mean {meant}?")).unwrap_or_default();
        talk(format!("there is no agent '{name}'{meant} (known: {})", names.join(", ")));
    }
}

fn ask_checks(choice: &mut Choice, from: &mut impl BufRead) -> Result<(), CliError> {
    let found = match choice.verify.is_empty() {
        true => "none".to_owned(),
        false => choice.verify.join(" && "),
    };
    let verify = writing::ask(from, &format!("Which command checks the work? [{found}] "))?;
    if !verify.is_empty() {
        choice.verify = if verify == "none" { Vec::new() } else { vec![verify] };
    }
    Ok(())
}

/// Asks again until the answer can be used; nothing where it is empty.
fn until<T>(
    from: &mut impl BufRead,
    question: &str,
    wanted: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, CliError> {
    loop {
        let said = writing::ask(from, question)?;
        if said.is_empty() {
            return Ok(None);
        }
        match read(&said) {
            Some(value) => return Ok(Some(value)),
            None => talk(wanted),
        }
    }
}

#[cfg(test)]
mod tests {
    use conductor_engine::agents::roster;

    use super::super::tests::found;
    use super::*;

    fn asked(answers: &str) -> Choice {
        let mut agents = roster(&conductor_core::plan::Plan::default());
        for entry in &mut agents {
            entry.path = (entry.name == "gemini").then(|| "/bin/gemini".into());
        }
        ask(found(), &agents, &mut answers.as_bytes()).unwrap()
    }

    #[test]
    fn answers_count_and_silence_keeps_what_was_found() {
        assert_eq!(asked("\n\n\n\n\n"), found());
        assert_eq!(asked(""), found());
        let answered = asked("gemini\nmake check\nmany\n5\nmuch\n-1\n$2.5\nDo it\n");
        assert_eq!((answered.agent.as_str(), answered.no_agent, answered.parallel), ("gemini", false, 5));
        assert_eq!(answered.verify, ["make check"]);
        assert_eq!((answered.max_cost, answered.prompt.as_deref()), (Some(2.5), Some("Do it")));
        assert!(asked("\nnone\n\n\n\n").verify.is_empty());
    }

    #[test]
    fn an_agent_that_is_not_known_is_asked_for_again_and_one_that_is_not_installed_does_no_tasks() {
        let answered = asked("gemmini\ngemini\n");
        assert_eq!((answered.agent.as_str(), answered.no_agent), ("gemini", false));
        let answered = asked("claude\n");
        assert_eq!((answered.agent.as_str(), answered.no_agent), ("claude", true));
        assert_eq!(answered.missing(), "claude is not installed here");
    }
}
