//! By which queue and git remote a run's workers are reached: as is said now, else as was said when the run was last taken up.

use std::path::Path;

use conductor_core::run::event::{Options, WorkersAt};
use conductor_core::values::address::shown;
use conductor_engine::dispatch::broker::{self, BrokerError};

use crate::args;
use crate::error::{CliError, Exit};

/// In place of an address: this machine alone.
const NONE: &str = "none";

pub(super) struct Reached {
    pub(super) queue: String,
    pub(super) git: String,
    /// Were not said now: their passwords are not known.
    is_queue_kept: bool,
    is_git_kept: bool,
}

/// None where this machine does all of it. `before` is with what the run was taken up last.
pub(super) fn reached(typed: &args::Run, before: Option<&Options>) -> Result<Option<Reached>, CliError> {
    let before = before.and_then(|options| options.workers_at.as_ref());
    let Some(queue) = typed.queue.as_ref().or(before.map(|before| &before.queue)) else { return Ok(None) };
    if queue == NONE {
        return Ok(None);
    }
    let Some(git) = typed.git.as_ref().or(before.map(|before| &before.git)) else {
        let message = "--queue needs --git: workers on other machines get their code by a git remote";
        return Err(CliError::new(Exit::Usage, message).help(
            "name a remote that this machine and the workers can push to: --git URL, or CONDUCTOR_GIT",
        ));
    };
    let (is_queue_kept, is_git_kept) = (typed.queue.is_none(), typed.git.is_none());
    Ok(Some(Reached { queue: queue.clone(), git: absolute(git)?, is_queue_kept, is_git_kept }))
}

/// A path is from where the command was given, and the run may be taken up from somewhere else.
fn absolute(git: &str) -> Result<String, CliError> {
    match git.contains(':') || git.starts_with('/') {
        true => Ok(git.to_owned()),
        false => Ok(std::path::absolute(Path::new(git))?.display().to_string()),
    }
}

impl Reached {
    /// As it is written down. An address that cannot be read is refused before anything starts.
    pub(super) fn kept(&self) -> Option<WorkersAt> {
        let queue = broker::without_password(&self.queue)?;
        Some(WorkersAt { queue, git: shown(&self.git) })
    }

    pub(super) fn no_queue(&self, error: BrokerError) -> CliError {
        match self.is_queue_kept {
            true => CliError::new(Exit::Unexpected, error).help(
                "the run was started with this queue, whose password is not kept: set CONDUCTOR_QUEUE_PASSWORD where it \
                 has one, or name the queue again (--queue URL, or CONDUCTOR_QUEUE); --queue none goes on without workers",
            ),
            false => error.into(),
        }
    }

    pub(super) fn git_remedy(&self) -> &'static str {
        match self.is_git_kept {
            true => {
                "the run was started with this remote, and a password in its address is not kept: name it again (--git \
                 URL, or CONDUCTOR_GIT), or go on without workers (--queue none)"
            }
            false => "--git names a remote that this user can push to",
        }
    }
}
