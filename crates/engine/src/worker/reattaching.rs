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

use conductor_core::plan::{Task, Work};
use conductor_core::run::event::{AgentChoice, ModelUsage};
use conductor_core::run::{Progress, Run, TaskState};
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
use crate::worker::tools::{Awaited, AwaitedAgent};

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
    /// Where the log of the run is, by `Home::store_name`.
    pub(crate) store: String,
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
    /// Until it is admitted to its tools again, where it calls any.
    awaited: Option<AwaitedAgent>,
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

    /// Its tools answer it; or it has none any more.
    pub(super) fn is_admitted(&mut self) {
        self.awaited = None;
    }

    pub(super) fn worked(&self) -> Duration {
        Duration::from_millis(self.begun.worked.0 + self.agent.said.worked.0) + self.at.elapsed()
    }
}

/// Attempts that this coordinator goes on with, until their workers take hold of them.
#[derive(Default)]
pub(crate) struct Reattaching {
    left: Mutex<HashMap<(TaskId, Attempt), LeftAtWork>>,
    awaited: Awaited,
}

impl Reattaching {
    /// Takes hold of every agent of a run that can be gone on with, and says which were ended meanwhile. Blocks, and waits for
    /// none that does not answer: all are asked side by side.
    pub(crate) fn find(&self, id: &RunId, run: &Run, run_folder: &Path, output: &Path) -> Vec<String> {
        let begun = begun_in(id, run, run_folder, output);
        let asked = side_by_side(&begun, |Held { begun, folder, mark, .. }| {
            shim::attach(folder, &begun.secret, mark)
        });
        let mut ended = Vec::new();
        for (held, agent) in begun.into_iter().zip(asked) {
            let Held { begun, folder, speaker, talks, .. } = held;
            let task = begun.task.clone();
            let Some(agent) = agent else {
                let what = if talks { "the agent" } else { "the command" };
                ended.extend(shim::why_ended(&folder).map(|why| format!("{what} of {task} {why}")));
                continue;
            };
            if talks && !Transcript::is_whole(&speaker, agent.link.length()) {
                continue;
            }
            let awaited = agent.tools.is_some().then(|| self.awaited.one());
            let (at, of) = (Instant::now(), (task, begun.attempt));
            let left = LeftAtWork { begun, agent, at, awaited, recorded: Vec::new(), session: None };
            self.all().insert(of, left);
        }
        ended
    }

    pub(super) fn awaited(&self) -> &Awaited {
        &self.awaited
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

    /// What is not gone on with is let go of, and ended by that: nothing would take hold of it, and others wait for it.
    pub(crate) fn give_up_but(&self, goes_on: impl Fn(&TaskId, Attempt) -> bool) {
        self.all().retain(|(task, attempt), _| goes_on(task, *attempt));
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<(TaskId, Attempt), LeftAtWork>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An attempt that was begun, as it is written down in its shim's folder.
struct Held<'a> {
    begun: Begun,
    folder: PathBuf,
    mark: Mark,
    speaker: Speaker<'a>,
    /// It is an agent, and no command.
    talks: bool,
}

/// Those of a run that could be gone on with.
fn begun_in<'a>(id: &RunId, run: &'a Run, run_folder: &Path, output: &'a Path) -> Vec<Held<'a>> {
    let each = |(task, progress): (&'a Task, &'a Progress)| {
        let TaskState::Running(running) = &progress.state else { return None };
        if !can_be_reattached(running) || !task.outlives_its_coordinator() {
            return None;
        }
        let (executor, attempt) = (running.executor, running.attempt);
        let folder = shim::folder(run_folder, executor);
        let begun = Begun::read(&folder).filter(|begun| begun.task == task.id && begun.attempt == attempt)?;
        // By the secret of its shim it is known better than by a folder.
        let mark = Mark { run: id.clone(), task: task.id.clone(), attempt, folder: None };
        let speaker = Speaker { output, executor, task: &task.id, attempt };
        let talks = matches!(task.work, Work::Prompt(_));
        (!talks || accounts::is_of(&speaker, &begun.session)).then_some(Held {
            begun,
            folder,
            mark,
            speaker,
            talks,
        })
    };
    run.tasks().filter_map(each).collect()
}

/// What is found of each, in their order: one that was stopped is waited for, and the others not behind it.
fn side_by_side<T: Sync, R: Send>(all: &[T], find: impl Fn(&T) -> Option<R> + Sync) -> Vec<Option<R>> {
    std::thread::scope(|scope| {
        let find = &find;
        let aside = |one| std::thread::Builder::new().spawn_scoped(scope, move || find(one));
        let asked: Vec<_> = all.iter().map(|one| (one, aside(one))).collect();
        let found = |(one, aside): (_, std::io::Result<std::thread::ScopedJoinHandle<'_, _>>)| match aside {
            Ok(asked) => asked.join().ok().flatten(),
            // There is no room for another thread.
            Err(_) => find(one),
        };
        asked.into_iter().map(found).collect()
    })
}
