//! Branches landed one after the other, as they come: merged in memory, committed, the run's branch moved.

use std::time::Instant;

use conductor_core::plan::{self, Task, Work};
use conductor_core::run::event::Change;
use conductor_core::schedule::Car;
use conductor_core::values::ids::Attempt;
use conductor_engine::git::merge;
use conductor_engine::git::workspaces::RunRepo;

use super::ground::{Ground, task_id, work};
use super::{Pair, Size};
use crate::Result;
use crate::bench::scratch::Scratch;

pub(super) fn measure(size: Size, scratch: &mut Scratch) -> Result<Pair> {
    let scratch = std::cell::RefCell::new(scratch);
    let ground = || Ground::new(size.files, size.many, &mut scratch.borrow_mut());
    Pair::best(size.turns, || bare(&ground()?, size.many), || ours(&ground()?, size.many))
}

/// What a careful person would have a script do.
fn bare(ground: &Ground, many: usize) -> Result<f64> {
    const BRANCH: &str = "refs/heads/landed";
    let mut tip = ground.ask(&["rev-parse", "main"])?;
    ground.ask(&["update-ref", BRANCH, &tip])?;
    let commits = commits(ground, many)?;
    let begun = Instant::now();
    for commit in &commits {
        let tree = ground.ask(&["merge-tree", "--write-tree", &tip, commit])?;
        let to = ground.ask(&["commit-tree", &tree, "-p", &tip, "-p", commit, "-m", "Merge"])?;
        ground.ask(&["update-ref", BRANCH, &to, &tip])?;
        tip = to;
    }
    Ok(begun.elapsed().as_secs_f64())
}

fn ours(ground: &Ground, many: usize) -> Result<f64> {
    let site = ground.site()?;
    let base = ground.ask(&["rev-parse", "main"])?;
    let mut cars = Vec::new();
    for (number, commit) in commits(ground, many)?.into_iter().enumerate() {
        let change = Change::new(base.clone(), commit);
        merge::is_unmarked(&site.run_repo, &change)?;
        cars.push(car(number, change)?);
    }
    let begun = Instant::now();
    for (task, car) in &cars {
        land(&site.run_repo, task, car)?;
    }
    Ok(begun.elapsed().as_secs_f64())
}

fn commits(ground: &Ground, many: usize) -> Result<Vec<String>> {
    (0..many).map(|number| ground.ask(&["rev-parse", &work(number)])).collect()
}

pub(super) fn car(number: usize, change: Change) -> Result<(Task, Car)> {
    let id = task_id(number)?;
    let car = Car { task: id.clone(), attempt: Attempt(1), change, others: Vec::new(), favour: None };
    Ok((Task::new(id, Work::Run(plan::Command::Line("true".into()))), car))
}

/// As the train does where one comes alone.
pub(super) fn land(run_repo: &RunRepo, task: &Task, car: &Car) -> Result {
    let stack = merge::stack(run_repo, &[(task, car)])?;
    let step = stack.steps.first().ok_or("the work does not fit")?;
    match run_repo.move_tip(&stack.from, &step.to)? {
        true => Ok(()),
        false => Err("another process moved the branch".into()),
    }
}
