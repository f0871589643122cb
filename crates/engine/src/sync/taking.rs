//! A run that was pulled, put where runs of this machine are. It is replayed before, and stored through the same door as
//! every log: the store's.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use conductor_core::run::Run;
use conductor_core::run::event::Record;
use conductor_core::sync::{self as carried, Contents, Origin, Pull, Relation};
use conductor_core::values::ids::RunId;

use super::error::{SyncError, at};
use super::gathering::{SESSIONS, SUMMARY, SessionLines, TRANSCRIPTS, run_of};
use super::notes::{self, COMING, RunNote};
use super::origin::Repositories;
use super::remote::{Remote, Seen};
use super::transcripts;
use crate::host::access;
use crate::records::{output, sessions};
use crate::stores::{Epoch, NewRun, RunLog, Store, StoreError};

/// All of a run at the remote, read and found good. Nothing of it is stored yet.
pub(super) struct Arrived {
    pub(super) contents: Contents,
    pub(super) records: Vec<Record>,
    pub(super) run: Run,
    summary: Option<Vec<u8>>,
    sessions: Vec<String>,
    transcripts: Option<Vec<u8>>,
}

impl Remote {
    pub(super) fn arrived(&self, seen: &Seen) -> Result<Arrived, SyncError> {
        let id = &seen.manifest.run;
        let contents = self.contents(seen)?;
        let (records, run) = self.log(seen, &contents)?;
        let part = |name: &str| self.checked(seen, &contents, name);
        let (summary, lines, transcripts) = (part(SUMMARY)?, part(SESSIONS)?, part(TRANSCRIPTS)?);
        let damaged = |why: String| SyncError::Damaged { run: id.clone(), why };
        if let Some(archive) = &transcripts {
            transcripts::check(archive).map_err(|error| damaged(format!("{TRANSCRIPTS}: {error}")))?;
        }
        let text = String::from_utf8(lines.unwrap_or_default())
            .map_err(|_| damaged(format!("{SESSIONS} is no text")))?;
        let sessions: Vec<String> = text.lines().map(str::to_owned).collect();
        if let Some(at) = sessions.iter().position(|line| run_of(line).as_ref() != Some(id)) {
            return Err(damaged(format!("line {} of {SESSIONS} is of no session of the run", at + 1)));
        }
        Ok(Arrived { contents, records, run, summary, sessions, transcripts })
    }

    /// Stores a run that is not here yet, or lengthens one; then its files, which are all there is to do where `what` says that
    /// the log is here. The run is claimed on this machine meanwhile.
    pub(super) async fn take_in(
        &self,
        store: &std::sync::Arc<dyn Store>,
        (seen, what): (&Seen, &Pull),
        arrived: &Arrived,
        here: &Path,
    ) -> Result<(), SyncError> {
        let id = &seen.manifest.run;
        let claim = self.home.claim(id)?;
        let records = &arrived.records;
        let mut before = notes::run(&self.home, id)?.unwrap_or_else(|| RunNote::first(true));
        before.blotted = arrived.contents.blotted.clone();
        let is_end_known = *what == Pull::Renew && !before.is_unfinished();
        before.contents = Some(COMING.to_owned());
        // Known to be from elsewhere before any of it is here, whenever this process is ended.
        self.note(id, COMING, 0, &before)?;
        match store.load(id, 0).await {
            Err(StoreError::NoSuchRun(_)) => {
                let directory = directory(&arrived.contents.origin, here);
                create(store, id, directory, (&arrived.run, records, &arrived.contents.origin)).await?;
            }
            Err(error) => return Err(error.into()),
            Ok(there) => {
                // It may have gone on since it was compared.
                let relation = carried::relation(&carried::lines(&there)?, &carried::lines(records)?);
                match (relation, what) {
                    (Relation::Behind(_), _) => {
                        let log = RunLog::claim(store, id).await?;
                        log.append(&records[there.len()..]).await?;
                    }
                    (Relation::Same, _) | (Relation::Ahead(_), Pull::Renew) => {}
                    _ => return Err(SyncError::Moved(id.clone())),
                }
            }
        }
        self.files(id, claim.directory(), (arrived, is_end_known))?;
        before.contents = seen.contents_blob().map(str::to_owned);
        self.note(id, &seen.commit, records.len() as u64, &before)
    }

    fn files(
        &self,
        id: &RunId,
        folder: &Path,
        (arrived, is_end_known): (&Arrived, bool),
    ) -> Result<(), SyncError> {
        if let Some(summary) = &arrived.summary {
            access::replace(&folder.join(SUMMARY), summary).map_err(at(folder))?;
        }
        if let Some(archive) = &arrived.transcripts {
            transcripts::unpack(archive, folder).map_err(at(folder))?;
        }
        let known = SessionLines::read(&self.home)?;
        let new: String = arrived
            .sessions
            .iter()
            .filter(|line| !known.of(id).contains(line))
            .map(|line| format!("{line}\n"))
            .collect();
        if !new.is_empty() {
            let path = self.home.root().join(sessions::FILE);
            let mut file = access::private().append(true).create(true).open(&path).map_err(at(&path))?;
            file.write_all(new.as_bytes()).map_err(at(&path))?;
        }
        // Its last steps were, or will be, done where it ended: nothing is left of it to be done here.
        let noted = folder.join(output::EXIT_CODE);
        if arrived.run.all_ended() && !is_end_known {
            access::write(&noted, "on another machine\n").map_err(at(&noted))?;
        }
        Ok(())
    }
}

async fn create(
    store: &std::sync::Arc<dyn Store>,
    id: &RunId,
    directory: PathBuf,
    (run, records, origin): (&Run, &[Record], &Origin),
) -> Result<(), SyncError> {
    let tasks = run.plan().asked().count();
    let new = NewRun { id: id.clone(), directory, source: origin.source.clone(), tasks };
    let Some((first, rest)) = records.split_first() else { return Ok(()) };
    let epoch: Epoch = store.create(&new, first).await?;
    if !rest.is_empty() {
        store.append(id, first.seq, epoch, rest).await?;
    }
    Ok(())
}

/// Where a run's directory is here: in the repository we are in, if it is the same one; else where it was.
fn directory(origin: &Origin, here: &Path) -> PathBuf {
    let mut repositories = Repositories::default();
    let same = repositories.of(here).filter(|(_, first)| first.is_some() && *first == origin.repository);
    same.map_or_else(
        || PathBuf::from(&origin.directory),
        |(repository, _)| below(&repository.root, origin.below.as_ref()),
    )
}

/// The path comes from elsewhere, and leads nowhere but down.
pub(super) fn below(root: &Path, path: &Path) -> PathBuf {
    let is_down = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if is_down && !path.as_os_str().is_empty() { root.join(path) } else { root.to_owned() }
}
