//! One attempt at one task: workspace, process, transcript, report.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor_core::event::{Failure, FailureClass, Outcome};
use conductor_core::ids::{Attempt, RunId, TaskId};
use conductor_core::plan::{Plan, Task};
use conductor_core::scheduler::Input;
use tokio::sync::{mpsc, watch};

use crate::agents::{self, AgentError, Caller};
use crate::drive::Message;
use crate::process::{GRACE, Launch, Mark, Running};
use crate::transcript::{Speaker, Transcript};
use crate::workspaces::Workspaces;

/// How often a running process's transcript is looked at for its length.
const TRIM: Duration = Duration::from_millis(250);

/// A process that is over sooner than this is not noted by its number: its mark is enough to find it by.
const BRIEF: Duration = Duration::from_millis(50);

/// How often a full disk is tried again.
const NO_ROOM: Duration = Duration::from_millis(500);

/// What is to be done, by whom, as which try.
#[derive(Debug, Clone)]
pub struct Order {
    pub place: usize,
    pub task: TaskId,
    pub attempt: Attempt,
    pub executor: u32,
}

/// How urgently an attempt is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    No,
    Ask,
    Kill,
}

/// Everything attempts of one run share.
pub struct Worker {
    pub run: RunId,
    pub plan: Arc<Plan>,
    pub workspaces: Box<dyn Workspaces>,
    pub caller: Caller,
    pub output: PathBuf,
    pub(crate) reports: mpsc::UnboundedSender<Message>,
}

impl Worker {
    /// Carries the order out and reports how it ended, whatever happens.
    pub async fn work(self: Arc<Self>, order: Order, stop: watch::Receiver<Stop>) {
        let outcome = self.attempt(&order, stop).await.unwrap_or_else(Outcome::Failed);
        let report = Input::AttemptEnded { task: order.task, attempt: order.attempt, outcome, change: None };
        self.report(report);
    }

    async fn attempt(&self, order: &Order, stop: watch::Receiver<Stop>) -> Result<Outcome, Failure> {
        let task = &self.plan.tasks[order.place];
        let agent = agents::agent(task.agent_name()).map_err(unfit)?;
        let directory = self.workspaces.prepare(task).map_err(|error| unstartable(task, &error))?;
        let launch = agent.launch(task, &directory, &self.caller).map_err(unfit)?;
        let speaker = Speaker {
            output: &self.output,
            executor: order.executor,
            task: &order.task,
            attempt: order.attempt,
        };
        let mut transcript = open_transcript(&speaker, &stop).await?;
        let writer = transcript.writer().map_err(|error| unwritable(&speaker, &error))?;
        let started = Instant::now();
        let mut running =
            Running::start(&launch, self.mark(order), writer).map_err(|error| missing(&launch, &error))?;
        let lost =
            |error: io::Error| Failure::new(FailureClass::Killed, format!("lost sight of it: {error}"));
        match tokio::time::timeout(BRIEF, running.exited()).await {
            Ok(exited) => exited.map_err(lost)?,
            Err(_) => {
                let (task, attempt, process) = (order.task.clone(), order.attempt, running.name());
                self.report(Input::ProcessStarted { task, attempt, process });
                supervise(&mut running, &mut transcript, stop).await.map_err(lost)?;
            }
        }
        let exit = running.finish(started.elapsed()).await.map_err(lost)?;
        // The outcome stands whether or not the transcript could be moved; where not, it stays where it was written.
        let _ = transcript.finish();
        Ok(agent.finish(exit))
    }

    /// Nobody listens any more only where the whole run is being torn down.
    fn report(&self, input: Input) {
        let _ = self.reports.send(Message::Input(input));
    }

    fn mark(&self, order: &Order) -> Mark {
        Mark { run: self.run.clone(), task: order.task.clone(), attempt: order.attempt }
    }
}

/// Until the main process has exited: keeps the transcript short and carries out a stop.
async fn supervise(
    running: &mut Running,
    transcript: &mut Transcript,
    mut stop: watch::Receiver<Stop>,
) -> io::Result<()> {
    let mut trim = tokio::time::interval(TRIM);
    trim.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    trim.reset();
    let mut asked = Stop::No;
    let mut deadline = None;
    loop {
        tokio::select! {
            biased;
            exited = running.exited() => return exited,
            Ok(()) = stop.changed() => {
                let wish = *stop.borrow_and_update();
                if wish >= Stop::Ask && asked == Stop::No {
                    running.ask_to_end();
                    asked = Stop::Ask;
                    deadline = Some(tokio::time::Instant::now() + GRACE);
                }
                if wish == Stop::Kill {
                    return running.kill().await;
                }
            }
            () = until(deadline) => return running.kill().await,
            _ = trim.tick() => transcript.trim(),
        }
    }
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn unfit(error: AgentError) -> Failure {
    Failure::new(FailureClass::Unstartable, error.to_string())
}

fn unstartable(task: &Task, error: &io::Error) -> Failure {
    Failure::new(FailureClass::Unstartable, format!("no workspace for {}: {error}", task.id))
}

/// A full disk is not the task's fault: it waits for room, unless it is told to stop.
async fn open_transcript(speaker: &Speaker<'_>, stop: &watch::Receiver<Stop>) -> Result<Transcript, Failure> {
    loop {
        match Transcript::open(speaker) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull && *stop.borrow() == Stop::No => {
                tokio::time::sleep(NO_ROOM).await;
            }
            opened => return opened.map_err(|error| unwritable(speaker, &error)),
        }
    }
}

fn unwritable(speaker: &Speaker<'_>, error: &io::Error) -> Failure {
    let message = format!("cannot write to {}: {error}", speaker.output.display());
    Failure::new(FailureClass::Unstartable, message)
}

/// The system says "not found" for a missing program and for a missing directory alike.
fn missing(launch: &Launch, error: &io::Error) -> Failure {
    let program = launch.program.display();
    let message = match error.kind() {
        _ if !launch.directory.is_dir() => format!("the directory {} is gone", launch.directory.display()),
        io::ErrorKind::NotFound => format!("command not found: {program}"),
        io::ErrorKind::PermissionDenied => format!("not allowed to execute {program}"),
        _ => format!("cannot start {program}: {error}"),
    };
    Failure::new(FailureClass::Unstartable, message)
}
