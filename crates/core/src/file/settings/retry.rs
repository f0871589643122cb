//! `retry_policy`: how often a task is tried again, and after which delays.

use super::{Fields, Millis, Node, Report, count, duration};
use crate::file::decode::ratio;
use crate::file::keys::RETRY;
use crate::file::tree::Value;
use crate::plan::RetryPolicy;

/// A retry policy of which only some fields may be written.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::file) struct Retry {
    pub(super) max_attempts: Option<u32>,
    pub(super) initial_delay: Option<Millis>,
    pub(super) backoff_factor: Option<f64>,
    pub(super) max_delay: Option<Millis>,
    pub(super) jitter: Option<f64>,
}

impl Retry {
    pub(in crate::file) fn read(r: &mut Report<'_>, _: &str, node: &Node) -> Option<Retry> {
        let mut fields = Fields::of(r, "a retry policy", RETRY, node)?;
        let retry = Retry {
            max_attempts: fields.get(r, "max_attempts", count(1..=100)),
            initial_delay: fields.get(r, "initial_delay", delay),
            backoff_factor: fields.get(r, "backoff_factor", ratio(1.0..=100.0)),
            max_delay: fields.get(r, "max_delay", delay),
            jitter: fields.get(r, "jitter", ratio(0.0..=1.0)),
        };
        fields.finish(r, |_| false);
        Some(retry)
    }

    pub(super) fn effective(
        own: Option<Retry>,
        config: Option<Retry>,
        untouched: RetryPolicy,
    ) -> RetryPolicy {
        if own.is_none() && config.is_none() {
            return untouched;
        }
        let (own, config, base) =
            (own.unwrap_or_default(), config.unwrap_or_default(), RetryPolicy::default());
        RetryPolicy {
            max_attempts: own.max_attempts.or(config.max_attempts).unwrap_or(base.max_attempts),
            initial_delay: own.initial_delay.or(config.initial_delay).unwrap_or(base.initial_delay),
            backoff_factor: own.backoff_factor.or(config.backoff_factor).unwrap_or(base.backoff_factor),
            max_delay: own.max_delay.or(config.max_delay).unwrap_or(base.max_delay),
            jitter: own.jitter.or(config.jitter).unwrap_or(base.jitter),
        }
    }
}

const LONG_DELAY: Millis = Millis::from_secs(3600);

/// Other tools count retry delays in milliseconds; a plain number that makes hours is most likely one of
/// theirs.
fn delay(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Millis> {
    let length = duration(r, what, node)?;
    let plain = matches!(node.value, Value::Int(_) | Value::Float(_));
    if plain && length > LONG_DELAY {
        let number = r.source.slice(node.span).to_owned();
        r.warning("long-delay", node.span, format!("'{what}' is {length}; plain numbers are seconds"))
            .help(format!("if milliseconds were meant, write {number}ms; otherwise write it with its unit"));
    }
    Some(length)
}
