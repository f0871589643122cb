//! A run that is driven in this process, with all that keeps records of it: from its claimed log to its reports.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use conductor_core::plan::Plan;
use conductor_core::plan::graph::{Graph, GraphError};
use conductor_core::report::Subject;
use conductor_core::report::ledger::Ledger;
use conductor_core::run::Run;
use conductor_core::run::event::Record;
use conductor_core::schedule::Input;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Millis;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::coordinator::{Coordinator, CoordinatorError, Finished, Start, World};
use crate::expertise::{Keeper, News};
use crate::git::InTheWay;
use crate::git::merge::{self, Ending};
use crate::git::workspaces::{RunRepo, WorkspaceError};
use crate::host::home::RunClaim;
use crate::host::logs::carried;
use crate::host::shortage;
use crate::process;
use crate::records::groups::{self, Recorder};
use crate::records::sessions::Scribe;
use crate::records::{ledger, output};
use crate::stores::{RunLog, StoreError, file_name};

/// Why the last steps of a run could not be done. What it came to is in its log.
#[derive(Debug, Error)]
pub enum ConcludeError {
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    Files(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

/// A run that is about to be driven.
pub struct Driving {
    coordinator: Coordinator,
    graph: Arc<Graph>,
    keeping: Keeping,
}

/// What keeps records of a run, and what they are about.
struct Keeping {
    id: RunId,
    source: String,
    output: PathBuf,
    state: PathBuf,
    run_repo: Option<Arc<RunRepo>>,
    log: RunLog,
    /// Whether each task's change is written as a patch, too.
    patches: bool,
    planned: Arc<Plan>,
    plan_file: JoinHandle<io::Result<()>>,
    scribe: Scribe,
    keeper: Keeper,
    recorder: Option<Recorder>,
}

impl Driving {
    /// Takes up a run that is in the store. Nothing starts before `drive` is called, so that onlookers miss nothing. `source`
    /// is what it was made from. With it comes what the user is to be told meanwhile.
    pub fn begin(
        run: &Run,
        start: Start,
        world: World,
        source: String,
    ) -> Result<(Driving, mpsc::UnboundedReceiver<String>), CoordinatorError> {
        let (id, log, directory) = (world.log.run().clone(), world.log.clone(), world.directory.clone());
        let (output, home) = (world.output.clone(), world.claim.home());
        let (state, run_repo) = (world.claim.directory().to_owned(), world.workspaces.run_repo().cloned());
        let patches = start.options.output.is_some();
        let (mut coordinator, notices) = Coordinator::new(run.clone(), start, world)?;
        let graph = Arc::new(coordinator.scheduler().graph().clone());
        let slots = coordinator.scheduler().run().options().slots;
        let plan_file = write_plan(&output, run, &graph, slots, !patches);
        let branch = run_repo.as_ref().map(|run_repo| merge::short(run_repo.branch()));
        let scribe = Scribe::follow(&home, &id, &directory, branch, run, coordinator.subscribe());
        let recorder = Recorder::follow(&directory, run, coordinator.subscribe());
        let (link, follower) = (coordinator.link(), coordinator.subscribe());
        let tell = move |news| match news {
            News::Retired(item, why) => link.report(Input::ExpertiseRetired { item, why }),
            News::Notice(text) => link.notice(text),
        };
        let keeper = Keeper::follow(home, directory, id.clone(), log.clone(), follower, tell);
        let planned = run.plan().clone();
        let keeping = Keeping {
            id,
            source,
            output,
            state,
            run_repo,
            log,
            patches,
            planned,
            plan_file,
            scribe,
            keeper,
            recorder,
        };
        Ok((Driving { coordinator, graph, keeping }, notices))
    }

    /// For onlookers, and for what steers the run.
    pub fn coordinator(&mut self) -> &mut Coordinator {
        &mut self.coordinator
    }

    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Until nothing is left to do or to wait for.
    pub async fn drive(self) -> Result<Driven, CoordinatorError> {
        let Driving { coordinator, graph, keeping } = self;
        let driven = coordinator.run().await;
        let Finished { run, parked, claim } = match driven {
            Err(error @ CoordinatorError::HandedOver { .. }) => {
                // What was recorded up to then is for these; the rest is for those of the next coordinator.
                keeping.scribe.finish();
                keeping.keeper.finish().await;
                return Err(error);
            }
            driven => driven?,
        };
        Ok(Driven { run, parked, claim, graph, keeping, over: Instant::now() })
    }
}

/// A run that was driven as far as it goes, and is still to be reported.
pub struct Driven {
    run: Run,
    parked: Vec<PathBuf>,
    claim: RunClaim,
    graph: Arc<Graph>,
    keeping: Keeping,
    over: Instant,
}

impl Driven {
    /// Writes what is to be known of the run afterwards. A full disk is waited for; `tell` hears of it, and of what could
    /// not be written and can be looked up otherwise.
    pub async fn conclude(self, tell: &(dyn Fn(String) + Sync)) -> Result<Concluded, ConcludeError> {
        let Driven { run, parked, claim, graph, keeping, over } = self;
        let Keeping { id, source, output, state, run_repo, log, .. } = keeping;
        keeping.scribe.finish();
        keeping.keeper.finish().await;
        // What the coordinator held is free by now; the reports of a large run need as much.
        process::give_memory_back();
        let graph = settle_plan(keeping.plan_file, (&keeping.planned, graph), &run, &output, tell).await?;
        let ledger = take_ledger(&id, &run, run_repo.as_ref(), parked, tell).await?;
        let aggregation = u64::try_from(over.elapsed().as_millis()).ok().map(Millis);
        let voices = output::voices(&output, &run);
        let subject = Subject {
            id: &id,
            run: &run,
            graph: &graph,
            ledger: ledger.as_ref(),
            source: file_name(&source),
            voices: &voices,
            aggregation,
        };
        shortage::for_a_while(tell, || std::future::ready(output::write_summary(&output, &subject))).await?;
        output::clear_unfinished(&output);
        output::clear_unfinished(&state);
        let repo_for_patches = run_repo.as_ref().filter(|_| keeping.patches);
        if repo_for_patches.is_some() || keeping.recorder.is_some() {
            let records = log.load(0).await?;
            write_changes(&output, &run, &records, repo_for_patches, tell);
            write_groups(keeping.recorder, &output, (&id, &run, &records), tell);
        }
        Ok(Concluded { id, run, graph, ledger, output, run_repo, claim })
    }
}

/// A run whose reports are written.
pub struct Concluded {
    pub id: RunId,
    pub run: Run,
    pub graph: Arc<Graph>,
    /// What is really there, where there is a repository to look into.
    pub ledger: Option<Ledger>,
    /// Where its files are.
    pub output: PathBuf,
    run_repo: Option<Arc<RunRepo>>,
    /// No other process works on the run as long as this is held.
    pub claim: RunClaim,
}

impl Concluded {
    /// A run that is over hands its work over, to the branch that is checked out where that is wanted; one that was left
    /// keeps its branch for the resume.
    pub async fn bring_home(&self, into_branch: bool) -> Result<Option<Ending>, ConcludeError> {
        let (Some(run_repo), true) = (self.run_repo.clone(), self.run.all_ended()) else { return Ok(None) };
        let landed = self.run.tasks().any(|(_, progress)| progress.landed.is_some());
        let branch = merge::short(run_repo.branch());
        let bring = carried(move || merge::bring_home(&run_repo, into_branch, landed));
        match tokio::task::spawn_blocking(bring).await {
            Ok(Ok(ending)) => Ok(Some(ending)),
            // The work is on the run's branch, and what the run came to stands.
            Ok(Err(error)) => Ok(Some(Ending::Left {
                branch,
                why: Some(error.to_string()),
                in_the_way: InTheWay::default(),
            })),
            Err(error) => Err(WorkspaceError::Broken(error.to_string()).into()),
        }
    }
}

/// Writes the plan's file beside the first tasks: it is for people to read, and a large one would hold the run up. A run
/// that is resumed has it in its own folder; a folder that the user named may have that of another run.
fn write_plan(
    output: &Path,
    run: &Run,
    graph: &Arc<Graph>,
    slots: u32,
    is_own: bool,
) -> JoinHandle<io::Result<()>> {
    let (output, plan, graph) = (output.to_owned(), run.plan().clone(), graph.clone());
    tokio::task::spawn_blocking(move || match is_own && output::has_plan(&output, &plan, slots) {
        true => Ok(()),
        false => output::write_plan(&output, &plan, &graph, slots),
    })
}

/// Waits for the plan's file, and writes it again where it could not be written or the plan was amended. The graph of
/// the plan as it is now.
async fn settle_plan(
    written: JoinHandle<io::Result<()>>,
    (planned, graph): (&Arc<Plan>, Arc<Graph>),
    ended: &Run,
    directory: &Path,
    tell: &(dyn Fn(String) + Sync),
) -> Result<Arc<Graph>, ConcludeError> {
    let is_written = matches!(written.await, Ok(Ok(())));
    let is_amended = !Arc::ptr_eq(ended.plan(), planned);
    let graph = match is_amended {
        true => Arc::new(Graph::new(ended.plan(), ended.options().strategy)?),
        false => graph,
    };
    if is_amended || !is_written {
        let (plan, slots) = (ended.plan(), ended.options().slots);
        let write = || std::future::ready(output::write_plan(directory, plan, &graph, slots));
        shortage::for_a_while(tell, write).await?;
    }
    Ok(graph)
}

/// Looks up what is really there, where there is a repository to look into.
async fn take_ledger(
    id: &RunId,
    run: &Run,
    run_repo: Option<&Arc<RunRepo>>,
    parked: Vec<PathBuf>,
    tell: &(dyn Fn(String) + Sync),
) -> Result<Option<Ledger>, ConcludeError> {
    let Some(run_repo) = run_repo.cloned() else { return Ok(None) };
    let take = || {
        let (id, run, run_repo, parked) = (id.clone(), run.clone(), run_repo.clone(), parked.clone());
        let taking =
            tokio::task::spawn_blocking(carried(move || ledger::take(&id, &run, &run_repo, &parked)));
        async { taking.await.unwrap_or_else(|error| Err(WorkspaceError::Broken(error.to_string()))) }
    };
    Ok(Some(shortage::for_a_while(tell, take).await?))
}

/// For users who name an output folder. A change that cannot be written can still be shown by `diff`.
fn write_changes(
    output: &Path,
    ended: &Run,
    records: &[Record],
    run_repo: Option<&Arc<RunRepo>>,
    tell: &(dyn Fn(String) + Sync),
) {
    let written = run_repo.map(|run_repo| output::write_changes(output, ended, records, run_repo));
    if let Some(Err(error)) = written {
        tell(format!("not every change could be written as a patch: {error}; see `conductor diff TASK`"));
    }
}

/// What is known of groups can be asked for whether or not it could be written down.
fn write_groups(
    recorder: Option<Recorder>,
    output: &Path,
    (id, ended, records): (&RunId, &Run, &[Record]),
    tell: &(dyn Fn(String) + Sync),
) {
    if let Some(error) = recorder.and_then(Recorder::finish) {
        tell(format!(
            "the metadata.json of a group could not be written: {error}; see `conductor group status`"
        ));
    }
    if let Err(error) = groups::write_reports(output, id, ended, records) {
        tell(format!("the report of a group could not be written: {error}; see `conductor group report`"));
    }
}
