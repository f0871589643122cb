//! `--merge pr` and `--merge pr-per-task`: what lands, on the remote and in pull requests that are brought up to date.
//!
//! A thread of its own does that: a slow forge holds no task up, and one that refuses changes nothing of what landed.

mod checks;
mod published;

use std::path::PathBuf;
use std::thread::JoinHandle;

use conductor_core::report::ledger::Ledger;
use conductor_core::run::Run;
use conductor_core::run::event::{BringHome, Event, Options};
use conductor_core::values::ids::RunId;
use conductor_engine::git::workspaces::RunRepo;
use conductor_engine::stores::Follower;
use tokio::sync::mpsc::UnboundedSender;

use super::arguments::Resolved;
pub(super) use checks::{Due, Patience};
use published::{Landed, Published};

pub(super) struct Publisher {
    thread: JoinHandle<Option<Published>>,
}

/// What a publisher needs of a run, taken before the run is given away.
pub(super) struct Source {
    root: PathBuf,
    folder: PathBuf,
    branch: String,
    started_from: Option<String>,
    repository: Option<String>,
    id: RunId,
    per_task: bool,
}

/// Nothing where no pull request is wanted, or there is no repository to make one of.
pub(super) fn source(
    (args, options): (&Resolved<'_>, &Options),
    id: &RunId,
    run: &Run,
    run_repo: Option<&RunRepo>,
    state: &std::path::Path,
) -> Option<Source> {
    let run_repo =
        run_repo.filter(|_| matches!(options.merge, Some(BringHome::Pr | BringHome::PrPerTask)))?;
    let short = |name: &str| name.trim_start_matches("refs/heads/").to_owned();
    let own = run.plan().tasks.iter().find_map(|task| task.repository.clone());
    Some(Source {
        root: run_repo.repository().root.clone(),
        folder: state.join("pull_request"),
        branch: short(run_repo.branch()),
        started_from: run_repo.repository().branch.as_deref().map(short),
        repository: args.typed.repository.clone().or(own),
        id: id.clone(),
        per_task: options.merge == Some(BringHome::PrPerTask),
    })
}

impl Publisher {
    pub(super) fn follow(
        source: Source,
        run: &Run,
        mut records: Follower,
        words: UnboundedSender<String>,
    ) -> Publisher {
        let mut names: Vec<(String, String)> =
            run.plan().tasks.iter().map(|task| (task.id.to_string(), task.name.clone())).collect();
        let before =
            run.tasks().filter_map(|(task, progress)| Some((task.id.to_string(), progress.landed.clone()?)));
        let landed: Vec<Landed> =
            before.map(|(task, landed)| Landed::new(&names, &task, &landed.commit)).collect();
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
                    match &record.event {
                        Event::TaskCompleted { task, commit: Some(commit) } => {
                            published.landed.push(Landed::new(&names, task.as_str(), commit));
                            is_new = true;
                        }
                        Event::PlanAmended { amendment, .. } => {
                            let joined = amendment.tasks.iter();
                            names.extend(joined.map(|task| (task.id.to_string(), task.name.clone())));
                        }
                        _ => {}
                    }
                }
                if is_new {
                    published.glance().into_iter().for_each(|news| drop(words.send(news)));
                    published.publish("").into_iter().for_each(|news| drop(words.send(news)));
                }
            }
            Some(published)
        });
        Publisher { thread }
    }

    /// The last word of it: with the ledger, once the checks are over or the time for them is. Blocks.
    pub(super) fn finish(self, ledger: Option<&Ledger>, run: &Run, patience: &Patience<'_>) -> Due {
        let Ok(Some(mut published)) = self.thread.join() else { return Due::default() };
        if published.landed.is_empty() {
            return Due::words(vec!["nothing landed, so there is no pull request".to_owned()]);
        }
        let news = published.publish(&ledger.map(told).unwrap_or_default());
        news.iter().for_each(|news| (patience.tell)(news.clone()));
        checks::settled(&published, run, patience)
    }
}

fn told(ledger: &Ledger) -> String {
    let text = serde_json::to_string_pretty(ledger).unwrap_or_default();
    format!("\n## Ledger\n\n```json\n{text}\n```\n")
}
