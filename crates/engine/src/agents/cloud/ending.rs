//! What a refusal means for an attempt.

use conductor_core::run::event::FailureClass;

use super::telling::{End, Job};
use super::transport::Refusal;
use crate::git::GitError;

pub(super) fn told(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Refused { message, .. } | Refusal::Unsure(message) => message.clone(),
        Refusal::Unable(why) => (*why).to_owned(),
    }
}

pub(super) fn refused(refusal: Refusal) -> End {
    match refusal {
        Refusal::Refused { class, message, retry_after } => {
            let retry_after = retry_after.filter(|_| class.is_outage() || class == FailureClass::UsageLimit);
            End::Failed { class, message, retry_after }
        }
        Refusal::Unsure(message) => End::failed(FailureClass::Provider, message),
        Refusal::Unable(why) => End::failed(FailureClass::Unstartable, why),
    }
}

pub(super) fn unkept(error: impl std::fmt::Display) -> End {
    End::failed(FailureClass::Unstartable, format!("the record of its sessions cannot be kept: {error}"))
}

/// A remote that cannot be reached may be later; one that refuses will refuse again.
pub(super) fn no_remote(job: &Job, error: &GitError) -> End {
    const PASSING: [&str; 5] = ["resolve host", "timed out", "Connection", "connect to", "hung up"];
    let words = error.to_string();
    let remote = job.cloud.remote();
    let class = match PASSING.iter().any(|part| words.contains(part)) {
        true => FailureClass::Provider,
        false => FailureClass::Unstartable,
    };
    End::failed(
        class,
        format!(
            "the remote '{remote}' cannot be used: {words}; see that `git push {remote}` works here without a question"
        ),
    )
}
