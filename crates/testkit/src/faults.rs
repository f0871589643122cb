//! What can go wrong with a request: the kinds of refusal that model APIs know, and how often a script gives them.
//!
//! Only kinds and figures are here. How a dialect words each of them is the dialect's.

use serde::{Deserialize, Serialize};

/// A refusal, as a script asks for it. `kind` or `status` must tell which; the other follows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fault {
    pub status: Option<u16>,
    pub kind: Option<Kind>,
    /// How many requests of the turn; without it, every one.
    pub times: Option<u32>,
    pub counted: Counted,
    /// Seconds, sent as `retry-after`.
    pub retry_after: Option<u64>,
    pub message: Option<String>,
    /// The request is accepted, and the error comes inside the stream.
    pub mid_stream: bool,
}

/// Whose requests a fault counts. An orchestrator that starts an agent anew starts a new conversation: to fail only
/// the first attempt is to count by job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    #[default]
    Job,
    Conversation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Authentication,
    Permission,
    ModelNotFound,
    RateLimit,
    Server,
    Overloaded,
    PromptTooLong,
    CreditTooLow,
    /// Anything else a client is told it did wrong; also what the stand-in says on its own behalf.
    Invalid,
}

/// The allowance of a subscription is used up until a moment. Requests after that moment are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UsageLimit {
    /// Seconds since 1970.
    pub resets_at: Option<u64>,
    /// Seconds from the first request that meets the limit; an hour if neither is given.
    pub resets_in: Option<u64>,
}

/// A refusal on its way out, with everything decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: u16,
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) retry_after: Option<u64>,
    pub(crate) mid_stream: bool,
    pub(crate) limit: Option<Limit>,
}

/// When an allowance comes back, both ways APIs tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) resets_at: u64,
    pub(crate) resets_in: u64,
}

impl Kind {
    fn of(status: u16) -> Kind {
        match status {
            401 => Kind::Authentication,
            403 => Kind::Permission,
            404 => Kind::ModelNotFound,
            429 => Kind::RateLimit,
            503 | 529 => Kind::Overloaded,
            500.. => Kind::Server,
            _ => Kind::Invalid,
        }
    }

    fn status(self) -> u16 {
        match self {
            Kind::Authentication => 401,
            Kind::Permission => 403,
            Kind::ModelNotFound => 404,
            Kind::RateLimit => 429,
            Kind::Server => 500,
            Kind::Overloaded => 529,
            Kind::PromptTooLong | Kind::CreditTooLow | Kind::Invalid => 400,
        }
    }

    /// CLIs know some of these by their wording alone, so the wording is that of a real API.
    fn message(self) -> &'static str {
        match self {
            Kind::Authentication => "the stand-in does not know this key",
            Kind::Permission => "the stand-in does not permit this",
            Kind::ModelNotFound => {
                "models/stand-in is not found for API version v1beta, or is not supported for generateContent."
            }
            Kind::RateLimit => "too many requests for the stand-in",
            Kind::Server => "the stand-in has failed",
            Kind::Overloaded => "Overloaded",
            Kind::PromptTooLong => "prompt is too long: 1000001 tokens > 1000000 maximum",
            Kind::CreditTooLow => "Your credit balance is too low to access the API.",
            Kind::Invalid => "the stand-in cannot make sense of this",
        }
    }
}

impl Fault {
    pub fn of(kind: Kind) -> Fault {
        Fault { kind: Some(kind), ..Fault::default() }
    }

    pub fn status(status: u16) -> Fault {
        Fault { status: Some(status), ..Fault::default() }
    }

    #[must_use]
    pub fn times(self, times: u32) -> Fault {
        Fault { times: Some(times), ..self }
    }

    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Fault {
        Fault { retry_after: Some(seconds), ..self }
    }

    #[must_use]
    pub fn mid_stream(self) -> Fault {
        Fault { mid_stream: true, ..self }
    }

    #[must_use]
    pub fn in_each_conversation(self) -> Fault {
        Fault { counted: Counted::Conversation, ..self }
    }
}

impl UsageLimit {
    pub fn at(epoch_seconds: u64) -> UsageLimit {
        UsageLimit { resets_at: Some(epoch_seconds), resets_in: None }
    }

    pub fn lasting(seconds: u64) -> UsageLimit {
        UsageLimit { resets_at: None, resets_in: Some(seconds) }
    }

    /// The moment it ends, if it was first met at `met`.
    pub(crate) fn ends(self, met: u64) -> u64 {
        const HOUR: u64 = 3600;
        self.resets_at.unwrap_or_else(|| met.saturating_add(self.resets_in.unwrap_or(HOUR)))
    }
}

impl Failure {
    pub(crate) fn from_fault(fault: &Fault) -> Failure {
        let kind = fault.kind.unwrap_or_else(|| Kind::of(fault.status.unwrap_or(500)));
        Failure {
            status: fault.status.unwrap_or(kind.status()),
            kind,
            message: fault.message.clone().unwrap_or_else(|| kind.message().to_owned()),
            retry_after: fault.retry_after,
            mid_stream: fault.mid_stream,
            limit: None,
        }
    }

    pub(crate) fn used_up(resets_at: u64, now: u64) -> Failure {
        let limit = Limit { resets_at, resets_in: resets_at.saturating_sub(now) };
        Failure {
            message: "the allowance is used up".to_owned(),
            limit: Some(limit),
            ..Failure::from_fault(&Fault::of(Kind::RateLimit))
        }
    }

    /// What the stand-in itself has to say. A client error: no CLI asks again after one.
    pub(crate) fn refusal(message: String) -> Failure {
        Failure { message, ..Failure::from_fault(&Fault::of(Kind::Invalid)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_tells_the_kind_and_a_kind_the_status() {
        for status in [401, 403, 404, 429, 500, 529] {
            let failure = Failure::from_fault(&Fault::status(status));
            assert_eq!((failure.status, failure.kind.status()), (status, status));
        }
        let both = Fault { status: Some(502), ..Fault::of(Kind::Overloaded) };
        let failure = Failure::from_fault(&both);
        assert_eq!((failure.status, failure.kind), (502, Kind::Overloaded));
    }

    #[test]
    fn a_limit_ends_when_it_says_or_so_long_after_it_was_met() {
        assert_eq!(UsageLimit::at(50).ends(7), 50);
        assert_eq!(UsageLimit::lasting(5).ends(7), 12);
        assert_eq!(UsageLimit::default().ends(7), 3607);
        assert_eq!(Failure::used_up(50, 20).limit, Some(Limit { resets_at: 50, resets_in: 30 }));
    }
}
