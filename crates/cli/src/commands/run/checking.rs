//! What has to be there before a run starts: agents for all tasks, and the plugins that check and tell.

use std::collections::BTreeSet;
use std::path::Path;

use conductor_core::confinement::confines_itself;
use conductor_core::plan::{Plan, Resource, SandboxMode, Task};
use conductor_engine::agents;
use conductor_engine::plugins;
use conductor_engine::process::confinement::{self, Tier};
use conductor_engine::process::limits::{self, How};

use super::talk;
use crate::error::{CliError, Exit};
use crate::settings::{check_findings, plugin_findings};

/// Every task needs an agent that can do it, before anything starts. Returns the agents not installed.
pub(super) fn check_agents(plan: &Plan) -> Result<BTreeSet<String>, CliError> {
    check_kept_rules(plan)?;
    absent(plan).map_err(|why| CliError::new(Exit::AgentMissing, format!("{why}; nothing was started")))
}

/// As far as that can be said without looking which agents are installed.
pub(super) fn check_kept_rules(plan: &Plan) -> Result<(), CliError> {
    let kept = plan.tasks.iter().find_map(|task| Some((task, agents::check_rules(plan, task).err()?)));
    if let Some((task, error)) = kept {
        let message = format!("task '{}': {error}; nothing was started", task.id);
        return Err(CliError::new(Exit::InvalidFile, message).help(agents::KEPT_BY));
    }
    check_plugins(plan)
}

/// What the machine is to keep tasks to, and what it can.
pub(super) fn check_machine(plan: &Plan) -> Result<(), CliError> {
    check_sandbox(plan)?;
    tell_of_limits(plan);
    Ok(())
}

/// Tasks that must be confined start nowhere else; others are, where that is to be had, and the user is told where it is not.
fn check_sandbox(plan: &Plan) -> Result<(), CliError> {
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
    let Some(why) = &found.why else { return Ok(()) };
    let remedy = found.remedy.unwrap_or("let the program say what is started inside");
    if let Some(task) = required.filter(|task| !found.tier.is_enough_for(task.sandbox_mode())) {
        let message = format!("task '{}' must be confined, and {why}; nothing was started", task.id);
        let help = match found.tier {
            Tier::None => format!("{remedy}; or let it be: --sandbox prefer"),
            weaker => format!("{remedy}; or take what {weaker} stops (docs/security.md): --sandbox prefer"),
        };
        return Err(CliError::new(Exit::AgentMissing, message).help(help));
    }
    talk(match found.tier {
        Tier::None => format!("agents are not confined: {why} ({remedy}; docs/security.md)"),
        weaker => format!("agents are confined by {weaker} alone: {why} ({remedy}; docs/security.md)"),
    });
    Ok(())
}

/// Tells of limits that tasks ask for and this machine's kernel does not keep.
fn tell_of_limits(plan: &Plan) {
    let here = plan.tasks.iter().filter(|task| !task.is_for_cloud());
    let asked: BTreeSet<Resource> =
        here.flat_map(|task| task.limits().all().map(|(one, _)| one).collect::<Vec<_>>()).collect();
    // There is no other way for that one, on any machine.
    let asked: Vec<Resource> = asked.into_iter().filter(|one| *one != Resource::Disk).collect();
    if asked.is_empty() {
        return;
    }
    let found = limits::findings();
    let of = |how: How| {
        let names = asked.iter().filter(|one| found.how(**one) == how).map(|one| one.name());
        names.collect::<Vec<_>>().join(", ")
    };
    let told: Vec<String> =
        [(of(How::Not), "not limited here"), (of(How::Sampled), "limited by looking at it alone")]
            .into_iter()
            .filter(|(names, _)| !names.is_empty())
            .map(|(names, how)| format!("{names}: {how}"))
            .collect();
    if !told.is_empty() {
        let (why, remedy) = (found.why.as_deref().unwrap_or_default(), found.remedy.unwrap_or_default());
        talk(format!("{}; {why} ({remedy}; docs/security.md)", told.join("; ")));
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
