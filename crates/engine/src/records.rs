//! What is written about runs beside their log, and read again: files, reports, sessions, groups, issues, notifications, metrics.

pub mod beads;
pub mod flat;
pub mod groups;
pub mod imports;
pub mod landed;
pub mod ledger;
pub mod metrics;
pub mod notify;
pub mod output;
pub mod sessions;
