//! Merging onto the run's branch, in memory: several changes stacked on one another, and the run's branch brought home.
//!
//! Nothing here is checked or moved; what is stacked becomes the branch only when the train moves it.

use std::path::PathBuf;

use conductor_core::plan::{MergeStrategy, Task};
use conductor_core::run::event::{Change, Failure, FailureClass};
use conductor_core::schedule::{Car, Side};
use conductor_core::values::ids::RunId;

use crate::git::checkpoints;
use crate::git::conflict_markers::{self, Look};
use crate::git::workspaces::{RunRepo, WorkspaceError};
use crate::git::{Forward, Forwarded, InTheWay, Merge, Shadow};
use crate::host::redact;

/// What merging came to: commits from the branch's place upwards, and who does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    pub from: String,
    pub steps: Vec<Step>,
    /// Which car does not fit and why, with how many had been stacked by then.
    pub failed: Vec<(usize, usize, Failure)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub car: usize,
    /// The commit by which it is on the branch.
    pub to: String,
    /// Its tree is the very one its task was verified on.
    pub verified: bool,
}

/// Whether work holds no marks of a conflict. It is looked at when it is collected, and then not again when it lands. Blocks.
pub fn is_unmarked(run_repo: &RunRepo, change: &Change) -> Result<bool, WorkspaceError> {
    Ok(conflict_markers::of_change(run_repo, change, Look::default())?.is_empty())
}

/// Stacks the cars on wherever the branch is now. Blocks.
pub fn stack(run_repo: &RunRepo, cars: &[(&Task, &Car)]) -> Result<Stack, WorkspaceError> {
    let from = run_repo.tip()?;
    let mut stack = Stack { from: from.clone(), steps: Vec::new(), failed: Vec::new() };
    let mut tip = from;
    for (number, (task, car)) in cars.iter().enumerate() {
        match coupled(run_repo, task, car, &tip)? {
            Ok(to) => {
                let verified = car.change.base == tip && !car.change.edited;
                stack.steps.push(Step { car: number, to: to.clone(), verified });
                tip = to;
            }
            Err(failure) => stack.failed.push((number, stack.steps.len(), failure)),
        }
    }
    Ok(stack)
}

/// One car on top of a commit, as its task wants it there. All that lands passes here.
fn coupled(
    run_repo: &RunRepo,
    task: &Task,
    car: &Car,
    tip: &str,
) -> Result<Result<String, Failure>, WorkspaceError> {
    let to = match fitted(run_repo, task, car, tip)? {
        Ok(to) => to,
        Err(failure) => return Ok(Err(failure)),
    };
    match conflict_markers::refused(run_repo, task, &car.change, tip, &to)? {
        Some(failure) => Ok(Err(failure)),
        None => Ok(Ok(to)),
    }
}

/// The same, whatever is in it.
fn fitted(
    run_repo: &RunRepo,
    task: &Task,
    car: &Car,
    tip: &str,
) -> Result<Result<String, Failure>, WorkspaceError> {
    let coupling = Coupling { shadow: run_repo.shadow(), run: run_repo.run(), task, car, tip };
    if car.change.base == tip {
        return coupling.as_it_is().map(Ok);
    }
    match coupling.merged(None)? {
        Ok(to) => Ok(Ok(to)),
        Err(failure) => match car.favour {
            None => Ok(Err(failure)),
            Some(side) => {
                let what = format!("the conflict of {} is decided", task.id);
                let before = checkpoints::before(run_repo, &what, run_repo.branch(), tip)?;
                let decided = coupling.merged(Some(side));
                if matches!(decided, Ok(Err(_))) {
                    run_repo.repository().delete_ref(&before.full_name())?;
                }
                decided
            }
        },
    }
}

/// The commit by which a merge that a person has made stands on top of another, as its task wants it there.
pub(crate) fn made_by_hand(
    run_repo: &RunRepo,
    task: &Task,
    car: &Car,
    tip: &str,
    tree: &str,
) -> Result<String, WorkspaceError> {
    Coupling { shadow: run_repo.shadow(), run: run_repo.run(), task, car, tip }.commit(tree)
}

struct Coupling<'a> {
    shadow: &'a Shadow,
    run: &'a RunId,
    task: &'a Task,
    car: &'a Car,
    tip: &'a str,
}

impl Coupling<'_> {
    /// Nothing has landed since it started: its own tree is the combined tree. One commit of ours is what a squash would
    /// be; own commits of an agent get a commit of ours above them, so that the branch has one entry for each task.
    fn as_it_is(&self) -> Result<String, WorkspaceError> {
        let commit = &self.car.change.commit;
        let (parents, message) = self.shadow.read_commit(commit)?;
        let ours = parents.first().is_some_and(|parent| parent == self.tip)
            && message.contains("\nConductor-Task: ");
        if ours || self.task.merge_strategy == MergeStrategy::Rebase {
            return Ok(commit.clone());
        }
        let tree = self.shadow.tree_of_commit(commit)?;
        self.commit(&tree)
    }

    fn merged(&self, favour: Option<Side>) -> Result<Result<String, Failure>, WorkspaceError> {
        let merged = match self.task.merge_strategy {
            MergeStrategy::Rebase => self.rebased(favour),
            MergeStrategy::Squash | MergeStrategy::Merge => self.joined(favour),
        };
        match merged {
            Err(error) => match unrelated(self.shadow, self.tip, &self.car.change.commit)? {
                Some(failure) => Ok(Err(failure)),
                None => Err(error),
            },
            merged => merged,
        }
    }

    fn joined(&self, favour: Option<Side>) -> Result<Result<String, Failure>, WorkspaceError> {
        let Change { commit, .. } = &self.car.change;
        match self.shadow.merge_from(self.car.change.own_base(), self.tip, commit, favour)? {
            Merge::Clean { tree } => self.commit(&tree).map(Ok),
            conflict => Ok(Err(self.failure(&conflict)?)),
        }
    }

    fn commit(&self, tree: &str) -> Result<String, WorkspaceError> {
        let Task { id, name, .. } = self.task;
        let trailers = self.trailers();
        let commit = &self.car.change.commit;
        Ok(match self.task.merge_strategy {
            MergeStrategy::Squash | MergeStrategy::Rebase => {
                let title = self.task.commit_title();
                self.shadow.commit(tree, &[self.tip], &format!("{title}\n\n{trailers}"))?
            }
            MergeStrategy::Merge => self.shadow.commit(
                tree,
                &[self.tip, commit],
                &format!("Merge task {id}: {name}\n\n{trailers}"),
            )?,
        })
    }

    fn trailers(&self) -> String {
        let tasks = self.car.others.iter().chain([&self.task.id]);
        let tasks: String = tasks.map(|task| format!("Conductor-Task: {task}\n")).collect();
        format!("Conductor-Run: {}\n{tasks}", self.run)
    }

    /// Each of its commits made anew on top of the one before.
    fn rebased(&self, favour: Option<Side>) -> Result<Result<String, Failure>, WorkspaceError> {
        let mut tip = self.tip.to_owned();
        let from = self.car.change.own_base().unwrap_or(self.tip);
        for commit in self.shadow.line(from, &self.car.change.commit)? {
            let base = format!("{commit}^");
            match self.shadow.merge_from(Some(&base), &tip, &commit, favour)? {
                Merge::Clean { tree } => tip = self.shadow.commit_like(&commit, &tree, &tip)?,
                conflict => return Ok(Err(self.failure(&conflict)?)),
            }
        }
        Ok(Ok(tip))
    }

    fn failure(&self, conflict: &Merge) -> Result<Failure, WorkspaceError> {
        failure(self.shadow, conflict, "what landed meanwhile", self.task.id.as_str())
    }
}

/// Why work cannot be merged at all, where it has nothing in common with what it would be merged with.
pub fn unrelated(shadow: &Shadow, tip: &str, commit: &str) -> Result<Option<Failure>, WorkspaceError> {
    if shadow.merge_base(tip, commit)?.is_some() {
        return Ok(None);
    }
    let message =
        format!("{commit:.10} has no history in common with the run's branch; see `git show {commit:.10}`");
    Ok(Some(Failure::new(FailureClass::Diverged, message)))
}

/// What both sides changed, in words and with the places.
fn failure(shadow: &Shadow, conflict: &Merge, with: &str, theirs: &str) -> Result<Failure, WorkspaceError> {
    let Merge::Conflict { tree, files, messages } = conflict else {
        return Ok(Failure::new(FailureClass::Conflict, "conflicts"));
    };
    let named = match files.as_slice() {
        [] => "its work".to_owned(),
        [one] => one.clone(),
        [one, rest @ ..] => format!("{one} and {} more", rest.len()),
    };
    let mut evidence = String::new();
    for path in files.iter().take(HUNK_FILES) {
        let text = shadow.blob(tree, path).unwrap_or_default();
        evidence.push_str(&hunks(path, &String::from_utf8_lossy(&text), theirs));
    }
    if evidence.is_empty() {
        evidence.clone_from(messages);
    }
    let message = format!("conflicts with {with} in {named}");
    Ok(Failure::new(FailureClass::Conflict, message).with(evidence))
}

/// How much of a conflict is shown.
const HUNK_FILES: usize = 5;
const HUNK_LINES: usize = 60;

/// The conflicting parts of a file and where they are, with whose they are instead of commits' names.
pub fn hunks(path: &str, text: &str, theirs: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    let mut shown = 0;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("<<<<<<< ") {
            inside = true;
            out.push_str(&format!("{path}:{}\n", number + 1));
        }
        let ends = inside && line.starts_with(">>>>>>> ");
        if inside && shown < HUNK_LINES {
            match () {
                () if line.starts_with("<<<<<<< ") => out.push_str("<<<<<<< landed\n"),
                () if ends => out.push_str(&format!(">>>>>>> {theirs}\n")),
                () => out.extend([redact::known().cut(line, 200).as_str(), "\n"]),
            }
            shown += 1;
        }
        inside &= !ends;
    }
    out
}

/// What became of the run's branch at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// No task changed anything; the branch is gone again.
    Unchanged,
    /// It waits for the user, who did not ask for more, or could not be given more because of this.
    Left { branch: String, why: Option<String>, in_the_way: InTheWay },
    /// The user's own branch holds it now.
    Merged { branch: String, into: String },
}

/// What bringing the run's branch up to date came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Synced {
    /// The branch holds it already.
    Already,
    /// It is there now.
    Done {
        to: String,
    },
    Conflict(Failure),
    /// The branch is checked out there, with changes that are not committed.
    Dirty(PathBuf),
}

/// Merges what the user has gone on to into the run's branch, so that their branch can be brought forward to it again.
/// Blocks.
pub fn sync(run_repo: &RunRepo, with: &str) -> Result<Synced, WorkspaceError> {
    let (shadow, branch) = (run_repo.shadow(), run_repo.branch());
    let (head, name) = (run_repo.repository().head.clone(), short(branch));
    let tip = run_repo.tip()?;
    if shadow.contains(&tip, &head)? {
        return Ok(Synced::Already);
    }
    let to = match shadow.contains(&head, &tip)? {
        true => head,
        false => match shadow.merge(&tip, &head, None)? {
            Merge::Clean { tree } => {
                shadow.commit(&tree, &[&tip, &head], &format!("Merge {with} into {name}\n"))?
            }
            conflict => return Ok(Synced::Conflict(failure(shadow, &conflict, with, with)?)),
        },
    };
    if let Some(checkout) = dirty_checkout(run_repo)? {
        return Ok(Synced::Dirty(checkout));
    }
    checkpoints::before(run_repo, &format!("{with} is merged into {name}"), branch, &tip)?;
    Ok(match advance(run_repo, &tip, &to)? {
        Advanced::Done => Synced::Done { to },
        Advanced::Dirty(checkout) => Synced::Dirty(checkout),
        Advanced::Moved => return Err(WorkspaceError::Contested(name)),
    })
}

/// What moving the run's branch came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advanced {
    Done,
    /// Another process moved it first.
    Moved,
    Dirty(PathBuf),
}

/// Moves the run's branch for a person who waits for it, and with it a checkout they may have of it. Blocks.
pub(crate) fn advance(run_repo: &RunRepo, from: &str, to: &str) -> Result<Advanced, WorkspaceError> {
    if let Some(checkout) = dirty_checkout(run_repo)? {
        return Ok(Advanced::Dirty(checkout));
    }
    let repository = run_repo.repository();
    let moved = match repository.checkout_of(run_repo.branch())? {
        None => run_repo.move_tip(from, to)?,
        Some(_) if run_repo.tip()? != from => false,
        Some(checkout) => {
            let forward = forward(checkout, run_repo.branch(), from, to);
            match repository.bring_forward(&forward)? {
                Forwarded::Done { .. } => run_repo.tip()? == to,
                Forwarded::Moved => false,
                Forwarded::InTheWay(files) => return Err(WorkspaceError::InTheWay(forward.checkout, files)),
                Forwarded::Held(why) => return Err(WorkspaceError::Held(short(run_repo.branch()), why)),
            }
        }
    };
    Ok(if moved { Advanced::Done } else { Advanced::Moved })
}

/// A checkout of the run's branch that has changes which are not committed.
fn dirty_checkout(run_repo: &RunRepo) -> Result<Option<PathBuf>, WorkspaceError> {
    let repository = run_repo.repository();
    Ok(match repository.checkout_of(run_repo.branch())? {
        Some(checkout) if repository.is_dirty(&checkout)? => Some(checkout),
        _ => None,
    })
}

fn forward(checkout: PathBuf, branch: &str, from: &str, to: &str) -> Forward {
    Forward { checkout, branch: branch.to_owned(), from: from.to_owned(), to: to.to_owned() }
}

/// Puts the run's work where the user wants it: first what an earlier try was killed in the middle of, then the rest.
/// Their branch is only ever brought forward, and only when it was not moved, its checkout, if there is one, has nothing
/// uncommitted and nothing in the way, and what git runs there was not changed. `landed` says whether anything did.
/// Blocks.
pub fn bring_home(run_repo: &RunRepo, into_branch: bool, landed: bool) -> Result<Ending, WorkspaceError> {
    let (repository, branch) = (run_repo.repository(), short(run_repo.branch()));
    if let Some(told) = repository.end_forward(&repository.root)? {
        run_repo.notice(told);
    }
    let tip = run_repo.tip()?;
    match (run_repo.shadow().contains(&repository.head, &tip)?, &repository.branch) {
        (true, into) if landed => {
            let into = into.as_deref().map_or_else(|| "your checkout".to_owned(), short);
            return Ok(Ending::Merged { branch, into });
        }
        (true, _) => {
            repository.delete_ref(run_repo.branch())?;
            return Ok(Ending::Unchanged);
        }
        (false, _) => {}
    }
    let why = match into_branch {
        false => None,
        true => match home(run_repo, &tip)? {
            Ok(into) => return Ok(Ending::Merged { branch, into }),
            Err(why) => Some(why),
        },
    };
    // As it is now: the user may have gone on.
    let head = repository.head_in(&repository.root)?;
    let in_the_way = repository.in_the_way(&head, &tip)?;
    Ok(Ending::Left { branch, why, in_the_way })
}

const MOVED: &str = "the branch it started from has moved";

/// The branch that holds it now, or why none does.
fn home(run_repo: &RunRepo, tip: &str) -> Result<Result<String, String>, WorkspaceError> {
    let repository = run_repo.repository();
    let left = |why: &str| Ok(Err(why.to_owned()));
    let Some(target) = &repository.branch else { return left("no branch is checked out") };
    let Some(now) = repository.read_ref(target)? else { return left("the branch it started from is gone") };
    if !run_repo.shadow().contains(tip, &now)? {
        return left(MOVED);
    }
    if repository.settings_changed() {
        return left("git's configuration was changed while the run was at work; look at it first");
    }
    let what = format!("{} is merged", short(run_repo.branch()));
    let before = checkpoints::before(run_repo, &what, target, &now)?;
    let moved = move_home(run_repo, target, &now, tip);
    if matches!(moved, Ok(Err(_))) {
        // Nothing was touched, so there is nothing to roll back.
        repository.delete_ref(&before.full_name())?;
    }
    moved
}

/// Moves the branch, and its checkout with it; or why that was not done.
fn move_home(
    run_repo: &RunRepo,
    target: &str,
    now: &str,
    tip: &str,
) -> Result<Result<String, String>, WorkspaceError> {
    let repository = run_repo.repository();
    let Some(checkout) = repository.checkout_of(target)? else {
        return Ok(match repository.move_ref(target, tip, now)? {
            true => Ok(short(target)),
            false => Err(MOVED.to_owned()),
        });
    };
    Ok(match repository.bring_forward(&forward(checkout, target, now, tip))? {
        Forwarded::Done { kept } => {
            for file in kept {
                run_repo.notice(format!(
                    "{file} was changed in your checkout at that very moment and stays as it is"
                ));
            }
            Ok(short(target))
        }
        Forwarded::Moved => Err(MOVED.to_owned()),
        Forwarded::InTheWay(_) => Err("files that git does not track are in the way".to_owned()),
        Forwarded::Held(why) => Err(why),
    })
}

pub fn short(name: &str) -> String {
    name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()
}
