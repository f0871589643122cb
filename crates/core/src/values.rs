//! What everything else is made of: names, numbers with their units, and how they are written.

pub mod address;
pub mod counted;
pub mod ids;
pub mod json_answer;
pub(crate) mod pattern;
pub mod suggest;
pub mod template;
pub mod units;
