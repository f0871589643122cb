//! Between a run's coordinator and its workers: orders go one way, messages the other.

pub mod board;
mod messages;
mod queries;

pub use messages::Control;
pub(crate) use messages::Message;
pub use queries::{Heard, Listed, LiveView, Query, View, Why};
