//! Who does without, so that it can be told whether items help: some tasks get none at all, and an item that is new
//! is kept from some of those that it was meant for. By a hash of names: the same run gives the same answer.

use super::item::{ItemId, Tally, hash};
use super::statistics::{difference, upper};

/// Of 100 tasks, so many get no items.
pub const HOLD_OUT_PERCENT: u8 = 15;

/// Of 100 uses of an item that is on trial, so many are withheld.
const TRIAL_PERCENT: u64 = 33;

/// So many uses an item is on trial at least.
const TRIAL: u32 = 100;
/// An item whose gain is certainly less than this is not worth its tokens.
const WORTH: f64 = 0.10;
/// One standard error: at 84 %, one-sided. What is rested by mistake costs a chance and does no harm.
const NEARLY_SURE: f64 = 1.0;

/// What becomes of an item that was chosen for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Given,
    /// The task does without it, and is what the others are compared with.
    Withheld,
    /// It has been tried long enough and gains too little: it is neither given nor compared.
    Rested,
}

/// Whether a task of a run gets no items, whatever there is.
pub fn is_held_out(run: &str, task: &str, percent: u8) -> bool {
    draw(&["hold-out", run, task]) < u64::from(percent)
}

/// What becomes of an item in a task that is not held out.
pub fn fate(run: &str, task: &str, item: &ItemId, tally: &Tally) -> Fate {
    if is_rested(tally) {
        return Fate::Rested;
    }
    match is_on_trial(tally) && draw(&["trial", run, task, item.as_str()]) < TRIAL_PERCENT {
        true => Fate::Withheld,
        false => Fate::Given,
    }
}

/// From 0 to 99, as good as by chance and always the same.
fn draw(names: &[&str]) -> u64 {
    let mut mixed = hash(names);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % 100
}

/// As long as it is not known which way it goes.
fn is_on_trial(tally: &Tally) -> bool {
    tally.used < TRIAL || difference(tally).is_none_or(|gain| gain.low <= 0.0)
}

/// Certain enough that it gains next to nothing.
pub(super) fn is_rested(tally: &Tally) -> bool {
    tally.used >= TRIAL && upper(tally, NEARLY_SURE).is_some_and(|most| most < WORTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expertise::Kind;

    #[test]
    fn about_as_many_as_said_do_without() {
        let held = |percent| (0..10_000).filter(|n| is_held_out("r", &format!("task-{n}"), percent)).count();
        assert!((1_350..1_650).contains(&held(15)), "{}", held(15));
        assert_eq!((held(0), held(100)), (0, 10_000));
    }

    #[test]
    fn an_item_is_on_trial_until_it_is_known_to_help() {
        let id = ItemId::of(Kind::Pattern, "x");
        let share = |tally: &Tally| {
            (0..1_000).filter(|n| fate("r", &n.to_string(), &id, tally) == Fate::Withheld).count()
        };
        assert!((280..380).contains(&share(&Tally::default())));
        let good = Tally {
            used: 200,
            helpful: 180,
            harmful: 20,
            withheld: 80,
            withheld_good: 40,
            ..Tally::default()
        };
        assert_eq!(share(&good), 0);
        let useless = Tally {
            used: 400,
            helpful: 240,
            harmful: 160,
            withheld: 200,
            withheld_good: 120,
            ..Tally::default()
        };
        assert_eq!(fate("r", "t", &id, &useless), Fate::Rested);
    }
}
