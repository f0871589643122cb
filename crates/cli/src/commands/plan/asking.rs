//! A planner engaged by what was typed, and what became of it.

use std::path::PathBuf;

use clap::ValueEnum as _;
use conductor_core::file::{self, Source};
use conductor_core::plan::{Plan, Sandbox};
use conductor_core::planner::{Draft, Head, task_file, words::Request};
use conductor_core::run::event::{self, FailureClass, Usage};
use conductor_core::values::counted::counted;
use conductor_core::values::units::Usd;
use conductor_engine::host::home::Home;
use conductor_engine::planner::{Allowance, MOST_TOKENS, Planned, Planner, PlannerError, describe};
use conductor_engine::runs::engine;
use conductor_engine::worker::Stop;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::existing::PlannedAgent;
use super::requirements::Requirements;
use crate::args::{self, Planning};
use crate::commands::{block_on, reaper, talk};
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::settings::{config, trust, variables};

/// What a planner came to.
pub(crate) struct Answered {
    pub(crate) planned: Planned,
    pub(crate) agent: String,
    pub(crate) model: Option<String>,
    pub(crate) used: Usage,
    /// The same, to be accounted for.
    pub(crate) planning: event::Planning,
    /// Where everything it said is kept.
    pub(crate) folder: PathBuf,
}

impl Answered {
    /// Nothing where a part of it has no known price.
    pub(crate) fn cost(&self) -> Option<Usd> {
        (self.used.unpriced == 0).then_some(self.used.cost)
    }

    /// The task file of a draft of its making.
    pub(crate) fn file(&self, draft: &Draft, requirements: &str, agent_choice: &PlannedAgent) -> String {
        let head = Head {
            requirements,
            planner: &self.agent,
            model: self.model.as_deref(),
            cost: self.cost(),
            agent: agent_choice.agent.as_deref(),
            agent_model: agent_choice.model.as_deref(),
            analysis: self.planned.analysis.as_ref(),
        };
        task_file(draft, &head)
    }
}

/// Asks for a plan. What goes on is told on standard error.
pub(crate) fn ask(
    args: &Planning,
    requirements: &Requirements,
    existing: Option<&Draft>,
    max_cost: Usd,
    quiet: bool,
) -> Result<Answered, CliError> {
    trust::demand(&std::env::current_dir()?)?;
    let home = Home::open()?;
    let plan = one_task(args.agent.as_ref(), args.model.as_ref())?;
    let id = engine::new_id();
    let allowance = Allowance { timeout: args.timeout, max_cost };
    let reaper = reaper::command_in(home.root(), &id);
    let mut planner =
        Planner::new(&home, plan, id, allowance, reaper).map_err(|error| cli_error(&error, None))?;
    let repository = describe(&std::env::current_dir()?, MOST_TOKENS);
    let request = Request {
        requirements: &requirements.text,
        repository: &repository,
        budget: args.budget,
        bounds: requirements.bounds,
        existing,
    };
    let planned = block_on(async {
        let signalled = listen(planner.stopper());
        let progress = |words: &str| {
            if !quiet {
                talk(one_line(words));
            }
        };
        let planned = planner.plan(&request, progress).await;
        Ok((planned, *signalled.borrow()))
    });
    planner.notices().into_iter().for_each(talk);
    match planned? {
        (_, Some(exit)) => Err(CliError::new(exit, "planning was stopped; nothing was written")),
        (Err(error), None) => Err(cli_error(&error, Some(&planner))),
        (Ok(planned), None) => Ok(Answered {
            planned,
            agent: planner.agent(),
            model: planner.model(),
            used: planner.used(),
            planning: planner.planning(),
            folder: planner.folder().to_owned(),
        }),
    }
}

/// How `run` would confine agents, where a variable says so: a planner is one.
fn sandbox_of_environment() -> Result<Option<Sandbox>, CliError> {
    const NAME: &str = "CONDUCTOR_SANDBOX";
    let Some(word) = variables::standard(NAME) else { return Ok(None) };
    let mode = args::Sandbox::from_str(&word, false).map_err(|_| {
        CliError::new(Exit::Usage, format!("{NAME} is '{word}'")).help("set it to require, prefer or off")
    })?;
    Ok(Some(Sandbox::of(mode.into())))
}

/// The planner's own task, for the agent that the config files and the arguments name.
pub(crate) fn one_task(agent: Option<&String>, model: Option<&String>) -> Result<Plan, CliError> {
    let mut task = serde_json::json!({ "id": "plan", "prompt": "Plan it." });
    if let Some(agent) = agent {
        task["agent"] = agent.as_str().into();
    }
    if let Some(model) = model {
        task["model"] = model.as_str().into();
    }
    let text = serde_json::json!({ "tasks": [task] }).to_string();
    let layers: Vec<_> = config::good()?.into_iter().filter_map(|config| config.layer).collect();
    let wrong = |found: &str| CliError::new(Exit::Usage, format!("the planner cannot be chosen so: {found}"));
    let source = Source::new("planner", text.into_bytes()).map_err(|found| wrong(&found.message))?;
    let loaded = file::load_over(&source, &layers, &[]);
    let first =
        |found: Vec<file::Diagnostic>| found.first().map(|one| one.message.clone()).unwrap_or_default();
    let mut plan = loaded.map(|loaded| loaded.plan).map_err(|found| wrong(&first(found)))?;
    let sandbox = sandbox_of_environment()?;
    // What was typed comes before a variable.
    for task in &mut plan.tasks {
        task.sandbox = sandbox.clone().map(Box::new).or(task.sandbox.take());
        task.agent = agent.cloned().or(task.agent.take());
        task.model = model.cloned().or(task.model.take());
    }
    Ok(plan)
}

/// The first signal stops the planner, the second kills it.
pub(crate) fn listen(stop: watch::Sender<Stop>) -> watch::Receiver<Option<Exit>> {
    let (told, heard) = watch::channel(None);
    if let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    {
        tokio::spawn(async move {
            loop {
                let exit = tokio::select! {
                    _ = interrupt.recv() => Exit::Interrupted,
                    _ = terminate.recv() => Exit::Terminated,
                };
                let again = told.send_replace(Some(exit)).is_some();
                stop.send_replace(if again { Stop::Kill } else { Stop::Ask });
            }
        });
    }
    heard
}

/// With what can be done about it, and where the answers are.
pub(crate) fn cli_error(error: &PlannerError, planner: Option<&Planner>) -> CliError {
    let (exit, remedy) = match error {
        PlannerError::Agent(_) => {
            (Exit::AgentMissing, "see `conductor agents list`, or name another: --agent")
        }
        PlannerError::TimedOut(_) => (Exit::Unexpected, "give it more time: --timeout"),
        PlannerError::TooCostly(_) => (Exit::BudgetReached, "allow more: --max-cost"),
        PlannerError::Stopped => (Exit::Interrupted, "ask again"),
        PlannerError::Failed(failure) if failure.class == FailureClass::Unauthorized => {
            (Exit::AgentMissing, "log in, see `conductor agents list`, or name another: --agent")
        }
        PlannerError::Failed(failure) if failure.class.is_agents_own() => {
            (Exit::Unexpected, "see `conductor agents test`, or name another: --agent")
        }
        PlannerError::Failed(_) | PlannerError::Asked(_) => {
            (Exit::Unexpected, "ask again, or name another: --agent")
        }
        PlannerError::Refused(_) => {
            (Exit::InvalidFile, "ask again, say more of what is to be done, or --agent another")
        }
        PlannerError::Unkept(_) => {
            (Exit::Unexpected, "set CONDUCTOR_HOME to a directory that can be written")
        }
    };
    let cli_error = CliError::new(exit, one_line(&format!("{error}; nothing was written")));
    match planner {
        None => cli_error.help(remedy),
        Some(planner) => {
            let cost = spent(planner.used());
            cli_error
                .help(format!("{remedy}; what it said is in {}; it used {cost}", planner.folder().display()))
        }
    }
}

/// What was used, for people.
pub(crate) fn spent(used: Usage) -> String {
    format!("{}, {}", counted(used.tokens, "token"), conductor_core::run::costs::words(used))
}
