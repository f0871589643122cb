//! The task files of this directory: can they be read, and are the agents there that they name?

use std::path::Path;

use super::Finding;
use crate::settings::agent_findings;
use crate::settings::diagnostics;

/// Where people keep them.
const USUAL: [&str; 3] = ["conductor.yaml", ".conductor/tasks.yaml", "tasks.yaml"];

pub(super) fn state(here: &Path) -> Vec<Finding> {
    let there = USUAL.into_iter().filter(|name| here.join(name).is_file());
    there.flat_map(|name| one(Path::new(name))).collect()
}

fn one(file: &Path) -> Vec<Finding> {
    let name = file.display();
    let plan = match diagnostics::check(file) {
        Ok((Some(plan), _)) => plan,
        Ok((None, _)) => {
            return vec![
                Finding::warning("tasks", format!("{name} has errors, or a config file has"))
                    .remedy(format!("`conductor validate {name}` shows them")),
            ];
        }
        Err(cli_error) => return vec![Finding::warning("tasks", cli_error.message())],
    };
    let absent = agent_findings::absent(&plan);
    if absent.is_empty() {
        return vec![Finding::ok("tasks", format!("{name}: {} tasks", plan.asked().count()))];
    }
    let finding = |absent: &agent_findings::Absent<'_>| {
        let told = format!("{name}: task '{}': {}", absent.task.id, agent_findings::told(&absent.error));
        Finding::warning("tasks", told).remedy(agent_findings::remedy(&plan, &absent.error))
    };
    absent.iter().map(finding).collect()
}
