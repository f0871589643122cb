//! `conductor group plan`: an order for tasks that have none of their own.

use conductor_core::file::{Source, load};
use conductor_core::plan::Plan;
use conductor_core::plan::graph::Node;
use conductor_core::plan::ordering::{self, Ordering, Strategy};
use conductor_core::values::counted::counted;
use conductor_core::values::ids::TaskId;
use conductor_engine::host::for_shell;
use serde_json::{Value, json};

use crate::args::{GroupPlan, Order, Shown};
use crate::commands::{answer, answer_json, talk};
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::writing;
use crate::settings::diagnostics;
use crate::settings::taskfile;

const SCHEMA: &str = "conductor.group-plan/1";

pub(super) fn run(args: &GroupPlan) -> Result<Exit, CliError> {
    let (source, value) = diagnostics::values(&taskfile::meant(args.file.as_deref())?)?;
    let plan = diagnostics::load_text(source.name(), source.text().to_owned())?;
    let strategy = args.strategy.into();
    let most = args.max_group_size.map(|most| most as usize);
    let ordering = ordering::order(&plan, strategy, most)
        .map_err(|error| CliError::new(Exit::InvalidFile, format!("{}: {error}", source.name())))?;
    if let Some(file) = &args.write {
        let text = written(&source, value, &plan, &ordering)?;
        if file.as_os_str() == "-" {
            answer(&text)?;
            return Ok(Exit::Done);
        }
        writing::may_write(&[file], args.force, writing::ANOTHER_FILE)?;
        writing::write(file, &text)?;
        talk(format!("wrote {}; next: conductor run {}", file.display(), for_shell(file)));
    }
    match args.json || args.output == Shown::Json {
        true => answer_json(&as_json(&plan, strategy, most, &ordering))?,
        false => answer(&as_text(&plan, strategy, &ordering))?,
    }
    Ok(Exit::Done)
}

impl From<Order> for Strategy {
    fn from(order: Order) -> Strategy {
        match order {
            Order::Topological => Strategy::Topological,
            Order::RiskFirst => Strategy::RiskFirst,
            Order::FoundationalFirst => Strategy::FoundationalFirst,
            Order::ParallelMaximising => Strategy::ParallelMaximising,
        }
    }
}

fn as_json(plan: &Plan, strategy: Strategy, most: Option<usize>, ordering: &Ordering) -> Value {
    let task = |&task: &Node| {
        let id = &plan.tasks[task as usize].id;
        match ordering.weights.get(task as usize) {
            Some(weight) => json!({ "id": id, "level": weight.level(), "why": weight.why }),
            None => json!({ "id": id }),
        }
    };
    let groups = ordering.groups.iter().enumerate().map(
        |(number, group)| json!({ "group": number + 1, "tasks": group.iter().map(task).collect::<Vec<_>>() }),
    );
    json!({
        "schema": SCHEMA,
        "strategy": strategy.name(),
        "max_group_size": most,
        "groups": groups.collect::<Vec<_>>(),
    })
}

fn as_text(plan: &Plan, strategy: Strategy, ordering: &Ordering) -> String {
    let width = plan.tasks.iter().map(|task| task.id.as_str().len()).max().unwrap_or_default();
    let mut text = format!("{}, {strategy}\n", counted(plan.asked().count(), "task"));
    for (number, group) in ordering.groups.iter().enumerate() {
        text += &format!("group {} ({})\n", number + 1, counted(group.len(), "task"));
        for &task in group {
            let why = ordering.weights.get(task as usize).map(|weight| match weight.why.is_empty() {
                true => weight.level().name().to_owned(),
                false => format!("{}: {}", weight.level().name(), weight.why.join("; ")),
            });
            let task = &plan.tasks[task as usize];
            let line = format!("  {:<width$}  {}", task.id, why.unwrap_or_else(|| one_line(&task.name)));
            text += &format!("{}\n", line.trim_end());
        }
    }
    text
}

/// The file with its order: the same text and a section more where that can be, else all of it as JSON.
fn written(source: &Source, value: Value, plan: &Plan, ordering: &Ordering) -> Result<String, CliError> {
    let steps: Vec<Vec<&TaskId>> = ordering
        .groups
        .iter()
        .map(|group| group.iter().map(|&task| &plan.tasks[task as usize].id).collect())
        .collect();
    if value.get("execution_order").is_some() {
        let message = format!("{} has an execution_order of its own; nothing was written", source.name());
        return Err(CliError::new(Exit::Usage, message).help("take it out of the file first"));
    }
    let fits = |text: &String| {
        let read =
            Source::new(source.name(), text.clone().into_bytes()).ok().and_then(|source| load(&source).ok());
        read.is_some_and(|read| {
            let order = read.plan.execution_order.iter().map(|step| step.iter().collect::<Vec<_>>());
            read.plan.tasks.len() == plan.tasks.len() && order.eq(steps.iter().cloned())
        })
    };
    [appended(source.text(), &steps), rewritten(value, &steps)].into_iter().flatten().find(fits).ok_or_else(
        || {
            let message = format!("cannot write {} with another order", source.name());
            CliError::new(Exit::Unexpected, message)
                .help("see it with --output json and write it in yourself")
        },
    )
}

/// At the end of a file in block style.
fn appended(text: &str, steps: &[Vec<&TaskId>]) -> Option<String> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(['#', '%']))?;
    if first.starts_with(['{', '[', '-']) {
        return None;
    }
    let mut text = text.trim_end().to_owned() + "\nexecution_order:\n";
    for step in steps {
        let ids: Vec<String> = step.iter().map(|id| format!("\"{id}\"")).collect();
        text += &match ids.as_slice() {
            [one] => format!("  - {one}\n"),
            many => format!("  - parallel: [{}]\n", many.join(", ")),
        };
    }
    Some(text)
}

fn rewritten(value: Value, steps: &[Vec<&TaskId>]) -> Option<String> {
    let mut file = match value {
        Value::Object(file) => file,
        tasks => serde_json::Map::from_iter([("tasks".to_owned(), tasks)]),
    };
    let step = |step: &Vec<&TaskId>| match step.as_slice() {
        [one] => json!(one),
        many => json!({ "parallel": many }),
    };
    file.insert("execution_order".to_owned(), steps.iter().map(step).collect());
    Some(serde_json::to_string_pretty(&file).ok()? + "\n")
}
