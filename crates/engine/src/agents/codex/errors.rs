//! What an error means.

use conductor_core::run::event::FailureClass;
use serde_json::Value;

use super::super::talk::{class_of, status_in};

/// What an error of Codex means: by its kind, the provider's status, and its words where it knows no better.
pub(in super::super) fn class_of_error(error: &Value) -> FailureClass {
    let (info, words) = (&error["codexErrorInfo"], error["message"].as_str().unwrap_or_default());
    let (kind, status) = match info.as_object().and_then(|info| info.iter().next()) {
        Some((kind, more)) => (kind.as_str(), more["httpStatusCode"].as_u64()),
        None => (info.as_str().unwrap_or_default(), None),
    };
    match kind {
        // It says the same of an allowance that comes back and of money that does not.
        "usageLimitExceeded" if words.contains("billing") => FailureClass::Billing,
        "usageLimitExceeded" => FailureClass::UsageLimit,
        "rateLimitExceeded" => FailureClass::RateLimited,
        "serverOverloaded" | "flexUnavailable" | "policyCapacityUnavailable" => FailureClass::Overloaded,
        "contextWindowExceeded" => FailureClass::TooLong,
        "sessionBudgetExceeded" => FailureClass::Budget,
        "modelNotFound" => FailureClass::UnknownModel,
        "unauthorized" => FailureClass::Unauthorized,
        "internalServerError" => FailureClass::Provider,
        "badRequest" | "cyberPolicy" | "misalignmentPolicyViolation" | "tooManyDenials" => {
            FailureClass::Rejected
        }
        _ if words.contains("Missing environment variable") => FailureClass::Unauthorized,
        _ => class_of(status.or_else(|| status_in(words)), words),
    }
}
