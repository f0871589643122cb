//! Watches tasks at work: whether what they have so far would merge, and whether an agent writes to the
//! user's checkout, branches or git configuration.
//!
//! It only looks and reports. It reads through our own git and copies of indexes, so that neither an agent
//! nor the user notices.

mod known;
mod looking;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use conductor_core::schedule::Input;
use conductor_core::values::ids::TaskId;
use tokio::sync::watch;

use crate::git::workspaces::{RunRepo, SettingsNews, WorkspaceError};
use crate::git::{Glimpse, Merge};
use known::{Known, Work};
pub(crate) use looking::Looking;

/// How long one look for conflicts ahead may take. Together with the share of the time it bounds what is done in a minute,
/// however many are at work.
const BUDGET: Duration = Duration::from_secs(3);

/// How many differences are told by name.
const NAMED: usize = 20;

/// Who works where, told by the loop.
#[derive(Debug, Clone, Default)]
pub(crate) struct AtWork(Arc<Mutex<Tasks>>);

#[derive(Debug, Default)]
struct Tasks {
    workspaces: BTreeMap<TaskId, String>,
    /// All tasks that were at work since the checkout was last looked at.
    since: BTreeSet<TaskId>,
}

impl AtWork {
    pub(crate) fn begins(&self, task: &TaskId, workspace: String) {
        let mut tasks = self.lock();
        tasks.workspaces.insert(task.clone(), workspace);
        tasks.since.insert(task.clone());
    }

    pub(crate) fn ends(&self, task: &TaskId) {
        self.lock().workspaces.remove(task);
    }

    fn workspaces(&self) -> Vec<(TaskId, String)> {
        self.lock().workspaces.clone().into_iter().collect()
    }

    /// Who could have done it; from now on counted anew.
    fn suspects(&self) -> Vec<TaskId> {
        let mut tasks = self.lock();
        let now = tasks.workspaces.keys().cloned().collect();
        std::mem::replace(&mut tasks.since, now).into_iter().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct ConflictMonitor {
    run_repo: Arc<RunRepo>,
    at_work: AtWork,
    /// Folders in the checkout that are ours to write to.
    ours: Vec<PathBuf>,
    /// The checkout as it was at the last look; nothing before the first.
    before: Mutex<Option<Glimpse>>,
    /// What tasks had at the last look.
    known: Mutex<Known>,
    /// Set when the run is over: a look that is under way comes to its end, and no other begins.
    stopped: watch::Sender<bool>,
}

impl ConflictMonitor {
    /// Takes a first look, so that every later one can tell what has changed.
    pub(crate) fn new(run_repo: Arc<RunRepo>, at_work: AtWork, ours: Vec<PathBuf>) -> ConflictMonitor {
        let before = run_repo.shadow().glimpse(run_repo.repository(), &ours).ok();
        let (before, known, stopped) = (Mutex::new(before), Mutex::default(), watch::Sender::new(false));
        ConflictMonitor { run_repo, at_work, ours, before, known, stopped }
    }

    fn look(&self) -> Vec<Input> {
        let mut seen: Vec<Input> = self.settings().into_iter().chain(self.checkout()).collect();
        if let Ok(coming) = self.forecast() {
            seen.extend(coming);
        }
        seen
    }

    /// What has changed of what the user's git is configured by.
    fn settings(&self) -> Option<Input> {
        let SettingsNews { what, undo, earlier } = self.run_repo.settings_news()?;
        Some(Input::GitSettingsTouched { what, undo, earlier })
    }

    /// What has changed in the user's checkout or branches since the last look. Blocks.
    pub(crate) fn checkout(&self) -> Option<Input> {
        let tasks = self.at_work.suspects();
        let now = self.run_repo.shadow().glimpse(self.run_repo.repository(), &self.ours).ok()?;
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let what = before.replace(now.clone()).map(|before| before.changes(&now)).unwrap_or_default();
        let more = what.len().saturating_sub(NAMED);
        let mut named: Vec<String> = what.into_iter().take(NAMED).collect();
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        (!named.is_empty()).then_some(Input::CheckoutTouched { tasks, what: named })
    }

    /// Merges what tasks have so far with what has landed and with each other, in memory, as far as the time for one look
    /// goes. The next look goes on from there.
    fn forecast(&self) -> Result<Vec<Input>, WorkspaceError> {
        let tip = self.run_repo.tip()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let workspaces = self.at_work.workspaces();
        known.keep_only(&workspaces);
        let deadline = Instant::now() + BUDGET;
        let is_over = || *self.stopped.borrow() || Instant::now() > deadline;
        let mut coming = Vec::new();
        for (task, workspace) in known.in_turn(workspaces) {
            if is_over() {
                break;
            }
            // One that is just being made ready or cleared is looked at next time.
            let Ok((base, tree)) = self.run_repo.snapshot_of(&workspace) else { continue };
            if !known.is_same(&task, &base, &tree) {
                let work = self.work(base, tree)?;
                known.learn(&task, work);
            }
            coming.extend(self.meet_tip(&mut known, &task, &tip)?);
            coming.extend(self.meet_others(&mut known, &task, &is_over)?);
            known.last = Some(task);
        }
        Ok(coming)
    }

    fn work(&self, base: String, tree: String) -> Result<Work, WorkspaceError> {
        let shadow = self.run_repo.shadow();
        let commit = shadow.commit(&tree, &[&base], "so far\n")?;
        let files = shadow.touched(&base, &commit)?.files.into_iter().collect();
        Ok(Work { base, tree, commit, files, met: HashSet::new() })
    }

    fn meet_tip(&self, known: &mut Known, task: &TaskId, tip: &str) -> Result<Option<Input>, WorkspaceError> {
        let Some(work) = known.works.get_mut(task) else { return Ok(None) };
        match work.base != tip && work.met.insert(tip.to_owned()) {
            true => self.meet(task, &work.commit, None, tip),
            false => Ok(None),
        }
    }

    /// With those that touch what it touches, and that it has not been merged with as both are now.
    fn meet_others(
        &self,
        known: &mut Known,
        task: &TaskId,
        is_over: &impl Fn() -> bool,
    ) -> Result<Vec<Input>, WorkspaceError> {
        let mut coming = Vec::new();
        for other in known.near(task) {
            if is_over() {
                break;
            }
            // In the order of their names, so that the same pair is always told in the same way.
            let (one, two) = if *task < other { (task, &other) } else { (&other, task) };
            let (Some(ours), Some(theirs)) = (known.works.get(one), known.works.get(two)) else { continue };
            coming.extend(self.meet(one, &ours.commit, Some(two), &theirs.commit)?);
            known.have_met(task, &other);
        }
        Ok(coming)
    }

    fn meet(
        &self,
        task: &TaskId,
        work: &str,
        with: Option<&TaskId>,
        other: &str,
    ) -> Result<Option<Input>, WorkspaceError> {
        Ok(match self.run_repo.shadow().merge(other, work, None)? {
            Merge::Clean { .. } => None,
            Merge::Conflict { files, .. } => {
                Some(Input::ConflictForeseen { task: task.clone(), with: with.cloned(), files })
            }
        })
    }
}
