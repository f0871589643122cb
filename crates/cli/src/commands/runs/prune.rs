//! `runs prune`: removes what old runs have left, but no active run and no work that is kept nowhere else. What goes is
//! decided in `conductor_engine::runs::prune`.

use conductor_core::values::ids::RunId;
use conductor_engine::host::clock::wall;
use conductor_engine::process::trash;
use conductor_engine::runs::prune::{
    self, PlanVerdict, RefVerdict, RunVerdict, Verdicts, Wanted, delete_left_refs, remove_empty_folder,
    remove_plan, remove_run,
};
use serde::Serialize;

use super::{answer, answer_json, talk};
use crate::archive::Archive;
use crate::args;
use crate::commands::worktree::clear_all;
use crate::error::{CliError, Exit};
use crate::progress::json::timestamp;

const SCHEMA: &str = "conductor.prune/1";

#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    /// Whether this only says what would be done.
    dry_run: bool,
    runs: Vec<Run>,
    /// Folders of runs that were killed before they were in the store.
    empty_folders: Vec<RunId>,
    /// Branches and kept work of runs that are gone, in the repository we are in.
    left_refs: Vec<Ref>,
    /// What planners said, of plans that no run there is was made of.
    plans: Vec<Plan>,
}

#[derive(Debug, Serialize)]
struct Run {
    run: RunId,
    created_at: String,
    state: String,
    goes: bool,
    /// Why it stays.
    why: Option<String>,
    /// Its branch, kept work and checkpoints, as far as they are asked for.
    refs: Vec<Ref>,
}

#[derive(Debug, Serialize)]
struct Ref {
    #[serde(rename = "ref")]
    name: String,
    goes: bool,
    /// A ref that stays and holds all of it.
    held_by: Option<String>,
    /// Why it stays.
    why: Option<String>,
}

#[derive(Debug, Serialize)]
struct Plan {
    plan: RunId,
    asked_at: String,
    /// The run that was made of it, which is gone or goes along.
    run: Option<RunId>,
}

pub(super) async fn prune(args: &args::RunsPrune) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    if args.unreachable && !args.branches && !args.refs {
        let message = "--unreachable needs --branches or --refs";
        return Err(CliError::new(Exit::Usage, message).help("name one of them, or both"));
    }
    let wanted = wanted(args);
    let mut verdicts = prune::judge(&archive, &wanted, wall())?;
    let left_refs = std::mem::take(&mut verdicts.left_refs);
    let mut report = Report::of(verdicts, !args.yes);
    if args.yes {
        carry_out(&archive, &mut report, &left_refs, &wanted).await;
        trash::empty(archive.home.root());
    }
    report.left_refs = left_refs.into_iter().map(Ref::of).collect();
    match args.json {
        true => answer_json(&report)?,
        false => tell(&report, &wanted)?,
    }
    Ok(Exit::Done)
}

fn wanted(args: &args::RunsPrune) -> Wanted {
    Wanted {
        older_than: args.older_than,
        keep: args.keep,
        here: args.here,
        branches: args.branches,
        refs: args.refs,
        unreachable: args.unreachable,
        force: args.force,
    }
}

async fn carry_out(archive: &Archive, report: &mut Report, left_refs: &[RefVerdict], wanted: &Wanted) {
    for run in report.runs.iter_mut().filter(|run| run.goes) {
        if wanted.force {
            clear(archive, &run.run).await;
        }
        match remove_run(archive, &run.run, wanted).await {
            Ok(refs) => run.refs = refs.into_iter().map(Ref::of).collect(),
            Err(why) => (run.goes, run.why) = (false, Some(why.to_string())),
        }
    }
    report.empty_folders.retain(|run| match remove_empty_folder(&archive.home, run) {
        Ok(()) => true,
        Err(why) => {
            talk(format!("{run}: {why}"));
            false
        }
    });
    if let Err(error) = delete_left_refs(archive, left_refs) {
        talk(format!("not all that runs have left in the repository could be taken away: {error}"));
    }
    // A run that stays after all keeps its plan.
    let stays = |run: &RunId| report.runs.iter().any(|one| one.run == *run && !one.goes);
    report.plans.retain(|plan| !plan.run.as_ref().is_some_and(stays) && discard(archive, &plan.plan));
}

/// Whether it is gone.
fn discard(archive: &Archive, plan: &RunId) -> bool {
    let done = remove_plan(&archive.home, plan);
    if let Err(error) = &done {
        talk(format!("{plan}: the planner's answers cannot be removed: {error}"));
    }
    done.is_ok()
}

/// Saves what is in its workspaces, as far as that can be done.
async fn clear(archive: &Archive, run: &RunId) {
    if let Some(stored) = archive.known(run)
        && let Err(cli_error) = clear_all(archive, stored).await
    {
        talk(format!("{run}: its workspaces could not be cleared: {}", cli_error.message()));
    }
}

fn tell(report: &Report, wanted: &Wanted) -> Result<(), CliError> {
    let (verb, count) = (if report.dry_run { "would go" } else { "gone" }, report.goes());
    for Run { run, created_at, state, goes, why, refs } in &report.runs {
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
    if !wanted.names_runs() {
        talk("which runs: --older-than 30d, --keep 20, or both");
    }
    Ok(())
}

fn tell_ref(found: &Ref, verb: &str) -> Result<(), CliError> {
    let verb = if found.goes { verb } else { "stays" };
    answer(&format!("          {verb:<8}  {}{}", found.name, found.note()))
}

impl Report {
    fn of(verdicts: Verdicts, dry_run: bool) -> Report {
        let Verdicts { runs, empty_folders, left_refs, plans } = verdicts;
        Report {
            schema: SCHEMA,
            dry_run,
            runs: runs.into_iter().map(Run::of).collect(),
            empty_folders,
            left_refs: left_refs.into_iter().map(Ref::of).collect(),
            plans: plans.into_iter().map(Plan::of).collect(),
        }
    }

    fn goes(&self) -> usize {
        let runs = self.runs.iter().filter(|run| run.goes).count();
        let refs = self.left_refs.iter().filter(|found| found.goes).count();
        runs + self.empty_folders.len() + refs + self.plans.len()
    }
}

impl Run {
    fn of(RunVerdict { stored, stays, refs }: RunVerdict) -> Run {
        Run {
            run: stored.id,
            created_at: timestamp(stored.created.0),
            state: stored.status,
            goes: stays.is_none(),
            why: stays.map(|stays| stays.to_string()),
            refs: refs.into_iter().map(Ref::of).collect(),
        }
    }
}

impl Ref {
    fn of(RefVerdict { name, held_by, stays }: RefVerdict) -> Ref {
        Ref { name, goes: stays.is_none(), held_by, why: stays.map(|stays| stays.to_string()) }
    }

    /// What there is to know about it, in brackets.
    fn note(&self) -> String {
        match (&self.why, &self.held_by) {
            (Some(why), _) => format!("  ({why})"),
            (None, Some(held_by)) => format!("  ({} holds it)", short(held_by)),
            (None, None) => "  (nothing else holds it)".to_owned(),
        }
    }
}

impl Plan {
    fn of(PlanVerdict { plan, asked, run }: PlanVerdict) -> Plan {
        Plan { plan, asked_at: timestamp(asked.0), run }
    }
}

fn short(name: &str) -> &str {
    ["refs/heads/", "refs/tags/", "refs/"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}
