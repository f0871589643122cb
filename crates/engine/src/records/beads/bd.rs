//! The `bd` command: one call at a time, each with a limit, and again where its database is locked.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use thiserror::Error;

use super::issue::{self, Issue};
use crate::host::access;
use crate::host::redact;
use crate::process::{Heard, hear_beside};

/// How long a call may take.
const LIMIT: Duration = Duration::from_secs(60);

/// How often a call is made where the database is locked, and the waits in between: doubled, up to the longest.
const TRIES: u32 = 8;
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(4);

/// How often a close is said, where reading back tells that it is not so.
const CLOSINGS: u32 = 5;

/// Issues asked for in one call.
const AT_ONCE: usize = 100;

#[derive(Debug, Error)]
pub enum BdError {
    #[error("bd cannot be started: {0}")]
    Unstartable(std::io::Error),
    #[error("`bd {call}` had not answered after {} s and was stopped", .limit.as_secs())]
    Late { call: String, limit: Duration },
    #[error("`bd {call}`: another process holds the beads database; gave up after {tries} tries: {said}")]
    Locked { call: String, tries: u32, said: String },
    #[error("`bd {call}` failed: {said}")]
    Failed { call: String, said: String },
    #[error("`bd {call}` gave an answer that cannot be read: {why}")]
    Unreadable { call: String, why: String },
    #[error("`bd close {id}` was said {times} times, and {id} is still {status}")]
    NotClosed { id: String, times: u32, status: String },
}

impl BdError {
    /// Whether asking again at once is of no use.
    fn is_final(&self) -> bool {
        matches!(self, BdError::Unstartable(_) | BdError::Late { .. } | BdError::Locked { .. })
    }
}

/// The command, in the place whose issues are meant.
#[derive(Debug, Clone)]
pub struct Bd {
    program: PathBuf,
    directory: PathBuf,
    /// Held while a call lasts, so that several of us never ask at once.
    lock: PathBuf,
}

impl Bd {
    /// The one on the `PATH`, if there is one.
    pub fn find(directory: &Path, home: &Path) -> Option<Bd> {
        let path = std::env::var_os("PATH")?;
        let program =
            std::env::split_paths(&path).map(|folder| folder.join("bd")).find(|file| file.is_file())?;
        Some(Bd { program, directory: directory.to_owned(), lock: home.join("beads.lock") })
    }

    /// Every issue there is, closed ones too, with what each waits for.
    pub fn all(&self) -> Result<Vec<Issue>, BdError> {
        let mut all = self.issues(&["list", "--all", "--limit", "0"])?;
        let untold = |issue: &&Issue| issue.link_count > issue.links.len() && !issue.is_closed();
        let untold: Vec<String> = all.iter().filter(untold).map(|issue| issue.id.clone()).collect();
        for full in self.some(&untold)? {
            if let Some(known) = all.iter_mut().find(|known| known.id == full.id) {
                *known = full;
            }
        }
        // Gates and the like are in no list, and what is elsewhere is in no database of ours.
        let known: HashSet<&str> = all.iter().map(|issue| issue.id.as_str()).collect();
        let waited = all.iter().flat_map(|issue| &issue.links).map(|link| link.on.as_str());
        let hidden: BTreeSet<String> =
            waited.filter(|on| !on.contains(':') && !known.contains(on)).map(str::to_owned).collect();
        for id in hidden {
            all.extend(self.one(&id)?);
        }
        Ok(all)
    }

    /// The ids of all that nothing holds back.
    pub fn ready(&self) -> Result<Vec<String>, BdError> {
        Ok(self.issues(&["ready", "--limit", "0"])?.into_iter().map(|issue| issue.id).collect())
    }

    fn some(&self, ids: &[String]) -> Result<Vec<Issue>, BdError> {
        let mut found = Vec::new();
        for ids in ids.chunks(AT_ONCE) {
            let call: Vec<&str> = std::iter::once("show").chain(ids.iter().map(String::as_str)).collect();
            found.extend(self.issues(&call)?);
        }
        Ok(found)
    }

    /// One issue; nothing where there is none of that name.
    pub fn one(&self, id: &str) -> Result<Option<Issue>, BdError> {
        match self.issues(&["show", id]) {
            Ok(found) => Ok(found.into_iter().find(|issue| issue.id == id)),
            Err(BdError::Failed { said, .. }) if is_not_found(&said) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Closes an issue and reads back whether it is. One that is closed already stays as it is, and one that is gone
    /// needs no closing.
    pub fn close(&self, id: &str, reason: &str, session: &str) -> Result<(), BdError> {
        let mut refused = None;
        for times in 0.. {
            let status = match self.one(id) {
                Ok(issue) => match issue.filter(|issue| !issue.is_closed()) {
                    Some(open) => open.status,
                    None => return Ok(()),
                },
                Err(error) if times >= CLOSINGS || error.is_final() => return Err(error),
                Err(_) => continue,
            };
            if times >= CLOSINGS {
                return Err(refused.unwrap_or(BdError::NotClosed { id: id.to_owned(), times, status }));
            }
            std::thread::sleep(SHORTEST * times);
            // Whatever it says, what counts is what is read back.
            match self.issues(&["close", id, "--reason", reason, "--session", session]) {
                Ok(_) => refused = None,
                Err(error) if error.is_final() => return Err(error),
                Err(error) => refused = Some(error),
            }
        }
        Ok(())
    }

    fn issues(&self, call: &[&str]) -> Result<Vec<Issue>, BdError> {
        let answer = self.ask(call)?;
        issue::issues(&answer).map_err(|why| BdError::Unreadable { call: call.join(" "), why })
    }

    fn ask(&self, call: &[&str]) -> Result<Vec<u8>, BdError> {
        let mut wait = SHORTEST;
        for tries in 1.. {
            let heard = self.call(call)?;
            let Some(status) = heard.status else {
                return Err(BdError::Late { call: call.join(" "), limit: LIMIT });
            };
            let said = said(&heard);
            if !is_locked(&said) || (status.success() && issue::issues(&heard.stdout).is_ok()) {
                return match status.success() {
                    true => Ok(heard.stdout),
                    false => Err(BdError::Failed { call: call.join(" "), said }),
                };
            }
            if tries >= TRIES {
                return Err(BdError::Locked { call: call.join(" "), tries, said });
            }
            std::thread::sleep(wait.mul_f64(0.75 + fastrand::f64() / 2.0));
            wait = (wait * 2).min(LONGEST);
        }
        Ok(Vec::new())
    }

    fn call(&self, call: &[&str]) -> Result<Heard, BdError> {
        // Without the lock it is only slower: bd has its own.
        let lock = access::private().create(true).truncate(false).write(true).open(&self.lock);
        let _turn = lock.and_then(|lock| lock.lock().map(|()| lock));
        let mut command = Command::new(&self.program);
        command.args(call).arg("--json").current_dir(&self.directory);
        hear_beside(&mut command, LIMIT).map_err(BdError::Unstartable)
    }
}

/// What it said of itself: errors go to either output, as JSON or as words.
fn said(heard: &Heard) -> String {
    const MOST: usize = 500;
    let error = |bytes: &[u8]| {
        let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
        let inside = value.get("data").unwrap_or(&value);
        inside.get("error").and_then(|error| error.as_str()).map(str::to_owned)
    };
    let words = |bytes: &[u8]| redact::known().cut(String::from_utf8_lossy(bytes).trim(), MOST);
    if let Some(error) = error(&heard.stderr).or_else(|| error(&heard.stdout)) {
        return error;
    }
    match words(&heard.stderr) {
        said if said.is_empty() && heard.status.is_some_and(|status| !status.success()) => {
            words(&heard.stdout)
        }
        said => said,
    }
}

/// As the storage of beads, old and new, words it.
fn is_locked(said: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "database is locked",
        "lock file",
        "noms lock",
        "locked by another",
        "exclusive lock",
        "acquiring lock",
        "database table is locked",
        "resource temporarily unavailable",
    ];
    let said = said.to_lowercase();
    SIGNS.iter().any(|sign| said.contains(sign))
}

fn is_not_found(said: &str) -> bool {
    let said = said.to_lowercase();
    said.contains("no issues found") || said.contains("issue not found") || said.contains("no issue found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_told_from_other_failures() {
        for said in [
            "embeddeddolt: another process holds the exclusive lock on /x/.beads/embeddeddolt; the embedded backend",
            "Error 1105: database is locked",
            "failed to open: Noms lock held",
            "the database is locked by another dolt process",
        ] {
            assert!(is_locked(said), "{said}");
        }
        for said in
            ["no active beads workspace found", "cannot close a: blocked by open issues [b]", "", "blocked"]
        {
            assert!(!is_locked(said), "{said}");
        }
    }

    #[test]
    fn errors_are_found_wherever_they_are() {
        let heard = |stdout: &str, stderr: &str| {
            said(&Heard { status: None, stdout: stdout.into(), stderr: stderr.into() })
        };
        assert_eq!(heard(r#"{"error":"a","schema_version":1}"#, ""), "a");
        assert_eq!(heard("", r#"{"schema_version":1,"data":{"error":"b"}}"#), "b");
        assert_eq!(heard("[]", "cannot close x\n"), "cannot close x");
    }
}
