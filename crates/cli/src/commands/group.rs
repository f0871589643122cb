//! `conductor group`: tasks that belong together.

mod detect;
mod plan;

use crate::args::Group;
use crate::fault::{Exit, Fault};

pub(crate) fn run(group: &Group) -> Result<Exit, Fault> {
    match group {
        Group::Detect(args) => detect::run(args),
        Group::Plan(args) => plan::run(args),
    }
}

fn counted(tasks: usize) -> String {
    format!("{tasks} task{}", if tasks == 1 { "" } else { "s" })
}
