//! What is known of a task's sessions, on the disk before anything is done about it.
//!
//! The event log tells by which name a conversation goes on. This tells what had been done when the driver was killed:
//! whether a session may exist of which no answer came. Each stage is synced before the step that follows it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use conductor_core::plan::Transport as Kind;
use serde::{Deserialize, Serialize};

use super::telling::Meter;
use super::transport::SessionName;
use crate::git::courier::Tip;
use crate::host::access;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// The anchor is about to be pushed; no session was asked for.
    Intended,
    /// A session is about to be asked for, or has been: it may exist.
    Creating,
    /// It exists. `before` is the work that was taken of it, where it was spoken to after that.
    Live {
        session: SessionName,
        asked: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
    },
    /// Its work was taken, and the coordinator was told so.
    Settled { session: Option<SessionName>, commit: String },
    /// It is over, or there never was one.
    Over,
}

/// One submission of the prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Submission {
    pub(super) mark: String,
    pub(super) transport: Kind,
    /// The branch on the remote that has the anchor, and the anchor.
    pub(super) branch: String,
    pub(super) anchor: String,
    /// What the remote had before.
    pub(super) before: Vec<Tip>,
    pub(super) stage: Stage,
    /// When it was begun, in milliseconds since 1970.
    pub(super) at: i64,
    /// Whether the anchor is still on the remote, as far as is known.
    pub(super) anchored: bool,
    /// The address of the pull request for its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pull_request: Option<String>,
    /// What the coordinator was told of the session's cost.
    #[serde(default)]
    pub(super) meter: Meter,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// How often a session was asked for.
    pub(super) sessions: u32,
    /// How many submissions were intended: each has a number of its own.
    pub(super) submissions: u32,
    pub(super) current: Option<Submission>,
    #[serde(skip)]
    path: PathBuf,
}

impl Record {
    /// One that is not there is new; one that cannot be read is an error, for what it says must not be forgotten.
    pub(super) fn open(folder: &Path) -> io::Result<Record> {
        access::create_private_dir_all(folder)?;
        let path = folder.join("record.json");
        let record = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Record::default(),
            Err(error) => return Err(error),
        };
        Ok(Record { path, ..record })
    }

    /// Waits until no other driver has the record.
    pub(super) fn claim(folder: &Path) -> io::Result<File> {
        access::create_private_dir_all(folder)?;
        let file = File::create(folder.join("record.lock"))?;
        file.lock()?;
        Ok(file)
    }

    /// On the disk when this returns.
    pub(super) fn keep(&self) -> io::Result<()> {
        access::replace_by(&self.path, |file| {
            serde_json::to_writer(&mut *file, self)?;
            file.sync_all()
        })?;
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }

    pub(super) fn set(&mut self, stage: Stage) -> io::Result<()> {
        if let Some(current) = &mut self.current {
            current.stage = stage;
        }
        self.keep()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_there_again_and_a_broken_one_is_not_taken_for_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::open(folder.path()).unwrap();
        assert_eq!(record.current, None);
        record.sessions = 2;
        record.current = Some(Submission {
            mark: "r/t/1".into(),
            transport: Kind::Routine,
            branch: "b".into(),
            anchor: "c".into(),
            before: Vec::new(),
            stage: Stage::Intended,
            at: 0,
            anchored: false,
            pull_request: None,
            meter: Meter::default(),
        });
        let session = SessionName::new("s", Some("https://x/s".into()));
        record.set(Stage::Live { session, asked: false, before: None }).unwrap();
        assert_eq!(Record::open(folder.path()).unwrap(), record);
        fs::write(folder.path().join("record.json"), "{").unwrap();
        assert!(Record::open(folder.path()).is_err());
    }
}
