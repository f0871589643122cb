//! Whether what landed is still what the branch says, or a later landing took it back without having changed it itself.
//!
//! A task declares what differs from where it started to its commit. A merge may change no other file; a landing that did
//! would have taken back another task's work in silence. What people add to the branch themselves is theirs to change.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use conductor_core::plan::MergeStrategy;
use conductor_core::run::Run;
use conductor_core::values::ids::TaskId;

use crate::git::{GitError, MANY_FILES, Shadow};

/// More commits of the branch are not looked through for those that landed.
const LONGEST: usize = 1 << 16;

/// One commit by which work is on the branch; of several tasks where an epic landed as one.
#[derive(Debug, Default)]
struct Landing<'r> {
    tasks: Vec<&'r TaskId>,
    commit: &'r str,
    declared: BTreeSet<String>,
    /// How many commits of the branch are this landing's.
    length: usize,
    /// How far below the branch's tip it is.
    depth: usize,
}

/// What was taken back, each in words. Files whose names are not text are not looked at.
pub(super) fn taken_back(run: &Run, shadow: &Shadow, tip: &str) -> Result<Vec<String>, GitError> {
    let mut landings = landings(run, shadow)?;
    let wanted: HashSet<&str> = landings.iter().map(|landing| landing.commit).collect();
    let depths = depths(shadow, tip, &wanted)?;
    landings.retain_mut(|landing| match depths.get(landing.commit) {
        Some(depth) => {
            landing.depth = *depth;
            true
        }
        None => false,
    });
    landings.sort_by_key(|landing| std::cmp::Reverse(landing.depth));
    undeclared(&landings, shadow, tip)
}

fn landings<'r>(run: &'r Run, shadow: &Shadow) -> Result<Vec<Landing<'r>>, GitError> {
    let mut found: Vec<Landing<'r>> = Vec::new();
    for (_, task, progress) in run.asked() {
        let Some(landed) = progress.landed.as_deref() else { continue };
        let place = found.iter().position(|landing| landing.commit == landed.commit);
        let place = place.unwrap_or_else(|| {
            found.push(Landing { commit: &landed.commit, length: 1, ..Landing::default() });
            found.len() - 1
        });
        let landing = &mut found[place];
        landing.tasks.push(&task.id);
        // A name that was not to be told is no name to look a file up by.
        let is_told = |file: &String| !file.contains('*');
        let all_told = landed.touched.files.len() < MANY_FILES && landed.touched.files.iter().all(is_told);
        match !all_told && !landed.base.is_empty() {
            true => {
                let files = shadow.differing(&landed.base, &landed.work)?;
                let names = files.keys().map(|name| String::from_utf8_lossy(name).into_owned());
                landing.declared.extend(names);
            }
            false => landing.declared.extend(landed.touched.files.iter().cloned()),
        }
        if task.merge_strategy == MergeStrategy::Rebase && !landed.base.is_empty() {
            landing.length = shadow.line(&landed.base, &landed.work)?.len().max(1);
        }
    }
    Ok(found)
}

/// How far below the tip each of these is, as far as they are on the branch's own line.
fn depths(shadow: &Shadow, tip: &str, wanted: &HashSet<&str>) -> Result<HashMap<String, usize>, GitError> {
    let mut most = wanted.len() * 2 + 64;
    loop {
        let line = shadow.first_parents(tip, most)?;
        let (whole, length) = (line.len() < most, most);
        let found: HashMap<String, usize> = line
            .into_iter()
            .enumerate()
            .filter(|(_, commit)| wanted.contains(commit.as_str()))
            .map(|(depth, commit)| (commit, depth))
            .collect();
        if found.len() == wanted.len() || whole || length >= LONGEST {
            return Ok(found);
        }
        most *= 4;
    }
}

fn undeclared(landings: &[Landing<'_>], shadow: &Shadow, tip: &str) -> Result<Vec<String>, GitError> {
    // Later ones come later and take the place of those before.
    let mut last: BTreeMap<&str, &Landing<'_>> = BTreeMap::new();
    for landing in landings {
        last.extend(landing.declared.iter().map(|path| (path.as_str(), landing)));
    }
    last.retain(|path, _| !path.contains('\n'));
    let asked: Vec<String> = last
        .iter()
        .flat_map(|(path, landing)| [landing.commit, tip].map(|commit| format!("{commit}:{path}")))
        .collect();
    let objects = shadow.objects(&asked)?;
    let differ = last.iter().zip(objects.chunks(2)).filter(|(_, pair)| pair.first() != pair.last());
    let differ: Vec<(&str, &Landing<'_>)> = differ.map(|((path, landing), _)| (*path, *landing)).collect();
    let Some(deepest) = differ.iter().map(|(_, landing)| landing.depth).max() else { return Ok(Vec::new()) };
    let changes = shadow.first_parent_changes(tip, deepest)?;
    Ok(differ.into_iter().filter_map(|(path, landing)| accused(path, landing, landings, &changes)).collect())
}

/// Which later landing changed a file that it did not declare, if one did.
fn accused(
    path: &str,
    victim: &Landing<'_>,
    landings: &[Landing<'_>],
    changes: &[(String, Vec<Vec<u8>>)],
) -> Option<String> {
    let later = landings.iter().filter(|landing| landing.depth < victim.depth);
    let culprit = later.filter(|landing| !landing.declared.contains(path)).find(|landing| {
        let own = changes.iter().skip(landing.depth).take(landing.length);
        own.flat_map(|(_, files)| files).any(|file| file == path.as_bytes())
    })?;
    let names =
        |landing: &Landing<'_>| landing.tasks.iter().map(|task| task.as_str()).collect::<Vec<_>>().join(", ");
    let (whose, by) = (names(victim), names(culprit));
    Some(format!("{whose}: {path} was taken back by {by} ({})", culprit.commit))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::git::Repository;
    use crate::git::users_git::{git, init};

    struct Lab {
        _dir: tempfile::TempDir,
        repo: PathBuf,
        shadow: Shadow,
    }

    impl Lab {
        fn new() -> Lab {
            let dir = tempfile::tempdir().unwrap();
            let repo = dir.path().join("repo");
            std::fs::create_dir(&repo).unwrap();
            init(&repo);
            git(&repo, &["commit", "-q", "--allow-empty", "-m", "start"]);
            let shadow = Shadow::open(&Repository::of(&repo).unwrap(), dir.path().join("shadow")).unwrap();
            Lab { _dir: dir, repo, shadow }
        }

        /// A commit with these files, which others are gone from.
        fn commit(&self, files: &[(&str, &str)]) -> String {
            git(&self.repo, &["rm", "-rfq", "--ignore-unmatch", "."]);
            for (name, text) in files {
                std::fs::write(self.repo.join(name), text).unwrap();
            }
            git(&self.repo, &["add", "-A"]);
            git(&self.repo, &["commit", "-q", "--allow-empty", "-m", "work"]);
            git(&self.repo, &["rev-parse", "HEAD"])
        }
    }

    fn landing<'r>(task: &'r TaskId, commit: &'r str, depth: usize, declared: &[&str]) -> Landing<'r> {
        let declared = declared.iter().map(|&name| name.to_owned()).collect();
        Landing { tasks: vec![task], commit, declared, length: 1, depth }
    }

    #[test]
    fn a_landing_that_took_back_what_it_did_not_declare_is_found_and_named() {
        let lab = Lab::new();
        let one = lab.commit(&[("one", "1")]);
        let two = lab.commit(&[("one", "1"), ("two", "2")]);
        let three = lab.commit(&[("two", "other"), ("three", "3")]);
        let ids = ["one", "two", "three"].map(|id| TaskId::parse(id).unwrap());
        let found = |declared: &[&str]| {
            let landings = [
                landing(&ids[0], &one, 2, &["one"]),
                landing(&ids[1], &two, 1, &["two"]),
                landing(&ids[2], &three, 0, declared),
            ];
            undeclared(&landings, &lab.shadow, &three).unwrap()
        };
        assert_eq!(
            found(&["three"]),
            [
                format!("one: one was taken back by three ({three})"),
                format!("two: two was taken back by three ({three})")
            ]
        );
        assert_eq!(found(&["three", "two"]), [format!("one: one was taken back by three ({three})")]);
        assert_eq!(found(&["three", "two", "one"]), Vec::<String>::new(), "it said so");
    }

    #[test]
    fn what_people_do_on_the_branch_is_theirs_to_do() {
        let lab = Lab::new();
        let one = lab.commit(&[("one", "1")]);
        let users = lab.commit(&[]);
        let two = lab.commit(&[("two", "2")]);
        let ids = ["one", "two"].map(|id| TaskId::parse(id).unwrap());
        let landings = [landing(&ids[0], &one, 2, &["one"]), landing(&ids[1], &two, 0, &["two"])];
        assert_eq!(undeclared(&landings, &lab.shadow, &two).unwrap(), Vec::<String>::new(), "{users}");
    }

    #[test]
    fn a_rebased_landing_answers_for_all_its_commits() {
        let lab = Lab::new();
        let one = lab.commit(&[("one", "1")]);
        lab.commit(&[("two", "2")]);
        let two = lab.commit(&[("two", "22")]);
        let ids = ["one", "two"].map(|id| TaskId::parse(id).unwrap());
        let rebased = Landing { length: 2, ..landing(&ids[1], &two, 0, &["two"]) };
        let landings = [landing(&ids[0], &one, 2, &["one"]), rebased];
        let lost = undeclared(&landings, &lab.shadow, &two).unwrap();
        assert_eq!(lost, [format!("one: one was taken back by two ({two})")]);
    }

    #[test]
    fn landings_are_found_however_far_below_the_tip_they_are() {
        let lab = Lab::new();
        let deep = lab.commit(&[("one", "1")]);
        for _ in 0..70 {
            git(&lab.repo, &["commit", "-q", "--allow-empty", "-m", "more"]);
        }
        let tip = git(&lab.repo, &["rev-parse", "HEAD"]);
        let known = depths(&lab.shadow, &tip, &HashSet::from([deep.as_str()])).unwrap();
        assert_eq!(known.get(&deep), Some(&70));
    }
}
