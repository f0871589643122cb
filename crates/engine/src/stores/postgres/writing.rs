//! Writing to a run's log: it is claimed, then lengthened at its end by the one who has claimed it last.

use std::path::Path;

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;

use super::reading::of_claim;
use super::statements::{self, FIRST_EPOCH};
use super::{Postgres, errors};
use crate::stores::journal::{self, Journal};
use crate::stores::rows::{EventRow, LogEnd, NoRows, status};
use crate::stores::sqlite::unwritable;
use crate::stores::witness::{self, Keeper, Witness};
use crate::stores::{Epoch, NewRun, StoreError};

impl Postgres {
    /// In one transaction: a run without its first record could never be read again. A call whose answer was lost is
    /// repeated, and finds what it has made.
    pub(super) async fn create_run(&self, run: &NewRun, first: &Record) -> Result<Epoch, StoreError> {
        let row = EventRow::of(0, first).map_err(|error| self.failed(error))?;
        let (last_seq, sum) = (row.seq, row.sum);
        let made =
            self.call(async |connection| Ok(self.insert_run(connection, run, first, row).await)).await?;
        let key = match made {
            Ok(key) => key,
            Err(error) if errors::is_taken(&error) => {
                let (key, epoch) = self.claimed(&run.id).await?;
                let last = self.call(async |connection| {
                    statements::last_event(connection, key).await.map_err(|error| self.told(error))
                });
                if (epoch, last.await?) != (FIRST_EPOCH, (last_seq, sum)) {
                    return Err(self.failed(format!("there is a run {} already", run.id)));
                }
                key
            }
            Err(error) => return Err(self.told(error)),
        };
        let witness = self.witness(&run.id)?;
        witness.note(last_seq);
        self.hold(&run.id, LogEnd { key, epoch: FIRST_EPOCH, last_seq, sum, witness });
        Ok(FIRST_EPOCH)
    }

    async fn insert_run(
        &self,
        connection: &mut PgConnection,
        run: &NewRun,
        first: &Record,
        row: EventRow,
    ) -> sqlx::Result<i64> {
        let mut whole = connection.begin().await?;
        let written = async {
            let key = statements::write_first(&mut whole, run, first, row).await?;
            statements::lead(&mut whole, key, FIRST_EPOCH, &self.machine).await?;
            Ok(key)
        };
        match written.await {
            Ok(key) => whole.commit().await.map(|()| key),
            Err(error) => whole.rollback().await.and(Err(error)),
        }
    }

    /// A log that is refused stays as it is. Its former holder is refused from the moment this is committed; what that had
    /// only written is part of the log by then, where it was on this machine.
    pub(super) async fn claim_run(&self, run: &RunId) -> Result<Epoch, StoreError> {
        self.ends().remove(run);
        let (former, end) = self.call(async |connection| self.take_over(connection, run).await).await?;
        let epoch = end.epoch;
        end.witness.note(end.last_seq);
        // Its former holder may have it open still, and writes to a file that is read by no process.
        journal::take_away(&self.home, run, &of_claim(former)).map_err(|error| self.unwritable(&error))?;
        self.hold(run, end);
        Ok(epoch)
    }

    /// The claim before, and the end of the log as it is under the new one.
    async fn take_over(
        &self,
        connection: &mut PgConnection,
        run: &RunId,
    ) -> Result<(Epoch, LogEnd), StoreError> {
        let told = |error| self.told(error);
        let mut whole = connection.begin().await.map_err(told)?;
        let found = statements::claimed(&mut whole, run, true).await.map_err(told)?;
        let (key, former) = found.ok_or_else(|| StoreError::NoSuchRun(run.clone()))?;
        if let Some(by) = statements::holder(&mut whole, key, &self.machine).await.map_err(told)? {
            return Err(StoreError::Held { run: run.clone(), by });
        }
        let seen = witness::seen_by(&self.home, run, Keeper::Postgres);
        let (last_seq, sum) = statements::last_event(&mut whole, key).await.map_err(told)?;
        let left: Vec<Record> = journal::behind(last_seq, self.read_journal(run, former)?).collect();
        self.check_witness(run, last_seq + left.len() as u64, seen)?;
        let epoch = statements::next_epoch(&mut whole, key).await.map_err(told)?;
        let mut end = LogEnd { key, epoch, last_seq, sum, witness: self.witness(run)? };
        let rows = self.rows(run, &end, &left)?;
        if let Some((seq, sum)) = rows.last().map(|row| (row.seq, row.sum)) {
            let said = left.iter().rev().find_map(status);
            statements::add_events(&mut whole, &end, rows, said).await.map_err(told)?;
            (end.last_seq, end.sum) = (seq, sum);
        }
        statements::lead(&mut whole, key, epoch, &self.machine).await.map_err(told)?;
        whole.commit().await.map_err(told)?;
        Ok((former, end))
    }

    fn hold(&self, run: &RunId, end: LogEnd) {
        self.journals().insert(run.clone(), (end.epoch, None));
        self.claims.add(&self.connections, run, end.key, end.epoch);
        self.ends().insert(run.clone(), end);
    }

    pub(super) fn write_records(
        &self,
        run: &RunId,
        epoch: Epoch,
        records: &[Record],
    ) -> Result<(), StoreError> {
        let mut journals = self.journals();
        let (claimed, journal) = journals.get_mut(run).ok_or_else(|| StoreError::NoSuchRun(run.clone()))?;
        if *claimed != epoch {
            return Err(self.taken_over(run));
        }
        let opened = match journal {
            Some(journal) => Ok(journal),
            None => Journal::open(&self.home, run, &of_claim(epoch)).map(|opened| journal.insert(opened)),
        };
        opened.and_then(|journal| journal.write(records)).map_err(|error| self.unwritable(&error))
    }

    /// The server holds a run's log up to here.
    fn settle_journal(&self, run: &RunId, epoch: Epoch, last: u64, is_over: bool) {
        let mut journals = self.journals();
        match journals.get_mut(run) {
            Some((_, journal)) if is_over => {
                *journal = None;
                journal::remove(&self.home, run, &of_claim(epoch));
            }
            Some((_, Some(journal))) => journal.is_stored(last),
            _ => {}
        }
    }

    pub(super) async fn append_records(
        &self,
        run: &RunId,
        after: u64,
        epoch: Epoch,
        records: &[Record],
    ) -> Result<(), StoreError> {
        let known = self.ends().remove(run).filter(|end| end.epoch == epoch);
        // Where this fails, the log's end is looked up by the next one that appends.
        let end = self
            .call(async |connection| self.append(connection, run, known, (after, epoch), records).await)
            .await?;
        let is_over = records.iter().any(|record| status(record).is_some_and(|(_, ended)| ended.is_some()));
        self.settle_journal(run, epoch, end.last_seq, is_over);
        if is_over {
            self.claims.end(run);
            // Where it cannot be said, the claim ends by itself.
            let key = end.key;
            let _ = self.call(async |connection| Ok(statements::let_go(connection, key, epoch).await)).await;
        }
        self.ends().insert(run.clone(), end);
        Ok(())
    }

    /// The log's end is looked up once more where it is not where it was thought to be: the same call may have been made
    /// before, and its answer lost.
    async fn append(
        &self,
        connection: &mut PgConnection,
        run: &RunId,
        known: Option<LogEnd>,
        (after, epoch): (u64, Epoch),
        records: &[Record],
    ) -> Result<LogEnd, StoreError> {
        let mut end = match known {
            Some(end) => end,
            None => self.find_end(connection, run, epoch).await?,
        };
        if !self.add(connection, run, &mut end, after, records).await? {
            end = self.find_end(connection, run, epoch).await?;
            if !self.add(connection, run, &mut end, after, records).await? {
                return Err(self.conflict(run, after + 1));
            }
        }
        Ok(end)
    }

    /// Whether they are part of the log now; not where the log ends elsewhere by now, or the run is another's.
    async fn add(
        &self,
        connection: &mut PgConnection,
        run: &RunId,
        end: &mut LogEnd,
        after: u64,
        records: &[Record],
    ) -> Result<bool, StoreError> {
        self.check_known(connection, run, end, after, records).await?;
        let rows = self.rows(run, end, records)?;
        let Some((seq, sum)) = rows.last().map(|row| (row.seq, row.sum)) else { return Ok(true) };
        let said = records.iter().rev().find_map(status);
        match statements::add_events(connection, end, rows, said).await {
            Ok(()) => {
                (end.last_seq, end.sum) = (seq, sum);
                end.witness.note(seq);
                Ok(true)
            }
            Err(sqlx::Error::RowNotFound) => Ok(false),
            Err(error) if errors::is_taken(&error) => Ok(false),
            Err(error) => Err(self.told(error)),
        }
    }

    async fn find_end(
        &self,
        connection: &mut PgConnection,
        run: &RunId,
        epoch: Epoch,
    ) -> Result<LogEnd, StoreError> {
        let told = |error| self.told(error);
        let found = statements::claimed(connection, run, false).await.map_err(told)?;
        let (key, claimed) = found.ok_or_else(|| StoreError::NoSuchRun(run.clone()))?;
        if claimed != epoch {
            return Err(self.taken_over(run));
        }
        let (last_seq, sum) = statements::last_event(connection, key).await.map_err(told)?;
        Ok(LogEnd { key, epoch, last_seq, sum, witness: self.witness(run)? })
    }

    /// Nothing lies between the log and what is to follow it, and what the log holds of that already is the very same,
    /// for a call whose answer was lost is repeated.
    async fn check_known(
        &self,
        connection: &mut PgConnection,
        run: &RunId,
        end: &LogEnd,
        after: u64,
        records: &[Record],
    ) -> Result<(), StoreError> {
        if records.first().is_some_and(|first| first.seq != after + 1) || after > end.last_seq {
            return Err(self.conflict(run, after + 1));
        }
        let known = records.iter().take_while(|record| record.seq <= end.last_seq);
        let Some(last) = known.clone().last() else { return Ok(()) };
        let told = |error| self.told(error);
        let mut sum = statements::sum(connection, end.key, after).await.map_err(told)?;
        for record in known {
            let row = |sum| EventRow::of(sum, record).map(|row| row.sum).map_err(|error| self.failed(error));
            sum = sum.map(row).transpose()?;
        }
        let found = statements::sum(connection, end.key, last.seq).await.map_err(told)?;
        match sum.is_some() && sum == found {
            true => Ok(()),
            false => Err(self.conflict(run, last.seq)),
        }
    }

    fn rows(&self, run: &RunId, end: &LogEnd, records: &[Record]) -> Result<Vec<EventRow>, StoreError> {
        end.rows(records).map_err(|error| match error {
            NoRows::Gap(seq) => self.conflict(run, seq),
            NoRows::Unreadable(error) => self.failed(error),
        })
    }

    fn witness(&self, run: &RunId) -> Result<Witness, StoreError> {
        Witness::open(&self.home, run, Keeper::Postgres).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &std::io::Error) -> StoreError {
        unwritable(&self.home, error)
    }

    pub(super) async fn set_directory(&self, run: &RunId, directory: &Path) -> Result<(), StoreError> {
        self.call(async |connection| {
            let moved = sqlx::query("UPDATE runs SET directory = $2 WHERE id = $1")
                .bind(run.as_str())
                .bind(directory.to_string_lossy().into_owned())
                .execute(connection)
                .await
                .map_err(|error| self.told(error))?;
            match moved.rows_affected() {
                0 => Err(StoreError::NoSuchRun(run.clone())),
                _ => Ok(()),
            }
        })
        .await
    }

    /// Its events go along with it.
    pub(super) async fn forget(&self, run: &RunId) -> Result<(), StoreError> {
        self.call(async |connection| {
            let gone =
                sqlx::query("DELETE FROM runs WHERE id = $1").bind(run.as_str()).execute(connection).await;
            gone.map(drop).map_err(|error| self.told(error))
        })
        .await?;
        self.claims.end(run);
        self.ends().remove(run);
        self.journals().remove(run);
        Ok(())
    }
}
