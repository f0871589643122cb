//! Bounds of a stand-in: it serves tests, and a test gone wrong must not take the machine with it.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one request.
    pub body: usize,
    /// Requests in all; those after are refused and not logged.
    pub requests: usize,
    /// Connections at a time; those after wait.
    pub connections: usize,
    /// How long a client may take over a request, or between two on one connection.
    pub idle: Duration,
    /// How long a client may leave a piece of an answer untaken.
    pub stall: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 32 << 20,
            requests: 10_000,
            connections: 256,
            idle: Duration::from_secs(60),
            stall: Duration::from_secs(60),
        }
    }
}
