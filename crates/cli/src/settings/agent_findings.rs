//! Agents that a file names and that are not there: told with the place where each is named.

use std::collections::BTreeSet;

use conductor_core::file::{self, Diagnostic, Places, Severity, Source, Span};
use conductor_core::plan::{Plan, Task};
use conductor_core::schedule::review;
use conductor_core::values::suggest::did_you_mean;
use conductor_engine::agents::{self, AgentError};

use crate::settings::diagnostics::Sheet;

/// An agent that could not do a task, and why.
pub(crate) struct Absent<'p> {
    pub(crate) task: &'p Task,
    pub(crate) agent: String,
    pub(crate) error: AgentError,
}

/// Every agent of a plan that is not there, each once, with the first task that names it.
pub(crate) fn absent(plan: &Plan) -> Vec<Absent<'_>> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for task in plan.tasks.iter().filter(|task| task.race().is_none()) {
        let reviewer = task.review.as_deref().map(|review| review::reviewer(task, review));
        let own = task.agents().map(|agent| (agent.to_owned(), task));
        let others = reviewer.iter().map(|reviewer| (reviewer.agent_name().to_owned(), reviewer));
        for (agent, of) in own.chain(others) {
            if seen.insert(agent.clone())
                && let Err(error) = agents::check_alone(plan, of, &agent)
            {
                found.push(Absent { task, agent, error });
            }
        }
    }
    found
}

/// What to do about an agent that is not there.
pub(crate) fn remedy(plan: &Plan, error: &AgentError) -> String {
    match error {
        AgentError::Unknown(name) => near(plan, name).map_or_else(
            || {
                format!(
                    "install it as conductor-agent-{name}, describe it in config: agents, or name one of {}",
                    agents::known_names(plan).join(", ")
                )
            },
            |meant| format!("did you mean '{meant}'?"),
        ),
        AgentError::Missing { remedy, .. } => (*remedy).to_owned(),
        _ => "see `conductor agents list`".to_owned(),
    }
}

/// The agent that was probably meant.
pub(crate) fn near(plan: &Plan, name: &str) -> Option<String> {
    let names = agents::known_names(plan);
    did_you_mean(name, names.iter().map(String::as_str)).map(str::to_owned)
}

/// What is wrong, without what to do about it.
pub(crate) fn told(error: &AgentError) -> String {
    match error {
        AgentError::Unknown(name) => format!("there is no agent '{name}'"),
        AgentError::Missing { program, .. } => format!("{program} is not installed"),
        other => other.to_string(),
    }
}

/// Misspelt names, as errors: nothing could ever be started by them.
pub(crate) fn misspelt(plan: &Plan, file: &mut Sheet, configs: &mut [Sheet]) -> bool {
    let is_misspelt = |absent: &Absent<'_>| match &absent.error {
        AgentError::Unknown(name) => near(plan, name).is_some(),
        _ => false,
    };
    let found: Vec<Absent<'_>> = absent(plan).into_iter().filter(is_misspelt).collect();
    for absent in &found {
        report(plan, absent, Severity::Error, file, configs);
    }
    let told_of = report_told_of(plan, Severity::Error, file, configs);
    !found.is_empty() || told_of
}

/// All others that are not there, as warnings: on another machine they may be.
pub(crate) fn missing(plan: &Plan, file: &mut Sheet, configs: &mut [Sheet]) {
    for absent in absent(plan) {
        // Rules that an agent cannot keep are reported already.
        if !matches!(absent.error, AgentError::Unkept { .. }) {
            report(plan, &absent, Severity::Warning, file, configs);
        }
    }
    report_told_of(plan, Severity::Warning, file, configs);
}

/// Agents that limits or tiers of models are for and that are unknown: as errors those that are misspelt, as warnings the
/// others. Whether there were any.
fn report_told_of(plan: &Plan, severity: Severity, file: &mut Sheet, configs: &mut [Sheet]) -> bool {
    let (task, mut any) = (agents::some_prompt(), false);
    for sheet in configs.iter_mut().chain([file]) {
        let places = sheet.source.as_ref().map(file::places).unwrap_or_default();
        for (name, span) in places.told_of {
            let Err(error @ AgentError::Unknown(_)) = agents::check_alone(plan, &task, &name) else {
                continue;
            };
            if near(plan, &name).is_some() != (severity == Severity::Error) {
                continue;
            }
            any = true;
            sheet.found.push(Diagnostic {
                severity,
                code: "unknown-agent",
                message: told(&error),
                span,
                label: None,
                related: Vec::new(),
                help: Some(remedy(plan, &error)),
            });
        }
    }
    any
}

/// In the file that names it; where none does, at the task.
fn report(plan: &Plan, absent: &Absent<'_>, severity: Severity, file: &mut Sheet, configs: &mut [Sheet]) {
    let of = |sheet: &Sheet| sheet.source.as_ref().map(file::places).unwrap_or_default();
    let in_file: Places = of(file);
    let here = in_file.agent(&absent.agent);
    let elsewhere = || {
        let found = configs.iter().enumerate();
        found.filter_map(|(at, config)| Some((at, of(config).agent(&absent.agent)?))).next()
    };
    let (sheet, span) = match here {
        Some(span) => (file, span),
        None => match elsewhere() {
            Some((at, span)) => (&mut configs[at], span),
            None => {
                let id = absent.task.entrant_of().unwrap_or(&absent.task.id);
                (file, in_file.tasks.get(id.as_str()).copied().unwrap_or_default())
            }
        },
    };
    sheet.found.push(Diagnostic {
        severity,
        code: "unknown-agent",
        message: format!("task '{}': {}", absent.task.id, told(&absent.error)),
        span,
        label: None,
        related: Vec::new(),
        help: Some(remedy(plan, &absent.error)),
    });
}

/// Agents that a config file names and that are not there, with the line of each. Specialists are none.
pub(crate) fn of_config(
    plan: &Plan,
    source: &Source,
    is_specialist: impl Fn(&str) -> bool,
) -> Vec<(usize, AgentError)> {
    let mut seen = BTreeSet::new();
    let named = file::places(source).agents.into_iter();
    let named = named.filter(|(name, _)| seen.insert(name.clone()) && !is_specialist(name));
    let task = agents::some_prompt();
    let line = |span: Span| source.position(span.start).0;
    named
        .filter_map(|(name, span)| Some((line(span), agents::check_alone(plan, &task, &name).err()?)))
        .collect()
}
