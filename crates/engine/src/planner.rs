//! A planner at work: asks an agent for an analysis and a plan, once more where the plan is wrong, and keeps every
//! answer as it came.
//!
//! The agent works in an empty folder of its own: all it needs is told, and nothing of the user's is within reach of
//! what it does by the way. What is wrong with a plan is for `core/planner` to say.

mod account;
mod commands;
mod describe;
mod learning;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use conductor_core::plan::models::{self, Circumstances};
use conductor_core::plan::permissions::READ_ONLY;
use conductor_core::plan::{Permissions, Plan, Work};
use conductor_core::planner::{
    Analysis, Bounds, Draft, Refusal, check, mend, read_analysis, read_plan, words,
};
use conductor_core::run::costs;
use conductor_core::run::event::{Failure, FailureClass, ModelUsage, Outcome, Usage};
use conductor_core::values::counted::counted;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::{Millis, Timestamp, Usd};
use thiserror::Error;
use tokio::sync::{mpsc, watch};

use crate::agents::{self, AgentError};
use crate::dispatch::Message;
use crate::host::access;
use crate::host::clock::wall;
use crate::host::home::Home;
use crate::host::redact;
use crate::process::{self, Teardown};
use crate::worker::{Stop, Worker};

pub use account::{Kept, Plan as KeptPlan, note_run, plans};
pub use commands::{is_settled, new_commands};
pub use describe::{MOST_TOKENS, describe};

#[derive(Debug, Error)]
pub enum PlannerError {
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error("the planner did not answer within {}s", .0.as_secs_f64())]
    TimedOut(Millis),
    #[error("the planner cost more than {}, which is all it may", costs::words(Usage { cost: *.0, ..Usage::default() }))]
    TooCostly(Usd),
    #[error("the planner was stopped")]
    Stopped,
    #[error("the planner failed: {}", .0.message)]
    Failed(Failure),
    #[error("the planner wants to be allowed something, and only plans: {0}")]
    Asked(String),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("cannot open the planner's transcript: {0}")]
    Unkept(#[from] io::Error),
}

/// The name of the first question.
const ANALYSIS: &str = "analysis";

/// What a planner may use.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// For each answer.
    pub timeout: Millis,
    /// For all of them.
    pub max_cost: Usd,
}

/// A plan that can be used, and how it came to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    pub draft: Draft,
    pub analysis: Option<Analysis>,
    /// What was wrong with the first plan, where one had to be asked for again.
    pub found: Vec<String>,
    /// What was put right without asking, and what else a person should know.
    pub told: Vec<String>,
}

/// Asks an agent for plans.
pub struct Planner {
    worker: Worker,
    reports: mpsc::UnboundedReceiver<Message>,
    notices: mpsc::UnboundedReceiver<String>,
    stop: watch::Sender<Stop>,
    folder: PathBuf,
    place: PathBuf,
    allowance: Allowance,
    session: Option<String>,
    asked: u32,
    since: Timestamp,
    used: Vec<ModelUsage>,
    /// How long it took to say how much there is to do, and to plan it.
    times: [Millis; 2],
    home: PathBuf,
    /// Where it was asked from.
    directory: PathBuf,
    /// Ends what its agent left when this goes.
    _teardown: Teardown,
}

impl Planner {
    /// For a plan of one task, which says which agent is asked, with which model, keys and permissions.
    /// `reaper` starts the process that ends what is left behind if we are killed (`process::keep`).
    pub fn new(
        home: &Home,
        mut plan: Plan,
        id: RunId,
        allowance: Allowance,
        reaper: Option<Command>,
    ) -> Result<Planner, PlannerError> {
        prepare(&mut plan)?;
        process::raise_descriptor_limit();
        process::adopt_orphans();
        let folder = home.root().join("plans").join(id.as_str());
        let place = folder.join("place");
        access::create_private_dir_all(&place)?;
        let (reporter, reports) = mpsc::unbounded_channel();
        let (notifier, notices) = mpsc::unbounded_channel();
        let worker = Worker::for_questions(id, plan, place.clone(), folder.clone(), notifier, reporter);
        let mut teardown = Teardown::new(worker.services.processes.clone(), &folder);
        teardown.gather();
        if let Some(mut command) = reaper {
            teardown.keep(&mut command)?;
        }
        Ok(Planner {
            worker,
            reports,
            notices,
            stop: watch::Sender::new(Stop::No),
            folder,
            place,
            allowance,
            session: None,
            asked: 0,
            since: wall(),
            used: Vec::new(),
            times: [Millis(0); 2],
            home: home.root().to_owned(),
            directory: std::env::current_dir()?,
            _teardown: teardown,
        })
    }

    /// Where everything it says is kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn agent(&self) -> String {
        self.worker.plan.get().tasks[0].agent_name().to_owned()
    }

    pub fn model(&self) -> Option<String> {
        self.worker.plan.get().tasks[0].model.clone()
    }

    /// By which it can be told to stop, from anywhere.
    pub fn stopper(&self) -> watch::Sender<Stop> {
        self.stop.clone()
    }

    /// Remarks since the last time, such as that a model has no known price.
    pub fn notices(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.notices.try_recv().ok()).collect()
    }

    /// An analysis, a plan, and where that is wrong the plan once more. What is still wrong then is mended if it can be.
    /// What it is at is told through `progress`.
    pub async fn plan(
        &mut self,
        request: &words::Request<'_>,
        progress: impl Fn(&str),
    ) -> Result<Planned, PlannerError> {
        self.note_start();
        let planned = self.planned(request, progress).await;
        self.note_session(planned.as_ref().err());
        planned
    }

    async fn planned(
        &mut self,
        request: &words::Request<'_>,
        progress: impl Fn(&str),
    ) -> Result<Planned, PlannerError> {
        let mut told = Vec::new();
        let name = self.agent();
        progress(&format!("{name} is asked how much there is to do"));
        let analysis = self.analysis(request, &mut told).await?;
        progress(&format!("{name} is asked for the plan"));
        let words = words::plan(request, analysis.as_ref(), self.session.is_some());
        let answer = self.ask("plan", words).await?;
        let first = look(&answer, analysis.as_ref(), request.bounds);
        let wrong = first.wrong();
        let found: Vec<String> = wrong
            .iter()
            .flat_map(|wrong| wrong.lines())
            .map(|line| line.trim_start_matches("- ").into())
            .collect();
        let (draft, mended) = match wrong {
            None => first.mended(request.bounds)?,
            Some(wrong) => {
                let more = match found.len() {
                    0 | 1 => String::new(),
                    number => format!(", and {} more", number - 1),
                };
                let one = found.first().map_or("", String::as_str);
                progress(&format!("{name} is asked once more: {one}{more}"));
                let words = words::repair(request, &answer, &wrong, self.session.is_some());
                let answer = self.ask("repair", words).await?;
                better(look(&answer, analysis.as_ref(), request.bounds), first, request.bounds)?
            }
        };
        told.extend(mended);
        if let Some(foreseen) = analysis.as_ref().map(|analysis| analysis.num_tasks as usize)
            && foreseen != draft.tasks.len()
        {
            let foreseen = counted(foreseen, "task");
            told.push(format!("the analysis spoke of {foreseen}, the plan has {}", draft.tasks.len()));
        }
        Ok(Planned { draft, analysis, found, told })
    }

    /// A plan can do without.
    async fn analysis(
        &mut self,
        request: &words::Request<'_>,
        told: &mut Vec<String>,
    ) -> Result<Option<Analysis>, PlannerError> {
        let answer = self.ask(ANALYSIS, words::analysis(request)).await?;
        let analysis = read_analysis(&answer);
        if let Err(why) = &analysis {
            told.push(format!("the plan is made without an analysis: {why}"));
        }
        Ok(analysis.ok())
    }

    /// One question. What it used is kept, whatever became of it.
    async fn ask(&mut self, name: &str, words: String) -> Result<String, PlannerError> {
        let begun = std::time::Instant::now();
        let answered = self.answer(name, words).await;
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or_default();
        self.times[usize::from(name != ANALYSIS)] += Millis(took);
        self.account();
        answered
    }

    /// The answer is kept under the question's name before it is read.
    async fn answer(&mut self, name: &str, words: String) -> Result<String, PlannerError> {
        if *self.stop.borrow() != Stop::No {
            return Err(PlannerError::Stopped);
        }
        self.asked += 1;
        let kept = redact::known();
        access::write(&self.folder.join(format!("{name}-question.txt")), &*kept.text(&words))?;
        let Planner { worker, reports, stop, allowance, session, used, .. } = self;
        let mut wish = stop.subscribe();
        let asking = worker.ask(self.asked, words, session, &mut wish);
        tokio::pin!(asking);
        let limit = tokio::time::sleep(Duration::from_millis(allowance.timeout.0));
        tokio::pin!(limit);
        let mut ended_by = None;
        let answered = loop {
            tokio::select! {
                biased;
                answered = &mut asking => break answered,
                Some(message) = reports.recv() => {
                    account::count(used, &message);
                    if account::spent(used) > allowance.max_cost && ended_by.is_none() {
                        ended_by = Some(PlannerError::TooCostly(allowance.max_cost));
                        stop.send_replace(Stop::Ask);
                    }
                }
                () = &mut limit, if ended_by.is_none() => {
                    ended_by = Some(PlannerError::TimedOut(allowance.timeout));
                    stop.send_replace(Stop::Ask);
                }
            }
        };
        while let Ok(message) = reports.try_recv() {
            account::count(used, &message);
        }
        if ended_by.is_none() && account::spent(used) > allowance.max_cost {
            ended_by = Some(PlannerError::TooCostly(allowance.max_cost));
        }
        if let Ok(answer) = &answered {
            access::write(&self.folder.join(format!("{name}.txt")), &*kept.text(answer))?;
        }
        match (ended_by, answered) {
            (Some(why), _) => Err(why),
            (None, Ok(answer)) => Ok(answer),
            (None, Err(Outcome::Interrupted | Outcome::Cancelled)) => Err(PlannerError::Stopped),
            (None, Err(Outcome::Asked(question))) => Err(PlannerError::Asked(question.to_string())),
            (None, Err(Outcome::Failed(failure))) => Err(PlannerError::Failed(failure)),
            (None, Err(Outcome::Succeeded)) => {
                Err(PlannerError::Failed(Failure::new(FailureClass::Unfinished, "it gave no answer")))
            }
        }
    }
}

/// Its place was for this conversation only.
impl Drop for Planner {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// An answer, read and looked at.
struct Look {
    draft: Result<Draft, Refusal>,
    findings: Vec<conductor_core::planner::Finding>,
}

impl Look {
    /// What its author is told, if anything is wrong.
    fn wrong(&self) -> Option<String> {
        match &self.draft {
            Err(refusal) => Some(format!("- {refusal}")),
            Ok(_) => (!self.findings.is_empty()).then(|| words::findings(&self.findings)),
        }
    }

    /// What can be used of it, and what was changed for that.
    fn mended(self, bounds: Bounds) -> Result<(Draft, Vec<String>), Refusal> {
        let mut draft = self.draft?;
        let told = mend(&mut draft, bounds)?;
        Ok((draft, told))
    }
}

/// The second plan; where nothing can be made of it, the first, if anything can be made of that.
fn better(second: Look, first: Look, bounds: Bounds) -> Result<(Draft, Vec<String>), Refusal> {
    second.mended(bounds).or_else(|why| {
        let (draft, mut told) = first.mended(bounds).map_err(|_| why.clone())?;
        told.insert(0, format!("the first plan is used, as nothing can be made of the second: {why}"));
        Ok((draft, told))
    })
}

fn look(answer: &str, analysis: Option<&Analysis>, bounds: Bounds) -> Look {
    match read_plan(answer) {
        Err(why) => Look { draft: Err(why.into()), findings: Vec::new() },
        Ok((draft, mut findings)) => {
            findings.extend(check(&draft, analysis, bounds));
            Look { draft: Ok(draft), findings }
        }
    }
}

/// Settles the model, and what the task may do.
fn prepare(plan: &mut Plan) -> Result<(), PlannerError> {
    let Some(task) = plan.tasks.first() else {
        return Err(Failure::new(FailureClass::Unstartable, "there is nothing to ask").into());
    };
    agents::check(plan, task)?;
    let now = Circumstances { samples: &[], spent: 0.0, bad_tries: 0 };
    let model = models::choose(plan, task, task.agent_name(), &now).model;
    let task = &mut plan.tasks[0];
    task.model = model;
    if matches!(task.work, Work::Run(_)) {
        return Err(Failure::new(FailureClass::Unstartable, "a command cannot plan").into());
    }
    let denied = READ_ONLY.iter().map(|tool| (*tool).to_owned()).collect();
    task.permissions = Some(Box::new(Permissions { deny: denied, ..Permissions::default() }));
    Ok(())
}

impl From<Failure> for PlannerError {
    fn from(failure: Failure) -> PlannerError {
        PlannerError::Failed(failure)
    }
}
