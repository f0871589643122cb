//! The section `sync` of config files: where runs are pushed to, and who can read them there.

use super::browser::section;
use super::decode::{flag, text, texts};
use super::diagnostic::Report;
use super::fields::Fields;
use super::keys::SYNC;

/// What a config says of it; what it does not say is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncKeys {
    pub remote: Option<String>,
    pub recipients: Option<Vec<String>>,
    pub identity: Option<String>,
    pub transcripts: Option<bool>,
    pub code_remote: Option<bool>,
}

impl SyncKeys {
    /// What this one says, and where it says nothing, what the weaker one does. Whether a remote may be a repository's own
    /// is said where the remote is named.
    pub fn over(self, weaker: &SyncKeys) -> SyncKeys {
        let code_remote = match self.remote {
            Some(_) => self.code_remote,
            None => self.code_remote.or(weaker.code_remote),
        };
        SyncKeys {
            code_remote,
            remote: self.remote.or_else(|| weaker.remote.clone()),
            recipients: self.recipients.or_else(|| weaker.recipients.clone()),
            identity: self.identity.or_else(|| weaker.identity.clone()),
            transcripts: self.transcripts.or(weaker.transcripts),
        }
    }

    pub(super) fn read(r: &mut Report<'_>, fields: &mut Fields<'_>) -> SyncKeys {
        let mut sync = SyncKeys::default();
        section(r, fields, "sync", SYNC, |r, fields| {
            sync.remote = fields.get(r, "remote", text);
            sync.recipients = fields.get(r, "recipients", texts);
            sync.identity = fields.get(r, "identity", text);
            sync.transcripts = fields.get(r, "transcripts", flag);
            sync.code_remote = fields.get(r, "code_remote", flag);
        });
        sync
    }
}
