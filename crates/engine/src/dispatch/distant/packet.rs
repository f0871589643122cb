//! What passes over a broker between the machine that drives runs and its workers.
//!
//! A *fleet* is the workers that a state directory has taken in; its key vouches for the key of each run, which the
//! coordinator makes when it takes the run up and never writes down. A worker has a key of its own. A conversation is
//! between the key of one coordinator and one session of one worker: what belongs to another is refused, so nothing that
//! was ever said can be said again later.

use conductor_core::values::ids::{RunId, WorkerId};
use serde::{Deserialize, Serialize};

use super::line::Part;
use super::signing::{Key, KeyId};
use crate::dispatch::broker::Queue;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Packet {
    /// A new worker shows its key; signed with the key of its invitation.
    Join { worker: WorkerId, key: KeyId, replies: String },
    /// It is taken in, or why not; signed with the fleet's key.
    Joined { worker: WorkerId, key: KeyId, refused: Option<String> },
    /// A run is there and wants workers; signed with the run's key.
    Announce { certificate: Certificate, version: u32, program: String },
    /// A worker is there for a run; signed with the worker's key.
    Here(Here),
    /// A part of what is said.
    Said { channel: Channel, part: Part },
    /// The run needs the worker no more, or the worker leaves. It may be said why, for the worker's log.
    Over {
        channel: Channel,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
}

/// Who vouches for the key of a run, and for which claim of it: a later one replaces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Certificate {
    pub(crate) run: RunId,
    pub(crate) key: KeyId,
    /// Of the coordinator's claim on the run, by its store. Not a time: clocks of machines differ, and the next coordinator
    /// may have one that is behind. Workers of version 4 know it by this name, and have to read it to name the versions.
    #[serde(rename = "since")]
    pub(crate) epoch: u64,
    pub(crate) signature: String,
}

/// One conversation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Channel {
    /// Of the coordinator.
    pub(crate) key: KeyId,
    /// Drawn by the worker.
    pub(crate) session: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Here {
    pub(crate) channel: Channel,
    pub(crate) worker: WorkerId,
    pub(crate) version: u32,
    pub(crate) program: String,
    pub(crate) slots: u32,
    #[serde(default)]
    pub(crate) labels: Vec<String>,
}

impl Certificate {
    pub(crate) fn issue(fleet: &Key, run: &RunId, key: KeyId, epoch: u64) -> Certificate {
        let signature = fleet.vouch(&words(run, &key, epoch));
        Certificate { run: run.clone(), key, epoch, signature }
    }

    pub(crate) fn is_of(&self, fleet: &KeyId) -> bool {
        fleet.vouches(&words(&self.run, &self.key, self.epoch), &self.signature)
    }
}

fn words(run: &RunId, key: &KeyId, epoch: u64) -> String {
    format!("{run} {key} {epoch}")
}

/// The queues of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Queues(String);

impl Queues {
    pub(crate) fn of(fleet: &KeyId) -> Queues {
        Queues(fleet.short())
    }

    /// Where workers ask to be taken in.
    pub(crate) fn joining(&self) -> Queue {
        Queue(format!("{}.joining", self.0))
    }

    pub(crate) fn worker(&self, worker: &WorkerId) -> Queue {
        Queue(format!("{}.worker.{worker}", self.0))
    }

    pub(crate) fn run(&self, run: &RunId) -> Queue {
        Queue(format!("{}.run.{run}", self.0))
    }

    /// Where one that is not taken in yet is answered.
    pub(crate) fn replies(&self, name: &str) -> Queue {
        Queue(format!("{}.reply.{name}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warrant_is_the_pools_word_for_one_key_of_one_run() {
        let (fleet, run) = (Key::generate().unwrap(), Key::generate().unwrap());
        let id = RunId::parse("r1").unwrap();
        let certificate = Certificate::issue(&fleet, &id, run.id(), 5);
        assert!(certificate.is_of(&fleet.id()));
        assert!(!certificate.is_of(&run.id()), "a run does not vouch for itself");
        let other = Key::generate().unwrap().id();
        for changed in [
            Certificate { run: RunId::parse("r2").unwrap(), ..certificate.clone() },
            Certificate { key: other, ..certificate.clone() },
            Certificate { epoch: 6, ..certificate.clone() },
        ] {
            assert!(!changed.is_of(&fleet.id()), "{changed:?}");
        }
    }
}
