//! `conductor plan`: words become a task file, by an agent that is asked and by checks of our own. Nothing is run.

mod approval;
pub(crate) mod asking;
pub(crate) mod commands;
mod existing;
mod requirements;

use std::path::{Path, PathBuf};

use conductor_core::plan::graph::{Graph, Strategy};
use conductor_core::plan::{Plan, Task};
use conductor_core::planner::{Bounds, Changes, Size, changes, width};
use conductor_core::report::PlanFile;
use conductor_core::values::counted::counted;
use conductor_core::values::units::Usd;
use conductor_engine::records::output;
use serde_json::json;

use super::{answer, answer_json, talk};
use crate::args;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::table::columns;
use crate::output::writing;
use crate::settings::diagnostics;

pub(crate) use approval::{approve, need_person};
pub(crate) use asking::{Answered, ask, spent};
pub(crate) use existing::PlannedAgent;
pub(crate) use requirements::Requirements;

const SCHEMA: &str = "conductor.plan/1";

/// How many agents work at once without --budget or a config.
const USUAL: u32 = 3;

pub(crate) fn run(args: &args::Plan) -> Result<Exit, CliError> {
    let planning = &args.planning;
    if planning.interactive {
        need_person()?;
    }
    let requirements = match &args.refine {
        Some(wish) => {
            let most = planning.max_tasks as usize;
            Requirements::new(wish, "--refine", Bounds { most, ..Bounds::default() })?
        }
        None => Requirements::read(planning)?,
    };
    let before = args.plan.as_deref().map(existing::existing).transpose()?;
    let file = args.output.clone().or_else(|| args.plan.clone()).unwrap_or_else(|| "tasks.yaml".into());
    let folder = folder_of(&file);
    writing::may_write(&[&file], planning.force, writing::ANOTHER_FILE)?;
    let beside = "it is written beside the task file: write that into another folder, as -o plans/tasks.yaml, or over \
                  both with --force";
    writing::may_write(&[&folder.join("execution_plan.json")], planning.force, beside)?;
    let agent_choice = before
        .as_ref()
        .map_or_else(PlannedAgent::default, |(_, agent_choice)| agent_choice.clone())
        .under(planning);
    let draft = before.as_ref().map(|(draft, _)| draft);
    let max_cost = Usd::from_dollars(args.max_cost);
    let answered = ask(planning, &requirements, draft, max_cost, args.json)?;
    let changed = draft.map(|before| changes(before, &answered.planned.draft));
    if !args.json {
        tell(&answered, changed.as_ref());
    }
    let write = |draft: &_| answered.file(draft, &requirements.text, &agent_choice);
    let mut text = write(&answered.planned.draft);
    if planning.interactive {
        text = approve(&answered.folder.join("tasks.yaml"), text, write)?;
    }
    diagnostics::check_text(&file.display().to_string(), &text)?;
    writing::write(&file, &text)?;
    let plan = diagnostics::load(&file)?;
    let graph = graph(&plan)?;
    let slots = useful_slots(&plan, &graph, planning.budget);
    let budget = planning.budget.unwrap_or(slots);
    output::write_plan(&folder, &plan, &graph, budget)?;
    match args.json {
        true => answer_json(&as_json(&file, &answered, changed, &PlanFile::new(&plan, &graph, budget)))?,
        false => {
            let new = commands::proposed(&answered.planned.draft, &plan, &file)?;
            if !new.is_empty() {
                talk(format!("it proposes commands that this project does not use yet: {}", new.join("; ")));
            }
            answer(&text_of(&file, &folder, &plan, &answered, slots))?;
        }
    }
    Ok(Exit::Done)
}

fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// What was wrong and what was done about it, on standard error.
pub(crate) fn tell(answered: &Answered, changed: Option<&Changes>) {
    for told in &answered.planned.told {
        talk(one_line(told));
    }
    let Some(changed) = changed else { return };
    if changed.is_empty() {
        talk("the plan stays as it was");
    }
    let parts = |id: &String, parts: &[&str]| format!("{id} ({})", parts.join(", "));
    let changes: Vec<String> = changed.changed.iter().map(|(id, what)| parts(id, what)).collect();
    for (word, ids) in [("added", &changed.added), ("removed", &changed.removed), ("changed", &changes)] {
        if !ids.is_empty() {
            talk(format!("{word}: {}", ids.join(", ")));
        }
    }
}

/// How many of those who may work at once there is use for.
pub(crate) fn useful_slots(plan: &Plan, graph: &Graph, budget: Option<u32>) -> u32 {
    let most = budget.or(plan.parallel).unwrap_or(USUAL);
    most.min(u32::try_from(width(graph)).unwrap_or(most)).max(1)
}

/// The graph of a plan that was read from a file, and so has one.
pub(crate) fn graph(plan: &Plan) -> Result<Graph, CliError> {
    Graph::new(plan, Strategy::Queue).map_err(|error| CliError::new(Exit::InvalidFile, error))
}

/// The tasks, for people.
pub(crate) fn table(plan: &Plan) -> String {
    let row = |task: &Task| {
        let before: Vec<&str> = task.dependencies.iter().map(|on| on.id.as_str()).collect();
        [
            task.id.to_string(),
            task.priority.name().to_owned(),
            task.estimate.map_or_else(|| "-".to_owned(), |estimate| estimate.to_string()),
            if before.is_empty() { "-".to_owned() } else { before.join(", ") },
            one_line(&task.name),
        ]
    };
    columns(["TASK", "PRIORITY", "TAKES", "AFTER", "NAME"], plan.tasks.iter().map(row).collect())
}

fn text_of(file: &Path, folder: &Path, plan: &Plan, answered: &Answered, slots: u32) -> String {
    let (tasks, shown) = (plan.tasks.len(), file.display());
    // Of the plan there is, whatever the analysis expected.
    let size = Size::of(u32::try_from(tasks).unwrap_or(u32::MAX)).name();
    let json = folder.join("execution_plan.json");
    let json = json.strip_prefix(".").unwrap_or(&json).display();
    format!(
        "{}\n{}, {size}; there is use for {slots} at once\nplanned by {}: {}\nwrote {shown} and {json}\n\
         next: look at it and change what you like, then\n  conductor rehearse {shown}\n  conductor run {shown} -p {slots}",
        table(plan),
        counted(tasks, "task"),
        answered.agent,
        spent(answered.used),
    )
}

fn as_json(
    file: &Path,
    answered: &Answered,
    changed: Option<Changes>,
    plan: &PlanFile<'_>,
) -> serde_json::Value {
    let used = answered.used;
    json!({
        "schema": SCHEMA,
        "file": file,
        "agent": answered.agent,
        "model": answered.model,
        "analysis": answered.planned.analysis,
        "plan": plan,
        "found": answered.planned.found,
        "told": answered.planned.told,
        "changes": changed,
        "usage": {
            "cost_usd": answered.cost().map(Usd::dollars),
            "known_cost_usd": used.cost.dollars(),
            "tokens": used.tokens,
            "turns": used.turns,
        },
        "answers": answered.folder,
    })
}
