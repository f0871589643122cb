//! What blocks the tasks of a group that is about to begin, looked up while its run is under way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::plan::Plan;
use conductor_core::values::ids::{RunId, TaskId};
use conductor_engine::host::home::Home;
use conductor_engine::records::groups::readiness::{blocked_now, landed_here};
use conductor_engine::runs::coordinator::{AboutToBegin, Examiner};
use conductor_engine::stores::{self, EarlierRuns};

use super::readiness::issues_of_others;
use crate::archive::patiently;
use crate::error::CliError;

/// What a run is, as far as others must be told from it.
struct Own {
    home: Home,
    id: RunId,
    source: String,
    directory: PathBuf,
}

/// Nothing where nothing can change while the run is under way.
pub(crate) fn examiner(
    home: &Home,
    id: &RunId,
    source: &str,
    directory: &Path,
    plan: &Plan,
) -> Option<Examiner> {
    let changes = plan.execution.as_ref()?.stages.iter().any(|stage| stage.examine);
    let (home, id, source, directory) = (home.clone(), id.clone(), source.to_owned(), directory.to_owned());
    let own = Own { home, id, source, directory };
    changes.then(|| -> Examiner {
        Arc::new(move |about| {
            let runtime = tokio::runtime::Handle::current();
            runtime.block_on(look(&own, about)).map_err(|error| error.message().to_owned())
        })
    })
}

async fn look(own: &Own, about: &AboutToBegin) -> Result<BTreeMap<TaskId, String>, CliError> {
    let Own { home, id, source, directory } = own;
    let store = patiently(|| stores::open_to_look(home)).await?;
    let issues = issues_of_others(directory, home, &*store, id).await?;
    let landed = landed_here(&mut EarlierRuns::of(&*store), source, directory).await?;
    Ok(blocked_now(&about.plan, &about.tasks, &about.completed, &issues, &landed))
}
