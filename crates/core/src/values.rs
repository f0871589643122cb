//! What everything else is made of: names, numbers with their units, and how they are written.

pub mod counted;
pub mod ids;
pub mod json_answer;
pub mod suggest;
pub mod template;
pub mod units;
