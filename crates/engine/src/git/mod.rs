//! Git, as far as we need it: the command, made deaf to whatever the repository would have it run.
//!
//! An agent can write to the repository's own configuration and plant hooks, filters, merge drivers or a file-system
//! monitor there. So everything that looks at trees and makes commits runs in a *shadow*: a bare git directory of ours
//! that has no configuration but our own, and borrows the repository's object store. Only what must happen in the
//! repository itself (its worktree list, its refs) is done there, with hooks and helpers switched off.

mod baseline;
pub mod checkpoints;
pub(crate) mod conflict_markers;
mod discovery;
mod error;
mod filters;
mod foreign;
mod forward;
mod glimpse;
mod history;
mod index;
mod lfs;
pub mod locate_work;
mod locks;
mod loose;
mod markers;
pub mod merge;
mod shadow;
mod submodules;
mod uncommitted;
pub mod workspaces;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub use baseline::{Baseline, Content, Difference};
pub use error::GitError;
pub use filters::Refused;
pub use foreign::{head_of, head_text, ref_of};
pub use forward::{Forward, Forwarded};
pub use glimpse::{Glimpse, is_ours};
pub use index::Link;
pub use lfs::is_torn;
pub use shadow::{Added, MANY_FILES, Merge, Shadow};
pub use submodules::Module;
pub use uncommitted::Uncommitted;

use conductor_core::values::units::Timestamp;

use crate::host::redact;

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
        let mut lines = found.lines();
        if lines.next() == Some("true") {
            return Err(GitError::Bare(directory.to_owned()));
        }
        let common = PathBuf::from(lines.next().unwrap_or_default());
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

    /// What a ref points to; nothing where there is no such ref. Most are a small file, which needs no git to be read.
    pub fn read_ref(&self, name: &str) -> Result<Option<String>, GitError> {
        let file = std::fs::read_to_string(self.common.join(name)).unwrap_or_default();
        if name.starts_with("refs/") && matches!(file.trim_end().len(), 40 | 64) && !file.starts_with("ref:")
        {
            return Ok(Some(file.trim_end().to_owned()));
        }
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
        let zero = "0".repeat(new.len().max(old.len()));
        let or_zero = |commit: &str| if commit.is_empty() { zero.clone() } else { commit.to_owned() };
        command.args(["update-ref", "--no-deref", "--create-reflog", "-m", "conductor"]);
        command.arg(name).arg(or_zero(new)).arg(or_zero(old));
        match output(command) {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(self.read_ref(name)?.unwrap_or_default() == new),
            Err(error) => Err(error),
        }
    }

    /// Sets a ref wherever it was. For refs that only one attempt writes.
    pub fn set_ref(&self, name: &str, commit: &str) -> Result<(), GitError> {
        if self.write_loose(name, commit) {
            return Ok(());
        }
        let mut command = self.command();
        command.args(["update-ref", "--no-deref", "-m", "conductor", name, commit]);
        output(command).map(drop)
    }

    /// Sets many refs at once, wherever they were; those without a commit are taken away. All of it happens or none.
    pub fn set_refs(&self, refs: &[(String, Option<String>)]) -> Result<(), GitError> {
        if refs.is_empty() {
            return Ok(());
        }
        let line = |(name, commit): &(String, Option<String>)| match commit {
            Some(commit) => format!("update {name} {commit}\n"),
            None => format!("delete {name}\n"),
        };
        let lines: String = refs.iter().map(line).collect();
        let mut command = self.command();
        command.args(["update-ref", "--no-deref", "-m", "conductor", "--stdin"]);
        with_input(command, lines.as_bytes()).map(drop)
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

    /// Every ref in whose history a commit is.
    pub fn holders(&self, commit: &str) -> Result<Vec<String>, GitError> {
        let mut command = self.command();
        command.args(["for-each-ref", "--format=%(refname)", "--contains", commit]);
        Ok(output(command)?.lines().map(str::to_owned).collect())
    }

    /// When a commit was made. One that does not say it counts as new: what is thrown away goes by its age.
    pub fn committed_at(&self, commit: &str) -> Result<Timestamp, GitError> {
        let mut command = self.command();
        command.args(["show", "--no-patch", "--format=%ct", "--end-of-options", commit]);
        let seconds: i64 = output(command)?.trim().parse().unwrap_or(i64::MAX);
        Ok(Timestamp(seconds.saturating_mul(1000)))
    }

    /// Names of all refs that are one of these or below one.
    pub fn named(&self, names: &[String]) -> Result<Vec<String>, GitError> {
        let mut command = self.command();
        command.args(["for-each-ref", "--format=%(refname)"]).args(names);
        Ok(output(command)?.lines().map(str::to_owned).collect())
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

    /// Refs below a prefix, with their commits' first lines.
    pub fn subjects(&self, prefix: &str) -> Result<Vec<(String, String, String)>, GitError> {
        let mut command = self.command();
        command.args(["for-each-ref", "--format=%(refname) %(objectname) %(contents:subject)", prefix]);
        let entry = |line: &str| {
            let mut parts = line.splitn(3, ' ').map(str::to_owned);
            Some((parts.next()?, parts.next()?, parts.next()?))
        };
        Ok(output(command)?.lines().filter_map(entry).collect())
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

    /// Whether a checkout has anything that is not committed. What is in its submodules is not looked at.
    pub fn is_dirty(&self, checkout: &Path) -> Result<bool, GitError> {
        let mut command = self.in_checkout(checkout)?;
        command.args(["status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty"]);
        Ok(!output(command)?.is_empty())
    }

    /// Makes an annotated tag.
    pub fn tag(&self, name: &str, commit: &str, message: &str) -> Result<(), GitError> {
        let (user, email) = self.identity();
        let mut command = self.command();
        command.env("GIT_COMMITTER_NAME", user).env("GIT_COMMITTER_EMAIL", email);
        command.args(["tag", "--annotate", "--no-sign", "--cleanup=verbatim", "-F", "-", "--", name, commit]);
        with_input(command, message.as_bytes()).map(drop)
    }

    /// Annotated tags below a prefix: name, commit, when made, message.
    pub fn tags(&self, prefix: &str) -> Result<Vec<(String, String, i64, String)>, GitError> {
        let mut command = self.command();
        let format = "--format=%(refname)%00%(*objectname)%00%(taggerdate:unix)%00%(contents)%01";
        command.args(["for-each-ref", format, prefix]);
        let text = output(command)?;
        let entry = |entry: &str| {
            let mut parts = entry.trim_start_matches('\n').splitn(4, '\0').map(str::to_owned);
            Some((parts.next()?, parts.next()?, parts.next()?.parse().ok()?, parts.next()?))
        };
        Ok(text.split('\u{1}').filter_map(entry).collect())
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
        .env("GIT_ATTR_NOSYSTEM", "1")
        // Nothing is fetched, whatever a configuration allows or promises.
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_NO_LAZY_FETCH", "1");
    command
}

/// What a command answered, without the last line break.
fn is_ancestor(mut command: Command, new: &str, old: &str) -> Result<bool, GitError> {
    command.args(["merge-base", "--is-ancestor", old, new]);
    match output(command) {
        Ok(_) => Ok(true),
        Err(GitError::Failed { code: Some(1), .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn output(command: Command) -> Result<String, GitError> {
    let text = String::from_utf8_lossy(&bytes(command)?).into_owned();
    Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
}

fn bytes(command: Command) -> Result<Vec<u8>, GitError> {
    said(command, &[])
}

fn said(mut command: Command, input: &[u8]) -> Result<Vec<u8>, GitError> {
    let output = run(&mut command, input)?;
    finished(&output, &command)
}

/// What is told of a call of git: its words, how long it took, and whether it succeeded.
pub type CallObserver = fn(&str, Duration, bool);

static OBSERVER: OnceLock<CallObserver> = OnceLock::new();

/// From now on every call of git is told, once it has ended.
pub fn observe_calls(observer: CallObserver) {
    let _ = OBSERVER.set(observer);
}

/// Every call of git passes here: what a killed one left locked is freed, what a living one holds is waited for.
fn run(command: &mut Command, input: &[u8]) -> Result<Output, GitError> {
    let Some(observer) = OBSERVER.get() else { return locks::run(command, input, locks::PATIENCE) };
    let started = Instant::now();
    let output = locks::run(command, input, locks::PATIENCE);
    let succeeded = output.as_ref().is_ok_and(|output| output.status.success());
    observer(&what(command), started.elapsed(), succeeded);
    output
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
    args[verb..].iter().take(4).map(|arg| redact::known().cut(arg, 60)).collect::<Vec<_>>().join(" ")
}

fn with_input(command: Command, input: &[u8]) -> Result<String, GitError> {
    let text = said(command, input)?;
    Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
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
