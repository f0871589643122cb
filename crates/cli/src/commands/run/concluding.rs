//! The last steps of a run: its files, its ledger, its work brought home, its exit code.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::plan::Plan;
use conductor_core::plan::graph::Graph;
use conductor_core::report::Subject;
use conductor_core::report::groups::only_blocked;
use conductor_core::report::ledger::Ledger;
use conductor_core::run::event::{DrainReason, FailureClass, Record, RunOutcome};
use conductor_core::run::{Run, Stage as RunStage, TaskState};
use conductor_core::values::ids::RunId;
use conductor_engine::git::merge::{self, Ending};
use conductor_engine::git::workspaces::{RunRepo, WorkspaceError};
use conductor_engine::host::logs::carried;
use conductor_engine::host::{access, shortage};
use conductor_engine::records::groups::{self, Recorder};
use conductor_engine::records::{ledger, output};
use conductor_engine::stores::RunLog;
use tokio::task::JoinHandle;

use super::arguments::Resolved;
use super::signals::Signalled;
use crate::args::{self, Ui};
use crate::end_block::Block;
use crate::error::{CliError, Exit};
use crate::output::{answer, talk};

/// Waits for the plan's file, and writes it again where it could not be written or the plan was amended. The graph of
/// the plan as it is now.
pub(super) async fn settle_plan(
    written: JoinHandle<io::Result<()>>,
    (planned, graph): (&Arc<Plan>, Arc<Graph>),
    ended: &Run,
    directory: &Path,
) -> Result<Arc<Graph>, CliError> {
    let is_written = matches!(written.await, Ok(Ok(())));
    let is_amended = !Arc::ptr_eq(ended.plan(), planned);
    let graph = if is_amended { Arc::new(regraphed(ended)?) } else { graph };
    if is_amended || !is_written {
        let (plan, slots) = (ended.plan(), ended.options().slots);
        let write = async || output::write_plan(directory, plan, &graph, slots);
        shortage::for_a_while(talk, write).await?;
    }
    Ok(graph)
}

/// The summary and the reports; what killed processes had not written to the end goes.
pub(super) async fn write_summary(
    subject: &Subject<'_>,
    directory: &Path,
    state: &Path,
) -> Result<(), CliError> {
    shortage::for_a_while(talk, async || output::write_summary(directory, subject)).await?;
    output::clear_unfinished(directory);
    output::clear_unfinished(state);
    Ok(())
}

/// The end block, for a user who reads it here.
pub(super) fn print(args: &Resolved<'_>, block: &Block<'_>) {
    if args.ui() != Ui::Json && !args.typed.told_elsewhere {
        // A reader that went away changes nothing about what the run came to.
        let _ = answer(&format!("\n{}", block.text()));
    }
}

/// What needs the whole log: the changes as patches, and the files of groups.
pub(super) async fn write_details(
    log: &RunLog,
    repo_for_patches: Option<&Arc<RunRepo>>,
    recorder: Option<Recorder>,
    directory: &Path,
    (id, ended): (&RunId, &Run),
) -> Result<(), CliError> {
    if repo_for_patches.is_some() || recorder.is_some() {
        let records = log.load(0).await?;
        repo_for_patches.inspect(|run_repo| write_changes(directory, ended, &records, run_repo));
        write_groups(recorder, directory, (id, ended, &records));
    }
    Ok(())
}

/// For users who name an output folder. A change that cannot be written can still be shown by `diff`.
fn write_changes(directory: &Path, ended: &Run, records: &[Record], run_repo: &RunRepo) {
    if let Err(error) = output::write_changes(directory, ended, records, run_repo) {
        talk(format!("not every change could be written as a patch: {error}; see `conductor diff TASK`"));
    }
}

/// What is known of groups can be asked for whether or not it could be written down.
fn write_groups(
    recorder: Option<Recorder>,
    directory: &Path,
    (id, ended, records): (&RunId, &Run, &[Record]),
) {
    if let Some(error) = recorder.and_then(Recorder::finish) {
        talk(format!(
            "the metadata.json of a group could not be written: {error}; see `conductor group status`"
        ));
    }
    if let Err(error) = groups::write_reports(directory, id, ended, records) {
        talk(format!("the report of a group could not be written: {error}; see `conductor group report`"));
    }
}

/// The graph of a plan that was amended, which is what its files tell from now on.
fn regraphed(ended: &Run) -> Result<Graph, CliError> {
    Graph::new(ended.plan(), ended.options().strategy).map_err(|error| CliError::new(Exit::Unexpected, error))
}

/// For a process that waits for the run and did not start it.
pub(super) fn note_exit(state: &Path, exit: Exit) {
    tracing::info!(exit = exit as u8, "all is reported and handed over");
    let _ = access::write(&state.join(output::EXIT_CODE), format!("{}\n", exit as u8));
}

pub(super) fn forget_exit(state: &Path) {
    let _ = std::fs::remove_file(state.join(output::EXIT_CODE));
}

/// The exit code of a run that was driven to its end.
pub(crate) fn noted_exit(state: &Path) -> Option<Exit> {
    Exit::of(std::fs::read_to_string(state.join(output::EXIT_CODE)).ok()?.trim().parse().ok()?)
}

/// As far as the log alone tells.
pub(crate) fn exit_of(run: &Run) -> Exit {
    exit(run, None, None)
}

/// Looks up what is really there, where there is a repository to look into.
pub(super) async fn take_ledger(
    id: &RunId,
    run: &Run,
    run_repo: Option<&Arc<RunRepo>>,
    parked: Vec<PathBuf>,
) -> Result<Option<Ledger>, CliError> {
    let Some(run_repo) = run_repo.cloned() else { return Ok(None) };
    let take = async || {
        let (id, run, run_repo, parked) = (id.clone(), run.clone(), run_repo.clone(), parked.clone());
        let taken =
            tokio::task::spawn_blocking(carried(move || ledger::take(&id, &run, &run_repo, &parked))).await;
        taken.unwrap_or_else(|error| Err(WorkspaceError::Broken(error.to_string())))
    };
    let taken = shortage::for_a_while(talk, take).await;
    taken.map(Some).map_err(|error| CliError::new(Exit::Unexpected, error))
}

/// A run that is over hands its work over; one that was left keeps its branch for the resume.
pub(super) async fn bring_home(
    args: &Resolved<'_>,
    run_repo: Option<Arc<RunRepo>>,
    run: &Run,
) -> Result<Option<Ending>, CliError> {
    let (Some(run_repo), true) = (run_repo, run.all_ended()) else { return Ok(None) };
    let into_branch = args.typed.merge == args::Merge::Branch;
    let landed = run.tasks().any(|(_, progress)| progress.landed.is_some());
    let branch = merge::short(run_repo.branch());
    let bring = carried(move || merge::bring_home(&run_repo, into_branch, landed));
    let ending = tokio::task::spawn_blocking(bring).await;
    match ending {
        Ok(Ok(ending)) => Ok(Some(ending)),
        // The work is on the run's branch, and what the run came to stands.
        Ok(Err(error)) => {
            Ok(Some(Ending::Left { branch, why: Some(error.to_string()), in_the_way: Vec::new() }))
        }
        Err(error) => Err(CliError::new(Exit::Unexpected, error)),
    }
}

/// What is not where it should be is worse than any failed task.
pub(super) fn exit(run: &Run, ledger: Option<&Ledger>, signalled: Option<Signalled>) -> Exit {
    if ledger.is_some_and(|ledger| !ledger.is_clean()) {
        return Exit::Unexpected;
    }
    match (run.stage(), signalled) {
        (RunStage::Finished(RunOutcome::Completed), _) => Exit::Done,
        (RunStage::Finished(RunOutcome::Cancelled), _) => Exit::Cancelled,
        (RunStage::Stopped(DrainReason::User), Some(Signalled::Terminate)) => Exit::Terminated,
        (RunStage::Stopped(DrainReason::User), _) => Exit::Interrupted,
        (RunStage::Stopped(DrainReason::Person), _) => Exit::Asked,
        (RunStage::Stopped(DrainReason::Budget), _) => Exit::BudgetReached,
        (RunStage::Stopped(DrainReason::Unauthorized), _) => Exit::AgentMissing,
        (RunStage::Finished(RunOutcome::Failed), _) if only_conflicts(run) => Exit::ConflictLeft,
        (RunStage::Finished(RunOutcome::Failed), _) if only_blocked(run) => Exit::NothingToDo,
        (RunStage::Finished(RunOutcome::Failed) | RunStage::Stopped(DrainReason::FailFast), _) => {
            Exit::TaskFailed
        }
        (RunStage::Created | RunStage::Active | RunStage::Draining(_), _) => Exit::Unexpected,
    }
}

/// Whether work that does not merge is all that went wrong.
fn only_conflicts(run: &Run) -> bool {
    let failures = run.asked().filter_map(|(_, _, progress)| match &progress.state {
        TaskState::Failed(failure) => Some(failure.class),
        _ => None,
    });
    let mut all = failures.clone();
    all.all(|class| class == FailureClass::Conflict) && failures.count() > 0
}
