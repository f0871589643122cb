//! `conductor expertise learn`: a model reads what a task's agent and its tools said. Only this command asks one.

use conductor_core::expertise::Evidence;
use conductor_core::run::event::{Event, Record};
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_core::values::units::Usd;
use conductor_engine::host::clock::wall;
use conductor_engine::host::home::Home;
use conductor_engine::planner::{Allowance, Planner};
use conductor_engine::runs::engine;
use conductor_engine::runs::listening::{Exchange, Listener};
use conductor_engine::stores::EarlierRuns;
use serde_json::json;

use super::store;
use crate::archive::{Archive, Found};
use crate::args;
use crate::commands::plan::asking::{cli_error, listen, one_task, spent};
use crate::commands::{answer, answer_json, reaper, talk};
use crate::error::{CliError, Exit};

pub(super) async fn learn(args: &args::ExpertiseLearn) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let spoke = |found: &Found, place: usize| found.run.progress(found.run.doer(place)).last_attempt > 0;
    let mut chosen = archive.task(args.run.as_deref(), &args.task, spoke).await?;
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
    let reader = archive.store();
    let records = EarlierRuns::of(&*reader).records(&stored.id).await.unwrap_or_default();
    let evidence = Evidence {
        run: stored.id.clone(),
        event: ended_by(&records, &task, attempt),
        task,
        attempt,
        commit: run.progress(chosen.place).landed.as_ref().map(|landed| landed.commit.clone()),
        quote: None,
    };
    let home = Home::open()?;
    let (plan, id) = (one_task(args.agent.as_ref(), args.model.as_ref())?, engine::new_id());
    let allowance = Allowance { timeout: args.timeout, max_cost: Usd::from_dollars(args.max_cost) };
    let reaper = reaper::command_in(home.root(), &id);
    let mut planner =
        Planner::new(&home, plan, id, allowance, reaper).map_err(|error| cli_error(&error, None))?;
    let signalled = listen(planner.stopper());
    let learned = planner.learn(&name, &turns).await;
    planner.notices().into_iter().for_each(talk);
    if let Some(exit) = *signalled.borrow() {
        return Err(CliError::new(exit, "learning was stopped; nothing was written"));
    }
    let (lessons, dropped) = learned.map_err(|error| cli_error(&error, Some(&planner)))?;
    let learned = store().await?.take_lessons(lessons, &evidence, wall()).await?;
    for why in &dropped {
        talk(format!("dropped: {why}"));
    }
    talk(format!("it used {}", spent(planner.used())));
    if args.json {
        let value =
            json!({ "schema": "conductor.expertise-learned/1", "items": learned, "dropped": dropped });
        answer_json(&value)?;
    } else {
        let lines: String = learned.iter().map(|id| format!("{id}\n")).collect();
        answer(&format!("{lines}{} learned, {} dropped\n", learned.len(), dropped.len()))?;
    }
    Ok(Exit::Done)
}

/// The event by which the attempt ended, in the run's log.
fn ended_by(records: &[Record], wanted: &TaskId, of: Attempt) -> u64 {
    let is_it = |record: &&Record| matches!(&record.event, Event::AttemptEnded { task, attempt, .. } if task == wanted && *attempt == of);
    records.iter().rev().find(is_it).map_or(0, |record| record.seq)
}
