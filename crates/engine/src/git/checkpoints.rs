//! Checkpoints: annotated tags that remember where a branch was, so that it can be set back there.
//!
//! One is made by the user, or by us before a step that the user may want to undo. It knows branches and
//! commits; what a run makes of a branch that was set back is not its matter.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

use crate::git::workspaces::{RunRepo, WorkspaceError, branch_word};
use crate::git::{Forward, Forwarded, GitError, Repository};

/// Where the tags are. The second is for a repository that has a tag of the first one's name: git has no tag beside a
/// folder of its name.
const FOLDERS: [&str; 2] = ["conductor-checkpoint", "conductor-run-checkpoint"];
const BRANCH: &str = "Conductor-Branch: ";

#[derive(Debug, Error)]
pub enum CheckpointError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("there is a checkpoint '{0}' already")]
    Taken(String),
    #[error("another process moved {0} meanwhile; nothing was set back: run the command again")]
    Contested(String),
    #[error(
        "these are not tracked and would be overwritten: {0}; move them away first; nothing was set back"
    )]
    InTheWay(String),
    #[error("{0}; nothing was set back")]
    Held(String),
    #[error("the commit of checkpoint '{0}' is not in the repository any more")]
    Gone(String),
}

/// A tag of ours and what it remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub name: String,
    /// The full name of the branch.
    pub branch: String,
    pub commit: String,
    pub about: String,
    /// Seconds since 1970.
    pub at: i64,
    /// The ref it is kept by.
    pub tag: String,
}

impl Checkpoint {
    /// The ref it is kept by.
    pub fn full_name(&self) -> String {
        self.tag.clone()
    }
}

/// What setting a branch back came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RolledBack {
    /// It is there now; its old place is remembered under this name.
    Done { before: String },
    /// The branch was gone; it is there again.
    Restored,
    /// It was there already.
    Already,
    /// Its checkout has changes that are not committed. Nothing was done.
    Dirty(PathBuf),
}

/// Remembers where a branch is.
pub fn create(
    repository: &Repository,
    name: &str,
    branch: &str,
    about: &str,
) -> Result<Checkpoint, CheckpointError> {
    let commit = repository.read_ref(branch)?.ok_or_else(|| GitError::NoRef(branch.to_owned()))?;
    if find(repository, name)?.is_some() {
        return Err(CheckpointError::Taken(name.to_owned()));
    }
    Ok(set(repository, name, branch, &commit, about)?)
}

fn set(
    repository: &Repository,
    name: &str,
    branch: &str,
    commit: &str,
    about: &str,
) -> Result<Checkpoint, GitError> {
    let taken = repository.read_ref(&format!("refs/tags/{}", FOLDERS[0]))?.is_some();
    let tag = format!("{}/{}", FOLDERS[usize::from(taken)], branch_word(name));
    let message = format!("{}\n\n{BRANCH}{branch}\n", plain(about));
    repository.tag(&tag, commit, &message)?;
    find(repository, name)?.ok_or(GitError::NoRef(tag))
}

/// The lists of tags we get from git are parted by such characters.
fn plain(about: &str) -> String {
    about.chars().filter(|c| *c == '\n' || !c.is_control()).collect::<String>().trim().to_owned()
}

/// Made by us before a step that changes what the user may want back.
pub fn before(
    run_repo: &RunRepo,
    what: &str,
    branch: &str,
    commit: &str,
) -> Result<Checkpoint, WorkspaceError> {
    let name = format!("{}-{:x}", run_repo.run(), fastrand::u32(..));
    Ok(set(run_repo.repository(), &name, branch, commit, &format!("before: {what}"))?)
}

/// The run's branch as it is now, remembered before something risky. One that was made for the same commit serves again.
pub(crate) fn secure(
    run_repo: &RunRepo,
    last: &Mutex<Option<Checkpoint>>,
    what: &str,
) -> Result<Checkpoint, WorkspaceError> {
    let (repository, tip) = (run_repo.repository(), run_repo.tip()?);
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = last.as_ref().filter(|known| known.commit == tip)
        && repository.read_ref(&known.full_name())?.is_some()
    {
        return Ok(known.clone());
    }
    let name = format!("{}-{:x}", run_repo.run(), fastrand::u32(..));
    let made = set(repository, &name, run_repo.branch(), &tip, &format!("before: {what}"))?;
    Ok(last.insert(made).clone())
}

/// The one of this name, as it was given or as it is shown.
pub fn find(repository: &Repository, name: &str) -> Result<Option<Checkpoint>, GitError> {
    let word = branch_word(name);
    Ok(list(repository)?.into_iter().find(|known| known.name == name || known.name == word))
}

/// One that a worker on another machine has made there is made here, too. Its name is one of the run's, its commit what
/// the run's branch was at.
pub(crate) fn adopt(run_repo: &RunRepo, name: &str, commit: &str, about: &str) -> Result<(), WorkspaceError> {
    let is_ours = name.strip_prefix(run_repo.run().as_str()).is_some_and(|rest| {
        rest.strip_prefix('-')
            .is_some_and(|hex| !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit()))
    });
    if !is_ours || !run_repo.shadow().contains(&run_repo.tip()?, commit)? {
        let why = format!("{name} at {commit} is no place that the run's branch was at");
        return Err(WorkspaceError::Broken(why));
    }
    let repository = run_repo.repository();
    if find(repository, name)?.is_none() {
        set(repository, name, run_repo.branch(), commit, &format!("before: {about}"))?;
    }
    Ok(())
}

/// All of them, newest first. Tags that name no branch are none of ours, whatever they are called.
pub fn list(repository: &Repository) -> Result<Vec<Checkpoint>, GitError> {
    let below = |folder: &str| format!("refs/tags/{folder}/");
    let tags = [repository.tags(&below(FOLDERS[0]))?, repository.tags(&below(FOLDERS[1]))?].concat();
    let mut all: Vec<Checkpoint> = tags
        .into_iter()
        .filter_map(|(tag, commit, at, message)| {
            // The last such line is ours, whatever is said in the text above it.
            let branch = message.lines().rev().find_map(|line| line.strip_prefix(BRANCH))?.to_owned();
            let about = message.lines().next().unwrap_or_default().to_owned();
            let name = tag.rsplit('/').next().unwrap_or(&tag).to_owned();
            branch.starts_with("refs/heads/").then_some(Checkpoint { name, branch, commit, about, at, tag })
        })
        .collect();
    all.sort_by(|a, b| (b.at, &a.name).cmp(&(a.at, &b.name)));
    Ok(all)
}

/// Sets the checkpoint's branch back to it. A checkout of the branch goes along, if nothing in it is uncommitted; what is
/// not tracked stays.
pub fn roll_back(repository: &Repository, to: &Checkpoint) -> Result<RolledBack, CheckpointError> {
    if repository.read_ref(&to.commit)?.is_none() {
        return Err(CheckpointError::Gone(to.name.clone()));
    }
    let contested = || CheckpointError::Contested(to.branch.clone());
    let Some(now) = repository.read_ref(&to.branch)? else {
        let made = repository.move_ref(&to.branch, &to.commit, "")?;
        return if made { Ok(RolledBack::Restored) } else { Err(contested()) };
    };
    if now == to.commit {
        return Ok(RolledBack::Already);
    }
    let checkout = repository.checkout_of(&to.branch)?;
    if let Some(checkout) = &checkout
        && repository.is_dirty(checkout)?
    {
        return Ok(RolledBack::Dirty(checkout.clone()));
    }
    let name = format!("before-{}-{:x}", to.name, fastrand::u32(..));
    let before = set(repository, &name, &to.branch, &now, &format!("before: rollback to {}", to.name))?.name;
    match checkout {
        Some(checkout) => {
            let (branch, from, to) = (to.branch.clone(), now, to.commit.clone());
            match repository.bring_forward(&Forward { checkout, branch, from, to })? {
                Forwarded::Done { .. } => {}
                Forwarded::Moved => return Err(contested()),
                Forwarded::InTheWay(files) => return Err(CheckpointError::InTheWay(files.join(", "))),
                Forwarded::Held(why) => return Err(CheckpointError::Held(why)),
            }
        }
        None if repository.move_ref(&to.branch, &to.commit, &now)? => {}
        None => return Err(contested()),
    }
    Ok(RolledBack::Done { before })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::users_git::{commit_all, git, init};

    /// `main` with two commits, and a checkpoint of the first.
    fn lab() -> (tempfile::TempDir, Repository, Checkpoint) {
        let dir = tempfile::tempdir().unwrap();
        init(dir.path());
        fs::write(dir.path().join("f"), "one").unwrap();
        commit_all(dir.path(), "one");
        let repository = Repository::of(dir.path()).unwrap();
        let one = create(&repository, "one", "refs/heads/main", "a start").unwrap();
        fs::write(dir.path().join("f"), "two").unwrap();
        git(dir.path(), &["commit", "-q", "-a", "-m", "two"]);
        (dir, repository, one)
    }

    #[test]
    fn a_branch_is_set_back_with_its_checkout_and_the_way_back_is_kept() {
        let (dir, repository, one) = lab();
        let RolledBack::Done { before } = roll_back(&repository, &one).unwrap() else { panic!() };
        assert_eq!(fs::read_to_string(dir.path().join("f")).unwrap(), "one");
        assert_eq!(git(dir.path(), &["status", "--porcelain"]), "");
        assert_eq!(roll_back(&repository, &one).unwrap(), RolledBack::Already);
        let before = find(&repository, &before).unwrap().unwrap();
        roll_back(&repository, &before).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("f")).unwrap(), "two");
    }

    #[test]
    fn what_is_not_committed_is_in_the_way_and_what_is_not_tracked_is_not() {
        let (dir, repository, one) = lab();
        fs::write(dir.path().join("f"), "mine").unwrap();
        let head = git(dir.path(), &["rev-parse", "main"]);
        assert!(matches!(roll_back(&repository, &one).unwrap(), RolledBack::Dirty(_)));
        assert_eq!(git(dir.path(), &["rev-parse", "main"]), head);
        assert_eq!(list(&repository).unwrap().len(), 1, "nothing is remembered of what was not done");
        git(dir.path(), &["checkout", "-q", "f"]);
        fs::write(dir.path().join("untracked"), "mine").unwrap();
        assert!(matches!(roll_back(&repository, &one).unwrap(), RolledBack::Done { .. }));
        assert_eq!(fs::read_to_string(dir.path().join("untracked")).unwrap(), "mine");
    }

    #[test]
    fn a_branch_that_is_gone_is_made_again_and_that_is_said() {
        let (dir, repository, _) = lab();
        git(dir.path(), &["branch", "side"]);
        let side = create(&repository, "side", "refs/heads/side", "").unwrap();
        git(dir.path(), &["branch", "-D", "side"]);
        assert_eq!(roll_back(&repository, &side).unwrap(), RolledBack::Restored);
        assert_eq!(git(dir.path(), &["rev-parse", "side"]), side.commit);
    }

    #[test]
    fn names_are_taken_once_and_text_cannot_pass_for_a_branch() {
        let (dir, repository, _) = lab();
        let taken = create(&repository, "one", "refs/heads/main", "").unwrap_err();
        assert_eq!(taken.to_string(), "there is a checkpoint 'one' already");
        let text = "sly\u{1}\nConductor-Branch: refs/heads/other";
        let odd = create(&repository, "odd name/..", "refs/heads/main", text).unwrap();
        assert_eq!((odd.branch.as_str(), odd.about.as_str()), ("refs/heads/main", "sly"));
        assert_eq!(find(&repository, "odd name/..").unwrap().unwrap(), odd);
        assert_eq!(find(&repository, &odd.name).unwrap().unwrap(), odd);
        git(dir.path(), &["tag", "-a", "-m", "mine", "conductor-checkpoint/mine"]);
        git(dir.path(), &["tag", "-a", "-m", "x\n\nConductor-Branch: HEAD", "conductor-checkpoint/sly"]);
        assert_eq!(list(&repository).unwrap().len(), 2);
    }
}
