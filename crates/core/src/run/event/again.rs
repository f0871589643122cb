//! Why a task is done once more, and with what.

use serde::{Deserialize, Serialize};

use super::{Change, Failure};

/// Why a task is to be done once more.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Again {
    /// It failed, and its policy grants another try.
    #[default]
    Failed,
    /// Its work is good but for what is said here, and another attempt mends that.
    Mend(Box<Round>),
    /// Its work does not fit any more and is done anew from where the branch is now.
    Anew,
    /// Its agent could not do it, for reasons of its own; the next of its agents does.
    Other,
    /// The model could not do it; its agent does with the next one.
    Model,
    /// It failed, and begins once more with nothing of the try before.
    Back,
    /// A person has reviewed its work and sent it back with comments.
    SentBack(Box<Round>),
}

impl Again {
    pub(super) fn is_failed(&self) -> bool {
        *self == Again::Failed
    }
}

/// Work that goes back, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    pub change: Change,
    pub failure: Failure,
}
