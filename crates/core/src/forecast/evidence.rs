//! What earlier runs say about time, models and files. One fold over their logs, from which estimates, the choice of a model
//! and the overlap of tasks take what they use; it can be shown, with the runs that it rests on.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use super::history::{History, Likeness, Past, median, teach};
use crate::plan::models::Sample;
use crate::plan::{Plan, Task};
use crate::run::event::{AgentChoice, Event, Outcome, Record};
use crate::run::{Run, TaskState};
use crate::values::ids::{RunId, TaskId};
use crate::values::units::Millis;

/// More files than this are remembered as the folders they are in.
const MANY: usize = 50;

/// So many runs are named as evidence, the newest.
const NAMED: usize = 5;

/// What is learned from earlier runs. Runs are added newest first.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    history: History,
    times: BTreeMap<Likeness, Times>,
    models: BTreeMap<(String, String, Option<&'static str>), Tried>,
    touched: BTreeMap<TaskId, Touched>,
}

#[derive(Debug, Clone, Default)]
struct Times {
    took: Vec<Millis>,
    runs: Vec<RunId>,
}

#[derive(Debug, Clone, Default)]
struct Tried {
    good: u32,
    all: u32,
    runs: Vec<RunId>,
}

/// How long tasks like each other took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimesOf {
    /// The command, for tasks that are one.
    pub command: Option<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    /// Fix, feat, docs and so on, where their words tell.
    pub kind: Option<&'static str>,
    /// By the length of the prompt.
    pub size: Option<&'static str>,
    pub tasks: usize,
    pub median_ms: u64,
    pub low_ms: u64,
    pub high_ms: u64,
    pub runs: Vec<RunId>,
}

/// How a model did with one kind of task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelOf {
    pub agent: String,
    pub model: String,
    pub kind: Option<&'static str>,
    pub good: u32,
    pub all: u32,
    pub runs: Vec<RunId>,
}

/// What a task of the file changed when it landed last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Touched {
    pub files: Vec<String>,
    pub run: RunId,
    pub commit: String,
}

impl Evidence {
    pub fn history(&self) -> &History {
        &self.history
    }

    pub fn into_history(self) -> History {
        self.history
    }

    /// How long the tasks of a run took; only those that were completed count. Tasks of another file tell of those that are
    /// like them, whatever their names.
    pub fn add_times(&mut self, id: &RunId, run: &Run, same_file: bool) {
        for (place, (task, progress)) in run.tasks().enumerate() {
            if progress.state != TaskState::Completed || progress.last_attempt == 0 {
                continue;
            }
            let past = Past { took: progress.worked, usage: progress.usage };
            if let Some(race) = run.raced_by(place).filter(|_| same_file) {
                let past = Past { took: run.took(race), usage: run.usage(race) };
                self.history.add(&run.task(race).0.id, past);
            }
            let choice = run.agent_choice(place);
            let agent = choice.map_or_else(|| task.agent_name(), |choice| &choice.agent);
            let model = choice.and_then(|choice| choice.model.as_deref());
            self.history.add_like(task, agent, model, past);
            if same_file {
                self.history.add(&task.id, past);
            }
            if let Some(closest) = Likeness::of(task, agent, model).into_iter().next() {
                let times = self.times.entry(closest).or_default();
                times.took.push(past.took);
                name(&mut times.runs, id);
            }
        }
    }

    /// How models did in a run. What failed for reasons of the provider's, or was cut short, says nothing about a model.
    pub fn add_models(&mut self, id: &RunId, records: &[Record]) {
        let (mut kinds, mut at_work) = (HashMap::new(), HashMap::<&TaskId, &AgentChoice>::new());
        let kinds_of = |tasks: &[Task]| -> Vec<(TaskId, Option<&'static str>)> {
            tasks.iter().map(|task| (task.id.clone(), task.kind())).collect()
        };
        for record in records {
            match &record.event {
                Event::RunCreated { plan, .. } => kinds.extend(kinds_of(&plan.tasks)),
                Event::PlanAmended { amendment, .. } => kinds.extend(kinds_of(&amendment.tasks)),
                Event::AttemptStarted { task, choice: Some(choice), .. } if choice.model.is_some() => {
                    at_work.insert(task, choice);
                }
                Event::AttemptEnded { task, outcome, .. } => {
                    let choice = at_work.remove(task);
                    let good = match outcome {
                        Outcome::Succeeded => 1,
                        Outcome::Failed(failure) if !failure.class.is_agents_own() => 0,
                        _ => continue,
                    };
                    if let Some(AgentChoice { agent, model: Some(model), .. }) = choice {
                        let kind = kinds.get(task).copied().flatten();
                        let tried = self.models.entry((agent.clone(), model.clone(), kind)).or_default();
                        tried.good += good;
                        tried.all += 1;
                        name(&mut tried.runs, id);
                    }
                }
                _ => {}
            }
        }
    }

    /// What the tasks of a run of the file changed. The newest run that is added counts.
    pub fn add_touched(&mut self, id: &RunId, run: &Run) {
        for (task, progress) in run.tasks() {
            let Some(landed) = &progress.landed else { continue };
            let files = remembered(&landed.touched.files);
            let touched = Touched { files, run: id.clone(), commit: landed.commit.clone() };
            self.touched.entry(task.id.clone()).or_insert(touched);
        }
    }

    /// Notes for each task without an estimate of its own what former runs say.
    pub fn teach_times(&self, plan: &mut Plan) {
        teach(plan, &self.history);
    }

    /// Notes for each task that does not say what it will touch what it touched last time, so that tasks which met then
    /// do not run side by side now.
    pub fn teach_files(&self, plan: &mut Plan) {
        for task in plan.tasks.iter_mut().filter(|task| task.files.is_empty()) {
            let race = || self.touched.get(task.entrant_of()?);
            if let Some(touched) = self.touched.get(&task.id).or_else(race) {
                task.preparation.get_or_insert_default().learned_files.clone_from(&touched.files);
            }
        }
    }

    /// How models did, as a run is told.
    pub fn samples(&self) -> Vec<Sample> {
        let sample =
            |((agent, model, kind), tried): (&(String, String, Option<&'static str>), &Tried)| Sample {
                agent: agent.clone(),
                model: model.clone(),
                kind: kind.map(str::to_owned),
                good: tried.good,
                all: tried.all,
            };
        self.models.iter().map(sample).collect()
    }

    /// What estimates rest on, the most frequent first.
    pub fn times_shown(&self) -> Vec<TimesOf> {
        let mut all: Vec<TimesOf> =
            self.times.iter().filter_map(|(like, times)| times_of(like, times)).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.tasks));
        all
    }

    /// What the choice of a model rests on.
    pub fn models_shown(&self) -> Vec<ModelOf> {
        let one =
            |((agent, model, kind), tried): (&(String, String, Option<&'static str>), &Tried)| ModelOf {
                agent: agent.clone(),
                model: model.clone(),
                kind: *kind,
                good: tried.good,
                all: tried.all,
                runs: tried.runs.clone(),
            };
        self.models.iter().map(one).collect()
    }

    /// What the overlap of tasks rests on, where they do not say themselves which files they are about.
    pub fn touched_shown(&self) -> &BTreeMap<TaskId, Touched> {
        &self.touched
    }
}

fn times_of(like: &Likeness, times: &Times) -> Option<TimesOf> {
    let mut took = times.took.clone();
    took.sort_unstable();
    let (&Millis(low_ms), &Millis(high_ms)) = (took.first()?, took.last()?);
    let (command, agent, model, kind, size) = match like {
        Likeness::Command(command) => (Some(command.clone()), None, None, None, None),
        Likeness::Prompt { agent, model, kind, size } => {
            (None, Some(agent.clone()), model.clone(), *kind, Some(SIZES[(*size).min(2)]))
        }
    };
    let (tasks, median_ms, runs) = (took.len(), median(&took).0, times.runs.clone());
    Some(TimesOf { command, agent, model, kind, size, tasks, median_ms, low_ms, high_ms, runs })
}

const SIZES: [&str; 3] = ["small", "medium", "large"];

fn name(runs: &mut Vec<RunId>, id: &RunId) {
    if runs.len() < NAMED && runs.last() != Some(id) {
        runs.push(id.clone());
    }
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
    use std::sync::Arc;

    use super::*;
    use crate::plan::Work;
    use crate::run::event::{Failure, FailureClass};
    use crate::values::ids::Attempt;
    use crate::values::units::{Tick, Timestamp};

    fn run(name: &str) -> RunId {
        RunId::parse(name).unwrap()
    }

    /// The log of a run with one task, which each of these models tried.
    fn log(words: &str, tries: Vec<(Option<&str>, Outcome)>) -> Vec<Record> {
        let task = TaskId::parse("t").unwrap();
        let plan =
            Plan { tasks: vec![Task::new(task.clone(), Work::Prompt(words.into()))], ..Plan::default() };
        let mut events = vec![Event::RunCreated { plan: Arc::new(plan), options: None }];
        for (model, outcome) in tries {
            let (attempt, executor) = (Attempt(1), 1);
            let model = model.map(str::to_owned);
            let choice = Some(Box::new(AgentChoice { agent: "claude".into(), model, why: String::new() }));
            let (on, task) = (Default::default(), task.clone());
            events.push(Event::AttemptStarted { task: task.clone(), attempt, executor, choice, on });
            let (elapsed, change) = (Millis(1), None);
            events.push(Event::AttemptEnded {
                task,
                attempt,
                outcome,
                elapsed,
                executor,
                change,
                phases: None,
            });
        }
        let record = |(seq, event)| Record { seq: seq as u64 + 1, at: Timestamp(0), tick: Tick(0), event };
        events.into_iter().enumerate().map(record).collect()
    }

    #[test]
    fn only_what_models_did_counts_for_them_and_by_kind_of_task() {
        let failed = |class| Outcome::Failed(Failure::new(class, "no"));
        let mut evidence = Evidence::default();
        let fixes = vec![
            (Some("haiku"), Outcome::Succeeded),
            (Some("haiku"), failed(FailureClass::Unverified)),
            (Some("haiku"), failed(FailureClass::Overloaded)),
            (Some("haiku"), Outcome::Interrupted),
            (None, Outcome::Succeeded),
        ];
        evidence.add_models(&run("r2"), &log("Fix the parser", fixes));
        evidence.add_models(&run("r1"), &log("Fix the lexer", vec![(Some("haiku"), Outcome::Succeeded)]));
        evidence.add_models(&run("r1"), &log("Sing", vec![(Some("haiku"), Outcome::Succeeded)]));
        let told: Vec<String> = evidence
            .models_shown()
            .into_iter()
            .map(|one| {
                let runs: Vec<&str> = one.runs.iter().map(RunId::as_str).collect();
                format!("{} {:?} {}/{} {}", one.model, one.kind, one.good, one.all, runs.join(" "))
            })
            .collect();
        assert_eq!(told, ["haiku None 1/1 r1", "haiku Some(\"fix\") 2/3 r2 r1"]);
        assert_eq!(evidence.samples()[1].kind.as_deref(), Some("fix"));
    }

    #[test]
    fn a_great_many_files_are_remembered_by_their_folders() {
        let few = vec!["src/a.rs".to_owned(), "b".to_owned()];
        assert_eq!(remembered(&few), few);
        let many: Vec<String> = (0..60).map(|n| format!("docs/{}/{n}.md", n % 2)).collect();
        assert_eq!(remembered(&many), ["docs/0", "docs/1"]);
    }

    #[test]
    fn times_are_shown_with_what_they_rest_on() {
        let mut evidence = Evidence::default();
        for (minutes, id) in [(2, "r3"), (9, "r2"), (4, "r1")] {
            let like = Likeness::Prompt { agent: "claude".into(), model: None, kind: Some("fix"), size: 1 };
            let times = evidence.times.entry(like).or_default();
            times.took.push(Millis::from_secs(minutes * 60));
            name(&mut times.runs, &run(id));
        }
        evidence.times.entry(Likeness::Command("make".into())).or_default().took.push(Millis(7));
        let shown = evidence.times_shown();
        assert_eq!((shown[0].median_ms, shown[0].low_ms, shown[0].high_ms), (240_000, 120_000, 540_000));
        assert_eq!((shown[0].size, shown[0].kind, shown[0].runs.len()), (Some("medium"), Some("fix"), 3));
        assert_eq!(shown[1].command.as_deref(), Some("make"));
    }
}
