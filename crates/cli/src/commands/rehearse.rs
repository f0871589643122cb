//! `conductor rehearse`: a run against supposed durations, told before anything is started.

mod timeline;

use std::path::Path;

use conductor_core::forecast::{Basis, Estimate, Forecast, History, forecast};
use conductor_core::plan::Plan;
use conductor_core::plan::graph::Node;
use conductor_core::run::costs;
use conductor_core::run::event::{Options, Usage};
use conductor_core::values::counted::counted;
use conductor_core::values::units::Usd;
use conductor_engine::expertise::{Wanted, gather};
use conductor_engine::git::{GitError, Repository};
use conductor_engine::host::home::Home;
use conductor_engine::stores::{self, EarlierRuns};
use serde_json::{Value, json};

use super::run::{full_name, machine};
use super::{answer, answer_json, block_on, talk};
use crate::archive::briefly;
use crate::args::Rehearse;
use crate::error::{CliError, Exit};
use crate::output::width;
use crate::settings::diagnostics;
use crate::settings::taskfile;

pub(crate) fn run(args: &Rehearse) -> Result<Exit, CliError> {
    let file = taskfile::meant(args.file.as_deref())?;
    let mut plan = diagnostics::load(&file)?;
    let history = block_on(remember(&file, &mut plan))?;
    let told = forecast(&plan, &options(&plan), &history, args.parallel)
        .map_err(|error| CliError::new(Exit::InvalidFile, error))?;
    match args.json {
        true => answer_json(&as_json(&plan, &told))?,
        false => answer(&text(&plan, &told, width::room().unwrap_or(width::USUAL).columns))?,
    }
    Ok(Exit::Done)
}

/// What former runs of the file tell: how long its tasks took, and which of them met in the same files.
async fn remember(file: &Path, plan: &mut Plan) -> Result<History, CliError> {
    let home = Home::open()?;
    if file.as_os_str() == "-" {
        return Ok(History::new());
    }
    let directory = std::env::current_dir()?;
    let store = briefly(|| stores::open_to_look(&home)).await?;
    let source = full_name(&directory, file);
    let mut earlier = EarlierRuns::of(&*store);
    let files = match Repository::common_of(&directory) {
        Ok(_) => true,
        Err(GitError::NotOne(_)) => false,
        Err(error) => return Err(error.into()),
    };
    let wanted = Wanted { times: true, models: false, files };
    let evidence = gather(&mut earlier, (directory.as_path(), source.as_str()), wanted).await?;
    evidence.teach_files(plan);
    earlier.notice().into_iter().for_each(talk);
    Ok(evidence.into_history())
}

/// As `run` would have them.
fn options(plan: &Plan) -> Options {
    let mut options = Options { limits: plan.limits.clone(), ..Options::with_slots(1) };
    for (name, amount) in machine() {
        options.limits.resources.entry(name).or_insert(amount);
    }
    options
}

fn text(plan: &Plan, told: &Forecast, width: usize) -> String {
    let tasks = plan.asked().count();
    let mut text = format!("{}\n\n AT ONCE  TAKES\n", counted(tasks, "task"));
    for (slots, makespan) in &told.by_slots {
        let mark = if *slots == told.best { "  nothing is gained beyond" } else { "" };
        text += &format!("{slots:>8}  {makespan}{mark}\n");
    }
    text += &format!("\nwith {} at once: {}", told.slots, told.rehearsal.makespan);
    if told.low != told.high {
        text += &format!(" ({} to {})", told.low, told.high);
    }
    if told.rehearsal.executors < told.slots {
        text += &format!("; never more than {} at once", told.rehearsal.executors);
    }
    text += &format!("\ndurations: {}\n", bases(&told.estimates));
    text +=
        &format!("critical path: {}, {}\n", path(plan, &told.critical_path.tasks), told.critical_path.length);
    text += &format!("cost: {}\n", cost(told));
    text += &match &told.split {
        Some(split) => format!(
            "to split: {}; as two halves side by side the whole takes {}\n",
            split.task, split.makespan
        ),
        None => "to split: nothing; halving no task of the critical path helps\n".to_owned(),
    };
    text + "\n" + &timeline::draw(plan, told, width)
}

/// How many tasks each kind of supposition is behind.
fn bases(estimates: &[Estimate]) -> String {
    let count = |fits: fn(&Basis) -> bool| estimates.iter().filter(|one| fits(&one.basis)).count();
    let kinds = [
        (count(|basis| matches!(basis, Basis::Given)), "by their estimate"),
        (count(|basis| matches!(basis, Basis::History(_))), "by former runs"),
        (count(|basis| matches!(basis, Basis::Similar(_))), "by tasks like them"),
        (count(|basis| matches!(basis, Basis::Default)), "guessed"),
    ];
    let told = kinds.iter().filter(|(count, _)| *count > 0).map(|(count, how)| format!("{count} {how}"));
    told.collect::<Vec<_>>().join(", ")
}

/// The ends of a chain that is too long to be shown whole.
const SHOWN: usize = 8;

fn path(plan: &Plan, tasks: &[Node]) -> String {
    let name = |task: &Node| plan.tasks[*task as usize].id.as_str();
    match tasks.len() <= SHOWN {
        true => tasks.iter().map(name).collect::<Vec<_>>().join(" → "),
        false => {
            let (start, end) = (&tasks[..SHOWN - 2], &tasks[tasks.len() - 2..]);
            let join = |part: &[Node]| part.iter().map(name).collect::<Vec<_>>().join(" → ");
            format!("{} → … → {} ({} tasks)", join(start), join(end), tasks.len())
        }
    }
}

/// Never more than is known.
fn cost(told: &Forecast) -> String {
    let dollars = |cost: Usd| costs::words(Usage { cost, ..Usage::default() });
    let known = told.cost;
    let rest = match known.unknown {
        0 => String::new(),
        count => format!("that of {} is unknown", counted(count, "task")),
    };
    match (known.high, known.unknown) {
        (Usd(0), 0) => "none".to_owned(),
        (Usd(0), _) => format!("unknown; {rest}"),
        (_, 0) => format!("{} ({} to {})", dollars(known.expected), dollars(known.low), dollars(known.high)),
        _ => format!(
            "{} ({} to {}), and {rest}",
            dollars(known.expected),
            dollars(known.low),
            dollars(known.high)
        ),
    }
}

fn as_json(plan: &Plan, told: &Forecast) -> Value {
    let starts: std::collections::HashMap<_, _> =
        told.rehearsal.starts.iter().map(|(id, at)| (id, at.0)).collect();
    let tasks = plan.tasks.iter().zip(&told.estimates).map(|(task, estimate)| {
        let (basis, samples) = match estimate.basis {
            Basis::Given => ("estimate", None),
            Basis::History(samples) => ("history", Some(samples)),
            Basis::Similar(samples) => ("similar", Some(samples)),
            Basis::Default => ("default", None),
        };
        json!({
            "id": task.id,
            "start_ms": starts.get(&task.id),
            "expected_ms": estimate.expected,
            "low_ms": estimate.low,
            "high_ms": estimate.high,
            "basis": basis,
            "samples": samples,
        })
    });
    let known = told.cost;
    let priced = known.unknown == 0 || known.high > Usd(0);
    let dollars = |cost: Usd| priced.then(|| cost.dollars());
    json!({
        "schema": "conductor.rehearsal/1",
        "tasks": tasks.collect::<Vec<_>>(),
        "by_parallel": told.by_slots.iter()
            .map(|(slots, makespan)| json!({ "parallel": slots, "makespan_ms": makespan }))
            .collect::<Vec<_>>(),
        "best_parallel": told.best,
        "parallel": told.slots,
        "executors_used": told.rehearsal.executors,
        "makespan_ms": told.rehearsal.makespan,
        "low_ms": told.low,
        "high_ms": told.high,
        "critical_path": told.critical_path.tasks.iter().map(|&task| &plan.tasks[task as usize].id).collect::<Vec<_>>(),
        "critical_path_ms": told.critical_path.length,
        "cost_usd": dollars(known.expected),
        "cost_low_usd": dollars(known.low),
        "cost_high_usd": dollars(known.high),
        "tasks_of_unknown_cost": known.unknown,
        "split": told.split.as_ref().map(|split| json!({ "task": split.task, "makespan_ms": split.makespan })),
    })
}
