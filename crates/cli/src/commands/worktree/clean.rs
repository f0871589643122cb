//! `worktree clean`: removes what runs that are not active have left on the disk.

use std::collections::HashSet;

use conductor_core::plan::Isolation;
use conductor_core::values::counted::counted;
use conductor_core::values::ids::RunId;
use conductor_engine::git::workspaces::{
    FoundWorkspace, RunRefs, Workspaces, inventory, run_of_task_branch, works,
};
use conductor_engine::git::{GitError, Repository};
use conductor_engine::host::home::Home;
use conductor_engine::process;
use conductor_engine::stores::StoredRun;
use serde_json::{Value, json};

use super::{answer, answer_json, talk};
use crate::archive::{self, Archive};
use crate::args::WorktreeClean;
use crate::error::{CliError, Exit};

pub(super) async fn clean(args: &WorktreeClean) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let runs = match &args.run {
        Some(word) => vec![archive.named(word)?],
        None => left_here(&archive, args.all)?,
    };
    let (mut cleared, mut runs_told) = (0, Vec::new());
    for stored in &runs {
        if args.run.is_none() && archive.home.is_live(&stored.id) {
            talk(format!("run {} is being worked on and stays as it is", stored.id));
            continue;
        }
        let done = clear(&archive, stored, args.run.is_some() || args.all).await?;
        done.told.iter().for_each(talk);
        cleared += done.gone;
        match args.json {
            true => runs_told.push(done.json(&stored.id)),
            false => report(&stored.id, &done)?,
        }
    }
    process::trash::empty(archive.home.root());
    if args.json {
        answer_json(
            &json!({ "schema": "conductor.worktree-clean/1", "cleared": cleared, "runs": runs_told }),
        )?;
    }
    if cleared == 0 {
        talk("there was nothing to clear");
    }
    Ok(Exit::Done)
}

/// Clears what finished runs have left that were killed before they could. Reports nothing: `worktree clean`
/// explains what cannot be cleared now.
pub(crate) async fn clear_after_the_dead(home: &Home) {
    let left = |run: &RunId| home.run(run).join("workspaces").exists() && !home.is_live(run);
    if !home.runs().iter().any(left) {
        return;
    }
    let Ok(archive) = Archive::open().await else { return };
    for stored in left_here(&archive, false).unwrap_or_default() {
        if left(&stored.id) {
            let _ = clear(&archive, &stored, false).await;
        }
    }
}

/// Runs of this repository that have left something: those that are over, or all.
fn left_here(archive: &Archive, all: bool) -> Result<Vec<StoredRun>, CliError> {
    let runs = archive.here()?;
    let branches = branches_of(archive)?;
    let left = |run: &StoredRun| {
        let folders = archive.home.run(&run.id).join("workspaces").exists();
        folders || branches.contains(run.id.as_str())
    };
    Ok(runs.into_iter().filter(|run| all || run.is_over()).filter(left).collect())
}

/// The runs that have branches of tasks.
fn branches_of(archive: &Archive) -> Result<HashSet<String>, CliError> {
    let refs = match Repository::of(&archive.directory) {
        Ok(repository) => repository.refs("refs/heads/")?,
        Err(GitError::NotOne(_) | GitError::Unborn(_) | GitError::Bare(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let run = |(name, _): (String, String)| Some(run_of_task_branch(&name)?.to_string());
    Ok(refs.into_iter().filter_map(run).collect())
}

/// Saves what is in the workspaces of a run and takes them away.
pub(crate) async fn clear_all(archive: &Archive, stored: &StoredRun) -> Result<(), CliError> {
    clear(archive, stored, true).await.map(drop)
}

/// What clearing came to.
#[derive(Default)]
struct Cleared {
    gone: usize,
    stay: Vec<FoundWorkspace>,
    rescued: Vec<String>,
    /// What went wrong, and what else is worth knowing.
    told: Vec<String>,
}

async fn clear(archive: &Archive, stored: &StoredRun, all: bool) -> Result<Cleared, CliError> {
    let amendment = archive.amend(&stored.id).await?;
    amendment.end_leftovers();
    let run = amendment.run();
    let here = || inventory(&archive.home, std::slice::from_ref(&stored.id));
    let before = here()?.len();
    if before == 0 && matches!(Repository::common_of(&stored.directory), Err(GitError::NotOne(_))) {
        return Ok(Cleared::default());
    }
    let repository = archive::repository(stored)?;
    if before == 0 && repository.refs(&RunRefs::of(&repository, &stored.id)?.tasks)?.is_empty() {
        return Ok(Cleared::default());
    }
    let run_repo = archive::place_of_run(&archive.home, stored, run).context(repository)?;
    let isolation = run.options().isolation.unwrap_or(Isolation::None);
    let workspaces = Workspaces::new(stored.directory.clone(), Some(run_repo), isolation);
    let Some(run_repo) = workspaces.run_repo() else { return Ok(Cleared::default()) };
    let (notices, mut told) = tokio::sync::mpsc::unbounded_channel();
    run_repo.listen(notices);
    let known: HashSet<String> = run_repo.rescued()?.into_iter().map(|(name, _)| name).collect();
    let (_, mut troubles) = workspaces.rescue_left(run, |_| false);
    run_repo.clear_later(&works(run), all)?;
    while let Ok(notice) = told.try_recv() {
        troubles.push(notice);
    }
    let rescued = run_repo.rescued()?.into_iter().map(|(name, _)| name).filter(|name| !known.contains(name));
    let stay = here()?;
    let gone = before.saturating_sub(stay.len());
    Ok(Cleared { gone, stay, rescued: rescued.collect(), told: troubles })
}

fn report(run: &RunId, cleared: &Cleared) -> Result<(), CliError> {
    let Cleared { gone, stay, rescued, .. } = cleared;
    if *gone > 0 {
        answer(&format!("run {run}: {} cleared", counted(*gone, "workspace")))?;
    }
    for name in rescued {
        answer(&format!("run {run}: kept {name}"))?;
    }
    for listed in stay {
        answer(&format!("run {run}: left {}, {}", listed.folder.display(), why_it_stays(listed)))?;
    }
    Ok(())
}

fn why_it_stays(listed: &FoundWorkspace) -> String {
    match listed.used_by.as_slice() {
        [first, ..] => format!("{} is in it", process::described(*first)),
        [] if listed.is_resolving() => "a conflict is being solved in it".to_owned(),
        [] => "what is in it could not be saved".to_owned(),
    }
}

impl Cleared {
    fn json(&self, run: &RunId) -> Value {
        let stay =
            self.stay.iter().map(|listed| json!({ "folder": listed.folder, "why": why_it_stays(listed) }));
        json!({
            "run": run, "cleared": self.gone, "kept": self.rescued, "left": stay.collect::<Vec<_>>(), "notices": self.told,
        })
    }
}
