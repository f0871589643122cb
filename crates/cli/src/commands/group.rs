//! `conductor group`: tasks that belong together.

mod detect;
mod examining;
mod execute;
mod list;
mod plan;
mod readiness;
mod report;
mod status;
mod wait;

pub(crate) use examining::examiner;

use conductor_core::report::groups::Status;

use crate::args::Group;
use crate::error::{CliError, Exit};

pub(crate) fn run(group: &Group) -> Result<Exit, CliError> {
    match group {
        Group::Detect(args) => detect::run(args),
        Group::Plan(args) => plan::run(args),
        Group::Execute(args) => execute::run(args),
        Group::List(args) => list::run(args),
        Group::Status(args) => status::run(args),
        Group::Wait(args) => wait::run(args),
        Group::Report(args) => report::run(args),
    }
}

/// The exit code for a group's status.
fn exit(status: Status) -> Exit {
    match status {
        Status::Completed => Exit::Done,
        Status::Failed => Exit::TaskFailed,
        Status::Blocked => Exit::NothingToDo,
        Status::Pending | Status::InProgress => Exit::StillRunning,
    }
}
