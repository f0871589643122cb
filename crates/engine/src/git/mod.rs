//! Git, as far as we need it: the command, made deaf to whatever the repository would have it run.
//!
//! An agent can write to the repository's own configuration and plant hooks, filters, merge drivers or a file-system
//! monitor there. So everything that looks at trees and makes commits runs in a *shadow*: a bare git directory of ours
//! that has no configuration but our own, and borrows the repository's object store. Only what must happen in the
//! repository itself (its worktree list, its refs) is done there, with hooks and helpers switched off.

mod error;
mod shadow;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::process::run_own;

pub use error::GitError;
pub use shadow::{Merge, Shadow};

/// Switched off wherever git runs in the user's repository.
const DEAF: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=true",
    "core.askPass=true",
    "core.sshCommand=false",
    "credential.helper=",
    "diff.external=",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
];

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
}

impl Repository {
    /// The repository a directory is in. `NotOne` is for everybody to handle: there work is done in place.
    pub fn of(directory: &Path) -> Result<Repository, GitError> {
        let ask = |args: &[&str]| {
            let mut command = deaf(directory);
            command.args(args);
            command
        };
        let found =
            output(ask(&["rev-parse", "--is-bare-repository", "--path-format=absolute", "--git-common-dir"]));
        let found = match found {
            Ok(text) => text,
            Err(GitError::Failed { .. }) => return Err(GitError::NotOne(directory.to_owned())),
            Err(error) => return Err(error),
        };
        let mut lines = found.lines();
        if lines.next() == Some("true") {
            return Err(GitError::Bare(directory.to_owned()));
        }
        let common = PathBuf::from(lines.next().unwrap_or_default());
        let root = PathBuf::from(output(ask(&["rev-parse", "--show-toplevel"]))?);
        let branch = output(ask(&["symbolic-ref", "--quiet", "HEAD"])).ok();
        let head = output(ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]))
            .map_err(|_| GitError::Unborn(root.clone()))?;
        Ok(Repository { root, common, branch, head })
    }

    /// A command in the repository itself, with nothing of its own configuration that starts programs.
    fn command(&self) -> Command {
        let mut command = deaf(&self.root);
        command.env("GIT_DIR", &self.common);
        command
    }

    pub fn objects(&self) -> PathBuf {
        self.common.join("objects")
    }

    /// What a ref points to; nothing where there is no such ref.
    pub fn read_ref(&self, name: &str) -> Result<Option<String>, GitError> {
        let mut command = self.command();
        command
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{name}^{{commit}}"));
        match output(command) {
            Ok(commit) => Ok(Some(commit)),
            Err(GitError::Failed { code: Some(1), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Moves a ref if it still is where it was; `old` empty makes it, `new` empty takes it away. Whether it was moved.
    pub fn move_ref(&self, name: &str, new: &str, old: &str) -> Result<bool, GitError> {
        let mut command = self.command();
        let zero = "0000000000000000000000000000000000000000";
        let or_zero = |commit: &str| if commit.is_empty() { zero.to_owned() } else { commit.to_owned() };
        command.args(["update-ref", "--no-deref", "--create-reflog", "-m", "conductor"]);
        command.arg(name).arg(or_zero(new)).arg(or_zero(old));
        match output(command) {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(self.read_ref(name)?.unwrap_or_default() == new),
            Err(error) => Err(error),
        }
    }

    /// Sets a ref wherever it was. For refs nobody but one attempt writes.
    pub fn set_ref(&self, name: &str, commit: &str) -> Result<(), GitError> {
        let mut command = self.command();
        command.args(["update-ref", "--no-deref", "-m", "conductor", name, commit]);
        output(command).map(drop)
    }

    pub fn delete_ref(&self, name: &str) -> Result<(), GitError> {
        let mut command = self.command();
        command.args(["update-ref", "--no-deref", "-d", name]);
        output(command).map(drop)
    }

    /// Names of refs below a prefix, with what they point to.
    pub fn refs(&self, prefix: &str) -> Result<Vec<(String, String)>, GitError> {
        let mut command = self.command();
        command.args(["for-each-ref", "--format=%(refname) %(objectname)", prefix]);
        let text = output(command)?;
        Ok(text.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.into(), b.into())).collect())
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

    /// Whether a checkout of this branch exists anywhere, and where.
    pub fn checkout_of(&self, branch: &str) -> Result<Option<PathBuf>, GitError> {
        let mut command = self.command();
        command.args(["worktree", "list", "--porcelain", "-z"]);
        let text = output(command)?;
        let wanted = format!("branch {branch}");
        let found = text.split("\0\0").find(|entry| entry.split('\0').any(|line| line == wanted));
        Ok(found
            .and_then(|entry| entry.split('\0').find_map(|line| line.strip_prefix("worktree ")))
            .map(PathBuf::from))
    }

    /// Whether a checkout has anything that is not committed.
    pub fn is_dirty(&self, checkout: &Path) -> Result<bool, GitError> {
        let mut command = deaf(checkout);
        command.args(["status", "--porcelain", "-z", "--untracked-files=no"]);
        Ok(!output(command)?.is_empty())
    }

    /// Brings a clean checkout of a branch forward to a commit that contains it.
    pub fn fast_forward(&self, checkout: &Path, commit: &str) -> Result<(), GitError> {
        let mut command = deaf(checkout);
        command.args(["merge", "--ff-only", "--quiet", commit]);
        output(command).map(drop)
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

/// Git in a directory, without prompts, locale, inherited repository or anything that runs programs.
fn deaf(directory: &Path) -> Command {
    let mut command = bare_command();
    command.current_dir(directory).env("GIT_OPTIONAL_LOCKS", "0");
    for setting in DEAF {
        command.args(["-c", setting]);
    }
    command
}

/// Git with none of the variables by which a caller could point it elsewhere.
fn bare_command() -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", "true")
        .env("GIT_PAGER", "cat")
        .env("GIT_ATTR_NOSYSTEM", "1");
    command
}

/// What a command answered, without the last line break.
fn output(command: Command) -> Result<String, GitError> {
    let text = String::from_utf8_lossy(&bytes(command)?).into_owned();
    Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
}

fn bytes(command: Command) -> Result<Vec<u8>, GitError> {
    said(command, &[])
}

fn said(mut command: Command, input: &[u8]) -> Result<Vec<u8>, GitError> {
    let output = run_own(&mut command, input).map_err(GitError::Missing)?;
    finished(&output, &command)
}

fn finished(output: &Output, command: &Command) -> Result<Vec<u8>, GitError> {
    match output.status.success() {
        true => Ok(output.stdout.clone()),
        false => Err(GitError::Failed {
            what: what(command),
            code: output.status.code(),
            said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }),
    }
}

/// The verb and what follows, without the switches before it.
fn what(command: &Command) -> String {
    let args: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    let verb = args.iter().position(|arg| !arg.starts_with('-') && !arg.contains('=')).unwrap_or(0);
    args[verb..]
        .iter()
        .take(4)
        .map(|arg| arg.chars().take(60).collect::<String>())
        .collect::<Vec<_>>()
        .join(" ")
}

fn with_input(command: Command, input: &[u8]) -> Result<String, GitError> {
    let text = said(command, input)?;
    Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
}
