//! Git, as far as we need it: the command, made deaf to whatever the repository would have it run.
//!
//! An agent can write to the repository's own configuration and plant hooks, filters, merge drivers or a file-system
//! monitor there. So everything that looks at trees and makes commits runs in a *shadow*: a bare git directory of ours
//! that has no configuration but our own, and borrows the repository's object store. Only what must happen in the
//! repository itself (its worktree list, its refs) is done there, with hooks and helpers switched off.

mod baseline;
pub mod checkpoints;
mod command;
pub(crate) mod conflict_markers;
pub mod courier;
mod discovery;
mod error;
mod filters;
mod foreign;
mod forward;
mod glimpse;
pub mod handover;
mod history;
mod index;
mod lfs;
pub mod locate_work;
mod locks;
mod loose;
mod markers;
pub mod merge;
mod reach;
pub mod ref_store;
mod refs;
mod remotes;
mod shadow;
mod submodules;
mod uncommitted;
#[cfg(test)]
pub(crate) mod users_git;
pub mod workspaces;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

pub use baseline::{Baseline, Content, Difference};
pub use error::GitError;
pub use filters::Refused;
pub use foreign::{head_of, head_text, ref_of};
pub use forward::{Forward, Forwarded, InTheWay, UNDER_WAY};
pub use glimpse::{Glimpse, is_ours};
pub use index::Link;
pub use lfs::is_torn;
pub use reach::Reached;
pub use remotes::{Remote, remotes};
pub use shadow::{Added, MANY_FILES, Merge, Shadow};
pub use submodules::Module;
pub use uncommitted::Uncommitted;

use conductor_core::values::units::Timestamp;

use command::{bare_command, bytes, deaf, finished, is_ancestor, output, run, said, what, with_input};

/// A git repository with a checkout, as the user has it.
#[derive(Debug, Clone)]
pub struct Repository {
    /// Where the checkout begins.
    pub root: PathBuf,
    /// `.git`, shared by all its worktrees.
    pub common: PathBuf,
    /// What is checked out: a branch's full name, or nothing where HEAD is detached.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub head: String,
    /// What git's settings were when the run started, where it is one's repository.
    baseline: Option<Arc<Baseline>>,
}

impl Repository {
    /// The repository a directory is in. `NotOne` means that there is none, here or above: only there may work be done
    /// in place without the user's word. A repository that git does not read is `Unreadable`.
    pub fn of(directory: &Path) -> Result<Repository, GitError> {
        let ask = |args: &[&str]| {
            let mut command = deaf(directory);
            command.args(args);
            output(command).map_err(|error| discovery::refused(directory, error))
        };
        let found =
            ask(&["rev-parse", "--is-bare-repository", "--path-format=absolute", "--git-common-dir"])?;
        // A path may have line breaks of its own.
        let (is_bare, common) = found.split_once('\n').unwrap_or_default();
        if is_bare == "true" {
            return Err(GitError::Bare(directory.to_owned()));
        }
        let common = PathBuf::from(common);
        let root = PathBuf::from(ask(&["rev-parse", "--show-toplevel"])?);
        let branch = ask(&["symbolic-ref", "--quiet", "HEAD"]).ok();
        let mut repository = Repository { root, common, branch, head: String::new(), baseline: None };
        repository.head = match ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]) {
            Ok(head) => head,
            Err(_) => return Err(repository.headless()),
        };
        Ok(repository)
    }

    /// Why no commit is checked out: there is none yet, or it cannot be read. The latter must not be begun anew.
    fn headless(&self) -> GitError {
        let is_there = |branch: &str| {
            let packed = std::fs::read_to_string(self.common.join("packed-refs")).unwrap_or_default();
            let mut known = packed.lines().filter_map(|line| line.split_once(' '));
            self.common.join(branch).is_file() || known.any(|(_, name)| name == branch)
        };
        // What git can resolve and has no commit for is broken as well.
        let mut resolve = self.command();
        resolve.args(["rev-parse", "--verify", "--quiet", "HEAD"]);
        match &self.branch {
            Some(branch) if !is_there(branch) && output(resolve).is_err() => GitError::Unborn(self.root.clone()),
            _ => GitError::Unreadable {
                directory: self.root.clone(),
                said: "the commit that HEAD names cannot be read".to_owned(),
                remedy: "see what is missing: git fsck; then bring it back from a clone or a backup, or check out \
                         another branch"
                    .to_owned(),
            },
        }
    }

    /// What all checkouts of the repository a directory is in have in common: its `.git`.
    pub fn common_of(directory: &Path) -> Result<PathBuf, GitError> {
        let mut command = deaf(directory);
        command.args(["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        output(command).map(PathBuf::from).map_err(|error| discovery::refused(directory, error))
    }

    /// A command in the repository itself, with nothing of its own configuration that starts programs.
    fn command(&self) -> Command {
        let mut command = deaf(&self.root);
        // Said, so that no configuration says that it is elsewhere or that there is none.
        command.env("GIT_DIR", &self.common).env("GIT_WORK_TREE", &self.root);
        command
    }

    /// A command in one of its checkouts, whose own git directory git finds. All they share is said, not found.
    /// Contents pass through filters there, as they are configured now: where these are not those of the run's start,
    /// nothing is done.
    fn in_checkout(&self, checkout: &Path) -> Result<Command, GitError> {
        if let Some(baseline) = self.baseline.as_ref().filter(|_| self.settings_changed()) {
            return Err(baseline.changed());
        }
        let mut command = deaf(checkout);
        // An agent can write to the submodules' configuration as well, and git would go by it in each of them.
        command.env("GIT_COMMON_DIR", &self.common).args(["-c", "submodule.recurse=false"]);
        command.env("GIT_WORK_TREE", checkout);
        Ok(command)
    }

    /// The same repository, whose settings were these when the run started.
    pub(crate) fn with(self, baseline: Arc<Baseline>) -> Repository {
        Repository { baseline: Some(baseline), ..self }
    }

    /// Whether another program would run over contents here than when the run started, or contents would be treated in
    /// another way.
    pub fn settings_changed(&self) -> bool {
        self.baseline.as_ref().is_some_and(|baseline| baseline.is_content_changed(self))
    }

    /// Makes the first commit of a repository that has none, with nothing in it. Neither index nor files are touched.
    pub fn begin(directory: &Path) -> Result<(), GitError> {
        let ask = |args: &[&str]| {
            let mut command = deaf(directory);
            command.args(args);
            command
        };
        let tree = with_input(ask(&["mktree"]), &[])?;
        let root = PathBuf::from(output(ask(&["rev-parse", "--show-toplevel"]))?);
        let common = output(ask(&["rev-parse", "--path-format=absolute", "--git-common-dir"]))?;
        let unborn =
            Repository { root, common: common.into(), branch: None, head: String::new(), baseline: None };
        let (name, email) = unborn.identity();
        let mut commit = ask(&["commit-tree", &tree, "-m", "Start"]);
        commit.env("GIT_AUTHOR_NAME", &name).env("GIT_AUTHOR_EMAIL", &email);
        commit.env("GIT_COMMITTER_NAME", &name).env("GIT_COMMITTER_EMAIL", &email);
        let commit = output(commit)?;
        let absent = "0".repeat(commit.len());
        output(ask(&["update-ref", "-m", "conductor: first commit", "HEAD", &commit, &absent])).map(drop)
    }

    /// When a commit was made. One that does not say it counts as new: what is thrown away goes by its age.
    pub fn committed_at(&self, commit: &str) -> Result<Timestamp, GitError> {
        let mut command = self.command();
        command.args(["show", "--no-patch", "--format=%ct", "--end-of-options", commit]);
        let seconds: i64 = output(command)?.trim().parse().unwrap_or(i64::MAX);
        Ok(Timestamp(seconds.saturating_mul(1000)))
    }

    /// The commit that is checked out in a linked worktree, whose git directory this is.
    pub fn worktree_head(&self, git: &Path) -> Result<Option<String>, GitError> {
        let named = head_text(git).unwrap_or_default();
        if !self.has_ref_table() {
            return match named.strip_prefix("ref: ").map(str::to_owned) {
                None => Ok(Some(named)),
                Some(branch) => self.read_ref(&branch),
            };
        }
        let mut command = self.in_worktree(git);
        command.args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        match output(command) {
            Ok(commit) => Ok(Some(commit)),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Says to git in a linked worktree which branch is checked out there.
    pub fn put_worktree_on(&self, git: &Path, branch: &str) -> Result<(), GitError> {
        let head = git.join("HEAD");
        if !self.has_ref_table() {
            return std::fs::write(&head, format!("ref: {branch}\n"))
                .map_err(|source| GitError::File { path: head, source });
        }
        let mut command = self.in_worktree(git);
        command.args(["symbolic-ref", "HEAD", branch]);
        output(command).map(drop)
    }

    /// In such a repository the files `HEAD` and those below `refs` say nothing.
    fn has_ref_table(&self) -> bool {
        self.common.join("reftable").is_dir()
    }

    fn in_worktree(&self, git: &Path) -> Command {
        let mut command = deaf(&self.common);
        command.env("GIT_DIR", git).env("GIT_COMMON_DIR", &self.common);
        command
    }

    /// Whether objects have names of 64 digits instead of 40.
    pub fn is_sha256(&self) -> bool {
        self.head.len() == 64
    }

    /// Whether `old` is in the history of `new`.
    pub fn contains(&self, new: &str, old: &str) -> Result<bool, GitError> {
        is_ancestor(self.command(), new, old)
    }

    /// How many files a commit changed since it went its own way from another. Only names are looked at, so nothing
    /// that is configured for contents is run.
    pub fn touched_since(&self, other: &str, commit: &str) -> Result<usize, GitError> {
        let mut command = self.command();
        command.args(["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"]);
        command.arg(format!("{other}...{commit}"));
        Ok(bytes(command)?.split(|&byte| byte == 0).filter(|name| !name.is_empty()).count())
    }

    /// Registers a worktree without checking anything out. Calls must not overlap: git's own lock on the worktree list
    /// fails instead of waiting.
    pub fn add_worktree(&self, path: &Path, commit: &str) -> Result<(), GitError> {
        let mut command = self.command();
        command.args(["worktree", "add", "--quiet", "--no-checkout", "--detach", "--force", "--force", "--"]);
        command.arg(path).arg(commit);
        output(command).map(drop)
    }

    /// Forgets worktrees whose folders are gone.
    pub fn prune_worktrees(&self) -> Result<(), GitError> {
        let mut command = self.command();
        command.args(["worktree", "prune"]);
        output(command).map(drop)
    }

    /// Every checkout git knows of, the user's own first.
    pub fn worktrees(&self) -> Result<Vec<PathBuf>, GitError> {
        let text = self.worktree_list()?;
        let paths = text.split('\0').filter_map(|line| line.strip_prefix("worktree "));
        Ok(paths.map(PathBuf::from).collect())
    }

    fn worktree_list(&self) -> Result<String, GitError> {
        let mut command = self.command();
        command.args(["worktree", "list", "--porcelain", "-z"]);
        output(command)
    }

    /// Whether a checkout of this branch exists anywhere, and where.
    pub fn checkout_of(&self, branch: &str) -> Result<Option<PathBuf>, GitError> {
        let text = self.worktree_list()?;
        let wanted = format!("branch {branch}");
        let found = text.split("\0\0").find(|entry| entry.split('\0').any(|line| line == wanted));
        Ok(found
            .and_then(|entry| entry.split('\0').find_map(|line| line.strip_prefix("worktree ")))
            .map(PathBuf::from))
    }

    /// As far as files say it, without a program being started. Always where branches are kept in a table.
    pub fn may_be_checked_out(&self, branch: &str) -> bool {
        let is_on = |git: &Path| {
            head_text(git).is_some_and(|head| head.strip_prefix("ref: ").is_some_and(|name| name == branch))
        };
        let linked = std::fs::read_dir(self.common.join("worktrees")).into_iter().flatten().flatten();
        self.has_ref_table() || is_on(&self.common) || linked.into_iter().any(|entry| is_on(&entry.path()))
    }

    /// Whether a checkout has anything that is not committed. What is in its submodules is not looked at.
    pub fn is_dirty(&self, checkout: &Path) -> Result<bool, GitError> {
        let mut command = self.in_checkout(checkout)?;
        command.args(["status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty"]);
        Ok(!output(command)?.is_empty())
    }

    /// Who the user is to git, for commits made in their name.
    pub fn identity(&self) -> (String, String) {
        let ask = |key: &str| {
            let mut command = self.command();
            command.args(["config", "--get", key]);
            output(command).ok().filter(|text| !text.is_empty())
        };
        let name = ask("user.name").unwrap_or_else(|| "Conductor".to_owned());
        (name, ask("user.email").unwrap_or_else(|| "conductor@localhost".to_owned()))
    }
}

/// The files `git ls-files` gives for a checkout, by their names below it. Only the checkout itself is asked: neither a
/// repository it happens to lie in, nor another folder that its configuration names.
pub(crate) fn list_files<S: AsRef<OsStr>>(checkout: &Path, args: &[S]) -> Result<Vec<PathBuf>, GitError> {
    let mut command = deaf(checkout);
    command.env("GIT_WORK_TREE", checkout).args(["ls-files", "-z"]).args(args);
    if let Some(above) = checkout.parent() {
        command.env("GIT_CEILING_DIRECTORIES", above);
    }
    let text = bytes(command)?;
    let names = text.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

/// What `HEAD` says in a git directory, as the file would: a commit's name, or `ref: ` and a branch's. Where branches are
/// kept in a table the file does not say it, and git is asked.
pub fn head_said(git: &Path) -> Option<String> {
    const OF_REF_TABLE: &str = "ref: refs/heads/.invalid";
    let text = head_text(git)?;
    if text != OF_REF_TABLE {
        return Some(text);
    }
    let linked = std::fs::read_to_string(git.join("commondir")).ok();
    let common = linked.map_or_else(|| git.to_owned(), |common| git.join(common.trim()));
    let common = common.canonicalize().ok()?;
    let ask = |args: &[&str]| {
        let mut command = deaf(&common);
        command.env("GIT_DIR", git).env("GIT_COMMON_DIR", &common).args(args);
        output(command).ok()
    };
    let branch = ask(&["symbolic-ref", "--quiet", "HEAD"]).map(|branch| format!("ref: {branch}"));
    branch.or_else(|| ask(&["rev-parse", "--verify", "--quiet", "HEAD"]))
}
