//! What a project has taught, kept beside its runs: one database for each project, so that nothing of one project can
//! reach another.
//!
//! What runs teach comes from their logs alone (`course`, `projecting`): an event counts once, in whatever order logs are
//! read. What people say comes in by hand, and every version is kept.

mod course;
mod error;
mod following;
mod gathering;
mod place;
mod projecting;
mod selecting;
mod shared_file;
mod store;
#[cfg(test)]
mod tests;
mod validating;
mod versions;

pub use error::ExpertiseError;
pub use following::{Keeper, News};
pub use gathering::{Wanted, gather, teach};
pub use place::{Project, SHARED_FILE};
pub use projecting::{ByAgent, Outcome};
pub use selecting::{Selection, need_of};
pub use shared_file::Sync;
pub use store::{Expertise, Paused, PausedBy};
pub use validating::{Finding, Validated};
pub use versions::{Author, Version};
