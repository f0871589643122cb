//! Task files, config files and variables as this program reads them, and what is wrong with them.

pub(crate) mod agent_findings;
pub(crate) mod browser;
pub(crate) mod check_findings;
pub(crate) mod config;
pub(crate) mod diagnostics;
pub(crate) mod plugin_findings;
pub(crate) mod prompt_findings;
pub(crate) mod syncing;
pub(crate) mod taskfile;
pub(crate) mod trust;
pub(crate) mod variables;
