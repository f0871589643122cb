//! How much a tree of processes has written to the disk: what its folders have grown by.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A task is to be ended within five seconds after it wrote too much, however many files there are to look at.
const OFTEN: Duration = Duration::from_secs(1);
const SELDOM: Duration = Duration::from_secs(3);

/// What is written right behind one look is seen by the end of the next one; ending a task takes a moment, too.
const WITHIN: Duration = Duration::from_millis(4_500);

/// A look takes at most this part of the time, where that leaves a task no more than it may have: there may be very many files.
const SHARE: u32 = 5;

/// How long until the next look, after one that took so long. Where two looks take longer than a task may have, there is hardly a pause.
pub(super) fn pause(took: Duration) -> Duration {
    const LEAST: Duration = Duration::from_millis(200);
    let left = WITHIN.saturating_sub(took * 2).max(LEAST);
    (took * SHARE).clamp(OFTEN, SELDOM).min(left)
}

/// What is in some folders beyond what was there at first.
#[derive(Debug)]
pub(super) struct Grown {
    folders: Vec<PathBuf>,
    before: u64,
}

impl Grown {
    pub(super) fn since_now(folders: &[PathBuf]) -> Grown {
        Grown { folders: folders.to_vec(), before: size(folders, u64::MAX) }
    }

    /// Exact up to this many bytes; what is beyond is not looked for.
    pub(super) fn now(&self, most: u64) -> u64 {
        size(&self.folders, self.before.saturating_add(most)).saturating_sub(self.before)
    }
}

/// What all files below take of the disk: not what they say they hold, for a file may have holes; and one with several
/// names once. Links are not followed. What cannot be read is not ours. More
/// than `most` is enough to know.
fn size(folders: &[PathBuf], most: u64) -> u64 {
    const BLOCK: u64 = 512;
    let mut counted = HashSet::new();
    let mut left: Vec<PathBuf> = without_nested(folders);
    let mut size = 0;
    while let Some(folder) = left.pop().filter(|_| size <= most) {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(data) = entry.metadata() else { continue };
            if data.is_dir() {
                left.push(entry.path());
            } else if data.nlink() == 1 || counted.insert((data.dev(), data.ino())) {
                size += data.blocks() * BLOCK;
            }
        }
    }
    size
}

/// One that is in another is counted with that.
fn without_nested(folders: &[PathBuf]) -> Vec<PathBuf> {
    let is_inside =
        |folder: &Path| folders.iter().any(|other| other.as_path() != folder && folder.starts_with(other));
    let mut all: Vec<PathBuf> = folders.iter().filter(|folder| !is_inside(folder)).cloned().collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_does_not_count_and_nothing_counts_twice() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::write(file("before"), vec![1; 1 << 20]).unwrap();
        fs::create_dir(file("inner")).unwrap();
        let folders = [folder.path().to_owned(), file("inner"), folder.path().to_owned()];
        let grown = Grown::since_now(&folders);
        assert_eq!(grown.now(u64::MAX), 0);
        fs::write(file("inner/new"), vec![1; 1 << 20]).unwrap();
        fs::hard_link(file("inner/new"), file("again")).unwrap();
        std::os::unix::fs::symlink("/", file("elsewhere")).unwrap();
        let holes = fs::File::create(file("holes")).unwrap();
        holes.set_len(1 << 30).unwrap();
        assert!((1 << 20..2 << 20).contains(&grown.now(u64::MAX)), "{}", grown.now(u64::MAX));
        assert!(grown.now(1 << 10) > 1 << 10, "more than that");
        fs::remove_file(file("before")).unwrap();
        fs::remove_file(file("again")).unwrap();
        fs::remove_file(file("inner/new")).unwrap();
        assert_eq!(grown.now(u64::MAX), 0, "less than before is nothing");
    }

    #[test]
    fn a_look_is_never_due_later_than_a_task_is_to_be_ended() {
        assert_eq!(pause(Duration::ZERO), OFTEN);
        assert_eq!(pause(Duration::from_millis(700)), SELDOM);
        for took in (0..=2_150).step_by(50).map(Duration::from_millis) {
            assert!(pause(took) + took * 2 <= WITHIN, "{took:?}");
        }
        assert!(pause(Duration::from_secs(60)) > Duration::ZERO);
    }
}
