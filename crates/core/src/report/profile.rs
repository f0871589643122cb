//! What each attempt took, of time and of the machine; and what went into a run from its plan to its report.

use serde::Serialize;

use crate::run::event::Processes;
use crate::run::{End, Run, Span};
use crate::values::ids::Attempt;
use crate::values::units::Millis;

/// One attempt. What was not measured is null.
#[derive(Debug, Serialize)]
pub(super) struct AttemptProfile {
    attempt: Attempt,
    outcome: Option<&'static str>,
    elapsed_ms: Option<Millis>,
    preparing_ms: Option<Millis>,
    working_ms: Option<Millis>,
    verifying_ms: Option<Millis>,
    merging_ms: Option<Millis>,
    cpu_ms: Option<Millis>,
    peak_memory_bytes: Option<u64>,
    /// Of all processes together; of attempts with limits alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_memory_together_bytes: Option<u64>,
    /// What came from a disk, and what went to one, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    written_bytes: Option<u64>,
}

impl AttemptProfile {
    /// Of one task, and of those who raced for it, in the order in which they began.
    pub(super) fn all(run: &Run, place: usize) -> Vec<AttemptProfile> {
        let places = std::iter::once(place).chain(run.entrants(place).iter().copied());
        let mut spans: Vec<&Span> = places.flat_map(|place| run.spans_of(place)).collect();
        spans.sort_by_key(|span| span.from);
        spans.into_iter().map(AttemptProfile::new).collect()
    }

    fn new(span: &Span) -> AttemptProfile {
        let since = |from: Millis, to: Millis| Millis(to.0.saturating_sub(from.0));
        let (phases, processes) = (span.phases, span.phases.and_then(|phases| phases.processes));
        let some = |of: fn(Processes) -> u64| processes.map(of).filter(|bytes| *bytes > 0);
        AttemptProfile {
            attempt: span.attempt,
            outcome: span.end.map(End::name),
            elapsed_ms: span.to.map(|to| since(span.from, to)),
            preparing_ms: phases.map(|phases| phases.preparing),
            working_ms: phases.map(|phases| phases.working),
            verifying_ms: phases.map(|phases| phases.verifying),
            merging_ms: span.to.zip(span.merged).map(|(to, merged)| since(to, merged)),
            cpu_ms: processes.map(|processes| processes.cpu),
            peak_memory_bytes: processes.and_then(|processes| processes.peak()),
            peak_memory_together_bytes: processes.and_then(|processes| processes.peak_together()),
            read_bytes: some(|processes| processes.read),
            written_bytes: some(|processes| processes.written),
        }
    }
}

/// From the first question to the last file. What was not done or not measured is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Shares {
    #[serde(rename = "analysis_ms")]
    pub analysis: Option<Millis>,
    #[serde(rename = "planning_ms")]
    pub planning: Option<Millis>,
    #[serde(rename = "execution_ms")]
    pub execution: Millis,
    #[serde(rename = "aggregation_ms")]
    pub aggregation: Option<Millis>,
}

impl Shares {
    /// `aggregation` is how long it took to put the results together.
    pub fn of(run: &Run, aggregation: Option<Millis>) -> Shares {
        let asked = run.planning();
        let sum = |of: fn(&crate::run::event::Planning) -> Millis| {
            (!asked.is_empty()).then(|| asked.iter().fold(Millis(0), |sum, one| sum + of(one)))
        };
        Shares {
            analysis: sum(|planning| planning.analysed_in),
            planning: sum(|planning| planning.planned_in),
            execution: run.active(),
            aggregation,
        }
    }

    /// Those that are known, in words, with their share in percent.
    pub fn parts(&self) -> Vec<(&'static str, Millis, u64)> {
        let all = [
            ("analysis", self.analysis),
            ("planning", self.planning),
            ("execution", Some(self.execution)),
            ("aggregation", self.aggregation),
        ];
        let known = all.into_iter().filter_map(|(name, length)| Some((name, length?)));
        let whole = known.clone().map(|(_, length)| length.0).sum::<u64>().max(1);
        known.map(|(name, length)| (name, length, (length.0 * 100 + whole / 2) / whole)).collect()
    }
}
