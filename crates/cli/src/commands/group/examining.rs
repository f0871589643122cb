//! What blocks the tasks of a group that is about to begin, looked up while its run is under way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::plan::Plan;
use conductor_core::values::ids::{RunId, TaskId};
use conductor_engine::host::home::Home;
use conductor_engine::records::beads::{self, Inquiry};
use conductor_engine::records::groups::{self, Former};
use conductor_engine::runs::coordinator::{AboutToBegin, Examiner};
use conductor_engine::stores::{self, EarlierRuns};

use super::readiness::Beads;
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
    let beads = Beads::others(directory, home, &*store, id).await?;
    let sources = [source.clone(), beads::source(directory), beads::export_source(directory)];
    let mut earlier = EarlierRuns::of(&*store);
    let landed = groups::landed(&mut earlier, &sources, directory, |_, _| true).await?;
    let inquiry = Inquiry::of(&beads.all);
    let open = about.tasks.iter().filter(|task| !about.completed.contains(*task));
    let blocked = open.filter_map(|task| {
        let why = of_issue(&beads, &inquiry, about, task, &landed);
        Some((task.clone(), why.or_else(|| of_others(&beads, about, task, &landed))?))
    });
    Ok(blocked.collect())
}

/// What beads says of a task that is an issue.
fn of_issue(
    beads: &Beads,
    inquiry: &Inquiry<'_>,
    about: &AboutToBegin,
    task: &TaskId,
    landed: &BTreeMap<String, Former>,
) -> Option<String> {
    let issue = inquiry.issue(task.as_str())?;
    if issue.is_closed() {
        return Some("it is closed in beads".to_owned());
    }
    if let Some(why) = beads.claims.taken.get(task.as_str()) {
        return Some(format!("it {why}"));
    }
    let on = match inquiry.held_by(issue) {
        Err(why) => return Some(why),
        Ok(on) => on,
    };
    let waits = |on: &str| {
        about
            .plan
            .task(task)
            .is_some_and(|task| task.dependencies.iter().any(|known| known.id.as_str() == on))
    };
    on.into_iter().find_map(|on| match TaskId::parse(on).ok().filter(|on| about.plan.place(on).is_some()) {
        // What landed in this run is closed when its group is over, and what the task waits for is waited for.
        Some(own) if about.completed.contains(&own) || waits(on) => None,
        Some(_) => Some(format!("it waits for {on}, which comes later in this run")),
        None => beads.objection(on, landed.get(on)),
    })
}

/// What the task waits for that is not in its run.
fn of_others(
    beads: &Beads,
    about: &AboutToBegin,
    task: &TaskId,
    landed: &BTreeMap<String, Former>,
) -> Option<String> {
    let outside = about.plan.execution.as_ref()?.outside.get(task)?;
    outside.iter().find_map(|on| beads.objection(on, landed.get(on)))
}
