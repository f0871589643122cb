//! Coding agents that work behind a web page, driven over the Model Context Protocol.
//!
//! It knows pages and nothing of runs, tasks or git: what a page says is a hint. Nothing of a site is in the code, see
//! `selectors`. Calls block; each session has a process of its own.

pub mod client;
pub mod driver;
pub mod health;
pub mod learning;
pub mod link;
pub mod page;
pub mod picture;
pub mod records;
pub mod selectors;
pub mod server;
pub mod settings;
pub mod snapshot;
pub mod steps;
