//! The last steps of a run: its files, its ledger, its work brought home, its exit code.

use std::path::Path;

use conductor_core::report::groups::only_blocked;
use conductor_core::report::ledger::Ledger;
use conductor_core::run::event::{DrainReason, FailureClass, RunOutcome};
use conductor_core::run::{Run, Stage as RunStage, TaskState};
use conductor_engine::host::access;
use conductor_engine::records::output;

use super::arguments::Resolved;
use super::signals::Signalled;
use crate::args::Ui;
use crate::end_block::Block;
use crate::error::Exit;
use crate::output::answer;

/// The end block, for a user who reads it here.
pub(super) fn print(args: &Resolved<'_>, block: &Block<'_>) {
    if args.ui() != Ui::Json && !args.typed.told_elsewhere {
        // A reader that went away changes nothing about what the run came to.
        let _ = answer(&format!("\n{}", block.text()));
    }
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
