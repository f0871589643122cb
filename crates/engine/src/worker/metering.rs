//! What an agent uses while no coordinator is there, counted by its shim: the same stream, translator, note and prices come to the
//! same sums.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use conductor_core::plan::{Plan, Task};
use conductor_core::run::event::{ModelUsage, Usage};
use conductor_core::values::ids::Attempt;
use serde::{Deserialize, Serialize};

use super::accounts::{note_of_attempt, sum};
use super::bill::Bill;
use super::lines::Lines;
use crate::agents::prices;
use crate::agents::{self, Heard, Session, Translator};
use crate::host::access;
use crate::process::shim;
use crate::process::transcript::{Speaker, Transcript};

/// In a shim's folder.
const FILE: &str = "counting.json";

/// What it takes to count, as the coordinator knows it that starts the agent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Counting {
    output: PathBuf,
    executor: u32,
    attempt: Attempt,
    /// With the agent and the model that were chosen for it.
    task: Task,
    prices: prices::Own,
}

impl Counting {
    /// Nothing for an agent of the file's own: what that says is for people, and tells no usage.
    pub(super) fn of(plan: &Plan, task: &Task, speaker: &Speaker<'_>) -> Option<Counting> {
        let (output, prices) = (speaker.output.to_owned(), plan.prices.clone());
        let (executor, attempt, task) = (speaker.executor, speaker.attempt, task.clone());
        (!plan.agents.contains_key(task.agent_name())).then_some(Counting {
            output,
            executor,
            attempt,
            task,
            prices,
        })
    }

    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        access::replace(&folder.join(FILE), serde_json::to_vec(self)?)
    }

    fn read(folder: &Path) -> Option<Counting> {
        serde_json::from_slice(&std::fs::read(folder.join(FILE)).ok()?).ok()
    }
}

struct Meter {
    stream: Transcript,
    lines: Lines,
    translator: Box<dyn Translator>,
    bill: Bill,
    sums: Vec<ModelUsage>,
    prices: prices::Own,
    over: bool,
}

/// Counts for the shim of this folder, from the start of its agent's stream; nothing where that cannot be.
pub fn meter(
    folder: &Path,
    environment: &mut dyn Iterator<Item = (OsString, OsString)>,
) -> Option<Box<dyn shim::Meter>> {
    let Counting { output, executor, attempt, task, prices } = Counting::read(folder)?;
    let speaker = Speaker { output: &output, executor, task: &task.id, attempt };
    let note = note_of_attempt(&speaker)?;
    let stream = speaker.left_stream().ok().flatten().filter(|_| Transcript::is_whole(&speaker, None))?;
    let session = Session { id: note.session, begun: note.begun };
    let mut translator = agents::counting(&task, &session, environment)?;
    if let Some(call) = &note.newest_call {
        translator.goes_on_after(call);
    }
    translator.opening();
    let (lines, bill) = (Lines::default(), Bill::default());
    Some(Box::new(Meter { stream, lines, translator, bill, sums: note.before, prices, over: false }))
}

impl shim::Meter for Meter {
    fn look(&mut self) -> io::Result<Usage> {
        let mut reports = Vec::new();
        while self.lines.fill(&self.stream)? {
            while let Some(line) = self.lines.next() {
                let heard = self.translator.on_line(line);
                self.over |= heard.over;
                self.bill.hear(&heard, &self.prices, &mut reports);
            }
        }
        let looked = Heard { used: self.translator.look(), ..Heard::default() };
        self.bill.hear(&looked, &self.prices, &mut reports);
        reports.iter().for_each(|report| sum(&mut self.sums, report));
        Ok(self.sums.iter().fold(Usage::default(), |mut sum, used| {
            sum += used.usage;
            sum
        }))
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn interrupt(&mut self) -> Vec<u8> {
        self.translator.interrupt()
    }
}
