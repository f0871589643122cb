//! A model reads what a task's agent and its tools said: when `conductor expertise learn` asks for it, and after a run whose
//! file sets `limits.learn_cost`. Nothing else ever asks one.

use conductor_core::expertise::{Evidence, ItemId};
use conductor_core::run::event::{Event, Record, Usage};
use conductor_core::run::{Run, TaskState};
use conductor_core::values::counted::counted;
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_core::values::units::{Millis, Usd};
use conductor_engine::expertise::{Expertise, Project};
use conductor_engine::host::clock::wall;
use conductor_engine::host::home::Home;
use conductor_engine::planner::{Allowance, Planner};
use conductor_engine::runs::engine;
use conductor_engine::runs::listening::{Exchange, Listener};
use conductor_engine::stores::EarlierRuns;
use serde_json::json;

use crate::archive::{Archive, Found, FoundTask};
use crate::args;
use crate::commands::plan::asking::{cli_error, listen, one_task, spent};
use crate::commands::{answer, answer_json, reaper, talk};
use crate::error::{CliError, Exit};

/// How long a model may take for one transcript after a run.
const PATIENCE: Millis = Millis(2 * 60 * 1000);

/// Less than this buys no answer.
const LEAST: Usd = Usd(1_000);

/// Who is asked, for how long and for how much.
struct Reader<'a> {
    agent: Option<&'a String>,
    model: Option<&'a String>,
    allowance: Allowance,
}

/// What came of it.
struct Read {
    items: Vec<ItemId>,
    dropped: Vec<String>,
    used: Usage,
}

pub(super) async fn learn(args: &args::ExpertiseLearn) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let chosen = archive.task(args.run.as_deref(), &args.task, spoke).await?;
    let allowance = Allowance { timeout: args.timeout, max_cost: Usd::from_dollars(args.max_cost) };
    let reader = Reader { agent: args.agent.as_ref(), model: args.model.as_ref(), allowance };
    let Read { items, dropped, used } = read(&archive, chosen, &reader).await?;
    for why in &dropped {
        talk(format!("dropped: {why}"));
    }
    talk(format!("it used {}", spent(used)));
    if args.json {
        let value = json!({ "schema": "conductor.expertise-learned/1", "items": items, "dropped": dropped });
        answer_json(&value)?;
    } else {
        let lines: String = items.iter().map(|id| format!("{id}\n")).collect();
        answer(&format!("{lines}{} learned, {} dropped\n", items.len(), dropped.len()))?;
    }
    Ok(Exit::Done)
}

fn spoke(found: &Found, place: usize) -> bool {
    found.run.progress(found.run.doer(place)).last_attempt > 0
}

async fn read(archive: &Archive, mut chosen: FoundTask, reader: &Reader<'_>) -> Result<Read, CliError> {
    chosen.place = chosen.found.run.doer(chosen.place);
    let (task, name) = (chosen.task().id.clone(), chosen.task().name.clone());
    let Found { stored, run, .. } = &chosen.found;
    let agent = run.agent_choice(chosen.place).map(|choice| choice.agent.clone());
    let listener = Listener::new(&archive.home, archive.store(), &stored.id, run, chosen.place, true);
    let (Some(agent), Some(&(attempt, executor))) = (agent, listener.attempts().last()) else {
        return Err(CliError::new(Exit::NothingToDo, format!("no agent has worked on task '{task}'")));
    };
    let mut exchange = Exchange::new(listener, attempt, executor, Some(&agent));
    if exchange.catch_up().await.map_err(|error| CliError::new(Exit::Unexpected, error))? {
        let message = format!("task '{task}' is still at work; try again when it has ended");
        return Err(CliError::new(Exit::StillRunning, message));
    }
    let turns: Vec<_> = exchange.turns().turns().cloned().collect();
    let log = archive.store();
    let records = EarlierRuns::of(&*log).records(&stored.id).await.unwrap_or_default();
    let evidence = Evidence {
        run: stored.id.clone(),
        event: ended_by(&records, &task, attempt),
        task,
        attempt,
        commit: run.progress(chosen.place).landed.as_ref().map(|landed| landed.commit.clone()),
        quote: None,
    };
    let home = Home::open()?;
    let (plan, id) = (one_task(reader.agent, reader.model)?, engine::new_id());
    let reaper = reaper::command_in(home.root(), &id);
    let mut planner =
        Planner::new(&home, plan, id, reader.allowance, reaper).map_err(|error| cli_error(&error, None))?;
    let signalled = listen(planner.stopper());
    let learned = planner.learn(&name, &turns).await;
    planner.notices().into_iter().for_each(talk);
    if let Some(exit) = *signalled.borrow() {
        return Err(CliError::new(exit, "learning was stopped; nothing was written"));
    }
    let (lessons, dropped) = learned.map_err(|error| cli_error(&error, Some(&planner)))?;
    // Of the run's own project, wherever it is asked from.
    let store = Expertise::open(home.root(), Project::of(&stored.directory)).await?;
    let items = store.take_lessons(lessons, &evidence, wall()).await?;
    Ok(Read { items, dropped, used: planner.used() })
}

/// The event by which the attempt ended, in the run's log.
fn ended_by(records: &[Record], wanted: &TaskId, of: Attempt) -> u64 {
    let is_it = |record: &&Record| matches!(&record.event, Event::AttemptEnded { task, attempt, .. } if task == wanted && *attempt == of);
    records.iter().rev().find(is_it).map_or(0, |record| record.seq)
}

/// What is to be read after a run whose file allows it (`limits.learn_cost`).
pub(crate) struct Reading {
    run: RunId,
    /// Which task, and which agent worked on it and reads it now.
    tasks: Vec<(TaskId, String)>,
    left: Usd,
}

impl Reading {
    /// The transcripts of a run, those with trouble in them first, for at most what its file says and never for more than is
    /// left of what the run may cost. Nothing where the file says nothing.
    pub(crate) fn after(id: &RunId, run: &Run) -> Option<Reading> {
        let limits = &run.options().limits;
        let cap = limits.learn_cost?;
        let left = limits.max_cost.map_or(cap, |most| Usd(most.0.saturating_sub(run.spent().cost.0)));
        let tasks = worth_reading(run);
        (!tasks.is_empty()).then(|| Reading { run: id.clone(), tasks, left: left.min(cap) })
    }

    /// One after the other. All of the run is done, reported and given back by then, and whatever comes of this
    /// changes nothing about it.
    async fn go(mut self) {
        if self.left < LEAST {
            return talk("no model reads the transcripts: what the run may cost is used up");
        }
        let count = counted(self.tasks.len(), "transcript");
        talk(format!("a model reads {count}, for at most {}; Ctrl-C stops that", self.left));
        let (mut items, mut used) = (0, Usage::default());
        for (task, agent) in std::mem::take(&mut self.tasks) {
            match read_one(&self.run, &task, &agent, self.left).await {
                Ok(read) => {
                    items += read.items.len();
                    used += read.used;
                    self.left = Usd(self.left.0.saturating_sub(read.used.cost.0));
                }
                Err(error) => {
                    talk(format!("the transcript of '{task}' taught nothing: {}", error.message()));
                    break;
                }
            }
            // What has no price cannot be held to a cap.
            if used.unpriced > 0 || self.left < LEAST {
                break;
            }
        }
        talk(format!("{} learned from transcripts; that used {}", counted(items, "item"), spent(used)));
    }
}

/// Reads what is to be read, if anything is.
pub(crate) async fn read_all(reading: Option<Reading>) {
    if let Some(reading) = reading {
        reading.go().await;
    }
}

async fn read_one(id: &RunId, task: &TaskId, agent: &String, left: Usd) -> Result<Read, CliError> {
    let archive = Archive::open().await?;
    let chosen = archive.task(Some(id.as_str()), task.as_str(), spoke).await?;
    let allowance = Allowance { timeout: PATIENCE, max_cost: left };
    read(&archive, chosen, &Reader { agent: Some(agent), model: None, allowance }).await
}

/// Tasks on which an agent worked, and which agent: first those that had to be tried more than once or failed, for where all
/// went well there is little to learn.
fn worth_reading(run: &Run) -> Vec<(TaskId, String)> {
    let mut found: Vec<(bool, TaskId, String)> = Vec::new();
    for (place, (task, progress)) in run.tasks().enumerate() {
        let is_over = matches!(progress.state, TaskState::Completed | TaskState::Failed(_));
        let choice = run.agent_choice(place).filter(|_| is_over && task.expertise && !task.is_entrant());
        if let Some(choice) = choice {
            let went_well = progress.state == TaskState::Completed && progress.last_attempt <= 1;
            found.push((went_well, task.id.clone(), choice.agent.clone()));
        }
    }
    found.sort_by_key(|(went_well, ..)| *went_well);
    found.into_iter().map(|(_, task, agent)| (task, agent)).collect()
}
