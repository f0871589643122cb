//! What others have written into the repository's objects, put on the disk before it counts as work.

use std::fs::File;
use std::io;

use super::Shadow;
use crate::git::{GitError, with_input};

impl Shadow {
    /// All of a commit's history that another commit does not have outlives a power cut from now on. Git syncs packs by
    /// itself; objects that are files of their own it does not.
    pub fn make_last(&self, base: &str, commit: &str) -> Result<(), GitError> {
        let mut command = self.command();
        command.args(["rev-list", "--objects", "--no-object-names", "--ignore-missing", "--stdin"]);
        let names = with_input(command, format!("{commit}\n^{base}\n").as_bytes())?;
        let objects = self.git.join("objects");
        for name in names.lines().filter(|name| matches!(name.len(), 40 | 64)) {
            let path = objects.join(&name[..2]).join(&name[2..]);
            match File::open(&path).and_then(|file| file.sync_all()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(GitError::File { path, source }),
                Ok(()) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::Repository;
    use crate::git::users_git::{commit_all, git, init};

    #[test]
    fn what_git_writes_for_us_is_synced_but_for_a_look() {
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().join("repo");
        fs::create_dir(&repo).unwrap();
        init(&repo);
        fs::write(repo.join("file"), "one\n").unwrap();
        commit_all(&repo, "start");
        let shadow = Shadow::open(&Repository::of(&repo).unwrap(), dir.path().join("shadow")).unwrap();
        let syncs = |shadow: &Shadow, text: &str| {
            let said = dir.path().join("said");
            let mut command = shadow.command();
            command.env("GIT_TRACE2_EVENT", &said).args(["hash-object", "-w", "--stdin"]);
            with_input(command, text.as_bytes()).unwrap();
            let told = fs::read_to_string(&said).unwrap();
            fs::remove_file(&said).unwrap();
            told.contains("hardware-flush")
        };
        assert!(syncs(&shadow, "work"));
        let looking = Shadow { lasts: false, ..shadow };
        assert!(!syncs(&looking, "a look"));
    }

    #[test]
    fn history_of_an_agent_is_found_whether_it_is_in_files_or_in_a_pack() {
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().join("repo");
        fs::create_dir(&repo).unwrap();
        init(&repo);
        fs::write(repo.join("file"), "one\n").unwrap();
        commit_all(&repo, "start");
        let repository = Repository::of(&repo).unwrap();
        let shadow = Shadow::open(&repository, dir.path().join("shadow")).unwrap();
        fs::write(repo.join("file"), "two\n").unwrap();
        commit_all(&repo, "an agent's");
        let commit = git(&repo, &["rev-parse", "HEAD"]).trim().to_owned();
        shadow.make_last(&repository.head, &commit).unwrap();
        git(&repo, &["repack", "-adq"]);
        shadow.make_last(&repository.head, &commit).unwrap();
        let unknown = commit.replace(|char: char| char.is_ascii_digit(), "a");
        assert!(shadow.make_last(&unknown, &commit).is_ok(), "a base that is gone");
    }
}
