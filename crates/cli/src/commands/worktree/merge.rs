//! `worktree merge`: tries again to bring in what did not land.

use super::landing::{Case, Stopped};
use crate::args::WorktreeMerge;
use crate::error::{CliError, Exit};

pub(super) async fn merge(args: &WorktreeMerge) -> Result<Exit, CliError> {
    let mut case = Case::open(&args.of).await?;
    case.allow(&args.markers);
    let stopped = Stopped::watch()?;
    let brought = bring(&mut case, &stopped).await;
    case.close(brought, &stopped).await
}

async fn bring(
    case: &mut Case,
    stopped: &Stopped,
) -> Result<conductor_engine::runs::resolve::Brought, CliError> {
    let kept = case.kept()?;
    case.announce_checks();
    let task = case.task.clone();
    Ok(case.bench.land(&task, kept, None, stopped.stop.clone()).await?)
}
