//! The program as its users meet it: one file for each verb and each kind of fault.
//!
//! Every test has a home, a working directory and an environment of its own, and waits for what it waits for instead of
//! sleeping. Agents are played by `examples/fake-agent.rs`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod harness;
mod repository;
mod tmux;

mod agents;
mod agents_git;
mod agents_verb;
mod backends;
mod beads;
mod checkpoint;
mod checks;
mod clock;
mod config;
mod content;
mod cost;
mod crash;
mod demo;
mod diff;
mod doctor;
mod examples;
mod exec;
mod exit_codes;
mod explain;
mod graph;
mod group_execute;
mod groups;
mod hangs;
mod init;
mod input;
mod isolation;
mod keys;
mod landing;
mod ledger;
mod lookout;
mod manual;
mod mcp;
mod measure;
mod notifications;
mod odd_repositories;
mod orchestrate;
mod orphans;
mod plan;
mod privacy;
mod progress;
mod questions;
mod race;
mod recovery;
mod rehearse;
mod report;
mod repositories;
mod reviewers;
mod run;
mod runs;
mod screens;
mod secrets;
mod sessions;
mod signals;
mod specialists;
mod status;
mod store;
mod store_away;
mod teardown;
mod template;
mod terminal;
mod unwritable;
mod used_home;
mod validate;
mod waiting;
mod watching;
mod workspaces;
mod worktree;
