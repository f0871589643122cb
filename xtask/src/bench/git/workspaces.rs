//! Workspaces: made, used again, removed.

use std::collections::HashSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use conductor_engine::git::workspaces::{Workspace, WorkspaceBackend as _, WorkspaceRequest};

use super::ground::{Ground, Site, request};
use super::{Pair, Size, landing};
use crate::Result;
use crate::bench::scratch::Scratch;
use crate::steps::quietly;

/// Tasks that want a workspace at the same time.
const CALLERS: usize = 8;

/// As many as bare git bears: of many at once some fail at each other's locks.
const BARE: usize = 2;

/// How many are measured one at a time.
const SINGLE: usize = 10;

/// How long a task takes at least. Git knows a file by its time in whole seconds and reads all those again that are as
/// young as its index; real work is hardly ever over before that.
const WORK: Duration = Duration::from_millis(1_100);

pub(super) fn make(size: Size, scratch: &mut Scratch) -> Result<Pair> {
    let scratch = std::cell::RefCell::new(scratch);
    let ground = || Ground::new(size.files, 0, &mut scratch.borrow_mut());
    Pair::best(
        size.turns,
        || {
            let ground = ground()?;
            together(BARE, size.many, |number| add_bare(&ground, number))
        },
        || {
            let ground = ground()?;
            let site = ground.site()?;
            together(CALLERS, size.many, |number| prepare(&site, number))
        },
    )
}

/// Seconds it takes some threads to do all of it, number by number.
fn together(threads: usize, all: usize, work: impl Fn(usize) -> Result + Sync) -> Result<f64> {
    let next = AtomicUsize::new(0);
    let failed = AtomicUsize::new(0);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && number < all
                {
                    if let Err(error) = work(number) {
                        eprintln!("{error}");
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let seconds = begun.elapsed().as_secs_f64();
    match failed.into_inner() {
        0 => Ok(seconds),
        failed => Err(format!("{failed} of {all} workspaces could not be made").into()),
    }
}

fn add_bare(ground: &Ground, number: usize) -> Result {
    let path = ground.directory.join(format!("bare-{number}"));
    quietly(ground.git().args(["worktree", "add", "--detach", "-q"]).arg(path).arg("HEAD"))
}

fn prepare(site: &Site, number: usize) -> Result {
    site.worktrees.prepare(&request(number, number)?)?;
    Ok(())
}

/// Mean seconds, one at a time.
pub(super) struct Reuse {
    pub(super) new: f64,
    pub(super) again: f64,
}

/// The same executors twice: a workspace each, some work, and the next task in it.
pub(super) fn reuse(size: Size, scratch: &mut Scratch) -> Result<Reuse> {
    let ground = Ground::new(size.files, 0, scratch)?;
    let site = ground.site()?;
    let mut reuse = Reuse { new: 0.0, again: 0.0 };
    let mut started_at = Vec::new();
    for number in 0..SINGLE {
        let begun = Instant::now();
        started_at.push(site.worktrees.prepare(&request(number, number)?)?);
        reuse.new += begun.elapsed().as_secs_f64() / SINGLE as f64;
    }
    std::thread::sleep(WORK);
    for (number, workspace) in started_at.iter().enumerate() {
        ground.change(&workspace.directory, number)?;
        site.worktrees.collect(&request(number, number)?, workspace)?.ok_or("the work was not seen")?;
    }
    for number in 0..SINGLE {
        let request = request(number, SINGLE + number)?;
        let begun = Instant::now();
        site.worktrees.prepare(&request)?;
        reuse.again += begun.elapsed().as_secs_f64() / SINGLE as f64;
    }
    Ok(reuse)
}

/// Attempts that ask for a workspace at the same moment, and the workspaces they got.
pub(super) struct AgentLimits {
    ground: Ground,
    site: Site,
    workspaces: Vec<(usize, Workspace)>,
    pub(super) failed: usize,
}

impl AgentLimits {
    pub(super) fn gather(size: Size, scratch: &mut Scratch) -> Result<AgentLimits> {
        let ground = Ground::new(size.files, 0, scratch)?;
        let site = ground.site()?;
        let guests: Vec<WorkspaceRequest> =
            (0..size.at_once).map(|number| request(number, number)).collect::<Result<_>>()?;
        let mut agent_limits = AgentLimits { ground, site, workspaces: Vec::new(), failed: 0 };
        let worktrees = &agent_limits.site.worktrees;
        let answers: Vec<_> = std::thread::scope(|scope| {
            let callers: Vec<_> =
                guests.iter().map(|request| scope.spawn(move || worktrees.prepare(request))).collect();
            callers.into_iter().map(|caller| caller.join()).collect()
        });
        for (number, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(Ok(workspace)) => agent_limits.workspaces.push((number, workspace)),
                Ok(Err(error)) => agent_limits.fail(&error.to_string()),
                Err(_) => agent_limits.fail("it panicked"),
            }
        }
        Ok(agent_limits)
    }

    fn fail(&mut self, why: &str) {
        eprintln!("{why}");
        self.failed += 1;
    }

    /// Every workspace had a task, and its work has landed.
    fn work(&self) -> Result {
        std::thread::sleep(WORK);
        for (number, workspace) in &self.workspaces {
            self.ground.change(&workspace.directory, *number)?;
            let change = self.site.worktrees.collect(&request(*number, *number)?, workspace)?;
            let (task, car) = landing::car(*number, change.ok_or("the work was not seen")?)?;
            landing::land(&self.site.run_repo, &task, &car)?;
        }
        Ok(())
    }

    /// Mean seconds of moving a folder out of the way. Each comes back.
    fn rename(&self) -> Result<f64> {
        let mut seconds = 0.0;
        for (_, workspace) in &self.workspaces {
            let away = self.ground.directory.join("away");
            let begun = Instant::now();
            fs::rename(&workspace.directory, &away)?;
            seconds += begun.elapsed().as_secs_f64();
            fs::rename(&away, &workspace.directory)?;
        }
        Ok(seconds / self.workspaces.len() as f64)
    }
}

/// Seconds for each workspace.
pub(super) struct Removal {
    /// Of clearing up after a run: folders, branches, ports.
    pub(super) clear: f64,
    /// Of moving one folder out of the way, which is the least it can take.
    pub(super) rename: f64,
}

pub(super) fn removal(agent_limits: &AgentLimits) -> Result<Removal> {
    agent_limits.work()?;
    let rename = agent_limits.rename()?;
    let begun = Instant::now();
    let left = agent_limits.site.run_repo.clear(&HashSet::new())?;
    let clear = begun.elapsed().as_secs_f64() / agent_limits.workspaces.len() as f64;
    // What deletes the folders was left behind; nothing else of ours is to be waited for.
    nix::sys::wait::wait()?;
    match left.is_empty() {
        true => Ok(Removal { clear, rename }),
        false => Err(format!("{} workspaces were not removed", left.len()).into()),
    }
}
