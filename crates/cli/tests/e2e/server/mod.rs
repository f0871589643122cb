//! `conductor serve`: who may ask, what it answers, what it tells as it happens, and that no run depends on it.

mod access;
mod again;
mod caps;
mod checks;
pub(crate) mod client;
mod commands;
mod conversation;
mod editing;
mod expertise;
mod following;
mod graph_layout;
mod guessing;
mod hooks;
mod limits;
#[cfg(feature = "oidc")]
mod oidc;
mod open;
mod openapi;
mod page;
mod parallel;
mod projects;
mod prometheus;
mod receiver;
mod secrets;
mod story;
mod timeline;
mod tls;
mod transcripts;
mod webhooks;
mod workers;
