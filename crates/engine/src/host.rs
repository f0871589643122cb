//! The machine beneath: files and who may read them, the state directory, clocks, what runs short, secrets, and what
//! Conductor logs about itself.

pub mod access;
pub mod clock;
pub(crate) mod copies;
pub mod home;
pub mod logs;
pub(crate) mod panics;
pub mod redact;
pub mod shortage;
pub mod trust;
