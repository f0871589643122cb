//! When an item goes.

use super::item::{Item, Retirement, Tally};
use super::statistics::upper;
use crate::values::units::Timestamp;

/// After so many days without a use an item goes, where nothing else is said.
pub const UNUSED_DAYS: u32 = 60;

const DAY: u64 = 24 * 60 * 60 * 1000;

/// With fewer uses, or fewer tasks to compare with, nothing is decided.
const ENOUGH_USES: u32 = 20;
const ENOUGH_WITHHELD: u32 = 8;

/// At 95 %, one-sided: only one side is asked about.
const SURE: f64 = 1.645;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Stays,
    Goes(Retirement),
}

/// What becomes of an item by what is counted of it. `is_there` is whether one of its files exists, where that was
/// looked up.
pub fn verdict(
    item: &Item,
    tally: &Tally,
    now: Timestamp,
    unused_days: u32,
    is_there: Option<bool>,
) -> Verdict {
    if item.retired.is_some() {
        return Verdict::Stays;
    }
    if harms(tally) {
        return Verdict::Goes(Retirement::Harms);
    }
    if is_there == Some(false) {
        return Verdict::Goes(Retirement::FilesGone);
    }
    let since = tally.last_used.unwrap_or(tally.learned);
    match (now - since).0 > u64::from(unused_days) * DAY {
        true => Verdict::Goes(Retirement::Unused { days: unused_days }),
        false => Verdict::Stays,
    }
}

fn harms(tally: &Tally) -> bool {
    tally.used >= ENOUGH_USES
        && tally.withheld >= ENOUGH_WITHHELD
        && upper(tally, SURE).is_some_and(|most| most < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expertise::{Draft, ItemId, Kind, Source};

    #[test]
    fn an_item_goes_where_it_harms_its_files_are_gone_or_it_is_not_used() {
        let draft = Draft {
            claim: "x".into(),
            kind: Kind::Pattern,
            domain: "api".into(),
            scope: vec!["src/**".into()],
            check: None,
        };
        let item = Item::new(ItemId::of(Kind::Pattern, "x"), draft, Source::Rule);
        let day = |days: i64| Timestamp(days * DAY as i64);
        let told = |tally: &Tally, now, there| verdict(&item, tally, now, 60, there);
        let fresh = Tally { learned: day(0), ..Tally::default() };
        assert_eq!(told(&fresh, day(59), None), Verdict::Stays);
        assert_eq!(told(&fresh, day(61), None), Verdict::Goes(Retirement::Unused { days: 60 }));
        let used = Tally { last_used: Some(day(50)), ..fresh };
        assert_eq!(told(&used, day(61), Some(true)), Verdict::Stays);
        assert_eq!(told(&used, day(61), Some(false)), Verdict::Goes(Retirement::FilesGone));
        let harmful = Tally { used: 30, helpful: 6, harmful: 24, withheld: 15, withheld_good: 12, ..used };
        assert_eq!(told(&harmful, day(51), None), Verdict::Goes(Retirement::Harms));
        let few = Tally { used: 5, helpful: 0, harmful: 5, withheld: 5, withheld_good: 5, ..used };
        assert_eq!(told(&few, day(51), None), Verdict::Stays, "too few to tell");
        let retired = Item { retired: Some(Retirement::ByUser), ..item.clone() };
        assert_eq!(verdict(&retired, &harmful, day(51), 60, None), Verdict::Stays);
    }
}
