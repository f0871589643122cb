//! How many tries a task has, and how long each waits for the one before.

use crate::plan::RetryPolicy;
use crate::values::units::Millis;

/// The wait before the next try, or `None` where there is to be none. `tried` counts the tries that have failed so far,
/// `jitter` is drawn by the caller from 0 to 1.
pub fn delay(policy: &RetryPolicy, tried: u32, jitter: f64) -> Option<Millis> {
    (tried < policy.max_attempts).then(|| backoff(policy, tried, jitter))
}

fn backoff(policy: &RetryPolicy, tried: u32, jitter: f64) -> Millis {
    let grown = policy.initial_delay.0 as f64 * policy.backoff_factor.powi(tried.saturating_sub(1) as i32);
    let spread = 1.0 + policy.jitter * (2.0 * jitter.clamp(0.0, 1.0) - 1.0);
    let capped = (grown.min(policy.max_delay.0 as f64) * spread).min(policy.max_delay.0 as f64);
    Millis(capped.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(policy: RetryPolicy, jitter: f64) -> Vec<Option<u64>> {
        (1..=policy.max_attempts).map(|tried| delay(&policy, tried, jitter).map(|d| d.0)).collect()
    }

    #[test]
    fn the_default_policy_waits_five_then_ten_seconds() {
        assert_eq!(waits(RetryPolicy::default(), 0.5), [Some(5_000), Some(10_000), None]);
    }

    #[test]
    fn jitter_spreads_by_a_fifth_and_never_beyond_the_longest_wait() {
        assert_eq!(waits(RetryPolicy::default(), 0.0), [Some(4_000), Some(8_000), None]);
        assert_eq!(waits(RetryPolicy::default(), 1.0), [Some(6_000), Some(12_000), None]);
        let policy = RetryPolicy { max_attempts: 12, ..RetryPolicy::default() };
        assert_eq!(waits(policy, 1.0)[10], Some(300_000));
    }

    #[test]
    fn absurd_policies_give_finite_waits() {
        let policy = RetryPolicy { max_attempts: 100, backoff_factor: 1e9, ..RetryPolicy::default() };
        assert!(waits(policy, 0.7)[..99].iter().all(|d| d.unwrap() <= 300_000));
    }
}
