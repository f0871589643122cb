//! How far it was heard what an attempt on another machine says.
//!
//! Its transcript is written where an attempt of this machine would write it: while it goes on to the spool of its executor,
//! which is read as it grows, and at the end that is moved to where it belongs.

use std::collections::HashMap;
use std::path::PathBuf;

use conductor_core::values::ids::{Attempt, TaskId};

use super::Remote;
use crate::host::access;
use crate::host::redact;
use crate::process::transcript::{Clear, Speaker, Words};

pub(super) struct Speech {
    /// By the order, whatever the worker says.
    pub(super) executor: u32,
    /// Where what comes next begins in each file.
    until: HashMap<Words, u64>,
}

impl Speech {
    pub(super) fn of(executor: u32) -> Speech {
        Speech { executor, until: HashMap::new() }
    }

    /// Whether a piece was not heard before; from now on it was.
    pub(super) fn is_new(&mut self, file: Words, offset: u64, next: u64) -> bool {
        let until = self.until.entry(file).or_default();
        let is_new = offset >= *until && next > offset;
        if is_new {
            *until = next;
        }
        is_new
    }
}

impl Remote {
    /// What cannot be kept is told: the attempt itself stands.
    pub(super) fn keep_words(&self, task: &TaskId, attempt: Attempt, of: (u32, Words), text: &str) {
        let (executor, which) = of;
        let speaker = Speaker { output: &self.output, executor, task, attempt };
        let path = if which == Words::Transcript { speaker.spool() } else { speaker.words(which) };
        match append(&path, &redact::known().string(text.to_owned())) {
            Ok(to) if which == Words::Transcript => {
                self.link.marks.set(executor, [Clear { from: 0, to }, Clear::default()]);
            }
            Ok(_) => {}
            Err(error) => {
                self.link.notice(format!("what {task} said cannot be kept at {}: {error}", path.display()));
            }
        }
    }

    /// Before its end is passed on: the executor is another's then.
    pub(super) fn keep_transcript(&self, task: &TaskId, attempt: Attempt, executor: u32) {
        let speaker = Speaker { output: &self.output, executor, task, attempt };
        if let Err(error) = speaker.rescue(&redact::known()) {
            let path = speaker.spool();
            self.link.notice(format!("what {task} said is left at {}: {error}", path.display()));
        }
    }
}

/// How long the file is by then.
fn append(path: &PathBuf, text: &str) -> std::io::Result<u64> {
    use std::io::Write as _;
    path.parent().map_or(Ok(()), access::create_dir_all)?;
    let mut file = access::options(path).append(true).create(true).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(file.metadata()?.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_counts_once_however_often_it_comes() {
        let mut speech = Speech::of(3);
        let mut hear = |file, offset, next| speech.is_new(file, offset, next);
        assert!(hear(Words::Transcript, 0, 10));
        assert!(!hear(Words::Transcript, 0, 10), "a second time");
        assert!(hear(Words::Transcript, 10, 12));
        assert!(!hear(Words::Transcript, 0, 10) && !hear(Words::Transcript, 10, 12));
        assert!(hear(Words::Stream, 0, 4), "each file has its own place");
        assert!(!hear(Words::Calls, 5, 5), "nothing is said");
    }
}
