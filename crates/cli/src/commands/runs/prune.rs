//! `runs prune`: removes what old runs have left, but no active run and no work that is kept nowhere else.

use std::fs;

use conductor_core::values::ids::RunId;
use conductor_core::values::units::Timestamp;
use conductor_engine::git::workspaces::{RunRefs, empty_trash, inventory};
use conductor_engine::git::{GitError, Repository};
use conductor_engine::host::access;
use conductor_engine::host::clock::wall;
use conductor_engine::host::home::HomeError;
use conductor_engine::process;
use conductor_engine::stores::{StoredRun, was_written};
use serde::Serialize;

use super::refs::{self, RefVerdict};
use super::{answer, answer_json, plans, talk};
use crate::archive::Archive;
use crate::args;
use crate::commands::worktree::clear_all;
use crate::error::{CliError, Exit};
use crate::progress::json::timestamp;

use plans::PlanVerdict;

const SCHEMA: &str = "conductor.prune/1";

#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    /// Whether this only says what would be done.
    dry_run: bool,
    runs: Vec<Verdict>,
    /// Folders of runs that were killed before they were in the store.
    empty_folders: Vec<RunId>,
    /// Branches and kept work of runs that are gone, in the repository we are in.
    left_refs: Vec<RefVerdict>,
    /// What planners said, of plans that no run there is was made of.
    plans: Vec<PlanVerdict>,
}

#[derive(Debug, Serialize)]
struct Verdict {
    run: RunId,
    created_at: String,
    state: String,
    goes: bool,
    /// Why it stays.
    why: Option<String>,
    /// Its branch, kept work and checkpoints, as far as they are asked for.
    refs: Vec<RefVerdict>,
}

pub(super) async fn prune(args: &args::RunsPrune) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let mut report = Report {
        schema: SCHEMA,
        dry_run: !args.yes,
        runs: Vec::new(),
        empty_folders: empty_folders(&archive),
        left_refs: Vec::new(),
        plans: Vec::new(),
    };
    if args.unreachable && !args.branches && !args.refs {
        let message = "--unreachable needs --branches or --refs";
        return Err(CliError::new(Exit::Usage, message).help("name one of them, or both"));
    }
    for stored in old(&archive, args)? {
        report.runs.push(judged(&archive, &stored, args).await);
    }
    let going: Vec<&RunId> =
        report.runs.iter().filter(|verdict| verdict.goes).map(|verdict| &verdict.run).collect();
    report.plans = plans::old(&archive, args, &going)?;
    report.left_refs = refs::left_behind(&archive, args)?;
    if args.yes {
        carry_out(&archive, &mut report, args).await;
        empty_trash(archive.home.root());
    }
    match args.json {
        true => answer_json(&report)?,
        false => tell(&report, args)?,
    }
    Ok(Exit::Done)
}

/// Those that are meant; none where it is not said which.
fn old(archive: &Archive, args: &args::RunsPrune) -> Result<Vec<StoredRun>, CliError> {
    if args.older_than.is_none() && args.keep.is_none() {
        return Ok(Vec::new());
    }
    let runs = if args.here { archive.here()? } else { archive.runs().to_vec() };
    let now = wall();
    let old = |created: Timestamp| args.older_than.is_none_or(|age| now - created > age);
    Ok(runs.into_iter().skip(args.keep.unwrap_or(0)).filter(|run| old(run.created)).collect())
}

/// A folder that is claimed belongs to a coordinator that is about to start.
fn empty_folders(archive: &Archive) -> Vec<RunId> {
    let home = &archive.home;
    let empty = |run: &RunId| archive.known(run).is_none() && !home.is_live(run) && !was_written(home, run);
    home.runs().into_iter().filter(empty).collect()
}

async fn judged(archive: &Archive, stored: &StoredRun, args: &args::RunsPrune) -> Verdict {
    let why = match (archive.home.is_live(&stored.id), args.force) {
        (true, _) => Some("the run is active".to_owned()),
        (false, true) => None,
        (false, false) => worth_keeping(archive, stored),
    };
    let found = match (&why, repository(stored)) {
        (None, Ok(Some(repository))) => refs::of_run(&repository, &stored.id, args),
        (None, Err(error)) => Err(error),
        _ => Ok(Vec::new()),
    };
    let (refs, why) = match found {
        Ok(refs) => (refs, why),
        Err(error) => (Vec::new(), Some(format!("its branches and kept work cannot be read: {error}"))),
    };
    let created_at = timestamp(stored.created.0);
    Verdict {
        run: stored.id.clone(),
        created_at,
        state: stored.status.clone(),
        goes: why.is_none(),
        why,
        refs,
    }
}

/// What would be lost with it.
fn worth_keeping(archive: &Archive, stored: &StoredRun) -> Option<String> {
    let run = &stored.id;
    let workspaces = inventory(&archive.home, std::slice::from_ref(run));
    let branches = match repository(stored).and_then(|found| match found {
        Some(repository) => repository.refs(&RunRefs::of(&repository, run)?.tasks),
        None => Ok(Vec::new()),
    }) {
        Ok(branches) => branches,
        Err(error) => return Some(format!("what there is of it in its repository cannot be read: {error}")),
    };
    match workspaces {
        Err(error) => return Some(format!("its workspaces cannot be looked at: {error}")),
        Ok(found) if !found.is_empty() => {
            return Some(format!("there is work in its workspaces; first: conductor worktree clean {run}"));
        }
        Ok(_) if !branches.is_empty() => {
            return Some(format!(
                "there is work on branches of its tasks; first: conductor worktree clean {run}"
            ));
        }
        Ok(_) => {}
    }
    match stored.is_over() {
        true => None,
        false => Some("it is not done and could be resumed".to_owned()),
    }
}

/// The repository it worked in, if there is one still.
fn repository(stored: &StoredRun) -> Result<Option<Repository>, GitError> {
    if !stored.directory.is_dir() {
        return Ok(None);
    }
    match Repository::of(&stored.directory) {
        Ok(repository) => Ok(Some(repository)),
        Err(GitError::NotOne(_) | GitError::Unborn(_) | GitError::Bare(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn carry_out(archive: &Archive, report: &mut Report, args: &args::RunsPrune) {
    for verdict in report.runs.iter_mut().filter(|verdict| verdict.goes) {
        if let Err(why) = remove(archive, verdict, args).await {
            (verdict.goes, verdict.why) = (false, Some(why));
        }
    }
    report.empty_folders.retain(|run| match claim_and_clear(archive, run) {
        Ok(()) => true,
        Err(why) => {
            talk(format!("{run}: {why}"));
            false
        }
    });
    if let Ok(repository) = Repository::of(&archive.directory)
        && let Err(error) = refs::delete(&repository, &report.left_refs)
    {
        talk(format!("not all that runs have left in the repository could be taken away: {error}"));
    }
    // A run that stays after all keeps its plan.
    let stays = |run: &RunId| report.runs.iter().any(|verdict| verdict.run == *run && !verdict.goes);
    report.plans.retain(|plan| !plan.run.as_ref().is_some_and(stays) && plans::discard(archive, plan));
}

/// A process killed in the middle leaves either a run that can be read, or an empty folder.
async fn remove(archive: &Archive, verdict: &mut Verdict, args: &args::RunsPrune) -> Result<(), String> {
    let run = &verdict.run.clone();
    let stored = archive.known(run).cloned();
    if let Some(stored) = stored.as_ref().filter(|_| args.force)
        && let Err(cli_error) = clear_all(archive, stored).await
    {
        talk(format!("{run}: its workspaces could not be cleared: {}", cli_error.message()));
    }
    let claim = archive.home.claim(run).map_err(|error| match error {
        HomeError::Busy(_) => "the run is active".to_owned(),
        error => error.to_string(),
    })?;
    // Processes of a killed run: without its record, no command would find them any more.
    process::end_leftovers(run, claim.directory(), &[]);
    let _ = fs::remove_file(claim.directory().join("head"));
    archive.remove(run).await.map_err(|error| error.to_string())?;
    discard(archive, run)?;
    drop(claim);
    if let Some(stored) = stored
        && let Ok(Some(repository)) = repository(&stored)
    {
        // Asked for anew: clearing its workspaces may have kept work under a ref just now.
        let found = refs::of_run(&repository, run, args).map_err(|error| error.to_string())?;
        refs::delete(&repository, &found).map_err(|error| error.to_string())?;
        verdict.refs = found;
        let _ = repository.prune_worktrees();
    }
    Ok(())
}

fn claim_and_clear(archive: &Archive, run: &RunId) -> Result<(), String> {
    let _claim = archive.home.claim(run).map_err(|error| error.to_string())?;
    discard(archive, run)
}

/// A rename; the disk is cleared behind our back.
fn discard(archive: &Archive, run: &RunId) -> Result<(), String> {
    let trash = archive.home.root().join("trash");
    let unable = |error: std::io::Error| format!("its folder cannot be removed: {error}");
    access::create_private_dir_all(&trash).map_err(unable)?;
    fs::rename(archive.home.run(run), trash.join(format!("{run}-{:x}", fastrand::u64(..)))).map_err(unable)
}

fn tell(report: &Report, args: &args::RunsPrune) -> Result<(), CliError> {
    let (verb, count) = (if report.dry_run { "would go" } else { "gone" }, report.goes());
    for Verdict { run, created_at, state, goes, why, refs } in &report.runs {
        match (goes, why) {
            (false, Some(why)) => answer(&format!("{run}  stays     {why}"))?,
            _ => answer(&format!("{run}  {verb:<8}  {state}, started {created_at}"))?,
        }
        for found in refs.iter().filter(|_| *goes) {
            tell_ref(found, verb)?;
        }
    }
    for found in &report.left_refs {
        tell_ref(found, verb)?;
    }
    for run in &report.empty_folders {
        answer(&format!("{run}  {verb:<8}  an empty folder, nothing was ever run"))?;
    }
    for plan in &report.plans {
        answer(&format!("{}  {verb:<8}  what a planner said, asked {}", plan.plan, plan.asked_at))?;
    }
    match (count, report.dry_run) {
        (0, _) => talk("there is nothing to take away"),
        (count, true) => talk(format!("{count} would go; do it with --yes")),
        (count, false) => talk(format!("{count} gone")),
    }
    if args.older_than.is_none() && args.keep.is_none() {
        talk("which runs: --older-than 30d, --keep 20, or both");
    }
    Ok(())
}

fn tell_ref(found: &RefVerdict, verb: &str) -> Result<(), CliError> {
    let verb = if found.goes { verb } else { "stays" };
    answer(&format!("          {verb:<8}  {}{}", found.name, found.note()))
}

impl Report {
    fn goes(&self) -> usize {
        let runs = self.runs.iter().filter(|verdict| verdict.goes).count();
        let refs = self.left_refs.iter().filter(|found| found.goes).count();
        runs + self.empty_folders.len() + refs + self.plans.len()
    }
}
