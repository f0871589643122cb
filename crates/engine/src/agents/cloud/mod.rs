//! Agents in the cloud: sessions elsewhere that work on a branch of the remote.

pub mod transport;
