//! `conductor group execute`: groups of a file, carried out by the one scheduler there is.

use std::ffi::OsString;
use std::path::Path;

use conductor_core::plan::groups::{self, ArrangeError, Refresh, SEQUENTIAL, Steps};
use conductor_core::plan::{Command, Plan, Task, Work};
use conductor_core::values::ids::TaskId;
use conductor_engine::agents::skills;
use conductor_engine::worker::gates::{self, AUTO};

use super::readiness;
use crate::archive::Archive;
use crate::args::{self, GroupExecute, Shown};
use crate::commands::run::{self, Made};
use crate::commands::{answer, answer_json, block_on, talk};
use crate::error::{CliError, Exit};
use crate::settings::diagnostics;
use crate::settings::trust;

/// The slash command that brings an agent up to date, where it has one.
const SUMMARY: &str = "/flow:summary";

/// How many tasks of a group run at once without --parallel.
const MOST: usize = 8;

/// The word for no such step.
const NONE: &str = "none";

pub(super) fn run(args: &GroupExecute) -> Result<Exit, CliError> {
    let directory = std::env::current_dir()?;
    trust::demand(&directory)?;
    let (plan, elsewhere) = diagnostics::load_open(&args.tasks_file)?;
    let mut chosen =
        groups::choose(&plan, args.group_id.as_deref()).map_err(|error| unarranged(error, &plan))?;
    for task in &chosen.plan.tasks {
        let outside = elsewhere.get(&task.id).into_iter().flatten().cloned();
        chosen.outside.entry(task.id.clone()).or_default().extend(outside);
    }
    let typed = run_arguments(args, 1)?;
    let chooses = typed.only.is_some() || typed.skip_done || typed.from.is_some();
    if typed.detach || typed.resume.is_some() || chooses || typed.watch {
        return Err(CliError::new(
            Exit::Usage,
            "--detach, --resume, --only, --skip-done, --watch and --from do not go with groups",
        )
        .help("start it with & to have it in the background; a run that was left: conductor run --resume"));
    }
    let source = run::full_name(&directory, &args.tasks_file);
    let ready = block_on(readiness::of(chosen, &source, &directory, args, typed.dry_run))?;
    let steps = Steps { refresh: refresh(args, &plan, &directory), tests: tests(args, &directory) };
    let arranged =
        groups::arrange(ready.plan, &steps, ready.circumstances).map_err(|error| unarranged(error, &plan))?;
    let mut typed = run_arguments(args, slots(&arranged))?;
    let told_here = args.json || args.output == Shown::Json;
    typed.told_elsewhere = told_here && !typed.dry_run;
    let exit = run::carry(&typed, Made { plan: arranged, source, turn: Some(ready.turn), mark: None })?;
    if typed.told_elsewhere {
        block_on(tell(args.group_id.as_deref()))?;
    }
    Ok(exit)
}

/// How the group stands that was meant, or all of them.
async fn tell(group: Option<&str>) -> Result<(), CliError> {
    let archive = Archive::open().await?;
    match group {
        Some(group) => answer(&archive.group(None, group).await?.1.text()),
        None => {
            let groups = archive.groups().await?;
            let newest = groups.first().map(|group| group.run.clone());
            let of_run = groups.iter().filter(|group| Some(&group.run) == newest.as_ref());
            answer_json(&of_run.map(|group| &group.metadata).collect::<Vec<_>>())
        }
    }
}

/// What the file or the command line says; else all of the largest group at once, as long as that is not too many.
fn slots(plan: &Plan) -> u32 {
    let stages = plan.execution.iter().flat_map(|execution| &execution.stages);
    let ways = |task: &TaskId| plan.task(task).and_then(Task::race).map_or(1, |race| race.entrants.len());
    let parallel = stages.filter(|stage| stage.group != SEQUENTIAL);
    let largest = parallel.map(|stage| stage.tasks.iter().map(ways).sum::<usize>()).max();
    plan.parallel.unwrap_or(largest.unwrap_or(1).clamp(1, MOST) as u32)
}

fn run_arguments(args: &GroupExecute, slots: u32) -> Result<Box<args::Run>, CliError> {
    let slots = args.parallel.unwrap_or(slots).to_string();
    let mut words: Vec<OsString> = vec!["conductor".into(), "run".into(), "-p".into(), slots.into()];
    if args.stats {
        words.push("--stats".into());
    }
    words.extend(args.run.iter().map(Into::into));
    words.extend(["--".into(), args.tasks_file.clone().into()]);
    run::typed(words)
}

/// What was asked for; else the agent's own summary, where it has one. A notice says where there is none.
fn refresh(args: &GroupExecute, plan: &Plan, directory: &Path) -> Option<Refresh> {
    let timeout = args.refresh_timeout;
    let work = match args.refresh.as_deref() {
        Some(NONE) => return None,
        Some(command) if command.starts_with('/') && !Path::new(word(command)).exists() => {
            Work::Prompt(command.to_owned())
        }
        Some(command) => Work::Run(Command::Line(command.to_owned())),
        None => {
            let agents = plan.tasks.iter().filter(|task| matches!(task.work, Work::Prompt(_)));
            let has_it = agents.map(|task| task.agent_name()).any(|agent| agent == "claude");
            if !has_it || skills::find(SUMMARY, directory).is_none() {
                talk(format!(
                    "no context is refreshed: there is no {SUMMARY} here; name something with --refresh"
                ));
                return None;
            }
            Work::Prompt(SUMMARY.to_owned())
        }
    };
    Some(Refresh { work, timeout })
}

fn word(command: &str) -> &str {
    command.split_whitespace().next().unwrap_or_default()
}

/// What was asked for; else what the project's files suggest, if they suggest anything.
fn tests(args: &GroupExecute, directory: &Path) -> Vec<String> {
    if args.tests.iter().any(|command| command == NONE) {
        return Vec::new();
    }
    if !args.tests.is_empty() {
        return args.tests.clone();
    }
    match gates::detect(directory).is_empty() {
        true => {
            talk("no tests after the group: the project's files suggest none; name them with --tests");
            Vec::new()
        }
        false => vec![AUTO.to_owned()],
    }
}

fn unarranged(error: ArrangeError, plan: &Plan) -> CliError {
    match &error {
        ArrangeError::NoGroup { .. } => {
            let mut names: Vec<&str> =
                plan.tasks.iter().map(|task| task.group.as_deref().unwrap_or(SEQUENTIAL)).collect();
            names.sort_unstable();
            names.dedup();
            CliError::new(Exit::Usage, error).help(format!("its groups are: {}", names.join(", ")))
        }
        _ => CliError::new(Exit::InvalidFile, error),
    }
}
