//! Follows a run off its loop: what it teaches is in the store before its next task begins, as a rule.

use std::path::PathBuf;
use std::time::Duration;

use conductor_core::expertise::{
    Candidate, ItemId, Retirement, Source, UNUSED_DAYS, Verdict, hurts, verdict,
};
use conductor_core::run::event::{Event, Record};
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Timestamp;
use tokio::task::JoinHandle;

use super::course::Course;
use super::error::ExpertiseError;
use super::place::Project;
use super::store::{Expertise, Paused};
use crate::host::clock::wall;
use crate::stores::{Follower, RunLog};

/// How long a run waits at its end for the last of it.
const PATIENCE: Duration = Duration::from_secs(2);

/// So long after it was learned the files of an item have to be in the user's checkout.
const GRACE: u64 = 14 * 24 * 60 * 60 * 1000;

/// What a run is asked to record, and its user to be told.
pub enum News {
    Retired(ItemId, Retirement),
    Notice(String),
}

/// Who keeps what a run teaches.
pub struct Keeper(JoinHandle<()>);

impl Keeper {
    /// Follows a run from here on; it ends with the run. Where the store cannot be used, the run goes on without it and
    /// the user is told once.
    pub fn follow(
        home: PathBuf,
        directory: PathBuf,
        run: RunId,
        log: RunLog,
        mut records: Follower,
        tell: impl Fn(News) + Send + Sync + 'static,
    ) -> Keeper {
        Keeper(tokio::spawn(async move {
            let kept = keep(home, directory, &run, log, &mut records, &tell).await;
            if let Err(error) = kept {
                tell(News::Notice(format!("what this run teaches is not kept: {error}")));
                // To its end, so that nothing waits for a follower that is gone.
                while records.recv().await.is_some() {}
            }
        }))
    }

    /// Waits until the last of it is kept, but not for ever: what is missing is read from the log at the next resume.
    pub async fn finish(self) {
        let _ = tokio::time::timeout(PATIENCE, self.0).await;
    }
}

async fn keep(
    home: PathBuf,
    directory: PathBuf,
    run: &RunId,
    log: RunLog,
    records: &mut Follower,
    tell: &(impl Fn(News) + Send + Sync + 'static),
) -> Result<(), ExpertiseError> {
    // A run without agents has nothing to teach, and makes no file.
    loop {
        match records.recv().await {
            None => return Ok(()),
            Some(batch) if batch.iter().any(|record| is_of_an_agent(&record.event)) => break,
            Some(_) => {}
        }
    }
    let project = tokio::task::spawn_blocking(move || Project::of(&directory)).await;
    let Ok(project) = project else { return Ok(()) };
    let store = Expertise::open(&home, project).await?;
    let (mut course, mut read) = (Course::default(), store.read_up_to(run).await?);
    // The fold needs the log from its first event on; what was read before only brings it up to date.
    if let Ok(earlier) = log.load(0).await {
        store.project(run, &mut course, &earlier, &mut read, UNUSED_DAYS).await?;
        read = read.max(earlier.last().map_or(0, |record| record.seq));
    }
    drop(log);
    for (item, why) in store.stale(wall()).await? {
        tell(News::Retired(item, why));
    }
    while let Some(batch) = records.recv().await {
        let fresh: Vec<_> = batch.iter().filter(|record| record.seq > read).cloned().collect();
        if fresh.is_empty() {
            continue;
        }
        let projected = store.project(run, &mut course, &fresh, &mut read, UNUSED_DAYS).await?;
        projected.goes.into_iter().for_each(|(item, why)| tell(News::Retired(item, why)));
        if projected.settled
            && let Some(paused) = store.pause_where_it_hurts(wall()).await?
        {
            tell(News::Notice(format!(
                "expertise is paused: {}; see `conductor expertise stats`, and `conductor expertise resume`",
                paused.words()
            )));
        }
    }
    Ok(())
}

fn is_of_an_agent(event: &Event) -> bool {
    matches!(event, Event::AttemptStarted { choice: Some(_), .. })
}

impl Expertise {
    /// Items that go for what is known before a run: not used for long, or about files that are gone.
    pub async fn stale(&self, now: Timestamp) -> Result<Vec<(ItemId, Retirement)>, ExpertiseError> {
        let all = self.all().await?;
        let gone = |one: &Candidate| {
            // What was learned lately may be about files that are on a run's branch only, and what a person says about
            // files that are still to be made.
            let settled = one.item.source == Source::Rule && (now - one.tally.learned).0 > GRACE;
            let there = self.is_there(&one.item).filter(|_| settled);
            match verdict(&one.item, &one.tally, now, UNUSED_DAYS, there) {
                Verdict::Goes(why) => Some((one.item.id.clone(), why)),
                Verdict::Stays => None,
            }
        };
        Ok(all.iter().filter_map(gone).collect())
    }

    /// Takes in the log of a run that nothing follows. What was taken in before is left as it is.
    pub async fn take_log(&self, run: &RunId, records: &[Record]) -> Result<(), ExpertiseError> {
        let (mut course, mut read) = (Course::default(), self.read_up_to(run).await?);
        self.project(run, &mut course, records, &mut read, UNUSED_DAYS).await?;
        self.pause_where_it_hurts(wall()).await.map(drop)
    }

    /// Pauses where tasks go worse with items than without; nothing where they do not, or it is paused already.
    pub async fn pause_where_it_hurts(&self, now: Timestamp) -> Result<Option<Paused>, ExpertiseError> {
        let Some(by) = hurts(&self.comparison().await?) else { return Ok(None) };
        match self.paused().await? {
            Some(_) => Ok(None),
            None => self.pause(by, now).await.map(Some),
        }
    }
}
