//! Beads, the issue tracker that lives in a repository: its open issues as a plan, and closed there when they landed.
//!
//! Everything goes through its own command, `bd`, one call at a time. Nothing is written to it before something has
//! landed: who works on what is known from the runs in our own store. Where there is no `bd`, its export
//! `.beads/issues.jsonl` is read, and nothing is ever written.

mod bd;
mod claims;
mod closing;
mod draft;
mod export;
mod file;
mod inquiry;
mod issue;

pub use bd::{Bd, BdError};
pub use claims::{Claims, claims, turn};
pub use closing::{Closer, Settled, settle};
pub use draft::{Drafted, LeftOut, TaskDraft, draft};
pub use export::{ExportError, FILE as EXPORT, find as find_export, read as read_export};
pub use file::{text, text_under};
pub use inquiry::{Inquiry, is_here};
pub use issue::{Issue, Link, issues};

use std::path::Path;

/// By which a run is known to be of the issues of a directory, and to be closed there.
pub fn source(directory: &Path) -> String {
    format!("beads:{}", directory.display())
}

/// As `source`, where there is only an export to read.
pub fn export_source(directory: &Path) -> String {
    format!("beads-export:{}", directory.display())
}

/// The directory whose issues a run closes, if it is such a run.
pub fn closes(source: &str) -> Option<&Path> {
    source.strip_prefix("beads:").map(Path::new)
}
