//! The rules of Conductor: from a task file to a plan, from what happens to what is done next, from a log to a report.
//!
//! Everything here is a value or a pure function: no runtime, no files, no processes, no clock, no randomness. Time and
//! jitter come in as arguments, decisions go out as events and actions. `tests/purity.rs` holds the line.
//!
//! Five types carry it: a [`Plan`] is what is to be done; a [`Run`] is the fold of [`Event`]s, so resuming is replaying;
//! the [`Scheduler`] takes [`Input`](schedule::Input)s and returns a [`Decision`](schedule::Decision): events to record,
//! then actions to carry out; a [`Summary`] is what came of it.
//!
//! ```
//! use conductor_core::file::{self, Source};
//! use conductor_core::run::event::{Options, Outcome};
//! use conductor_core::schedule::{Action, Input};
//! use conductor_core::{Run, Scheduler, Summary};
//!
//! let text = "tasks: [{ id: build, run: make }, { id: test, run: make test, dependencies: [build] }]";
//! let source = Source::new("tasks.yaml", text.into()).unwrap();
//! let plan = file::load(&source).unwrap().plan;
//!
//! let (run, _created) = Run::create(plan, Default::default());
//! let (mut scheduler, started) = Scheduler::start(run, Options::with_slots(2), Default::default()).unwrap();
//! let mut actions = started.actions;
//! while let Some(action) = actions.pop() {
//!     // A worker would carry this out; here every attempt succeeds at once.
//!     if let Action::Start { task, attempt, .. } = action {
//!         let outcome = Outcome::Succeeded;
//!         let ended = Input::AttemptEnded { task, attempt, outcome, change: None, phases: None };
//!         actions.extend(scheduler.handle(Default::default(), ended).actions);
//!     }
//! }
//! let summary = Summary::of(scheduler.run(), scheduler.graph());
//! assert_eq!((summary.completed, summary.total), (2, 2));
//! ```

// Printing macros panic where standard output or standard error cannot be written.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod confinement;
pub mod expertise;
pub mod file;
pub mod forecast;
pub mod graph_layout;
pub mod plan;
pub mod planner;
pub mod report;
pub mod run;
pub mod schedule;
pub mod sync;
pub mod values;

pub use plan::Plan;
pub use report::Summary;
pub use run::Run;
pub use run::event::Event;
pub use schedule::Scheduler;
