//! Which run is meant where one is to be taken up again, and whether all of its last steps were done.

use std::path::Path;

use conductor_core::run::Run;

use super::{FindError, named};
use crate::git::workspaces::RunRefs;
use crate::git::{GitError, Repository};
use crate::host::home::Home;
use crate::records::output;
use crate::stores::StoredRun;

/// The run that is meant: by (the beginning of) its name, or the newest that is not done. That is one of these sources, or
/// of this directory where none is given.
pub fn to_resume(
    home: &Home,
    runs: &[StoredRun],
    word: Option<&str>,
    sources: &[String],
    directory: &Path,
) -> Result<StoredRun, FindError> {
    if let Some(word) = word.filter(|word| !word.is_empty()) {
        return named(home, runs, word);
    }
    let here = |run: &&StoredRun| match sources {
        [] => run.directory == directory,
        sources => sources.iter().any(|source| run.is_of(source)),
    };
    let open = |run: &&StoredRun| run.status != "completed" || was_cut_short(&home.run(&run.id));
    runs.iter().filter(here).find(open).cloned().ok_or(FindError::NothingToResume)
}

/// Whether a run whose tasks are all over was killed before its last steps were done: its workspaces cleared, its files
/// written, its branch brought home, its exit code noted, which is noted last.
pub fn was_cut_short(state: &Path) -> bool {
    state.is_dir() && !state.join(output::EXIT_CODE).exists()
}

/// The run's branch, where what is on it is not in what is checked out.
pub fn unmerged_branch(stored: &StoredRun, run: &Run) -> Option<String> {
    let look = || -> Result<Option<String>, GitError> {
        let repository = Repository::of(&stored.directory)?;
        let branch = RunRefs::of(&repository, &stored.id)?.branch;
        match repository.read_ref(&branch)? {
            Some(tip) => {
                Ok(Some(branch).filter(|_| !repository.contains(&repository.head, &tip).unwrap_or(true)))
            }
            None => Ok(None),
        }
    };
    run.tip().and_then(|_| look().ok().flatten())
}

#[cfg(test)]
mod tests {
    use conductor_core::values::ids::RunId;
    use conductor_core::values::units::Timestamp;

    use super::*;

    fn run(name: &str, directory: &str, source: &str, status: &str) -> StoredRun {
        StoredRun {
            id: RunId::parse(name).unwrap(),
            directory: directory.into(),
            source: source.into(),
            tasks: 1,
            status: status.into(),
            created: Timestamp(0),
            shared: None,
        }
    }

    #[test]
    fn the_newest_that_is_not_done_is_meant_and_one_that_was_cut_short_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        let runs = [
            run("newest", "/a", "/a/x.yaml", "completed"),
            run("middle", "/a", "/a/y.yaml", "failed"),
            run("oldest", "/b", "/b/x.yaml", "stopped"),
        ];
        let meant = |word: Option<&str>, sources: &[&str], directory: &str| {
            let sources: Vec<String> = sources.iter().map(|source| (*source).to_owned()).collect();
            let found = to_resume(&home, &runs, word, &sources, Path::new(directory));
            found.map_or_else(|error| error.to_string(), |run| run.id.to_string())
        };
        assert_eq!(meant(None, &[], "/a"), "middle", "what is completed is done");
        assert_eq!(meant(None, &["/b/x.yaml"], "/a"), "oldest", "the file says which");
        assert_eq!(meant(Some("new"), &[], "/b"), "newest", "a name says it all");
        assert_eq!(meant(None, &[], "/c"), "there is no unfinished run here to resume");
        std::fs::create_dir_all(home.run(&runs[0].id)).unwrap();
        assert_eq!(meant(None, &[], "/a"), "newest", "its last steps were not done");
        std::fs::write(home.run(&runs[0].id).join(output::EXIT_CODE), "0\n").unwrap();
        assert_eq!(meant(None, &[], "/a"), "middle");
    }
}
