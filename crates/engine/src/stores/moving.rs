//! Logs of runs moved from one store to another. What is there already is checked and gone on with, so a move that was cut off
//! is made again.

use std::sync::Arc;

use conductor_core::run::Run;
use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;

use super::{LogReader, NewRun, RunLog, Store, StoreError, StoredRun};

/// So many events are written at once: a long log of long events in one piece would be a long call.
const MANY: usize = 2_000;

/// What became of a run that was to be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// All of it, or what was missing of it: so many events.
    Events(usize),
    /// The other store holds the very same log.
    WasThere,
}

#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("run {run} is another one in the other store: they differ from event {seq} on")]
    Differs { run: RunId, seq: u64 },
    /// That machine may have taken it up since the runs were listed.
    #[error("run {run} is driven by {by}; copy it when it has ended")]
    Driven { run: RunId, by: String },
    #[error("run {run} has gone on while it was copied; copy it again when it has ended")]
    WentOn { run: RunId },
    #[error("run {run} cannot be read from its log: {why}")]
    Unreadable { run: RunId, why: String },
    #[error(
        "run {run} does not come to the same in the other store: {why}; it was copied and must not be relied upon"
    )]
    Unlike { run: RunId, why: String },
}

/// Copies the log of a run, and reads it back: what it comes to has to be the same. The caller holds the run's lock on this
/// machine; one that another machine has taken up is left alone, and is no copy where that was in the middle of it.
pub async fn copy(from: &dyn LogReader, to: &Arc<dyn Store>, run: &StoredRun) -> Result<Copied, CopyError> {
    not_driven(from, run).await?;
    let copied = copy_log(from, to, run).await?;
    not_driven(from, run).await?;
    Ok(copied)
}

/// As it is now; a listing is as old as the copies that were made since.
async fn not_driven(from: &dyn LogReader, run: &StoredRun) -> Result<(), CopyError> {
    if run.shared.is_none() {
        return Ok(());
    }
    let listed = from.runs().await?;
    let holder = listed.iter().find(|known| known.id == run.id).and_then(StoredRun::holder);
    match holder {
        Some(by) => Err(CopyError::Driven { run: run.id.clone(), by: by.to_owned() }),
        None => Ok(()),
    }
}

async fn copy_log(from: &dyn LogReader, to: &Arc<dyn Store>, run: &StoredRun) -> Result<Copied, CopyError> {
    let records = from.load(&run.id, 0).await?;
    let folded = fold(run, &records)?;
    let Some((first, rest)) = records.split_first() else { return Ok(Copied::WasThere) };
    let there = match to.load(&run.id, 0).await {
        Ok(there) => Some(there),
        Err(StoreError::NoSuchRun(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let known = there.as_ref().map_or(0, Vec::len);
    if let Some(there) = &there {
        let differs = records.iter().zip(there).find(|(one, other)| one != other);
        let seq = differs.map(|(one, _)| one.seq).or_else(|| there.get(records.len()).map(|more| more.seq));
        if let Some(seq) = seq {
            return Err(CopyError::Differs { run: run.id.clone(), seq });
        }
        if known == records.len() {
            return Ok(Copied::WasThere);
        }
    }
    let log = match there {
        Some(_) => RunLog::claim(to, &run.id).await?,
        None => {
            let (id, directory) = (run.id.clone(), run.directory.clone());
            let tasks = usize::try_from(run.tasks).unwrap_or(usize::MAX);
            let new = NewRun { id, directory, source: run.source.clone(), tasks };
            RunLog::create(to, &new, first).await?
        }
    };
    for some in rest[known.saturating_sub(1)..].chunks(MANY) {
        log.append(some).await?;
    }
    let arrived = log.load(0).await?;
    let unlike = |why: &str| CopyError::Unlike { run: run.id.clone(), why: why.to_owned() };
    if arrived != records {
        return Err(unlike("its events are not the same"));
    }
    let again = fold(run, &arrived)?;
    // It may have been taken up and left meanwhile.
    if !from.load(&run.id, folded.seq()).await?.is_empty() {
        return Err(CopyError::WentOn { run: run.id.clone() });
    }
    let is_same = (again.seq(), again.stage(), again.outcome())
        == (folded.seq(), folded.stage(), folded.outcome())
        && again
            .tasks()
            .map(|(_, progress)| &progress.state)
            .eq(folded.tasks().map(|(_, progress)| &progress.state));
    match is_same {
        true => Ok(Copied::Events(records.len() - known)),
        false => Err(unlike("its tasks are not the same")),
    }
}

fn fold(run: &StoredRun, records: &[Record]) -> Result<Run, CopyError> {
    let unreadable = |why: String| CopyError::Unreadable { run: run.id.clone(), why };
    Run::replay(records).map_err(|error| unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use conductor_core::run::event::{Event, Options};
    use conductor_core::values::units::{Tick, Timestamp};

    use super::*;
    use crate::host::home::Home;
    use crate::stores::{self, Shared, Task};

    async fn store(folder: &tempfile::TempDir) -> Arc<dyn Store> {
        stores::open(&Home::at(folder.path()).unwrap()).await.unwrap()
    }

    fn paused(seq: u64) -> Record {
        Record { seq, at: Timestamp(1_000), tick: Tick(seq), event: Event::RunPaused { by: None } }
    }

    async fn log(store: &Arc<dyn Store>) -> RunLog {
        let (_, first) = Run::create(Default::default(), Default::default());
        let id = RunId::parse("r1").unwrap();
        let new = NewRun { id, directory: "/there".into(), source: "tasks.yaml".into(), tasks: 0 };
        let log = RunLog::create(store, &new, &first).await.unwrap();
        let started = Event::RunStarted { options: Box::new(Options::with_slots(2)) };
        log.append(&[Record { event: started, ..paused(2) }, paused(3)]).await.unwrap();
        log
    }

    /// A store that machines share, as it is while another machine takes a run up.
    struct TakenUp {
        store: Arc<dyn Store>,
        log: RunLog,
        /// How often the run is found to be free.
        free: AtomicUsize,
        goes_on: bool,
    }

    impl LogReader for TakenUp {
        fn load<'a>(&'a self, run: &'a RunId, after: u64) -> Task<'a, Vec<Record>> {
            Box::pin(async move {
                let loaded = self.store.load(run, after).await?;
                if self.goes_on && after == 0 {
                    self.log.append(&[paused(4)]).await?;
                }
                Ok(loaded)
            })
        }

        fn runs(&self) -> Task<'_, Vec<StoredRun>> {
            Box::pin(async {
                let is_free = self.free.load(Ordering::SeqCst) > 0;
                self.free.fetch_sub(usize::from(is_free), Ordering::SeqCst);
                let holder = (!is_free).then(|| "other".to_owned());
                let shared = Some(Shared { events: 0, holder });
                let listed = self.store.runs().await?.into_iter();
                Ok(listed.map(|run| StoredRun { shared: shared.clone(), ..run }).collect())
            })
        }
    }

    #[tokio::test]
    async fn a_run_that_another_machine_takes_up_meanwhile_is_not_called_copied() {
        for (free, goes_on) in [(1, false), (2, false), (3, true)] {
            let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let (store, to) = (store(&here).await, store(&there).await);
            let log = log(&store).await;
            let from = TakenUp { store, log, free: AtomicUsize::new(free), goes_on };
            let run = from.runs().await.unwrap().remove(0);
            assert_eq!(run.holder(), None, "when it was listed");
            match (copy(&from, &to, &run).await.unwrap_err(), goes_on) {
                (CopyError::Driven { by, .. }, false) => assert_eq!(by, "other"),
                (CopyError::WentOn { .. }, true) => {}
                (other, _) => panic!("{other}"),
            }
            let copied = to.runs().await.unwrap().len();
            assert_eq!(copied, usize::from(free > 1), "what is taken up before is not begun");
        }
    }

    #[tokio::test]
    async fn a_run_is_copied_whole_gone_on_with_and_never_written_over() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (from, to) = (store(&here).await, store(&there).await);
        let log = log(&from).await;
        let run = || async { from.runs().await.unwrap().remove(0) };
        assert_eq!(copy(&*from, &to, &run().await).await.unwrap(), Copied::Events(3));
        assert_eq!(copy(&*from, &to, &run().await).await.unwrap(), Copied::WasThere);
        let arrived = to.runs().await.unwrap().remove(0);
        assert_eq!((arrived.source.as_str(), arrived.status.as_str()), ("tasks.yaml", "running"));
        log.append(&[paused(4)]).await.unwrap();
        assert_eq!(copy(&*from, &to, &run().await).await.unwrap(), Copied::Events(1));
        assert_eq!(to.load(log.run(), 0).await.unwrap(), from.load(log.run(), 0).await.unwrap());
        // The other went on by itself.
        let other = RunLog::claim(&to, log.run()).await.unwrap();
        other.append(&[paused(5)]).await.unwrap();
        let longer = copy(&*from, &to, &run().await).await.unwrap_err();
        assert!(matches!(longer, CopyError::Differs { seq: 5, .. }), "{longer}");
        log.append(&[Record { at: Timestamp(2_000), ..paused(5) }]).await.unwrap();
        let differs = copy(&*from, &to, &run().await).await.unwrap_err();
        assert!(matches!(differs, CopyError::Differs { seq: 5, .. }), "{differs}");
        assert_eq!(to.load(log.run(), 4).await.unwrap(), [paused(5)]);
    }
}
