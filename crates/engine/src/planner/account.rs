//! What planning has used, kept beside what was said: `planning.json` in the plan's folder, and a line in `sessions.jsonl`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use conductor_core::run::event::{ModelUsage, Planning, Usage};
use conductor_core::schedule::Input;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::{Timestamp, Usd};
use serde::{Deserialize, Serialize};

use super::{Planner, PlannerError};
use crate::dispatch::Message;
use crate::host::access;
use crate::host::clock::wall;
use crate::host::home::Home;
use crate::records::sessions::{self, PlanningSession};

const SCHEMA: &str = "conductor.planning/1";
const FILE: &str = "planning.json";
const RUN: &str = "run";

/// A plan that was asked for, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    schema: String,
    /// Where it was asked for.
    pub directory: PathBuf,
    #[serde(flatten)]
    pub planning: Planning,
}

impl Kept {
    fn new(directory: &Path, planning: Planning) -> Kept {
        Kept { schema: SCHEMA.to_owned(), directory: directory.to_owned(), planning }
    }

    /// A reader sees the old or the new, never half of it.
    fn write(&self, folder: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        access::replace(&folder.join(FILE), &text)
    }
}

/// One folder of answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub id: RunId,
    pub folder: PathBuf,
    /// When it was begun.
    pub at: Timestamp,
    /// `None` where the plan is older than this record, or where its agent never answered.
    pub kept: Option<Kept>,
    /// The run that was made of it at once.
    pub run: Option<RunId>,
}

/// Every plan there is anything of, oldest first.
pub fn plans(home: &Home) -> Vec<Plan> {
    let entries = fs::read_dir(home.root().join("plans")).into_iter().flatten().flatten();
    let mut found: Vec<Plan> = entries.filter_map(|entry| plan(&entry.path())).collect();
    found.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
    found
}

fn plan(folder: &Path) -> Option<Plan> {
    let id = RunId::parse(folder.file_name()?.to_str()?)?;
    let kept = fs::read(folder.join(FILE)).ok().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
    let at = kept.as_ref().map(|kept| kept.planning.at).or_else(|| changed(folder))?;
    let run = fs::read_to_string(folder.join(RUN)).ok().and_then(|text| RunId::parse(text.trim()));
    Some(Plan { id, folder: folder.to_owned(), at, kept, run })
}

fn changed(folder: &Path) -> Option<Timestamp> {
    let since = fs::metadata(folder).ok()?.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Timestamp(i64::try_from(since.as_millis()).ok()?))
}

/// Notes which run was made of a plan, for `runs prune`: the run's own log says it too.
pub fn note_run(home: &Home, plan: &str, run: &RunId) {
    let _ = access::write(&home.root().join("plans").join(plan).join(RUN), format!("{run}\n"));
}

impl Planner {
    /// What all answers together have used.
    pub fn used(&self) -> Usage {
        self.planning().total()
    }

    /// What there is to account for.
    pub fn planning(&self) -> Planning {
        let plan = self.worker.context.run.to_string();
        let [analysed_in, planned_in] = self.times;
        let (agent, usage) = (self.agent(), self.used.clone());
        Planning { plan, agent, at: self.since, usage, analysed_in, planned_in }
    }

    /// Keeps what it has used so far. A failed write is ignored: the calling command reports it too.
    pub(super) fn account(&self) {
        let _ = Kept::new(&self.directory, self.planning()).write(&self.folder);
    }

    /// A line when it begins.
    pub(super) fn note_start(&self) {
        self.note("started", None, None);
    }

    /// A line for all of it, whatever became of it.
    pub(super) fn note_session(&self, error: Option<&PlannerError>) {
        let status = match error {
            None => "completed",
            Some(PlannerError::Stopped) => "interrupted",
            Some(_) => "failed",
        };
        self.note(status, error, Some(wall()));
    }

    fn note(&self, status: &'static str, error: Option<&PlannerError>, ended: Option<Timestamp>) {
        sessions::note_planning(
            &self.home,
            &PlanningSession {
                session: self.session.as_deref(),
                planning: &self.planning(),
                model: self.model(),
                status,
                error: error.map(ToString::to_string),
                directory: &self.directory,
                ended,
            },
        );
    }
}

pub(super) fn count(used: &mut Vec<ModelUsage>, message: &Message) {
    if let Message::Input(Input::UsageReported { usage, model, taken_back, .. }) = message {
        add(used, model.clone(), *usage, *taken_back);
    }
}

pub(super) fn spent(used: &[ModelUsage]) -> Usd {
    used.iter().fold(Usd(0), |sum, one| sum + one.usage.cost)
}

/// Adds to the sum of a model, in the order in which they were first heard of.
fn add(all: &mut Vec<ModelUsage>, model: Option<Box<str>>, usage: Usage, taken_back: Usage) {
    match all.iter_mut().find(|known| known.model == model) {
        Some(known) => known.usage.report(usage, taken_back),
        None => all.push(ModelUsage { model, usage }),
    }
}
