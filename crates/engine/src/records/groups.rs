//! Groups as the world sees them: their `metadata.json` while a run carries them out, and what has landed of them before.

pub mod readiness;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc as std_mpsc;
use std::time::{Duration, Instant};

use conductor_core::plan::Task;
use conductor_core::plan::groups::FOLDER;
use conductor_core::report::groups::{Metadata, Report};
use conductor_core::run::event::Record;
use conductor_core::run::{Run, TaskState};
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Timestamp;

use crate::git::merge::short;
use crate::git::workspaces::RunRefs;
use crate::git::{GitError, Repository};
use crate::host::access;
use crate::host::redact;
use crate::stores::Follower;
use crate::stores::{EarlierRuns, StoreError, StoredRun};

/// How long a run waits at its end for the last file.
const PATIENCE: Duration = Duration::from_secs(5);

/// Telling how groups stand takes at most this part of the time.
const SHARE: u32 = 10;

/// Where the files of a directory's groups are.
pub fn folder(directory: &Path) -> PathBuf {
    let root = Repository::of(directory).map_or_else(|_| directory.to_owned(), |repository| repository.root);
    root.join(FOLDER)
}

/// Has git pass over these files in a checkout's status: they are not the user's work. Nothing outside of a repository.
pub fn keep_out_of_status(directory: &Path) -> Result<(), GitError> {
    match Repository::of(directory) {
        Ok(repository) => repository.exclude(FOLDER),
        Err(GitError::NotOne(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Who writes the files of the groups of one run.
pub struct Recorder {
    done: std_mpsc::Receiver<Option<io::Error>>,
}

impl Recorder {
    /// Follows a run from here on, on a thread of its own; it ends with the run. Nothing where the run is not about
    /// groups.
    pub fn follow(directory: &Path, run: &Run, mut records: Follower) -> Option<Recorder> {
        let execution = run.plan().execution.as_ref()?;
        let id = |group: &str| run.plan().group_id(group).to_owned();
        let groups: Vec<String> = execution.groups().into_iter().map(id).collect();
        let (mut run, folder) = (run.clone(), folder(directory));
        let (sender, done) = std_mpsc::channel();
        std::thread::spawn(move || {
            let mut book = Book { folder, groups, written: BTreeMap::new(), trouble: None };
            book.write(&run);
            while let Some(batch) = records.blocking_recv() {
                apply(&mut run, &batch);
                while let Some(batch) = records.blocking_ready() {
                    apply(&mut run, &batch);
                }
                let begun = Instant::now();
                book.write(&run);
                std::thread::sleep(begun.elapsed() * SHARE);
            }
            let _ = sender.send(book.trouble);
        });
        Some(Recorder { done })
    }

    /// Waits until the last file is written, but not for ever; what was in the way, if anything was.
    pub fn finish(self) -> Option<io::Error> {
        match self.done.recv_timeout(PATIENCE) {
            Ok(trouble) => trouble,
            Err(_) => Some(io::Error::from(io::ErrorKind::TimedOut)),
        }
    }
}

/// What was published has been applied by the scheduler before, and fits.
fn apply(run: &mut Run, batch: &[Record]) {
    for record in batch {
        let _ = run.apply(record);
    }
}

struct Book {
    folder: PathBuf,
    /// By their ids, which their folders are called by.
    groups: Vec<String>,
    written: BTreeMap<String, String>,
    trouble: Option<io::Error>,
}

impl Book {
    /// Every file that would be different now. One that cannot be written is tried again with the next change.
    fn write(&mut self, run: &Run) {
        for group in &self.groups {
            let Some(text) = Metadata::of(run, group).map(|metadata| metadata.text()) else { continue };
            if self.written.get(group) == Some(&text) {
                continue;
            }
            match replace(&self.folder.join(group), "metadata.json", &text) {
                Ok(()) => {
                    self.trouble = None;
                    self.written.insert(group.clone(), text);
                }
                Err(error) => self.trouble = Some(error),
            }
        }
    }
}

/// Writes a file so that a reader sees all of it, or all of the one before.
fn replace(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    access::create_dir_all(folder)?;
    let next = folder.join(format!(".{name}.{}", std::process::id()));
    access::write(&next, &*redact::known().text(text))?;
    fs::rename(&next, folder.join(name)).inspect_err(|_| drop(fs::remove_file(&next)))
}

/// Writes each group's report beside the run's other files.
pub fn write_reports(output: &Path, id: &RunId, run: &Run, records: &[Record]) -> io::Result<()> {
    let Some(execution) = &run.plan().execution else { return Ok(()) };
    for group in execution.groups() {
        if let Some(report) = Report::of(id, run, records, group) {
            let folder = output.join("groups").join(run.plan().group_id(group));
            replace(&folder, "report.md", &report.markdown())?;
            replace(&folder, "report.json", &report.json())?;
        }
    }
    Ok(())
}

/// A task that has landed in a former run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Former {
    pub run: RunId,
    /// Whether it left a change, which has landed.
    pub landed: bool,
    /// Whether it is on the run's branch only, and not in what is checked out.
    pub unmerged: Option<String>,
    pub subagent: Option<String>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
}

/// Older runs than these are not looked through.
const RUNS: usize = 100;

/// What has landed in former runs of one of these sources, as far as it fits; the newest run counts.
pub async fn landed(
    earlier: &mut EarlierRuns<'_>,
    sources: &[String],
    directory: &Path,
    fits: impl Fn(&Run, &Task) -> bool,
) -> Result<BTreeMap<String, Former>, StoreError> {
    let mut found = BTreeMap::new();
    let repository = Repository::of(directory).ok();
    let is_of_one = |run: &StoredRun| sources.iter().any(|source| run.is_of(source));
    let runs = earlier.list().await?.into_iter().filter(is_of_one);
    for stored in runs.take(RUNS) {
        let Some(run) = earlier.run(&stored.id).await else { continue };
        for (task, progress) in run.tasks().filter(|(_, progress)| progress.state == TaskState::Completed) {
            if fits(&run, task) && !found.contains_key(task.id.as_str()) {
                let commit = progress.landed.as_ref().map(|landed| landed.commit.as_str());
                let former = Former {
                    run: stored.id.clone(),
                    landed: commit.is_some(),
                    unmerged: unmerged(&stored.id, commit, repository.as_ref()),
                    subagent: task.subagent_type.clone(),
                    started: progress.first_started,
                    ended: progress.ended,
                };
                found.insert(task.id.to_string(), former);
            }
        }
    }
    Ok(found)
}

/// Where its branch is gone, the user has merged it in another way and cleared up.
fn unmerged(run: &RunId, commit: Option<&str>, repository: Option<&Repository>) -> Option<String> {
    let repository = repository?;
    if repository.contains(&repository.head, commit?).unwrap_or(true) {
        return None;
    }
    let branch = RunRefs::of(repository, run).ok()?.branch;
    repository.read_ref(&branch).ok()?.map(|_| short(&branch))
}

impl Former {
    /// Why a task that waits for it cannot start, where that is so.
    pub fn objection(&self, on: &str) -> Option<String> {
        self.unmerged.as_ref().map(|branch| {
            format!("{on} has landed on {branch}, which is not merged into what is checked out: git merge {branch}")
        })
    }
}

/// The run of this directory that carries out one of these groups, by their ids, and is not over, if there is one.
pub async fn under_way(
    earlier: &mut EarlierRuns<'_>,
    directory: &Path,
    groups: &[&str],
) -> Result<Option<(RunId, String)>, StoreError> {
    let folder = folder(directory);
    let mut runs = earlier.list().await?;
    runs.retain(|run| run.directory == directory || self::folder(&run.directory) == folder);
    for stored in runs.into_iter().take(RUNS) {
        let Some(run) = earlier.run(&stored.id).await else { continue };
        let Some(execution) = &run.plan().execution else { continue };
        let theirs: Vec<&str> =
            execution.groups().into_iter().map(|group| run.plan().group_id(group)).collect();
        let open = |group: &&str| {
            theirs.contains(group) && Metadata::of(&run, group).is_some_and(|found| !found.status.is_end())
        };
        if let Some(group) = groups.iter().find(|group| open(group)).filter(|_| !run.all_ended()) {
            return Ok(Some((stored.id, (*group).to_owned())));
        }
    }
    Ok(None)
}
