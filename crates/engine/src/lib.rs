//! The part of Conductor that touches the world.
//!
//! The core decides, this crate does: it reads clocks, starts processes, keeps files and the store, and runs the loop
//! that connects them. Views (the command line, later the server) follow it through `stores::bus` and ask through `dispatch::Control`.
//!
//! A program of any kind can drive runs:
//!
//! ```
//! use conductor_core::file::{self, Source};
//! use conductor_engine::runs::engine::{Engine, Settings};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let (state, directory) = (folder.path().join("state"), folder.path().join("work"));
//! # std::fs::create_dir(&directory)?;
//! let text = "tasks: [{ id: build, run: touch built }, { id: test, run: ls built, dependencies: [build] }]";
//! let source = Source::new("tasks.yaml", text.into()).map_err(|wrong| wrong.message)?;
//! let plan = file::load(&source).map_err(|wrong| wrong[0].message.clone())?.plan;
//!
//! let engine = Engine::open(state).await?;
//! let mut run = engine.start(plan, Settings::in_directory(directory)).await?;
//! run.on_event(|record| println!("{} {:?}", record.seq, record.event));
//! let status = run.status().await; // `run.cancel()` would end it
//! # let _ = status;
//! let ended = run.wait().await?;
//! assert!(ended.run.all_ended());
//! # Ok(())
//! # }
//! ```

// Printing macros panic where standard output or standard error cannot be written.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod agents;
pub mod dispatch;
pub mod expertise;
pub mod forge;
pub mod git;
pub mod host;
pub mod planner;
pub mod plugins;
pub mod process;
pub mod records;
pub mod runs;
pub mod stores;
pub mod sync;
pub mod worker;
