//! `conductor init`: a task file and a config to begin with, by what the project is.

mod wizard;

use std::io;
use std::path::Path;

use conductor_core::file::{config_schema, schema};
use conductor_engine::agents::subagents;
use conductor_engine::agents::{Entry, Kind, Login, roster};
use conductor_engine::worker::gates;
use serde_json::json;

use super::{answer_either, talk};
use crate::args;
use crate::error::{CliError, Exit};
use crate::output::writing;
use crate::settings::{diagnostics, trust};

/// What is written, as found or as answered.
#[derive(Debug, Clone, PartialEq)]
struct Choice {
    agent: String,
    /// None is installed: the agent is only the usual one, and the file's tasks are commands.
    no_agent: bool,
    /// The user named the agent.
    is_named: bool,
    /// Whether the project is a git repository.
    in_git: bool,
    verify: Vec<String>,
    parallel: u32,
    /// In dollars, for a run.
    max_cost: Option<f64>,
    /// The words of a first task, where there are any.
    prompt: Option<String>,
}

impl Choice {
    /// Why the tasks are commands.
    fn missing(&self) -> String {
        match self.is_named {
            true => format!("{} is not installed here", self.agent),
            false => "no agent is installed".to_owned(),
        }
    }
}

/// Beside the config, so that an editor finds them without a network.
const TASKS_SCHEMA: &str = ".conductor/tasks.schema.json";
const CONFIG_SCHEMA: &str = "config.schema.json";

/// What to do where a file is there already.
const INSTEAD: &str = "keep it, and make a further task file: conductor template new NAME -o OTHER.yaml; or write over it with --force";

pub(crate) fn run(args: &args::Init) -> Result<Exit, CliError> {
    let here = std::env::current_dir()?;
    let root = subagents::root(&here);
    let (tasks, config) = (here.join("tasks.yaml"), root.join(".conductor/config.yaml"));
    if args.wizard && !writing::attended() {
        return Err(CliError::new(Exit::Usage, "--wizard needs a terminal to ask its questions on")
            .help("without --wizard everything is chosen by what the project is"));
    }
    writing::may_write(&[&tasks, &config], args.force, INSTEAD)?;
    let agents = roster(&diagnostics::plan_of_good_configs());
    let found = look(&root, &agents);
    let choice = match args.wizard {
        true => wizard::ask(found, &agents, &mut io::stdin().lock())?,
        false => found,
    };
    writing::write(&root.join(TASKS_SCHEMA), &json(&schema()))?;
    writing::write(&config.with_file_name(CONFIG_SCHEMA), &json(&config_schema()))?;
    writing::write(&config, &config_text(&choice))?;
    trust::trust_config(&root);
    writing::write(&tasks, &tasks_text(&choice, &up_to(&root, &here)))?;
    if choice.no_agent {
        talk(format!("{}, so the tasks are commands; {HOW_TO_ADD}", choice.missing()));
    }
    if choice.verify.is_empty() {
        talk("nothing here tells how this project is tested; name commands under `verify:`");
    }
    let shown = |path: &Path| path.strip_prefix(&here).unwrap_or(path).display().to_string();
    let words = format!(
        "wrote {} and {}, and schemas for editors beside the latter\nnext: write your tasks, then\n  conductor validate tasks.yaml\n  conductor rehearse tasks.yaml\n  conductor run tasks.yaml",
        shown(&tasks),
        shown(&config)
    );
    let value = json!({
        "written": [shown(&tasks), shown(&config)], "agent": choice.agent, "installed": !choice.no_agent,
        "verify": choice.verify, "parallel": choice.parallel,
    });
    answer_either(args.json, &words, "conductor.init/1", value)?;
    Ok(Exit::Done)
}

const HOW_TO_ADD: &str = "to have an agent work, install claude, codex, gemini or opencode (`conductor agents list` \
                          shows what is there) and write tasks with a prompt";

fn json(schema: &serde_json::Value) -> String {
    format!("{schema}\n")
}

/// The way from a directory up to the root it is in, as a path of a file there begins with it.
fn up_to(root: &Path, here: &Path) -> String {
    here.strip_prefix(root).map(|below| "../".repeat(below.components().count())).unwrap_or_default()
}

fn look(root: &Path, agents: &[Entry]) -> Choice {
    let installed = || agents.iter().filter(|entry| entry.kind == Kind::BuiltIn && entry.path.is_some());
    let own = || agents.iter().find(|entry| entry.kind == Kind::Plugin && entry.path.is_some());
    let best =
        installed().find(|entry| entry.login == Login::Yes).or_else(|| installed().next()).or_else(own);
    let name = |entry: &Entry| entry.name.clone();
    Choice {
        agent: best.map_or_else(|| "claude".to_owned(), name),
        no_agent: best.is_none(),
        is_named: false,
        in_git: root.join(".git").exists(),
        verify: gates::detect(root),
        parallel: 3,
        max_cost: None,
        prompt: None,
    }
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
    let agent = match choice.no_agent {
        true => {
            format!(
                "# agent: {}   # {}; see `conductor agents list`",
                quoted(&choice.agent),
                choice.missing()
            )
        }
        false => format!("agent: {}", quoted(&choice.agent)),
    };
    let limits = match choice.max_cost {
        Some(dollars) => format!("limits:\n  max_cost: {dollars}\n#  max_time: 2h\n"),
        None => "# limits:\n#   max_cost: 5.00\n#   max_time: 2h\n".to_owned(),
    };
    format!(
        "# yaml-language-server: $schema={CONFIG_SCHEMA}
# Defaults for every task file of this repository. Task files override it; it overrides ~/.conductor/config.yaml.
# To see every setting and where it comes from: conductor config show --origin. For editors: conductor schema --config

# Which agent does prompts: claude, codex, gemini, opencode, or one of your own.
{agent}

# How many tasks run at once.
parallel: {parallel}

# Commands that must succeed on a task's work before it lands, run by conductor itself.
{verify}
# How often failing checks go back to the agent.
# fix_rounds: 2

# What a run may use in all.
{limits}",
        parallel = choice.parallel,
    )
}

/// `up` leads to the root of the repository.
fn tasks_text(choice: &Choice, up: &str) -> String {
    let head = format!(
        "# yaml-language-server: $schema={up}{TASKS_SCHEMA}
# What is to be done. Every key is explained by `conductor schema`, every mistake by `conductor validate tasks.yaml`.
"
    );
    match choice.no_agent {
        true => head + &commands_text(choice),
        false => head + &prompts_text(choice),
    }
}

const README: &str = "Read this project. In README.md, write or correct the section that says how it is built and tested; change nothing else.";

/// Tasks that run without an agent, and how one is added.
fn commands_text(choice: &Choice) -> String {
    let second = if choice.in_git { "git log --oneline -5" } else { "date" };
    let prompt = quoted(choice.prompt.as_deref().unwrap_or(README));
    let missing = choice.missing();
    format!(
        "# {missing}, so these tasks are commands.
tasks:
  - id: files
    run: ls
    verify: []                      # it changes nothing, so there is nothing to check

  - id: look
    run: {second}
    verify: []
    dependencies: [files]

  # Work for an agent: install claude, codex, gemini or opencode, name it as `agent:` in .conductor/config.yaml, and
  # take away the marks before these lines.
  # - id: readme
  #   prompt: {prompt}
"
    )
}

fn prompts_text(choice: &Choice) -> String {
    let prompt = choice.prompt.as_deref().unwrap_or(README);
    let id = if choice.prompt.is_some() { "first" } else { "readme" };
    format!(
        "tasks:
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
    use conductor_core::file::{Source, layer, load};

    use super::*;

    pub(super) fn found() -> Choice {
        Choice {
            agent: "codex".to_owned(),
            no_agent: false,
            is_named: false,
            in_git: true,
            verify: vec!["cargo test".to_owned(), "npm test -- --run: \"x\"".to_owned()],
            parallel: 3,
            max_cost: None,
            prompt: None,
        }
    }

    fn source(text: &str) -> Source {
        Source::new("t", text.into()).unwrap()
    }

    #[test]
    fn what_is_written_can_be_read() {
        let awkward = Choice { prompt: Some("Fix: \"it\" # now\\".to_owned()), ..found() };
        let bare = Choice { verify: Vec::new(), ..found() };
        for choice in [found(), awkward, bare] {
            let (layer, said) = layer(&source(&config_text(&choice))).unwrap();
            assert_eq!(said, []);
            let told =
                |key: &str| layer.written().iter().find(|one| one.key == key).map(|one| one.value.clone());
            assert_eq!(told("agent").unwrap(), "codex");
            assert_eq!(told("verify"), (!choice.verify.is_empty()).then(|| choice.verify.clone().into()));
            let plan = load(&source(&tasks_text(&choice, ""))).unwrap().plan;
            let conductor_core::plan::Work::Prompt(words) = &plan.tasks[0].work else { panic!() };
            assert!(choice.prompt.is_none_or(|prompt| *words == prompt));
        }
    }

    #[test]
    fn without_an_agent_the_tasks_are_commands() {
        for in_git in [true, false] {
            let choice = Choice { no_agent: true, in_git, prompt: Some("Fix: \"it\"".to_owned()), ..found() };
            let (layer, said) = layer(&source(&config_text(&choice))).unwrap();
            assert_eq!(said, []);
            assert!(layer.written().iter().all(|one| one.key != "agent"));
            let text = tasks_text(&choice, "../");
            let plan = load(&source(&text)).unwrap().plan;
            assert!(plan.tasks.iter().all(|task| matches!(task.work, conductor_core::plan::Work::Run(_))));
            assert!(text.starts_with("# yaml-language-server: $schema=../.conductor/tasks.schema.json\n"));
            // The example becomes a task when its marks are taken away.
            let open = text.replace("  # - id: readme\n  #   prompt:", "  - id: readme\n    prompt:");
            assert_eq!(load(&source(&open)).unwrap().plan.tasks.len(), 3, "{open}");
        }
    }
}
