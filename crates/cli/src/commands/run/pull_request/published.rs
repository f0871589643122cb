//! What of a run is on the remote, and its pull requests: one for the run, or one for each task, stacked as they landed.

use conductor_core::values::ids::RunId;
use conductor_engine::forge::{Checks, Forge, Opened, PullRequest};
use conductor_engine::git::courier::Courier;
use conductor_engine::git::workspaces::branch_word;

use super::Source;

/// The remote that is pushed to.
const REMOTE: &str = "origin";

/// A task whose work is on the run's branch.
#[derive(Debug, Clone)]
pub(super) struct Landed {
    pub(super) task: String,
    name: String,
    commit: String,
}

/// A pull request, and the commit its branch was last brought to.
#[derive(Debug, Clone)]
pub(super) struct Pull {
    /// Nothing where it is the run's.
    pub(super) task: Option<String>,
    pub(super) commit: String,
    pub(super) opened: Opened,
    head: String,
}

pub(super) struct Published {
    courier: Courier,
    forge: Forge,
    branch: String,
    base: String,
    id: RunId,
    per_task: bool,
    /// In the order in which it landed.
    pub(super) landed: Vec<Landed>,
    pub(super) pulls: Vec<Pull>,
}

impl Landed {
    pub(super) fn new(names: &[(String, String)], task: &str, commit: &str) -> Landed {
        let name = names.iter().find(|(known, _)| known == task).map_or(task, |(_, name)| name);
        Landed { task: task.to_owned(), name: name.to_owned(), commit: commit.to_owned() }
    }

    fn line(&self) -> String {
        format!("- {}: {} ({})", self.task, self.name, short(&self.commit))
    }
}

impl Published {
    pub(super) fn begin(source: &Source, mut landed: Vec<Landed>) -> Result<Published, String> {
        let courier =
            Courier::open(&source.folder, &source.root, REMOTE).map_err(|error| error.to_string())?;
        let forge =
            Forge::of(courier.url(), source.repository.as_deref()).map_err(|error| error.to_string())?;
        let on_remote = |branch: &&String| courier.tip_of(branch).is_ok_and(|tip| tip.is_some());
        let base = match source.started_from.as_ref().filter(on_remote) {
            Some(base) => base.clone(),
            None => forge.default_branch().map_err(|error| error.to_string())?,
        };
        // What was there before comes in the file's order, and is stacked in the branch's.
        let holds = |one: &Landed| {
            landed
                .iter()
                .filter(|other| courier.contains(&one.commit, &other.commit).unwrap_or(false))
                .count()
        };
        let depths: Vec<usize> = landed.iter().map(holds).collect();
        let mut order: Vec<(usize, Landed)> = depths.into_iter().zip(landed.drain(..)).collect();
        order.sort_by_key(|(depth, _)| *depth);
        let landed = order.into_iter().map(|(_, landed)| landed).collect();
        let (branch, id, per_task) = (source.branch.clone(), source.id.clone(), source.per_task);
        Ok(Published { courier, forge, branch, base, id, per_task, landed, pulls: Vec::new() })
    }

    /// Pushes what landed and has the pull requests say it; what is news of that. What is on the remote is never overwritten.
    /// With a ledger, everything is brought up to date.
    pub(super) fn publish(&mut self, ledger: &str) -> Vec<String> {
        let wanted: Vec<usize> = match (self.per_task, ledger.is_empty()) {
            (false, _) => vec![self.landed.len().saturating_sub(1)],
            (true, true) => (self.pulls.len()..self.landed.len()).collect(),
            (true, false) => (0..self.landed.len()).collect(),
        };
        let mut news = Vec::new();
        for place in wanted {
            match self.publish_one(place, ledger) {
                Ok(Some(url)) => news.push(format!("opened the pull request {url}")),
                Ok(None) => {}
                Err(why) => {
                    // Those above it would say that it is there.
                    news.push(format!(
                        "the pull request of {} is not up to date: {why}",
                        self.name_of(place)
                    ));
                    break;
                }
            }
        }
        news
    }

    fn name_of(&self, place: usize) -> &str {
        if self.per_task { &self.landed[place].task } else { &self.branch }
    }

    fn publish_one(&mut self, place: usize, ledger: &str) -> Result<Option<String>, String> {
        let words = |error: &dyn std::fmt::Display| error.to_string();
        let landed = self.landed[place].clone();
        let (task, head, base, commit, title) = match self.per_task {
            false => {
                let commit = self.courier.commit_of(&self.branch).map_err(|error| words(&error))?;
                (None, self.branch.clone(), self.base.clone(), commit, format!("Run {}", self.id))
            }
            true => {
                let (task, commit) = (Some(landed.task.clone()), landed.commit.clone());
                (task, self.head_of(&landed), self.below(place), commit, landed.name.clone())
            }
        };
        self.push(&head, &commit)?;
        let body = self.body(&landed, ledger);
        let wanted = PullRequest { head: &head, base: &base, title: &title, body: &body };
        let opened = self.forge.ensure(&wanted).map_err(|error| words(&error))?;
        let news = opened.is_new.then(|| opened.url.clone());
        self.pulls.retain(|pull| pull.head != head);
        let at = place.min(self.pulls.len());
        self.pulls.insert(at, Pull { task, commit, opened, head });
        Ok(news)
    }

    fn push(&self, head: &str, commit: &str) -> Result<(), String> {
        let there = self.courier.tip_of(head).map_err(|error| error.to_string())?;
        if there.as_deref() == Some(commit) {
            return Ok(());
        }
        if let Some(there) = &there
            && !self.courier.contains(commit, there).unwrap_or(false)
        {
            return Err(format!("{head} on the remote has commits that the run does not have"));
        }
        self.courier.push(commit, head, there.as_deref()).map_err(|error| error.to_string())
    }

    /// The branch of a task's own pull request.
    fn head_of(&self, landed: &Landed) -> String {
        format!("conductor-pr/{}/{}", self.id, branch_word(&landed.task))
    }

    /// What a task's pull request is compared with: the task that landed before it, so that each shows its own work.
    fn below(&self, place: usize) -> String {
        let landed = &self.landed[place];
        let before = self.landed[..place].last().filter(|before| {
            before.commit != landed.commit
                && self.courier.contains(&landed.commit, &before.commit).unwrap_or(false)
        });
        before.map_or_else(|| self.base.clone(), |before| self.head_of(before))
    }

    fn body(&self, landed: &Landed, ledger: &str) -> String {
        let lines: Vec<String> = self.landed.iter().map(Landed::line).collect();
        let lines = lines.join("\n");
        match self.per_task {
            false => {
                format!("Landed, each with its checks passed on this very tree:\n\n{lines}\n{ledger}")
            }
            true => format!(
                "Task `{}` of the run {}, landed as {} with its checks passed on this very tree.\n\n\
                 ## All that landed, each on top of the one before it\n\n{lines}\n{ledger}",
                landed.task, self.id, landed.commit
            ),
        }
    }

    /// How the checks stand that are about to be left behind: told while the run goes on.
    pub(super) fn glance(&self) -> Vec<String> {
        let failed = |pull: &Pull| match self.checks_of(pull) {
            Ok(Checks::Failed(failed)) => {
                Some(format!("checks of {} failed so far: {}", pull.opened.url, names(&failed)))
            }
            _ => None,
        };
        self.pulls.last().and_then(failed).into_iter().collect()
    }

    pub(super) fn checks_of(&self, pull: &Pull) -> Result<Checks, String> {
        self.forge.checks(&pull.commit).map_err(|error| error.to_string())
    }
}

/// The checks that failed, by name.
pub(super) fn names(failed: &[(String, String)]) -> String {
    failed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

pub(super) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
