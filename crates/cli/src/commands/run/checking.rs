//! What has to be there before a run starts: agents for all tasks, and the plugins that check and tell.

use std::collections::BTreeSet;
use std::path::Path;

use conductor_core::confinement::is_unconfinable;
use conductor_core::plan::{Isolation, Plan, SandboxMode, Task};
use conductor_core::run::event::Options;
use conductor_engine::agents;
use conductor_engine::plugins;
use conductor_engine::process::confinement::{self, Tier};
use conductor_engine::process::limits;

use super::arguments::Resolved;
use super::elsewhere::is_in_place;
use super::reaching::reached;
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

/// What the machine is to keep tasks to, and what it can. Workers on other machines tell of theirs. `before` is how a run was
/// that is taken up again.
pub(super) fn check_machine(
    args: &Resolved<'_>,
    plan: &Plan,
    before: Option<&Options>,
) -> Result<(), CliError> {
    if before.is_none() {
        check_places(args, plan)?;
    }
    let is_elsewhere = reached(args.typed, before)?.is_some();
    let here = plan.tasks.iter().filter(|task| !is_elsewhere || is_in_place(args, plan, task));
    let here: Vec<&Task> = here.filter(|task| !task.is_for_cloud()).collect();
    check_sandbox(plan, &here)?;
    if let Some(told) = limits::unkept(here.into_iter()) {
        talk(told);
    }
    Ok(())
}

/// By what was typed a task may have to be confined that its file gives a worktree, or the other way round. What the file says by
/// itself was looked at with it.
pub(super) fn check_places(args: &Resolved<'_>, plan: &Plan) -> Result<(), CliError> {
    let typed = args.typed.isolation.map(Isolation::from);
    let is_shared = |task: &&Task| typed.or(task.isolation).or(plan.isolation) == Some(Isolation::Worktree);
    let mut required = plan.tasks.iter().filter(|task| task.sandbox_mode() == SandboxMode::Require);
    let Some(task) = required.find(is_shared) else { return Ok(()) };
    let message = format!(
        "task '{}' must be confined, and a worktree shares the repository's git directory; nothing was started",
        task.id
    );
    let help = "give it --isolation clone, or leave isolation out; --sandbox prefer and a full network do with a worktree";
    Err(CliError::new(Exit::InvalidFile, message).help(help))
}

/// Tasks that must be confined start nowhere else; others are, where that is to be had, and the user is told where it is not.
/// `here` are those that this machine carries out.
fn check_sandbox(plan: &Plan, here: &[&Task]) -> Result<(), CliError> {
    if let Some(task) = plan.tasks.iter().find(|task| is_unconfinable(task)) {
        let agent = task.agent_name();
        let message = format!(
            "task '{}' must be confined, and {agent} does not work inside of a sandbox; nothing was started",
            task.id
        );
        let help = format!(
            "give it another agent; with sandbox: prefer and a full network {agent} keeps to its own sandbox (docs/security.md)"
        );
        return Err(CliError::new(Exit::AgentMissing, message).help(help));
    }
    let of = |mode: SandboxMode| here.iter().find(|task| task.sandbox_mode() == mode);
    let (required, preferred) = (of(SandboxMode::Require), of(SandboxMode::Prefer));
    if required.is_none() && preferred.is_none() {
        return Ok(());
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
