//! Whether tasks go better with items than without, and how certain that is.

use serde::{Deserialize, Serialize};

use super::item::Tally;

/// At 95 %, two-sided.
const SURE: f64 = 1.96;

/// With fewer tasks on either side nothing is decided.
const ENOUGH: u32 = 20;

/// An estimate, and between what the truth lies at 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// What came of one task that items were chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// It was given items; not one of those that do without.
    pub with: bool,
    pub landed: bool,
    /// At its first attempt, without having to be mended.
    pub first_go: bool,
    /// In dollars; nothing where it is not known.
    pub cost: Option<f64>,
    /// In seconds.
    pub time: f64,
}

/// Tasks on one side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Arm {
    pub tasks: u32,
    pub landed: u32,
    pub first_go: u32,
    pub cost: Spread,
    pub time: Spread,
}

/// Of a figure: how many, their sum, and the sum of their squares.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Spread {
    pub count: u32,
    pub sum: f64,
    #[serde(skip)]
    squares: f64,
}

impl Spread {
    pub fn new(count: u32, sum: f64, squares: f64) -> Spread {
        Spread { count, sum, squares }
    }

    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    /// Of the mean, squared.
    fn error(&self) -> Option<f64> {
        let (count, mean) = (f64::from(self.count), self.mean()?);
        let deviation = (self.squares - count * mean * mean).max(0.0) / (count - 1.0);
        (self.count > 1).then_some(deviation / count)
    }
}

/// What a comparison is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    Landed,
    FirstGo,
    Cost,
    Time,
}

/// Tasks with items against tasks that did without. A gain is positive for shares, a saving is negative for cost and time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Comparison {
    pub with: Arm,
    pub without: Arm,
    pub landed: Option<Interval>,
    pub first_go: Option<Interval>,
    pub cost: Option<Interval>,
    pub time: Option<Interval>,
}

pub fn compare(observations: impl IntoIterator<Item = Observation>) -> Comparison {
    let (mut with, mut without) = (Arm::default(), Arm::default());
    for one in observations {
        let arm = if one.with { &mut with } else { &mut without };
        arm.tasks += 1;
        arm.landed += u32::from(one.landed);
        arm.first_go += u32::from(one.first_go);
        one.cost.into_iter().for_each(|cost| arm.cost.add(cost));
        arm.time.add(one.time);
    }
    compare_arms(with, without)
}

/// As `compare`, of what was counted elsewhere.
pub fn compare_arms(with: Arm, without: Arm) -> Comparison {
    let shares =
        |of: fn(&Arm) -> u32| shares_differ((of(&with), with.tasks), (of(&without), without.tasks), SURE);
    Comparison {
        landed: shares(|arm| arm.landed),
        first_go: shares(|arm| arm.first_go),
        cost: means_differ(&with.cost, &without.cost),
        time: means_differ(&with.time, &without.time),
        with,
        without,
    }
}

/// What items do harm to, once there is enough to tell: fewer tasks land, or they cost more and do not land any better.
pub fn hurts(comparison: &Comparison) -> Option<Measure> {
    let Comparison { with, without, landed, first_go, cost, .. } = comparison;
    if with.tasks.min(without.tasks) < ENOUGH {
        return None;
    }
    let worse = |gain: &Option<Interval>| gain.is_some_and(|gain| gain.high < 0.0);
    let better = |gain: &Option<Interval>| gain.is_some_and(|gain| gain.low > 0.0);
    let dearer = cost.is_some_and(|more| more.low > 0.0);
    match () {
        () if worse(landed) => Some(Measure::Landed),
        () if worse(first_go) && !better(landed) => Some(Measure::FirstGo),
        () if dearer && !better(landed) && !better(first_go) => Some(Measure::Cost),
        () => None,
    }
}

/// What an item gains: the share of good tasks with it, less that of those which did without.
pub fn difference(tally: &Tally) -> Option<Interval> {
    shares_differ((tally.helpful, tally.used), (tally.withheld_good, tally.withheld), SURE)
}

/// The most an item gains, at so many standard errors.
pub(super) fn upper(tally: &Tally, z: f64) -> Option<f64> {
    let gain = shares_differ((tally.helpful, tally.used), (tally.withheld_good, tally.withheld), z)?;
    Some(gain.high)
}

/// The difference of two shares, with the interval of Newcombe, which is right for small numbers and for shares near 0
/// and 1, too.
fn shares_differ((a, all_a): (u32, u32), (b, all_b): (u32, u32), z: f64) -> Option<Interval> {
    let (one, other) = (wilson(a, all_a, z)?, wilson(b, all_b, z)?);
    let estimate = one.estimate - other.estimate;
    let below = ((one.estimate - one.low).powi(2) + (other.high - other.estimate).powi(2)).sqrt();
    let above = ((one.high - one.estimate).powi(2) + (other.estimate - other.low).powi(2)).sqrt();
    Some(Interval { estimate, low: estimate - below, high: estimate + above })
}

/// Wilson's interval of one share.
fn wilson(good: u32, all: u32, z: f64) -> Option<Interval> {
    if all == 0 {
        return None;
    }
    let (n, share) = (f64::from(all), f64::from(good) / f64::from(all));
    let (bottom, middle) = (1.0 + z * z / n, share + z * z / (2.0 * n));
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    Some(Interval { estimate: share, low: (middle - half) / bottom, high: (middle + half) / bottom })
}

/// The difference of two means, by Welch: their variances need not be the same.
fn means_differ(one: &Spread, other: &Spread) -> Option<Interval> {
    let estimate = one.mean()? - other.mean()?;
    let half = SURE * (one.error()? + other.error()?).sqrt();
    Some(Interval { estimate, low: estimate - half, high: estimate + half })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 0.0005, "{value} is not {expected}");
    }

    /// Newcombe's own example (1998, table II, method 10): 56 of 70 against 48 of 80.
    #[test]
    fn the_interval_of_two_shares_is_that_of_the_literature() {
        let gain = shares_differ((56, 70), (48, 80), 1.959_964).unwrap();
        near(gain.estimate, 0.2);
        near(gain.low, 0.0524);
        near(gain.high, 0.3339);
    }

    #[test]
    fn nothing_is_told_of_nothing() {
        assert_eq!(compare([]).landed, None);
        assert_eq!(difference(&Tally::default()), None);
        assert_eq!(hurts(&Comparison::default()), None);
    }

    fn told(with: (u32, u32, f64), without: (u32, u32, f64)) -> Comparison {
        let tasks = |with, (good, all, cost): (u32, u32, f64)| {
            (0..all).map(move |n| {
                let landed = n < good;
                let cost = Some(cost + f64::from(n % 3) * 0.01);
                Observation { with, landed, first_go: landed, cost, time: 10.0 }
            })
        };
        compare(tasks(true, with).chain(tasks(false, without)))
    }

    #[test]
    fn harm_is_told_only_where_it_is_certain() {
        assert_eq!(hurts(&told((20, 100, 1.0), (30, 40, 1.0))), Some(Measure::Landed));
        assert_eq!(hurts(&told((70, 100, 1.0), (30, 40, 1.0))), None, "that may be chance");
        assert_eq!(hurts(&told((2, 10, 1.0), (9, 10, 1.0))), None, "too few to tell");
        assert_eq!(hurts(&told((75, 100, 1.3), (30, 40, 1.0))), Some(Measure::Cost));
        assert_eq!(hurts(&told((98, 100, 1.3), (25, 40, 1.0))), None, "it is worth its price");
    }
}
