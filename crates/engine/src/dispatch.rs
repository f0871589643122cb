//! Between a run's coordinator and its workers: orders go one way, messages the other.

pub mod board;
mod link;
mod messages;
mod order;
mod port;
mod queries;
mod remote;
pub(crate) mod wire;

pub use link::Link;
pub use messages::Control;
pub(crate) use messages::Message;
pub use order::{Order, RunContext};
pub use port::{Dispatch, Stop};
pub use queries::{Heard, Listed, LiveView, Query, View, Why};
pub use remote::Remote;
pub use wire::VERSION;
