//! The coordinator's side of what is said with workers: whose word counts, what is new of it, what is to be sent.
//!
//! It knows no broker and no clock: messages whose signature was checked go in, effects come out.

use std::collections::{BTreeMap, HashMap, HashSet};

use conductor_core::values::ids::WorkerId;
use conductor_core::values::units::{Millis, Tick};

use super::enrolment::Entries;
use super::line::Line;
use super::packet::{Certificate, Channel, Here, Packet, Queues};
use super::signing::KeyId;
use crate::dispatch::broker::Queue;
use crate::dispatch::wire;

/// How long the other side may say nothing until it is given up. A lease ends long before.
pub(crate) const SILENT: Millis = Millis::from_secs(90);

/// How often workers that do not answer are called.
pub(crate) const ANNOUNCE: Millis = Millis::from_secs(3);

pub(crate) struct CoordinatorSide {
    queues: Queues,
    certificate: Certificate,
    program: String,
    known: BTreeMap<WorkerId, KeyId>,
    open: BTreeMap<WorkerId, Open>,
    /// Sessions that are over: they never begin again.
    past: HashSet<String>,
    /// Those of them whose worker was sent away. One that goes on has not heard that, and is told again.
    dismissed: HashMap<Channel, Dismissed>,
    /// Workers of other versions, as far as that was told.
    told: HashSet<WorkerId>,
    announced: Option<Tick>,
}

struct Open {
    channel: Channel,
    line: Line,
    heard: Tick,
}

struct Dismissed {
    worker: WorkerId,
    /// What it signs with.
    key: KeyId,
    why: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CoordinatorEffect {
    /// A worker begins a session.
    Began(Here),
    /// A worker says this.
    Heard(WorkerId, String),
    /// A session is over.
    Lost(WorkerId, String),
    /// To be signed with the run's key and sent.
    Send(Queue, Box<Packet>),
    /// To be sent where nothing waits in that queue already.
    Call(Queue, Box<Packet>),
    /// For the user.
    Tell(String),
}

impl CoordinatorSide {
    pub(crate) fn new(queues: Queues, certificate: Certificate, program: &str) -> CoordinatorSide {
        CoordinatorSide {
            queues,
            certificate,
            program: program.to_owned(),
            known: BTreeMap::new(),
            open: BTreeMap::new(),
            past: HashSet::new(),
            dismissed: HashMap::new(),
            told: HashSet::new(),
            announced: None,
        }
    }

    /// Who may work. What a worker that is not among them had is lost, and it is told to end that.
    pub(crate) fn enrol(&mut self, entries: &Entries) -> Vec<CoordinatorEffect> {
        let parsed = |(name, worker): (&String, &super::enrolment::Enrolled)| {
            WorkerId::parse(name).map(|name| (name, worker.key.clone()))
        };
        let known: BTreeMap<WorkerId, KeyId> = entries.workers.iter().filter_map(parsed).collect();
        let gone = self.open.keys().filter(|name| known.get(*name) != self.known.get(*name)).cloned();
        let gone: Vec<WorkerId> = gone.collect();
        let effects = gone.iter().flat_map(|worker| self.dismiss(worker, "it was revoked")).collect();
        self.known = known;
        effects
    }

    /// An error is why the message is refused.
    pub(crate) fn hear(
        &mut self,
        now: Tick,
        from: &KeyId,
        packet: Packet,
    ) -> Result<Vec<CoordinatorEffect>, String> {
        match packet {
            Packet::Here(here) => self.here(now, from, here),
            Packet::Said { channel, part } => {
                if let Some(again) = self.dismissal(from, &channel) {
                    return Ok(vec![again]);
                }
                let worker = self.speaker(from, &channel)?;
                let Some(open) = self.open.get_mut(&worker) else { return Ok(Vec::new()) };
                open.heard = now;
                let heard = |what| CoordinatorEffect::Heard(worker.clone(), what);
                match open.line.hear(part) {
                    Ok(new) => Ok(new.into_iter().map(heard).collect()),
                    Err(error) => Ok(self.dismiss(&worker, &error.to_string())),
                }
            }
            Packet::Over { channel, .. } => {
                if self.dismissal(from, &channel).is_some() {
                    return Ok(Vec::new());
                }
                let worker = self.speaker(from, &channel)?;
                Ok(vec![self.end(worker, "it has ended".to_owned())])
            }
            other => Err(format!("it is none for a coordinator: {other:?}")),
        }
    }

    fn here(&mut self, now: Tick, from: &KeyId, here: Here) -> Result<Vec<CoordinatorEffect>, String> {
        let worker = here.worker.clone();
        if self.known.get(&worker) != Some(from) {
            return Err(format!("its key is not that of a worker {worker}"));
        }
        if here.channel.key != self.certificate.key {
            return Err("it is for another coordinator".to_owned());
        }
        if self.past.contains(&here.channel.session) {
            return Err(format!("that session of {worker} is over"));
        }
        if here.version != wire::VERSION {
            let told = self.told.insert(worker.clone());
            let words = format!(
                "worker {worker} is refused: conductor {} there speaks version {}, this one ({}) speaks {}; install the \
                 same on both",
                here.program,
                here.version,
                self.program,
                wire::VERSION
            );
            return Ok(told.then_some(CoordinatorEffect::Tell(words)).into_iter().collect());
        }
        if self.open.get(&worker).is_some_and(|open| open.channel == here.channel) {
            return Ok(Vec::new());
        }
        let mut effects = Vec::new();
        if self.open.contains_key(&worker) {
            effects.push(self.end(worker.clone(), "it was started again".to_owned()));
        }
        self.told.remove(&worker);
        let channel = here.channel.clone();
        self.open.insert(worker, Open { channel, line: Line::default(), heard: now });
        effects.push(CoordinatorEffect::Began(here));
        Ok(effects)
    }

    /// The worker that has signed it, within the session that it has.
    fn speaker(&self, from: &KeyId, channel: &Channel) -> Result<WorkerId, String> {
        let spoken = self.open.iter().find(|(worker, _)| self.known.get(*worker) == Some(from));
        match spoken {
            Some((worker, open)) if open.channel == *channel => Ok(worker.clone()),
            Some((worker, _)) => Err(format!("it is of another session of {worker}")),
            None => Err("it is of no worker that is here".to_owned()),
        }
    }

    fn end(&mut self, worker: WorkerId, why: String) -> CoordinatorEffect {
        if let Some(open) = self.open.remove(&worker) {
            self.past.insert(open.channel.session);
        }
        CoordinatorEffect::Lost(worker, why)
    }

    /// As `end`, of a worker that may live: it is told to end what it is at, for agents whose work
    /// counts for nothing cost money, too.
    fn dismiss(&mut self, worker: &WorkerId, why: &str) -> Vec<CoordinatorEffect> {
        let Some(channel) = self.open.get(worker).map(|open| open.channel.clone()) else { return Vec::new() };
        let lost = self.end(worker.clone(), why.to_owned());
        if let Some(key) = self.known.get(worker).cloned() {
            let dismissed = Dismissed { worker: worker.clone(), key, why: why.to_owned() };
            self.dismissed.insert(channel.clone(), dismissed);
        }
        vec![lost, self.over(worker, channel, Some(why))]
    }

    /// What one is told that was sent away and goes on.
    fn dismissal(&self, from: &KeyId, channel: &Channel) -> Option<CoordinatorEffect> {
        let Dismissed { worker, key, why } = self.dismissed.get(channel)?;
        (key == from).then(|| self.over(worker, channel.clone(), Some(why)))
    }

    fn over(&self, worker: &WorkerId, channel: Channel, why: Option<&str>) -> CoordinatorEffect {
        let packet = Packet::Over { channel, why: why.map(str::to_owned) };
        CoordinatorEffect::Send(self.queues.worker(worker), Box::new(packet))
    }

    /// It is said to the worker as soon as it can hear it.
    pub(crate) fn say(&mut self, worker: &WorkerId, session: &str, what: String) {
        if let Some(open) = self.open.get_mut(worker).filter(|open| open.channel.session == session) {
            open.line.say(what);
        }
    }

    /// Did not keep to what was agreed.
    pub(crate) fn give_up(&mut self, worker: &WorkerId, why: &str) -> Vec<CoordinatorEffect> {
        self.dismiss(worker, why)
    }

    /// What the time brings.
    pub(crate) fn due(&mut self, now: Tick) -> Vec<CoordinatorEffect> {
        let silent = self.open.iter().filter(|(_, open)| now >= open.heard + SILENT);
        let silent: Vec<WorkerId> = silent.map(|(worker, _)| worker.clone()).collect();
        let mut effects: Vec<CoordinatorEffect> = silent
            .into_iter()
            .map(|worker| self.end(worker, format!("nothing was heard of it for {} s", SILENT.0 / 1000)))
            .collect();
        for (worker, open) in &mut self.open {
            while let Some(part) = open.line.part(now) {
                let packet = Packet::Said { channel: open.channel.clone(), part };
                effects.push(CoordinatorEffect::Send(self.queues.worker(worker), Box::new(packet)));
            }
        }
        if self.announced.is_none_or(|at| now >= at + ANNOUNCE) {
            self.announced = Some(now);
            for worker in self.known.keys().filter(|worker| !self.open.contains_key(worker)) {
                effects.push(CoordinatorEffect::Call(self.queues.worker(worker), Box::new(self.announce())));
            }
        }
        effects
    }

    fn announce(&self) -> Packet {
        let (certificate, program) = (self.certificate.clone(), self.program.clone());
        Packet::Announce { certificate, version: wire::VERSION, program }
    }

    /// The run is over, or left.
    pub(crate) fn close(&mut self) -> Vec<CoordinatorEffect> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().map(|(worker, open)| self.over(&worker, open.channel, None)).collect()
    }
}
