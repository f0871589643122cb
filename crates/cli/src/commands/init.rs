//! `conductor init`: a task file and a config to begin with, by what the project is.

use std::io::{self, BufRead};
use std::path::Path;

use conductor_core::plan::Plan;
use conductor_engine::agents::{Entry, Kind, Login, roster};
use conductor_engine::{gates, subagents};
use serde_json::json;

use super::{answer_either, talk};
use crate::args;
use crate::fault::{Exit, Fault};
use crate::writing;

/// What is written, as found or as answered.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Choice {
    agent: String,
    /// Nobody is installed: the agent is only the usual one.
    nobody: bool,
    verify: Vec<String>,
    parallel: u32,
    /// The words of a first task, where there are any.
    prompt: Option<String>,
}

pub(crate) fn run(args: &args::Init) -> Result<Exit, Fault> {
    let here = std::env::current_dir()?;
    let root = subagents::root(&here);
    let (tasks, config) = (here.join("tasks.yaml"), root.join(".conductor/config.yaml"));
    if args.wizard && !writing::attended() {
        return Err(Fault::new(Exit::Usage, "there is nobody to ask: --wizard needs a terminal")
            .help("without --wizard everything is chosen by what the project is"));
    }
    writing::may_write(&[&tasks, &config], args.force)?;
    let found = look(&root);
    let choice = match args.wizard {
        true => ask(found, &mut io::stdin().lock())?,
        false => found,
    };
    writing::write(&config, &config_text(&choice))?;
    writing::write(&tasks, &tasks_text(&choice))?;
    if choice.nobody {
        talk(format!("no agent is installed; {} is named, see `conductor agents list`", choice.agent));
    }
    if choice.verify.is_empty() {
        talk("nothing here tells how this project is tested; name commands under `verify:`");
    }
    let shown = |path: &Path| path.strip_prefix(&here).unwrap_or(path).display().to_string();
    let words = format!(
        "wrote {} and {}\nnext: write your tasks, then\n  conductor validate tasks.yaml\n  conductor rehearse tasks.yaml\n  conductor run tasks.yaml",
        shown(&tasks),
        shown(&config)
    );
    let value = json!({
        "written": [shown(&tasks), shown(&config)], "agent": choice.agent, "installed": !choice.nobody,
        "verify": choice.verify, "parallel": choice.parallel,
    });
    answer_either(args.json, &words, "conductor.init/1", value)?;
    Ok(Exit::Done)
}

fn look(root: &Path) -> Choice {
    let agents = roster(&Plan::default());
    let installed = || agents.iter().filter(|entry| entry.kind == Kind::BuiltIn && entry.path.is_some());
    let best = installed().find(|entry| entry.login == Login::Yes).or_else(|| installed().next());
    let name = |entry: &Entry| entry.name.clone();
    Choice {
        agent: best.map_or_else(|| "claude".to_owned(), name),
        nobody: best.is_none(),
        verify: gates::detect(root),
        parallel: 3,
        prompt: None,
    }
}

/// Every answer may be empty, and then stays what was found.
fn ask(mut choice: Choice, from: &mut impl BufRead) -> Result<Choice, Fault> {
    let agent = writing::ask(from, &format!("Which agent does the work? [{}] ", choice.agent))?;
    if !agent.is_empty() {
        (choice.agent, choice.nobody) = (agent, false);
    }
    let found = match choice.verify.is_empty() {
        true => "none".to_owned(),
        false => choice.verify.join(" && "),
    };
    let verify = writing::ask(from, &format!("Which command checks the work? [{found}] "))?;
    if !verify.is_empty() {
        choice.verify = if verify == "none" { Vec::new() } else { vec![verify] };
    }
    loop {
        let parallel = writing::ask(from, &format!("How many tasks at once? [{}] ", choice.parallel))?;
        match parallel.parse::<u32>() {
            _ if parallel.is_empty() => break,
            Ok(number) if (1..=100_000).contains(&number) => {
                choice.parallel = number;
                break;
            }
            _ => talk("a number from 1 on"),
        }
    }
    let prompt = writing::ask(from, "What is to be done first? [an example] ")?;
    choice.prompt = Some(prompt).filter(|prompt| !prompt.is_empty());
    Ok(choice)
}

/// A text as JSON writes it, which every YAML reader takes as that text.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn config_text(choice: &Choice) -> String {
    let verify = match choice.verify.as_slice() {
        [] => "# verify: [make test]\n".to_owned(),
        commands => {
            let lines = commands.iter().map(|command| format!("  - {}\n", quoted(command)));
            format!("verify:\n{}", lines.collect::<String>())
        }
    };
    let missing = if choice.nobody { " # not installed here; see `conductor agents list`" } else { "" };
    format!(
        "# Defaults for every task file of this repository. Task files come before it, ~/.conductor/config.yaml comes after.
# What counts in the end: conductor config show --origin. For editors: conductor schema --config

# Who does prompts: claude, codex, gemini, opencode, or one of your own.
agent: {agent}{missing}

# How many tasks run at once.
parallel: {parallel}

# Commands that must succeed on a task's work before it lands, run by conductor itself.
{verify}
# How often failing checks go back to the agent.
# fix_rounds: 2

# What a run may use in all.
# limits:
#   max_cost: 5.00
#   max_time: 2h
",
        agent = quoted(&choice.agent),
        parallel = choice.parallel,
    )
}

fn tasks_text(choice: &Choice) -> String {
    let prompt = choice.prompt.as_deref().unwrap_or(
        "Read this project. In README.md, write or correct the section that says how it is built and tested; change nothing else.",
    );
    let id = if choice.prompt.is_some() { "first" } else { "readme" };
    format!(
        "# What is to be done. Every key is explained by `conductor schema`, every mistake by `conductor validate tasks.yaml`.
tasks:
  - id: {id}
    prompt: {prompt}
    # files: [\"README.md\"]          # what it will touch; tasks whose files meet do not run side by side
    # max_cost: 1.00

  # A task may be a command. This one looks at what has landed when the first is done.
  - id: look
    run: git log --oneline -5
    dependencies: [{id}]

  # - id: tests
  #   prompt: Cover the parser's error paths with tests.
  #   estimate: 10m                 # for `conductor rehearse`, where no run has told yet
",
        prompt = quoted(prompt),
    )
}

#[cfg(test)]
mod tests {
    use conductor_core::spec::{Source, layer, load};

    use super::*;

    fn found() -> Choice {
        Choice {
            agent: "codex".to_owned(),
            nobody: false,
            verify: vec!["cargo test".to_owned(), "npm test -- --run: \"x\"".to_owned()],
            parallel: 3,
            prompt: None,
        }
    }

    fn source(text: &str) -> Source {
        Source::new("t", text.into()).unwrap()
    }

    #[test]
    fn what_is_written_can_be_read() {
        let awkward = Choice { prompt: Some("Fix: \"it\" # now\\".to_owned()), ..found() };
        let bare = Choice { nobody: true, verify: Vec::new(), ..found() };
        for choice in [found(), awkward, bare] {
            let (layer, said) = layer(&source(&config_text(&choice))).unwrap();
            assert_eq!(said, []);
            let told =
                |key: &str| layer.written().iter().find(|one| one.key == key).map(|one| one.value.clone());
            assert_eq!(told("agent").unwrap(), "codex");
            assert_eq!(told("verify"), (!choice.verify.is_empty()).then(|| choice.verify.clone().into()));
            let plan = load(&source(&tasks_text(&choice))).unwrap().plan;
            let conductor_core::plan::Work::Prompt(words) = &plan.tasks[0].work else { panic!() };
            assert!(choice.prompt.is_none_or(|prompt| *words == prompt));
        }
    }

    #[test]
    fn answers_count_and_silence_keeps_what_was_found() {
        let asked = |answers: &str| ask(found(), &mut answers.as_bytes()).unwrap();
        assert_eq!(asked("\n\n\n\n"), found());
        assert_eq!(asked(""), found());
        let answered = asked("gemini\nmake check\nmany\n5\nDo it\n");
        assert_eq!((answered.agent.as_str(), answered.parallel), ("gemini", 5));
        assert_eq!(answered.verify, ["make check"]);
        assert_eq!(answered.prompt.as_deref(), Some("Do it"));
        assert!(asked("\nnone\n\n\n").verify.is_empty());
    }
}
