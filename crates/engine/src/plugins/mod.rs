//! Plugins: programs of others, started for one purpose and spoken to in JSON lines; docs/plugins.md is the protocol.
//!
//! A plugin is never believed: what it says is bounded in size and time, and one that hangs, floods or crashes costs
//! what it was asked for and nothing else. It gets no secret of the user's but what is meant for plugins.

mod contract;
mod exchange;
mod finding;
mod lock;
mod protocol;
mod scaffold;
mod verifying;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use thiserror::Error;

use crate::host::trust::TrustError;

pub use contract::{Checked, check};
pub use exchange::{Exchange, Limits};
pub(crate) use finding::asking;
pub use finding::{
    Found, Place, Standing, all, find, find_unlocked, folder_of_user, of_repository, subcommand,
};
pub use lock::{Change, Lock, changed, relock, unlock};
pub use protocol::{Hello, read_hello};
pub use scaffold::{Language, scaffold};
pub use verifying::{MOST_FINDINGS, Verdict, verify};

/// Raised when a program written for what came before would no longer be understood.
pub const PROTOCOL: u32 = 1;

/// Variables with this prefix are meant for plugins, and handed to every one of them.
pub const VARIABLES: &str = "CONDUCTOR_PLUGIN_";

/// What a plugin is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Agent,
    Notifier,
    Importer,
    Verifier,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Agent, Kind::Notifier, Kind::Importer, Kind::Verifier];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Agent => "agent",
            Kind::Notifier => "notifier",
            Kind::Importer => "importer",
            Kind::Verifier => "verifier",
        }
    }

    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name of the program; nothing where the plugin's name is more than a part of a file's name.
    pub fn program(self, name: &str) -> Option<String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_plain = !name.is_empty() && name.len() <= 60 && name.chars().all(plain);
        is_plain.then(|| format!("conductor-{}-{name}", self.name()))
    }

    /// What the file's name says it is.
    pub fn of_program(file: &str) -> Option<(Kind, &str)> {
        let rest = file.strip_prefix("conductor-")?;
        let split = |kind: Kind| Some((kind, rest.strip_prefix(kind.name())?.strip_prefix('-')?));
        let (kind, name) = Kind::ALL.into_iter().find_map(split)?;
        kind.program(name).map(|_| (kind, name))
    }
}

#[derive(Debug, Error)]
pub enum PluginError {
    #[error("there is no {} '{name}': no conductor-{}-{name} in .conductor/plugins, {user}/plugins or on PATH", kind.name(), kind.name())]
    Missing { kind: Kind, name: String, user: String },
    #[error("{} is in this repository, and you have not trusted it", path.display())]
    Untrusted { path: PathBuf },
    #[error("{} changed since you added it", path.display())]
    Changed { path: PathBuf },
    #[error("cannot start {}: {source}", path.display())]
    Unstartable { path: PathBuf, source: io::Error },
    #[error("{name} said no hello within {}{said}", seconds(*limit))]
    Silent { name: String, limit: Duration, said: String },
    #[error("{name} did not begin with a hello: {line}")]
    NoHello { name: String, line: String },
    #[error("{name} speaks protocol {theirs}, and this is {PROTOCOL}")]
    Protocol { name: String, theirs: String },
    #[error("{name} says a version that is none: {version}")]
    Version { name: String, version: String },
    #[error("{name} says that it can {}, and not {}", can.join(", "), kind.name())]
    Incapable { name: String, kind: Kind, can: Vec<String> },
    #[error("{name} did not answer within {}{said}", seconds(*limit))]
    Late { name: String, limit: Duration, said: String },
    #[error("{name} wrote a line of more than {} bytes", limit)]
    LongLine { name: String, limit: usize },
    #[error("{name} wrote more than {limit} bytes")]
    Flood { name: String, limit: u64 },
    #[error("{name} ended before it was done{said}")]
    Ended { name: String, said: String },
    #[error("{name} wrote what is no message: {line}")]
    Garbled { name: String, line: String },
    #[error("{name} failed: {why}")]
    Failed { name: String, why: String },
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl PluginError {
    /// What to do about it, where that is not the plugin author's.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            PluginError::Missing { .. } => Some("`conductor plugin list` shows those there are"),
            PluginError::Untrusted { .. } => Some("look at it, and trust the repository: conductor trust"),
            PluginError::Changed { .. } => {
                Some("look at the change, and add it again: conductor plugin add FILE")
            }
            PluginError::Protocol { .. } => Some("install a version of the plugin for this Conductor"),
            _ => None,
        }
    }
}

fn seconds(limit: Duration) -> String {
    match limit.subsec_millis() {
        0 => format!("{} s", limit.as_secs()),
        _ => format!("{} ms", limit.as_millis()),
    }
}

/// What of the user's environment a plugin gets.
pub type Environment = BTreeMap<OsString, OsString>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path_and_says_its_kind() {
        assert_eq!(Kind::Agent.program("my-agent_2").as_deref(), Some("conductor-agent-my-agent_2"));
        for name in ["", "../x", "a/b", "a b", "acp:x", "ä", &"x".repeat(61)] {
            assert_eq!(Kind::Notifier.program(name), None, "{name}");
        }
        assert_eq!(Kind::of_program("conductor-verifier-a-b"), Some((Kind::Verifier, "a-b")));
        for file in ["conductor-verifier-", "conductor-other-x", "conductor", "x-agent-y", "conductor-agentx"]
        {
            assert_eq!(Kind::of_program(file), None, "{file}");
        }
    }
}
