//! Whose words they are, and where each kind of them is kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::values::ids::{Attempt, TaskId};

use super::opening::open_own;
use super::{ACCOUNT, NEW_ACCOUNT, SPOOL, STREAM, Transcript, folder};
use crate::host::redact::Redactor;

/// The files of an attempt that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Words {
    Transcript,
    Stream,
    Calls,
    Checks,
}

impl Words {
    pub(crate) const ALL: [Words; 4] = [Words::Transcript, Words::Stream, Words::Calls, Words::Checks];
}

/// Whose words they are, and below which directory they are kept.
#[derive(Debug, Clone, Copy)]
pub struct Speaker<'a> {
    pub output: &'a Path,
    pub executor: u32,
    pub task: &'a TaskId,
    pub attempt: Attempt,
}

impl Speaker<'_> {
    /// Where the transcript is once the attempt is over, if it said anything.
    pub fn transcript(&self) -> PathBuf {
        let folder = self.folder().join(self.task.as_str());
        match self.attempt {
            Attempt(1) => folder.join("transcript.log"),
            Attempt(n) => folder.join(format!("transcript.{n}.log")),
        }
    }

    /// Where what it said to us is kept, word by word.
    pub fn stream(&self) -> PathBuf {
        self.transcript().with_extension("jsonl")
    }

    /// Where its tool calls are noted.
    pub(super) fn calls(&self) -> PathBuf {
        self.notes_of("calls")
    }

    /// Where it is noted how its checks went.
    pub(super) fn checks(&self) -> PathBuf {
        self.notes_of("checks")
    }

    fn notes_of(&self, what: &str) -> PathBuf {
        let folder = self.folder().join(self.task.as_str());
        match self.attempt {
            Attempt(1) => folder.join(format!("{what}.jsonl")),
            Attempt(n) => folder.join(format!("{what}.{n}.jsonl")),
        }
    }

    /// Where one of the files is that are read when the attempt is over.
    pub(crate) fn words(&self, which: Words) -> PathBuf {
        match which {
            Words::Transcript => self.transcript(),
            Words::Stream => self.stream(),
            Words::Calls => self.calls(),
            Words::Checks => self.checks(),
        }
    }

    /// Where it is noted whose stream is being written, and what had been used before.
    pub(crate) fn account(&self) -> PathBuf {
        self.folder().join(ACCOUNT)
    }

    /// The note is there as a whole or not at all.
    pub(crate) fn write_account(&self, note: &[u8]) -> io::Result<()> {
        let new = self.folder().join(NEW_ACCOUNT);
        fs::write(&new, note)?;
        fs::rename(new, self.account())
    }

    /// The stream that an attempt of a dead coordinator wrote last, wherever it is by now.
    pub(crate) fn left_stream(&self) -> io::Result<Option<Transcript>> {
        for path in [self.folder().join(STREAM), self.stream()] {
            match open_own(&path) {
                Ok(file) => return Ok(Some(Transcript::new(path, self.stream(), file))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    pub(super) fn folder(&self) -> PathBuf {
        folder(self.output, self.executor)
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.folder().join(SPOOL)
    }

    /// Where it writes while its spool is not free.
    pub(super) fn aside(&self) -> PathBuf {
        self.folder().join(format!("spool.{}.{}.log", self.task, self.attempt))
    }

    /// Moves what an attempt of a dead coordinator wrote to where it belongs, without what this one knows to be secret.
    pub fn rescue(&self, redactor: &Arc<Redactor>) -> io::Result<()> {
        let places = [(self.spool(), self.transcript()), (self.folder().join(STREAM), self.stream())];
        for (spool, kept) in places {
            match open_own(&spool) {
                Ok(file) => Transcript::new(spool, kept, file).redacted(redactor.clone()).finish()?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
