//! Who may do what: roles, credentials, passwords, and the names this server answers to. It knows no routes.

pub mod codes;
pub(crate) mod hosts;
pub(crate) mod identity;
pub mod note;
pub mod owner;
pub mod passwords;
pub mod role;
pub(crate) mod secrets;
pub mod targets;
pub(crate) mod throttle;

pub(crate) use hosts::Hosts;
pub(crate) use identity::{Identity, Means};
pub use role::Role;
