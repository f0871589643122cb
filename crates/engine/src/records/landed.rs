//! What runs say of the tasks of their files; and `landed.jsonl` in the state directory, which keeps it of runs that are
//! removed, so that nothing is done and paid for twice.
//!
//! One JSON object a line. A line that cannot be read, such as the last one after a power cut, is passed over.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use conductor_core::plan::Fingerprint;
use conductor_core::run::{Run, TaskState};
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::units::Timestamp;
use serde::{Deserialize, Serialize};

use crate::git::Repository;
use crate::host::access;
use crate::host::home::Home;
use crate::stores::{StoredRun, is_same_source};

pub const FILE: &str = "landed.jsonl";

/// So many are kept of a task of a file, the newest ones: its text changes, and so do the branches that hold its work.
const OF_A_TASK: usize = 4;

/// What one run says of one of its tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    pub task: TaskId,
    pub fingerprint: Fingerprint,
    pub run: RunId,
    /// When it ended there, or else began.
    pub at: Timestamp,
    /// Otherwise the run has begun it and not completed it, or not after it was reopened.
    pub completed: bool,
    /// What holds its work; nothing where it works in place or had nothing to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// Of every task that the run has begun.
pub fn facts<'r>(id: &'r RunId, run: &'r Run) -> impl Iterator<Item = Fact> + 'r {
    run.asked().filter_map(move |(place, task, progress)| {
        let completed = progress.state == TaskState::Completed;
        let commit = progress.landed.as_ref().filter(|_| completed).map(|landed| landed.commit.clone());
        let at = progress.ended.or(progress.first_started).unwrap_or_else(|| run.created());
        (completed || has_begun(run, place)).then(|| Fact {
            task: task.id.clone(),
            fingerprint: task.fingerprint(),
            run: id.clone(),
            at,
            completed,
            commit,
        })
    })
}

/// It itself, or one of those who race for it.
fn has_begun(run: &Run, place: usize) -> bool {
    let begun = |place: &usize| run.progress(*place).last_attempt > 0;
    begun(&place) || run.entrants(place).iter().any(begun)
}

/// What is known of a repository's runs: the git directory that its checkouts share, or else the directory itself.
pub fn repository_of(directory: &Path) -> String {
    let common = Repository::common_of(directory);
    common.unwrap_or_else(|_| directory.to_owned()).display().to_string()
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    repository: String,
    file: String,
    #[serde(flatten)]
    fact: Fact,
}

/// When it returns, what the run says of its tasks is on the disk.
pub fn keep(home: &Home, stored: &StoredRun, run: &Run) -> io::Result<()> {
    let (repository, file) = (repository_of(&stored.directory), stored.source.clone());
    let line = |fact| Line { repository: repository.clone(), file: file.clone(), fact };
    add(home, facts(&stored.id, run).map(line).collect())
}

fn add(home: &Home, new: Vec<Line>) -> io::Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let _alone = home.alone()?;
    let text = read(home)?;
    let (mut lines, others) = parsed(&text);
    let all = lines.len() + new.len();
    let ends_well = text.is_empty() || text.ends_with('\n');
    lines.extend(new.iter().cloned());
    let lines = newest(lines);
    match ends_well && lines.len() == all {
        true => append(home, &written(&new)?),
        false => replace(home, &(others + &written(&lines)?)),
    }
}

/// What runs that are gone said of the tasks of this file, in this repository or directory.
pub fn kept(home: &Home, directory: &Path, source: &str) -> io::Result<Vec<Fact>> {
    let text = read(home)?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let places = [repository_of(directory), directory.display().to_string()];
    let mut known: HashMap<String, bool> = HashMap::new();
    let mut is_ours = |line: &Line| {
        places.contains(&line.repository)
            && match known.get(&line.file) {
                Some(same) => *same,
                None => *known.entry(line.file.clone()).or_insert(is_same_source(&line.file, source)),
            }
    };
    Ok(parsed(&text).0.into_iter().filter(|line| is_ours(line)).map(|line| line.fact).collect())
}

fn read(home: &Home) -> io::Result<String> {
    match fs::read(home.root().join(FILE)) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

/// The lines, and those that another version may have written. What a power cut has left of the last one is gone.
fn parsed(text: &str) -> (Vec<Line>, String) {
    let (mut lines, mut others) = (Vec::new(), String::new());
    for line in text.split_inclusive('\n') {
        match serde_json::from_str(line) {
            Ok(line) => lines.push(line),
            Err(_) if line.ends_with('\n') => others.push_str(line),
            Err(_) => {}
        }
    }
    (lines, others)
}

/// Without those that a newer one replaces: one that says the same, or enough others of the same task.
fn newest(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_by_key(|line| line.fact.at);
    let mut said = HashSet::new();
    let mut counts: HashMap<(String, String, TaskId), usize> = HashMap::new();
    let mut kept: Vec<Line> = Vec::new();
    for line in lines.into_iter().rev() {
        let Fact { task, fingerprint, completed, commit, .. } = line.fact.clone();
        let of = (line.repository.clone(), line.file.clone(), task);
        let count = counts.entry(of.clone()).or_default();
        if *count < OF_A_TASK && said.insert((of, fingerprint, completed, commit)) {
            *count += 1;
            kept.push(line);
        }
    }
    kept.reverse();
    kept
}

fn written(lines: &[Line]) -> io::Result<String> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    Ok(text)
}

fn append(home: &Home, text: &str) -> io::Result<()> {
    let mut file = access::private().create(true).append(true).open(home.root().join(FILE))?;
    file.write_all(text.as_bytes())?;
    file.sync_data()
}

/// All at once: a reader sees the old file or the new one.
fn replace(home: &Home, text: &str) -> io::Result<()> {
    let fresh = home.root().join(format!(".{FILE}.new"));
    let mut file = access::private().create(true).truncate(true).write(true).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()?;
    fs::rename(&fresh, home.root().join(FILE))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use conductor_core::plan::{Command, Task, Work};
    use proptest::prelude::*;

    use super::*;

    fn line(task: &str, text: &str, at: i64, commit: Option<&str>) -> Line {
        let task = TaskId::parse(task).unwrap();
        let fingerprint = Task::new(task.clone(), Work::Run(Command::Line(text.to_owned()))).fingerprint();
        let (run, commit) = (RunId::parse("r1").unwrap(), commit.map(str::to_owned));
        let fact = Fact { task, fingerprint, run, at: Timestamp(at), completed: true, commit };
        Line { repository: "/repo/.git".to_owned(), file: "/repo/tasks.yaml".to_owned(), fact }
    }

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("state")).unwrap();
        (dir, home)
    }

    fn facts(home: &Home) -> Vec<i64> {
        let (lines, _) = parsed(&read(home).unwrap());
        lines.iter().map(|line| line.fact.at.0).collect()
    }

    #[test]
    fn what_is_added_is_read_again_by_its_user_alone() {
        let (_dir, home) = home();
        add(&home, vec![line("a", "one", 1, Some("c1")), line("b", "one", 2, None)]).unwrap();
        add(&home, vec![line("a", "two", 3, Some("c2"))]).unwrap();
        assert_eq!(facts(&home), [1, 2, 3]);
        let mode = fs::metadata(home.root().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let of = |directory: &str, file: &str| kept(&home, Path::new(directory), file).unwrap().len();
        assert_eq!(of("/repo/.git", "/repo/tasks.yaml"), 3);
        assert_eq!(of("/repo/.git", "/repo/./tasks.yaml"), 3, "by whatever name");
        assert_eq!((of("/repo/.git", "/repo/other.yaml"), of("/other", "/repo/tasks.yaml")), (0, 0));
    }

    #[test]
    fn a_line_that_was_cut_is_passed_over_and_ends_with_the_next_addition() {
        let (_dir, home) = home();
        add(&home, vec![line("a", "one", 1, None), line("b", "one", 2, None)]).unwrap();
        let whole = read(&home).unwrap();
        for cut in [1, 20, 60] {
            fs::write(home.root().join(FILE), &whole[..whole.len() - cut]).unwrap();
            assert_eq!(facts(&home), if cut == 1 { vec![1, 2] } else { vec![1] });
            add(&home, vec![line("c", "one", 3, None)]).unwrap();
            assert_eq!(facts(&home).last(), Some(&3));
            assert_eq!(parsed(&read(&home).unwrap()).1, "");
        }
    }

    #[test]
    fn what_another_version_wrote_stays() {
        let (_dir, home) = home();
        let path = home.root().join(FILE);
        fs::write(&path, "{\"from\":\"tomorrow\"}\n").unwrap();
        add(&home, vec![line("a", "one", 1, None)]).unwrap();
        add(&home, vec![line("a", "one", 2, None)]).unwrap();
        assert_eq!(facts(&home), [2], "the same again, later");
        assert!(read(&home).unwrap().starts_with("{\"from\":\"tomorrow\"}\n"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Nothing is lost that nothing newer replaces, and the file stays small however often a task is done.
        #[test]
        fn a_few_of_the_newest_are_kept(done in prop::collection::vec((0..3u8, 0..3u8), 1..40)) {
            let (_dir, home) = home();
            for (at, (task, text)) in done.iter().enumerate() {
                add(&home, vec![line(&format!("t{task}"), &format!("x{text}"), at as i64, None)]).unwrap();
            }
            let mut last = HashMap::new();
            for (at, key) in done.iter().enumerate() {
                last.insert(key, at as i64);
            }
            let mut expected: Vec<i64> = last.into_values().collect();
            expected.sort_unstable();
            prop_assert_eq!(facts(&home), expected, "each text of each task once");
        }

        #[test]
        fn of_many_texts_the_newest_stay(many in 1..20i64) {
            let (_dir, home) = home();
            for at in 0..many {
                add(&home, vec![line("a", &at.to_string(), at, None)]).unwrap();
            }
            prop_assert_eq!(facts(&home), ((many - OF_A_TASK as i64).max(0)..many).collect::<Vec<_>>());
        }
    }
}
