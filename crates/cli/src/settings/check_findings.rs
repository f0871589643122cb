//! `verify: auto` where there is nothing to be found: the work can only pass if it brings its own checks.

use std::path::Path;

use conductor_core::file::{self, Diagnostic, Severity};
use conductor_core::plan::{Plan, Task};
use conductor_engine::worker::gates::{self, NothingDetected};

use crate::settings::diagnostics::Sheet;

/// The first task whose checks are to be found and are not.
pub(crate) fn undetected<'p>(plan: &'p Plan, directory: &Path) -> Option<(&'p Task, NothingDetected)> {
    let is_auto = |task: &&Task| task.verify.iter().any(|command| command.trim() == gates::AUTO);
    let task = plan.tasks.iter().find(is_auto)?;
    Some((task, gates::expand(&task.verify, directory).err()?))
}

/// A warning: the task may be to begin the project.
pub(crate) fn missing(plan: &Plan, sheet: &mut Sheet) {
    let Ok(here) = std::env::current_dir() else { return };
    let Some((task, nothing)) = undetected(plan, &here) else { return };
    let places = sheet.source.as_ref().map(file::places).unwrap_or_default();
    let id = task.entrant_of().unwrap_or(&task.id);
    sheet.found.push(Diagnostic {
        severity: Severity::Warning,
        code: "nothing-detected",
        message: format!("task '{}': {nothing}", task.id),
        span: places.tasks.get(id.as_str()).copied().unwrap_or_default(),
        label: None,
        related: Vec::new(),
        help: Some("its work can only pass if it brings what is looked for".to_owned()),
    });
}
