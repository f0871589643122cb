//! A worker on another machine than its coordinators', which are reached over a broker; its code comes and goes over git.

mod joining;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor_core::values::ids::{RunId, WorkerId};
use conductor_core::values::units::Tick;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

pub use super::serving::ReaperCommand;
use super::serving::{Quarters, Served, attend};
use crate::dispatch::broker::{Broker, BrokerError, Queue};
use crate::dispatch::distant::carrier::{Carrier, Tell};
use crate::dispatch::distant::exchanging::{PROGRAM, signed};
use crate::dispatch::distant::packet::{Channel, Queues};
use crate::dispatch::distant::signing::{self, Key, KeyId};
use crate::dispatch::distant::worker_side::{Profile, WorkerEffect, WorkerSide};
use crate::dispatch::wire::{FromWorker, ToWorker};
use crate::git::GitError;
use crate::git::handover::Outpost;
use crate::host::access;
use crate::process;

/// How often a worker gives a sign of life: a few may be late before a lease ends.
pub const BEAT: Duration = Duration::from_secs(5);

/// How often what the time brings is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How long it is without a run until it ends, where it is to end then.
const IDLE: Duration = Duration::from_secs(20);

/// How long its end waits until its coordinators are told.
const END: Duration = Duration::from_secs(3);

#[derive(Debug, Error)]
pub enum DistantError {
    #[error(transparent)]
    Broker(#[from] BrokerError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} is no worker's folder: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("a worker is at work in {} already", .0.display())]
    Busy(PathBuf),
    #[error("it was not taken in: {0}")]
    Refused(String),
}

/// Who a worker is: what it was taken in as, by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub fleet: KeyId,
    pub worker: WorkerId,
}

/// How a worker is to work.
pub struct Terms {
    pub broker: Arc<dyn Broker>,
    /// The git remote by which code comes and goes.
    pub git: String,
    pub slots: u32,
    pub labels: Vec<String>,
    /// It ends when it has had no run for a while.
    pub exit_when_idle: bool,
    /// How often it gives a sign of life, such as `BEAT`.
    pub beat: Duration,
    /// What starts the process that ends what is left of a run if this one is killed: by the worker's folder and the run.
    pub reaper: Option<ReaperCommand>,
}

/// How a worker is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leaving {
    No,
    /// When what it is at is done.
    Drained,
    /// At once.
    Now,
}

/// What `WorkerFolder::drain` tells the process that works in a folder: its commands' own signals mean something else.
const DRAIN: Signal = Signal::USR2;

/// A worker of another process that takes nothing more, until it has ended.
pub struct Draining {
    path: PathBuf,
    lock: File,
}

impl Draining {
    /// Blocks until it has ended.
    pub fn wait(self) -> Result<(), DistantError> {
        self.lock.lock().map_err(|source| DistantError::File { path: self.path, source })
    }
}

/// The folder of a worker, which no other process works in as long as this is held.
pub struct WorkerFolder {
    path: PathBuf,
    _lock: File,
}

impl WorkerFolder {
    pub fn take(path: &Path) -> Result<WorkerFolder, DistantError> {
        let file = |source| DistantError::File { path: path.to_owned(), source };
        access::create_private_dir_all(path).map_err(file)?;
        let lock = access::private().write(true).create(true).truncate(false).open(path.join("lock"));
        let mut lock = lock.map_err(file)?;
        match lock.try_lock() {
            Ok(()) => {
                // For the one that is to tell it something.
                lock.set_len(0).and_then(|()| write!(lock, "{}", std::process::id())).map_err(file)?;
                Ok(WorkerFolder { path: path.to_owned(), _lock: lock })
            }
            Err(std::fs::TryLockError::WouldBlock) => Err(DistantError::Busy(path.to_owned())),
            Err(std::fs::TryLockError::Error(error)) => Err(file(error)),
        }
    }

    /// Has the process that works there take nothing more and end; nothing where there is none.
    pub fn drain(path: &Path) -> Result<Option<Draining>, DistantError> {
        let file = |source| DistantError::File { path: path.to_owned(), source };
        let mut lock = match access::private().read(true).write(true).open(path.join("lock")) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(file(source)),
        };
        match lock.try_lock() {
            Ok(()) => return Ok(None),
            Err(std::fs::TryLockError::WouldBlock) => {}
            Err(std::fs::TryLockError::Error(error)) => return Err(file(error)),
        }
        let mut text = String::new();
        lock.read_to_string(&mut text).map_err(file)?;
        let why = "the process that works there has not said which one it is".to_owned();
        let holder = text.trim().parse().ok().and_then(Pid::from_raw);
        let holder = holder.ok_or(DistantError::Unreadable { path: path.to_owned(), why })?;
        kill_process(holder, DRAIN).map_err(|error| file(error.into()))?;
        Ok(Some(Draining { path: path.to_owned(), lock }))
    }

    fn key(&self) -> Result<Key, DistantError> {
        let path = self.path.join("worker.key");
        Key::kept(&path).map_err(|source| DistantError::File { path, source })
    }

    /// Who it is, if it was taken in.
    pub fn identity(&self) -> Result<Option<Identity>, DistantError> {
        let path = self.path.join("identity.json");
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| DistantError::Unreadable { path, why: error.to_string() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(DistantError::File { path, source }),
        }
    }
}

/// Works for the runs that call until it is to end. It is told when it is to end, and tells what happens.
pub async fn work(
    folder: &WorkerFolder,
    identity: Identity,
    terms: Terms,
    leaving: watch::Receiver<Leaving>,
    tell: Tell,
) -> Result<(), DistantError> {
    process::raise_descriptor_limit();
    process::adopt_orphans();
    let outpost = Outpost::open(&folder.path.join("repository"), &terms.git)?;
    let quarters = Quarters::new(folder.path.clone(), outpost, terms.slots, terms.reaper);
    quarters.swept().await.into_iter().for_each(&*tell);
    let Identity { fleet, worker } = identity;
    let queue = Queues::of(&fleet).worker(&worker);
    let profile = Profile { worker, slots: terms.slots, labels: terms.labels, program: PROGRAM.to_owned() };
    let (sayings, said) = mpsc::unbounded_channel();
    let working = Working {
        key: folder.key()?,
        worker_side: WorkerSide::new(profile, fleet),
        carrier: Carrier::new(terms.broker, tell.clone()),
        quarters,
        beat: terms.beat,
        sayings,
        runs: BTreeMap::new(),
        ending: BTreeMap::new(),
        began: Instant::now(),
        busy: Instant::now(),
        tell,
        told_refused: false,
    };
    working.go_on(queue, said, leaving, terms.exit_when_idle).await;
    Ok(())
}

type Saying = (RunId, Channel, FromWorker);

struct Working {
    key: Key,
    worker_side: WorkerSide,
    carrier: Carrier,
    quarters: Arc<Quarters>,
    beat: Duration,
    sayings: mpsc::UnboundedSender<Saying>,
    runs: BTreeMap<RunId, Underway>,
    /// What is left of sessions that are over comes to its end.
    ending: BTreeMap<RunId, JoinHandle<()>>,
    began: Instant,
    /// When it last had a run.
    busy: Instant,
    tell: Tell,
    told_refused: bool,
}

/// A session with a coordinator.
struct Underway {
    orders: mpsc::UnboundedSender<io::Result<ToWorker>>,
    serving: JoinHandle<io::Result<Served>>,
}

impl Working {
    async fn go_on(
        mut self,
        queue: Queue,
        mut said: mpsc::UnboundedReceiver<Saying>,
        mut leaving: watch::Receiver<Leaving>,
        exit_when_idle: bool,
    ) {
        let (heard, mut incoming) = mpsc::channel(256);
        self.carrier.take(queue, heard);
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some((queue, message)) = incoming.recv() => self.hear(&queue, &message),
                Some((run, channel, what)) = said.recv() => {
                    self.say(&run, &channel, &what);
                    while let Ok((run, channel, what)) = said.try_recv() {
                        self.say(&run, &channel, &what);
                    }
                }
                _ = looks.tick() => {}
                changed = leaving.changed() => if changed.is_err() { break },
            }
            let effects = self.worker_side.due(self.now());
            self.perform(effects);
            let wish = *leaving.borrow();
            if wish != Leaving::No {
                self.worker_side.leave();
            }
            if wish == Leaving::Now || self.may_end(wish, exit_when_idle) {
                break;
            }
        }
        self.end().await;
    }

    /// Whether there is nothing left to do, where that is the end.
    fn may_end(&mut self, wish: Leaving, exit_when_idle: bool) -> bool {
        if !self.worker_side.is_idle() || !self.ending.values().all(JoinHandle::is_finished) {
            self.busy = Instant::now();
        }
        let is_free = self.quarters.is_done();
        match wish {
            Leaving::Drained => is_free && self.runs.keys().all(|run| self.worker_side.is_heard(run)),
            _ => exit_when_idle && is_free && self.busy.elapsed() > IDLE,
        }
    }

    async fn end(mut self) {
        let runs = std::mem::take(&mut self.runs);
        // What they had at work is ended before their coordinators start it elsewhere.
        for (_, underway) in runs {
            drop(underway.orders);
            let _ = underway.serving.await;
        }
        for (_, ending) in std::mem::take(&mut self.ending) {
            let _ = ending.await;
        }
        let effects = self.worker_side.close();
        self.perform(effects);
        self.carrier.close(END).await;
    }

    fn now(&self) -> Tick {
        Tick(self.began.elapsed().as_millis() as u64)
    }

    fn say(&mut self, run: &RunId, channel: &Channel, what: &FromWorker) {
        match serde_json::to_string(what) {
            Ok(line) => self.worker_side.say(run, channel, line),
            Err(error) => (self.tell)(format!("run {run} cannot be told: {error}")),
        }
    }

    fn hear(&mut self, queue: &Queue, message: &[u8]) {
        let now = self.now();
        let heard =
            signing::open(queue, message).map_err(|error| error.to_string()).and_then(|(from, body)| {
                let packet =
                    serde_json::from_slice(body).map_err(|error| format!("it cannot be read: {error}"))?;
                let session = joining::drawn().map_err(|error| error.to_string())?;
                self.worker_side.hear(now, &from, packet, || session)
            });
        match heard {
            Ok(effects) => self.perform(effects),
            Err(why) => {
                tracing::warn!(queue = queue.0, why, "refused a message");
                if !std::mem::replace(&mut self.told_refused, true) {
                    (self.tell)(format!("a message on the queue was refused: {why}"));
                }
            }
        }
    }

    fn perform(&mut self, effects: Vec<WorkerEffect>) {
        for effect in effects {
            match effect {
                WorkerEffect::Began(run, channel) => self.begin(run, channel),
                WorkerEffect::Heard(run, line) => self.pass_on(&run, &line),
                WorkerEffect::Ended { run, why, is_over } => self.finish(run, &why, is_over),
                WorkerEffect::Send(queue, packet) => {
                    if let Some(message) = signed(&self.key, &queue, &packet) {
                        self.carrier.put(queue, message);
                    }
                }
                WorkerEffect::Tell(text) => (self.tell)(text),
            }
        }
    }

    fn begin(&mut self, run: RunId, channel: Channel) {
        (self.tell)(format!("works for run {run}"));
        let (orders, heard) = mpsc::unbounded_channel();
        let (say, mut lines) = mpsc::unbounded_channel();
        let (quarters, before, beat) = (self.quarters.clone(), self.ending.remove(&run), self.beat);
        let serving = tokio::spawn(async move {
            // Folders are those of the session before.
            if let Some(before) = before {
                let _ = before.await;
            }
            attend(heard, say, beat, Some(quarters)).await
        });
        let (sayings, of) = (self.sayings.clone(), run.clone());
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                if sayings.send((of.clone(), channel.clone(), line)).is_err() {
                    return;
                }
            }
        });
        self.runs.insert(run, Underway { orders, serving });
    }

    fn pass_on(&mut self, run: &RunId, line: &str) {
        let Some(underway) = self.runs.get(run) else { return };
        let order = serde_json::from_str(line).map_err(|error| {
            (self.tell)(format!("what run {run} says cannot be understood: {error}"));
            io::Error::new(io::ErrorKind::InvalidData, error)
        });
        let _ = underway.orders.send(order);
    }

    fn finish(&mut self, run: RunId, why: &str, is_over: bool) {
        (self.tell)(format!("works for run {run} no more: {why}"));
        let Some(Underway { orders, serving }) = self.runs.remove(&run) else { return };
        drop(orders);
        let ending = tokio::spawn(async move {
            if let Ok(Ok(served)) = serving.await
                && is_over
            {
                served.clear().await;
            }
        });
        self.ending.insert(run, ending);
    }
}
