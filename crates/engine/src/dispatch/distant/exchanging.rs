//! A run's workers on other machines are called, heard and told, as long as the run goes on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use conductor_core::run::Run;
use conductor_core::values::ids::{RunId, WorkerId};
use conductor_core::values::units::Tick;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use super::carrier::{Carrier, Tell};
use super::coordinator_side::{CoordinatorEffect, CoordinatorSide};
use super::enrolment::{Enrolment, EnrolmentError};
use super::packet::{Certificate, Here, Packet, Queues};
use super::signing::{self, Key};
use crate::dispatch::broker::{Broker, BrokerError, Queue};
use crate::dispatch::remote::{Abilities, Remote};
use crate::dispatch::sites::Sites;
use crate::dispatch::wire::ToWorker;
use crate::dispatch::{Dispatch, Link};
use crate::git::handover::Handover;
use crate::stores::Epoch;

/// How often what the time brings is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// How long the end of a run waits until its workers are told.
const END: Duration = Duration::from_secs(3);

/// The version of this program, as others are told it.
pub(crate) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Error)]
pub enum EngageError {
    #[error(transparent)]
    Broker(#[from] BrokerError),
    #[error(transparent)]
    Enrolment(#[from] EnrolmentError),
    #[error("no key can be made: {0}")]
    Key(std::io::Error),
}

/// What a run needs so that workers on other machines carry its attempts out.
pub struct DistantOptions {
    pub broker: Arc<dyn Broker>,
    /// The state directory of all runs.
    pub home: PathBuf,
    pub run: RunId,
    /// Of the claim on it: a later coordinator's is greater.
    pub epoch: Epoch,
    pub handover: Handover,
    /// Where transcripts and reports go.
    pub output: PathBuf,
}

/// The call of a run's workers, until it is ended.
pub struct DistantWorkers {
    end: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
    handover: Arc<Handover>,
}

/// Gets hold of workers by which attempts reach the coordinator over this link; the other is for what is done here.
pub type Engage = Box<dyn FnOnce(Link, Arc<dyn Dispatch>) -> Arc<dyn Dispatch> + Send>;

impl DistantOptions {
    /// What carries attempts out once the coordinator is there. `run` is as it is then.
    pub fn engage(self, run: &Run) -> Result<(Engage, DistantWorkers), EngageError> {
        let enrolment = Enrolment::of(&self.home);
        let (fleet, run_key) = (enrolment.key()?, Key::generate().map_err(EngageError::Key)?);
        let certificate = Certificate::issue(&fleet, &self.run, run_key.id(), self.epoch.0);
        let queues = Queues::of(&fleet.id());
        let coordinator_side = CoordinatorSide::new(queues.clone(), certificate, PROGRAM);
        let (end, is_ended) = oneshot::channel();
        let (tell_end, ended) = oneshot::channel();
        let handover = Arc::new(self.handover);
        let distant = DistantWorkers { end, ended, handover: handover.clone() };
        let (plan, conversations) = (run.plan().clone(), run.conversations().collect());
        let (broker, run) = (self.broker, self.run);
        let engage: Engage = Box::new(move |link, here| {
            let remote = Remote::apart(link.clone(), plan, handover, self.output, conversations);
            let notices = link.clone();
            let tell: Tell = Arc::new(move |text| notices.notice(text));
            let exchanging = Exchanging {
                carrier: Carrier::new(broker.clone(), tell),
                broker,
                coordinator_side,
                queues,
                run,
                fleet,
                run_key,
                enrolment,
                remote: Arc::downgrade(&remote),
                link,
                began: Instant::now(),
                told_refused: false,
                is_enrolment_told: false,
            };
            tokio::spawn(async move {
                exchanging.attend(is_ended).await;
                let _ = tell_end.send(());
            });
            Arc::new(Sites::new(remote, here))
        });
        Ok((engage, distant))
    }
}

impl DistantWorkers {
    /// The run's workers are told that it is over or left; what was handed over for a run that is over goes. Why that
    /// cannot be taken off the remote is returned.
    pub async fn finish(self, is_over: bool) -> Option<String> {
        let _ = self.end.send(());
        let _ = tokio::time::timeout(END * 2, self.ended).await;
        if !is_over {
            return None;
        }
        let handover = self.handover;
        let clearing = tokio::task::spawn_blocking(move || handover.clear()).await;
        match clearing {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(panic) => Some(panic.to_string()),
        }
    }
}

struct Exchanging {
    carrier: Carrier,
    broker: Arc<dyn Broker>,
    coordinator_side: CoordinatorSide,
    queues: Queues,
    run: RunId,
    fleet: Key,
    run_key: Key,
    enrolment: Enrolment,
    remote: Weak<Remote>,
    link: Link,
    began: Instant,
    told_refused: bool,
    is_enrolment_told: bool,
}

/// What a worker is told, and in which session.
type Saying = (WorkerId, String, ToWorker);

impl Exchanging {
    async fn attend(mut self, mut is_ended: oneshot::Receiver<()>) {
        let (heard, mut incoming) = mpsc::channel(256);
        let (sayings, mut said) = mpsc::unbounded_channel::<Saying>();
        self.carrier.take(self.queues.run(&self.run), heard.clone());
        self.carrier.take(self.queues.joining(), heard);
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                // The coordinator's sender goes only while the whole run is torn down.
                _ = &mut is_ended => break,
                Some((queue, message)) = incoming.recv() => self.hear(&queue, &message, &sayings),
                Some((worker, session, what)) = said.recv() => {
                    self.say(&worker, &session, &what);
                    while let Ok((worker, session, what)) = said.try_recv() {
                        self.say(&worker, &session, &what);
                    }
                }
                _ = looks.tick() => self.look(&sayings),
            }
            let effects = self.coordinator_side.due(self.now());
            self.perform(effects, &sayings);
        }
        let effects = self.coordinator_side.close();
        self.perform(effects, &sayings);
        self.carrier.close(END).await;
        let _ = tokio::time::timeout(END, self.broker.remove(&self.queues.run(&self.run))).await;
    }

    fn now(&self) -> Tick {
        Tick(self.began.elapsed().as_millis() as u64)
    }

    fn say(&mut self, worker: &WorkerId, session: &str, what: &ToWorker) {
        match serde_json::to_string(what) {
            Ok(line) => self.coordinator_side.say(worker, session, line),
            Err(error) => self.link.notice(format!("worker {worker} cannot be told: {error}")),
        }
    }

    fn hear(&mut self, queue: &Queue, message: &[u8], sayings: &mpsc::UnboundedSender<Saying>) {
        let heard =
            signing::open(queue, message).map_err(|error| error.to_string()).and_then(|(from, body)| {
                let packet =
                    serde_json::from_slice(body).map_err(|error| format!("it cannot be read: {error}"))?;
                match packet {
                    Packet::Join { worker, key, replies } if *queue == self.queues.joining() => {
                        Ok(self.join(&from, worker, key, &replies))
                    }
                    packet => self.coordinator_side.hear(self.now(), &from, packet),
                }
            });
        match heard {
            Ok(effects) => self.perform(effects, sayings),
            Err(why) => self.refuse(queue, &why),
        }
    }

    fn refuse(&mut self, queue: &Queue, why: &str) {
        tracing::warn!(queue = queue.0, why, "refused a message");
        if !std::mem::replace(&mut self.told_refused, true) {
            self.link
                .notice(format!("a message on the queue was refused: {why}; the run's log tells of others"));
        }
    }

    fn join(
        &mut self,
        invitation: &signing::KeyId,
        worker: WorkerId,
        key: signing::KeyId,
        replies: &str,
    ) -> Vec<CoordinatorEffect> {
        let answer = joined(&self.enrolment, &self.fleet, invitation, worker, key, replies);
        let Some((queue, message)) = answer else { return Vec::new() };
        self.carrier.put(queue, message);
        self.enrol()
    }

    /// Who is on the enrolment by now.
    fn enrol(&mut self) -> Vec<CoordinatorEffect> {
        match self.enrolment.entries() {
            Ok(entries) => {
                self.is_enrolment_told = false;
                let effects = self.coordinator_side.enrol(&entries);
                if let Some(remote) = self.remote.upgrade() {
                    for (name, worker) in &entries.workers {
                        WorkerId::parse(name)
                            .into_iter()
                            .for_each(|name| remote.drain(&name, worker.drained));
                    }
                }
                effects
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_enrolment_told, true) {
                    self.link.notice(format!("who may work for this run cannot be read: {error}"));
                }
                Vec::new()
            }
        }
    }

    fn look(&mut self, sayings: &mpsc::UnboundedSender<Saying>) {
        let effects = self.enrol();
        self.perform(effects, sayings);
    }

    fn perform(&mut self, effects: Vec<CoordinatorEffect>, sayings: &mpsc::UnboundedSender<Saying>) {
        let mut more = Vec::new();
        for effect in effects {
            match effect {
                CoordinatorEffect::Began(here) => more.extend(self.begin(here, sayings)),
                CoordinatorEffect::Heard(worker, line) => more.extend(self.pass_on(&worker, &line)),
                CoordinatorEffect::Lost(worker, why) => {
                    if let Some(remote) = self.remote.upgrade() {
                        remote.lose(&worker, &why);
                    }
                }
                CoordinatorEffect::Send(queue, packet) => {
                    if let Some(message) = signed(&self.run_key, &queue, &packet) {
                        self.carrier.put(queue, message);
                    }
                }
                CoordinatorEffect::Call(queue, packet) => {
                    if let Some(message) = signed(&self.run_key, &queue, &packet) {
                        self.carrier.put_if_empty(queue, message);
                    }
                }
                CoordinatorEffect::Tell(text) => self.link.notice(text),
            }
        }
        if !more.is_empty() {
            self.perform(more, sayings);
        }
    }

    fn begin(&mut self, here: Here, sayings: &mpsc::UnboundedSender<Saying>) -> Vec<CoordinatorEffect> {
        let Some(remote) = self.remote.upgrade() else { return Vec::new() };
        let (out, mut outgoing) = mpsc::unbounded_channel();
        let labels = here.labels.iter().cloned().collect();
        let enrolled =
            self.enrolment.entries().ok().and_then(|mut all| all.workers.remove(here.worker.as_str()));
        let is_drained = enrolled.is_some_and(|enrolled| enrolled.drained);
        let abilities = Abilities { slots: Some(here.slots), labels, is_drained };
        if let Err(why) = remote.take_in(&here.worker, out, abilities) {
            return self.coordinator_side.give_up(&here.worker, &why);
        }
        self.link.notice(format!("worker {} is there, for {} at once", here.worker, here.slots));
        let (worker, session, sayings) = (here.worker, here.channel.session, sayings.clone());
        tokio::spawn(async move {
            while let Some(what) = outgoing.recv().await {
                if sayings.send((worker.clone(), session.clone(), what)).is_err() {
                    return;
                }
            }
        });
        Vec::new()
    }

    fn pass_on(&mut self, worker: &WorkerId, line: &str) -> Vec<CoordinatorEffect> {
        let Some(remote) = self.remote.upgrade() else { return Vec::new() };
        let heard = serde_json::from_str(line).map_err(|error| format!("it cannot be understood: {error}"));
        match heard.and_then(|said| remote.hear(worker, said)) {
            Ok(()) => Vec::new(),
            Err(why) => self.coordinator_side.give_up(worker, &why),
        }
    }
}

pub(crate) fn signed(key: &Key, queue: &Queue, packet: &Packet) -> Option<Vec<u8>> {
    serde_json::to_vec(packet).ok().map(|body| key.sign(queue, &body))
}

/// The answer to one that asks to be taken in, and its queue; nothing where it is not to be had.
fn joined(
    enrolment: &Enrolment,
    fleet: &Key,
    invitation: &signing::KeyId,
    worker: WorkerId,
    key: signing::KeyId,
    replies: &str,
) -> Option<(Queue, Vec<u8>)> {
    let is_plain = replies.len() <= 64 && replies.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let refused = match enrolment.admit(invitation, &worker, &key) {
        Ok(admitted) => admitted.err(),
        Err(error) => Some(format!("the machine that drives runs cannot take it in: {error}")),
    };
    let queue = Queues::of(&fleet.id()).replies(replies);
    let packet = Packet::Joined { worker, key, refused };
    is_plain.then(|| signed(fleet, &queue, &packet)).flatten().map(|message| (queue, message))
}

/// Takes in those that wait to be taken in, without a run.
pub async fn take_in_waiting(broker: &dyn Broker, home: &Path) -> Result<usize, EngageError> {
    let enrolment = Enrolment::of(home);
    let fleet = enrolment.key()?;
    let queue = Queues::of(&fleet.id()).joining();
    let mut count = 0;
    loop {
        let deliveries = broker.take(&queue, 16, Duration::from_millis(200)).await?;
        if deliveries.is_empty() {
            return Ok(count);
        }
        for delivery in deliveries {
            let Ok((from, body)) = signing::open(&queue, &delivery.message) else { continue };
            if let Ok(Packet::Join { worker, key, replies }) = serde_json::from_slice(body)
                && let Some((to, message)) = joined(&enrolment, &fleet, &from, worker, key, &replies)
            {
                broker.put(&to, &message).await?;
                count += 1;
            }
            broker.settle(&queue, &[delivery.receipt]).await?;
        }
    }
}

/// Its queue goes with a worker that was revoked.
pub async fn remove_queue(broker: &dyn Broker, home: &Path, worker: &WorkerId) -> Result<(), EngageError> {
    let fleet = Enrolment::of(home).key()?.id();
    Ok(broker.remove(&Queues::of(&fleet).worker(worker)).await?)
}
