//! Commits written as git writes them where objects are files: starting git for each would take longer than all the rest of it.
//!
//! Wherever something is not as simple as that, git is asked to do it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use jiff::Zoned;
use rustix::fs::Mode;
use sha1::{Digest as _, Sha1};
use sha2::Sha256;

use super::Shadow;

impl Shadow {
    /// The commit, if it was written.
    pub(super) fn write_commit(&self, tree: &str, parents: &[&str], message: &str) -> Option<String> {
        let objects = self.git.join("objects");
        let is_simple = self.are_names(tree, parents)
            && [&self.name, &self.email].into_iter().all(|part| is_plain(part))
            && !message.contains('\0')
            && is_this_users(&objects);
        if !is_simple {
            return None;
        }
        let now = Zoned::now();
        let by = format!("{} <{}> {} {}", self.name, self.email, now.timestamp().as_second(), offset(&now));
        let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
        let text = format!("tree {tree}\n{parents}author {by}\ncommitter {by}\n\n{message}");
        let object = format!("commit {}\0{text}", text.len());
        let name = self.name_of(object.as_bytes());
        write(&objects, &name, object.as_bytes()).ok().map(|()| name)
    }

    /// Whether these are names of objects, no parent twice.
    fn are_names(&self, tree: &str, parents: &[&str]) -> bool {
        let length = if self.sha256 { 64 } else { 40 };
        let is_name = |name: &str| {
            name.len() == length
                && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        is_name(tree)
            && parents
                .iter()
                .enumerate()
                .all(|(place, name)| is_name(name) && !parents[..place].contains(name))
    }

    fn name_of(&self, object: &[u8]) -> String {
        let digest =
            if self.sha256 { Sha256::digest(object).to_vec() } else { Sha1::digest(object).to_vec() };
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Git takes away what is in the way at the ends of a name.
fn is_plain(part: &str) -> bool {
    let in_the_way = |char: char| char <= ' ' || ".,:;<>\"\\'".contains(char);
    !part.is_empty()
        && !part.contains(['<', '>', '\n', '\0'])
        && !part.starts_with(in_the_way)
        && !part.ends_with(in_the_way)
}

/// As git writes it: `+0130`.
fn offset(now: &Zoned) -> String {
    let seconds = now.offset().seconds();
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs() / 60);
    format!("{sign}{:02}{:02}", minutes / 60, minutes % 60)
}

/// A folder that is shared with others has modes of its own.
fn is_this_users(objects: &Path) -> bool {
    objects.symlink_metadata().is_ok_and(|found| {
        let mode = Mode::from_raw_mode(found.mode());
        found.is_dir() && !mode.intersects(Mode::SGID | Mode::WGRP | Mode::WOTH)
    })
}

/// On the disk when it returns.
fn write(objects: &Path, name: &str, object: &[u8]) -> io::Result<()> {
    let folder = objects.join(&name[..2]);
    let path = folder.join(&name[2..]);
    if path.exists() {
        return Ok(());
    }
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // By such a name git knows what a kill has left.
    let unfinished = folder.join(format!("tmp_obj_{:012x}", fastrand::u64(..) >> 16));
    let file = File::options().write(true).create_new(true).mode(0o444).open(&unfinished)?;
    let mut packed = ZlibEncoder::new(file, Compression::fast());
    let written = packed
        .write_all(object)
        .and_then(|()| packed.finish())
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&unfinished, &path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::users_git::{commit_all, git, init};
    use crate::git::{Repository, with_input};

    #[test]
    fn names_that_git_would_change_are_left_to_git() {
        for plain in ["Ada Lovelace", "ada@example.org", "Ü. N"] {
            assert!(is_plain(plain), "{plain}");
        }
        for other in ["", " ", "Ada <ada>", "Ada.", ",Ada", "A\nB", "\"Ada\"", "A\0"] {
            assert!(!is_plain(other), "{other:?}");
        }
    }

    #[test]
    fn a_commit_is_the_one_that_git_would_make() {
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().join("repo");
        fs::create_dir(&repo).unwrap();
        init(&repo);
        fs::write(repo.join("file"), "one\n").unwrap();
        commit_all(&repo, "start");
        let repository = Repository::of(&repo).unwrap();
        let shadow = Shadow::open(&repository, dir.path().join("shadow")).unwrap();
        let head = repository.head.clone();
        let tree = shadow.tree_of_commit(&head).unwrap();
        for (parents, message) in [
            (vec![], "without parents"),
            (vec![head.as_str()], "Ä title\n\nConductor-Task: a\n"),
            (vec![head.as_str()], ""),
        ] {
            let ours = shadow.write_commit(&tree, &parents, message).unwrap();
            let written = git(&repo, &["cat-file", "commit", &ours]);
            let dates: Vec<&str> = written
                .lines()
                .filter_map(|line| line.split_once("> ").filter(|(who, _)| !who.starts_with("parent")))
                .map(|(_, date)| date)
                .collect();
            let mut command = shadow.command();
            command.env("GIT_AUTHOR_DATE", dates[0]).env("GIT_COMMITTER_DATE", dates[1]);
            command.args(["commit-tree", &tree]);
            for parent in &parents {
                command.args(["-p", parent]);
            }
            assert_eq!(with_input(command, message.as_bytes()).unwrap(), ours, "{written}");
            assert_eq!(
                shadow.write_commit(&tree, &parents, message).map(|again| again.len()),
                Some(ours.len())
            );
        }
        assert_eq!(git(&repo, &["fsck", "--strict", "--no-dangling"]), "");
        assert!(shadow.write_commit(&tree, &[&head, &head], "a parent twice").is_none());
        assert!(shadow.write_commit("HEAD^{tree}", &[], "no name of an object").is_none());
    }

    #[test]
    fn a_folder_that_others_write_to_is_left_to_git() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        assert!(is_this_users(dir.path()));
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o2775)).unwrap();
        assert!(!is_this_users(dir.path()));
        assert!(!is_this_users(&dir.path().join("none")));
    }
}
