//! What a project has taught: short items with their evidence, which agents are given before they work.
//!
//! An item is one claim that facts of a run bear out: a check that failed and what made it pass, files that change
//! together, a command that works. Each is measured against tasks that did without it, and goes where it does not
//! help. Values and rules only: where items are kept, and how facts are gathered, is the engine's.

mod choosing;
mod domains;
mod item;
mod learning;
mod merging;
mod pruning;
mod reading;
mod rendering;
mod sharing;
#[cfg(test)]
mod simulation;
mod statistics;
mod trial;

pub use choosing::{Candidate, Chosen, Need, Reason, choose};
pub use domains::{DOMAINS, GENERAL, domain_of};
pub(crate) use item::MOST_EVIDENCE;
pub use item::{
    BadItem, Draft, Evidence, Item, ItemId, Kind, LONGEST_CLAIM, Lesson, Retirement, Source, Tally,
};
pub use learning::{Attempted, Mended, Ran, Trouble, lessons, words_of};
pub use merging::{Merged, merge};
pub use pruning::{UNUSED_DAYS, Verdict, verdict};
pub use reading::{claims, question};
pub use rendering::{MOST_TOKENS, domain_page, section, tokens};
pub use sharing::{SharedItem, read_shared, write_shared};
pub use statistics::{
    Arm, Comparison, Interval, Measure, Observation, Spread, compare, compare_arms, difference, hurts,
};
pub use trial::{Fate, HOLD_OUT_PERCENT, fate, is_held_out};
