//! Between a run's coordinator and its workers: orders go one way, messages the other.

pub mod board;
pub mod broker;
pub mod distant;
mod link;
mod messages;
mod order;
mod port;
mod queries;
pub(crate) mod remote;
pub(crate) mod sites;
pub(crate) mod wire;

pub use link::Link;
pub use messages::Control;
pub(crate) use messages::{Handover, HandoverNews, Message};
pub use order::{Order, RunContext};
pub use port::{Dispatch, Stop};
pub use queries::{Heard, Listed, LiveView, Query, View, Why, WorkerView};
pub use remote::Remote;
pub use wire::VERSION;
