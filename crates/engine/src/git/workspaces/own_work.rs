//! What an agent did, as git knows it: the commit that holds its files, and the commit it has to be compared with.
//!
//! An agent may do with git in its workspace whatever it likes. Mostly its HEAD builds on the commit it was given. Where it
//! does not (a reset, a rebase, a checkout of something else), its files may lack what others had landed before it; set on
//! top of that, they would take it back. So its work is then what differs from its merge base with what it was given, and
//! where that cannot be told, the work is refused.

use std::fs;

use conductor_core::schedule::divergence::{self, Start};
use conductor_core::values::counted::counted;

use super::layout::Folder;
use super::run_repo::{RunRepo, is_name};
use super::{WorkspaceError, WorkspaceRequest};
use crate::git::merge::short;
use crate::git::workspaces::names::branch_word;
use crate::git::{GitError, Merge, head_of, head_text, ref_of};
use crate::host::shortage::Passing as _;

/// A workspace as its agent left it.
pub(super) struct Left<'a> {
    pub(super) request: &'a WorkspaceRequest,
    pub(super) folder: &'a Folder,
    /// The commit it was given.
    pub(super) base: &'a str,
    /// Its files.
    pub(super) tree: &'a str,
    pub(super) message: &'a str,
}

pub(super) enum OwnWork {
    Nothing,
    /// Everything it did is what differs from `base` to `commit`.
    Found {
        base: String,
        commit: String,
    },
    /// It cannot be told; `commit` holds its files.
    Unclear {
        why: String,
        commit: String,
    },
}

/// What HEAD of a workspace names.
struct Head {
    commit: String,
    /// It is the run's own branch that is checked out there.
    on_run_branch: bool,
}

impl RunRepo {
    pub(super) fn own_work(&self, left: &Left<'_>) -> Result<OwnWork, WorkspaceError> {
        let Left { folder, base, tree, .. } = left;
        let branch = self.own_branch(left.request, folder)?.filter(|commit| commit != base);
        if *tree == self.tree_of_commit(base)? && branch.is_none() {
            return Ok(OwnWork::Nothing);
        }
        let head = self.head_in(folder, base)?;
        let work = match &head {
            _ if *tree == self.tree_of_commit(base)? => OwnWork::Nothing,
            None => self.without_history(left, None, "its HEAD names no commit that can be read")?,
            Some(head) if head.commit == *base => self.on_base(left)?,
            Some(head) if self.shadow.contains(&head.commit, base)? => self.on_head(left, head)?,
            Some(head) => self.diverged(left, head)?,
        };
        match branch {
            Some(branch) => self.with_branch(left, head.as_ref(), &branch, work),
            None => Ok(work),
        }
    }

    /// Commits on the agent's own branch that its HEAD does not hold are its work too: kept beside what lands, and where
    /// nothing else was done, that nothing is not taken for its work.
    fn with_branch(
        &self,
        left: &Left<'_>,
        head: Option<&Head>,
        branch: &str,
        work: OwnWork,
    ) -> Result<OwnWork, WorkspaceError> {
        let held = |by: &str| by == branch || self.shadow.contains(by, branch).unwrap_or(false);
        let saved = fs::read_to_string(self.saved_note(left.request)).unwrap_or_default();
        if head.is_some_and(|head| held(&head.commit)) || !self.is_commit(left, branch)? {
            return Ok(work);
        }
        // What we have collected ourselves in an earlier round is no work of the agent's beside this.
        if saved == self.tree_of_commit(branch)? {
            return Ok(work);
        }
        match work {
            OwnWork::Nothing => Ok(OwnWork::Unclear {
                why: "there are commits on its branch that its HEAD does not hold".to_owned(),
                commit: branch.to_owned(),
            }),
            OwnWork::Found { ref commit, .. } if held(commit) => Ok(work),
            work => {
                let WorkspaceRequest { task, attempt, .. } = left.request;
                let name = format!("{}/{attempt}-branch", branch_word(task.as_str()));
                let name = self.keep_commit(&name, branch)?;
                self.notice_once(format!(
                    "{task} left commits on its branch that its HEAD does not hold; they are kept as {name}"
                ));
                Ok(work)
            }
        }
    }

    fn on_base(&self, left: &Left<'_>) -> Result<OwnWork, WorkspaceError> {
        let commit = self.shadow.commit(left.tree, &[left.base], left.message)?;
        Ok(OwnWork::Found { base: left.base.to_owned(), commit })
    }

    /// Its own commits, and what is not committed on top of them.
    fn on_head(&self, left: &Left<'_>, head: &Head) -> Result<OwnWork, WorkspaceError> {
        let base = match head.on_run_branch {
            true => left.base.to_owned(),
            false => self.newest_start(left.base, &head.commit)?,
        };
        if self.tree_of_commit(&base)? == left.tree {
            return Ok(OwnWork::Nothing);
        }
        self.tell_of_users_commits(left, head, left.base)?;
        Ok(OwnWork::Found { base, commit: self.files_on(left, &head.commit)? })
    }

    fn files_on(&self, left: &Left<'_>, commit: &str) -> Result<String, WorkspaceError> {
        match self.tree_of_commit(commit)? == left.tree {
            true => Ok(commit.to_owned()),
            false => Ok(self.shadow.commit(left.tree, &[commit], left.message)?),
        }
    }

    /// An agent that merged what has landed since it started has not done that itself.
    fn newest_start(&self, base: &str, head: &str) -> Result<String, WorkspaceError> {
        let tip = self.tip()?;
        if tip == base {
            return Ok(base.to_owned());
        }
        let common = self.shadow.merge_base(head, &tip)?;
        let newer = common.filter(|common| common != base);
        match newer {
            Some(newer) if self.shadow.contains(&newer, base)? => Ok(newer),
            _ => Ok(base.to_owned()),
        }
    }

    fn diverged(&self, left: &Left<'_>, head: &Head) -> Result<OwnWork, WorkspaceError> {
        let Left { base, tree, .. } = left;
        let bases = self.shadow.merge_bases(&head.commit, base)?;
        let mut starts = Vec::new();
        for common in &bases {
            let landed = self.shadow.differing(common, base)?;
            let own = self.shadow.differing(common, tree)?;
            starts.push(divergence::start(&landed, &own));
        }
        let all = |start: Start| starts.iter().all(|found| *found == start);
        let unclear = |why: &str| {
            let (why, commit) = (why.to_owned(), self.files_on(left, &head.commit)?);
            Ok(OwnWork::Unclear { why, commit })
        };
        match bases.as_slice() {
            [] => {
                let why = "its HEAD has no history in common with what it was given";
                self.without_history(left, Some(&head.commit), why)
            }
            _ if all(Start::Base) => self.on_base(left),
            [common, rest @ ..] if all(Start::MergeBase) => {
                if *tree == self.tree_of_commit(common)? {
                    return Ok(OwnWork::Nothing);
                }
                let commit = self.files_on(left, &head.commit)?;
                if !rest.is_empty() && !self.all_agree(&bases, base, &commit)? {
                    return unclear("it has several merge bases with what it was given, and they disagree");
                }
                self.tell_of_users_commits(left, head, common)?;
                self.since_merge_base(left, common, commit)
            }
            _ => unclear("it holds some of what had landed and lacks some, and its HEAD is of before that"),
        }
    }

    /// Whether it does not matter which of several merge bases is taken.
    fn all_agree(&self, bases: &[String], base: &str, commit: &str) -> Result<bool, WorkspaceError> {
        let mut trees = Vec::new();
        for common in bases {
            match self.shadow.merge_from(Some(common), base, commit, None)? {
                Merge::Clean { tree } => trees.push(tree),
                Merge::Conflict { .. } => return Ok(false),
            }
        }
        trees.dedup();
        Ok(trees.len() == 1)
    }

    /// The merge train puts it on top of what has landed. What an epic has done so far is on no branch yet, and the next of
    /// its tasks goes on from this one: there the two have to be one commit. So it is with work that has not landed.
    fn since_merge_base(
        &self,
        left: &Left<'_>,
        common: &str,
        commit: String,
    ) -> Result<OwnWork, WorkspaceError> {
        if left.request.onto.is_none() && left.request.stack.is_empty() {
            return Ok(OwnWork::Found { base: common.to_owned(), commit });
        }
        match self.shadow.merge(left.base, &commit, None)? {
            Merge::Clean { tree } => {
                let commit = self.shadow.commit(&tree, &[left.base, &commit], left.message)?;
                Ok(OwnWork::Found { base: left.base.to_owned(), commit })
            }
            Merge::Conflict { files, .. } => {
                let what = match left.request.onto {
                    Some(_) => "what its epic has done",
                    None => "the work it is built on",
                };
                let why =
                    format!("its HEAD is of before {what}, and conflicts with that in {}", files.join(", "));
                Ok(OwnWork::Unclear { why, commit })
            }
        }
    }

    /// Only its files can tell. Kept on no commit of ours, so that no merge takes what they lack for taken back.
    fn without_history(
        &self,
        left: &Left<'_>,
        head: Option<&str>,
        why: &str,
    ) -> Result<OwnWork, WorkspaceError> {
        let before = self.shadow.entries(&self.tree_of_commit(left.base)?)?;
        let own = self.shadow.entries(left.tree)?;
        if divergence::start_without_history(&before, &own) == Start::Base {
            return self.on_base(left);
        }
        let commit = match head {
            Some(head) => self.files_on(left, head)?,
            None => self.shadow.commit(left.tree, &[], left.message)?,
        };
        Ok(OwnWork::Unclear { why: format!("{why}, and its files lack some of that"), commit })
    }

    /// What HEAD names in a folder. Commits of a private clone are taken out of it.
    fn head_in(&self, folder: &Folder, base: &str) -> Result<Option<Head>, WorkspaceError> {
        let named = head_text(&folder.git).unwrap_or_default();
        let named = named.strip_prefix("ref: ");
        let on_run_branch = folder.objects.is_none() && named == Some(self.refs.branch.as_str());
        let commit = match &folder.objects {
            None => unless_refused(self.repository.worktree_head(&folder.git))?.flatten(),
            Some(_) => head_of(&folder.git),
        };
        let Some(commit) = commit.filter(|commit| is_name(commit)) else { return Ok(None) };
        if commit != base && !self.takes_over(folder, base, &commit)? {
            return Ok(None);
        }
        Ok(Some(Head { commit, on_run_branch }))
    }

    /// Whether there is such a commit here, or is now.
    fn takes_over(&self, folder: &Folder, base: &str, commit: &str) -> Result<bool, WorkspaceError> {
        if let Some(objects) = &folder.objects {
            if unless_refused(self.shadow.take(objects, base, commit))?.is_none() {
                return Ok(false);
            }
            self.take_contents(&self.shadow, &folder.git)?;
            return Ok(self.shadow.has(commit)?);
        }
        let is_there = self.shadow.has(commit)?;
        if is_there {
            self.shadow.make_last(base, commit)?;
        }
        Ok(is_there)
    }

    /// Where the branch is that the agent was given.
    fn own_branch(
        &self,
        request: &WorkspaceRequest,
        folder: &Folder,
    ) -> Result<Option<String>, WorkspaceError> {
        let name = self.task_branch(&request.task);
        let commit = match &folder.objects {
            Some(_) => ref_of(&folder.git, &name),
            None => self.repository.read_ref(&name)?,
        };
        Ok(commit.filter(|commit| is_name(commit)))
    }

    fn is_commit(&self, left: &Left<'_>, commit: &str) -> Result<bool, WorkspaceError> {
        self.takes_over(left.folder, left.base, commit)
    }

    /// The user's branch may have gone on while the run was at work. What an agent builds on comes along with its work.
    fn tell_of_users_commits(&self, left: &Left<'_>, head: &Head, base: &str) -> Result<(), WorkspaceError> {
        let Some(branch) = &self.repository.branch else { return Ok(()) };
        let Some(now) = self.repository.read_ref(branch)? else { return Ok(()) };
        if now == self.repository.head {
            return Ok(());
        }
        let Some(common) = self.shadow.merge_base(&head.commit, &now)? else { return Ok(()) };
        let count = match self.shadow.contains(&self.tip()?, &common)? {
            true => 0,
            false => self.shadow.count_since(base, &common)?,
        };
        if count > 0 {
            let commits = counted(count, "commit");
            self.notice_once(format!(
                "{} builds on {commits} of {} that the run did not start from; its work brings them along",
                left.request.task,
                short(branch)
            ));
        }
        Ok(())
    }
}

/// Nothing where git says that there is no such thing; a full disk is no such answer.
fn unless_refused<T>(answer: Result<T, GitError>) -> Result<Option<T>, WorkspaceError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error @ GitError::Failed { .. }) if error.shortage().is_none() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
