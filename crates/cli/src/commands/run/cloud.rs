//! What a user has to know before agents in the cloud begin: what is published, and which caps cannot be held.

use conductor_core::plan::{Limits, Plan, Task};
use conductor_core::values::units::Usd;
use conductor_engine::agents;

use super::super::talk;
use super::arguments::Resolved;
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
