//! What earlier runs teach the next: which files each task touched, how long it took, and how each model did.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use conductor_core::forecast::{self, History, Past};
use conductor_core::plan::Plan;
use conductor_core::plan::models::{self, Sample};
use conductor_core::run::event::{AgentChoice, Event, Outcome, Record};
use conductor_core::run::{Run, TaskState};
use conductor_core::values::ids::TaskId;

use crate::stores::{EarlierRuns, StoreError, StoredRun};

/// More files than this are remembered as the folders they are in.
const MANY: usize = 50;

/// Notes for each task that does not say what it will touch what it touched last time, so that tasks which met then do
/// not run side by side now. The newest run of the file that can be read counts; nothing where there is none.
pub async fn learn(earlier: &mut EarlierRuns<'_>, source: &str, plan: &mut Plan) -> Result<(), StoreError> {
    let mut last = None;
    for run in earlier.list().await?.into_iter().filter(|run| run.is_of(source) && is_telling(run)) {
        last = earlier.run(&run.id).await;
        if last.is_some() {
            break;
        }
    }
    let Some(run) = last else { return Ok(()) };
    let touched = touched(&run);
    for task in plan.tasks.iter_mut().filter(|task| task.files.is_empty()) {
        let race = || touched.get(task.entrant_of()?);
        if let Some(files) = touched.get(&task.id).or_else(race) {
            task.preparation.get_or_insert_default().learned_files.clone_from(files);
        }
    }
    Ok(())
}

/// Older runs than these say little about models of today.
const RUNS: usize = 50;

/// How models did in the last runs of this directory, where the plan wants one chosen; nothing, and no look at the
/// store, where it does not. A run that cannot be read teaches nothing.
pub async fn samples(
    earlier: &mut EarlierRuns<'_>,
    directory: &Path,
    plan: &Plan,
) -> Result<Vec<Sample>, StoreError> {
    if !plan.tasks.iter().any(|task| models::is_chosen(plan, task)) {
        return Ok(Vec::new());
    }
    let runs = earlier.list().await?.into_iter().filter(|run| run.directory == directory).take(RUNS);
    let mut tally = Tally::default();
    for run in runs {
        if let Some(records) = earlier.records(&run.id).await {
            records.iter().for_each(|record| tally.count(record));
            tally.at_work.clear();
        }
    }
    Ok(tally.samples())
}

/// Attempts by agent and model: how many did good work, and how many did any.
#[derive(Default)]
struct Tally {
    at_work: HashMap<TaskId, AgentChoice>,
    done: BTreeMap<(String, String), (u32, u32)>,
}

impl Tally {
    /// What failed for reasons of the provider's, or was cut short, says nothing about a model.
    fn count(&mut self, record: &Record) {
        match &record.event {
            Event::AttemptStarted { task, choice: Some(choice), .. } if choice.model.is_some() => {
                self.at_work.insert(task.clone(), choice.as_ref().clone());
            }
            Event::AttemptEnded { task, outcome, .. } => {
                let good = match outcome {
                    Outcome::Succeeded => 1,
                    Outcome::Failed(failure) if !failure.class.is_agents_own() => 0,
                    _ => return,
                };
                if let Some(AgentChoice { agent, model: Some(model), .. }) = self.at_work.remove(task) {
                    let (all_good, all) = self.done.entry((agent, model)).or_default();
                    *all_good += good;
                    *all += 1;
                }
            }
            _ => {}
        }
    }

    fn samples(self) -> Vec<Sample> {
        let sample = |((agent, model), (good, all))| Sample { agent, model, good, all };
        self.done.into_iter().map(sample).collect()
    }
}

/// More runs than these change no median that matters.
const REMEMBERED: usize = 20;

/// Reading more tasks than these would delay the start of the run.
const TASKS: u64 = 5_000;

/// How long tasks took, and what they used, in the last runs of a file and of its directory; only those that were
/// completed count. The file's last run is read however large it is; a run that cannot be read teaches nothing.
pub async fn past(
    earlier: &mut EarlierRuns<'_>,
    directory: &Path,
    source: &str,
) -> Result<History, StoreError> {
    let mut history = History::new();
    let (mut read, mut known) = (0, false);
    let near = |run: &StoredRun| run.directory == directory || run.is_of(source);
    let runs = earlier.list().await?.into_iter().filter(|run| near(run) && is_telling(run));
    for stored in runs.take(REMEMBERED) {
        let same_file = stored.is_of(source);
        if read + stored.tasks > TASKS && (known || !same_file) {
            continue;
        }
        let Some(run) = earlier.run(&stored.id).await else { continue };
        remember(&mut history, &run, same_file);
        (read, known) = (read + stored.tasks, known || same_file);
    }
    Ok(history)
}

/// Tasks of other files tell of those that are like them, whatever their names.
fn remember(history: &mut History, run: &Run, same_file: bool) {
    for (place, (task, progress)) in run.tasks().enumerate() {
        if progress.state != TaskState::Completed || progress.last_attempt == 0 {
            continue;
        }
        let past = Past { took: progress.worked, usage: progress.usage };
        if let Some(race) = run.raced_by(place).filter(|_| same_file) {
            history.add(&run.task(race).0.id, Past { took: run.took(race), usage: run.usage(race) });
        }
        let choice = run.agent_choice(place);
        let agent = choice.map_or_else(|| task.agent_name(), |choice| &choice.agent);
        history.add_like(task, agent, choice.and_then(|choice| choice.model.as_deref()), past);
        if same_file {
            history.add(&task.id, past);
        }
    }
}

/// Notes for each task that does not say how long it will take what former runs say. Nothing is read where all do.
pub async fn estimate(
    earlier: &mut EarlierRuns<'_>,
    directory: &Path,
    source: &str,
    plan: &mut Plan,
) -> Result<(), StoreError> {
    if plan.tasks.iter().any(|task| task.estimate.is_none()) {
        forecast::teach(plan, &past(earlier, directory, source).await?);
    }
    Ok(())
}

fn is_telling(run: &StoredRun) -> bool {
    run.is_over() || run.status == "stopped"
}

fn touched(run: &Run) -> HashMap<TaskId, Vec<String>> {
    let landed = run.tasks().filter_map(|(task, progress)| Some((task, progress.landed.as_ref()?)));
    landed.map(|(task, landed)| (task.id.clone(), remembered(&landed.touched.files))).collect()
}

fn remembered(files: &[String]) -> Vec<String> {
    if files.len() <= MANY {
        return files.to_vec();
    }
    let folder =
        |file: &String| file.rsplit_once('/').map_or_else(|| file.clone(), |(folder, _)| folder.to_owned());
    files.iter().map(folder).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use conductor_core::run::event::{Failure, FailureClass};
    use conductor_core::values::ids::Attempt;
    use conductor_core::values::units::{Millis, Tick, Timestamp};

    use super::*;
    use crate::agents::Tokens;
    use crate::agents::prices;

    /// What we choose we can also charge for. The names Claude Code gives its newest models are its own.
    #[test]
    fn models_that_can_be_chosen_have_a_price() {
        for (_, models) in models::BUILT_IN.into_iter().filter(|(agent, _)| *agent != "claude") {
            for model in models {
                let model = model.rsplit('/').next().unwrap().to_owned();
                let tokens = Tokens { model, input: 1_000_000, turns: 1, ..Tokens::default() };
                assert!(prices::price(&prices::Own::new(), &tokens).is_some(), "{}", tokens.model);
            }
        }
    }

    #[test]
    fn only_what_models_did_counts_for_them() {
        let mut tally = Tally::default();
        let mut seq = 0;
        let mut tell = |event| {
            seq += 1;
            tally.count(&Record { seq, at: Timestamp(0), tick: Tick(0), event });
        };
        let failed = |class| Outcome::Failed(Failure::new(class, "no"));
        for (model, outcome) in [
            (Some("haiku"), Outcome::Succeeded),
            (Some("haiku"), failed(FailureClass::Unverified)),
            (Some("haiku"), failed(FailureClass::Overloaded)),
            (Some("haiku"), Outcome::Interrupted),
            (Some("opus"), Outcome::Succeeded),
            (None, Outcome::Succeeded),
        ] {
            let (task, attempt, executor) = (TaskId::parse("t").unwrap(), Attempt(1), 1);
            let model = model.map(str::to_owned);
            let choice = Some(Box::new(AgentChoice { agent: "claude".into(), model, why: String::new() }));
            tell(Event::AttemptStarted {
                task: task.clone(),
                attempt,
                executor,
                choice,
                on: Default::default(),
            });
            let (elapsed, change) = (Millis(1), None);
            tell(Event::AttemptEnded { task, attempt, outcome, elapsed, executor, change, phases: None });
        }
        let told =
            tally.samples().into_iter().map(|s| format!("{} {} {}/{}", s.agent, s.model, s.good, s.all));
        assert_eq!(told.collect::<Vec<_>>(), ["claude haiku 1/2", "claude opus 1/1"]);
    }

    #[test]
    fn a_great_many_files_are_remembered_by_their_folders() {
        let few = vec!["src/a.rs".to_owned(), "b".to_owned()];
        assert_eq!(remembered(&few), few);
        let many: Vec<String> = (0..60).map(|n| format!("docs/{}/{n}.md", n % 2)).collect();
        assert_eq!(remembered(&many), ["docs/0", "docs/1"]);
    }
}
