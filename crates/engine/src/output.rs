//! The files a run leaves: plan, summary, report, and a folder for each task that said something.

use std::fs;
use std::io;
use std::path::Path;

use conductor_core::graph::Graph;
use conductor_core::ids::RunId;
use conductor_core::plan::Plan;
use conductor_core::report;
use conductor_core::run::Run;
use serde_json::Value;

use crate::transcript;

pub fn write_plan(directory: &Path, plan: &Plan, graph: &Graph, slots: u32) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    write_json(&directory.join("execution_plan.json"), &report::plan_json(plan, graph, slots))
}

pub fn write_summary(directory: &Path, id: &RunId, run: &Run, graph: &Graph) -> io::Result<()> {
    write_json(&directory.join("execution_summary.json"), &report::summary_json(id, run, graph))?;
    write(&directory.join("report.md"), report::markdown(id, run, graph).as_bytes())?;
    transcript::clear_spools(directory, run.executors());
    for (task, progress) in run.tasks() {
        let Some(executor) = progress.executor else { continue };
        let path = directory.join(format!("executor_{executor}/{}/result.json", task.id));
        // A task that said nothing has no folder, and all there is to know of it is in the summary.
        match fs::write(path, json(&report::result_json(task, progress))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn write_json(path: &Path, value: &Value) -> io::Result<()> {
    write(path, json(value).as_bytes())
}

fn json(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// A reader sees the old file or the new one, never half of it.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    fs::write(&fresh, bytes)?;
    fs::rename(&fresh, path)
}
