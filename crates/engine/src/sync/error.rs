//! Why a run cannot be carried.

use std::io;
use std::path::PathBuf;

use conductor_core::sync::{BadLog, Refused};
use conductor_core::values::ids::{RunId, TaskId};
use thiserror::Error;

use crate::expertise::ExpertiseError;
use crate::git::GitError;
use crate::host::home::HomeError;
use crate::stores::StoreError;

#[derive(Debug, Error)]
pub enum SyncError {
    #[error("'{0}' is neither a directory nor the address of a git remote")]
    NoPlace(String),
    #[error("{shown} is a remote of the repository {}: runs are not pushed beside code unless you configure it", .repository.display())]
    OfCode { shown: String, repository: PathBuf },
    #[error("{shown} cannot be used: {source}")]
    Git { shown: String, source: GitError },
    #[error(transparent)]
    Repository(#[from] GitError),
    #[error("{}: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} is damaged: {why}", .path.display())]
    Note { path: PathBuf, why: String },
    #[error("there is no key at {}", .0.display())]
    NoKey(PathBuf),
    #[error("{} is no key of age: {why}", .path.display())]
    BadKey { path: PathBuf, why: String },
    #[error("others may read the key {}", .0.display())]
    OpenKey(PathBuf),
    #[error("'{0}' is no public key of age (age1…)")]
    BadRecipient(String),
    #[error(
        "nothing says for whom to encrypt: there is no key of this machine and no recipient is configured"
    )]
    NoRecipient,
    #[error("what is at the remote is encrypted for {}, and the key at {} is none of theirs", .recipients.join(", "), .path.display())]
    NotForUs { recipients: Vec<String>, path: PathBuf },
    #[error("run {run} at the remote is damaged: {why}; nothing of it was taken")]
    Damaged { run: RunId, why: String },
    #[error("run {run} at the remote was refused: {source}; nothing of it was taken")]
    BadLog { run: RunId, source: BadLog },
    #[error("what a project has taught, at {name} of the remote, is damaged: {why}; nothing of it was taken")]
    DamagedItems { name: String, why: String },
    #[error(
        "run {run} cannot be pushed: a secret that this machine knows is a part of {what}, and without it {why}"
    )]
    Undone { run: RunId, what: String, why: String },
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("run {0} is not at the remote")]
    NotThere(RunId),
    #[error("run {0} was changed at the remote at the same moment by another machine")]
    Moved(RunId),
    #[error("the remote refused {name}: {why}")]
    Rejected { name: String, why: String },
    #[error(
        "run {run} was pushed to {shown}, and whether another machine has claimed it since cannot be told: {why}"
    )]
    Unreachable { run: RunId, shown: String, why: String },
    #[error("run {0} is active on this machine")]
    Active(RunId),
    #[error("agents of run {0} are still at work on this machine, without a coordinator")]
    AgentsAtWork(RunId),
    #[error("a pull of run {0} was ended before all of it was here")]
    Unfinished(RunId),
    #[error("run {0} was never pushed or pulled here")]
    NotSynced(RunId),
    #[error("run {run} came from {from} and is not claimed by this machine: it is resumed only by its name")]
    Unnamed { run: RunId, from: String },
    #[error("run {run} cannot be gone on with here: {} {} not in the repository {}", .missing.join(", "), if .missing.len() == 1 { "is" } else { "are" }, .repository.display())]
    CodeMissing { run: RunId, missing: Vec<String>, repository: PathBuf, refs: Vec<String> },
    #[error("run {run} cannot be gone on with here: it worked in {}, which is not on this machine", .directory.display())]
    NoDirectory { run: RunId, directory: PathBuf },
    #[error(
        "run {run} cannot be gone on with here: task '{task}' has a secret in its text or env, and secrets are not pushed"
    )]
    SecretsLeft { run: RunId, task: TaskId },
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Expertise(#[from] ExpertiseError),
    #[error("{0}")]
    Unworded(#[from] serde_json::Error),
}

impl SyncError {
    /// What the user can do about it.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            SyncError::NoPlace(_) => {
                "make the directory first, or give an address such as git@host:me/runs.git".to_owned()
            }
            SyncError::OfCode { .. } => "use another remote or a directory; or, in your own config: \
                                         sync: { remote: …, code_remote: true }"
                .to_owned(),
            SyncError::NoKey(_) | SyncError::NoRecipient => {
                "make one: conductor sync key; or push in plain text: --plain".to_owned()
            }
            SyncError::OpenKey(path) => format!("close it: chmod 600 '{}'", path.display()),
            SyncError::NotForUs { .. } => {
                "have a machine that can read it push again with this machine's public key \
                                           (conductor sync key) among its sync: recipients"
                    .to_owned()
            }
            SyncError::Damaged { .. } | SyncError::BadLog { .. } => {
                "push it again from the machine that has it; an older conductor is to be updated first"
                    .to_owned()
            }
            SyncError::DamagedItems { .. } => "push again from a machine that has them".to_owned(),
            SyncError::Undone { .. } => "unset the variable with that value for this command".to_owned(),
            SyncError::Refused(Refused::NotOurs(not_ours)) => format!(
                "on {}: conductor sync release {}; if that machine is gone, here: conductor sync claim {} --force",
                not_ours.holder, not_ours.run, not_ours.run
            ),
            SyncError::Refused(Refused::Behind { run, .. }) | SyncError::Unfinished(run) => {
                format!("first: conductor sync pull {run}")
            }
            SyncError::Refused(Refused::Parted(parted)) => format!(
                "both stay as they are; go on with one of them: with the remote's on {}, or with this one, which is this \
                 machine's alone after: conductor sync forget {}",
                parted.from, parted.run
            ),
            SyncError::Moved(_) => "try again".to_owned(),
            SyncError::NotThere(run) => format!(
                "push it: conductor sync push {run}; or go on without the remote: conductor sync forget {run}"
            ),
            SyncError::Unreachable { run, .. } => {
                format!("try again when it can be reached; or go on without it: conductor sync forget {run}")
            }
            SyncError::Unnamed { run, .. } => format!("conductor run --resume {run}"),
            SyncError::AgentsAtWork(run) => format!(
                "go on with it here: conductor run --resume {run}; or wait until they have ended, which takes as long as the \
                 run's orphan_grace at most"
            ),
            SyncError::CodeMissing { run, refs, .. } => format!(
                "on the machine that has them, push them to a remote of the code: git push REMOTE {refs}; then here: git \
                 fetch REMOTE {refs}; then: conductor run --resume {run}",
                refs = refs.iter().map(|name| format!("'{name}:{name}'")).collect::<Vec<_>>().join(" ")
            ),
            SyncError::NoDirectory { run, .. } => {
                format!("go to a clone of its repository, and there: conductor run --resume {run}")
            }
            SyncError::SecretsLeft { .. } => {
                "finish it where it was started; in a task file, name a secret in env_pass \
                                              instead of writing it down"
                    .to_owned()
            }
            SyncError::Git { source, .. } | SyncError::Repository(source) => return source.remedy(),
            _ => return None,
        })
    }
}

/// For `map_err`.
pub(super) fn at(path: &std::path::Path) -> impl FnOnce(io::Error) -> SyncError + '_ {
    move |source| SyncError::File { path: path.to_owned(), source }
}
