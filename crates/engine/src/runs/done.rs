//! What of a task file is done already.
//!
//! A task is done where an earlier run of the same file in the same repository has completed it, asking for the same,
//! and its commit is in what is checked out or on the branch of a run. Of a task that left no commit the newest run
//! that has begun it decides. Runs that were removed count as well (`records::landed`). Work that waits for a person's
//! review is not done, but it is there and paid: it is not done a second time either.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::Path;

use conductor_core::plan::graph::GraphError;
use conductor_core::plan::select::{needed, without};
use conductor_core::plan::{Fingerprint, Plan};
use conductor_core::run::Run;
use conductor_core::values::counted::counted;
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::units::Timestamp;
use thiserror::Error;

use super::archive::Surroundings;
use crate::git::merge::short;
use crate::git::{GitError, Reached, Repository};
use crate::host::home::Home;
use crate::records::landed::{self, Fact};
use crate::stores::{EarlierRuns, LogReader, StoreError};

/// Why it cannot be told.
#[derive(Debug, Error)]
pub enum DoneError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("what removed runs have landed cannot be read from {file}: {0}", file = landed::FILE)]
    Kept(io::Error),
}

/// What of a task file is done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    pub tasks: BTreeMap<TaskId, DoneTask>,
    /// Tasks whose work waits for a review, or to land after it, in a run that can go on.
    pub in_review: BTreeMap<TaskId, RunId>,
    /// What the user should be told, such as runs that cannot be read.
    pub notices: Vec<String>,
}

/// A task that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneTask {
    pub run: RunId,
    pub at: Timestamp,
    /// What holds its work; nothing where it works in place or had nothing to change.
    pub commit: Option<String>,
    /// The branch of a run that the commit is on, where it is not in what is checked out.
    pub unmerged: Option<String>,
}

/// What is left to do, and what is not.
#[derive(Debug, Clone, PartialEq)]
pub struct Remaining {
    pub plan: Plan,
    pub done: BTreeMap<TaskId, Fingerprint>,
    pub in_review: BTreeMap<TaskId, Fingerprint>,
    /// Work that is needed for it and is not in what is checked out: the run must begin where that is.
    pub unmerged: Option<Unmerged>,
}

/// Work that tasks need and that is on branches of runs only. The first such task stands for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmerged {
    pub task: TaskId,
    pub on: TaskId,
    /// All that hold some of it, each once.
    pub branches: Vec<String>,
    commits: BTreeSet<String>,
}

/// Where a new run can begin: the branch of an earlier one, and its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginsOn {
    pub branch: String,
    pub commit: String,
}

impl fmt::Display for Unmerged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unmerged { task, on, branches, .. } = self;
        let branch = branches.first().map_or("another branch", String::as_str);
        write!(f, "task '{task}' needs '{on}', whose work is on {branch} and not in what is checked out")
    }
}

impl Unmerged {
    /// The branch that holds all of this work and what is checked out. Without one, the user has to merge first.
    pub fn held_by(&self, repository: &Repository) -> Result<Option<BeginsOn>, GitError> {
        for branch in &self.branches {
            let Some(commit) = repository.read_ref(&format!("refs/heads/{branch}"))? else { continue };
            let all = self.commits.iter().map(String::as_str).chain([repository.head.as_str()]);
            if repository.contains_all(&commit, all)? {
                return Ok(Some(BeginsOn { branch: branch.clone(), commit }));
            }
        }
        Ok(None)
    }
}

/// Why the rest cannot be done.
#[derive(Debug, Error)]
pub enum NotRemaining {
    #[error("nothing is left to do, with {} done already", counted(*.0, "task"))]
    Nothing(usize),
    #[error("task '{task}' needs '{on}', whose work waits for your review in run {run}")]
    InReview { task: TaskId, on: TaskId, run: RunId },
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// What of this plan, read from the file `source`, runs in the repository of `directory` have done.
pub async fn done(
    home: &Home,
    store: &dyn LogReader,
    directory: &Path,
    source: &str,
    plan: &Plan,
) -> Result<Done, DoneError> {
    let mut known = Known::of(plan);
    let (mut here, notice) = Surroundings::of(directory)?;
    let mut earlier = EarlierRuns::of(store);
    let mut read: HashSet<RunId> = HashSet::new();
    for stored in earlier.list().await? {
        if !stored.is_of(source) || !here.include(&stored.directory) {
            continue;
        }
        if let Some(run) = earlier.run(&stored.id).await {
            known.add(landed::facts(&stored.id, &run));
            if !stored.is_over() {
                known.add_reviews(&stored.id, &run);
            }
            read.insert(stored.id);
        }
    }
    let kept = landed::kept(home, directory, source).map_err(DoneError::Kept)?;
    known.add(kept.into_iter().filter(|fact| !read.contains(&fact.run)));
    let reached = reached(directory, known.commits())?;
    let notices = notice.iter().map(ToString::to_string).chain(earlier.notice()).collect();
    let mut in_review = std::mem::take(&mut known.in_review);
    let tasks = known.decided(&reached);
    in_review.retain(|task, _| !tasks.contains_key(task));
    Ok(Done { tasks, in_review, notices })
}

/// Where commits are. A directory that is in no repository has none.
fn reached<'c>(
    directory: &Path,
    commits: impl Iterator<Item = &'c str>,
) -> Result<HashMap<String, Reached>, GitError> {
    let mut commits = commits.peekable();
    if commits.peek().is_none() {
        return Ok(HashMap::new());
    }
    match Repository::of(directory) {
        Ok(repository) => repository.reached(commits),
        Err(GitError::NotOne(_) | GitError::Unborn(_) | GitError::Bare(_)) => Ok(HashMap::new()),
        Err(error) => Err(error),
    }
}

/// What runs say of the tasks of a plan, as far as they asked for the same.
struct Known {
    asked: HashMap<TaskId, Fingerprint>,
    facts: BTreeMap<TaskId, Vec<Fact>>,
    in_review: BTreeMap<TaskId, RunId>,
}

impl Known {
    fn of(plan: &Plan) -> Known {
        let asked = plan.asked().map(|task| (task.id.clone(), task.fingerprint())).collect();
        Known { asked, facts: BTreeMap::new(), in_review: BTreeMap::new() }
    }

    fn add(&mut self, facts: impl Iterator<Item = Fact>) {
        for fact in facts {
            if self.asked.get(&fact.task) == Some(&fact.fingerprint) {
                self.facts.entry(fact.task.clone()).or_default().push(fact);
            }
        }
    }

    fn add_reviews(&mut self, id: &RunId, run: &Run) {
        for (_, task, progress) in run.asked() {
            if progress.state.is_for_review() && self.asked.get(&task.id) == Some(&task.fingerprint()) {
                self.in_review.entry(task.id.clone()).or_insert_with(|| id.clone());
            }
        }
    }

    fn commits(&self) -> impl Iterator<Item = &str> {
        self.facts.values().flatten().filter_map(|fact| fact.commit.as_deref())
    }

    fn decided(self, reached: &HashMap<String, Reached>) -> BTreeMap<TaskId, DoneTask> {
        let decided = |(task, facts)| Some((task, decide(facts, reached)?));
        self.facts.into_iter().filter_map(decided).collect()
    }
}

/// The newest counts that is in what is checked out, or needs not be; else the newest on the branch of a run.
fn decide(mut facts: Vec<Fact>, reached: &HashMap<String, Reached>) -> Option<DoneTask> {
    facts.sort_by_key(|fact| Reverse(fact.at));
    let mut begun_again = false;
    let mut on_branch = None;
    for fact in facts {
        let found = fact.commit.as_ref().and_then(|commit| reached.get(commit));
        match (fact.completed, &fact.commit, found) {
            (false, _, _) => begun_again = true,
            (true, None, _) if begun_again => {}
            (true, None, _) | (true, Some(_), Some(Reached::CheckedOut)) => return Some(fact.done(None)),
            (true, Some(_), Some(Reached::RunBranch(branch))) => {
                let branch = short(branch);
                on_branch.get_or_insert_with(|| fact.done(Some(branch)));
            }
            (true, Some(_), None) => {}
        }
    }
    on_branch
}

impl Fact {
    fn done(self, unmerged: Option<String>) -> DoneTask {
        DoneTask { run: self.run, at: self.at, commit: self.commit, unmerged }
    }
}

impl Done {
    /// What is left of the tasks that are `chosen` of a `whole` plan, and what of the work that they need, chosen or
    /// not, is on branches of runs only.
    pub fn remaining(&self, whole: &Plan, chosen: &Plan) -> Result<Remaining, NotRemaining> {
        let is_there = |id: &TaskId| self.tasks.contains_key(id) || self.in_review.contains_key(id);
        let plan = without(chosen, |task| is_there(&task.id));
        let of = |is: &dyn Fn(&TaskId) -> bool| -> BTreeMap<TaskId, Fingerprint> {
            let tasks = chosen.asked().filter(|task| is(&task.id));
            tasks.map(|task| (task.id.clone(), task.fingerprint())).collect()
        };
        let done = of(&|id| self.tasks.contains_key(id));
        let in_review = of(&|id| self.in_review.contains_key(id));
        if plan.tasks.is_empty() && !(done.is_empty() && in_review.is_empty()) {
            return Err(NotRemaining::Nothing(done.len()));
        }
        self.check_reviews(whole, &plan)?;
        let unmerged = self.unmerged(whole, &plan)?;
        Ok(Remaining { plan, done, in_review, unmerged })
    }

    /// What was not reviewed yet is on no branch that a run could begin on.
    fn check_reviews(&self, whole: &Plan, left: &Plan) -> Result<(), NotRemaining> {
        if self.in_review.is_empty() {
            return Ok(());
        }
        let chosen: HashSet<&TaskId> = left.tasks.iter().map(|task| &task.id).collect();
        for (on, task) in needed(whole, |task| chosen.contains(task))? {
            if let Some(run) = self.in_review.get(&on) {
                return Err(NotRemaining::InReview { task, on, run: run.clone() });
            }
        }
        Ok(())
    }

    fn unmerged(&self, whole: &Plan, left: &Plan) -> Result<Option<Unmerged>, NotRemaining> {
        if self.tasks.values().all(|task| task.unmerged.is_none()) {
            return Ok(None);
        }
        let chosen: HashSet<&TaskId> = left.tasks.iter().map(|task| &task.id).collect();
        let needed = needed(whole, |task| chosen.contains(task))?;
        let unmerged = |task: &TaskId| self.tasks.get(task)?.unmerged.clone();
        let missing = needed.into_iter().filter_map(|(on, task)| Some((unmerged(&on)?, on, task)));
        let missing: BTreeSet<(String, TaskId, TaskId)> = missing.collect();
        let mut branches: Vec<String> = missing.iter().map(|(branch, ..)| branch.clone()).collect();
        branches.dedup();
        let commits = missing.iter().filter_map(|(_, on, _)| self.tasks.get(on)?.commit.clone()).collect();
        let first = missing.into_iter().next();
        Ok(first.map(|(_, on, task)| Unmerged { task, on, branches, commits }))
    }
}
