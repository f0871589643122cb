//! Whether two sets of file globs can name the same file.
//!
//! Where in doubt the answer is yes: two tasks kept apart for nothing cost a little time, two that meet cost a merge.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::plan::graph::Node;

/// The globs of one task, cut into path segments.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileSet(Vec<Vec<String>>);

impl FileSet {
    pub(crate) fn new(globs: &[String]) -> FileSet {
        let mut cut: Vec<Vec<String>> = globs.iter().map(|glob| segments(glob)).collect();
        cut.sort();
        cut.dedup();
        FileSet(cut)
    }

    pub(crate) fn meets(&self, other: &FileSet) -> bool {
        self.0.iter().any(|a| other.0.iter().any(|b| paths_meet(a, b)))
    }
}

/// Tasks that hold files, found by the plain names their globs begin with: two globs can meet only where those of one
/// begin with all of the other's.
#[derive(Debug, Default)]
pub(crate) struct Holders(BTreeMap<Vec<String>, BTreeSet<Node>>);

impl Holders {
    pub(crate) fn insert(&mut self, task: Node, files: &FileSet) {
        for glob in &files.0 {
            self.0.entry(plain(glob).to_vec()).or_default().insert(task);
        }
    }

    pub(crate) fn remove(&mut self, task: Node, files: &FileSet) {
        for glob in &files.0 {
            let start = plain(glob);
            if let Some(tasks) = self.0.get_mut(start) {
                tasks.remove(&task);
                if tasks.is_empty() {
                    self.0.remove(start);
                }
            }
        }
    }

    /// The first in the order of the plan whose files meet these.
    pub(crate) fn first_meeting<'f>(
        &self,
        files: &FileSet,
        of: impl Fn(Node) -> Option<&'f FileSet>,
    ) -> Option<Node> {
        self.meeting(files, of).next()
    }

    /// Every task whose files meet these, in the order of the plan.
    pub(crate) fn meeting<'f>(
        &self,
        files: &FileSet,
        of: impl Fn(Node) -> Option<&'f FileSet>,
    ) -> impl Iterator<Item = Node> {
        let candidates: BTreeSet<Node> = files.0.iter().flat_map(|glob| self.near(plain(glob))).collect();
        candidates.into_iter().filter(move |&task| of(task).is_some_and(|others| others.meets(files)))
    }

    /// Every task with globs at this folder, above it, or below it.
    fn near<'h>(&'h self, start: &'h [String]) -> impl Iterator<Item = Node> + 'h {
        let above = (0..start.len()).filter_map(|length| self.0.get(&start[..length]));
        let from = (std::ops::Bound::Included(start), std::ops::Bound::Unbounded);
        let below = self.0.range::<[String], _>(from).take_while(move |(other, _)| other.starts_with(start));
        above.chain(below.map(|(_, tasks)| tasks)).flatten().copied()
    }
}

/// How many neighbours are looked at before a set counts as one that may meet another.
const LOOKED_AT: usize = 32;

/// Of each of these, whether it meets none of the others for certain.
pub(crate) fn lonely(sets: &[Option<FileSet>]) -> Vec<bool> {
    let mut holders = Holders::default();
    let numbered = || (0..).zip(sets).filter_map(|(task, set)| Some((task, set.as_ref()?)));
    numbered().for_each(|(task, files)| holders.insert(task, files));
    let mut lonely = vec![false; sets.len()];
    for (task, files) in numbered() {
        let near = files.0.iter().flat_map(|glob| holders.near(plain(glob))).filter(|&other| other != task);
        let meets = |other: Node| sets[other as usize].as_ref().is_some_and(|set| set.meets(files));
        let may_meet = near.enumerate().any(|(count, other)| count == LOOKED_AT || meets(other));
        lonely[task as usize] = !may_meet;
    }
    lonely
}

/// The plain names a glob begins with.
fn plain(glob: &[String]) -> &[String] {
    let length = glob.iter().take_while(|segment| is_literal(segment)).count();
    &glob[..length]
}

/// A folder stands for everything below it, so every glob ends in `**`.
fn segments(glob: &str) -> Vec<String> {
    let mut parts: Vec<String> =
        glob.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect();
    if parts.last().is_none_or(|last| last != "**") {
        parts.push("**".to_owned());
    }
    parts
}

fn is_literal(segment: &str) -> bool {
    !segment.contains(['*', '?', '[', '{', '\\'])
}

/// Plain names at the front decide most pairs; behind them, walks both globs at once over every pair of places that
/// can be reached together.
fn paths_meet(a: &[String], b: &[String]) -> bool {
    let plain = a.iter().zip(b).take_while(|(x, y)| is_literal(x) && is_literal(y)).count();
    if a[..plain] != b[..plain] {
        return false;
    }
    let (a, b) = (&a[plain..], &b[plain..]);
    walk(a.len(), b.len(), |i, j| {
        let (x, y) = (a.get(i).map(String::as_str), b.get(j).map(String::as_str));
        let mut next = Vec::new();
        if x == Some("**") {
            next.push((i + 1, j));
            if y.is_some() {
                next.push((i, j + 1));
            }
        }
        if y == Some("**") {
            next.push((i, j + 1));
            if x.is_some() {
                next.push((i + 1, j));
            }
        }
        if let (Some(x), Some(y)) = (x, y)
            && x != "**"
            && y != "**"
            && segments_meet(x, y)
        {
            next.push((i + 1, j + 1));
        }
        next
    })
}

fn segments_meet(a: &str, b: &str) -> bool {
    if is_literal(a) && is_literal(b) {
        return a == b;
    }
    if [a, b].iter().any(|segment| segment.contains(['[', '{', '\\'])) {
        return true;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    walk(a.len(), b.len(), |i, j| {
        let (x, y) = (a.get(i).copied(), b.get(j).copied());
        let mut next = Vec::new();
        if x == Some('*') {
            next.extend([(i + 1, j), (i, j + 1)]);
        }
        if y == Some('*') {
            next.extend([(i, j + 1), (i + 1, j)]);
        }
        if let (Some(x), Some(y)) = (x, y)
            && (x == y || x == '?' || y == '?')
        {
            next.push((i + 1, j + 1));
        }
        next
    })
}

/// Whether the far corner of an `a` by `b` board can be reached with the moves given.
fn walk(a: usize, b: usize, moves: impl Fn(usize, usize) -> Vec<(usize, usize)>) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![(0, 0)];
    while let Some((i, j)) = open.pop() {
        if (i, j) == (a, b) {
            return true;
        }
        if i <= a && j <= b && seen.insert((i, j)) {
            open.extend(moves(i, j));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meet(a: &str, b: &str) -> bool {
        let set = |text: &str| FileSet::new(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let (there, back) = (set(a).meets(&set(b)), set(b).meets(&set(a)));
        assert_eq!(there, back, "{a} and {b} must agree in both directions");
        there
    }

    #[test]
    fn globs_that_can_name_one_file_meet() {
        for (a, b) in [
            ("src/api.rs", "src/api.rs"),
            ("src/**", "src/api/mod.rs"),
            ("src", "src/api/mod.rs"),
            ("./src/", "src/lib.rs"),
            ("src/*.rs", "src/api.rs"),
            ("src/*/mod.rs", "src/api/*.rs"),
            ("**/*.rs", "src/a/b/c.rs"),
            ("a*c", "*bc"),
            ("docs README.md", "README.md"),
            ("src/{a,b}.rs", "src/c.rs"),
            ("**", "anything"),
        ] {
            assert!(meet(a, b), "{a} meets {b}");
        }
    }

    #[test]
    fn globs_that_cannot_do_not() {
        for (a, b) in [
            ("src/api.rs", "src/ui.rs"),
            ("src/api/**", "src/ui/**"),
            ("src/*.rs", "src/*.ts"),
            ("a?c", "abd"),
            ("docs/**", "src/docs/x"),
        ] {
            assert!(!meet(a, b), "{a} does not meet {b}");
        }
    }
    proptest::proptest! {
        /// Looking near by finds the same task as asking all of them.
        #[test]
        fn the_first_that_meets_is_found_near_by(
            globs in proptest::collection::vec(
                proptest::collection::vec("(a|b|a/b|b/a)(/(a|b|\\*|\\*\\*|a\\*)){0,2}|\\*\\*|\\*/a", 1..3),
                1..12,
            ),
            gone in proptest::collection::vec(proptest::bool::ANY, 12),
        ) {
            let sets: Vec<FileSet> = globs.iter().map(|globs| FileSet::new(globs)).collect();
            let (asked, held) = sets.split_first().unwrap();
            let mut holders = Holders::default();
            held.iter().enumerate().for_each(|(task, files)| holders.insert(task as Node, files));
            for (task, files) in held.iter().enumerate().filter(|(task, _)| gone[*task]) {
                holders.remove(task as Node, files);
            }
            let all = held.iter().enumerate().filter(|(task, _)| !gone[*task]);
            let first = all.into_iter().find(|(_, files)| files.meets(asked)).map(|(task, _)| task as Node);
            proptest::prop_assert_eq!(holders.first_meeting(asked, |task| held.get(task as usize)), first);
        }

        #[test]
        fn a_lonely_set_meets_no_other(
            globs in proptest::collection::vec(
                proptest::option::of("(a|b|c|d)(/(a|b|c|d|\\*|a\\*)){0,2}|\\*/a"),
                1..12,
            ),
        ) {
            let sets: Vec<Option<FileSet>> =
                globs.iter().map(|glob| Some(FileSet::new(std::slice::from_ref(glob.as_ref()?)))).collect();
            let meets = |a: usize, b: usize| {
                sets[a].as_ref().zip(sets[b].as_ref()).is_some_and(|(one, other)| one.meets(other))
            };
            for (task, lonely) in lonely(&sets).into_iter().enumerate() {
                let company = (0..sets.len()).any(|other| other != task && meets(task, other));
                proptest::prop_assert_eq!(lonely, sets[task].is_some() && !company);
            }
        }
    }

    /// However many there are in one folder, few of them are looked at.
    #[test]
    fn in_a_crowd_no_set_is_lonely() {
        let set = |n: usize| Some(FileSet::new(&[format!("src/{n}_*")]));
        assert_eq!(lonely(&[set(1), set(2)]), [true, true]);
        let many: Vec<_> = (0..=LOOKED_AT + 1).map(set).collect();
        assert!(!lonely(&many).contains(&true));
    }
}
