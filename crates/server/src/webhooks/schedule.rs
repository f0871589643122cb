//! When a delivery that failed is tried again, and when it is given up.

use std::time::Duration;

/// After each failure; one more, and it is given up. About seven hours in all.
pub const PAUSES: [Duration; 6] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(2 * 60),
    Duration::from_secs(10 * 60),
    Duration::from_secs(60 * 60),
    Duration::from_secs(6 * 60 * 60),
];

/// Many that failed together are not tried again together.
const JITTER: f64 = 0.2;

/// A receiver that asks for more patience than this does not get it.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// One that has waited for so long, for others before it, has only one attempt.
const OLDEST: i64 = 3 * 24 * 60 * 60 * 1_000;

#[derive(Debug)]
pub(crate) struct Schedule(pub(crate) Vec<Duration>);

impl Schedule {
    /// How long to wait after so many failed attempts, of one that has waited for so many milliseconds already; nothing
    /// where it is given up. `chance` is from 0 to 1. What the receiver asked for counts where it is longer.
    pub(crate) fn pause(
        &self,
        attempts: u32,
        waited: i64,
        chance: f64,
        asked: Option<Duration>,
    ) -> Option<Duration> {
        let pause = self.0.get(usize::try_from(attempts).ok()?.checked_sub(1)?)?;
        if waited > OLDEST {
            return None;
        }
        let spread = pause.mul_f64(1.0 - JITTER + 2.0 * JITTER * chance.clamp(0.0, 1.0));
        Some(asked.map_or(spread, |asked| spread.max(asked.min(LONGEST))))
    }
}

/// From 0 to 1. Without randomness the middle is as good as any.
pub(crate) fn chance() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn each_failure_waits_longer_and_the_seventh_is_the_last() {
        let schedule = Schedule(PAUSES.to_vec());
        let middle: Vec<Option<u64>> = (1..=7)
            .map(|attempts| schedule.pause(attempts, 0, 0.5, None).map(|pause| pause.as_secs()))
            .collect();
        assert_eq!(middle, [Some(5), Some(30), Some(120), Some(600), Some(3_600), Some(21_600), None]);
        assert_eq!(schedule.pause(1, 0, 0.0, None), Some(secs(4)));
        assert_eq!(schedule.pause(1, 0, 1.0, None), Some(secs(6)));
    }

    #[test]
    fn a_receiver_may_ask_for_more_patience_within_bounds() {
        let schedule = Schedule(PAUSES.to_vec());
        let asked = |seconds| schedule.pause(1, 0, 0.5, Some(secs(seconds)));
        assert_eq!(asked(90), Some(secs(90)));
        assert_eq!(asked(1), Some(secs(5)), "not sooner than without");
        assert_eq!(asked(1_000_000), Some(secs(21_600)));
        assert_eq!(schedule.pause(7, 0, 0.5, Some(secs(90))), None);
    }

    #[test]
    fn one_that_waited_for_days_is_not_tried_again() {
        let schedule = Schedule(PAUSES.to_vec());
        assert_eq!(schedule.pause(1, OLDEST + 1, 0.5, None), None);
        assert!((0..100).map(|_| chance()).all(|chance| (0.0..=1.0).contains(&chance)));
    }
}
