//! The user's own filters in our git: `clean`, `smudge` and `process` of `filter.<name>`, as they were configured when the
//! run started.
//!
//! They run in a folder of ours, which holds copies of those of their programs that are files of the checkout. They see
//! neither the workspace nor its index: what an agent leaves there is never run, imported or read as settings. A filter
//! that cannot be run like that is *refused*: paths under it stay as they are stored, and work that changes them fails.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use super::baseline::{KEYS, path_of};
use super::{GitError, Shadow, bytes, finished, locks};

/// The filter that has a way of its own.
pub(super) const LFS: &str = "lfs";

/// How long a git of ours may take whose contents pass through programs of the user.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// In seconds, for slow filters and large trees.
const LIMIT_VARIABLE: &str = "CONDUCTOR_FILTER_TIMEOUT";

/// A filter that is not run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub filter: String,
    pub why: String,
}

/// A command as git is to run it, away from the workspace.
pub(super) fn apart(command: &[u8], programs: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    if command.iter().all(u8::is_ascii_whitespace) {
        return Vec::new();
    }
    let folder = super::lfs::quoted(programs);
    let folder = folder.as_bytes();
    let none = super::lfs::quoted(&programs.join("none"));
    [
        b"cd ".as_slice(),
        folder,
        b" && export GIT_WORK_TREE=",
        folder,
        b" GIT_INDEX_FILE=",
        none.as_bytes(),
        b" || exit 1; ",
        command,
    ]
    .concat()
}

/// The files of a checkout that a command names, by their paths below it; or why it cannot be run safely.
pub(super) fn programs(command: &[u8], root: &Path, common: &Path) -> Result<Vec<PathBuf>, String> {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"'\"`;|&()<>=$".contains(byte);
    let mut found = Vec::new();
    for word in command.split(is_end).filter(|word| !word.is_empty()) {
        let path = path_of(word);
        if path.is_absolute() && (path.starts_with(root) || path.starts_with(common)) {
            return Err(format!(
                "it runs {}, which agents can write to; name it by its path below the checkout, or keep it elsewhere",
                path.display()
            ));
        }
        // `$(git rev-parse --show-toplevel)/tools/clean` names a file of the checkout as well.
        let starts =
            std::iter::once(0).chain((0..word.len()).filter(|&at| word[at] == b'/').map(|at| at + 1));
        for start in starts {
            let path = path_of(&word[start..]);
            let plain = path
                .components()
                .all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
            if plain && !path.as_os_str().is_empty() && root.join(&path).is_file() {
                found.push(path);
            }
        }
    }
    Ok(found)
}

impl Shadow {
    /// Runs git where contents pass through filters, for a limited time.
    pub(super) fn filtered(&self, command: &mut Command) -> Result<Output, GitError> {
        if self.baseline.filters().is_empty() {
            return super::run(command, &[]);
        }
        bounded(command)
    }

    /// The same, for what must end well.
    pub(super) fn filtered_well(&self, mut command: Command) -> Result<(), GitError> {
        let output = self.filtered(&mut command)?;
        finished(&output, &command).map(drop)
    }

    /// How contents are treated, as git's configuration files have it: for a git directory of an agent's own.
    pub fn content_settings(&self) -> Vec<u8> {
        self.baseline.own_settings(self.is_of_module)
    }

    /// Attributes that go before those of a tree.
    pub fn own_attributes(&self) -> Vec<u8> {
        if self.is_of_module { Vec::new() } else { self.baseline.attributes().unwrap_or_default() }
    }

    /// Lets filters that run in a git directory find the keys they look for below it.
    pub fn give_keys(&self, git: &Path) -> std::io::Result<()> {
        let Some(keys) = self.baseline.keys().filter(|_| !self.is_of_module) else { return Ok(()) };
        match std::os::unix::fs::symlink(keys, git.join(KEYS)) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            done => done,
        }
    }

    pub(super) fn refused(&self) -> &[Refused] {
        self.baseline.refused(self.is_of_module)
    }

    /// Nothing may be changed under a filter that is not run: as it is in the folder it must not be stored.
    pub(super) fn expect_untouched(&self, tree: &Path, index: &Path) -> Result<(), GitError> {
        for Refused { filter, why } in self.refused() {
            let paths = self.changed_under(filter, tree, index)?;
            if !paths.is_empty() {
                return Err(GitError::FilterRefused {
                    filter: filter.clone(),
                    why: why.clone(),
                    paths: paths.join(", "),
                });
            }
        }
        Ok(())
    }

    /// Runs no filter: how a file would be stored is not the question.
    pub(super) fn unfiltered(&self, command: &mut Command) {
        without(command, self.baseline.filters().iter().map(String::as_str));
    }

    /// The filters in whose way an error is.
    pub fn filters_of(&self, error: &GitError) -> Vec<String> {
        match error {
            GitError::Filter { filter, .. } | GitError::FilterRefused { filter, .. } => vec![filter.clone()],
            GitError::FilterSlow { .. } => self.baseline.filters().to_vec(),
            _ => Vec::new(),
        }
    }

    /// Files under a filter that are not as the index has them.
    pub fn changed_under(&self, filter: &str, tree: &Path, index: &Path) -> Result<Vec<String>, GitError> {
        let mut command = self.in_tree(tree, index);
        self.unfiltered(&mut command);
        command.args([
            "ls-files",
            "-z",
            "--modified",
            "--others",
            "--exclude-standard",
            "--deduplicate",
            "--",
        ]);
        command.arg(format!(":(top,attr:filter={filter})"));
        let names = bytes(command)?;
        let names = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }
}

/// Runs git where contents pass through filters, for a limited time.
pub(super) fn bounded(command: &mut Command) -> Result<Output, GitError> {
    let limit = limit();
    match locks::run_within(command, locks::PATIENCE, limit)? {
        Some(output) => match failed(&output) {
            Some(error) => Err(error),
            None => Ok(output),
        },
        None => Err(GitError::FilterSlow { what: super::what(command), limit: limit.as_secs() }),
    }
}

/// Does not run these filters. Goes before the verb.
pub(super) fn without<'f>(command: &mut Command, filters: impl Iterator<Item = &'f str>) {
    for filter in filters {
        for key in ["clean=", "process=", "required=false"] {
            command.args(["-c", &format!("filter.{filter}.{key}")]);
        }
    }
}

/// Leaves paths out that are under these filters.
pub(super) fn but<'f>(command: &mut Command, filters: impl Iterator<Item = &'f str>) {
    command.args(filters.map(|filter| OsString::from(format!(":(exclude,top,attr:filter={filter})"))));
}

fn limit() -> Duration {
    let said = std::env::var(LIMIT_VARIABLE).ok().and_then(|text| text.trim().parse().ok());
    said.filter(|&seconds| seconds > 0).map_or(LIMIT, Duration::from_secs)
}

/// `fatal: <path>: clean filter '<name>' failed`, or `smudge filter <name> failed`, among what the filter itself said.
fn failed(output: &Output) -> Option<GitError> {
    if output.status.success() {
        return None;
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let (path, filter) = said.lines().find_map(|line| {
        let line =
            line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: "))?.strip_suffix(" failed")?;
        let (path, filter) =
            line.rsplit_once(": clean filter ").or_else(|| line.rsplit_once(": smudge filter "))?;
        Some((path.to_owned(), filter.trim_matches('\'').to_owned()))
    })?;
    let own = |line: &&str| {
        !["fatal: ", "add '", "error: external filter "].iter().any(|start| line.starts_with(start))
    };
    let said: Vec<&str> = said.lines().filter(own).take(3).collect();
    Some(GitError::Filter { filter, path, said: said.join("; ") })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_program_of_the_checkout_is_found_however_it_is_named_and_an_absolute_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("tools")).unwrap();
        fs::write(root.join("tools/clean.sh"), "").unwrap();
        let common = root.join(".git");
        let found = |command: &str| programs(command.as_bytes(), root, &common);
        for command in [
            "tools/clean.sh",
            "sh ./tools/clean.sh %f",
            "\"$(git rev-parse --show-toplevel)/tools/clean.sh\" -x",
        ] {
            let found = found(command).unwrap();
            assert!(
                found.iter().any(|path| root.join(path) == root.join("tools/clean.sh")),
                "{command}: {found:?}"
            );
        }
        assert_eq!(found("\"git-crypt\" clean").unwrap(), Vec::<PathBuf>::new());
        assert_eq!(found("../outside/clean").unwrap(), Vec::<PathBuf>::new());
        assert!(found(&format!("sh {}/tools/clean.sh", root.display())).is_err());
        assert!(found(&format!("sh {}/x", common.display())).is_err());
    }

    #[test]
    fn a_command_runs_apart_and_none_stays_none() {
        assert_eq!(apart(b" ", Path::new("/p")), b"");
        let text = String::from_utf8(apart(b"cat || true", Path::new("/p q"))).unwrap();
        assert_eq!(
            text,
            "cd '/p q' && export GIT_WORK_TREE='/p q' GIT_INDEX_FILE='/p q/none' || exit 1; cat || true"
        );
    }
}
