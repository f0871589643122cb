//! What earlier runs teach the next, read from their logs in one go: how long tasks take, how models do, which files tasks
//! touch. Estimates, the choice of models and the overlap of tasks take it from here, and `conductor expertise evidence`
//! shows it.

use std::path::Path;

use conductor_core::forecast::Evidence;
use conductor_core::plan::Plan;
use conductor_core::plan::models;

use crate::stores::{EarlierRuns, StoreError, StoredRun};

/// More runs than these change no median that matters.
const TIMED: usize = 20;

/// Reading more tasks than these would delay the start of the run.
const TASKS: u64 = 5_000;

/// Older runs than these say little about models of today.
const TRIED: usize = 50;

/// What is needed of it. What is not needed is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    pub times: bool,
    pub models: bool,
    pub files: bool,
}

impl Wanted {
    pub const ALL: Wanted = Wanted { times: true, models: true, files: true };

    /// What a plan leaves open. Which files its tasks touch only matters where they have workspaces of their own.
    pub fn by(plan: &Plan, with_files: bool) -> Wanted {
        Wanted {
            times: plan.tasks.iter().any(|task| task.estimate.is_none()),
            models: plan.tasks.iter().any(|task| models::is_chosen(plan, task)),
            files: with_files && plan.tasks.iter().any(|task| task.files.is_empty()),
        }
    }
}

/// What the runs of a directory and of a file teach, the newest first. A run that cannot be read teaches nothing.
pub async fn gather(
    earlier: &mut EarlierRuns<'_>,
    (directory, source): (&Path, &str),
    wanted: Wanted,
) -> Result<Evidence, StoreError> {
    let mut evidence = Evidence::default();
    if wanted == Wanted::default() {
        return Ok(evidence);
    }
    let mut reading = Reading { left: wanted, timed: 0, tasks: 0, knows_file: false, tried: 0 };
    for stored in earlier.list().await? {
        if reading.left == Wanted::default() {
            break;
        }
        let now = reading.wants(&stored, directory, source);
        if now == Wanted::default() {
            continue;
        }
        let Some(records) = earlier.records(&stored.id).await else { continue };
        if now.models {
            evidence.add_models(&stored.id, &records);
        }
        if now.times || now.files {
            let Some(run) = earlier.replayed(&stored.id, &records) else { continue };
            if now.times {
                evidence.add_times(&stored.id, &run, stored.is_of(source));
                reading.tasks += stored.tasks;
                reading.knows_file |= stored.is_of(source);
            }
            if now.files {
                evidence.add_touched(&stored.id, &run);
                reading.left.files = false;
            }
        }
    }
    Ok(evidence)
}

/// How far the reading is.
struct Reading {
    left: Wanted,
    timed: usize,
    tasks: u64,
    /// Whether a run of the very file was read: its last one is, however large it is.
    knows_file: bool,
    tried: usize,
}

impl Reading {
    /// What this run is read for.
    fn wants(&mut self, run: &StoredRun, directory: &Path, source: &str) -> Wanted {
        let (is_here, same_file) = (run.directory == directory, run.is_of(source));
        let mut now = Wanted { files: self.left.files && same_file && is_telling(run), ..Wanted::default() };
        if self.left.models && is_here {
            now.models = true;
            self.tried += 1;
            self.left.models = self.tried < TRIED;
        }
        if self.left.times && (is_here || same_file) && is_telling(run) {
            self.timed += 1;
            self.left.times = self.timed < TIMED;
            let is_too_much = self.tasks + run.tasks > TASKS;
            now.times = !is_too_much || (same_file && !self.knows_file);
        }
        now
    }
}

fn is_telling(run: &StoredRun) -> bool {
    run.is_over() || run.status == "stopped"
}

/// Notes in a plan what is known of the time and the files of its tasks, as far as that is wanted.
pub async fn teach(
    earlier: &mut EarlierRuns<'_>,
    place: (&Path, &str),
    plan: &mut Plan,
    wanted: Wanted,
) -> Result<Evidence, StoreError> {
    let evidence = gather(earlier, place, wanted).await?;
    evidence.teach_times(plan);
    evidence.teach_files(plan);
    Ok(evidence)
}

#[cfg(test)]
mod tests {
    use conductor_core::values::ids::RunId;
    use conductor_core::values::units::Timestamp;

    use super::*;

    fn run(directory: &str, source: &str, tasks: u64, status: &str) -> StoredRun {
        StoredRun {
            id: RunId::parse("r").unwrap(),
            directory: directory.into(),
            source: source.into(),
            tasks,
            status: status.into(),
            created: Timestamp(0),
            shared: None,
        }
    }

    fn reading(left: Wanted) -> Reading {
        Reading { left, timed: 0, tasks: 0, knows_file: false, tried: 0 }
    }

    /// What a run is read for, as letters.
    fn wants(reading: &mut Reading, run: &StoredRun) -> String {
        let Wanted { times, models, files } = reading.wants(run, Path::new("/here"), "/here/tasks.yaml");
        let letters = [(times, 't'), (models, 'm'), (files, 'f')];
        letters.into_iter().filter_map(|(wanted, letter)| wanted.then_some(letter)).collect()
    }

    #[test]
    fn a_run_is_read_for_what_it_can_tell() {
        let mut all = reading(Wanted::ALL);
        let mut check = |run: StoredRun, letters: &str| assert_eq!(wants(&mut all, &run), letters, "{run:?}");
        check(run("/here", "/here/tasks.yaml", 3, "completed"), "tmf");
        check(run("/here", "/here/other.yaml", 3, "stopped"), "tm");
        check(run("/there", "/here/tasks.yaml", 3, "failed"), "tf");
        check(run("/there", "/there/tasks.yaml", 3, "completed"), "");
        check(run("/here", "/here/tasks.yaml", 3, "running"), "m");
    }

    #[test]
    fn no_more_is_read_than_helps() {
        let mut all = reading(Wanted::ALL);
        let run = |tasks| run("/here", "/here/other.yaml", tasks, "completed");
        let times = (0..TRIED + 5).filter(|_| wants(&mut all, &run(1)).contains('t')).count();
        assert_eq!((times, all.left.times, all.left.models, all.left.files), (TIMED, false, false, true));
        let mut large = reading(Wanted::ALL);
        assert_eq!(wants(&mut large, &run(TASKS + 1)), "m", "too large, and of another file");
        let own = StoredRun { source: "/here/tasks.yaml".into(), ..run(TASKS + 1) };
        assert_eq!(wants(&mut large, &own), "tmf", "the file's own last run is read, however large it is");
    }
}
