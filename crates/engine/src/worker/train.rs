//! The merge train at work: stacks what is to land, checks the combined tree, and finds the culprit where it is red.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor_core::plan::{Plan, Task};
use conductor_core::run::event::{Failure, FailureClass};
use conductor_core::schedule::{Car, Input, LeftBehind, Stacked};
use conductor_core::values::units::Millis;
use tokio::sync::watch;

use crate::git::merge::{self, Stack};
use crate::git::workspaces::{RunRepo, Workspace, WorkspaceError};
use crate::host::logs::millis;
use crate::process::transcript::{CheckedOn, MERGE};
use crate::worker::{Check, Order, Stop, Worker};

/// The folder in which combined trees are checked.
pub(crate) const SCRATCH: &str = "merge";

pub(crate) async fn integrate(
    worker: Arc<Worker>,
    run_repo: Arc<RunRepo>,
    cars: Vec<Car>,
    stop: watch::Receiver<Stop>,
) {
    let train = Train { worker: worker.clone(), plan: worker.plan.get(), run_repo, cars, stop, trusts: true };
    let (begun, cars) = (Instant::now(), train.cars.len());
    let answer = match train.prepare().await {
        Ok(input) => input,
        Err(Broken::Stopped) => Input::MergesPutOff,
        Err(Broken::Git(error)) => train.all_failed(&error),
    };
    let took = millis(begun.elapsed());
    match &answer {
        Input::MergesPrepared { stacked, failed, .. } => {
            let (good, refused) = (stacked.len(), failed.len());
            tracing::info!(cars, good, refused, took, "the merge train is ready");
        }
        _ => tracing::info!(cars, took, "the merge train was put off"),
    }
    worker.report(answer);
}

/// Where work that comes alone, long after its attempt, would land, or why not. It is checked even on the
/// tree it was made on, for no verification of it is known any more.
pub(crate) async fn fit(
    worker: Arc<Worker>,
    run_repo: Arc<RunRepo>,
    car: Car,
    stop: watch::Receiver<Stop>,
) -> Result<Fit, Broken> {
    let train = Train { plan: worker.plan.get(), worker, run_repo, cars: vec![car], stop, trusts: false };
    let Input::MergesPrepared { from, mut stacked, mut failed } = train.prepare().await? else {
        return Err(Broken::Stopped);
    };
    Ok(match (stacked.pop(), failed.pop()) {
        (Some(Stacked { to, .. }), _) => Fit::Fits { from, to },
        (None, Some(LeftBehind { failure, .. })) => Fit::Misfits(failure),
        (None, None) => return Err(Broken::Stopped),
    })
}

pub(crate) enum Fit {
    Fits { from: String, to: String },
    Misfits(Failure),
}

struct Train {
    worker: Arc<Worker>,
    plan: Arc<Plan>,
    run_repo: Arc<RunRepo>,
    cars: Vec<Car>,
    stop: watch::Receiver<Stop>,
    /// Whether a tree its task was verified on need not be looked at again.
    trusts: bool,
}

pub(crate) enum Broken {
    Stopped,
    Git(WorkspaceError),
}

impl From<WorkspaceError> for Broken {
    fn from(error: WorkspaceError) -> Broken {
        Broken::Git(error)
    }
}

impl Train {
    async fn prepare(&self) -> Result<Input, Broken> {
        let stack = self.stack().await?;
        let (good, culprit) = self.first_red(&stack).await?;
        let car = |number: usize| (self.cars[number].task.clone(), self.cars[number].attempt);
        let stacked = stack.steps[..good].iter().map(|step| {
            let (task, attempt) = car(step.car);
            Stacked { task, attempt, to: step.to.clone() }
        });
        // Work refused behind the culprit may have been refused because of it, and gets another chance.
        let all_good = culprit.is_none();
        let refused = stack.failed.iter().filter(|(_, below, _)| all_good || *below <= good);
        let failed = refused.map(|(number, _, failure)| (*number, failure.clone()));
        let red = culprit.map(|failure| (stack.steps[good].car, failure));
        let failed = failed.chain(red).map(|(number, failure)| {
            let (task, attempt) = car(number);
            LeftBehind { task, attempt, failure }
        });
        Ok(Input::MergesPrepared {
            from: stack.from.clone(),
            stacked: stacked.collect(),
            failed: failed.collect(),
        })
    }

    async fn stack(&self) -> Result<Stack, WorkspaceError> {
        let (plan, run_repo, cars) = (self.plan.clone(), self.run_repo.clone(), self.cars.clone());
        self.worker
            .patiently(&self.stop, move || {
                let cars: Vec<(&Task, &Car)> =
                    cars.iter().filter_map(|car| Some((plan.task(&car.task)?, car))).collect();
                merge::stack(&run_repo, &cars)
            })
            .await
    }

    /// How many from the bottom are good together, and what is wrong with the next. The whole is looked at first, for
    /// mostly it is good; where it is not, half of what is left in doubt is looked at until one step is left.
    async fn first_red(&self, stack: &Stack) -> Result<(usize, Option<Failure>), Broken> {
        let (mut good, mut bad) = (0, stack.steps.len());
        let Some(mut failure) = self.check(stack, bad).await? else { return Ok((bad, None)) };
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            match self.check(stack, middle).await? {
                None => good = middle,
                Some(found) => (bad, failure) = (middle, found),
            }
        }
        Ok((good, Some(failure)))
    }

    /// The checks of the lowest `count` on their combined tree; nothing where that is fine.
    async fn check(&self, stack: &Stack, count: usize) -> Result<Option<Failure>, Broken> {
        let steps = &stack.steps[..count];
        let checks = self.checks(steps.iter().map(|step| &self.cars[step.car]));
        let is_known = self.trusts && count == 1 && steps.iter().all(|step| step.verified);
        let Some(top) = steps.last().filter(|_| !checks.is_empty() && !is_known) else { return Ok(None) };
        let (run_repo, to) = (self.run_repo.clone(), top.to.clone());
        let workspace = self.worker.patiently(&self.stop, move || run_repo.scratch(SCRATCH, &to)).await?;
        let car = &self.cars[top.car];
        let Some(place) = self.plan.place(&car.task) else { return Ok(None) };
        let (task, attempt) = (car.task.clone(), car.attempt);
        let (context, plan) = (self.worker.context.clone(), self.plan.clone());
        let (choice, start_from) = (None, None);
        let order = Order { context, plan, place, task, attempt, executor: MERGE, choice, start_from };
        let mut is_first = true;
        loop {
            self.worker.wait_for_room(&self.stop).await;
            let begun = Instant::now();
            match self.bounded(&order, &checks, &workspace).await {
                Ok(()) => return Ok(None),
                Err(_) if *self.stop.borrow() != Stop::No => return Err(Broken::Stopped),
                Err(_) if is_first && self.worker.was_full_since(begun) => is_first = false,
                Err(failure) => return Ok(Some(failure)),
            }
        }
    }

    /// Bounded by the longest timeout of these tasks: a check that hangs must not hold up merging for ever.
    async fn bounded(
        &self,
        order: &Order,
        checks: &[Check<'_>],
        workspace: &Workspace,
    ) -> Result<(), Failure> {
        let limits: Option<Vec<Millis>> = checks.iter().map(|check| check.task.timeout).collect();
        let limit = limits.and_then(|limits| limits.into_iter().max());
        let (ask, asked) = watch::channel(Stop::No);
        let mut stop = self.stop.clone();
        let checking = self.worker.check_combined(order, checks, workspace, asked);
        tokio::pin!(checking);
        loop {
            tokio::select! {
                done = &mut checking => return done,
                Ok(()) = stop.changed() => {
                    let wish = *stop.borrow_and_update();
                    let _ = ask.send(wish);
                }
                limit = elapsed(limit) => {
                    let _ = ask.send(Stop::Ask);
                    let _ = checking.await;
                    let message = format!("on the combined tree: the checks took longer than {limit}");
                    return Err(Failure::new(FailureClass::Unverified, message));
                }
            }
        }
    }

    /// The checks of all tasks of these cars, each once.
    fn checks<'a>(&'a self, cars: impl Iterator<Item = &'a Car>) -> Vec<Check<'a>> {
        let plan = &self.plan;
        let tasks = cars.flat_map(|car| car.others.iter().chain([&car.task])).filter_map(|id| plan.task(id));
        let mut seen = HashSet::new();
        tasks
            .flat_map(|task| {
                task.verify.iter().map(move |command| Check { task, command, on: CheckedOn::Combined })
            })
            .filter(|check| seen.insert((check.command, format!("{:?}", check.task.env))))
            .collect()
    }

    /// Git itself does not work: no task is at fault and no work is lost, but nothing lands either.
    fn all_failed(&self, error: &WorkspaceError) -> Input {
        let failed = self.cars.iter().map(|car| LeftBehind {
            task: car.task.clone(),
            attempt: car.attempt,
            failure: unmergeable(error),
        });
        Input::MergesPrepared { from: String::new(), stacked: Vec::new(), failed: failed.collect() }
    }
}

async fn elapsed(limit: Option<Millis>) -> Millis {
    match limit {
        Some(limit) => {
            tokio::time::sleep(Duration::from_millis(limit.0)).await;
            limit
        }
        None => std::future::pending().await,
    }
}

/// Moves the run's branch, and says whether it is there.
pub(crate) async fn move_branch(
    worker: Arc<Worker>,
    run_repo: Arc<RunRepo>,
    from: String,
    to: String,
    stop: watch::Receiver<Stop>,
) {
    let (target, begun) = (to.clone(), Instant::now());
    let before = from.clone();
    let moved = worker.patiently(&stop, move || run_repo.land(&from, &target)).await;
    let took = millis(begun.elapsed());
    match &moved {
        Ok(_) => tracing::info!(from = before, to, took, "the branch of the run was moved"),
        Err(error) => {
            tracing::warn!(from = before, to, took, %error, "the branch of the run could not be moved")
        }
    }
    worker.report(match moved {
        Ok(moved) => Input::BranchMoved { to, moved },
        Err(error) => Input::BranchStuck { to, failure: unmergeable(&error) },
    });
}

fn unmergeable(error: &WorkspaceError) -> Failure {
    Failure::new(FailureClass::Unstartable, format!("its work could not be merged: {error}"))
}
