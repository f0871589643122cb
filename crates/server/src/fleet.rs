//! The workers on other machines, as the runs know them that they are there for.

use std::collections::BTreeMap;

use conductor_core::values::ids::WorkerId;
use conductor_engine::dispatch::WorkerView;
use conductor_engine::dispatch::distant::enrolment::{Enrolment, Entries};
use conductor_engine::host::home::Home;
use conductor_engine::records::metrics::Fleet;
use conductor_engine::runs::control::async_client;

use crate::live::Runs;
use crate::problem::Result;

/// Those that are there for an active run of this machine, with what all runs together have them do.
pub(crate) async fn present(home: &Home, runs: &Runs) -> Result<BTreeMap<WorkerId, WorkerView>> {
    let mut present = BTreeMap::new();
    for run in runs.list().await?.iter().filter(|run| home.is_live(&run.id)) {
        // One that ends in this moment has none.
        if let Ok(view) = async_client::live_view(&home.run(&run.id)).await {
            add(&mut present, view.workers);
        }
    }
    Ok(present)
}

/// What one run knows of them.
pub(crate) fn add(present: &mut BTreeMap<WorkerId, WorkerView>, workers: Vec<WorkerView>) {
    workers.into_iter().for_each(|worker| worker.add_to(present));
}

pub(crate) fn entries(home: &Home) -> Result<Entries> {
    Ok(Enrolment::of(home.root()).entries()?)
}

/// How many there are, and what they have.
pub(crate) fn count(entries: &Entries, present: &BTreeMap<WorkerId, WorkerView>) -> Fleet {
    let mut fleet = Fleet::default();
    for (name, enrolled) in &entries.workers {
        let there = WorkerId::parse(name).and_then(|name| present.get(&name));
        match there {
            _ if enrolled.drained => fleet.drained += 1,
            Some(_) => fleet.here += 1,
            None => fleet.away += 1,
        }
        if let Some(view) = there {
            let busy = view.busy.min(view.slots);
            fleet.busy += u64::from(busy);
            // What is drained gets nothing more.
            fleet.free += if enrolled.drained { 0 } else { u64::from(view.slots - busy) };
        }
    }
    fleet
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(name: &str, slots: u32, busy: u32) -> WorkerView {
        WorkerView { name: WorkerId::parse(name).unwrap(), slots, busy, labels: Vec::new() }
    }

    fn entries(names: &[(&str, bool)]) -> Entries {
        let enrolled = |(name, drained): &(&str, bool)| {
            let key = "0".repeat(64);
            let value = serde_json::json!({ "key": key, "invitation": key, "since": 0, "drained": drained });
            ((*name).to_owned(), serde_json::from_value(value).unwrap())
        };
        Entries { workers: names.iter().map(enrolled).collect(), ..Entries::default() }
    }

    #[test]
    fn a_worker_of_two_runs_has_its_slots_once() {
        let mut present = BTreeMap::new();
        add(&mut present, vec![view("w1", 4, 1), view("w2", 2, 2)]);
        add(&mut present, vec![view("w1", 4, 2)]);
        let fleet = count(&entries(&[("w1", false), ("w2", false), ("w3", false)]), &present);
        assert_eq!(fleet, Fleet { here: 2, drained: 0, away: 1, busy: 5, free: 1 });
    }

    /// What was revoked a moment ago is not counted, whatever a run still says of it.
    #[test]
    fn what_is_drained_has_nothing_free_and_what_is_shut_out_does_not_count() {
        let mut present = BTreeMap::new();
        add(&mut present, vec![view("w1", 4, 1), view("gone", 8, 8)]);
        let fleet = count(&entries(&[("w1", true)]), &present);
        assert_eq!(fleet, Fleet { here: 0, drained: 1, away: 0, busy: 1, free: 0 });
    }
}
