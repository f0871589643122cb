//! `conductor explain`: what will be done with a task and why, or what a code means.

mod bounds;
mod codes;
mod failures;
mod report;

use std::path::{Path, PathBuf};

use conductor_core::expertise::{Fate, HOLD_OUT_PERCENT};
use conductor_core::file::Origin;
use conductor_core::plan::models::{self, Chosen, Circumstances, Sample};
use conductor_core::plan::{Isolation, Plan, Task, Work};
use conductor_core::run::Run;
use conductor_core::run::event::AgentChoice;
use conductor_core::schedule::{self, Wait};
use conductor_core::values::ids::TaskId;
use conductor_core::values::suggest::did_you_mean;
use conductor_engine::agents;
use conductor_engine::agents::skills::{self, Applied, Skill};
use conductor_engine::agents::subagents;
use conductor_engine::dispatch::{Query, View};
use conductor_engine::expertise::{Expertise, Project, Selection, Wanted, gather, need_of};
use conductor_engine::git::merge::short;
use conductor_engine::git::workspaces::RunRefs;
use conductor_engine::git::{GitError, Repository};
use conductor_engine::host::home::Home;
use conductor_engine::runs::control::{self, ControlError};
use conductor_engine::stores::{self, EarlierRuns, StoredRun};
use conductor_engine::worker::prompt::{self, Facts, Offered};

use super::run::as_started;
use super::{answer, answer_json, block_on, talk};
use crate::archive::{Archive, FoundTask, briefly};
use crate::args::Explain;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::settings::diagnostics;

pub(crate) fn run(args: &Explain) -> Result<Exit, CliError> {
    let of_task = args.file.is_some() || args.run.is_some() || args.prompt;
    if let (false, Some(code)) = (of_task, codes::find(&args.what)) {
        match args.json {
            true => answer_json(&code.json())?,
            false => answer(&code.text())?,
        }
        return Ok(Exit::Done);
    }
    block_on(explain(args))
}

async fn explain(args: &Explain) -> Result<Exit, CliError> {
    let mut subject = match &args.file {
        Some(file) => of_file(file, &args.what).await?,
        None => of_run(args).await?,
    };
    if args.prompt {
        subject.expertise = expertise(&subject).await?;
    }
    match (args.prompt, args.json) {
        (true, _) => answer(&subject.prompt()?)?,
        (false, true) => answer_json(&report::json(&subject))?,
        (false, false) => answer(&report::text(&subject))?,
    }
    Ok(Exit::Done)
}

/// A task with all that decides what becomes of it.
struct Subject {
    plan: Plan,
    place: usize,
    /// The task's agents that are not installed.
    absent: Vec<String>,
    /// Why no agent can do it, where that is so.
    undoable: Option<String>,
    isolation: Isolation,
    directory: PathBuf,
    root: PathBuf,
    samples: Vec<Sample>,
    /// Nothing where it is only in a file.
    found: Option<FoundTask>,
    /// What the task waits for; nothing where its run is not active.
    waits: Option<Vec<Wait>>,
    /// Who wrote which key; nothing where the file is not at hand.
    origins: Vec<Origin>,
    /// What earlier tasks taught for this one.
    expertise: Selection,
}

async fn of_file(file: &Path, task: &str) -> Result<Subject, CliError> {
    let (plan, origins) = diagnostics::load_with_origins(file, task)?;
    let (plan, isolation) = as_started(plan)?;
    let place = TaskId::parse(task).ok().and_then(|id| plan.place(&id));
    let place = place.ok_or_else(|| unknown(task, &plan, file))?;
    let directory = std::env::current_dir()?;
    let samples = samples(&directory, &plan).await?;
    let default = match Repository::common_of(&directory) {
        Ok(_) => Isolation::Worktree,
        Err(GitError::NotOne(_)) => Isolation::None,
        Err(error) => return Err(error.into()),
    };
    let default = isolation.unwrap_or(default);
    Ok(Subject::new(plan, place, default, directory, samples, None, origins))
}

/// What the next attempt is given of what earlier tasks taught, and why. Where there is no run yet, it is not known which
/// tasks will do without: what is meant for it is shown.
async fn expertise(subject: &Subject) -> Result<Selection, CliError> {
    let (task, Some(home)) = (subject.task(), super::expertise::home()) else {
        return Ok(Selection::default());
    };
    let store = Expertise::open_to_look(&home, Project::of(&subject.root)).await?;
    let Some(store) = store.filter(|_| task.expertise) else { return Ok(Selection::default()) };
    if let Some(paused) = store.paused().await? {
        talk(format!("it is given no expertise, which is paused: {}", paused.words()));
        return Ok(Selection::default());
    }
    let percent = subject.plan.limits.hold_out.unwrap_or(u32::from(HOLD_OUT_PERCENT));
    let percent = u8::try_from(percent).unwrap_or(HOLD_OUT_PERCENT);
    let selection = match &subject.found {
        Some(found) => {
            let run = found.found.stored.id.as_str();
            store.select(&need_of(task), (run, task.id.as_str()), percent).await?
        }
        None => store.select(&need_of(task), ("", task.id.as_str()), 0).await?,
    };
    for one in &selection.chosen {
        let why: Vec<String> = one.why.iter().map(ToString::to_string).collect();
        let fate = match (one.fate, selection.held_out) {
            (Fate::Given, _) => "given",
            (_, true) => "held out: this task gets none, for comparison",
            (_, false) => "withheld: this task does without it, for comparison",
        };
        talk(format!("expertise {}: {} ({fate})", one.item.id, why.join("; ")));
    }
    Ok(selection)
}

/// How models did here, where anything was ever run.
async fn samples(directory: &Path, plan: &Plan) -> Result<Vec<Sample>, CliError> {
    let home = Home::open()?;
    let store = briefly(|| stores::open_to_look(&home)).await?;
    let mut earlier = EarlierRuns::of(&*store);
    let wanted = Wanted { times: false, files: false, ..Wanted::by(plan, false) };
    let evidence = gather(&mut earlier, (directory, ""), wanted).await?;
    earlier.notice().into_iter().for_each(talk);
    Ok(evidence.samples())
}

async fn of_run(args: &Explain) -> Result<Subject, CliError> {
    let archive = Archive::open().await?;
    let found = archive.task(args.run.as_deref(), &args.what, |_, _| true).await.map_err(CliError::from);
    let found = found.map_err(|cli_error| match codes::near(&args.what) {
        _ if !matches!(cli_error.exit, Exit::Usage | Exit::NothingToDo) => cli_error,
        Some(code) if args.run.is_none() && !args.prompt => {
            let message = format!("'{}' is neither a task here nor a code", one_line(&args.what));
            CliError::new(Exit::Usage, message).help(format!("did you mean '{code}'?"))
        }
        _ if args.run.is_none() => {
            let message = format!("'{}' is neither a task of a run here nor a code", one_line(&args.what));
            CliError::new(Exit::Usage, message)
                .help("name the file the task is in with --file, or its run with --run")
        }
        _ => cli_error,
    })?;
    let (plan, place) = (found.found.run.plan().as_ref().clone(), found.place);
    let isolation = found.found.isolation(found.task());
    let directory = found.found.stored.directory.clone();
    let samples = found.found.run.options().samples.clone();
    let waits = waits(&archive, &found)?;
    let subject = Subject::new(plan, place, isolation, directory, samples, Some(found), Vec::new());
    Ok(Subject { waits, ..subject })
}

/// The scheduler of a live run knows what a log cannot tell: who stands before whom.
fn waits(archive: &Archive, found: &FoundTask) -> Result<Option<Vec<Wait>>, CliError> {
    let run = &found.found.stored.id;
    match control::elsewhere::look(&archive.home, run, Query::Why(found.task().id.clone())) {
        Ok(View::Why(why)) => Ok(Some(why.why)),
        Err(ControlError::NotThere) => Ok(None),
        Err(_) if !archive.home.is_live(run) => Ok(None),
        Ok(_) => Ok(None),
        Err(error) => Err(crate::archive::live::unable(&archive.home, run, error)),
    }
}

fn unknown(task: &str, plan: &Plan, file: &Path) -> CliError {
    let message = format!("there is no task '{}' in {}", one_line(task), file.display());
    let cli_error = CliError::new(Exit::Usage, message);
    match did_you_mean(task, plan.tasks.iter().map(|task| task.id.as_str())) {
        Some(meant) => cli_error.help(format!("did you mean '{meant}'?")),
        None => cli_error,
    }
}

impl Subject {
    fn new(
        plan: Plan,
        place: usize,
        default: Isolation,
        directory: PathBuf,
        samples: Vec<Sample>,
        found: Option<FoundTask>,
        origins: Vec<Origin>,
    ) -> Subject {
        let (absent, undoable) = match agents::check(&plan, &plan.tasks[place]) {
            Ok(absent) => (absent.into_iter().collect(), None),
            Err(error) => {
                let all = plan.tasks[place].agents().map(str::to_owned).collect();
                (all, Some(error.to_string()))
            }
        };
        let isolation = plan.tasks[place].isolation_or(default);
        let root = subagents::root(&directory);
        Subject {
            plan,
            place,
            absent,
            undoable,
            isolation,
            directory,
            root,
            samples,
            found,
            waits: None,
            origins,
            expertise: Selection::default(),
        }
    }

    fn task(&self) -> &Task {
        &self.plan.tasks[self.place]
    }

    fn run(&self) -> Option<&Run> {
        self.found.as_ref().map(|found| &found.found.run)
    }

    /// Who did it last, and with what.
    fn agent_choice(&self) -> Option<&AgentChoice> {
        self.run()?.agent_choice(self.place)
    }

    /// Who would do it next, as far as that can be told before they are asked.
    fn agent(&self) -> &str {
        let unfit =
            self.run().and_then(|run| run.repeats(self.place)).map(|repeats| repeats.unfit.as_slice());
        let fits = |agent: &&str| {
            !self.absent.iter().any(|absent| absent == agent)
                && !unfit.unwrap_or_default().iter().any(|unfit| unfit == agent)
        };
        self.task().agents().find(fits).unwrap_or_else(|| self.task().agent_name())
    }

    /// The model the next attempt would get; nothing for a command.
    fn model(&self) -> Option<Chosen> {
        if matches!(self.task().work, Work::Run(_)) {
            return None;
        }
        let now = match self.run() {
            Some(run) => schedule::circumstances(run, self.place),
            None => Circumstances { samples: &self.samples, ..Circumstances::default() },
        };
        Some(models::choose(&self.plan, self.task(), self.agent(), &now))
    }

    /// Each skill by its name, with where it is.
    fn skills(&self) -> impl Iterator<Item = (&String, Option<Skill>)> {
        self.task().applicable_skills.iter().map(|name| (name, skills::find(name, &self.directory)))
    }

    /// What the next attempt would be told first, by the same words the worker uses.
    fn prompt(&self) -> Result<String, CliError> {
        let Work::Prompt(asked) = &self.task().work else {
            return Err(CliError::new(Exit::NothingToDo, "it is a command and gets no prompt"));
        };
        let agent = self.agent().to_owned();
        let knows = agents::agent(&self.plan, &agent).is_ok_and(|agent| agent.knows_specialists());
        let applied: Vec<Applied> = self
            .skills()
            .filter_map(|(name, skill)| {
                let words = match knows {
                    true => skill.map(|_| format!("(what /{name} says when it is run goes here)")),
                    false => skill.and_then(|skill| skill.instructions(asked)),
                };
                Some(Applied { name: name.clone(), words: words?, ran: knows })
            })
            .collect();
        let supposed = || self.task().dependencies.iter().map(|on| (on.id.clone(), None)).collect();
        let before = self.run().map_or_else(supposed, |run| schedule::before(run, self.place));
        let apart = self.isolation != Isolation::None;
        let branch = self.found.as_ref().map(|found| {
            let StoredRun { id, directory, .. } = &found.found.stored;
            let refs = Repository::of(directory).and_then(|repository| RunRefs::of(&repository, id));
            short(&refs.unwrap_or_else(|_| RunRefs::usual(id)).branch)
        });
        let model = self.model().and_then(|chosen| chosen.model);
        let task = Task { agent: Some(agent), model, ..self.task().clone() };
        let facts = Facts {
            before: &before,
            directory: Some(&self.directory),
            branch: branch.filter(|_| apart),
            tools: Offered::of(&self.plan, &task, &self.plan.limits),
            skills: &applied,
            expertise: &self.expertise.section,
            ..Facts::of(&self.plan, self.isolation)
        };
        if let Some(manner) = prompt::manner(&self.plan, &task) {
            talk(format!("besides the prompt it gets instructions on how to work: {}", one_line(manner)));
        }
        if apart {
            talk("the ports it may use are added when it starts");
        }
        prompt::words(&task, &facts, &self.root).map_err(|error| CliError::new(Exit::Unexpected, error))
    }
}
