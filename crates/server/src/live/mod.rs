//! Runs as they are now: which there are, how each stands, and what happens in them, for as many as like to look. They
//! are driven by other processes; here they are only read.

mod events;
mod exchanges;
mod feed;
mod frame;
mod listing;
mod output;
pub(crate) mod sending;
mod streams;
mod subscription;

pub(crate) use events::{NAMES, OCCASIONS, isolation, occasion, told};
pub(crate) use exchanges::Exchanges;
pub(crate) use feed::Feed;
pub(crate) use frame::Part;
pub(crate) use listing::Runs;
pub(crate) use output::Output;
pub(crate) use sending::Cut;
pub(crate) use streams::Streams;
pub(crate) use subscription::Subscription;
