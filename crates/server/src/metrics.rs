//! Metrics of all runs together. Each run is counted once and remembered, so that a counter never goes back: not when runs
//! are removed, and not when the server is started anew.

use std::collections::{BTreeMap, HashMap};

use conductor_core::report::tally::{Counting, Gauges, Histogram, Tally};
use conductor_core::values::ids::RunId;
use conductor_engine::git::workspaces;
use conductor_engine::host::home::Home;
use conductor_engine::records::metrics::{self, Beside, Deliveries, Format};
use conductor_engine::runs::control::async_client;
use conductor_engine::stores::StoredRun;
use tokio::sync::Mutex;

use crate::fleet;
use crate::live::Runs;
use crate::problem::Result;
use crate::records::Records;

/// What was counted of a run that may still go on.
#[derive(Default)]
struct Counted {
    counting: Counting,
    seq: u64,
}

#[derive(Default)]
pub(crate) struct Meter {
    open: Mutex<HashMap<RunId, Counted>>,
    appends: Mutex<Appends>,
}

/// How long appends took, as coordinators have told since this server began. What ended between two looks is not known to
/// its last append.
#[derive(Default)]
struct Appends {
    of_runs: HashMap<RunId, Histogram>,
    /// Of processes that are gone.
    before: Histogram,
}

impl Appends {
    /// A coordinator that counts less than before is another process.
    fn told(&mut self, run: &RunId, now: Histogram) {
        let known = self.of_runs.entry(run.clone()).or_default();
        if now.count() < known.count() {
            self.before += known;
        }
        *known = now;
    }

    fn all(&self) -> Histogram {
        let mut all = self.before.clone();
        self.of_runs.values().for_each(|one| all += one);
        all
    }
}

impl Meter {
    pub(crate) async fn text(
        &self,
        home: &Home,
        runs: &Runs,
        records: &Records,
        format: Format,
    ) -> Result<String> {
        let mut open = self.open.lock().await;
        let mut kept = records.tallies().await?;
        let (mut all, mut gauges, mut present) = (Tally::default(), Gauges::default(), BTreeMap::new());
        for run in runs.list().await?.iter() {
            let is_live = home.is_live(&run.id);
            let before = kept.remove(run.id.as_str());
            all += &self.tally(&mut open, run, is_live, before, (runs, records)).await?;
            if is_live && let Ok(view) = async_client::live_view(&home.run(&run.id)).await {
                gauges += Gauges::of(&view.snapshot);
                self.appends.lock().await.told(&run.id, view.appends);
                fleet::add(&mut present, view.workers);
            }
            gauges.worktrees += workspaces::count(home, &run.id) as u64;
        }
        // Of runs that are removed.
        kept.values().for_each(|(_, tally)| all += tally);
        let appends = self.appends.lock().await.all();
        let fleet = fleet::count(&fleet::entries(home)?, &present);
        let deliveries = deliveries(records).await?;
        let beside = Beside { appends: Some(&appends), deliveries: Some(deliveries), fleet: Some(fleet) };
        Ok(metrics::text(&all, &gauges, beside, format))
    }

    /// Of one run, to its last event. What was counted is kept each time it has grown: the run may be removed before it is
    /// looked at again.
    async fn tally(
        &self,
        open: &mut HashMap<RunId, Counted>,
        run: &StoredRun,
        is_live: bool,
        before: Option<(u64, Tally)>,
        (runs, records): (&Runs, &Records),
    ) -> Result<Tally> {
        // One that cannot be read is counted as far as it could be before.
        if let (false, Some((seq, tally))) = (open.contains_key(&run.id), &before)
            && runs.records(&run.id, *seq).await.unwrap_or_default().is_empty()
        {
            return Ok(tally.clone());
        }
        let counted = open.entry(run.id.clone()).or_default();
        for record in runs.records(&run.id, counted.seq).await.unwrap_or_default() {
            counted.counting.count(&record);
            counted.seq = record.seq;
        }
        let (seq, tally) = (counted.seq, counted.counting.tally().clone());
        match before {
            Some((kept, before)) if kept > seq => return Ok(before),
            Some((kept, _)) if kept == seq => {}
            _ if seq == 0 => {}
            _ => records.keep_tally(run.id.as_str(), seq, &tally).await?,
        }
        if run.is_over() && !is_live {
            open.remove(&run.id);
        }
        Ok(tally)
    }
}

/// Of all webhooks together: their number has no bound.
async fn deliveries(records: &Records) -> Result<Deliveries> {
    let (counts, waiting) = records.delivery_counts().await?;
    let of = |name: &str| counts.iter().find(|(result, _)| result == name).map_or(0, |(_, count)| *count);
    Ok(Deliveries { delivered: of("delivered"), retried: of("retried"), dead: of("dead"), waiting })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appends(count: usize) -> Histogram {
        let mut histogram = Histogram::default();
        (0..count).for_each(|_| histogram.observe(5, &[10]));
        histogram
    }

    #[test]
    fn appends_never_count_back_when_a_run_is_taken_up_by_another_process() {
        let (run, other) = (RunId::parse("r1").unwrap(), RunId::parse("r2").unwrap());
        let mut known = Appends::default();
        for (run, count, all) in [(&run, 3, 3), (&run, 5, 5), (&other, 1, 6), (&run, 2, 8), (&run, 4, 10)] {
            known.told(run, appends(count));
            assert_eq!(known.all().count(), all);
        }
    }
}
