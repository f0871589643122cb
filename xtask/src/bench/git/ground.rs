//! Repositories to measure in, each used once, and Conductor's side of them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_engine::git::Repository;
use conductor_engine::git::workspaces::{Layout, RunRepo, WorkspaceRequest, Worktrees};

use crate::Result;
use crate::bench::scratch::Scratch;
use crate::steps::quietly;

/// Folders the files are spread over.
const FOLDERS: usize = 200;

/// Files a task changes.
pub(super) const CHANGED: usize = 5;

/// For so many tasks there are files of their own.
const MOST_TASKS: usize = 100;

/// A repository of one commit, and room beside it.
pub(super) struct Ground {
    pub(super) directory: PathBuf,
    pub(super) repository: PathBuf,
    files: usize,
}

impl Ground {
    /// Whatever was written before is on the disk by then, so that it is not paid for by who comes next.
    pub(super) fn new(files: usize, branches: usize, scratch: &mut Scratch) -> Result<Ground> {
        let directory = scratch.directory()?.canonicalize()?;
        let ground = Ground { repository: directory.join("repository"), directory, files };
        fs::create_dir(&ground.repository)?;
        quietly(ground.git().args(["init", "--quiet", "--initial-branch=main", "."]))?;
        let mut import = ground
            .git()
            .args(["fast-import", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        import.stdin.take().ok_or("git reads nothing")?.write_all(ground.history(branches).as_bytes())?;
        if !import.wait()?.success() {
            return Err("the repository to measure in could not be made".into());
        }
        quietly(&mut Command::new("sync"))?;
        Ok(ground)
    }

    /// Git as it is, with an author and a committer.
    pub(super) fn git(&self) -> Command {
        let mut command = Command::new("git");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "Bench")
                .env(format!("GIT_{role}_EMAIL"), "bench@localhost");
        }
        command.current_dir(&self.repository);
        command
    }

    /// What git answers to a question.
    pub(super) fn ask(&self, args: &[&str]) -> Result<String> {
        said(self.git().args(args))
    }

    /// The first commit on `main`, and on top of it branches that touch different files each.
    fn history(&self, branches: usize) -> String {
        let mut text = commit("main", "");
        for number in 0..self.files {
            text += &entry(number, 0);
        }
        for branch in 0..branches {
            text += &commit(&work(branch), "from refs/heads/main\n");
            for number in self.files_of(branch) {
                text += &entry(number, 1);
            }
        }
        text
    }

    /// The files one task changes, far from each other and none of them another's.
    fn files_of(&self, task: usize) -> impl Iterator<Item = usize> {
        let apart = self.files / (CHANGED * MOST_TASKS);
        (0..CHANGED).map(move |file| (task * CHANGED + file) * apart)
    }

    /// Does in a workspace what a task would do.
    pub(super) fn change(&self, workspace: &Path, task: usize) -> Result {
        for number in self.files_of(task) {
            fs::write(workspace.join(name(number)), content(number, 2 + task))?;
        }
        Ok(())
    }

    /// Conductor's workspaces here.
    pub(super) fn site(&self) -> Result<Site> {
        let repository = Repository::of(&self.repository)?;
        let run = RunId::parse("bench").ok_or("no name for a run")?;
        let layout = Layout::new(&self.directory.join("home"), &run, &repository, &self.repository, None);
        let run_repo = Arc::new(RunRepo::open(repository, &run, layout, Vec::new(), None)?);
        Ok(Site { worktrees: Worktrees::new(run_repo.clone()), run_repo })
    }
}

pub(super) struct Site {
    pub(super) run_repo: Arc<RunRepo>,
    pub(super) worktrees: Worktrees,
}

/// The task of this number, on the executor of this number.
pub(super) fn request(executor: usize, task: usize) -> Result<WorkspaceRequest> {
    Ok(WorkspaceRequest {
        conflict_markers: Default::default(),
        executor: u32::try_from(executor)?,
        epic: None,
        private: false,
        task: task_id(task)?,
        attempt: Attempt(1),
        title: format!("Task {task}"),
        onto: None,
        stack: Vec::new(),
        round: None,
    })
}

pub(super) fn task_id(number: usize) -> Result<TaskId> {
    Ok(TaskId::parse(&format!("t{number}")).map_err(|_| "no name for a task")?)
}

/// The branch with the work of a task.
pub(super) fn work(task: usize) -> String {
    format!("work-{task}")
}

pub(super) fn said(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?.trim_end().to_owned()),
        false => Err(format!("{command:?}: {}", output.status).into()),
    }
}

fn commit(branch: &str, from: &str) -> String {
    format!(
        "commit refs/heads/{branch}\ncommitter Bench <bench@localhost> 1700000000 +0000\ndata 4\nwork\n{from}"
    )
}

fn entry(number: usize, version: usize) -> String {
    let (name, content) = (name(number), content(number, version));
    format!("M 100644 inline {name}\ndata {}\n{content}\n", content.len())
}

fn name(number: usize) -> String {
    let folder = number % FOLDERS;
    format!("part-{}/unit-{}/file-{number}.txt", folder / 10, folder % 10)
}

/// From a line to some kilobytes, as sources are.
fn content(number: usize, version: usize) -> String {
    let lines = 1 + number * 7 % 120;
    (0..lines).map(|line| format!("file {number}, line {line}, version {version}: some words\n")).collect()
}
