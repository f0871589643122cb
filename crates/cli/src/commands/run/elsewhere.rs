//! A run whose attempts workers on other machines carry out.

use std::collections::BTreeSet;

use conductor_core::plan::{Isolation, Plan, Task};
use conductor_core::run::Run;
use conductor_core::run::event::Options;
use conductor_core::values::ids::RunId;
use conductor_engine::dispatch::broker;
use conductor_engine::dispatch::distant::{DistantOptions, DistantWorkers};
use conductor_engine::git::handover::Handover;
use conductor_engine::runs::coordinator::World;
use conductor_engine::runs::driving::{Concluded, Driven};

use super::super::talk;
use super::arguments::Resolved;
use super::checking::{check_agents, check_kept_rules};
use super::reaching::reached;
use crate::args;
use crate::error::{CliError, Exit};

/// What has to be there before it starts. Agents that work elsewhere need not be installed here; which are absent is
/// returned.
pub(super) fn check(
    args: &Resolved<'_>,
    plan: &Plan,
    before: Option<&Options>,
) -> Result<BTreeSet<String>, CliError> {
    let is_elsewhere = reached(args.typed, before)?.is_some();
    let in_place = |task: &&Task| is_in_place(args, plan, task);
    if let Some(task) =
        plan.tasks.iter().find(|task| !task.requires.is_empty() && (!is_elsewhere || in_place(task)))
    {
        let labels = task.requires.join(", ");
        let why = match is_elsewhere {
            true => "works in the user's own directory, which is on this machine",
            false => "this run has no workers but this machine",
        };
        let message =
            format!("task '{}' requires a worker with {labels}, and {why}; nothing was started", task.id);
        return Err(CliError::new(Exit::InvalidFile, message).help(
            "workers have labels (conductor worker --labels), and are reached with conductor run --queue URL --git URL; \
             where tasks were meant, the key is dependencies",
        ));
    }
    match is_elsewhere {
        true => check_kept_rules(plan).map(|()| BTreeSet::new()),
        false => check_agents(plan),
    }
}

/// By the word that counts for it, as far as one was said.
pub(super) fn is_in_place(args: &Resolved<'_>, plan: &Plan, task: &Task) -> bool {
    let typed = args.typed.isolation.map(|place| place == args::Isolation::None);
    let said = |place: Option<Isolation>| place.map(|place| place == Isolation::None);
    typed.or(said(task.isolation)).or(said(plan.isolation)).unwrap_or(false)
}

/// Lets the run's attempts be carried out by workers on other machines, where a queue is named. Both the queue and the
/// remote have to answer before it starts.
pub(super) async fn engage(
    args: &Resolved<'_>,
    id: &RunId,
    (run, options): (&Run, &Options),
    world: &mut World,
) -> Result<Option<DistantWorkers>, CliError> {
    let Some(reached) = reached(args.typed, Some(options))? else { return Ok(None) };
    let Some(run_repo) = world.workspaces.run_repo().cloned() else {
        let message = "workers on other machines get their code over git, and there is no repository here";
        return Err(CliError::new(Exit::InvalidFile, message)
            .help("run it in a git checkout, or without --queue and CONDUCTOR_QUEUE"));
    };
    let broker = broker::open(&reached.queue).map_err(|error| reached.no_queue(error))?;
    broker.examine().await.map_err(|error| reached.no_queue(error))?;
    let handover = Handover::open(world.claim.directory(), run_repo, &world.directory, &reached.git)?;
    handover.examine().map_err(|error| {
        let message = format!("the git remote {} cannot be used: {error}", handover.shown_url());
        CliError::new(Exit::Unexpected, message).help(reached.git_remedy())
    })?;
    let options = DistantOptions {
        broker,
        home: world.claim.home(),
        run: id.clone(),
        epoch: world.log.epoch(),
        handover,
        output: world.output.clone(),
    };
    let (engage, distant) = options.engage(run)?;
    world.workers = Some(engage);
    Ok(Some(distant))
}

/// Reports of a run are written; its workers are told that it is over, or left.
pub(super) async fn conclude(driven: Driven, distant: Option<DistantWorkers>) -> Result<Concluded, CliError> {
    let concluded = driven.conclude(&|word| talk(word)).await?;
    if let Some(distant) = distant
        && let Some(why) = distant.finish(concluded.run.all_ended()).await
    {
        talk(format!("what was handed over for the run is still on the git remote: {why}"));
    }
    Ok(concluded)
}
