//! Looks up what became of a run in git, on the disk and among the processes; it trusts no agent's report.

mod taken_back;

use std::path::PathBuf;

use conductor_core::report::ledger::Ledger;
use conductor_core::run::Run;
use conductor_core::values::ids::RunId;

use crate::git::workspaces::{RunRepo, WorkspaceError};
use crate::process;

/// Blocks.
pub fn take(id: &RunId, run: &Run, run_repo: &RunRepo, parked: &[PathBuf]) -> Result<Ledger, WorkspaceError> {
    let mut ledger = Ledger::claimed(run);
    landed(&mut ledger, run, run_repo)?;
    ledger.rescued = run_repo.rescued()?.into_iter().map(|(name, _)| name).collect();
    ledger.parked = parked.iter().map(|path| path.display().to_string()).collect();
    ledger.leaked.extend(process::alive(id).into_iter().map(|number| format!("process {number}")));
    if run.all_ended() {
        leaked(&mut ledger, run_repo, parked)?;
    }
    Ok(ledger)
}

/// The branch itself says what is on it.
fn landed(ledger: &mut Ledger, run: &Run, run_repo: &RunRepo) -> Result<(), WorkspaceError> {
    let commits = || run.asked().filter_map(|(_, task, progress)| Some((task, progress.landed.as_ref()?)));
    let tip = run_repo.repository().read_ref(run_repo.branch())?;
    let reachable = match &tip {
        Some(tip) => run_repo.shadow().reachable(tip, commits().map(|(_, landed)| landed.commit.as_str()))?,
        None => Default::default(),
    };
    for (task, landed) in commits() {
        match reachable.contains(&landed.commit) {
            true => ledger.landed += 1,
            false => ledger.lost.push(format!("{} ({})", task.id, landed.commit)),
        }
    }
    if let Some(tip) = &tip {
        ledger.lost.extend(taken_back::taken_back(run, run_repo.shadow(), tip)?);
    }
    Ok(())
}

fn leaked(ledger: &mut Ledger, run_repo: &RunRepo, parked: &[PathBuf]) -> Result<(), WorkspaceError> {
    let left = run_repo.folders()?.into_iter().filter(|folder| folder.exists() && !parked.contains(folder));
    ledger.leaked.extend(left.map(|folder| format!("workspace {}", folder.display())));
    for tree in run_repo.repository().worktrees()? {
        if run_repo.is_workspace(&tree) && !parked.contains(&tree) {
            ledger.leaked.push(format!("worktree {}", tree.display()));
        }
    }
    let prefix = run_repo.task_branches();
    let resolving: Vec<String> = run_repo.resolving()?.iter().map(|word| format!("{prefix}{word}")).collect();
    let branches = run_repo.repository().refs(prefix)?;
    let left = branches.into_iter().filter(|(name, _)| !resolving.contains(name));
    ledger.leaked.extend(left.map(|(name, _)| format!("branch {name}")));
    Ok(())
}
