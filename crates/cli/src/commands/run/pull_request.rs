//! `--merge pr`: the run's branch on the remote and one pull request for it, brought up to date on each landing.
//!
//! A thread of its own does that: a slow forge holds no task up, and one that refuses changes nothing of what landed.

use std::path::PathBuf;
use std::thread::JoinHandle;

use conductor_core::report::ledger::Ledger;
use conductor_core::run::Run;
use conductor_core::run::event::Event;
use conductor_core::values::ids::RunId;
use conductor_engine::forge::{Checks, Forge, Opened, PullRequest};
use conductor_engine::git::courier::Courier;
use conductor_engine::git::workspaces::RunRepo;
use conductor_engine::stores::Follower;
use tokio::sync::mpsc::UnboundedSender;

use super::arguments::Resolved;
use crate::args::Merge;

/// The remote that is pushed to.
const REMOTE: &str = "origin";

pub(super) struct Publisher {
    thread: JoinHandle<Option<Published>>,
}

/// What is published so far.
struct Published {
    courier: Courier,
    forge: Forge,
    branch: String,
    base: String,
    title: String,
    landed: Vec<String>,
    at: Option<String>,
    opened: Option<Opened>,
}

/// What a publisher needs of a run, taken before the run is given away.
pub(super) struct Source {
    root: PathBuf,
    folder: PathBuf,
    branch: String,
    started_from: Option<String>,
    repository: Option<String>,
    id: RunId,
}

/// Nothing where no pull request is wanted, or there is no repository to make one of.
pub(super) fn source(
    args: &Resolved<'_>,
    id: &RunId,
    run: &Run,
    run_repo: Option<&RunRepo>,
    state: &std::path::Path,
) -> Option<Source> {
    let run_repo = run_repo.filter(|_| args.typed.merge == Merge::Pr)?;
    let short = |name: &str| name.trim_start_matches("refs/heads/").to_owned();
    let own = run.plan().tasks.iter().find_map(|task| task.repository.clone());
    Some(Source {
        root: run_repo.repository().root.clone(),
        folder: state.join("pull_request"),
        branch: short(run_repo.branch()),
        started_from: run_repo.repository().branch.as_deref().map(short),
        repository: args.typed.repository.clone().or(own),
        id: id.clone(),
    })
}

impl Publisher {
    pub(super) fn follow(
        source: Source,
        run: &Run,
        mut records: Follower,
        words: UnboundedSender<String>,
    ) -> Publisher {
        let names: Vec<(String, String)> =
            run.plan().tasks.iter().map(|task| (task.id.to_string(), task.name.clone())).collect();
        let before =
            run.tasks().filter_map(|(task, progress)| Some((task.id.to_string(), progress.landed.clone()?)));
        let landed: Vec<String> = before.map(|(id, landed)| line(&names, &id, &landed.commit)).collect();
        let thread = std::thread::spawn(move || {
            let mut published = match Published::begin(&source, landed) {
                Ok(published) => published,
                Err(why) => {
                    let _ = words.send(format!("no pull request is made: {why}"));
                    while records.blocking_recv().is_some() {}
                    return None;
                }
            };
            while let Some(batch) = records.blocking_recv() {
                let mut is_new = false;
                for record in batch.iter() {
                    if let Event::TaskCompleted { task, commit: Some(commit) } = &record.event {
                        published.landed.push(line(&names, task.as_str(), commit));
                        is_new = true;
                    }
                }
                if is_new {
                    let done = published.publish("");
                    published.tell(published_words(done, &published), &words);
                }
            }
            Some(published)
        });
        Publisher { thread }
    }

    /// The last word: with the ledger, and how the checks stand now.
    pub(super) fn finish(self, ledger: Option<&Ledger>) -> Vec<String> {
        let Ok(Some(mut published)) = self.thread.join() else { return Vec::new() };
        if published.landed.is_empty() {
            return vec!["nothing landed, so there is no pull request".to_owned()];
        }
        let ledger = ledger.map(told).unwrap_or_default();
        match published.publish(&ledger) {
            Ok(opened) => {
                let checks = published.checks();
                vec![format!("pull request {}: {checks}", opened.url)]
            }
            Err(why) => vec![format!("the pull request is not up to date: {why}")],
        }
    }
}

fn line(names: &[(String, String)], id: &str, commit: &str) -> String {
    let name = names.iter().find(|(known, _)| known == id).map_or(id, |(_, name)| name);
    format!("- {id}: {name} ({})", commit.get(..10).unwrap_or(commit))
}

fn told(ledger: &Ledger) -> String {
    let text = serde_json::to_string_pretty(ledger).unwrap_or_default();
    format!("\n## Ledger\n\n```json\n{text}\n```\n")
}

fn published_words(done: Result<Opened, String>, published: &Published) -> Option<String> {
    match done {
        Ok(opened) if opened.is_new => Some(format!("opened the pull request {}", opened.url)),
        Ok(_) => None,
        Err(why) => Some(format!("the pull request of {} is not up to date: {why}", published.branch)),
    }
}

impl Published {
    fn begin(source: &Source, landed: Vec<String>) -> Result<Published, String> {
        let courier =
            Courier::open(&source.folder, &source.root, REMOTE).map_err(|error| error.to_string())?;
        let forge =
            Forge::of(courier.url(), source.repository.as_deref()).map_err(|error| error.to_string())?;
        let on_remote = |branch: &&String| courier.tip_of(branch).is_ok_and(|tip| tip.is_some());
        let base = match source.started_from.as_ref().filter(on_remote) {
            Some(base) => base.clone(),
            None => forge.default_branch().map_err(|error| error.to_string())?,
        };
        let (branch, title) = (source.branch.clone(), format!("Run {}", source.id));
        Ok(Published { courier, forge, branch, base, title, landed, at: None, opened: None })
    }

    fn tell(&self, news: Option<String>, words: &UnboundedSender<String>) {
        if let Some(news) = news {
            let _ = words.send(news);
        }
    }

    /// Pushes what landed and has the pull request say it. What is on the remote is never overwritten.
    fn publish(&mut self, more: &str) -> Result<Opened, String> {
        let words = |error: &dyn std::fmt::Display| error.to_string();
        let commit = self.courier.commit_of(&self.branch).map_err(|error| words(&error))?;
        let there = self.courier.tip_of(&self.branch).map_err(|error| words(&error))?;
        if there.as_deref() != Some(&commit) {
            if let Some(there) = &there
                && !self.courier.contains(&commit, there).unwrap_or(false)
            {
                return Err(format!("{} on the remote has commits that the run does not have", self.branch));
            }
            self.courier.push(&commit, &self.branch, there.as_deref()).map_err(|error| words(&error))?;
        }
        let body = format!(
            "Landed, each with its checks passed on this very tree:\n\n{}\n{more}",
            self.landed.join("\n")
        );
        let wanted = PullRequest { head: &self.branch, base: &self.base, title: &self.title, body: &body };
        let opened = self.forge.ensure(&wanted).map_err(|error| words(&error))?;
        (self.at, self.opened) = (Some(commit), Some(opened.clone()));
        Ok(opened)
    }

    fn checks(&self) -> String {
        let Some(commit) = &self.at else { return "its checks are not known".to_owned() };
        match self.forge.checks(commit) {
            Ok(Checks::None) => "it has no checks so far".to_owned(),
            Ok(Checks::Pending) => "its checks are still running".to_owned(),
            Ok(Checks::Passed) => "its checks passed".to_owned(),
            Ok(Checks::Failed(failed)) => {
                let names: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
                format!("its checks failed: {}", names.join(", "))
            }
            Err(error) => format!("its checks cannot be seen: {error}"),
        }
    }
}
