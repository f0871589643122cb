//! What lies beside a run's log at the remote. The manifest can be read by all who can read the remote; the contents are
//! sealed with everything else, and say what has to be there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::claim::{Claim, Machine};
use crate::values::ids::{RunId, TaskId};
use crate::values::units::Timestamp;

/// The form of a run at a remote.
pub const MANIFEST: &str = "conductor.sync-manifest/1";
pub const CONTENTS: &str = "conductor.sync-contents/1";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: String,
    pub run: RunId,
    /// How many events the log has.
    pub events: u64,
    /// When the last of them happened.
    pub at: Timestamp,
    /// Who pushed it last.
    pub from: Machine,
    /// For whom all else is sealed; none where it is in plain text.
    #[serde(default)]
    pub recipients: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transcripts: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    pub schema: String,
    /// Which run it is: what was sealed for one is not taken for another.
    pub run: RunId,
    pub events: u64,
    /// By name, what each part is: one that was changed, or is of an earlier push, is noticed.
    pub parts: BTreeMap<String, Digest>,
    pub origin: Origin,
    /// Tasks whose text had a secret, which was blotted out: elsewhere they cannot be done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blotted: Vec<TaskId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    pub sha256: String,
    pub bytes: u64,
}

/// Where the run was started, and the commits that it needs to go on elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Origin {
    pub directory: String,
    /// What it was made from, as the user named it.
    pub source: String,
    /// By which its repository is known on every machine: its first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The run's directory, as seen from the root of its checkout.
    #[serde(default)]
    pub below: String,
    /// The run's branch; nothing where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Held>,
    /// Work that has not landed, by the refs that hold it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work: Vec<Held>,
}

/// A ref and the commit that it was at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub name: String,
    pub commit: String,
}
