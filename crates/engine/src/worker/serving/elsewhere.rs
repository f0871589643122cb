//! Attempts whose code is on another machine: it is fetched before they start, and what they did is pushed before that is
//! reported. A remote that cannot be reached is tried again for as long as the attempt is wanted.

use std::sync::Arc;
use std::time::Duration;

use conductor_core::run::event::{Failure, FailureClass, Outcome};
use conductor_core::schedule::Input;
use tracing::Instrument as _;

use super::places::Quarters;
use super::server::{Key, Server};
use super::speaking::rest;
use crate::dispatch::wire::FromWorker;
use crate::dispatch::{Order, Stop};
use crate::git::GitError;
use crate::git::handover::{Code, HandoverError};
use crate::git::workspaces::RunRepo;
use crate::host::logs::carried;
use crate::worker::local::ended;

/// How long it takes until a remote is tried again that could not be reached.
const PATIENCE: Duration = Duration::from_secs(1);

/// What came of something that was done off the loop.
pub(super) enum Done {
    Fetched { order: Box<Order>, code: Code, fetched: Box<Result<Option<RunRepo>, HandoverError>> },
    Pushed { key: Key, ended: Box<Input>, pushed: Result<Vec<FromWorker>, String> },
}

impl Server {
    pub(super) fn fetch(&mut self, order: Order, code: Code) {
        let Some(quarters) = self.quarters.clone() else { return };
        let settled = Box::new(quarters.settled(order, &code));
        self.fetching.insert((settled.task.clone(), settled.attempt), Stop::No);
        self.fetch_after(quarters, Duration::ZERO, settled, code);
    }

    fn fetch_after(&self, quarters: Arc<Quarters>, pause: Duration, order: Box<Order>, code: Code) {
        let (plan, done) = (self.plan.clone(), self.tell_done.clone());
        let run_repo = self.run_repos.get(&order.context.run).cloned();
        let fetching = async move {
            tokio::time::sleep(pause).await;
            let (asked, wanted) = (order.clone(), code.clone());
            let fetch = carried(move || quarters.fetch(&asked, &wanted, &plan, run_repo));
            let fetched = tokio::task::spawn_blocking(fetch).await;
            let fetched = fetched.unwrap_or_else(|panic| Err(HandoverError::Wrong(panic.to_string())));
            let _ = done.send(Done::Fetched { order, code, fetched: Box::new(fetched) });
        };
        tokio::spawn(fetching.in_current_span());
    }

    /// The end is reported when the work is on the remote, and after what the attempt has said.
    pub(super) fn deliver(&mut self, quarters: Arc<Quarters>, key: Key, ended: Input) {
        self.delivering.insert(key.clone(), Stop::No);
        self.push_after(quarters, Duration::ZERO, key, Box::new(ended));
    }

    fn push_after(&self, quarters: Arc<Quarters>, pause: Duration, key: Key, ended: Box<Input>) {
        let done = self.tell_done.clone();
        // One session has one run; it has begun, for there is an end.
        let Some(run) = self.runs.keys().next().cloned() else { return };
        let (executor, told) = (self.executor(&key.0), self.told_until(&key));
        let pushing = async move {
            tokio::time::sleep(pause).await;
            let commit = work_of(&ended).map(str::to_owned);
            let of = key.clone();
            let push = carried(move || {
                if let Some(commit) = commit {
                    quarters.outpost().push(&run, &of.0, of.1, &commit)?;
                }
                Ok::<_, GitError>(rest(&quarters, &run, &of, executor, told))
            });
            let pushed = match tokio::task::spawn_blocking(push).await {
                Ok(pushed) => pushed.map_err(|error| error.to_string()),
                Err(panic) => Err(panic.to_string()),
            };
            let _ = done.send(Done::Pushed { key, ended, pushed });
        };
        tokio::spawn(pushing.in_current_span());
    }

    pub(super) fn go_on(&mut self, done: Done) -> Vec<FromWorker> {
        match done {
            Done::Fetched { order, code, fetched } => self.fetched(order, code, *fetched),
            Done::Pushed { key, ended, pushed } => self.pushed(key, *ended, pushed),
        }
    }

    fn fetched(
        &mut self,
        order: Box<Order>,
        code: Code,
        fetched: Result<Option<RunRepo>, HandoverError>,
    ) -> Vec<FromWorker> {
        let key = (order.task.clone(), order.attempt);
        let wish = self.fetching.remove(&key).unwrap_or(Stop::No);
        if wish != Stop::No {
            return self.report(ended(&order, Outcome::Interrupted), None);
        }
        match fetched {
            Ok(made) => {
                if !self.runs.contains_key(&order.context.run) {
                    self.take_up(&order, made);
                }
                self.set_to_work(*order);
                Vec::new()
            }
            Err(error @ (HandoverError::Git(_) | HandoverError::Lacking(_))) => {
                let mut again = self.told_once(&key, format!("its code cannot be fetched: {error}"));
                if let HandoverError::Lacking(commits) = error {
                    let (task, attempt) = key.clone();
                    again.push(FromWorker::Lacks { task, attempt, commits });
                }
                self.fetching.insert(key, wish);
                if let Some(quarters) = self.quarters.clone() {
                    self.fetch_after(quarters, PATIENCE, order, code);
                }
                again
            }
            Err(error) => {
                let failure = Failure::new(FailureClass::Unstartable, format!("no workspace: {error}"));
                self.report(ended(&order, Outcome::Failed(failure)), None)
            }
        }
    }

    fn pushed(&mut self, key: Key, end: Input, pushed: Result<Vec<FromWorker>, String>) -> Vec<FromWorker> {
        let wish = self.delivering.remove(&key).unwrap_or(Stop::No);
        match pushed {
            Ok(mut lines) => {
                lines.extend(self.report(end, None));
                lines
            }
            Err(_) if wish == Stop::Kill => {
                let (task, attempt) = key;
                let (outcome, phases) = (Outcome::Interrupted, None);
                self.report(Input::AttemptEnded { task, attempt, outcome, change: None, phases }, None)
            }
            Err(why) => {
                let again = self.told_once(&key, format!("its work waits here: it cannot be pushed: {why}"));
                self.delivering.insert(key.clone(), wish);
                if let Some(quarters) = self.quarters.clone() {
                    self.push_after(quarters, PATIENCE, key, Box::new(end));
                }
                again
            }
        }
    }

    fn told_once(&mut self, key: &Key, what: String) -> Vec<FromWorker> {
        match self.told.insert(key.clone()) {
            true => vec![FromWorker::Notice { text: format!("{}: {what}", key.0) }],
            false => Vec::new(),
        }
    }
}

/// The commit that an end speaks of.
fn work_of(ended: &Input) -> Option<&str> {
    match ended {
        Input::AttemptEnded { change: Some(change), .. } => Some(&change.commit),
        _ => None,
    }
}
