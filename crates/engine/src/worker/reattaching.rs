//! What it takes to go on with a round of an attempt that another coordinator has begun: written down before its agent
//! starts, and read by the coordinator that takes the run up.
//!
//! An agent's translator is not written down. It is made anew, and hears the agent's stream again from its start; what it
//! says to that is left out by the shim as far as it was said.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use conductor_core::plan::Work;
use conductor_core::run::event::{AgentChoice, ModelUsage};
use conductor_core::run::{Run, TaskState};
use conductor_core::schedule::{Attached, StartFrom, can_be_reattached};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_core::values::units::Millis;
use serde::{Deserialize, Serialize};

use super::accounts;
use super::base::FailsOnBase;
use super::judging::Watched;
use crate::agents::Session;
use crate::agents::skills::Applied;
use crate::agents::tool_access::ToolAccess;
use crate::git::workspaces::Workspace;
use crate::host::access;
use crate::process::Mark;
use crate::process::shim;
use crate::process::transcript::{Speaker, Transcript};

/// In a shim's folder.
const FILE: &str = "attempt.json";

/// Of what is written here: one of another version is not gone on with.
pub(super) const VERSION: u32 = 1;

/// Where agents are started so that they outlive this coordinator.
#[derive(Debug, Clone)]
pub(crate) struct ShimPlace {
    /// The program that is a shim, where it is told so.
    pub(crate) program: PathBuf,
    pub(crate) run_folder: PathBuf,
    /// How long agents go on without a coordinator.
    pub(crate) grace: Millis,
}

/// A round of an attempt, as it was when its agent was started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Begun {
    pub(super) version: u32,
    pub(super) secret: String,
    pub(super) task: TaskId,
    pub(super) attempt: Attempt,
    pub(crate) choice: Option<Box<AgentChoice>>,
    pub(crate) start_from: Option<Box<StartFrom>>,
    /// How long the attempt had been at work.
    pub(super) worked: Millis,
    /// Where the attempt works, as it was made ready.
    pub(super) workspace: Workspace,
    /// How far the attempt was before this round.
    pub(super) before: Before,
    /// How often the agent had been asked to mend its work.
    pub(super) round: u32,
    pub(super) session: Session,
    /// The conversation was begun by an earlier attempt, and has used nothing since.
    pub(super) resumed: bool,
    pub(super) spent: bool,
    pub(super) told: Told,
    pub(super) tools: Option<ToolAccess>,
}

/// What an attempt has found out before its first round.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Before {
    pub(super) untouched: Option<String>,
    pub(super) on_base: FailsOnBase,
    /// `verify: auto` found nothing to run.
    #[serde(default)]
    pub(super) nothing_detected: bool,
    pub(super) skills: Vec<Applied>,
    pub(super) expertise: Option<String>,
    pub(super) in_place: Option<Watched>,
}

/// What the agent is told in a round, and where.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) workspace: Workspace,
    pub(super) words: String,
    pub(super) anew: Option<String>,
    pub(super) cut_short: bool,
    pub(super) sent_back: bool,
    pub(super) said: Vec<String>,
}

impl Begun {
    /// Into a folder that nothing else is in.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        shim::make_folder(folder)?;
        access::replace(&folder.join(FILE), serde_json::to_vec(self)?)
    }

    fn read(folder: &Path) -> Option<Begun> {
        let begun: Begun = serde_json::from_slice(&std::fs::read(folder.join(FILE)).ok()?).ok()?;
        (begun.version == VERSION).then_some(begun)
    }
}

/// Whether this program could go on with all that shims of a run hold, as far as their records tell.
pub fn readable(run_folder: &Path) -> Result<(), String> {
    let of_another = |folder: &PathBuf| {
        std::fs::read(folder.join(FILE)).is_ok() && Begun::read(folder).is_none()
            || shim::is_of_another_version(folder)
    };
    match shim::folders(run_folder).iter().any(of_another) {
        false => Ok(()),
        true => {
            Err("what its agents were started with is written down in the way of another version".to_owned())
        }
    }
}

/// An agent that goes on, or has come to its end meanwhile, with its round.
pub(crate) struct LeftAtWork {
    pub(crate) begun: Begun,
    pub(super) agent: shim::Attached,
    /// When that was found out.
    at: Instant,
    /// What is recorded of what it has used, and of the name of its conversation.
    pub(super) recorded: Vec<ModelUsage>,
    pub(super) session: Option<String>,
}

/// What a conversation takes part in.
pub(super) enum Taking {
    /// The attempt does not go on with it, such as with what a skill has to say.
    Aside,
    /// A round of the attempt; so that its agent outlives us, where it is known how to go on with it then.
    Round(Option<Box<Begun>>),
    /// A round that another coordinator has begun.
    On(Box<LeftAtWork>),
}

impl Taking {
    pub(super) fn is_round(&self) -> bool {
        !matches!(self, Taking::Aside)
    }

    pub(super) fn is_new(&self) -> bool {
        !matches!(self, Taking::On(_))
    }
}

/// A secret that cannot be guessed.
pub(super) fn secret() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl LeftAtWork {
    /// Where the agent calls its tools, and what listens there, if it goes on.
    pub(super) fn tools(&self) -> Option<(ToolAccess, &OwnedFd)> {
        self.begun.tools.clone().zip(self.agent.tools.as_ref())
    }

    pub(super) fn worked(&self) -> Duration {
        Duration::from_millis(self.begun.worked.0 + self.agent.said.worked.0) + self.at.elapsed()
    }
}

/// Attempts that this coordinator goes on with, until their workers take hold of them.
#[derive(Default)]
pub(crate) struct Reattaching {
    left: Mutex<HashMap<(TaskId, Attempt), LeftAtWork>>,
}

impl Reattaching {
    /// Takes hold of every agent of a run that can be gone on with, and says which were ended meanwhile. Blocks, and waits for
    /// none that does not answer.
    pub(crate) fn find(&self, id: &RunId, run: &Run, run_folder: &Path, output: &Path) -> Vec<String> {
        let mut ended = Vec::new();
        for (task, progress) in run.tasks() {
            let TaskState::Running(running) = &progress.state else { continue };
            if !can_be_reattached(running) || !task.outlives_its_coordinator() {
                continue;
            }
            let (executor, attempt) = (running.executor, running.attempt);
            let folder = shim::folder(run_folder, executor);
            let of_attempt = |begun: &Begun| begun.task == task.id && begun.attempt == attempt;
            let Some(begun) = Begun::read(&folder).filter(of_attempt) else { continue };
            let mark = Mark { run: id.clone(), task: task.id.clone(), attempt };
            let speaker = Speaker { output, executor, task: &task.id, attempt };
            let talks = matches!(task.work, Work::Prompt(_));
            if talks && !accounts::is_of(&speaker, &begun.session) {
                continue;
            }
            let Some(agent) = shim::attach(&folder, &begun.secret, &mark) else {
                let what = if talks { "the agent" } else { "the command" };
                ended.extend(shim::why_ended(&folder).map(|why| format!("{what} of {} {why}", task.id)));
                continue;
            };
            if talks && !Transcript::is_whole(&speaker, agent.link.length()) {
                continue;
            }
            let left = LeftAtWork { begun, agent, at: Instant::now(), recorded: Vec::new(), session: None };
            self.all().insert((task.id.clone(), attempt), left);
        }
        ended
    }

    /// For the one who decides what becomes of them.
    pub(crate) fn attached(&self) -> BTreeMap<TaskId, Attached> {
        let each = |((task, attempt), left): (&(TaskId, Attempt), &LeftAtWork)| {
            let worked = Millis(left.worked().as_millis() as u64);
            (task.clone(), Attached { attempt: *attempt, worked })
        };
        self.all().iter().map(each).collect()
    }

    /// The shims that hold them, by their folders and names.
    pub(crate) fn spared(&self) -> Vec<(PathBuf, String)> {
        self.all().values().filter_map(|left| left.agent.spared.clone()).collect()
    }

    /// What is needed to say what is to be done. What is recorded of it by now is known from here on.
    pub(crate) fn begun(&self, run: &Run, place: usize, attempt: Attempt) -> Option<Begun> {
        let mut all = self.all();
        let left = all.get_mut(&(run.plan().tasks[place].id.clone(), attempt))?;
        left.recorded = run.used_in_attempt(place).to_vec();
        left.session =
            run.repeats(place).and_then(|repeats| repeats.session.as_ref()).map(|(_, name)| name.clone());
        Some(left.begun.clone())
    }

    pub(crate) fn take(&self, task: &TaskId, attempt: Attempt) -> Option<LeftAtWork> {
        self.all().remove(&(task.clone(), attempt))
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<(TaskId, Attempt), LeftAtWork>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
