//! A worker's side of what is said with coordinators: whose orders count, what is new of them, what is to be sent.
//!
//! A run begins here when its coordinator has spoken within the session that this worker has drawn for it: by then it is
//! known that the coordinator is there now. It knows no broker and no clock.

use std::collections::{BTreeMap, HashSet};

use conductor_core::values::ids::{RunId, WorkerId};
use conductor_core::values::units::Tick;

use super::coordinator_side::SILENT;
use super::line::Line;
use super::packet::{Certificate, Channel, Here, Packet, Queues};
use super::signing::KeyId;
use crate::dispatch::broker::Queue;
use crate::dispatch::wire;

/// What a worker is and offers.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    pub(crate) worker: WorkerId,
    pub(crate) slots: u32,
    pub(crate) labels: Vec<String>,
    pub(crate) program: String,
}

pub(crate) struct WorkerSide {
    profile: Profile,
    fleet: KeyId,
    queues: Queues,
    runs: BTreeMap<RunId, Bound>,
    /// Runs of other versions, as far as that was told.
    told: HashSet<RunId>,
    /// It takes no runs any more.
    is_leaving: bool,
}

/// A run that this worker is there for.
struct Bound {
    channel: Channel,
    epoch: u64,
    line: Line,
    heard: Tick,
    /// Its coordinator has spoken within this session.
    is_met: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WorkerEffect {
    Began(RunId, Channel),
    Heard(RunId, String),
    Ended {
        run: RunId,
        why: String,
        is_over: bool,
    },
    /// To be signed with the worker's key and sent.
    Send(Queue, Box<Packet>),
    /// For the log of the worker.
    Tell(String),
}

impl WorkerSide {
    pub(crate) fn new(profile: Profile, fleet: KeyId) -> WorkerSide {
        let queues = Queues::of(&fleet);
        WorkerSide { profile, fleet, queues, runs: BTreeMap::new(), told: HashSet::new(), is_leaving: false }
    }

    /// An error is why the message is refused. `session` is a new name that no one can guess.
    pub(crate) fn hear(
        &mut self,
        now: Tick,
        from: &KeyId,
        packet: Packet,
        session: impl FnOnce() -> String,
    ) -> Result<Vec<WorkerEffect>, String> {
        match packet {
            Packet::Announce { certificate, version, program } => {
                if *from != certificate.key || !certificate.is_of(&self.fleet) {
                    return Err("the fleet does not vouch for its key".to_owned());
                }
                match version == wire::VERSION {
                    true => self.announced(now, certificate, session),
                    false => Ok(self.tell_version(&certificate.run, version, &program)),
                }
            }
            Packet::Said { channel, part } => {
                let run = self.run_of(from, &channel)?;
                let Some(bound) = self.runs.get_mut(&run) else { return Ok(Vec::new()) };
                bound.heard = now;
                let is_first = !std::mem::replace(&mut bound.is_met, true);
                let began = is_first.then(|| WorkerEffect::Began(run.clone(), channel));
                match bound.line.hear(part) {
                    Ok(new) => {
                        let heard = new.into_iter().map(|what| WorkerEffect::Heard(run.clone(), what));
                        Ok(began.into_iter().chain(heard).collect())
                    }
                    Err(error) => Ok(self.leave_run(&run, &error.to_string())),
                }
            }
            Packet::Over { channel, why } => {
                let run = self.run_of(from, &channel)?;
                Ok(self.end(&run, why.as_deref().unwrap_or("it is over"), true).into_iter().collect())
            }
            other => Err(format!("it is none for a worker: {other:?}")),
        }
    }

    fn announced(
        &mut self,
        now: Tick,
        certificate: Certificate,
        session: impl FnOnce() -> String,
    ) -> Result<Vec<WorkerEffect>, String> {
        let run = certificate.run.clone();
        let mut effects = Vec::new();
        match self.runs.get(&run) {
            Some(bound) if bound.channel.key == certificate.key && bound.is_met => return Ok(Vec::new()),
            Some(bound) if bound.channel.key == certificate.key => {
                return Ok(vec![self.here(&run, bound.channel.clone())]);
            }
            Some(bound) if bound.epoch >= certificate.epoch => {
                return Err(format!("a newer coordinator of run {run} is known"));
            }
            Some(_) => effects.extend(self.end(&run, "another coordinator has taken it up", false)),
            None => {}
        }
        if self.is_leaving {
            return Ok(effects);
        }
        let channel = Channel { key: certificate.key, session: session() };
        effects.push(self.here(&run, channel.clone()));
        let (epoch, line) = (certificate.epoch, Line::default());
        self.runs.insert(run, Bound { channel, epoch, line, heard: now, is_met: false });
        Ok(effects)
    }

    fn here(&self, run: &RunId, channel: Channel) -> WorkerEffect {
        let Profile { worker, slots, labels, program } = self.profile.clone();
        let here = Here { channel, worker, version: wire::VERSION, program, slots, labels };
        WorkerEffect::Send(self.queues.run(run), Box::new(Packet::Here(here)))
    }

    /// The coordinator is told which version is here, and says so to its user.
    fn tell_version(&mut self, run: &RunId, version: u32, program: &str) -> Vec<WorkerEffect> {
        if !self.told.insert(run.clone()) {
            return Vec::new();
        }
        vec![WorkerEffect::Tell(format!(
            "run {run} is refused: conductor {program} there speaks version {version}, this one ({}) speaks {}; install \
             the same on both",
            self.profile.program,
            wire::VERSION
        ))]
    }

    fn run_of(&self, from: &KeyId, channel: &Channel) -> Result<RunId, String> {
        if *from != channel.key {
            return Err("its key is not that of the coordinator it speaks for".to_owned());
        }
        let found = self.runs.iter().find(|(_, bound)| bound.channel == *channel);
        found.map(|(run, _)| run.clone()).ok_or_else(|| "it is of no session that is open here".to_owned())
    }

    /// Its coordinator does not keep to what is agreed, and is told that nothing of it goes on here.
    fn leave_run(&mut self, run: &RunId, why: &str) -> Vec<WorkerEffect> {
        let Some(channel) = self.runs.get(run).map(|bound| bound.channel.clone()) else { return Vec::new() };
        let over = Packet::Over { channel, why: Some(why.to_owned()) };
        let told = WorkerEffect::Send(self.queues.run(run), Box::new(over));
        self.end(run, why, false).into_iter().chain([told]).collect()
    }

    /// What was only called for and never began, ends without a word.
    fn end(&mut self, run: &RunId, why: &str, is_over: bool) -> Option<WorkerEffect> {
        let bound = self.runs.remove(run)?;
        bound.is_met.then(|| WorkerEffect::Ended { run: run.clone(), why: why.to_owned(), is_over })
    }

    pub(crate) fn say(&mut self, run: &RunId, channel: &Channel, what: String) {
        if let Some(bound) = self.runs.get_mut(run).filter(|bound| bound.channel == *channel) {
            bound.line.say(what);
        }
    }

    pub(crate) fn due(&mut self, now: Tick) -> Vec<WorkerEffect> {
        let silent = self.runs.iter().filter(|(_, bound)| now >= bound.heard + SILENT);
        let silent: Vec<RunId> = silent.map(|(run, _)| run.clone()).collect();
        let why = format!("nothing was heard of its coordinator for {} s", SILENT.0 / 1000);
        let mut effects: Vec<WorkerEffect> =
            silent.iter().filter_map(|run| self.end(run, &why, false)).collect();
        for (run, bound) in self.runs.iter_mut().filter(|(_, bound)| bound.is_met) {
            while let Some(part) = bound.line.part(now) {
                let packet = Packet::Said { channel: bound.channel.clone(), part };
                effects.push(WorkerEffect::Send(self.queues.run(run), Box::new(packet)));
            }
        }
        effects
    }

    /// Whether all that was said to this run's coordinator is heard.
    pub(crate) fn is_heard(&self, run: &RunId) -> bool {
        self.runs.get(run).is_none_or(|bound| bound.line.is_heard())
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.runs.is_empty()
    }

    /// No new run is taken.
    pub(crate) fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// The worker ends: every coordinator is told.
    pub(crate) fn close(&mut self) -> Vec<WorkerEffect> {
        let runs = std::mem::take(&mut self.runs);
        let over = |(run, bound): (RunId, Bound)| {
            let packet = Packet::Over { channel: bound.channel, why: None };
            WorkerEffect::Send(self.queues.run(&run), Box::new(packet))
        };
        runs.into_iter().map(over).collect()
    }
}
