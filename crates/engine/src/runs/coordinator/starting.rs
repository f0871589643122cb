//! Taking up a run that is in the store: what a dead coordinator left is cleared or rescued, and all that the
//! loop needs is put together.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::plan::{Limits, groups};
use conductor_core::run::{Run, TaskState};
use conductor_core::schedule::{Action, Decision, ResumeState, Scheduler};
use conductor_core::values::ids::{RunId, TaskId};
use tokio::sync::mpsc;

use super::backlog::Backlog;
use super::handing_over::Handovers;
use super::sweeping::Sweeps;
use super::viewing::Views;
use super::{Coordinator, CoordinatorError, Start, Workers, World};
use crate::agents::{self, Caller};
use crate::dispatch::{Control, Dispatch, Link, RunContext};
use crate::host::clock::Clock;
use crate::host::home::RunClaim;
use crate::host::redact;
use crate::process::transcript::Speaker;
use crate::process::{self, Teardown};
use crate::runs::conflict_monitor::{AtWork, ConflictMonitor};
use crate::stores::bus::Bus;
use crate::worker::{Local, Reattaching, ShimPlace, Worker, left_usage};

impl Coordinator {
    /// Takes up a run that is in the store. Nothing starts before `run` is called, so onlookers miss nothing.
    pub fn new(
        run: Run,
        start: Start,
        world: World,
    ) -> Result<(Coordinator, mpsc::UnboundedReceiver<String>), CoordinatorError> {
        let id = world.log.run().clone();
        let (reattaching, ended) = reattaching(&id, &run, &world);
        let attached = reattaching.attached();
        let goes_on = |task: &TaskId| attached.contains_key(task);
        clear_processes(&id, &run, &world.claim, &reattaching.spared(), goes_on);
        let caller = Caller::new(std::env::vars_os());
        agents::keep_secrets_of(run.plan());
        let (used, uncounted) = left_usage(&run, &world.output, goes_on);
        rescue_transcripts(&run, &world.output, &caller, goes_on);
        let (sender, messages) = mpsc::unbounded_channel();
        let (notices, notice_reader) = notices(&world);
        let (at_work, ours) = (AtWork::default(), ours(&world));
        let conflict_monitor = conflict_monitor(&world, &at_work, &ours);
        let context = context(&id, &world, ours, &start.options.limits);
        let World { log, claim, workspaces, directory, examiner, reaper, shim, workers, .. } = world;
        let link = Link::new(sender.clone(), notices.clone());
        let mut worker = Worker::new(Arc::new(context), run.plan().clone(), workspaces, caller, link);
        worker.services.reattaching = reattaching;
        let worker = equipped(worker, shim.filter(|_| workers.is_none()), &claim, &start.options.limits);
        let (left, troubles) = worker.workspaces.rescue_left(&run, goes_on);
        troubles.into_iter().chain(uncounted).chain(ended).for_each(|trouble| worker.notice(trouble));
        let (durable, mut clock) = (run.seq(), Clock::start());
        let left = left.into_iter().map(|(task, left)| (task, redact::known().change(left))).collect();
        let resume_state =
            ResumeState { reopen: start.reopen, left, used, attached, taken_over: start.taken_over };
        let (scheduler, first) = Scheduler::take_up(run, start.options, clock.now(), resume_state)?;
        let teardown = Teardown::new(worker.services.processes.clone(), claim.directory());
        let coordinator = Coordinator {
            id,
            log,
            claim,
            directory,
            scheduler,
            first: Some(given_up_the_rest(&worker.services.reattaching, first)),
            clock,
            bus: Bus::new(durable),
            control: Control::new(sender),
            messages,
            handovers: Handovers::of(workers.is_some()),
            dispatch: dispatch(workers, &worker),
            worker,
            attempts: HashMap::new(),
            merging: None,
            at_work,
            conflict_monitor,
            examiner,
            arrived: Vec::new(),
            durable,
            backlog: Backlog::default(),
            views: Views::default(),
            looks: Vec::new(),
            away: None,
            missed_since: None,
            told_unrecorded: false,
            is_killed: false,
            called_off: HashSet::new(),
            parked: Vec::new(),
            sweeps: Sweeps::default(),
            notices,
            reaper_command: reaper,
            teardown,
            finished: false,
        };
        Ok((coordinator, notice_reader))
    }
}

/// What goes on without a coordinator, or has come to its end meanwhile; and which agents were ended.
fn reattaching(id: &RunId, run: &Run, world: &World) -> (Reattaching, Vec<String>) {
    let reattaching = Reattaching::default();
    let ended = match world.shim.is_some() && world.workers.is_none() {
        true => reattaching.find(id, run, world.claim.directory(), &world.output),
        false => Vec::new(),
    };
    (reattaching, ended)
}

/// What was taken hold of and is not gone on with, such as where the run is being left, ends now.
fn given_up_the_rest(reattaching: &Reattaching, first: Decision) -> Decision {
    reattaching.give_up_but(|task, attempt| {
        let reattach = Action::Reattach { task: task.clone(), attempt };
        first.actions.contains(&reattach)
    });
    first
}

/// With all that it takes to start processes that can be found again.
fn equipped(worker: Worker, shim: Option<PathBuf>, claim: &RunClaim, limits: &Limits) -> Arc<Worker> {
    let grace = Some(limits.orphan_grace()).filter(|grace| grace.0 > 0);
    let run_folder = || claim.directory().to_owned();
    let store = || claim.place().store_name();
    let place = shim.zip(grace).map(|(program, grace)| ShimPlace {
        program,
        run_folder: run_folder(),
        store: store(),
        grace,
    });
    place.map(|place| worker.services.shims.set(place));
    worker.services.slices.look_at(limits);
    worker.services.processes.are_of(claim.directory());
    worker.services.processes.record_descent(claim.directory());
    Arc::new(worker)
}

/// What the user is told, also of git.
fn notices(world: &World) -> (mpsc::UnboundedSender<String>, mpsc::UnboundedReceiver<String>) {
    let (notices, notice_reader) = mpsc::unbounded_channel();
    if let Some(run_repo) = world.workspaces.run_repo() {
        run_repo.listen(notices.clone());
    }
    (notices, notice_reader)
}

fn context(id: &RunId, world: &World, ours: Vec<PathBuf>, limits: &Limits) -> RunContext {
    RunContext {
        run: id.clone(),
        home: world.claim.home(),
        directory: world.directory.clone(),
        output: world.output.clone(),
        ours,
        isolation: world.workspaces.default,
        in_repository: world.workspaces.run_repo().is_some(),
        limits: limits.clone(),
    }
}

/// Attempts are carried out by this process, unless there are other workers.
fn dispatch(workers: Option<Workers>, worker: &Arc<Worker>) -> Arc<dyn Dispatch> {
    let here = Arc::new(Local::new(worker.clone()));
    match workers {
        Some(workers) => workers(worker.link.clone(), here),
        None => here,
    }
}

/// Ends what a dead coordinator left running, and prepares this process for what it starts itself.
fn clear_processes(
    id: &RunId,
    run: &Run,
    claim: &RunClaim,
    spared: &[(PathBuf, String)],
    goes_on: impl Fn(&TaskId) -> bool,
) {
    process::raise_descriptor_limit();
    process::adopt_orphans();
    process::end_leftovers_but(id, claim.directory(), &noted(run, goes_on), spared);
}

/// Where Conductor itself writes: no change there is the user's or an agent's.
fn ours(world: &World) -> Vec<PathBuf> {
    let mut ours = world.ours.clone();
    ours.extend([world.output.clone(), world.claim.home(), world.directory.join(groups::ROOT)]);
    ours.extend(world.workspaces.run_repo().map(|run_repo| run_repo.repository().root.join(groups::ROOT)));
    ours
}

fn conflict_monitor(
    world: &World,
    at_work: &AtWork,
    ours: &[PathBuf],
) -> Option<(Arc<ConflictMonitor>, Duration)> {
    world.workspaces.run_repo().zip(world.conflict_monitor).map(|(run_repo, every)| {
        (Arc::new(ConflictMonitor::new(run_repo.clone(), at_work.clone(), ours.to_vec())), every)
    })
}

/// The processes a dead coordinator had noted as running.
fn noted(run: &Run, goes_on: impl Fn(&TaskId) -> bool) -> Vec<conductor_core::run::event::Process> {
    run.tasks()
        .filter(|(task, _)| !goes_on(&task.id))
        .filter_map(|(_, progress)| match &progress.state {
            TaskState::Running(running) => running.process,
            _ => None,
        })
        .collect()
}

/// What interrupted attempts had written goes where their transcripts belong. One that cannot be moved stays
/// in its spool, and no other attempt writes there.
fn rescue_transcripts(run: &Run, output: &Path, caller: &Caller, goes_on: impl Fn(&TaskId) -> bool) {
    for (task, progress) in run.tasks().filter(|(task, _)| !goes_on(&task.id)) {
        if let TaskState::Running(running) = &progress.state {
            let (executor, attempt) = (running.executor, running.attempt);
            let _ = Speaker { output, executor, task: &task.id, attempt }
                .rescue(&caller.redactor(run.plan(), task));
        }
    }
}
