//! Code on its way between a run's repository and workers on other machines, over a git remote.
//!
//! The coordinator puts the commits that an attempt begins with under `refs/conductor/<run>/at/`; the worker puts what it
//! did under `refs/conductor/<run>/<task>/<attempt>`, once. Commits are named by those who ordered them, so the remote is
//! trusted with nothing. No branch of the remote is ever touched.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use conductor_core::run::event::{Change, Touched};
use conductor_core::schedule::StartFrom;
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::command::{bare_command, output};
use super::courier::{connected, own, shown_url};
use super::workspaces::{RunRepo, WorkspaceError, branch_word};
use super::{GitError, checkpoints};
use crate::host::access;

#[derive(Debug, Error)]
pub enum HandoverError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The remote answers, and has not these commits any more, which are to be fetched from it.
    #[error("the remote has not {} any more", .0.join(", "))]
    Lacking(Vec<String>),
    /// The remote answers, and has not what was said to be there.
    #[error("{0}")]
    Wrong(String),
}

/// Which commits an attempt needs, and what of the repository it works in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// Where the run's branch was when the order was given.
    pub tip: String,
    /// All that is to be fetched: that, and work which has not landed.
    pub commits: Vec<String>,
    /// Where in the repository the run was started.
    pub below: PathBuf,
}

/// The coordinator's side.
pub struct Handover {
    git: PathBuf,
    run_repo: Arc<RunRepo>,
    url: String,
    /// Commits that are there.
    published: Mutex<HashSet<String>>,
    /// Where in the repository the run was started.
    below: PathBuf,
}

impl Handover {
    /// By way of a git directory of our own, which borrows the repository's objects.
    pub fn open(
        folder: &Path,
        run_repo: Arc<RunRepo>,
        directory: &Path,
        url: &str,
    ) -> Result<Handover, GitError> {
        let git = folder.join("handover.git");
        let objects = run_repo.repository().common.join("objects");
        make_bare(&git, run_repo.repository().is_sha256())?;
        let alternates = git.join("objects/info/alternates");
        let file = |source| GitError::File { path: alternates.clone(), source };
        access::create_private_dir_all(&git.join("objects/info")).map_err(file)?;
        access::replace(&alternates, format!("{}\n", objects.display())).map_err(file)?;
        let below = directory.strip_prefix(&run_repo.repository().root).unwrap_or(Path::new("")).to_owned();
        Ok(Handover { git, run_repo, url: url.to_owned(), published: Mutex::default(), below })
    }

    /// Whether the remote can be reached.
    pub fn examine(&self) -> Result<(), GitError> {
        listed(&self.git, &self.url, &["refs/conductor/*"]).map(drop)
    }

    pub fn shown_url(&self) -> String {
        shown_url(&self.url)
    }

    /// What an attempt begins with is there when this is done.
    pub(crate) fn publish(&self, start_from: Option<&StartFrom>) -> Result<Code, HandoverError> {
        let tip = self.run_repo.tip()?;
        let commits = named(&tip, start_from);
        // By one at a time: of two that push the same commit at once, git refuses one.
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        let new: Vec<&String> = commits.iter().filter(|commit| !published.contains(*commit)).collect();
        if !new.is_empty() {
            let mut push = connected(&self.git);
            push.args(["push", "--quiet", "--no-verify", "--", &self.url]);
            let run = self.run_repo.run();
            push.args(new.iter().map(|commit| format!("{commit}:{}", place_of(run, commit))));
            output(push)?;
            published.extend(new.into_iter().cloned());
        }
        drop(published);
        Ok(Code { tip, commits, below: self.below.clone() })
    }

    /// Puts those of these there once more that were there: a remote may lose refs. A worker that lacks them goes on asking, so
    /// one that asks while others are put there is not waited for.
    pub(crate) fn publish_again(&self, commits: &[String]) -> Result<(), GitError> {
        let Ok(published) = self.published.try_lock() else { return Ok(()) };
        let lost: Vec<&String> = commits.iter().filter(|commit| published.contains(*commit)).collect();
        if lost.is_empty() {
            return Ok(());
        }
        let mut push = connected(&self.git);
        push.args(["push", "--quiet", "--no-verify", "--force", "--", &self.url]);
        let run = self.run_repo.run();
        push.args(lost.iter().map(|commit| format!("{commit}:{}", place_of(run, commit))));
        output(push).map(drop)
    }

    /// What an attempt did is in the run's repository when this is done. What it touched is looked up here: a worker's word
    /// for it does not count.
    pub(crate) fn fetch(
        &self,
        task: &TaskId,
        attempt: Attempt,
        change: &Change,
    ) -> Result<Touched, HandoverError> {
        let name = result_of(self.run_repo.run(), task, attempt);
        let mut fetch = connected(&self.git);
        fetch.env("GIT_OBJECT_DIRECTORY", self.run_repo.repository().common.join("objects"));
        fetch.args(FETCH).args(["--", &self.url, &format!("+{name}:{name}")]);
        if let Err(error) = output(fetch) {
            return Err(match self.is_there(&name, &change.commit)? {
                true => error.into(),
                false => self.wrong(task, &change.commit, &name),
            });
        }
        let mut read = own(&self.git);
        read.args(["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]);
        let shadow = self.run_repo.shadow();
        if output(read).ok().as_deref() != Some(&change.commit) || !shadow.has(&change.base)? {
            return Err(self.wrong(task, &change.commit, &name));
        }
        self.run_repo.take_in_work(task, &change.commit)?;
        Ok(shadow.touched(&change.base, &change.commit)?)
    }

    fn is_there(&self, name: &str, commit: &str) -> Result<bool, GitError> {
        Ok(listed(&self.git, &self.url, &[name])?.iter().any(|(there, at)| there == name && at == commit))
    }

    fn wrong(&self, task: &TaskId, commit: &str, name: &str) -> HandoverError {
        let remote = self.shown_url();
        HandoverError::Wrong(format!(
            "the worker says that the work of {task} is {commit} at {name}, and it is not there on {remote}"
        ))
    }

    pub(crate) fn adopt(&self, name: &str, commit: &str, about: &str) -> Result<(), WorkspaceError> {
        checkpoints::adopt(&self.run_repo, name, commit, about)
    }

    /// Takes all that was handed over for the run off the remote. What is gone is gone.
    pub fn clear(&self) -> Result<(), GitError> {
        let all = format!("refs/conductor/{}/*", self.run_repo.run());
        let there = listed(&self.git, &self.url, &[&all])?;
        // A command line has room for so many.
        for some in there.chunks(200) {
            let mut push = connected(&self.git);
            push.args(["push", "--quiet", "--no-verify", "--", &self.url]);
            push.args(some.iter().map(|(name, _)| format!(":{name}")));
            output(push)?;
        }
        Ok(())
    }
}

/// The worker's side: a repository of its own, in which it works for all runs.
pub struct Outpost {
    root: PathBuf,
    url: String,
    /// Git's refs are fetched by one at a time.
    turn: Mutex<()>,
}

impl Outpost {
    pub fn open(root: &Path, url: &str) -> Result<Outpost, GitError> {
        let file = |source| GitError::File { path: root.to_owned(), source };
        access::create_private_dir_all(root).map_err(file)?;
        if !root.join(".git/HEAD").is_file() {
            let mut init = bare_command();
            init.args(["init", "--quiet", "--template=", "--initial-branch=conductor-worker"]);
            if has_long_names(url)? {
                init.arg("--object-format=sha256");
            }
            init.arg(root);
            output(init)?;
        }
        Ok(Outpost { root: root.to_owned(), url: url.to_owned(), turn: Mutex::default() })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    fn git(&self) -> PathBuf {
        self.root.join(".git")
    }

    /// The commits that an attempt begins with are here when this is done.
    pub(crate) fn fetch(&self, run: &RunId, code: &Code) -> Result<(), HandoverError> {
        let _one = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let lacking: Vec<&String> = code.commits.iter().filter(|commit| !self.has(commit)).collect();
        if !lacking.is_empty() {
            let mut fetch = connected(&self.git());
            fetch.args(FETCH).args(["--", &self.url]);
            fetch.args(lacking.iter().map(|commit| {
                let name = place_of(run, commit);
                format!("+{name}:{name}")
            }));
            if let Err(error) = output(fetch) {
                let lost = self.lost(run, &lacking)?;
                return Err(if lost.is_empty() { error.into() } else { HandoverError::Lacking(lost) });
            }
        }
        // There may be something else where they were.
        let lost: Vec<String> = code.commits.iter().filter(|commit| !self.has(commit)).cloned().collect();
        if !lost.is_empty() {
            return Err(HandoverError::Lacking(lost));
        }
        Ok(self.check_out(&code.tip)?)
    }

    /// Those that the remote has not, if it answers.
    fn lost(&self, run: &RunId, wanted: &[&String]) -> Result<Vec<String>, GitError> {
        let all = format!("refs/conductor/{run}/at/*");
        let there = listed(&self.git(), &self.url, &[&all])?;
        let is_there = |commit: &str| there.iter().any(|(name, _)| *name == place_of(run, commit));
        Ok(wanted.iter().filter(|commit| !is_there(commit)).map(|commit| (*commit).clone()).collect())
    }

    /// A repository in which nothing is checked out is none to work in, and what a project tells its agents is read there.
    fn check_out(&self, tip: &str) -> Result<(), GitError> {
        let mut head = own(&self.git());
        head.args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        if output(head).ok().as_deref() == Some(tip) {
            return Ok(());
        }
        let mut read = own(&self.git());
        read.current_dir(&self.root).env("GIT_WORK_TREE", &self.root);
        read.args(["-c", "core.bare=false", "read-tree", "--reset", "-u", tip]);
        output(read)?;
        let mut head = own(&self.git());
        head.args(["update-ref", "refs/heads/conductor-worker", tip]);
        output(head).map(drop)
    }

    fn has(&self, commit: &str) -> bool {
        let mut command = own(&self.git());
        command.args(["cat-file", "-e", &format!("{commit}^{{commit}}")]);
        output(command).is_ok()
    }

    /// What an attempt did is on the remote when this is done, where nothing was before.
    pub(crate) fn push(
        &self,
        run: &RunId,
        task: &TaskId,
        attempt: Attempt,
        commit: &str,
    ) -> Result<(), GitError> {
        let name = result_of(run, task, attempt);
        let mut push = connected(&self.git());
        push.args([
            "push",
            "--quiet",
            "--no-verify",
            &format!("--force-with-lease={name}:"),
            "--",
            &self.url,
        ]);
        push.arg(format!("{commit}:{name}"));
        if let Err(error) = output(push) {
            // It came through, and its answer did not.
            let there = listed(&self.git(), &self.url, &[&name]).unwrap_or_default();
            if !there.iter().any(|(found, at)| *found == name && at == commit) {
                return Err(error);
            }
        }
        let mut note = own(&self.git());
        note.args(["update-ref", &format!("{}{commit}", delivered_of(run)), commit]);
        output(note).map(drop)
    }

    /// Work of a run that was on the remote once: it need not be kept here, also after this process was started again.
    pub(crate) fn delivered(&self, run: &RunId) -> Result<HashSet<String>, GitError> {
        let mut list = own(&self.git());
        list.args(["for-each-ref", "--format=%(objectname)", &delivered_of(run)]);
        Ok(output(list)?.lines().map(str::to_owned).collect())
    }

    /// The runs of which anything is on the remote: those that are not over are among them.
    pub(crate) fn runs_there(&self) -> Result<HashSet<RunId>, GitError> {
        let there = listed(&self.git(), &self.url, &["refs/conductor/*"])?;
        let run_of = |name: &str| RunId::parse(name.strip_prefix("refs/conductor/")?.split('/').next()?);
        Ok(there.iter().filter_map(|(name, _)| run_of(name)).collect())
    }

    /// Nothing of a run is needed any more.
    pub(crate) fn forget(&self, run: &RunId) -> Result<(), GitError> {
        let _one = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list = own(&self.git());
        list.args(["for-each-ref", "--format=delete %(refname)", &format!("refs/conductor/{run}/")]);
        let doomed = output(list)?;
        let mut delete = own(&self.git());
        delete.args(["update-ref", "--stdin"]);
        super::command::with_input(delete, format!("{doomed}\n").trim_start().as_bytes()).map(drop)
    }
}

const FETCH: [&str; 6] = [
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
    "--no-auto-maintenance",
];

/// What of a remote is asked for, with its commits.
fn listed(git: &Path, url: &str, patterns: &[&str]) -> Result<Vec<(String, String)>, GitError> {
    let mut command = connected(git);
    command.args(["ls-remote", "--quiet", "--", url]).args(patterns);
    let told = output(command)?;
    let entry = |line: &str| line.split_once('\t').map(|(commit, name)| (name.to_owned(), commit.to_owned()));
    Ok(told.lines().filter_map(entry).collect())
}

/// Whether a remote's objects have names of 64 digits. One that has none yet has the usual ones.
fn has_long_names(url: &str) -> Result<bool, GitError> {
    let mut command = connected(&std::env::temp_dir());
    command.env_remove("GIT_DIR").args(["ls-remote", "--quiet", "--", url]);
    let told = output(command)?;
    Ok(told.split('\t').next().is_some_and(|commit| commit.len() == 64))
}

fn make_bare(git: &Path, is_sha256: bool) -> Result<(), GitError> {
    let file = |source| GitError::File { path: git.to_owned(), source };
    access::create_private_dir_all(git).map_err(file)?;
    if !git.join("HEAD").is_file() {
        let mut init = bare_command();
        init.args(["init", "--quiet", "--bare", "--template="]);
        if is_sha256 {
            init.arg("--object-format=sha256");
        }
        init.arg(git);
        output(init)?;
    }
    Ok(())
}

fn place_of(run: &RunId, commit: &str) -> String {
    format!("refs/conductor/{run}/at/{commit}")
}

/// Where a worker notes what it has pushed, in its own repository.
fn delivered_of(run: &RunId) -> String {
    format!("refs/conductor/{run}/delivered/")
}

fn result_of(run: &RunId, task: &TaskId, attempt: Attempt) -> String {
    format!("refs/conductor/{run}/{}/{attempt}", branch_word(task.as_str()))
}

/// Every commit that an attempt needs to begin.
fn named(tip: &str, start_from: Option<&StartFrom>) -> Vec<String> {
    let mut commits = vec![tip.to_owned()];
    if let Some(from) = start_from {
        commits.extend(from.onto.clone());
        commits.extend(
            from.stack
                .iter()
                .flat_map(|below| std::iter::once(below.commit.clone()).chain(below.base.clone())),
        );
        let given = from.round.iter().map(|(_, round)| &round.change);
        commits.extend(given.flat_map(|change| [change.commit.clone(), change.base.clone()]));
    }
    let mut seen = HashSet::new();
    commits.retain(|commit| seen.insert(commit.clone()));
    commits
}
