//! Whether a directory is in a repository at all: told by its `.git`, not by what git says.
//!
//! Git answers with the same failure where there is no repository and where it refuses to read one. Only the former may
//! be worked in without worktrees, so the two have to be told apart.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::GitError;

/// What git's refusal means: no repository, or one that cannot be read, with git's own words and what helps.
pub(super) fn refused(directory: &Path, error: GitError) -> GitError {
    let entry = entry_above(directory);
    match (error, entry) {
        (GitError::Gone(path), _) => GitError::File { path, source: std::io::ErrorKind::NotFound.into() },
        (GitError::Missing(_), None) => GitError::NotOne(directory.to_owned()),
        (GitError::Failed { said, .. }, None) if said.contains("not a git repository") => {
            GitError::NotOne(directory.to_owned())
        }
        (GitError::Failed { said, .. }, entry) => {
            let remedy = remedy(&said, directory, entry.as_deref());
            GitError::Unreadable { directory: directory.to_owned(), said: first_words(&said), remedy }
        }
        (error, _) => error,
    }
}

/// The nearest `.git` here or above, of whatever kind. As git does, this stops where another file system begins.
///
/// An empty folder of that name counts only here. Agents that shield `.git` from their own commands leave such folders
/// wherever they may write, in `/tmp` for one, and no repository was ever in them.
fn entry_above(directory: &Path) -> Option<PathBuf> {
    let directory = directory.canonicalize().ok()?;
    let device = |folder: &Path| fs::metadata(folder).ok().map(|found| found.dev());
    let here = device(&directory);
    directory
        .ancestors()
        .take_while(|folder| device(folder) == here)
        .filter(|folder| *folder == directory || !is_empty_folder(&folder.join(".git")))
        .map(|folder| folder.join(".git"))
        .find(|entry| fs::symlink_metadata(entry).is_ok())
}

fn is_empty_folder(entry: &Path) -> bool {
    fs::read_dir(entry).is_ok_and(|mut within| within.next().is_none())
}

/// Git's message without the advice below it, which is ours to give.
fn first_words(said: &str) -> String {
    let first = said.lines().find(|line| line.starts_with("fatal: ")).or(said.lines().next());
    first.unwrap_or_default().trim_start_matches("fatal: ").to_owned()
}

fn remedy(said: &str, directory: &Path, entry: Option<&Path>) -> String {
    let root = entry.and_then(Path::parent).unwrap_or(directory).display();
    if said.contains("dubious ownership") {
        return format!(
            "it belongs to another user; if you trust it: git config --global --add safe.directory '{root}'"
        );
    }
    // Nothing is wrong with it, and least of all is it to be removed.
    if said.contains("must be run in a work tree") {
        return format!("you are in git's own directory; go to the checkout: cd '{root}'");
    }
    if said.contains("bad config") {
        return format!("mend that line of '{root}/.git/config', or of the configuration git names");
    }
    match entry.filter(|entry| entry.is_file()).map(|entry| (entry, pointer(entry))) {
        Some((entry, Some(target))) if !target.exists() => format!(
            "{entry} points to {target}, which is gone; if the repository was moved, run in it: \
             git worktree repair '{root}'; if this is no checkout any more, remove {entry}",
            entry = entry.display(),
            target = target.display(),
        ),
        _ => match entry {
            Some(entry) => format!(
                "{} is there, but git does not take it for a repository: mend it (HEAD, config, objects and refs \
                 have to be readable), or remove it where this is no repository",
                entry.display()
            ),
            None => "go to a checkout of the repository first".to_owned(),
        },
    }
}

/// Where a `.git` that is a file says that the repository is.
fn pointer(entry: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(entry).ok()?;
    Some(entry.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
}
