//! What holds of the tally of any run.

use super::*;
use crate::report::tally::{Counting, Histogram, Tally, Used};
use crate::run::costs::{self, By};
use crate::run::subject;

/// Every number of a tally by its name.
fn numbers(tally: &Tally) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::from([("conflicts".to_owned(), tally.conflicts)]);
    for (state, agents) in &tally.tasks {
        all.extend(agents.iter().map(|(agent, count)| (format!("{state} by {agent}"), *count)));
    }
    for (state, histogram) in &tally.durations {
        all.insert(format!("{state} sum"), histogram.sum());
        all.insert(format!("{state} count"), histogram.count());
        all.extend(histogram.cumulative(&[]).into_iter().map(|(le, count)| (format!("{state} {le}"), count)));
    }
    for (model, used) in &tally.used {
        let Used { cost, input, output } = used;
        let of = [("cost", cost.0), ("input", *input), ("output", *output)];
        all.extend(of.map(|(what, count)| (format!("{what} of {model}"), count)));
    }
    all.extend(tally.retries.iter().map(|(reason, count)| (format!("retries: {reason}"), *count)));
    all
}

/// Without lengths of time: a part of a log does not tell how long a coordinator was awake.
fn without_times(mut tally: Tally) -> BTreeMap<String, u64> {
    let counts = tally.durations.iter().map(|(state, of)| (format!("{state} ended"), of.count()));
    let counts: Vec<(String, u64)> = counts.collect();
    tally.durations.clear();
    let mut all = numbers(&tally);
    all.extend(counts);
    all.retain(|_, count| *count > 0);
    all
}

/// The task that a record is about, for those who race the one they race for.
fn owner<'r>(run: &'r Run, record: &'r Record) -> Option<&'r TaskId> {
    let (task, _) = subject(&record.event)?;
    let (planned, _) = run.task(run.place(task)?);
    Some(planned.entrant_of().unwrap_or(&planned.id))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn counters_only_grow_and_parts_add_up(
        plan in random_plan(),
        options in random_options(),
        story in prop::collection::vec((any::<u8>(), any::<u8>()), 0..60),
    ) {
        let mut checked = Checked::start(plan, options);
        for (what, whom) in story {
            checked.happen(what, whom);
            // Several times in an attempt, so that something can be taken back.
            for (task, attempt) in checked.live.clone() {
                checked.report_usage(task, attempt, what ^ whom);
            }
        }
        checked.run_out();
        let (log, run) = (&checked.script.log, checked.script.scheduler.run());

        let (mut counting, mut before) = (Counting::default(), BTreeMap::new());
        for record in log {
            counting.count(record);
            let now = numbers(counting.tally());
            for (name, count) in &before {
                prop_assert!(now.get(name) >= Some(count), "{name} went down with {:?}", record.event);
            }
            before = now;
        }
        let tally = counting.into_tally();
        prop_assert_eq!(&Tally::of(log), &tally);

        let mut sum = Tally::default();
        for (_, task, _) in run.asked() {
            let part = log.iter().filter(|record| owner(run, record).is_none_or(|of| *of == task.id));
            sum += &Tally::of(part);
        }
        prop_assert_eq!(without_times(sum), without_times(tally.clone()));

        agrees_with_the_run(&tally, log, run);
        let text = serde_json::to_string(&tally).unwrap();
        prop_assert_eq!(serde_json::from_str::<Tally>(&text).unwrap(), tally);
    }
}

/// Nothing is under way any more: what was used is what `conductor cost` shows, and each end was counted.
fn agrees_with_the_run(tally: &Tally, log: &[Record], run: &Run) {
    let lines = costs::lines([("r", log)], By::Model, |_| 0);
    let mut shown: Vec<(&str, Used)> =
        lines.iter().map(|line| (line.key.as_str(), line.usage.into())).collect();
    // A turn without a token is no use of a model.
    shown.retain(|(_, used)| *used != Used::default());
    shown.iter_mut().filter(|(model, _)| *model == costs::NONE).for_each(|line| line.0 = "unknown");
    shown.sort_by_key(|(model, _)| *model);
    let used = tally.used.iter().filter(|(_, used)| **used != Used::default());
    let used: Vec<(&str, Used)> = used.map(|(model, used)| (model.as_str(), *used)).collect();
    assert_eq!(used, shown);
    let spent = used.iter().fold(0, |sum, (_, used)| sum + used.cost.0);
    assert_eq!(spent, run.spent().cost.0);

    let reopened = log.iter().any(|record| matches!(record.event, Event::TaskReopened { .. }));
    for status in Status::ALL.into_iter().filter(|status| status.is_end()) {
        let ended: u64 = tally.tasks.get(status.name()).map_or(0, |agents| agents.values().sum());
        let timed = tally.durations.get(status.name()).map_or(0, Histogram::count);
        let left = u64::from(run.count(status));
        assert!(ended == left || reopened && ended > left, "{status}: {ended} ended, {left} are left");
        let never_began = tally.tasks.get(status.name()).and_then(|agents| agents.get("none"));
        assert_eq!(timed + never_began.copied().unwrap_or_default(), ended, "{status}");
    }
}
