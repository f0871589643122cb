//! A coordinator's coordinator_side and a worker's worker_side, with a carrier between them that does what it likes.

use std::collections::VecDeque;

use conductor_core::values::ids::{RunId, WorkerId};
use conductor_core::values::units::Tick;

use super::coordinator_side::{ANNOUNCE, CoordinatorEffect, CoordinatorSide, SILENT};
use super::enrolment::{Enrolment, Entries};
use super::line::{AGAIN, Part};
use super::packet::{Certificate, Channel, Here, Packet, Queues};
use super::signing::{self, Key, KeyId};
use super::worker_side::{Profile, WorkerEffect, WorkerSide};
use crate::dispatch::broker::Queue;

struct Side {
    now: u64,
    fleet: Key,
    run: Key,
    worker: Key,
    entries: Entries,
    coordinator_side: CoordinatorSide,
    worker_side: WorkerSide,
    sessions: u32,
    /// All that was ever sent.
    sent: Vec<(Queue, Vec<u8>)>,
    on_the_way: VecDeque<(Queue, Vec<u8>)>,
    at_coordinator: Vec<CoordinatorEffect>,
    at_worker: Vec<WorkerEffect>,
    refused: Vec<String>,
}

fn run() -> RunId {
    RunId::parse("r1").unwrap()
}

fn w1() -> WorkerId {
    WorkerId::parse("w1").unwrap()
}

fn profile() -> Profile {
    Profile { worker: w1(), slots: 2, labels: vec!["gpu".into()], program: "1.0".into() }
}

fn coordinator_side(fleet: &Key, run_key: &Key, epoch: u64, entries: &Entries) -> CoordinatorSide {
    let certificate = Certificate::issue(fleet, &run(), run_key.id(), epoch);
    let mut coordinator_side = CoordinatorSide::new(Queues::of(&fleet.id()), certificate, "1.0");
    coordinator_side.enrol(entries);
    coordinator_side
}

impl Side {
    fn new() -> Side {
        let [run_key, worker] = [(); 2].map(|()| Key::generate().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let enrolment = Enrolment::of(folder.path());
        let token = enrolment.invite(Some(w1())).unwrap();
        enrolment.admit(&token.secret.id(), &w1(), &worker.id()).unwrap().unwrap();
        let (entries, fleet) = (enrolment.entries().unwrap(), enrolment.key().unwrap());
        Side {
            now: 0,
            coordinator_side: coordinator_side(&fleet, &run_key, 1, &entries),
            worker_side: WorkerSide::new(profile(), fleet.id()),
            fleet,
            run: run_key,
            worker,
            entries,
            sessions: 0,
            sent: Vec::new(),
            on_the_way: VecDeque::new(),
            at_coordinator: Vec::new(),
            at_worker: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Lets both say what there is to say.
    fn turn(&mut self) {
        let effects = self.coordinator_side.due(Tick(self.now));
        self.of_coordinator(effects);
        let effects = self.worker_side.due(Tick(self.now));
        self.of_worker(effects);
    }

    fn of_coordinator(&mut self, effects: Vec<CoordinatorEffect>) {
        for effect in effects {
            match effect {
                CoordinatorEffect::Send(queue, packet) | CoordinatorEffect::Call(queue, packet) => {
                    let message = self.run.sign(&queue, &serde_json::to_vec(&packet).unwrap());
                    self.send(queue, message);
                }
                other => self.at_coordinator.push(other),
            }
        }
    }

    fn of_worker(&mut self, effects: Vec<WorkerEffect>) {
        for effect in effects {
            match effect {
                WorkerEffect::Send(queue, packet) => {
                    let message = self.worker.sign(&queue, &serde_json::to_vec(&packet).unwrap());
                    self.send(queue, message);
                }
                other => self.at_worker.push(other),
            }
        }
    }

    fn send(&mut self, queue: Queue, message: Vec<u8>) {
        self.sent.push((queue.clone(), message.clone()));
        self.on_the_way.push_back((queue, message));
    }

    fn deliver(&mut self, queue: &Queue, message: &[u8]) {
        let (from, body) = match signing::open(queue, message) {
            Ok(opened) => opened,
            Err(bad) => return self.refused.push(bad.to_string()),
        };
        let packet: Packet = serde_json::from_slice(body).unwrap();
        let now = Tick(self.now);
        if queue.0.contains(".worker.") {
            let sessions = &mut self.sessions;
            let heard = self.worker_side.hear(now, &from, packet, || {
                *sessions += 1;
                format!("s{sessions}")
            });
            match heard {
                Ok(effects) => self.of_worker(effects),
                Err(why) => self.refused.push(why),
            }
        } else {
            match self.coordinator_side.hear(now, &from, packet) {
                Ok(effects) => self.of_coordinator(effects),
                Err(why) => self.refused.push(why),
            }
        }
    }

    /// Everything arrives, until there is nothing more to say.
    fn settle(&mut self) {
        for _ in 0..6 {
            self.turn();
            while let Some((queue, message)) = self.on_the_way.pop_front() {
                self.deliver(&queue, &message);
            }
        }
    }

    /// As the coordinator would be told of a worker's session.
    fn met() -> Side {
        let mut side = Side::new();
        side.settle();
        side.coordinator_side.say(&w1(), "s1", "hello".into());
        side.settle();
        side
    }

    fn channel(&self) -> Channel {
        Channel { key: self.run.id(), session: "s1".into() }
    }

    /// As if this key had sent it.
    fn forge(&mut self, key: &Key, queue: Queue, packet: &Packet) {
        let message = key.sign(&queue, &serde_json::to_vec(packet).unwrap());
        self.deliver(&queue, &message);
    }

    fn to_worker(&self) -> Queue {
        Queues::of(&self.fleet.id()).worker(&w1())
    }

    fn to_run(&self) -> Queue {
        Queues::of(&self.fleet.id()).run(&run())
    }

    fn heard_by_worker(&self) -> Vec<&str> {
        let heard = |effect: &WorkerEffect| matches!(effect, WorkerEffect::Heard(..));
        let lines = self.at_worker.iter().filter(|effect| heard(effect));
        lines
            .map(|effect| if let WorkerEffect::Heard(_, line) = effect { line.as_str() } else { "" })
            .collect()
    }
}

#[test]
fn a_worker_that_is_called_is_there_and_both_hear_each_other() {
    let mut side = Side::met();
    let channel = side.channel();
    assert!(
        matches!(&side.at_coordinator[..], [CoordinatorEffect::Began(Here { slots: 2, .. })]),
        "{:?}",
        side.at_coordinator
    );
    assert_eq!(side.at_worker[0], WorkerEffect::Began(run(), channel.clone()));
    assert_eq!(side.heard_by_worker(), ["hello"]);
    side.worker_side.say(&run(), &channel, "I am here".into());
    side.settle();
    assert_eq!(side.at_coordinator.last(), Some(&CoordinatorEffect::Heard(w1(), "I am here".into())));
    assert!(side.refused.is_empty(), "{:?}", side.refused);
}

/// F: each message a thousand times.
#[test]
fn what_is_delivered_a_thousand_times_is_heard_once() {
    let mut side = Side::met();
    let channel = side.channel();
    side.coordinator_side.say(&w1(), "s1", "start it".into());
    side.worker_side.say(&run(), &channel, "report".into());
    side.settle();
    let (sent, begun) = (side.sent.clone(), side.at_coordinator.len() + side.at_worker.len());
    for _ in 0..1_000 {
        for (queue, message) in &sent {
            side.deliver(queue, message);
        }
    }
    assert_eq!(side.at_coordinator.len() + side.at_worker.len(), begun);
    assert_eq!(side.heard_by_worker(), ["hello", "start it"]);
}

/// Write access to the queue does not mean running commands.
#[test]
fn what_a_stranger_puts_into_the_queues_is_refused() {
    let mut side = Side::met();
    let (before, stranger) = (side.at_worker.len() + side.at_coordinator.len(), Key::generate().unwrap());
    let channel = side.channel();
    let part = || Part { number: 2, heard: 0, said: vec!["run rm -rf".into()], goes_on: false };
    let said = Packet::Said { channel: channel.clone(), part: part() };
    let (to_worker, to_run) = (side.to_worker(), side.to_run());
    // Orders under a key of its own, as itself and as the run.
    side.forge(&stranger, to_worker.clone(), &said);
    let own = Packet::Said { channel: Channel { key: stranger.id(), session: "s1".into() }, part: part() };
    side.forge(&stranger, to_worker.clone(), &own);
    // A run of its own, for which it vouches itself.
    let certificate = Certificate::issue(&stranger, &run(), stranger.id(), 9);
    let version = crate::dispatch::VERSION;
    side.forge(&stranger, to_worker.clone(), &Packet::Announce { certificate, version, program: "1".into() });
    // The true certificate, which all can read, under another key.
    let certificate = Certificate::issue(&side.fleet, &run(), side.run.id(), 9);
    side.forge(&stranger, to_worker.clone(), &Packet::Announce { certificate, version, program: "1".into() });
    side.forge(&stranger, to_worker.clone(), &Packet::Over { channel: channel.clone(), why: None });
    // As a worker.
    side.forge(&stranger, to_run.clone(), &said);
    side.forge(&stranger, to_run.clone(), &Packet::Over { channel: channel.clone(), why: None });
    let Profile { worker, slots, labels, program } = profile();
    let here = Here {
        channel: Channel { session: "s9".into(), ..channel },
        worker,
        version,
        program,
        slots,
        labels,
    };
    side.forge(&stranger, to_run.clone(), &Packet::Here(here));
    // Without a signature, and with one for another queue.
    side.deliver(&to_worker, b"conductor run rm -rf");
    let (from_run, _) = side.sent.iter().find(|(queue, _)| *queue == to_worker).cloned().unwrap();
    let turned = side.sent.iter().find(|(queue, _)| *queue == to_run).cloned().unwrap().1;
    side.deliver(&from_run, &turned);
    assert_eq!(side.refused.len(), 10, "{:#?}", side.refused);
    assert_eq!(side.at_worker.len() + side.at_coordinator.len(), before, "{:?}", side.at_worker);
}

/// A recording of all that was ever said, played to a worker that has been started again, and to another coordinator.
#[test]
fn what_was_said_in_another_session_is_refused() {
    let mut side = Side::met();
    side.coordinator_side.say(&w1(), "s1", "start it".into());
    side.settle();
    let sent = side.sent.clone();
    side.worker_side = WorkerSide::new(profile(), side.fleet.id());
    side.sessions = 100;
    side.at_worker.clear();
    for (queue, message) in
        sent.iter().filter(|(queue, _)| *queue == side.to_worker()).cloned().collect::<Vec<_>>()
    {
        side.deliver(&queue, &message);
    }
    assert!(side.at_worker.is_empty(), "{:?}", side.at_worker);
    let other = Key::generate().unwrap();
    side.coordinator_side = coordinator_side(&side.fleet, &other, 2, &side.entries);
    side.at_coordinator.clear();
    for (queue, message) in
        sent.iter().filter(|(queue, _)| *queue == side.to_run()).cloned().collect::<Vec<_>>()
    {
        side.deliver(&queue, &message);
    }
    assert!(side.at_coordinator.is_empty(), "{:?}", side.at_coordinator);
}

#[test]
fn a_newer_coordinator_takes_a_worker_over_and_an_older_one_does_not() {
    let mut side = Side::met();
    let older = side.sent.clone();
    let next = Key::generate().unwrap();
    side.coordinator_side = coordinator_side(&side.fleet, &next, 2, &side.entries);
    side.run = next;
    side.now += ANNOUNCE.0;
    side.settle();
    side.coordinator_side.say(&w1(), "s2", "go on".into());
    side.settle();
    let ended = |effect: &WorkerEffect| matches!(effect, WorkerEffect::Ended { is_over: false, .. });
    assert_eq!(side.at_worker.iter().filter(|effect| ended(effect)).count(), 1);
    assert_eq!(side.heard_by_worker(), ["hello", "go on"]);
    let count = side.at_worker.len();
    for (queue, message) in
        older.into_iter().filter(|(queue, _)| *queue == side.to_worker()).collect::<Vec<_>>()
    {
        side.deliver(&queue, &message);
    }
    assert_eq!(side.at_worker.len(), count);
    assert!(side.refused.iter().any(|why| why.contains("newer coordinator")), "{:?}", side.refused);
}

/// A worker that was killed and started again is another session; the old one cannot come back.
#[test]
fn a_worker_that_is_started_again_loses_what_it_had() {
    let mut side = Side::met();
    let older = side.sent.clone();
    side.worker_side = WorkerSide::new(profile(), side.fleet.id());
    let key = side.run.id();
    let here = Here {
        channel: Channel { key, session: "s7".into() },
        worker: w1(),
        version: crate::dispatch::VERSION,
        program: "1.0".into(),
        slots: 2,
        labels: Vec::new(),
    };
    let effects = side.coordinator_side.hear(Tick(side.now), &side.worker.id(), Packet::Here(here)).unwrap();
    assert!(
        matches!(&effects[..], [CoordinatorEffect::Lost(..), CoordinatorEffect::Began(..)]),
        "{effects:?}"
    );
    let count = side.at_coordinator.len();
    for (queue, message) in older.into_iter().filter(|(queue, _)| *queue == side.to_run()).collect::<Vec<_>>()
    {
        side.deliver(&queue, &message);
    }
    assert_eq!(side.at_coordinator.len(), count, "{:?}", side.at_coordinator);
}

#[test]
fn a_wiped_broker_is_filled_again() {
    let mut side = Side::met();
    let channel = side.channel();
    side.coordinator_side.say(&w1(), "s1", "start it".into());
    side.worker_side.say(&run(), &channel, "report".into());
    side.turn();
    side.on_the_way.clear();
    side.settle();
    assert_eq!(side.heard_by_worker(), ["hello"], "it is lost");
    side.now += AGAIN.0;
    side.settle();
    assert_eq!(side.heard_by_worker(), ["hello", "start it"]);
    assert_eq!(side.at_coordinator.last(), Some(&CoordinatorEffect::Heard(w1(), "report".into())));
}

#[test]
fn one_of_which_nothing_is_heard_is_given_up_on_both_sides() {
    let mut side = Side::met();
    side.now += SILENT.0;
    side.turn();
    assert!(
        matches!(side.at_coordinator.last(), Some(CoordinatorEffect::Lost(..))),
        "{:?}",
        side.at_coordinator
    );
    assert!(matches!(side.at_worker.last(), Some(WorkerEffect::Ended { is_over: false, .. })));
}

#[test]
fn a_worker_that_is_revoked_is_lost_and_ends_what_it_has_at_once() {
    let mut side = Side::met();
    let effects = side.coordinator_side.enrol(&Entries::default());
    assert_eq!(effects[0], CoordinatorEffect::Lost(w1(), "it was revoked".into()));
    side.of_coordinator(effects);
    side.settle();
    assert_eq!(side.at_worker.last(), Some(&revoked()));
    assert!(side.worker_side.is_idle(), "no time has passed");
}

/// What it was told may be lost: with the first that it says, it is told again. What it says counts no more.
#[test]
fn a_worker_that_did_not_hear_that_it_is_revoked_is_told_when_it_speaks() {
    let mut side = Side::met();
    let channel = side.channel();
    drop(side.coordinator_side.enrol(&Entries::default()));
    let before = side.at_coordinator.len();
    side.worker_side.say(&run(), &channel, "alive".into());
    side.settle();
    assert_eq!(side.at_worker.last(), Some(&revoked()));
    assert_eq!(side.at_coordinator.len(), before, "{:?}", side.at_coordinator);
    // Another can have nothing sent to it by the name of that session.
    let stranger = Key::generate().unwrap();
    let part = Part { number: 1, heard: 0, said: vec!["alive".into()], goes_on: false };
    let forged = Packet::Said { channel, part };
    assert!(side.coordinator_side.hear(Tick(side.now), &stranger.id(), forged).is_err());
}

fn revoked() -> WorkerEffect {
    WorkerEffect::Ended { run: run(), why: "it was revoked".into(), is_over: true }
}

#[test]
fn a_worker_that_is_given_up_ends_what_it_has_and_may_begin_again() {
    let mut side = Side::met();
    let effects = side.coordinator_side.give_up(&w1(), "it cannot be understood");
    side.of_coordinator(effects);
    side.now += ANNOUNCE.0;
    side.settle();
    assert!(matches!(side.at_worker.last(), Some(WorkerEffect::Ended { is_over: true, .. })));
    assert!(matches!(side.at_coordinator.last(), Some(CoordinatorEffect::Began(_))));
}

#[test]
fn another_version_is_refused_by_name_on_both_sides() {
    let mut side = Side::new();
    let certificate = Certificate::issue(&side.fleet, &run(), side.run.id(), 1);
    let (run_key, worker_key): (KeyId, KeyId) = (side.run.id(), side.worker.id());
    let version = crate::dispatch::VERSION + 1;
    let announce = Packet::Announce { certificate, version, program: "9.9".into() };
    let told = side.worker_side.hear(Tick(0), &run_key, announce.clone(), || "s".into()).unwrap();
    assert!(
        matches!(&told[..], [WorkerEffect::Tell(text)] if text.contains("9.9") && text.contains("r1")),
        "{told:?}"
    );
    assert!(
        side.worker_side.hear(Tick(0), &run_key, announce, || "s".into()).unwrap().is_empty(),
        "it is told once"
    );
    let Profile { worker, slots, labels, .. } = profile();
    let channel = Channel { key: run_key, session: "s1".into() };
    let here = Here { channel, worker, version, program: "9.9".into(), slots, labels };
    let told = side.coordinator_side.hear(Tick(0), &worker_key, Packet::Here(here)).unwrap();
    assert!(
        matches!(&told[..], [CoordinatorEffect::Tell(text)] if text.contains("9.9") && text.contains("w1")),
        "{told:?}"
    );
}

#[test]
fn a_run_that_is_over_is_over_for_its_workers() {
    let mut side = Side::met();
    let effects = side.coordinator_side.close();
    side.of_coordinator(effects);
    while let Some((queue, message)) = side.on_the_way.pop_front() {
        side.deliver(&queue, &message);
    }
    assert!(matches!(side.at_worker.last(), Some(WorkerEffect::Ended { is_over: true, .. })));
    assert!(side.worker_side.is_idle());
}
