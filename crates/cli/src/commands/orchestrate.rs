//! `conductor orchestrate`: words become a plan, the plan a run.

use std::path::{Path, PathBuf};

use conductor_core::values::counted::counted;
use conductor_core::values::units::Usd;

use super::plan::commands;
use super::plan::{
    Answered, PlannedAgent, Requirements, approve, ask, graph, need_person, spent, table, tell, useful_slots,
};
use super::talk;
use crate::args;
use crate::console;
use crate::error::{CliError, Exit};
use crate::output::writing;
use crate::settings::diagnostics;

/// What a planner may cost, where the whole may cost more or nothing is said of it.
const PLANNING: f64 = 1.0;

pub(crate) fn run(args: &args::Orchestrate) -> Result<Exit, CliError> {
    let planning = &args.planning;
    if planning.interactive {
        need_person()?;
    }
    let requirements = Requirements::read(planning)?;
    // What `run` would not understand is reported before anything is spent.
    if run_arguments(args, Path::new("tasks.yaml"), 1)?.detach {
        let message = "after `--`: what is still to be planned cannot be left in the background";
        return Err(CliError::new(Exit::Usage, message).help("plan it, then `conductor run FILE --detach`"));
    }
    if let Some(folder) = &args.output {
        writing::may_write(
            &[&folder.join("tasks.yaml")],
            planning.force,
            "write into another folder with -o DIR, or over this file with --force",
        )?;
    }
    let most = args.max_cost.map_or(PLANNING, |most| most.min(PLANNING));
    let answered = ask(planning, &requirements, None, Usd::from_dollars(most), args.json)?;
    if !args.json {
        tell(&answered, None);
    }
    let file = write_file(args, &answered, &requirements)?;
    let plan = diagnostics::load(&file)?;
    let slots = useful_slots(&plan, &graph(&plan)?, planning.budget);
    if !args.json {
        talk(format!("planned by {}: {}", answered.agent, spent(answered.used)));
        let tasks = counted(plan.tasks.len(), "task");
        talk(format!("{tasks}, there is use for {slots} at once; the plan is {}", file.display()));
        console::say(format_args!("\n{}", table(&plan)));
    }
    let new = commands::proposed(&answered.planned.draft, &plan, &file)?;
    commands::consent(&new, args.allow_commands, !args.yes && !args.json, &file)?;
    // What the user said counts as it is: a run never has more slots than there is use for.
    let mut typed = run_arguments(args, &file, planning.budget.unwrap_or(slots))?;
    typed.planning = Some(Box::new(answered.planning.clone()));
    super::run::run(&typed)
}

/// The task file where the run's files go, or beside the planner's answers; approved, where that is asked for.
fn write_file(
    args: &args::Orchestrate,
    answered: &Answered,
    requirements: &Requirements,
) -> Result<PathBuf, CliError> {
    let agent_choice = PlannedAgent::typed(&args.planning);
    let write = |draft: &_| answered.file(draft, &requirements.text, &agent_choice);
    let kept = answered.folder.join("tasks.yaml");
    let mut text = write(&answered.planned.draft);
    if args.planning.interactive {
        text = approve(&kept, text, write)?;
    }
    let file = args.output.as_ref().map_or(kept, |folder| folder.join("tasks.yaml"));
    diagnostics::check_text(&file.display().to_string(), &text)?;
    writing::write(&file, &text)?;
    Ok(file)
}

/// As if it had been typed after `run`: variables and defaults count as they do there.
fn run_arguments(args: &args::Orchestrate, file: &Path, slots: u32) -> Result<Box<args::Run>, CliError> {
    let mut words: Vec<std::ffi::OsString> = vec!["conductor".into(), "run".into()];
    words.extend(["-p".into(), slots.to_string().into()]);
    if let Some(most) = args.max_cost {
        // What planning cost is the first that the run has spent.
        words.extend(["--max-cost".into(), most.to_string().into()]);
    }
    if let Some(folder) = &args.output {
        words.extend(["-o".into(), folder.into()]);
    }
    for (_, flag) in [(args.json, "--json"), (args.stats, "--stats")].into_iter().filter(|(given, _)| *given)
    {
        words.push(flag.into());
    }
    words.extend(args.run.iter().map(Into::into));
    words.extend(["--".into(), file.into()]);
    super::run::typed(words)
}
