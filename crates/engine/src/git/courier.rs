//! Git between this machine and a remote: the only place that pushes and fetches, and only for what the user has allowed.
//!
//! It works in a bare git directory of its own that borrows the objects of a workspace and has no configuration but the
//! user's global one: a repository's own configuration, which agents can write to, names neither the program that
//! connects nor the one that knows the password.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::GitError;
use super::command::{bare_command, deaf, is_ancestor, output, with_input};
use crate::host::access;

/// How long a connection may do nothing before git gives it up.
const SLOWEST: Duration = Duration::from_secs(60);

/// Which protocols a remote may be reached by.
const PROTOCOLS: &str = "file:git:http:https:ssh";

/// A branch of the remote and the commit it is at.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tip {
    pub branch: String,
    pub commit: String,
}

pub struct Courier {
    git: PathBuf,
    workspace: PathBuf,
    url: String,
}

impl Courier {
    /// Between a workspace and the remote of this name, by way of a folder of our own.
    pub fn open(folder: &Path, workspace: &Path, remote: &str) -> Result<Courier, GitError> {
        let ask = |args: &[&str]| {
            let mut command = deaf(workspace);
            command.args(args);
            output(command)
        };
        let url = ask(&["remote", "get-url", "--", remote])?;
        let common = ask(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        // A path is one from the user's own checkout, and the workspace is elsewhere.
        let root = Path::new(&common).parent().unwrap_or(workspace);
        let url = match is_relative(&url) {
            true => root.join(&url).display().to_string(),
            false => url,
        };
        let objects = ask(&["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
        let git = folder.join("git");
        let courier = Courier { git, workspace: workspace.to_owned(), url };
        courier.make(&objects)?;
        Ok(courier)
    }

    fn make(&self, objects: &str) -> Result<(), GitError> {
        let file = |source| GitError::File { path: self.git.clone(), source };
        access::create_private_dir_all(&self.git).map_err(file)?;
        if !self.git.join("HEAD").is_file() {
            let mut init = bare_command();
            init.args(["init", "--quiet", "--bare", "--template="]).arg(&self.git);
            output(init)?;
        }
        let known = self.git.join("objects/info/alternates");
        access::create_private_dir_all(&self.git.join("objects/info")).map_err(file)?;
        access::replace(&known, format!("{objects}\n")).map_err(file)
    }

    /// Where the remote is, without a password.
    pub fn shown_url(&self) -> String {
        shown_url(&self.url)
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// `owner/name`, where the remote's address ends with that.
    pub fn repository(&self) -> Option<String> {
        repository_of(&self.url)
    }

    /// The commit that is checked out in the workspace.
    pub fn head(&self) -> Result<String, GitError> {
        let mut command = deaf(&self.workspace);
        command.args(["rev-parse", "--verify", "HEAD^{commit}"]);
        output(command)
    }

    /// The commit that a branch of the user's repository is at.
    pub fn commit_of(&self, branch: &str) -> Result<String, GitError> {
        let mut command = deaf(&self.workspace);
        command.args(["rev-parse", "--verify", &format!("refs/heads/{branch}^{{commit}}")]);
        output(command)
    }

    fn command(&self) -> Command {
        own(&self.git)
    }

    fn connected(&self) -> Command {
        connected(&self.git)
    }

    /// A commit with the same files as another and a message of its own.
    pub fn mark(&self, commit: &str, message: &str) -> Result<String, GitError> {
        let mut command = self.command();
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Conductor")
                .env(format!("GIT_{who}_EMAIL"), "conductor@localhost");
        }
        command.args(["commit-tree", &format!("{commit}^{{tree}}"), "-p", commit]);
        with_input(command, message.as_bytes())
    }

    /// How many commits up to this one the remote does not have yet, as far as its branches tell.
    pub fn unpublished(&self, commit: &str, tips: &[Tip]) -> Result<u64, GitError> {
        let mut command = self.command();
        command.args(["rev-list", "--count", "--ignore-missing", "--stdin"]);
        let known: String = tips.iter().map(|tip| format!("^{}\n", tip.commit)).collect();
        with_input(command, format!("{commit}\n{known}").as_bytes())
            .map(|count| count.trim().parse().unwrap_or_default())
    }

    /// Puts a commit on a branch of the remote that is not there yet. One that is there with this commit is left alone.
    pub fn push_new(&self, commit: &str, branch: &str) -> Result<(), GitError> {
        let name = format!("refs/heads/{branch}");
        let mut command = self.connected();
        command.args([
            "push",
            "--quiet",
            "--no-verify",
            &format!("--force-with-lease={name}:"),
            "--",
            &self.url,
        ]);
        command.arg(format!("{commit}:{name}"));
        match output(command) {
            Err(error) => match self.tip_of(branch) {
                Ok(Some(there)) if there == commit => Ok(()),
                _ => Err(error),
            },
            Ok(_) => Ok(()),
        }
    }

    /// Moves a branch of ours on the remote, which is where we left it or not there.
    pub fn push(&self, commit: &str, branch: &str, before: Option<&str>) -> Result<(), GitError> {
        let name = format!("refs/heads/{branch}");
        let mut command = self.connected();
        let lease = format!("--force-with-lease={name}:{}", before.unwrap_or_default());
        command.args([
            "push",
            "--quiet",
            "--no-verify",
            &lease,
            "--",
            &self.url,
            &format!("{commit}:{name}"),
        ]);
        output(command).map(drop)
    }

    /// Takes a branch off the remote, if it is still at this commit. One that is gone is gone.
    pub fn remove(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        if self.tip_of(branch)?.is_none() {
            return Ok(());
        }
        let name = format!("refs/heads/{branch}");
        let mut command = self.connected();
        let lease = format!("--force-with-lease={name}:{commit}");
        command.args(["push", "--quiet", "--no-verify", &lease, "--", &self.url, &format!(":{name}")]);
        output(command).map(drop)
    }

    pub fn tip_of(&self, branch: &str) -> Result<Option<String>, GitError> {
        let found = self.ls(&[&format!("refs/heads/{branch}")])?;
        Ok(found.into_iter().find(|tip| tip.branch == branch).map(|tip| tip.commit))
    }

    /// All branches of the remote.
    pub fn tips(&self) -> Result<Vec<Tip>, GitError> {
        self.ls(&["refs/heads/*"])
    }

    fn ls(&self, patterns: &[&str]) -> Result<Vec<Tip>, GitError> {
        let mut command = self.connected();
        command.args(["ls-remote", "--quiet", "--", &self.url]).args(patterns);
        let told = output(command)?;
        let tip = |line: &str| {
            let (commit, name) = line.split_once('\t')?;
            let branch = name.strip_prefix("refs/heads/")?.to_owned();
            Some(Tip { branch, commit: commit.to_owned() })
        };
        Ok(told.lines().filter_map(tip).collect())
    }

    /// Whether a branch of the remote holds a commit, other than being at it. What it has is fetched for that.
    pub fn descends(&self, tip: &Tip, from: &str) -> Result<bool, GitError> {
        if tip.commit == from {
            return Ok(false);
        }
        if !self.has(&tip.commit) {
            let mut command = self.connected();
            command.args([
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-recurse-submodules",
            ]);
            command.args(["--", &self.url, &format!("+refs/heads/{0}:refs/seen/{0}", tip.branch)]);
            output(command)?;
        }
        // It may have moved on since it was listed: then the next look sees it.
        Ok(self.has(&tip.commit) && is_ancestor(self.command(), &tip.commit, from)?)
    }

    fn has(&self, commit: &str) -> bool {
        let mut command = self.command();
        command.args(["cat-file", "-e", &format!("{commit}^{{commit}}")]);
        output(command).is_ok()
    }

    pub fn contains(&self, new: &str, old: &str) -> Result<bool, GitError> {
        is_ancestor(self.command(), new, old)
    }

    /// The message of a commit that is here.
    pub fn message(&self, commit: &str) -> Result<String, GitError> {
        let mut command = self.command();
        command.args(["show", "--no-patch", "--format=%B", "--end-of-options", commit]);
        output(command)
    }

    /// Brings the workspace to a commit that was fetched: its files, its index and its HEAD. Files pass through the user's
    /// own filters only.
    pub fn bring(&self, commit: &str) -> Result<(), GitError> {
        let head = self.head()?;
        let index = self.git.join("workspace.index");
        let _ = std::fs::remove_file(&index);
        for args in [&["read-tree", &head][..], &["read-tree", "--reset", "-u", commit]] {
            let mut command = self.command();
            command.current_dir(&self.workspace).env("GIT_WORK_TREE", &self.workspace);
            command.env("GIT_INDEX_FILE", &index).args(["-c", "core.bare=false"]).args(args);
            output(command)?;
        }
        let held = format!("refs/held/{commit}");
        let mut hold = self.command();
        hold.args(["update-ref", &held, commit]);
        output(hold)?;
        let mut take = deaf(&self.workspace);
        take.env("GIT_ALLOW_PROTOCOL", "file");
        take.args([
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--",
        ]);
        take.arg(&self.git).arg(&held);
        output(take)?;
        for args in [&["read-tree", commit][..], &["update-ref", "-m", "conductor: result", "HEAD", commit]] {
            let mut command = deaf(&self.workspace);
            command.args(args);
            output(command)?;
        }
        Ok(())
    }
}

/// Git in a bare directory of our own, without the network.
pub(super) fn own(git: &Path) -> Command {
    let mut command = bare_command();
    command.current_dir(git).env("GIT_DIR", git);
    for setting in ["core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false", "core.fsmonitor=false"]
    {
        command.args(["-c", setting]);
    }
    command
}

/// As `own`, which may connect as the user's git does, and never asks for anything.
pub(super) fn connected(git: &Path) -> Command {
    let mut command = own(git);
    let slowest = format!("http.lowSpeedTime={}", SLOWEST.as_secs());
    command.args(["-c", "http.lowSpeedLimit=1", "-c", &slowest]);
    command.env("GIT_ALLOW_PROTOCOL", PROTOCOLS);
    for name in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_SSH_COMMAND", "GIT_SSH"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    // A question could not be answered: it fails at once.
    command.env("GIT_ASKPASS", "true").env("SSH_ASKPASS_REQUIRE", "never");
    command
}

/// Whether an address is a path from where it is configured.
fn is_relative(url: &str) -> bool {
    !url.contains("://") && !url.contains(':') && !url.starts_with('/')
}

/// An address without its password.
pub fn shown_url(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            format!("{scheme}://{host}/{path}")
        }
        None => url.to_owned(),
    }
}

/// `owner/name` of an address on a forge.
pub fn repository_of(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?.1,
        None => url.split_once(':')?.1,
    };
    let path = path.trim_end_matches('/').trim_end_matches(".git").trim_start_matches('/');
    let (owner, name) = path.rsplit_once('/')?;
    (!owner.is_empty() && !name.is_empty() && !owner.contains('/')).then(|| format!("{owner}/{name}"))
}

/// The host of an address on a forge.
pub fn host_of(url: &str) -> Option<String> {
    let rest = match url.split_once("://") {
        Some(("file", _)) => return None,
        // The port of ssh is not the forge's.
        Some(("ssh", rest)) => rest.split('/').next()?.split(':').next()?,
        Some((_, rest)) => rest.split('/').next()?,
        None => url.split_once(':')?.0,
    };
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    (!host.is_empty()).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::users_git::{commit_all, git, init};

    #[test]
    fn addresses_tell_the_repository_and_no_password() {
        for (url, repository, host) in [
            ("https://github.com/o/r.git", Some("o/r"), Some("github.com")),
            ("git@github.com:o/r.name.git", Some("o/r.name"), Some("github.com")),
            ("ssh://git@h:22/o/r", Some("o/r"), Some("h")),
            ("https://h:8443/o/r", Some("o/r"), Some("h:8443")),
            ("/srv/git/r.git", None, None),
            ("file:///srv/git/r.git", None, None),
            ("https://h/group/sub/r", None, Some("h")),
        ] {
            assert_eq!(repository_of(url).as_deref(), repository, "{url}");
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
        assert_eq!(shown_url("https://user:secret@h/o/r"), "https://h/o/r");
    }

    /// A remote, a workspace whose `origin` it is, and a session's clone.
    fn places() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let (remote, work) = (root.path().join("remote.git"), root.path().join("work"));
        std::fs::create_dir(&work).unwrap();
        init(&work);
        std::fs::write(work.join("a"), "1").unwrap();
        std::fs::write(work.join("gone"), "1").unwrap();
        commit_all(&work, "first");
        git(root.path(), &["init", "-q", "--bare", "-b", "main", "remote.git"]);
        git(&work, &["remote", "add", "origin", remote.to_str().unwrap()]);
        git(&work, &["push", "-q", "origin", "main"]);
        (root, remote, work)
    }

    #[test]
    fn a_result_is_what_descends_from_the_anchor() {
        let (root, remote, work) = places();
        let courier = Courier::open(&root.path().join("ours"), &work, "origin").unwrap();
        std::fs::write(work.join("b"), "2").unwrap();
        commit_all(&work, "not published");
        let head = courier.head().unwrap();
        assert_eq!(courier.unpublished(&head, &courier.tips().unwrap()).unwrap(), 1);
        let anchor = courier.mark(&head, "Start\n\nConductor-Attempt: r/t/1\n").unwrap();
        courier.push_new(&anchor, "conductor-anchor/r/t-1").unwrap();
        courier.push_new(&anchor, "conductor-anchor/r/t-1").unwrap();
        assert!(courier.push_new(&head, "conductor-anchor/r/t-1").is_err(), "it is another's");
        let clone = root.path().join("clone");
        git(root.path(), &["clone", "-q", remote.to_str().unwrap(), "clone"]);
        git(&clone, &["config", "user.name", "S"]);
        git(&clone, &["config", "user.email", "s@localhost"]);
        git(&clone, &["checkout", "-q", "-b", "claude/stray"]);
        std::fs::write(clone.join("c"), "3").unwrap();
        commit_all(&clone, "on the default branch");
        git(&clone, &["push", "-q", "origin", "claude/stray"]);
        git(&clone, &["checkout", "-q", "-b", "any-name", "origin/conductor-anchor/r/t-1"]);
        std::fs::write(clone.join("a"), "4").unwrap();
        std::fs::remove_file(clone.join("gone")).unwrap();
        commit_all(&clone, "work");
        git(&clone, &["push", "-q", "origin", "any-name"]);
        let tips = courier.tips().unwrap();
        let found: Vec<&str> = tips
            .iter()
            .filter(|tip| courier.descends(tip, &anchor).unwrap())
            .map(|tip| tip.branch.as_str())
            .collect();
        assert_eq!(found, ["any-name"]);
        let result = tips.iter().find(|tip| tip.branch == "any-name").unwrap();
        courier.bring(&result.commit).unwrap();
        assert_eq!(courier.head().unwrap(), result.commit);
        assert_eq!(std::fs::read_to_string(work.join("a")).unwrap(), "4");
        assert!(!work.join("gone").exists() && work.join("b").exists());
        assert_eq!(git(&work, &["status", "--porcelain"]), "");
        courier.remove("conductor-anchor/r/t-1", &anchor).unwrap();
        courier.remove("conductor-anchor/r/t-1", &anchor).unwrap();
        assert!(courier.tip_of("conductor-anchor/r/t-1").unwrap().is_none());
    }
}
