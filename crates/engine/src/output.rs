//! The files a run leaves: plan, summary, report, and a folder for each task that said something.

use std::fs;
use std::io;
use std::path::Path;

use conductor_core::graph::Graph;
use conductor_core::ids::{RunId, TaskId};
use conductor_core::ledger::Ledger;
use conductor_core::plan::Plan;
use conductor_core::report::{self, PlanFile, SummaryFile, TaskResult};
use conductor_core::run::Run;
use serde::Serialize;

use crate::transcript;

pub fn write_plan(directory: &Path, plan: &Plan, graph: &Graph, slots: u32) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    write(&directory.join("execution_plan.json"), &json(&PlanFile::new(plan, graph, slots)))
}

pub fn write_summary(
    directory: &Path,
    id: &RunId,
    run: &Run,
    graph: &Graph,
    ledger: Option<&Ledger>,
) -> io::Result<()> {
    let summary = SummaryFile::new(id, run, graph, ledger);
    write(&directory.join("execution_summary.json"), &json(&summary))?;
    write(&directory.join("report.md"), report::markdown(id, run, graph, ledger).as_bytes())?;
    transcript::clear_spools(directory, run.executors());
    for executor in 1..=run.executors() {
        write_results(&directory.join(format!("executor_{executor}")), executor, run)?;
    }
    Ok(())
}

/// Into the folder of every task that has one. A task that said nothing has none, and all there is to know of it is in
/// the summary.
fn write_results(folder: &Path, executor: u32, run: &Run) -> io::Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let task = entry.file_name().to_str().and_then(|name| TaskId::parse(name).ok());
        let Some(place) = task.and_then(|task| run.place(&task)) else { continue };
        if run.progress(place).executor == Some(executor) {
            fs::write(entry.path().join("result.json"), json(&TaskResult::new(run, place)))?;
        }
    }
    Ok(())
}

fn json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

/// A reader sees the old file or the new one, never half of it.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    fs::write(&fresh, bytes)?;
    fs::rename(&fresh, path)
}
