//! Small things one does with words.

pub mod count;
pub mod roman;
pub mod slug;
pub mod wrap;
