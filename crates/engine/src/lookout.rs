//! Looks around while tasks are at work: whether what they have so far would merge, and whether somebody writes where
//! nobody should.
//!
//! It only looks and tells. What it looks at is read through our own git and copies of indexes, so that neither an agent
//! nor the user notices.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use conductor_core::ids::TaskId;
use conductor_core::scheduler::Input;
use tokio::sync::mpsc::UnboundedSender;

use crate::drive::Message;
use crate::git::{Glimpse, Merge};
use crate::workspaces::{SettingsNews, WorkspaceError, Yard};

/// Looking takes at most this part of the time.
const SHARE: u32 = 20;

/// How many differences are told by name.
const NAMED: usize = 20;

/// Who works where, told by the loop.
#[derive(Debug, Clone, Default)]
pub(crate) struct AtWork(Arc<Mutex<Tasks>>);

#[derive(Debug, Default)]
struct Tasks {
    seats: BTreeMap<TaskId, String>,
    /// Everybody who was at work since the checkout was last looked at.
    since: BTreeSet<TaskId>,
}

impl AtWork {
    pub(crate) fn begins(&self, task: &TaskId, seat: String) {
        let mut tasks = self.lock();
        tasks.seats.insert(task.clone(), seat);
        tasks.since.insert(task.clone());
    }

    pub(crate) fn ends(&self, task: &TaskId) {
        self.lock().seats.remove(task);
    }

    fn seats(&self) -> Vec<(TaskId, String)> {
        self.lock().seats.clone().into_iter().collect()
    }

    /// Who could have done it; from now on counted anew.
    fn suspects(&self) -> Vec<TaskId> {
        let mut tasks = self.lock();
        let now = tasks.seats.keys().cloned().collect();
        std::mem::replace(&mut tasks.since, now).into_iter().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Lookout {
    yard: Arc<Yard>,
    at_work: AtWork,
    /// Folders in the checkout that are ours to write to.
    ours: Vec<PathBuf>,
    /// The checkout as it was at the last look; nothing before the first.
    before: Mutex<Option<Glimpse>>,
}

impl Lookout {
    /// Takes a first look, so that every later one can tell what has changed.
    pub(crate) fn new(yard: Arc<Yard>, at_work: AtWork, ours: Vec<PathBuf>) -> Lookout {
        let before = yard.shadow().glimpse(yard.repository(), &ours).ok();
        Lookout { yard, at_work, ours, before: Mutex::new(before) }
    }

    /// Looks again and again until nobody listens.
    pub(crate) async fn keep(self: Arc<Self>, every: Duration, reports: UnboundedSender<Message>) {
        let mut wait = every;
        loop {
            tokio::time::sleep(wait).await;
            let lookout = self.clone();
            let begun = Instant::now();
            let looked = tokio::task::spawn_blocking(move || lookout.look()).await;
            for input in looked.unwrap_or_default() {
                if reports.send(Message::Input(input)).is_err() {
                    return;
                }
            }
            wait = every.max(begun.elapsed() * SHARE);
        }
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
        let SettingsNews { what, undo, earlier } = self.yard.settings_news()?;
        Some(Input::GitSettingsTouched { what, undo, earlier })
    }

    /// What has changed in the user's checkout or branches since the last look. Blocks.
    pub(crate) fn checkout(&self) -> Option<Input> {
        let tasks = self.at_work.suspects();
        let now = self.yard.shadow().glimpse(self.yard.repository(), &self.ours).ok()?;
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let what = before.replace(now.clone()).map(|before| before.changes(&now)).unwrap_or_default();
        let more = what.len().saturating_sub(NAMED);
        let mut named: Vec<String> = what.into_iter().take(NAMED).collect();
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        (!named.is_empty()).then_some(Input::CheckoutTouched { tasks, what: named })
    }

    /// Merges what everybody has so far with what has landed and with each other, in memory.
    fn forecast(&self) -> Result<Vec<Input>, WorkspaceError> {
        let shadow = self.yard.shadow();
        let tip = self.yard.tip()?;
        let mut works = Vec::new();
        for (task, seat) in self.at_work.seats() {
            // One that is just being made ready or cleared is looked at next time.
            let Ok((base, tree)) = self.yard.glance(&seat) else { continue };
            works.push((task, shadow.commit(&tree, &[&base], "so far\n")?, base));
        }
        let mut coming = Vec::new();
        for (at, (task, work, base)) in works.iter().enumerate() {
            if *base != tip {
                coming.extend(self.meet(task, work, None, &tip)?);
            }
            for (other, others, _) in &works[at + 1..] {
                coming.extend(self.meet(task, work, Some(other), others)?);
            }
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
        Ok(match self.yard.shadow().merge(other, work, None)? {
            Merge::Clean { .. } => None,
            Merge::Conflict { files, .. } => {
                Some(Input::ConflictForeseen { task: task.clone(), with: with.cloned(), files })
            }
        })
    }
}
