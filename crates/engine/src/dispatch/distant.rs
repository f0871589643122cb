//! Workers on other machines, which are reached over a broker.
//!
//! The broker is trusted with nothing: `signing` says who signed what, `packet` what can be said, `line` that it arrives in order
//! and once, `enrolment` who may work. `coordinator_side` and `worker_side` judge it; `carrier` carries it, `exchanging` drives
//! the coordinator's side. What drives the worker's is `worker/distant`.

pub(crate) mod carrier;
pub(crate) mod coordinator_side;
pub mod enrolment;
pub(crate) mod exchanging;
pub(crate) mod line;
#[cfg(test)]
#[cfg(all(feature = "redis", feature = "rabbitmq"))]
mod measured;
pub(crate) mod packet;
pub mod signing;
#[cfg(test)]
mod tests;
pub(crate) mod worker_side;

pub use exchanging::{DistantOptions, DistantWorkers, Engage, EngageError, remove_queue, take_in_waiting};
