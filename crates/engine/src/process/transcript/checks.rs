//! How each check of an attempt went: a line for each run of one, in a file beside the transcript.
//!
//! The transcript has all that a check printed; which part of it is whose, how long it took and how it ended is told
//! here. Where a line cannot be written, it is left out: nothing is decided by it.

use std::io::{self, BufRead as _, BufReader, Write as _};

use conductor_core::values::units::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Speaker, open_own};
use crate::host::access;

/// An attempt that is checked more often is not noted further: nothing that reads it is served by more.
const MOST: usize = 1_000;

/// What a check looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckedOn {
    /// The commit that the work begins at.
    Base,
    Work,
    /// The work with a file damaged on purpose: there it is to fail.
    Damaged,
    /// The work merged with what lands before it.
    Combined,
}

/// One run of a check, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRun {
    pub on: CheckedOn,
    pub command: String,
    pub at: Timestamp,
    pub took: Millis,
    /// Why it failed; nothing where it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The last that it printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

impl Speaker<'_> {
    pub(crate) fn note_check(&self, run: &CheckRun) {
        let _ = self.write_check(run);
    }

    fn write_check(&self, run: &CheckRun) -> io::Result<()> {
        let path = self.checks();
        if let Some(folder) = path.parent() {
            access::create_dir_all(folder)?;
        }
        let mut line = serde_json::to_vec(run)?;
        line.push(b'\n');
        access::options(&path).append(true).create(true).open(&path)?.write_all(&line)
    }
}

/// How the checks of an attempt went, in their order; a line that was cut is passed over.
pub fn checks(speaker: &Speaker<'_>) -> Vec<CheckRun> {
    let Ok(file) = open_own(speaker.checks()) else { return Vec::new() };
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    lines.filter_map(|line| serde_json::from_slice(&line).ok()).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use conductor_core::values::ids::{Attempt, TaskId};

    use super::*;

    #[test]
    fn runs_are_read_as_they_were_noted_and_a_cut_line_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let task = TaskId::parse("t").unwrap();
        let speaker = Speaker { output: folder.path(), executor: 1, task: &task, attempt: Attempt(2) };
        assert_eq!(checks(&speaker), [], "one that checks nothing leaves no file");
        let run = |on, why: Option<&str>| CheckRun {
            on,
            command: "make test".into(),
            at: Timestamp(5),
            took: Millis(7),
            why: why.map(str::to_owned),
            lines: vec!["1 failed".into()],
        };
        let both = [run(CheckedOn::Base, None), run(CheckedOn::Work, Some("exit code 2"))];
        both.iter().for_each(|run| speaker.note_check(run));
        std::fs::File::options()
            .append(true)
            .open(speaker.checks())
            .unwrap()
            .write_all(b"{\"on\":\"wo")
            .unwrap();
        assert_eq!(checks(&speaker), both);
    }
}
