//! Runs: which one is meant, the loop that drives one, the socket it answers on, and what can be done to one that is not
//! active.

pub mod amend;
pub mod archive;
mod conflict_monitor;
pub mod control;
pub mod coordinator;
pub mod done;
pub mod driving;
pub mod engine;
pub mod listening;
pub mod live;
pub mod prune;
pub mod resolve;
pub mod watching;
