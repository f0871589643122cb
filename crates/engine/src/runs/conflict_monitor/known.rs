//! What tasks at work had when they were looked at last, and which of them were merged as they are.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use conductor_core::values::ids::TaskId;

/// No more files than these are known of one work; one that touches as many may meet any other.
const MANY: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) works: BTreeMap<TaskId, Work>,
    /// Which task was looked at last; the next look begins behind it.
    pub(super) last: Option<TaskId>,
}

/// What a task has so far.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) base: String,
    pub(super) tree: String,
    pub(super) commit: String,
    pub(super) files: BTreeSet<String>,
    /// Commits it was merged with.
    pub(super) met: HashSet<String>,
}

impl Known {
    pub(super) fn keep_only(&mut self, workspaces: &[(TaskId, String)]) {
        self.works.retain(|task, _| workspaces.iter().any(|(at_work, _)| at_work == task));
    }

    /// All in turn, beginning behind the one that was looked at last.
    pub(super) fn in_turn(&self, mut workspaces: Vec<(TaskId, String)>) -> Vec<(TaskId, String)> {
        workspaces.sort();
        if let Some(last) = &self.last {
            let behind = workspaces.partition_point(|(task, _)| task <= last);
            workspaces.rotate_left(behind);
        }
        workspaces
    }

    pub(super) fn is_same(&self, task: &TaskId, base: &str, tree: &str) -> bool {
        self.works.get(task).is_some_and(|work| work.base == base && work.tree == tree)
    }

    pub(super) fn learn(&mut self, task: &TaskId, work: Work) {
        if let Some(before) = self.works.insert(task.clone(), work) {
            for other in self.works.values_mut() {
                other.met.remove(&before.commit);
            }
        }
    }

    /// Tasks that touch what this one touches, and that it has not met as both are now.
    pub(super) fn near(&self, task: &TaskId) -> Vec<TaskId> {
        let Some(work) = self.works.get(task) else { return Vec::new() };
        let others = self.works.iter().filter(|(other, _)| *other != task);
        let near = others.filter(|(_, other)| !work.met.contains(&other.commit) && work.touches(other));
        near.map(|(other, _)| other.clone()).collect()
    }

    pub(super) fn have_met(&mut self, one: &TaskId, other: &TaskId) {
        for (of, with) in [(one, other), (other, one)] {
            let commit = self.works.get(with).map(|work| work.commit.clone());
            if let (Some(work), Some(commit)) = (self.works.get_mut(of), commit) {
                work.met.insert(commit);
            }
        }
    }
}

impl Work {
    /// Whether merging the two could be a conflict: they touch the same file, or one has a file where the other has a
    /// folder.
    fn touches(&self, other: &Work) -> bool {
        let unknown = self.files.len() >= MANY || other.files.len() >= MANY;
        unknown
            || self.files.iter().any(|file| other.has(file))
            || other.files.iter().any(|file| self.is_below(file))
    }

    fn has(&self, file: &str) -> bool {
        self.files.contains(file) || self.is_below(file)
    }

    fn is_below(&self, folder: &str) -> bool {
        let below = format!("{folder}/");
        self.files.range(below.clone()..).next().is_some_and(|file| file.starts_with(&below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str) -> TaskId {
        TaskId::parse(name).unwrap()
    }

    fn work(commit: &str, files: &[&str]) -> Work {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        Work { base: "base".into(), tree: commit.into(), commit: commit.into(), files, met: HashSet::new() }
    }

    #[test]
    fn only_those_that_touch_the_same_are_merged_and_each_state_of_them_once() {
        let mut known = Known::default();
        for (name, files) in
            [("a", ["f", "g"]), ("b", ["g", "h"]), ("c", ["x", "y"]), ("d", ["f/below", "z"])]
        {
            known.learn(&task(name), work(name, &files));
        }
        assert_eq!(known.near(&task("a")), [task("b"), task("d")]);
        assert_eq!(known.near(&task("d")), [task("a")]);
        assert_eq!(known.near(&task("c")), []);
        known.have_met(&task("a"), &task("b"));
        assert_eq!((known.near(&task("a")), known.near(&task("b"))), (vec![task("d")], vec![]));
        known.learn(&task("b"), work("b2", &["g"]));
        assert_eq!(known.near(&task("a")), [task("b"), task("d")], "what has changed is merged again");
        known.keep_only(&[(task("a"), String::new())]);
        assert_eq!(known.near(&task("a")), []);
    }

    #[test]
    fn a_look_goes_on_where_the_last_one_had_to_end() {
        let workspaces: Vec<(TaskId, String)> =
            ["c", "a", "b"].map(|name| (task(name), String::new())).into();
        let turn = |last: Option<&str>| {
            let known = Known { last: last.map(task), ..Known::default() };
            known
                .in_turn(workspaces.clone())
                .into_iter()
                .map(|(task, _)| task.to_string())
                .collect::<String>()
        };
        assert_eq!(
            [turn(None), turn(Some("a")), turn(Some("c")), turn(Some("bb"))],
            ["abc", "bca", "abc", "cab"]
        );
    }
}
