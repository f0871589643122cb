//! Traces of runs, as OpenTelemetry knows them: a run, its tasks, their attempts, the tools that agents called.
//!
//! A trace is a fold over a run's log, as everything else is. Ids are made from the names of what they stand for, so that
//! a resumed run goes on with the same trace, and a trace that is sent once more is the same trace. Nothing here decides
//! anything, and no run waits for it.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod calls;
pub mod course;
pub mod exporter;
pub mod ids;
pub mod otlp;
pub mod sending;
pub mod settings;
pub mod span;

pub use calls::Content;
pub use course::Course;
pub use exporter::{Exporter, TraceSource, trace_parent};
pub use ids::TraceParent;
pub use sending::{SendError, Sender};
pub use settings::{Settings, SettingsError};
pub use span::Span;
