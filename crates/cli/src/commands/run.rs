//! `conductor run`: a task file becomes a run, or a run that was left is taken up again.

mod again;
mod arguments;
mod audience;
mod checking;
mod cloud;
mod concluding;
pub(crate) mod detach;
mod editing;
mod elsewhere;
mod finding;
mod handing;
pub(crate) mod issues;
pub(crate) mod keys;
mod metrics;
mod pipeline;
mod places;
mod pull_request;
mod reaching;
mod reading_back;
mod signals;
mod skipping;
mod taking_over;
mod traces;
mod uncommitted;
mod unedited;
mod unfinished;
mod watching;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::plan::Plan;
use conductor_core::plan::graph::{self, Graph};
use conductor_core::report::PlanFile;
use conductor_core::run::Run;
use conductor_core::run::event::{BringHome, Event, Options, Record};
use conductor_core::values::counted::counted;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::{Now, Tick};
use conductor_engine::host::clock::wall;
use conductor_engine::host::home::Home;
use conductor_engine::host::logs::{self, OpenLog};
use conductor_engine::host::shortage;
use conductor_engine::planner;
use conductor_engine::process;
use conductor_engine::process::trash;
use conductor_engine::records::groups::{self};
use conductor_engine::records::metrics::MetricsFile;
use conductor_engine::runs::coordinator::{Coordinator, CoordinatorError, Start, World};
use conductor_engine::runs::driving::{Concluded, Driving};
use conductor_engine::runs::engine;
use conductor_engine::stores::{self, NewRun, RunLog, Store};
use tokio::sync::mpsc::UnboundedReceiver;
use tracing::Instrument as _;

use super::plan::commands;
use super::worktree::clear_after_the_dead;
use super::{answer, block_on, talk};
use crate::archive::patiently;
use crate::args::{self, Ui};
use crate::end_block::Block;
use crate::error::{CliError, Exit};
use crate::logging;
use crate::progress::Stage;
use crate::settings::agent_findings;
use crate::settings::trust;
use crate::settings::variables;
use again::Carried;
use arguments::Resolved;
pub(crate) use arguments::{as_started, machine, typed};
use audience::Audience;
use checking::{check_machine, check_places, tell_of_undetected};
use concluding::{exit, forget_exit};
pub(crate) use concluding::{exit_of, noted_exit};
pub(crate) use finding::full_name;
use finding::{complete_files, is_unfinished, nothing_to_do};
use places::{foresee, repository, workspaces, world};
use pull_request::Publisher;
use reading_back::{ReadBack, read_back};
pub(crate) use unedited::is_edited;
use watching::Watched;

pub(crate) fn run(args: &args::Run) -> Result<Exit, CliError> {
    if args.detach && !args.detached {
        return detach::start(args);
    }
    if args.ui == Ui::Tui && !args.detached && !args.json && !args.dry_run && conductor_tui::is_possible() {
        return super::tui::follow(&detach::begin()?);
    }
    again::until_all_is_done(args, begun(args)?)
}

fn begun(args: &args::Run) -> Result<Carried, CliError> {
    variables::warn_of_unknown();
    let mut args = Resolved::new(args)?;
    trust::be_strict(!args.typed.dry_run);
    if args.is_new() {
        if !args.typed.dry_run {
            trust::demand(&args.directory)?;
        }
        let made = match args.typed.from {
            Some(args::From::Beads) => block_on(issues::plan(&args)).map(Made::of_issues)?,
            None => {
                let source = args.source();
                let mark = unedited::mark(&args.directory, &source);
                Made { source, plan: args.plan()?, turn: None, mark }
            }
        };
        if args.typed.dry_run {
            return dry_run(&args, &made.plan).map(Carried::from);
        }
        if args.typed.known_commands {
            let file = args.file.as_deref();
            let new = commands::of_plan(&made.plan, None, &args.directory, file)?;
            commands::refuse(&new, file.unwrap_or(Path::new("the plan")))?;
        }
        let absent = elsewhere::check(&args, &made.plan, None)?;
        check_machine(&args, &made.plan, None)?;
        tell_of_undetected(&made.plan, &args.directory);
        cloud::check(&args, &made.plan)?;
        return block_on(start_new(args, made, absent));
    }
    block_on(take_up(args))
}

/// Takes up a run in which nothing can begin any more, for its end: what is left of it is ended, saved and reported as
/// in every run.
pub(crate) fn conclude(id: &RunId) -> Result<(), CliError> {
    let words = ["conductor", "run", "--ui", "plain", "--resume", id.as_str()];
    let mut typed = typed(words.map(OsString::from).to_vec())?;
    typed.told_elsewhere = true;
    run(&typed).map(drop)
}

/// Takes a run up again.
pub(crate) fn resume(id: &RunId) -> Result<Exit, CliError> {
    let words = ["conductor", "run", "--resume", id.as_str()];
    let typed = typed(words.map(OsString::from).to_vec())?;
    run(&typed)
}

/// As `run`, of a plan that was made elsewhere.
pub(crate) fn carry(typed: &args::Run, made: Made) -> Result<Exit, CliError> {
    let args = Resolved::new(typed)?;
    if typed.dry_run {
        return dry_run(&args, &made.plan);
    }
    let absent = elsewhere::check(&args, &made.plan, None)?;
    check_machine(&args, &made.plan, None)?;
    tell_of_undetected(&made.plan, &args.directory);
    cloud::check(&args, &made.plan)?;
    again::until_all_is_done(typed, block_on(start_new(args, made, absent))?)
}

/// A plan, and where it is from.
pub(crate) struct Made {
    pub(crate) plan: Plan,
    pub(crate) source: String,
    /// Held until the run is in the store.
    pub(crate) turn: Option<std::fs::File>,
    /// What its file said, where it is to be known whether that was edited.
    pub(crate) mark: Option<String>,
}

impl Made {
    fn of_issues(issues: issues::Issues) -> Made {
        Made { plan: issues.plan, source: issues.source, turn: Some(issues.turn), mark: None }
    }
}

fn dry_run(args: &Resolved<'_>, plan: &Plan) -> Result<Exit, CliError> {
    check_places(args, plan)?;
    let mut options = args.options(plan, None)?;
    let mut repository = foresee(args, plan, &options, &args.directory)?;
    skipping::begin_on_work(args, plan, &mut options, repository.as_mut())?;
    let graph =
        Graph::new(plan, options.strategy).map_err(|error| CliError::new(Exit::InvalidFile, error))?;
    for absent in agent_findings::absent(plan) {
        let (told, remedy) =
            (agent_findings::told(&absent.error), agent_findings::remedy(plan, &absent.error));
        talk(format!("task '{}': {told}; {remedy}", absent.task.id));
    }
    if args.ui() == Ui::Json {
        super::answer_json(&PlanFile::new(plan, &graph, options.slots))?;
    } else {
        answer(&graph.export(plan, graph::Format::Text, |task| plan.tasks[task as usize].expected()))?;
        let tasks = counted(graph.len(), "task");
        answer(&format!("would run {tasks}, {} at a time; nothing was started", options.tasks_at_once()))?;
    }
    Ok(Exit::Done)
}

async fn start_new(args: Resolved<'_>, made: Made, absent: BTreeSet<String>) -> Result<Carried, CliError> {
    let id = engine::new_id();
    let own_log = logging::of_run(&id);
    let span = logs::run_span(&id);
    begin(args, made, absent, (id, own_log)).instrument(span).await
}

async fn begin(
    args: Resolved<'_>,
    made: Made,
    absent: BTreeSet<String>,
    (id, own_log): (RunId, OpenLog),
) -> Result<Carried, CliError> {
    let Made { mut plan, source, turn, mark } = made;
    let mut options = args.options(&plan, None)?;
    options.absent = absent;
    options.selection = Some(args.selection());
    let mut repository = repository(&args, &plan, &mut options, &args.directory)?;
    skipping::begin_on_work(&args, &plan, &mut options, repository.as_mut())?;
    // What is refused leaves nothing behind, so all that can be is looked at before anything is made.
    places::check(repository.as_ref(), &id, &args.directory, &plan)?;
    let ours = uncommitted::ours(&args, &source, &options, &args.directory, repository.as_ref());
    let uncommitted = uncommitted::find(&args, repository.as_ref(), &ours)?;
    places::make_output(&options)?;
    args.hint(&plan, &options).into_iter().for_each(talk);
    let home = Home::open()?;
    let store = patiently(|| stores::open(&home)).await?;
    let claim = shortage::for_a_while(talk, async || home.claim(&id)).await?;
    own_log.write_to(claim.directory());
    let learns = (&mut plan, &mut options);
    let notice = engine::learn(&*store, (&args.directory, &source), learns, repository.is_some()).await?;
    notice.into_iter().for_each(talk);
    let new =
        NewRun { id: id.clone(), directory: args.directory.clone(), source, tasks: plan.asked().count() };
    process::give_memory_back();
    if let (Some(found), Some(repository)) = (uncommitted, &mut repository) {
        uncommitted::include(&found, repository, claim.directory())?;
        options.begun_on = Some(repository.head.clone());
    }
    let now = Now { at: wall(), tick: Tick(0), jitter: 0.0 };
    let (_, created) = Run::create_with(plan, Some(options.clone()), now);
    let log = patiently(|| RunLog::create(&store, &new, &created)).await?;
    drop(turn);
    unedited::keep(claim.directory(), mark.as_deref().filter(|_| !args.typed.watch));
    process::give_memory_back();
    // Made when the plan is written: while it is, it takes all the room that a large run ever needs.
    let run = Run::replay([&created]).map_err(|error| CliError::new(Exit::Unexpected, error))?;
    let run = account_for_planning(&args, &home, &log, run).await?;
    clear_after_the_dead(&home).await;
    trash::empty(home.root());
    if run.plan().execution.is_some()
        && let Err(error) = groups::keep_out_of_status(&args.directory)
    {
        talk(format!("git status will show the files of groups: {error}"));
    }
    let workspaces = workspaces(repository, &options, &home, &id, &args.directory, &run).await?;
    let world = world(&args, log, claim, workspaces, &options, args.directory.clone(), ours);
    carry_out(&args, (new.id, new.source), run, Start { options, taken_over: None, reopen: false }, world)
        .await
}

/// What was spent on the plan is the first thing the run has spent.
async fn account_for_planning(
    args: &Resolved<'_>,
    home: &Home,
    log: &RunLog,
    mut run: Run,
) -> Result<Run, CliError> {
    let Some(planning) = args.typed.planning.clone() else { return Ok(run) };
    let plan = planning.plan.clone();
    let event = Event::PlanningAccounted { planning };
    let record = Record { seq: run.seq() + 1, at: wall(), tick: Tick(0), event };
    run.apply(&record).map_err(|error| CliError::new(Exit::Unexpected, error))?;
    patiently(|| log.append(std::slice::from_ref(&record))).await?;
    planner::note_run(home, &plan, log.run());
    Ok(run)
}

async fn take_up(args: Resolved<'_>) -> Result<Carried, CliError> {
    let home = Home::open()?;
    let store = patiently(|| stores::open(&home)).await?;
    let read_back = match args.typed.taking_over {
        Some(patience) => taking_over::take(&args, &home, &store, patience).await,
        None => read_back(&args, &home, &store).await,
    };
    let read_back = match read_back {
        Ok(read_back) => read_back,
        Err(cli_error) => {
            // Closing the store would fold its log into the file, and a file that is refused stays as it is.
            std::mem::forget(store);
            return Err(cli_error);
        }
    };
    let own_log = logging::of_run(&read_back.stored.id);
    own_log.write_to(read_back.claim.directory());
    let span = logs::run_span(&read_back.stored.id);
    go_on(args, (home, store), read_back).instrument(span).await
}

async fn go_on(
    mut args: Resolved<'_>,
    (home, store): (Home, Arc<dyn Store>),
    ReadBack { stored, claim, run, reading, taken_over }: ReadBack,
) -> Result<Carried, CliError> {
    let unfinished = is_unfinished(&args, &stored, &run, claim.directory());
    if unfinished {
        talk(format!("run {} was over, but not all of its last steps were done: they are now", stored.id));
    } else if let Some(cli_error) = nothing_to_do(&args, &stored, &run) {
        issues::settle(&stored.source, &stored.directory, &stored.id, &run, claim.directory());
        complete_files(&stored, &run, claim.directory())?;
        return Err(cli_error);
    }
    let log = patiently(|| RunLog::claim(&store, &stored.id)).await?;
    let (run, edited) = editing::take_over(&args, &stored, &log, (run, reading, claim.directory())).await?;
    let before = arguments::limited(run.options(), &run.plan().limits, edited.as_ref());
    let mut options = match taken_over {
        // It goes on as it was, whatever is said where it goes on.
        Some(_) => arguments::unattended(before.clone()),
        None => args.options(run.plan(), Some(&before))?,
    };
    // What is left to be done of a run that is over needs no agent.
    if !unfinished || args.typed.retry_failed {
        options.absent = elsewhere::check(&args, run.plan(), Some(&before))?;
        check_machine(&args, run.plan(), Some(&before))?;
        cloud::check(&args, run.plan())?;
    }
    places::make_output(&options)?;
    let place = match repository(&args, run.plan(), &mut options, &stored.directory) {
        Ok(repository) => workspaces(repository, &options, &home, &stored.id, &stored.directory, &run).await,
        Err(cli_error) => Err(cli_error),
    };
    let workspaces = place.map_err(|cli_error| places::changed(cli_error, claim.directory()))?;
    let ours = uncommitted::ours(&args, &stored.source, &options, &stored.directory, None);
    let world = world(&args, log, claim, workspaces, &options, stored.directory.clone(), ours);
    trust::plugins_of(&stored.directory);
    args.directory = stored.directory;
    carry_out(
        &args,
        (stored.id, stored.source),
        run,
        Start { options, taken_over, reopen: args.typed.retry_failed },
        world,
    )
    .await
}

/// The run's own folder, from where on others may ask for it.
fn settled(args: &Resolved<'_>, id: &RunId, world: &World) -> Result<PathBuf, CliError> {
    let state = world.claim.directory().to_owned();
    forget_exit(&state);
    handing::keep_words(args, &state);
    if args.typed.detached {
        detach::settle(id, &state)?;
    }
    Ok(state)
}

async fn carry_out(
    args: &Resolved<'_>,
    (id, source): (RunId, String),
    run: Run,
    start: Start,
    mut world: World,
) -> Result<Carried, CliError> {
    let (output, home) = (world.output.clone(), Home::open()?);
    world.examiner = super::group::examiner(&home, &id, &source, &args.directory, run.plan());
    let distant = elsewhere::engage(args, &id, (&run, &start.options), &mut world).await?;
    let state = settled(args, &id, &world)?;
    let (options, in_repository) = (start.options.clone(), world.workspaces.run_repo().is_some());
    let store = world.log.store().clone();
    let file = Watched::new(args, source.clone(), &run, store.clone(), (&options, in_repository))?;
    // It ends by itself after the last process that uses it.
    let _browser = super::browser::provide(run.plan(), args.typed.headless, &state)?;
    let traces = traces::prepare(home.clone(), &world, &run);
    let metrics = metrics::source(args, home, &world);
    let repo = world.workspaces.run_repo().map(|repo| &**repo);
    let publishing = pull_request::source((args, &options), &id, &run, repo, &state);
    let (mut driving, notices) = Driving::begin(&run, start, world, source.clone())?;
    let coordinator = driving.coordinator();
    let closer = issues::follow(&source, &args.directory, &id, &run, &state, coordinator);
    let (control, graph) = (coordinator.control(), driving.graph().clone());
    let shown = (&id, &run, &options, &*graph, &*output);
    let mut audience = gather(args, shown, driving.coordinator(), notices);
    let followed =
        |source| MetricsFile::follow(source, &run, driving.coordinator().subscribe(), audience.words());
    let metrics = metrics.map(followed);
    let traces = traces.follow(&run, driving.coordinator());
    let publish =
        |source| Publisher::follow(source, &run, driving.coordinator().subscribe(), audience.words());
    let publisher = publishing.map(publish);
    // The views and writers that follow the run hold what they need of it.
    drop((run, graph));
    process::give_memory_back();
    let signalled = signals::watch(control.clone(), audience.words());
    let giver = handing::Giver::of(args, &id, audience.words());
    let looks = keys::watch(control.clone(), args.ui() != Ui::Json, giver.clone());
    let watching = file.map(|file| tokio::spawn(file.watch(control, audience.words())));
    let driven = audience.follow(driving.drive(), looks).await;
    metrics::finish(metrics);
    traces.finish();
    if let Err(CoordinatorError::HandedOver { .. }) = &driven {
        handing::leave(&id, &state, audience, giver.is_asked());
    }
    let driven = driven.map_err(|error| unfinished::cli_error(&id, error, signalled.received()))?;
    watching.inspect(tokio::task::JoinHandle::abort);
    let concluded = elsewhere::conclude(driven, distant).await?;
    let ending = concluded.bring_home(options.merge == Some(BringHome::Branch)).await?;
    let Concluded { run, graph, ledger, .. } = &concluded;
    audience.view().finish(&id, run, graph, ledger.as_ref());
    let (stats, gone, ledger) = (args.typed.stats, args.typed.throw_away, ledger.as_ref());
    concluding::print(
        args,
        &Block { id: &id, run, graph, directory: &output, ending: ending.as_ref(), ledger, stats, gone },
    );
    let due = again::look_at_checks(args, publisher, run, ledger, &signalled).await;
    due.words.iter().for_each(|words| audience.view().notice(words));
    audience.leave();
    let exit = issues::finish(closer, &id, exit(run, ledger, signalled.received()));
    let reading = lesson(!gone && signalled.received().is_none(), &id, run);
    let joining = due.amendment.map(|amendment| (store, amendment));
    handing::forget_words(&state);
    if again::let_go(concluded, (&id, &state), exit, joining).await {
        return Ok(Carried { exit, again: Some(id) });
    }
    super::expertise::read_all(reading).await;
    Ok(Carried::from(exit))
}

/// What is to be learned of a run. One that was stopped is to end now, and one that is thrown away teaches nothing.
fn lesson(is_wanted: bool, id: &RunId, run: &Run) -> Option<super::expertise::Reading> {
    is_wanted.then(|| super::expertise::Reading::after(id, run)).flatten()
}

fn gather(
    args: &Resolved<'_>,
    (id, run, options, graph, output): (&RunId, &Run, &Options, &Graph, &Path),
    coordinator: &mut Coordinator,
    notices: UnboundedReceiver<String>,
) -> Audience {
    let stage = Stage { id, run, options, graph, board: coordinator.board(), output, is_own: true };
    Audience::gather(args.ui(), &stage, coordinator, notices, &args.directory, args.typed.heartbeat)
}
