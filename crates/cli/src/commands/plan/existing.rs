//! A task file that is there already, as a planner would have written it.

use std::path::Path;

use conductor_core::file::{self, Source};
use conductor_core::plan::{Plan, Task, Work};
use conductor_core::planner::{Draft, Head, task_file};

use crate::args::Planning;
use crate::error::{CliError, Exit};
use crate::settings::diagnostics;

/// The agent and model that a task file names for all its tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PlannedAgent {
    pub(crate) agent: Option<String>,
    pub(crate) model: Option<String>,
}

impl PlannedAgent {
    pub(crate) fn typed(args: &Planning) -> PlannedAgent {
        PlannedAgent { agent: args.agent.clone(), model: args.model.clone() }
    }

    /// Those that were typed, and else these.
    pub(crate) fn under(self, args: &Planning) -> PlannedAgent {
        PlannedAgent { agent: args.agent.clone().or(self.agent), model: args.model.clone().or(self.model) }
    }
}

/// The plan of a file, where a planner could have written it; a file that says more would lose it.
pub(crate) fn existing(file: &Path) -> Result<(Draft, PlannedAgent), CliError> {
    diagnostics::load(file)?;
    written_in(file)?.ok_or_else(|| {
        let message =
            format!("{} says more than a planner can: commands, groups or settings", file.display());
        CliError::new(Exit::Usage, message)
            .help("change it by hand; what a planner does not know would be lost")
    })
}

/// As `existing`, for a file that is known to be good. Config files and specialists are not its own words.
pub(crate) fn written_in(file: &Path) -> Result<Option<(Draft, PlannedAgent)>, CliError> {
    let name = file.display().to_string();
    let source = Source::new(name.clone(), diagnostics::read(file, &name)?).ok();
    let plan = source.and_then(|source| file::load(&source).ok());
    Ok(plan.and_then(|loaded| as_written(&loaded.plan)))
}

/// As a draft, if nothing is lost that way.
fn as_written(plan: &Plan) -> Option<(Draft, PlannedAgent)> {
    let first = plan.tasks.first()?;
    let agent_choice = PlannedAgent { agent: first.agent.clone(), model: first.model.clone() };
    let draft = Draft::of(plan);
    let (agent, agent_model) = (agent_choice.agent.as_deref(), agent_choice.model.as_deref());
    let text = task_file(&draft, &Head { agent, agent_model, ..Head::default() });
    let again = file::load(&Source::new("again", text.into_bytes()).ok()?).ok()?.plan;
    let (before, after): (Vec<Task>, Vec<Task>) =
        (plan.tasks.iter().map(settled).collect(), again.tasks.iter().map(settled).collect());
    let rest = Plan { tasks: Vec::new(), metadata: Default::default(), ..plan.clone() };
    (before == after && rest == Plan::default()).then_some((draft, agent_choice))
}

/// A task without what is told by its words alone.
fn settled(task: &Task) -> Task {
    let work = match &task.work {
        Work::Prompt(prompt) => Work::Prompt(prompt.trim().to_owned()),
        other => other.clone(),
    };
    let mut task = Task { work, ..task.clone() };
    if let Some(preparation) = &mut task.preparation {
        preparation.learned_files.clear();
        preparation.subagent_words.clear();
    }
    task.preparation = task.preparation.filter(|preparation| **preparation != Default::default());
    task
}
