//! `worktree sync`: brings the run's branch up to date with the branch it started from.

use conductor_engine::git::merge::{self, Synced, short};
use conductor_engine::git::workspaces::RunRefs;
use conductor_engine::process::transcript;
use serde_json::json;

use super::{answer_either, talk};
use crate::archive::{self, Archive};
use crate::args::WorktreeSync;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};

pub(super) async fn sync(args: &WorktreeSync) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    for stored in archive.candidates(args.run.as_deref())? {
        let repository = archive::repository(&stored)?;
        let RunRefs { branch, .. } = RunRefs::of(&repository, &stored.id)?;
        if repository.read_ref(&branch)?.is_none() {
            continue;
        }
        let amendment = archive.amend(&stored.id).await?;
        let with = repository.branch.as_deref().map_or_else(|| format!("{:.10}", repository.head), short);
        let run_repo = archive::place_of_run(&archive.home, &stored, amendment.run()).context(repository)?;
        let synced = merge::sync(&run_repo, &with)?;
        if let Synced::Done { to } = &synced {
            let in_the_way = run_repo.repository().in_the_way(&run_repo.repository().head, to)?;
            for file in &in_the_way.untracked {
                talk(format!(
                    "{} is not tracked, and a merge overwrites it: move it away first",
                    one_line(file)
                ));
            }
            for file in &in_the_way.changed {
                talk(format!("{} has uncommitted changes, with which git refuses the merge", one_line(file)));
            }
        }
        return report(args.json, synced, &short(&branch), &with);
    }
    let which =
        args.run.as_ref().map_or_else(|| "no run here".to_owned(), |run| format!("run {run} does not"));
    let has = if args.run.is_some() { "have" } else { "has" };
    Err(CliError::new(Exit::NothingToDo, format!("{which} {has} a branch: nothing has landed")))
}

fn report(as_json: bool, synced: Synced, branch: &str, with: &str) -> Result<Exit, CliError> {
    let told = |words: &str, outcome: &str, commit: Option<&str>, evidence: Option<&str>| {
        let value = json!({
            "branch": branch, "with": with, "outcome": outcome, "commit": commit, "evidence": evidence,
        });
        answer_either(as_json, words, "conductor.worktree-sync/1", value)
    };
    match synced {
        Synced::Already if as_json => told("", "already", None, None)?,
        Synced::Already => talk(format!("{branch} holds {with} already")),
        Synced::Done { to } => {
            told(&format!("{branch} holds {with} now, as {to:.10}"), "synced", Some(&to), None)?;
            talk(format!("next: git merge {branch}"));
        }
        Synced::Conflict(failure) => {
            let evidence = transcript::shown(failure.evidence.as_bytes());
            told(&evidence, "conflict", None, Some(&evidence))?;
            let message = format!("{branch} {}; nothing was moved", one_line(&failure.message));
            return Err(CliError::new(Exit::ConflictLeft, message)
                .help(format!("merge it yourself: git merge {branch}")));
        }
        Synced::Dirty(checkout) => {
            let message =
                format!("{branch} is checked out in {} with uncommitted changes", checkout.display());
            return Err(CliError::new(Exit::Unexpected, message).help("commit or stash them first"));
        }
    }
    Ok(Exit::Done)
}
