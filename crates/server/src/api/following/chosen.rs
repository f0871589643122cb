//! Which runs of a project a listener hears of, and from where on: so that one who comes back misses no run either.

use std::collections::HashSet;

use conductor_core::values::ids::RunId;

/// So many runs that began while a listener was away are told whole; what is left out of older ones is counted.
const MOST_MISSED: usize = 100;

/// How far a listener knows which runs.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Known(Vec<(String, u64)>);

impl Known {
    /// A number without a run would be about whichever is the newest by now.
    pub(super) fn read(since: &str) -> Option<Known> {
        let one = |part: &str| {
            let (run, seq) = part.split_once(':')?;
            (!run.is_empty()).then_some(())?;
            Some((run.to_owned(), seq.parse().ok()?))
        };
        since.split(',').map(one).collect::<Option<_>>().map(Known)
    }

    fn of(&self, run: &RunId) -> Option<u64> {
        self.0.iter().find(|(known, _)| known == run.as_str()).map(|(_, seq)| *seq)
    }
}

/// From where on a run is told: behind an event, or from how it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToldFrom {
    Behind(u64),
    State,
}

/// The runs that are told, as more of them are found.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    followed: HashSet<RunId>,
    /// Those that were there before and are not told: they are over, or left.
    passed: HashSet<RunId>,
    has_begun: bool,
}

impl Chosen {
    /// At first, of the runs there are, newest first, and whether each is live: those that go on, those that the listener
    /// names, those that began after all that it names, and the newest. With how many were too many.
    pub(super) fn first<'a>(
        &mut self,
        runs: &[(&'a RunId, bool)],
        known: &Known,
    ) -> (Vec<(&'a RunId, ToldFrom)>, usize) {
        let missed = runs.iter().position(|(run, _)| known.of(run).is_some()).unwrap_or(0);
        let from = |place: usize, run: &RunId, is_live: bool| match known.of(run) {
            Some(seq) => Some(ToldFrom::Behind(seq)),
            None if place < missed.min(MOST_MISSED) => Some(ToldFrom::Behind(0)),
            None => (is_live || place == 0).then_some(ToldFrom::State),
        };
        let chosen = runs.iter().enumerate();
        let chosen = chosen.filter_map(|(place, (run, is_live))| Some((*run, from(place, run, *is_live)?)));
        (self.begun(runs, chosen.collect()), missed.saturating_sub(MOST_MISSED))
    }

    /// Likewise for a listener who is told of what happens from now on only.
    pub(super) fn first_live<'a>(&mut self, runs: &[(&'a RunId, bool)]) -> Vec<&'a RunId> {
        let live = runs.iter().filter(|(_, is_live)| *is_live).map(|(run, _)| (*run, ToldFrom::State));
        self.begun(runs, live.collect()).into_iter().map(|(run, _)| run).collect()
    }

    fn begun<'a>(
        &mut self,
        runs: &[(&'a RunId, bool)],
        mut chosen: Vec<(&'a RunId, ToldFrom)>,
    ) -> Vec<(&'a RunId, ToldFrom)> {
        self.has_begun = true;
        self.followed = chosen.iter().map(|(run, _)| (*run).clone()).collect();
        let others = runs.iter().map(|(run, _)| *run).filter(|run| !self.followed.contains(*run));
        self.passed = others.cloned().collect();
        chosen.reverse();
        chosen
    }

    /// Later: those that began meanwhile, from their beginning, however soon they ended; and those that are taken up again.
    pub(super) fn next<'a>(&mut self, runs: &[(&'a RunId, bool)]) -> Vec<(&'a RunId, ToldFrom)> {
        let mut chosen = Vec::new();
        for (run, is_live) in runs.iter().rev().copied() {
            let was_there = self.passed.contains(run);
            if self.followed.contains(run) || (was_there && !is_live) {
                continue;
            }
            self.passed.remove(run);
            self.followed.insert(run.clone());
            chosen.push((run, if was_there { ToldFrom::State } else { ToldFrom::Behind(0) }));
        }
        chosen
    }

    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Vec<RunId> {
        names.iter().map(|name| RunId::parse(name).unwrap()).collect()
    }

    fn first(runs: &[&str], live: &[&str], since: &str) -> Vec<(String, ToldFrom)> {
        let ids = ids(runs);
        let runs: Vec<(&RunId, bool)> = ids.iter().map(|run| (run, live.contains(&run.as_str()))).collect();
        let known = if since.is_empty() { Known::default() } else { Known::read(since).unwrap() };
        let (chosen, _) = Chosen::default().first(&runs, &known);
        chosen.into_iter().map(|(run, from)| (run.to_string(), from)).collect()
    }

    #[test]
    fn a_listener_says_how_far_it_knows_which_run() {
        let known = Known::read("otter:12,owl:3").unwrap();
        let of = |run: &str| known.of(&RunId::parse(run).unwrap());
        assert_eq!((of("otter"), of("owl"), of("fox")), (Some(12), Some(3), None));
        for wrong in ["500", "otter", "otter:x", "", ":3", "otter:1,7"] {
            assert_eq!(Known::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn one_who_comes_for_the_first_time_is_told_of_the_newest_and_of_what_goes_on() {
        let told = |run: &str| (run.to_owned(), ToldFrom::State);
        assert_eq!(first(&["r3", "r2", "r1"], &[], ""), [told("r3")]);
        assert_eq!(first(&["r3", "r2", "r1"], &["r1"], ""), [told("r1"), told("r3")]);
        assert!(first(&[], &[], "").is_empty());
    }

    #[test]
    fn one_who_comes_back_is_told_of_every_run_that_began_meanwhile() {
        let told = |run: &str, seq: u64| (run.to_owned(), ToldFrom::Behind(seq));
        let all = ["r4", "r3", "r2", "r1"];
        assert_eq!(first(&all, &[], "r2:500"), [told("r2", 500), told("r3", 0), told("r4", 0)]);
        assert_eq!(first(&all, &["r4"], "r4:7"), [told("r4", 7)]);
        // One that is gone says nothing of what came after it.
        assert_eq!(first(&all, &[], "gone:7"), [("r4".to_owned(), ToldFrom::State)]);
    }

    #[test]
    fn of_very_many_the_newest_are_told_and_the_others_counted() {
        let names: Vec<String> = (0..MOST_MISSED + 6).map(|number| format!("r{number}")).collect();
        let ids = ids(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let runs: Vec<(&RunId, bool)> = ids.iter().map(|run| (run, false)).collect();
        let known = Known::read(&format!("r{}:1", MOST_MISSED + 5)).unwrap();
        let (told, left_out) = Chosen::default().first(&runs, &known);
        assert_eq!((told.len(), left_out), (MOST_MISSED + 1, 5));
    }

    #[test]
    fn a_run_that_ended_before_it_was_seen_is_told_whole() {
        let ids = ids(&["r3", "r2", "r1"]);
        let [r3, r2, r1] = &ids[..] else { unreachable!() };
        let mut chosen = Chosen::default();
        assert_eq!(chosen.first(&[(r1, false)], &Known::default()).0, [(r1, ToldFrom::State)]);
        let later = [(r3, false), (r2, false), (r1, false)];
        assert_eq!(chosen.next(&later), [(r2, ToldFrom::Behind(0)), (r3, ToldFrom::Behind(0))]);
        assert!(chosen.next(&later).is_empty());
        // One that was there before and is taken up again.
        let mut chosen = Chosen::default();
        assert!(chosen.first_live(&[(r2, false), (r1, true)]) == [r1] && chosen.has_begun());
        assert_eq!(chosen.next(&[(r2, true), (r1, false)]), [(r2, ToldFrom::State)]);
    }
}
