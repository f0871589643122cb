//! Plugins that check and tell: which a plan names, and those that cannot be used here.

use std::collections::BTreeMap;

use conductor_core::file::{self, Diagnostic, Severity};
use conductor_core::plan::{Notification, Plan, Task};
use conductor_engine::plugins::{self, Kind};
use conductor_engine::worker::verifiers;

use crate::settings::diagnostics::Sheet;

/// Verifiers and notifiers, each once, with the first task that names it, if a task does.
pub(crate) fn named(plan: &Plan) -> BTreeMap<(Kind, String), Option<&Task>> {
    let mut found = BTreeMap::new();
    for task in &plan.tasks {
        for (name, _) in task.verify.iter().filter_map(|check| verifiers::named(check)) {
            found.entry((Kind::Verifier, name.to_owned())).or_insert(Some(task));
        }
    }
    let told = &plan.notifications;
    for way in [&told.on_complete, &told.on_failure, &told.on_input, &told.on_budget].into_iter().flatten() {
        if let Notification::Plugin { name, .. } = way {
            found.entry((Kind::Notifier, name.clone())).or_insert(None);
        }
    }
    found
}

/// Those that cannot be used, as warnings: on another machine they may be.
pub(crate) fn missing(plan: &Plan, sheet: &mut Sheet) {
    let places = sheet.source.as_ref().map(file::places).unwrap_or_default();
    for ((kind, name), task) in named(plan) {
        let Err(error) = plugins::find(kind, &name) else { continue };
        let id = task.map(|task| task.entrant_of().unwrap_or(&task.id).as_str());
        sheet.found.push(Diagnostic {
            severity: Severity::Warning,
            code: "unknown-plugin",
            message: match task {
                Some(task) => format!("task '{}': {error}", task.id),
                None => error.to_string(),
            },
            span: id.and_then(|id| places.tasks.get(id).copied()).unwrap_or_default(),
            label: None,
            related: Vec::new(),
            help: error.remedy().map(str::to_owned),
        });
    }
}
