//! What a user has to know before agents in the cloud begin: what is published, and which caps cannot be held.

use conductor_core::plan::{Isolation, Limits, Plan, Task};
use conductor_core::values::units::Usd;
use conductor_engine::agents;

use super::super::talk;
use super::arguments::Resolved;
use crate::args;
use crate::error::{CliError, Exit};

/// Nothing starts where a cap on money could not be held. What is going to be pushed is told once, before anything is.
pub(super) fn check(args: &Resolved<'_>, plan: &Plan) -> Result<(), CliError> {
    check_typed_caps(args, plan)?;
    let is_capped = args.typed.max_cost.is_some() || plan.limits.max_cost.is_some();
    let uncapped = plan.tasks.iter().find_map(|task| Some((task, task.uncapped(is_capped)?)));
    if let Some((task, why)) = uncapped {
        let message = format!("task '{}': {why}; nothing was started", task.id);
        return Err(CliError::new(Exit::AgentMissing, message));
    }
    if let Some(task) = elsewhere(args, plan) {
        let message = format!(
            "task '{}': the work of an agent in the cloud comes as commits of the remote, which needs a worktree; nothing was \
             started",
            task.id
        );
        let help = "leave --isolation and `isolation:` out for it, or say worktree";
        return Err(CliError::new(Exit::AgentMissing, message).help(help));
    }
    let all: Vec<&Task> = plan.tasks.iter().filter(|task| task.is_for_cloud()).collect();
    let remote = all.first().and_then(|task| task.cloud.as_deref()).map_or("origin", |cloud| cloud.remote());
    if let Some(first) = all.first() {
        let others = if all.len() > 1 { " and others" } else { "" };
        talk(format!(
            "{}{others} work in the cloud: what they build on is pushed to '{remote}', and their anchors are removed again",
            first.id
        ));
    }
    Ok(())
}

/// A task for the cloud that is to work elsewhere than in a worktree, by the word that counts for it. In a clone another remote
/// would be meant, and in the user's checkout the user's files would be replaced.
fn elsewhere<'a>(args: &Resolved<'_>, plan: &'a Plan) -> Option<&'a Task> {
    let typed = args.typed.isolation.map(|place| place == args::Isolation::Worktree);
    let is_worktree = |place: Option<Isolation>| place.map(|place| place == Isolation::Worktree);
    let said = |task: &Task| typed.or(is_worktree(task.isolation)).or(is_worktree(plan.isolation));
    plan.tasks.iter().filter(|task| task.is_for_cloud()).find(|task| said(task) == Some(false))
}

/// Caps of the file were looked at with it.
fn check_typed_caps(args: &Resolved<'_>, plan: &Plan) -> Result<(), CliError> {
    let (max_cost, max_tokens) = (args.typed.max_cost.map(Usd::from_dollars), args.typed.max_tokens);
    if max_cost.is_none() && max_tokens.is_none() {
        return Ok(());
    }
    let limits = Limits { max_cost, max_tokens, ..Limits::default() };
    let capped = Plan { limits, agents: plan.agents.clone(), ..Plan::default() };
    let unheld = plan.tasks.iter().find_map(|task| Some((task, agents::check_rules(&capped, task).err()?)));
    match unheld {
        None => Ok(()),
        Some((task, error)) => {
            let message = format!("task '{}': {error}; nothing was started", task.id);
            Err(CliError::new(Exit::InvalidFile, message).help(agents::KEPT_BY))
        }
    }
}
