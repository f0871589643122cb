//! A run from its first event to its last, and as it was at any moment in between.

use conductor_core::run::event::{Event, Record};
use conductor_core::run::{IllegalEvent, Run};
use conductor_core::values::units::{Tick, Timestamp};

/// So many earlier moments are kept, so that going back does not begin at the first event each time.
const KEPT: usize = 8;

pub(crate) struct Course {
    records: Vec<Record>,
    now: Run,
    /// The moment that is looked back at.
    then: Option<Then>,
    /// The run after the first so many records, in order.
    kept: Vec<(usize, Run)>,
}

struct Then {
    /// So many records had happened.
    count: usize,
    run: Run,
}

impl Course {
    /// Never of no records: a run's first event creates it.
    pub(crate) fn new(records: Vec<Record>) -> Result<Course, IllegalEvent> {
        let now = Run::replay(&records)?;
        Ok(Course { records, now, then: None, kept: Vec::new() })
    }

    pub(crate) fn add(&mut self, records: Vec<Record>) -> Result<(), IllegalEvent> {
        for record in records {
            if record.seq <= self.now.seq() {
                continue;
            }
            self.now.apply(&record)?;
            self.records.push(record);
        }
        Ok(())
    }

    /// As it is shown: now, or at the moment that is looked back at.
    pub(crate) fn run(&self) -> &Run {
        self.then.as_ref().map_or(&self.now, |then| &then.run)
    }

    pub(crate) fn now(&self) -> &Run {
        &self.now
    }

    pub(crate) fn last(&self) -> u64 {
        self.now.seq()
    }

    pub(crate) fn is_past(&self) -> bool {
        self.then.is_some()
    }

    /// How many of how many events had happened.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.count(), self.records.len())
    }

    /// When the last of them happened.
    pub(crate) fn time(&self) -> Timestamp {
        self.records.get(self.count().saturating_sub(1)).map_or(self.now.created(), |record| record.at)
    }

    /// What time it was for the coordinator then.
    pub(crate) fn tick(&self) -> Tick {
        self.records.get(self.count().saturating_sub(1)).map_or(Tick(0), |record| record.tick)
    }

    /// What happened last.
    pub(crate) fn last_record(&self) -> Option<&Record> {
        self.records.get(self.count().checked_sub(1)?)
    }

    fn count(&self) -> usize {
        self.then.as_ref().map_or(self.records.len(), |then| then.count)
    }

    pub(crate) fn return_to_now(&mut self) {
        self.then = None;
    }

    /// To the next event by which something looks different, forwards or backwards.
    pub(crate) fn step(&mut self, forwards: bool) {
        let count = self.count();
        let tells = |at: &usize| is_telling(&self.records[at - 1].event);
        let to = match forwards {
            true => (count + 1..=self.records.len()).find(tells).unwrap_or(self.records.len()),
            false => (1..count).rev().find(tells).unwrap_or(1),
        };
        self.go(to);
    }

    /// By so many hundredths of the whole.
    pub(crate) fn jump(&mut self, hundredths: isize) {
        let by = (self.records.len() / 100).max(1) as isize * hundredths;
        self.go(self.count().saturating_add_signed(by));
    }

    /// To where the run was after the first so many events.
    pub(crate) fn go(&mut self, count: usize) {
        let count = count.clamp(1, self.records.len().max(1));
        if count >= self.records.len() {
            return self.return_to_now();
        }
        if self.kept.is_empty() {
            self.keep();
        }
        let before = self.kept.iter().rev().find(|(kept, _)| *kept <= count);
        let nearer = self
            .then
            .take()
            .filter(|then| then.count <= count && before.is_none_or(|(kept, _)| *kept <= then.count));
        let (from, run) = match (nearer, before) {
            (Some(then), _) => (then.count, Some(then.run)),
            (None, Some((kept, run))) => (*kept, Some(run.clone())),
            (None, None) => (0, None),
        };
        self.then = self.replayed(from, run, count).map(|run| Then { count, run });
    }

    /// Nothing where an event is refused, which the whole log has shown not to be so.
    fn replayed(&self, from: usize, run: Option<Run>, to: usize) -> Option<Run> {
        let Some(mut run) = run else { return Run::replay(&self.records[..to]).ok() };
        for record in &self.records[from..to] {
            run.apply(record).ok()?;
        }
        Some(run)
    }

    /// Replays the log once and keeps the run at a few moments.
    fn keep(&mut self) {
        let each = (self.records.len() / KEPT).max(1);
        let Ok(mut run) = Run::replay(&self.records[..1]) else { return };
        let mut kept = vec![(1, run.clone())];
        for (at, record) in self.records.iter().enumerate().skip(1) {
            if run.apply(record).is_err() {
                break;
            }
            if at % each == 0 {
                kept.push((at + 1, run.clone()));
            }
        }
        self.kept = kept;
    }
}

/// Whether a task or the run looks different by it.
fn is_telling(event: &Event) -> bool {
    !matches!(
        event,
        Event::UsageReported { .. }
            | Event::ProcessStarted { .. }
            | Event::SessionStarted { .. }
            | Event::AttemptLeased { .. }
            | Event::MergeIntended { .. }
            | Event::BudgetNeared { .. }
            | Event::CheckpointMade { .. }
            | Event::WorkSetAside { .. }
    )
}
