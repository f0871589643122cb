//! `conductor worktree`: workspaces and what is kept of them, looked at, brought in and cleared.

mod clean;
mod landing;
mod list;
mod merge;
mod path;
mod resolve;
mod sides;
mod sync;

pub(crate) use clean::{clear_after_the_dead, clear_all};

use super::{answer, answer_either, answer_json, block_on, talk};
use crate::args::Worktree;
use crate::error::{CliError, Exit};

pub(crate) fn run(args: &Worktree) -> Result<Exit, CliError> {
    match args {
        Worktree::List(args) => block_on(list::list(args)),
        Worktree::Path(args) => block_on(path::path(args)),
        Worktree::Clean(args) => block_on(clean::clean(args)),
        Worktree::Merge(args) => block_on(merge::merge(args)),
        Worktree::Resolve(args) => block_on(resolve::resolve(args)),
        Worktree::Sync(args) => block_on(sync::sync(args)),
    }
}
