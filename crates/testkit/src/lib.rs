//! What tests of agents stand on: the stand-in for the model APIs, and the real agent CLIs to run against it.
//!
//! It is for tests only: no crate that is shipped may depend on it. The stand-in itself is `conductor-standin`.

/// The real agent CLIs: where tests get them from, and how they are kept to the stand-in.
pub mod agents {
    mod install;

    pub use conductor_standin::agents::{Agent, Lodging};
    pub use install::{Unavailable, install, or_skip};
}

/// The real browser and the real server that drives it.
pub mod browsers;
/// Databases and brokers for a test alone.
pub mod servers;
/// A web page behind which agents work, for tests of what drives it.
pub mod site;

pub use conductor_standin::{
    Answered, Counted, Cut, Dialect, Fault, Kind, Lie, Limits, Request, Script, Slow, StandIn, Step, Usage,
    UsageLimit,
};
