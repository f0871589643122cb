//! Writing to a run's log: it is claimed, then lengthened at its end by the one who has claimed it last.

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use sqlx::sqlite::SqliteConnection;

use super::errors::unwritable;
use super::opening::lengthen_log;
use super::statements::{self, add_events, add_events_and_status, begin, end, write_first};
use super::{Sqlite, Writer};
use crate::stores::journal::{self, Journal};
use crate::stores::rows::{EventRow, LogEnd, NoRows, status};
use crate::stores::witness::{self, Keeper, Witness};
use crate::stores::{Epoch, NewRun, StoreError};

impl Sqlite {
    /// In one transaction: a run without its first record could never be read again.
    pub(super) async fn create_run(&self, run: &NewRun, first: &Record) -> Result<Epoch, StoreError> {
        let witness = Witness::open(&self.home, &run.id, Keeper::Sqlite)
            .map_err(|error| unwritable(&self.home, &error))?;
        let mut row = self.row(0, first)?;
        let body = std::mem::take(&mut row.body);
        let mut writer = self.writer.lock().await;
        let connection = &mut writer.connection;
        begin(connection).await.map_err(|error| self.told(error))?;
        let written = write_first(connection, run, first, &row, body).await;
        let key = end(connection, written).await.map_err(|error| self.told(error))?;
        let epoch = statements::FIRST_EPOCH;
        let mut end = LogEnd { key, epoch, last_seq: 0, sum: 0, witness };
        end.acknowledge(&row);
        writer.ends.insert(run.id.clone(), end);
        self.journals().insert(run.id.clone(), (epoch, None));
        let _ = lengthen_log(&self.path);
        Ok(epoch)
    }

    /// A log that is refused stays as it is. Its former holder is refused from the first write on; then what that had
    /// only written is taken over.
    pub(super) async fn claim_run(&self, run: &RunId) -> Result<Epoch, StoreError> {
        let mut writer = self.writer.lock().await;
        let Writer { connection, ends } = &mut *writer;
        ends.remove(run);
        let (_, held) = self.claimed(connection, run).await?;
        self.find_end(connection, run, held).await?;
        let epoch = statements::next_epoch(connection, run).await.map_err(|error| match error {
            sqlx::Error::RowNotFound => StoreError::NoSuchRun(run.clone()),
            error => self.told(error),
        })?;
        let (mut end, left) = self.find_end(connection, run, epoch).await?;
        self.append_at(connection, run, &mut end, &left).await?;
        // The file itself goes: a process that still holds it open writes to nothing that is read.
        journal::take_away(&self.home, run, journal::NAME).map_err(|error| unwritable(&self.home, &error))?;
        self.journals().insert(run.clone(), (epoch, None));
        ends.insert(run.clone(), end);
        let _ = lengthen_log(&self.path);
        Ok(epoch)
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
            None => Journal::open(&self.home, run, journal::NAME).map(|opened| journal.insert(opened)),
        };
        opened.and_then(|journal| journal.write(records)).map_err(|error| unwritable(&self.home, &error))
    }

    /// The database holds a run's log up to here.
    fn settle_journal(&self, run: &RunId, last: u64, is_over: bool) {
        let mut journals = self.journals();
        match journals.get_mut(run) {
            Some((_, journal)) if is_over => {
                *journal = None;
                journal::remove(&self.home, run, journal::NAME);
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
        let mut writer = self.writer.lock().await;
        let Writer { connection, ends } = &mut *writer;
        let known = ends.remove(run).filter(|end| end.epoch == epoch);
        let mut end = match known {
            Some(end) => end,
            None => self.find_end(connection, run, epoch).await?.0,
        };
        self.check_known(connection, run, &end, after, records).await?;
        // Where this fails, the log's end is looked up by the next one that appends.
        self.append_at(connection, run, &mut end, records).await?;
        let is_over = |record: &Record| status(record).is_some_and(|(_, ended)| ended.is_some());
        self.settle_journal(run, end.last_seq, records.iter().any(is_over));
        ends.insert(run.clone(), end);
        Ok(())
    }

    async fn append_at(
        &self,
        connection: &mut SqliteConnection,
        run: &RunId,
        end: &mut LogEnd,
        records: &[Record],
    ) -> Result<(), StoreError> {
        let rows = self.rows(run, end, records)?;
        let Some(last) = rows.last() else { return Ok(()) };
        let written = match records.iter().rev().find_map(status) {
            None => add_events(connection, end, &rows).await,
            Some(status) => add_events_and_status(connection, end, &rows, status).await,
        };
        if let Err(error) = written {
            return Err(match error {
                sqlx::Error::RowNotFound => self.refused(connection, run, end).await?,
                error => self.told(error),
            });
        }
        end.acknowledge(last);
        Ok(())
    }

    /// Why nothing was added: the run is another's by now, or its log does not end where we thought.
    async fn refused(
        &self,
        connection: &mut SqliteConnection,
        run: &RunId,
        end: &LogEnd,
    ) -> Result<StoreError, StoreError> {
        Ok(match self.claimed(connection, run).await {
            Ok((_, epoch)) if epoch != end.epoch => self.taken_over(run),
            Ok(_) | Err(StoreError::NoSuchRun(_)) => self.conflict(run, end.last_seq + 1),
            Err(error) => return Err(error),
        })
    }

    /// The run's key, and who has claimed it last.
    async fn claimed(
        &self,
        connection: &mut SqliteConnection,
        run: &RunId,
    ) -> Result<(i64, Epoch), StoreError> {
        let known: Option<(i64, i64)> = sqlx::query_as("SELECT key, epoch FROM runs WHERE id = ?")
            .bind(run.as_str())
            .fetch_optional(connection)
            .await
            .map_err(|error| self.told(error))?;
        let (key, epoch) = known.ok_or_else(|| StoreError::NoSuchRun(run.clone()))?;
        Ok((key, Epoch(epoch as u64)))
    }

    /// The end of a log, as it is in the database, and what is only written behind it.
    async fn find_end(
        &self,
        connection: &mut SqliteConnection,
        run: &RunId,
        epoch: Epoch,
    ) -> Result<(LogEnd, Vec<Record>), StoreError> {
        let (key, claimed) = self.claimed(connection, run).await?;
        if claimed != epoch {
            return Err(self.taken_over(run));
        }
        // Looked at first, as whenever the two are compared.
        let (seen, written) = (witness::seen_by(&self.home, run, Keeper::Sqlite), self.read_journal(run)?);
        let last: Option<(i64, i64)> =
            sqlx::query_as("SELECT seq, sum FROM events WHERE run = ? ORDER BY seq DESC LIMIT 1")
                .bind(key)
                .fetch_optional(connection)
                .await
                .map_err(|error| self.told(error))?;
        let (last_seq, sum) = last.map_or((0, 0), |(seq, sum)| (seq as u64, sum as u32));
        let written: Vec<Record> = journal::behind(last_seq, written).collect();
        self.check_witness(run, last_seq + written.len() as u64, seen)?;
        let witness =
            Witness::open(&self.home, run, Keeper::Sqlite).map_err(|error| unwritable(&self.home, &error))?;
        Ok((LogEnd { key, epoch, last_seq, sum, witness }, written))
    }

    /// Nothing lies between the log and what is to follow it, and what the log holds of that already is the very same,
    /// for a call whose answer was lost is repeated.
    async fn check_known(
        &self,
        connection: &mut SqliteConnection,
        run: &RunId,
        end: &LogEnd,
        after: u64,
        records: &[Record],
    ) -> Result<(), StoreError> {
        if records.first().is_some_and(|first| first.seq != after + 1) || after > end.last_seq {
            return Err(self.conflict(run, after + 1));
        }
        let known = || records.iter().take_while(|record| record.seq <= end.last_seq);
        let Some(last) = known().last() else { return Ok(()) };
        let (before, after) = (self.sum(connection, end, after).await?, last.seq);
        let mut sum = before;
        for record in known() {
            sum = sum.map(|sum| self.row(sum, record).map(|row| row.sum)).transpose()?;
        }
        match sum.is_some() && sum == self.sum(connection, end, after).await? {
            true => Ok(()),
            false => Err(self.conflict(run, last.seq)),
        }
    }

    /// The sum of a row, to which the next is chained.
    async fn sum(
        &self,
        connection: &mut SqliteConnection,
        end: &LogEnd,
        seq: u64,
    ) -> Result<Option<u32>, StoreError> {
        if seq == 0 {
            return Ok(Some(0));
        }
        let sum: Option<i64> = sqlx::query_scalar("SELECT sum FROM events WHERE run = ? AND seq = ?")
            .bind(end.key)
            .bind(seq as i64)
            .fetch_optional(connection)
            .await
            .map_err(|error| self.told(error))?;
        Ok(sum.map(|sum| sum as u32))
    }

    fn rows(&self, run: &RunId, end: &LogEnd, records: &[Record]) -> Result<Vec<EventRow>, StoreError> {
        end.rows(records).map_err(|error| match error {
            NoRows::Gap(seq) => self.conflict(run, seq),
            NoRows::Unreadable(error) => self.failed(error),
        })
    }

    fn row(&self, before: u32, record: &Record) -> Result<EventRow, StoreError> {
        EventRow::of(before, record).map_err(|error| self.failed(error))
    }
}
