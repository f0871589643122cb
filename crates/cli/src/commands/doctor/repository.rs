//! The repository we are in.

use std::path::Path;
use std::time::Duration;

use conductor_engine::git::{GitError, Repository, UNDER_WAY};

use super::Finding;

/// A search for a commit moves no branch, but what is checked out.
const BISECT: (&str, &str) = ("BISECT_LOG", "a bisect");

/// No git command holds a lock for this long.
const OLD: Duration = Duration::from_secs(10 * 60);

pub(super) fn state(here: &Path, fix: bool) -> Vec<Finding> {
    let repository = match Repository::of(here) {
        Ok(repository) => repository,
        Err(error) => return vec![without(error)],
    };
    let mut findings = Vec::new();
    let git = Repository::common_of(here).unwrap_or_else(|_| here.join(".git"));
    let begun = UNDER_WAY.iter().chain([&BISECT]).find(|(file, _)| git.join(file).exists());
    findings.push(match begun {
        Some((_, what)) => {
            Finding::warning("repository", format!("{what} is under way in {}", here.display()))
                .remedy("end or abort it first: runs start from the last commit")
        }
        None => Finding::ok("repository", repository.root.display().to_string()),
    });
    findings.extend(locks(&git));
    findings.extend(lost_worktrees(&repository, fix));
    findings.extend(cut_short(&repository, fix));
    findings
}

fn without(error: GitError) -> Finding {
    match error {
        GitError::NotOne(_) => Finding::warning(
            "repository",
            "this is no git repository: commands work right here, prompts need --isolation none",
        )
        .remedy("git init, so that each gets a worktree of its own"),
        GitError::Unborn(_) => Finding::warning("repository", error.to_string())
            .remedy("make a first commit: git commit --allow-empty -m 'Start'"),
        error => {
            let remedy = error.remedy().unwrap_or_else(|| "mend it, or go to another checkout".to_owned());
            Finding::problem("repository", format!("{error}; no run starts here")).remedy(remedy)
        }
    }
}

/// Locks of git commands that must have died. Only the user may remove them.
fn locks(git: &Path) -> Option<Finding> {
    let is_old = |name: &&str| {
        let changed = std::fs::metadata(git.join(name)).and_then(|data| data.modified());
        changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > OLD))
    };
    let lock =
        ["index.lock", "HEAD.lock", "packed-refs.lock", "config.lock"].iter().find(|name| is_old(name))?;
    let path = git.join(lock);
    Some(
        Finding::warning("locks", format!("{} is older than ten minutes", path.display()))
            .remedy(format!("if no git command runs here: rm '{}'", path.display())),
    )
}

/// A run was killed while it brought its work into the checkout.
fn cut_short(repository: &Repository, fix: bool) -> Option<Finding> {
    if !repository.is_cut_short(&repository.root) {
        return None;
    }
    let words = "a run was killed while it brought this checkout forward; the checkout is half-way";
    let finding =
        Finding::warning("checkout", words).remedy("conductor run --resume, or `conductor doctor --fix`");
    match fix.then(|| repository.end_forward(&repository.root)) {
        Some(Ok(done)) => Some(finding.mended(done.unwrap_or_else(|| "nothing was missing".to_owned()))),
        Some(Err(error)) => Some(Finding::problem("checkout", format!("{words}: {error}"))),
        None => Some(finding),
    }
}

/// Worktrees of ours that git remembers and that are gone.
fn lost_worktrees(repository: &Repository, fix: bool) -> Option<Finding> {
    let lost = repository.worktrees().ok()?.into_iter().filter(|folder| !folder.exists()).count();
    if lost == 0 {
        return None;
    }
    let finding = Finding::warning("worktrees", format!("git remembers {lost} worktrees that are gone"))
        .remedy("git worktree prune, or `conductor doctor --fix`");
    match fix && repository.prune_worktrees().is_ok() {
        true => Some(finding.mended(format!("made git forget {lost} of them"))),
        false => Some(finding),
    }
}
