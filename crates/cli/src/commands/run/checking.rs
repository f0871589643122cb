//! What has to be there before a run starts: agents for all tasks, and the plugins that check and tell.

use std::collections::BTreeSet;
use std::path::Path;

use conductor_core::confinement::confines_itself;
use conductor_core::plan::{Plan, SandboxMode, Task};
use conductor_engine::agents;
use conductor_engine::plugins;
use conductor_engine::process::confinement::{self, Tier};

use super::talk;
use crate::error::{CliError, Exit};
use crate::settings::{check_findings, plugin_findings};

/// Every task needs an agent that can do it, before anything starts. Returns the agents not installed.
pub(super) fn check_agents(plan: &Plan) -> Result<BTreeSet<String>, CliError> {
    let kept = plan.tasks.iter().find_map(|task| Some((task, agents::check_rules(plan, task).err()?)));
    if let Some((task, error)) = kept {
        let message = format!("task '{}': {error}; nothing was started", task.id);
        return Err(CliError::new(Exit::InvalidFile, message).help(agents::KEPT_BY));
    }
    check_plugins(plan)?;
    absent(plan).map_err(|why| CliError::new(Exit::AgentMissing, format!("{why}; nothing was started")))
}

/// Tasks that must be confined start nowhere else; others are, where that is to be had, and the user is told where it is not.
pub(super) fn check_sandbox(plan: &Plan) -> Result<(), CliError> {
    let of = |mode: SandboxMode| plan.tasks.iter().find(|task| task.sandbox_mode() == mode);
    let (required, preferred) = (of(SandboxMode::Require), of(SandboxMode::Prefer));
    if required.is_none() && preferred.is_none() {
        return Ok(());
    }
    let own =
        |task: &&Task| task.sandbox_mode() == SandboxMode::Require && confines_itself(task.agent_name());
    if let Some(task) = plan.tasks.iter().find(own) {
        let agent = task.agent_name();
        let message = format!(
            "task '{}' must be confined, and {agent} does not work inside of a sandbox; nothing was started",
            task.id
        );
        let help = format!(
            "give it another agent; with sandbox: prefer {agent} keeps to its own sandbox (docs/security.md)"
        );
        return Err(CliError::new(Exit::AgentMissing, message).help(help));
    }
    let found = confinement::findings();
    let Some(why) = found.why.as_deref().filter(|_| found.tier == Tier::None) else { return Ok(()) };
    let remedy = found.remedy.unwrap_or("let the program say what is started inside");
    match required {
        Some(task) => {
            let message = format!("task '{}' must be confined, and {why}; nothing was started", task.id);
            Err(CliError::new(Exit::AgentMissing, message)
                .help(format!("{remedy}; or let it be: --sandbox prefer")))
        }
        None => {
            talk(format!("agents are not confined: {why} ({remedy}; docs/security.md)"));
            Ok(())
        }
    }
}

/// Tells of checks that are to be found and are not: the work of all such tasks fails unless it brings some.
pub(super) fn tell_of_undetected(plan: &Plan, directory: &Path) {
    if let Some((task, nothing)) = check_findings::undetected(plan, directory) {
        talk(format!("task '{}': {nothing}", task.id));
    }
}

/// Verifiers and notifiers, too: what checks the work is there before an agent is paid.
fn check_plugins(plan: &Plan) -> Result<(), CliError> {
    for (kind, name) in plugin_findings::named(plan).into_keys() {
        plugins::find(kind, &name)?;
    }
    Ok(())
}

/// Agents that are named and not installed; an error names a task that no agent can do.
pub(super) fn absent(plan: &Plan) -> Result<BTreeSet<String>, String> {
    let mut absent = BTreeSet::new();
    for task in &plan.tasks {
        let missing = agents::check(plan, task).map_err(|error| format!("task '{}': {error}", task.id))?;
        absent.extend(missing);
    }
    Ok(absent)
}
