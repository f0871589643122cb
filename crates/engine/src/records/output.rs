//! The files a run leaves: plan, summary, reports, and a folder for each task that said something.

use std::fs;
use std::io::{self, Read as _, Write};
use std::path::Path;

use conductor_core::plan::graph::Graph;
use conductor_core::plan::{Isolation, Plan, Task};
use conductor_core::report::{self, PlanFile, Subject, SummaryFile, TaskResult, Voice, Voices};
use conductor_core::run::event::Record;
use conductor_core::run::{Progress, Run, TaskState};
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_core::values::units::Millis;
use serde::{Deserialize, Serialize};

use crate::git::locate_work::{self, WorkLocation};
use crate::git::workspaces::{RunRepo, WorkspaceError};
use crate::host::access;
use crate::host::redact;
use crate::process;
use crate::process::transcript::{self, Speaker};

/// Where the exit code of a run that was driven to its end is noted, in its folder of the state directory.
pub const EXIT_CODE: &str = "exit_code";

const PLAN: &str = "execution_plan.json";

pub fn write_plan(directory: &Path, plan: &Plan, graph: &Graph, slots: u32) -> io::Result<()> {
    access::create_dir_all(directory)?;
    replace_json(&directory.join(PLAN), &PlanFile::new(plan, graph, slots))
}

/// Whether a run's own folder has the file of this plan already. Tasks only join a plan, so their number tells whether
/// it is still the same.
pub fn has_plan(directory: &Path, plan: &Plan, slots: u32) -> bool {
    let head = PlanFile::head(plan, slots);
    let mut beginning = String::new();
    let file = fs::File::open(directory.join(PLAN));
    let read = file.and_then(|file| file.take(head.len() as u64).read_to_string(&mut beginning));
    read.is_ok() && beginning == head
}

pub fn write_summary(directory: &Path, subject: &Subject<'_>) -> io::Result<()> {
    let Subject { id, run, graph, ledger, aggregation, .. } = *subject;
    let summary = SummaryFile::new(id, run, graph, ledger).with_aggregation(aggregation);
    replace_json(&directory.join("execution_summary.json"), &summary)?;
    replace(&directory.join("report.md"), &report::markdown(subject))?;
    replace(&directory.join(PAGE), &report::html(subject))?;
    transcript::clear_spools(directory, run.executors());
    for executor in 1..=run.executors() {
        write_results(&directory.join(format!("executor_{executor}")), executor, run)?;
    }
    Ok(())
}

/// How long it took to put a run's results together, as its summary tells it.
pub fn aggregation(directory: &Path) -> Option<Millis> {
    #[derive(Deserialize)]
    struct Summary {
        time_shares: Told,
    }
    #[derive(Deserialize)]
    struct Told {
        aggregation_ms: Option<Millis>,
    }
    let summary = fs::File::open(directory.join("execution_summary.json")).ok()?;
    let summary: Summary = serde_json::from_reader(io::BufReader::new(summary)).ok()?;
    summary.time_shares.aggregation_ms
}

/// The change of every task that landed, as a patch in its folder. Blocks.
pub fn write_changes(
    directory: &Path,
    run: &Run,
    records: &[Record],
    run_repo: &RunRepo,
) -> Result<(), WorkspaceError> {
    for (place, (task, progress)) in run.tasks().enumerate() {
        let (Some(executor), Some(_)) = (progress.executor, &progress.landed) else { continue };
        // Where it worked matters only for those still at work.
        if let WorkLocation::Landed { from, to } =
            locate_work::of(run, records, place, Isolation::Worktree, run_repo)?
        {
            let folder = directory.join(format!("executor_{executor}")).join(task.id.as_str());
            let (patch, path) = (run_repo.shadow().patch(&from, &to)?, folder.join("changes.diff"));
            let written = access::create_dir_all(&folder).and_then(|()| access::replace(&path, &patch));
            written.map_err(|source| WorkspaceError::File { path, source })?;
        }
    }
    Ok(())
}

/// The report to send on.
pub const PAGE: &str = "report.html";

/// How many failed tasks are listened to, and how many lines of each.
const FAILURES: usize = 50;
const LINES: usize = 10;

/// What tasks that failed said last, as far as it is kept.
pub fn voices(directory: &Path, run: &Run) -> Voices {
    let tasks = run.tasks().enumerate();
    let failed = tasks.filter(|(_, (_, progress))| matches!(progress.state, TaskState::Failed(_)));
    let voice = |(place, (task, progress)): (usize, (&Task, &Progress))| {
        let (executor, attempt) = (progress.executor?, Attempt(progress.last_attempt));
        let path = Speaker { output: directory, executor, task: &task.id, attempt }.transcript();
        let lines = transcript::last_lines(&path, LINES);
        let lines: Vec<String> = lines.into_iter().map(|line| redact::known().string(line)).collect();
        (!lines.is_empty()).then(|| (place, Voice { transcript: path.display().to_string(), lines }))
    };
    failed.take(FAILURES).filter_map(voice).collect()
}

/// Into the folder of every task that has one. A task that said nothing has none, and all there is to know of it is in
/// the summary.
fn write_results(folder: &Path, executor: u32, run: &Run) -> io::Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let task = entry.file_name().to_str().and_then(|name| TaskId::parse(name).ok());
        let Some(place) = task.and_then(|task| run.place(&task)) else { continue };
        if run.progress(place).executor == Some(executor) {
            let result = json(&TaskResult::new(run, place));
            access::write(&entry.path().join("result.json"), &*redact::known().text(&result))?;
        }
    }
    Ok(())
}

/// Nothing secret is in these files, wherever it comes from.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    access::replace(path, redact::known().text(text).as_bytes())
}

fn replace_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    access::replace_by(path, |file| {
        let mut cleared = Cleared { into: file, pending: Vec::new() };
        serde_json::to_writer_pretty(&mut cleared, value)?;
        cleared.write_all(b"\n")?;
        cleared.finish()
    })
}

/// Passes on what is written without secrets, some whole lines at a time. A value of JSON never has a line's end in it.
struct Cleared<W: Write> {
    into: W,
    pending: Vec<u8>,
}

impl<W: Write> Cleared<W> {
    const PIECE: usize = 1 << 16;

    fn pass_on(&mut self, length: usize) -> io::Result<()> {
        let piece: Vec<u8> = self.pending.drain(..length).collect();
        self.into.write_all(redact::known().text(&String::from_utf8_lossy(&piece)).as_bytes())
    }

    fn finish(mut self) -> io::Result<()> {
        self.pass_on(self.pending.len())
    }
}

impl<W: Write> Write for Cleared<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= Self::PIECE
            && let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n')
        {
            self.pass_on(self.pending.len() - bytes.len() + end + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// What processes that were killed had not written to the end.
pub fn clear_unfinished(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let writer = path.file_stem().map(Path::new).and_then(Path::extension);
        let writer = writer.and_then(|pid| pid.to_str()?.parse::<u32>().ok());
        if path.extension().is_some_and(|end| end == "new") && writer.is_some_and(|pid| !process::exists(pid))
        {
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
    }
}

#[cfg(test)]
mod tests {
    use conductor_core::plan::graph::Strategy;
    use conductor_core::plan::{Command, Work};

    use super::*;

    fn plan(tasks: &[&str]) -> Plan {
        let task = |id: &&str| Task::new(TaskId::parse(id).unwrap(), Work::Run(Command::Line("x".into())));
        Plan { tasks: tasks.iter().map(task).collect(), ..Plan::default() }
    }

    #[test]
    fn a_plan_is_known_again_until_tasks_join_or_the_slots_change() {
        let folder = tempfile::tempdir().unwrap();
        let (two, three) = (plan(&["a", "b"]), plan(&["a", "b", "c"]));
        assert!(!has_plan(folder.path(), &two, 3));
        let graph = Graph::new(&two, Strategy::default()).unwrap();
        write_plan(folder.path(), &two, &graph, 3).unwrap();
        assert!(has_plan(folder.path(), &two, 3));
        assert!(!has_plan(folder.path(), &two, 4));
        assert!(!has_plan(folder.path(), &three, 3));
    }
}
