//! What of a run is pushed: its log, summary, sessions and perhaps transcripts, cleared of secrets once more on the way out.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

use conductor_core::plan::graph::Graph;
use conductor_core::report::SummaryFile;
use conductor_core::run::Run;
use conductor_core::run::event::Record;
use conductor_core::sync::{self as carried, CONTENTS, Contents, Digest, Origin};
use conductor_core::values::ids::{RunId, TaskId};

use super::error::{SyncError, at};
use super::notes;
use super::remote::LOG;
use super::sealing::digest;
use super::transcripts;
use crate::agents;
use crate::host::access;
use crate::host::home::Home;
use crate::host::redact::{self, Redactor};
use crate::records::sessions;
use crate::stores::StoredRun;

pub(super) const SUMMARY: &str = "execution_summary.json";
pub(super) const SESSIONS: &str = "sessions.jsonl";
pub(super) const TRANSCRIPTS: &str = "transcripts.tar";

/// A run as it leaves this machine.
pub(super) struct Parcel {
    pub(super) contents: Contents,
    pub(super) parts: BTreeMap<String, Vec<u8>>,
    /// Lines and files in which something was blotted out that was not before.
    pub(super) blotted: usize,
    /// Transcripts for which there was no room.
    pub(super) left_out: usize,
}

/// What `sessions.jsonl` has of each run, read once for all.
pub(super) struct SessionLines(BTreeMap<RunId, Vec<String>>);

impl SessionLines {
    pub(super) fn read(home: &Home) -> Result<SessionLines, SyncError> {
        let path = home.root().join(sessions::FILE);
        let file = match access::open_own(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(SessionLines(BTreeMap::new()));
            }
            Err(source) => return Err(SyncError::File { path, source }),
        };
        let mut lines: BTreeMap<RunId, Vec<String>> = BTreeMap::new();
        for line in BufReader::new(file).lines() {
            let line = line.map_err(at(&path))?;
            // Half a line of a power cut, and sessions that are of no run, are left out.
            if let Some(run) = run_of(&line) {
                lines.entry(run).or_default().push(line);
            }
        }
        Ok(SessionLines(lines))
    }

    pub(super) fn of(&self, run: &RunId) -> &[String] {
        self.0.get(run).map_or(&[], Vec::as_slice)
    }
}

pub(super) fn run_of(line: &str) -> Option<RunId> {
    #[derive(serde::Deserialize)]
    struct OfRun {
        run: Option<String>,
    }
    RunId::parse(&serde_json::from_str::<OfRun>(line).ok()?.run?)
}

/// Where a run's files are. What was said for another machine may not be here.
pub(super) fn output(home: &Home, id: &RunId, run: &Run) -> PathBuf {
    let said = run.options().output.as_ref().map(PathBuf::from);
    said.filter(|folder| folder.is_dir()).unwrap_or_else(|| home.run(id))
}

/// What clears the parts of one run, and how often there was something to clear.
struct Clearing<'a> {
    run: &'a RunId,
    redactor: Arc<Redactor>,
    blotted: usize,
}

impl Clearing<'_> {
    fn lines(&mut self, lines: impl IntoIterator<Item = String>) -> Vec<u8> {
        let mut text = Vec::new();
        for line in lines {
            let clean = self.redactor.text(&line);
            self.blotted += usize::from(clean != line);
            text.extend_from_slice(clean.as_bytes());
            text.push(b'\n');
        }
        text
    }

    /// The log, and tasks that lost a secret of their text. Blotting out must leave a log that folds: with an id that is a
    /// secret's value it would not.
    fn log(&mut self, records: &[Record], run: &Run) -> Result<(Vec<u8>, Vec<TaskId>), SyncError> {
        let text = self.lines(carried::lines(records)?);
        if self.blotted == 0 {
            return Ok((text, Vec::new()));
        }
        let undone = |why: String| SyncError::Undone { run: self.run.clone(), what: "its log".into(), why };
        let whole = std::str::from_utf8(&text).map_err(|error| undone(error.to_string()))?;
        let (_, left) = carried::read(whole).map_err(|error| undone(error.to_string()))?;
        let tasks = run.plan().tasks.iter().zip(&left.plan().tasks);
        let lost = tasks.filter(|(task, left)| task != left).map(|(task, _)| task.id.clone()).collect();
        Ok((text, lost))
    }

    fn origin(&mut self, origin: &Origin) -> Result<Origin, SyncError> {
        let text = serde_json::to_string(origin)?;
        let clean = self.redactor.text(&text);
        self.blotted += usize::from(clean != text);
        serde_json::from_str(&clean).map_err(|error| SyncError::Undone {
            run: self.run.clone(),
            what: "where it was started".to_owned(),
            why: error.to_string(),
        })
    }
}

pub(super) fn gather(
    home: &Home,
    id: &RunId,
    (run, records): (&Run, &[Record]),
    origin: &Origin,
    lines: &[String],
    with_transcripts: bool,
) -> Result<Parcel, SyncError> {
    agents::keep_secrets_of(run.plan());
    let mut clearing = Clearing { run: id, redactor: redact::known(), blotted: 0 };
    let (log, lost) = clearing.log(records, run)?;
    let mut parts = BTreeMap::from([(LOG.to_owned(), log)]);
    let mut blotted = notes::run(home, id)?.map(|note| note.blotted).unwrap_or_default();
    blotted.extend(lost);
    blotted.sort();
    blotted.dedup();
    let folder = output(home, id, run);
    let summary = match std::fs::read_to_string(folder.join(SUMMARY)) {
        Ok(text) => text,
        Err(_) => summary(id, run)?,
    };
    parts.insert(SUMMARY.to_owned(), clearing.lines(summary.lines().map(str::to_owned)));
    if !lines.is_empty() {
        parts.insert(SESSIONS.to_owned(), clearing.lines(lines.iter().cloned()));
    }
    let mut left_out = 0;
    if with_transcripts {
        let packed = transcripts::pack(&folder, &clearing.redactor)?;
        clearing.blotted += packed.blotted;
        left_out = packed.left_out;
        parts.insert(TRANSCRIPTS.to_owned(), packed.bytes);
    }
    let digests: BTreeMap<String, Digest> =
        parts.iter().map(|(name, part)| (name.clone(), digest(part))).collect();
    let contents = Contents {
        schema: CONTENTS.to_owned(),
        run: id.clone(),
        events: records.len() as u64,
        parts: digests,
        origin: clearing.origin(origin)?,
        blotted,
    };
    Ok(Parcel { contents, parts, blotted: clearing.blotted, left_out })
}

/// As far as the log alone tells it.
fn summary(id: &RunId, run: &Run) -> Result<String, SyncError> {
    let graph = Graph::new(run.plan(), run.options().strategy).map_err(|error| SyncError::Undone {
        run: id.clone(),
        what: "its summary".to_owned(),
        why: error.to_string(),
    })?;
    Ok(serde_json::to_string_pretty(&SummaryFile::new(id, run, &graph, None))?)
}

/// A run as the store has it, folded.
pub(super) fn folded(stored: &StoredRun, records: &[Record]) -> Result<Run, SyncError> {
    Run::replay(records).map_err(|error| SyncError::BadLog {
        run: stored.id.clone(),
        source: carried::BadLog::Illegal(error),
    })
}
