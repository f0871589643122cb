//! Time and money as whole numbers, so that sums are exact and a replay gives the same figures.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A length of time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    pub const fn from_secs(secs: u64) -> Millis {
        Millis(secs.saturating_mul(1000))
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

impl Add for Millis {
    type Output = Millis;
    fn add(self, other: Millis) -> Millis {
        Millis(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Millis {
    fn add_assign(&mut self, other: Millis) {
        *self = *self + other;
    }
}

/// As people write it: `850ms`, `4.2s`, `3m05s`, `2h07m`.
impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, secs) = (self.0, self.0 / 1000);
        let text = match secs {
            0 => format!("{ms}ms"),
            1..60 => format!("{}.{}s", secs, ms % 1000 / 100),
            60..3600 => format!("{}m{:02}s", secs / 60, secs % 60),
            _ => format!("{}h{:02}m", secs / 3600, secs % 3600 / 60),
        };
        f.pad(&text)
    }
}

/// Wall-clock time in milliseconds since 1970, for people and records. Never compared to decide anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Sub for Timestamp {
    type Output = Millis;
    /// Zero where the clock went backwards in between.
    fn sub(self, earlier: Timestamp) -> Millis {
        Millis(self.0.saturating_sub(earlier.0).max(0) as u64)
    }
}

/// Milliseconds the coordinator has been awake since it started: what every deadline is measured in. A wall clock that
/// jumps, a suspended laptop or a stopped process does not move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Tick(pub u64);

impl Add<Millis> for Tick {
    type Output = Tick;
    fn add(self, length: Millis) -> Tick {
        Tick(self.0.saturating_add(length.0))
    }
}

impl Sub for Tick {
    type Output = Millis;
    fn sub(self, earlier: Tick) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

/// One reading of both clocks, and one roll of the dice: all that a decision may know of the world's chance.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Now {
    pub at: Timestamp,
    pub tick: Tick,
    /// From 0 to 1.
    pub jitter: f64,
}

/// Money in millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(pub u64);

impl Usd {
    /// Rounded to the nearest millionth; negative and not-a-number become zero.
    pub fn from_dollars(dollars: f64) -> Usd {
        Usd((dollars * 1e6).round().max(0.0) as u64)
    }

    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add for Usd {
    type Output = Usd;
    fn add(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }
}

/// With the digits it needs: less than a cent is not nothing.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CENT: u64 = 10_000;
        let digits = match self.0 {
            1..100 => 6,
            cost if cost < 100 * CENT && !cost.is_multiple_of(CENT) => 4,
            _ => 2,
        };
        f.pad(&format!("${:.digits$}", self.dollars()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_as_people_write_them() {
        for (ms, text) in [
            (0, "0ms"),
            (850, "850ms"),
            (4_250, "4.2s"),
            (59_999, "59.9s"),
            (185_000, "3m05s"),
            (7_620_000, "2h07m"),
        ] {
            assert_eq!(Millis(ms).to_string(), text);
        }
    }

    #[test]
    fn a_clock_that_went_backwards_gives_zero_not_a_huge_length() {
        assert_eq!(Timestamp(5) - Timestamp(9), Millis(0));
        assert_eq!(Timestamp(i64::MIN) - Timestamp(i64::MAX), Millis(0));
        assert_eq!(Tick(1) - Tick(2), Millis(0));
    }

    #[test]
    fn money_is_exact_to_a_millionth() {
        let cent = Usd::from_dollars(0.01);
        let sum = (0..100).fold(Usd(0), |sum, _| sum + cent);
        assert_eq!(sum, Usd::from_dollars(1.0));
        assert_eq!(sum.to_string(), "$1.00");
        assert_eq!(Usd::from_dollars(f64::NAN), Usd(0));
        assert_eq!(Usd::from_dollars(-3.0), Usd(0));
    }
}
