//! Tasks that take all they can get, each with a limit of its own, and a task beside them that only works: how much longer
//! it takes than alone.

use std::process::Stdio;

use super::report::Goal;
use super::scratch::{Scratch, conductor};
use crate::Result;

/// The best of so many runs, each with and without the hogs.
const TURNS: usize = 3;

const INNOCENT: &str = "  - { id: innocent, run: 'i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done', resources: { cpu: 1 } }\n";

/// Of memory, processes, processors, the disk and open files. Each comes to its limit while the other task works.
const HOGS: &str = r#"
  - { id: memory, run: 'tail /dev/zero; sleep 600', resources: { memory: 64MiB } }
  - { id: processes, run: 'i=0; while [ $i -lt 100 ]; do sleep 30 & i=$((i+1)); done; wait', resources: { processes: 20 } }
  - { id: cpu, run: 'for i in 1 2 3 4; do (while :; do :; done) & done; wait', timeout: 20s, resources: { cpu: 1 } }
  - { id: disk, run: 'head -c 67108864 /dev/zero > big; sleep 30', resources: { disk: 8MiB } }
  - id: files
    run: |
      bash -c 'for i in $(seq 10 200); do eval "exec $i</dev/null" || exit 1; done; sleep 30'
    resources: { open_files: 64 }
"#;

/// Seconds in which the task was at work.
pub(super) struct Figures {
    alone: f64,
    beside: f64,
    /// Of the hogs that were to be ended, those that were.
    ended: usize,
}

pub(super) fn measure(scratch: &mut Scratch) -> Result<Figures> {
    let mut figures = Figures { alone: f64::MAX, beside: f64::MAX, ended: usize::MAX };
    for _ in 0..TURNS {
        figures.alone = figures.alone.min(run("", scratch)?.0);
        let (beside, ended) = run(HOGS, scratch)?;
        figures.beside = figures.beside.min(beside);
        figures.ended = figures.ended.min(ended);
    }
    Ok(figures)
}

/// How long the innocent task worked, and how many tasks failed.
fn run(hogs: &str, scratch: &mut Scratch) -> Result<(f64, usize)> {
    let directory = scratch.directory()?;
    let text = format!("config: {{ retry_policy: {{ max_attempts: 1 }} }}\ntasks:\n{INNOCENT}{hogs}");
    std::fs::write(directory.join("tasks.yaml"), text)?;
    let mut command = conductor(&directory);
    command.args(["run", "tasks.yaml", "--isolation", "none", "--parallel", "6"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let said = conductor(&directory).args(["report", "--json"]).stderr(Stdio::null()).output()?.stdout;
    let report: serde_json::Value = serde_json::from_slice(&said)?;
    let results = report["results"].as_array().ok_or("a report without results")?;
    let innocent = results.iter().find(|result| result["task_id"] == "innocent");
    let worked = innocent.and_then(|result| result["profile"][0]["working_ms"].as_f64());
    let failed = results.iter().filter(|result| result["status"] == "failed").count();
    Ok((worked.ok_or("a task without its time")? / 1_000.0, failed))
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    let longer = figures.beside / figures.alone;
    let beside = Goal {
        what: "a task beside hogs that are at their limits, to the same alone".to_owned(),
        limit: "≤ 1.10×".to_owned(),
        measured: format!("{longer:.2}×"),
        met: longer <= 1.1,
    };
    let ended = Goal {
        what: "hogs of memory, processes, processors, disk and open files that were ended".to_owned(),
        limit: "5".to_owned(),
        measured: figures.ended.to_string(),
        met: figures.ended == 5,
    };
    vec![beside, ended]
}
