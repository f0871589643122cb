//! The workers that a state directory has taken in, and the invitations that are open.
//!
//! One file, changed under a lock and all at once, which every coordinator of the state directory reads again when it
//! has changed. It holds public halves of keys alone; the secret of an invitation is known only to the one it was given to.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use conductor_core::values::ids::WorkerId;
use conductor_core::values::units::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::signing::{Key, KeyId};
use crate::host::access;
use crate::host::clock::wall;

/// How long an invitation holds.
const HOLDS: i64 = 24 * 60 * 60 * 1000;

/// What a token begins with.
const TOKEN: &str = "conductor-worker-1";

#[derive(Debug, Error)]
pub enum EnrolmentError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("there is a worker {0} already; revoke it first: conductor workers revoke {0}")]
    Taken(WorkerId),
    #[error("there is no worker {0}")]
    Unknown(WorkerId),
    #[error("this is no token of `conductor workers token`")]
    NoToken,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entries {
    #[serde(default)]
    pub workers: BTreeMap<String, Enrolled>,
    #[serde(default)]
    pub invitations: BTreeMap<String, Invitation>,
}

/// A worker that was taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enrolled {
    pub key: KeyId,
    /// The key of the invitation that it came with: it may ask again, where the answer did not reach it.
    invitation: KeyId,
    pub since: Timestamp,
    /// It gets no new work.
    #[serde(default)]
    pub drained: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    pub key: KeyId,
    pub until: Timestamp,
}

/// What a worker is given so that it is taken in, once.
#[derive(Debug)]
pub struct Token {
    pub fleet: KeyId,
    pub worker: WorkerId,
    pub secret: Key,
}

impl Token {
    pub fn words(&self) -> String {
        format!("{TOKEN}.{}.{}.{}", self.fleet, self.secret.secret(), self.worker)
    }

    pub fn parse(text: &str) -> Result<Token, EnrolmentError> {
        let mut parts = text.trim().splitn(4, '.');
        let (Some(TOKEN), Some(fleet), Some(secret), Some(worker)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(EnrolmentError::NoToken);
        };
        let (fleet, secret) = (KeyId::parse(fleet), Key::of_secret(secret));
        match (fleet, secret, WorkerId::parse(worker)) {
            (Some(fleet), Some(secret), Some(worker)) => Ok(Token { fleet, worker, secret }),
            _ => Err(EnrolmentError::NoToken),
        }
    }
}

/// The file, and where the fleet's key is.
#[derive(Debug, Clone)]
pub struct Enrolment {
    folder: PathBuf,
}

impl Enrolment {
    /// Of a state directory.
    pub fn of(home: &Path) -> Enrolment {
        Enrolment { folder: home.join("workers") }
    }

    /// The key of the fleet, made where there is none.
    pub fn key(&self) -> Result<Key, EnrolmentError> {
        let path = self.folder.join("fleet.key");
        Key::kept(&path).map_err(|source| EnrolmentError::File { path, source })
    }

    fn path(&self) -> PathBuf {
        self.folder.join("workers.json")
    }

    pub fn entries(&self) -> Result<Entries, EnrolmentError> {
        let path = self.path();
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| EnrolmentError::Unreadable { path, why: error.to_string() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Entries::default()),
            Err(source) => Err(EnrolmentError::File { path, source }),
        }
    }

    /// Changes it while no other process does.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Entries) -> Result<T, EnrolmentError>,
    ) -> Result<T, EnrolmentError> {
        let file = |source| EnrolmentError::File { path: self.folder.clone(), source };
        access::create_private_dir_all(&self.folder).map_err(file)?;
        let lock: File = access::private()
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.folder.join("lock"))
            .map_err(file)?;
        lock.lock().map_err(file)?;
        let mut entries = self.entries()?;
        let before = entries.clone();
        let done = change(&mut entries)?;
        if entries != before {
            let text = serde_json::to_vec_pretty(&entries).map_err(|error| file(error.into()))?;
            let path = self.path();
            access::replace(&path, text).map_err(|source| EnrolmentError::File { path, source })?;
        }
        Ok(done)
    }

    /// Invites a worker of this name, or of the next that is free. An earlier invitation of the name holds no more.
    pub fn invite(&self, name: Option<WorkerId>) -> Result<Token, EnrolmentError> {
        let fleet = self.key()?.id();
        let secret = Key::generate().map_err(|source| EnrolmentError::File { path: self.path(), source })?;
        self.change(|entries| {
            let is_free =
                |name: &str| !entries.workers.contains_key(name) && !entries.invitations.contains_key(name);
            let numbered = || (1..).map(|number| format!("w{number}")).find(|name| is_free(name));
            let worker = match name {
                Some(name) if entries.workers.contains_key(name.as_str()) => {
                    return Err(EnrolmentError::Taken(name));
                }
                Some(name) => name,
                None => numbered().and_then(|name| WorkerId::parse(&name)).ok_or(EnrolmentError::NoToken)?,
            };
            let until = Timestamp(wall().0 + HOLDS);
            entries.invitations.insert(worker.to_string(), Invitation { key: secret.id(), until });
            Ok(Token { fleet, worker, secret })
        })
    }

    /// Takes a worker in that was invited; else says why not. One that asks again with the same key is in already.
    pub(crate) fn admit(
        &self,
        invitation: &KeyId,
        worker: &WorkerId,
        key: &KeyId,
    ) -> Result<Result<(), String>, EnrolmentError> {
        self.change(|entries| {
            let name = worker.as_str();
            if let Some(known) = entries.workers.get(name) {
                return Ok(match known.key == *key && known.invitation == *invitation {
                    true => Ok(()),
                    false => Err(format!("there is a worker {worker} already")),
                });
            }
            match entries.invitations.get(name) {
                Some(open) if open.key != *invitation => Err("its token is not the newest of its name"),
                Some(open) if open.until < wall() => Err("its token is older than a day"),
                Some(_) => Ok(()),
                None => Err("its token was used or revoked"),
            }
            .map_or_else(
                |why| Ok(Err(format!("{why}; make another: conductor workers token {worker}"))),
                |()| {
                    entries.invitations.remove(name);
                    let (key, invitation, since) = (key.clone(), invitation.clone(), wall());
                    let enrolled = Enrolled { key, invitation, since, drained: false };
                    entries.workers.insert(name.to_owned(), enrolled);
                    Ok(Ok(()))
                },
            )
        })
    }

    /// Its key, or its invitation, is good for nothing any more.
    pub fn revoke(&self, worker: &WorkerId) -> Result<(), EnrolmentError> {
        self.change(|entries| {
            let known = entries.workers.remove(worker.as_str()).is_some();
            let invited = entries.invitations.remove(worker.as_str()).is_some();
            if known || invited { Ok(()) } else { Err(EnrolmentError::Unknown(worker.clone())) }
        })
    }

    /// It gets no new work from now on, or does again.
    pub fn drain(&self, worker: &WorkerId, drained: bool) -> Result<(), EnrolmentError> {
        self.change(|entries| {
            let enrolled = entries.workers.get_mut(worker.as_str());
            enrolled.ok_or_else(|| EnrolmentError::Unknown(worker.clone()))?.drained = drained;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enrolment() -> (tempfile::TempDir, Enrolment) {
        let folder = tempfile::tempdir().unwrap();
        let enrolment = Enrolment::of(folder.path());
        (folder, enrolment)
    }

    #[test]
    fn a_token_is_good_for_one_worker_and_once() {
        let (_folder, enrolment) = enrolment();
        let token = enrolment.invite(None).unwrap();
        let read = Token::parse(&token.words()).unwrap();
        assert_eq!((read.fleet.clone(), read.worker.as_str()), (enrolment.key().unwrap().id(), "w1"));
        let (key, other) = (Key::generate().unwrap().id(), Key::generate().unwrap().id());
        assert_eq!(enrolment.admit(&read.secret.id(), &read.worker, &key).unwrap(), Ok(()));
        assert_eq!(
            enrolment.admit(&read.secret.id(), &read.worker, &key).unwrap(),
            Ok(()),
            "its answer was lost"
        );
        let again = enrolment.admit(&read.secret.id(), &read.worker, &other).unwrap();
        assert_eq!(again, Err("there is a worker w1 already".to_owned()));
        assert_eq!(enrolment.entries().unwrap().workers["w1"].key, key);
        assert_eq!(enrolment.invite(None).unwrap().worker.as_str(), "w2");
        assert!(matches!(enrolment.invite(Some(read.worker)), Err(EnrolmentError::Taken(_))));
    }

    #[test]
    fn what_was_revoked_or_made_up_or_is_old_is_refused() {
        let (_folder, enrolment) = enrolment();
        let token = enrolment.invite(None).unwrap();
        let key = Key::generate().unwrap().id();
        let made_up = Key::generate().unwrap().id();
        assert!(enrolment.admit(&made_up, &token.worker, &key).unwrap().is_err());
        let other = WorkerId::parse("other").unwrap();
        assert!(enrolment.admit(&token.secret.id(), &other, &key).unwrap().is_err(), "it is for one name");
        enrolment.revoke(&token.worker).unwrap();
        assert!(enrolment.admit(&token.secret.id(), &token.worker, &key).unwrap().is_err());
        assert!(matches!(enrolment.revoke(&token.worker), Err(EnrolmentError::Unknown(_))));
        let old = enrolment.invite(None).unwrap();
        let age = |entries: &mut Entries| {
            entries.invitations.get_mut("w1").unwrap().until = Timestamp(wall().0 - 1);
            Ok(())
        };
        enrolment.change(age).unwrap();
        let refused = enrolment.admit(&old.secret.id(), &old.worker, &key).unwrap().unwrap_err();
        assert!(refused.contains("older than a day") && refused.contains("workers token w1"), "{refused}");
    }

    #[test]
    fn the_file_has_no_secrets_and_one_that_cannot_be_read_is_left_alone() {
        let (_folder, enrolment) = enrolment();
        let token = enrolment.invite(None).unwrap();
        let text = std::fs::read_to_string(enrolment.path()).unwrap();
        assert!(!text.contains(&token.secret.secret()));
        std::fs::write(enrolment.path(), "{").unwrap();
        assert!(matches!(enrolment.revoke(&token.worker), Err(EnrolmentError::Unreadable { .. })));
        assert_eq!(std::fs::read_to_string(enrolment.path()).unwrap(), "{");
    }

    #[test]
    fn nonsense_is_no_token() {
        let (_folder, enrolment) = enrolment();
        let words = enrolment.invite(None).unwrap().words();
        for bad in ["", "conductor-worker-1", &words[..words.len() / 2], &words.replace("-1.", "-2.")] {
            assert!(matches!(Token::parse(bad), Err(EnrolmentError::NoToken)), "{bad}");
        }
    }
}
