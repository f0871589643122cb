//! What a run will probably come to: how long with how many at once, what is in its way, what it costs.
//!
//! It rests on supposed durations, and says of each what that supposition rests on. Costs are known from former runs or
//! not at all.

mod evidence;
mod history;
pub mod rehearse;
mod time_left;

use std::collections::BTreeMap;

use crate::forecast::rehearse::{Rehearsal, rehearse_as};
use crate::plan::graph::{CriticalPath, Graph, GraphError, Node};
use crate::plan::{Command, Dependency, Plan, Task, Wins, Work};
use crate::run::event::Options;
use crate::schedule::lonely;
use crate::values::ids::TaskId;
use crate::values::units::{Millis, Usd};

pub use evidence::{Evidence, ModelOf, TimesOf, Touched};
use history::median;
pub use history::{Basis, Estimate, History, Past, estimate, foretold, teach};
pub use time_left::{Pace, TimeLeft, time_left};

/// What a run is supposed to cost, as far as former runs tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    pub expected: Usd,
    pub low: Usd,
    pub high: Usd,
    /// Tasks whose cost is unknown. It is not part of the figures.
    pub unknown: u32,
}

/// The task whose division would help most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    pub task: TaskId,
    /// The whole run, were it two halves side by side.
    pub makespan: Millis,
}

#[derive(Debug, Clone)]
pub struct Forecast {
    /// How long it takes with so many at once, as far as that was worked out.
    pub by_slots: BTreeMap<u32, Millis>,
    /// The least number beyond which nothing is gained.
    pub best: u32,
    /// The number everything below is about.
    pub slots: u32,
    pub rehearsal: Rehearsal,
    /// Where every task takes its least, and its most.
    pub low: Millis,
    pub high: Millis,
    pub critical_path: CriticalPath,
    pub cost: Cost,
    pub split: Option<Split>,
    /// In the order of the plan.
    pub estimates: Vec<Estimate>,
}

/// Up to here every number is worked out; beyond, powers of two, or of four, and what decides.
const EVERY: u32 = 16;
const POWERS_OF_TWO: u32 = 256;

/// How many tasks of the critical path are tried for a division.
const TRIED: usize = 3;

/// Works out a run of a plan that has tasks. Without `slots`, everything is about the best number.
pub fn forecast(
    plan: &Plan,
    options: &Options,
    history: &History,
    slots: Option<u32>,
) -> Result<Forecast, GraphError> {
    let estimates: Vec<Estimate> = plan.tasks.iter().map(|task| estimate(task, history)).collect();
    let expected: Vec<Millis> = estimates.iter().map(|one| one.expected).collect();
    let lean = lean(plan, options, &expected);
    let mut stage = Stage { plan: lean, options, lengths: expected, known: BTreeMap::new() };
    let best = stage.best()?;
    let shown = slots.unwrap_or(best);
    stage.makespan(shown)?;
    let rehearsal = stage.play(shown, &stage.lengths)?;
    let expected = rehearsal.makespan;
    let (low, high) = match estimates.iter().all(|one| one.low == one.high) {
        true => (expected, expected),
        false => {
            let all = |of: fn(&Estimate) -> Millis| estimates.iter().map(of).collect::<Vec<_>>();
            let played = |lengths: &[Millis]| Ok(stage.play(shown, lengths)?.makespan);
            // Shorter tasks in another order can take longer as a whole; what is expected is within the range all the same.
            (played(&all(|one| one.low))?.min(expected), played(&all(|one| one.high))?.max(expected))
        }
    };
    let graph = Graph::new(plan, options.strategy)?;
    let along = along(plan, &stage.lengths);
    let critical_path = graph.critical_path(|task| along[task as usize]);
    let split = stage.split(shown, rehearsal.makespan, &critical_path.tasks)?;
    Ok(Forecast {
        by_slots: stage.known,
        best,
        slots: shown,
        low,
        high,
        rehearsal,
        critical_path,
        cost: cost(plan, history),
        split,
        estimates,
    })
}

/// The plan without what costs time to copy and decides nothing (words, and files that are one task's alone), and ordered
/// by the same expectations as a run.
fn lean(plan: &Plan, options: &Options, expected: &[Millis]) -> Plan {
    let lonely = lonely(plan, options);
    let mut plan = plan.clone();
    for ((task, lonely), expected) in plan.tasks.iter_mut().zip(lonely).zip(expected) {
        task.estimate = Some(*expected);
        if lonely {
            task.files.clear();
            task.preparation = None;
        }
        task.work = match task.work {
            Work::Prompt(_) => Work::Prompt(String::new()),
            Work::Run(_) => Work::Run(Command::Line(String::new())),
        };
        (task.name, task.expected_deliverable) = (String::new(), None);
        (task.verify, task.env) = (Vec::new(), BTreeMap::new());
    }
    plan
}

struct Stage<'o> {
    plan: Plan,
    options: &'o Options,
    lengths: Vec<Millis>,
    known: BTreeMap<u32, Millis>,
}

impl Stage<'_> {
    fn play(&self, slots: u32, lengths: &[Millis]) -> Result<Rehearsal, GraphError> {
        let options = Options { slots, ..self.options.clone() };
        rehearse_as(self.plan.clone(), options, lengths.to_vec())
    }

    fn makespan(&mut self, slots: u32) -> Result<Millis, GraphError> {
        if let Some(&known) = self.known.get(&slots) {
            return Ok(known);
        }
        let makespan = self.play(slots, &self.lengths)?.makespan;
        self.known.insert(slots, makespan);
        Ok(makespan)
    }

    /// The least number with which it takes no longer than with any number of slots.
    fn best(&mut self) -> Result<u32, GraphError> {
        let unbounded = self.play((self.plan.tasks.len() as u32).max(1), &self.lengths)?;
        let widest = unbounded.executors.max(1);
        self.known.insert(widest, unbounded.makespan);
        let work: u64 = along(&self.plan, &self.lengths).iter().map(|length| length.0).sum::<u64>();
        // Fewer could not even do the work itself in that time.
        let least = work.div_ceil(unbounded.makespan.0.max(1)).clamp(1, u64::from(widest)) as u32;
        let (mut few, mut enough) = (least, widest);
        while few < enough {
            let middle = few + (enough - few) / 2;
            match self.makespan(middle)? <= unbounded.makespan {
                true => enough = middle,
                false => few = middle + 1,
            }
        }
        for slots in steps(enough) {
            self.makespan(slots)?;
        }
        self.known.retain(|&slots, _| slots <= enough);
        Ok(enough)
    }

    /// Of the longest tasks on the critical path the one whose halving helps most, where any helps.
    fn split(&self, slots: u32, now: Millis, path: &[Node]) -> Result<Option<Split>, GraphError> {
        let mut longest: Vec<usize> = path.iter().map(|&task| task as usize).collect();
        longest.sort_by_key(|&place| std::cmp::Reverse(self.lengths[place]));
        let mut found: Option<Split> = None;
        longest.retain(|&place| self.plan.tasks[place].race().is_none());
        for &place in longest.iter().take(TRIED) {
            let Some((plan, lengths)) = self.halved(place) else { continue };
            let options = Options { slots, ..self.options.clone() };
            let makespan = rehearse_as(plan, options, lengths)?.makespan;
            if makespan < found.as_ref().map_or(now, |split| split.makespan) {
                found = Some(Split { task: self.plan.tasks[place].id.clone(), makespan });
            }
        }
        Ok(found)
    }
}

impl Stage<'_> {
    /// The plan with two tasks in place of one, each half as long: both wait for what it waits for, and what needs it needs
    /// both. The second takes a slot of its own and meets the first in no file.
    fn halved(&self, place: usize) -> Option<(Plan, Vec<Millis>)> {
        let (mut plan, mut lengths) = (self.plan.clone(), self.lengths.clone());
        let whole = plan.tasks[place].id.clone();
        let free = |id: &TaskId| plan.place(id).is_none();
        let half =
            (1..=plan.tasks.len() + 1).find_map(|n| TaskId::parse(&format!("half-{n}")).ok().filter(free))?;
        for task in &mut plan.tasks {
            let on = task.dependencies.iter().find(|on| on.id == whole).cloned();
            task.dependencies.extend(on.map(|on| Dependency { id: half.clone(), ..on }));
        }
        for step in plan.execution_order.iter_mut().filter(|step| step.contains(&whole)) {
            step.push(half.clone());
        }
        let mut second = Task { id: half, ..plan.tasks[place].clone() };
        (second.files, second.preparation) = (Vec::new(), None);
        let first = Millis(lengths[place].0 / 2);
        let rest = Millis(lengths[place].0 - first.0);
        (second.estimate, plan.tasks[place].estimate) = (Some(rest), Some(first));
        lengths[place] = first;
        lengths.push(rest);
        plan.tasks.push(second);
        Some((plan, lengths))
    }
}

fn steps(best: u32) -> Vec<u32> {
    let powers = |of: u32| std::iter::successors(Some(1), move |slots: &u32| slots.checked_mul(of));
    if best <= EVERY {
        return (1..=best).collect();
    }
    let of = if best <= POWERS_OF_TWO { 2 } else { 4 };
    powers(of).take_while(|slots| *slots < best).collect()
}

/// Who races for a task, by their places.
fn entrants(plan: &Plan, place: usize) -> Vec<usize> {
    let race = plan.tasks[place].race();
    race.map(|race| race.entrants.iter().filter_map(|id| plan.place(id)).collect()).unwrap_or_default()
}

/// How long the way through each task is: what several race for takes as long as the shortest of them, or the longest
/// where the best wins, and they themselves nothing beside it.
fn along(plan: &Plan, lengths: &[Millis]) -> Vec<Millis> {
    let mut along = lengths.to_vec();
    for (place, race) in plan.tasks.iter().enumerate().filter_map(|(place, task)| Some((place, task.race()?)))
    {
        let of = entrants(plan, place);
        let each = of.iter().map(|&entrant| lengths[entrant]);
        along[place] = match race.wins {
            Wins::First => each.min(),
            Wins::Best => each.max(),
        }
        .unwrap_or_default();
        of.into_iter().for_each(|entrant| along[entrant] = Millis(0));
    }
    along
}

/// A command costs no money. A prompt costs what it did, where all of that had a price.
fn cost(plan: &Plan, history: &History) -> Cost {
    let mut cost = Cost::default();
    for task in plan.asked().filter(|task| matches!(task.work, Work::Prompt(_))) {
        let past = history.of(&task.id);
        let priced = |past: &&Past| past.usage.unpriced == 0 && past.usage.tokens > 0;
        let mut spent: Vec<Millis> =
            past.iter().filter(priced).map(|past| Millis(past.usage.cost.0)).collect();
        spent.sort_unstable();
        match (spent.first(), spent.last()) {
            (Some(low), Some(high)) => {
                cost.expected = cost.expected + Usd(median(&spent).0);
                cost.low = cost.low + Usd(low.0);
                cost.high = cost.high + Usd(high.0);
            }
            _ => cost.unknown += 1,
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::rehearse::rehearse;
    use crate::plan::sketch::id;
    use crate::plan::{Entrant, Preparation, Priority};
    use crate::run::event::Usage;

    fn task(name: &str, minutes: u64, before: &[&str]) -> Task {
        let mut task = Task::new(id(name), Work::Prompt("words".into()));
        task.estimate = (minutes > 0).then_some(Millis::from_secs(minutes * 60));
        task.dependencies = before.iter().map(|before| Dependency::on(id(before))).collect();
        task
    }

    fn plan(tasks: Vec<Task>) -> Plan {
        Plan { tasks, ..Plan::default() }
    }

    fn past(minutes: u64, cost: u64, unpriced: u64) -> Past {
        let usage = Usage { cost: Usd(cost), tokens: 10, unpriced, ..Usage::default() };
        Past { took: Millis::from_secs(minutes * 60), usage }
    }

    fn known(all: &[(&str, Past)]) -> History {
        let mut history = History::new();
        all.iter().for_each(|(task, past)| history.add(&id(task), *past));
        history
    }

    fn minutes(length: Millis) -> u64 {
        length.0 / 60_000
    }

    fn told(tasks: Vec<Task>, history: &History, slots: Option<u32>) -> Forecast {
        forecast(&plan(tasks), &Options::with_slots(1), history, slots).unwrap()
    }

    #[test]
    fn a_race_takes_as_long_as_who_wins_it() {
        for (wins, takes, with_one) in [(Wins::First, 20, 20), (Wins::Best, 40, 60)] {
            let mut race = task("race", 99, &[]);
            let mut entrants = race.raced(&[Entrant::default(), Entrant::default()], wins).unwrap();
            for (entrant, minutes) in entrants.iter_mut().zip([20, 40]) {
                entrant.estimate = Some(Millis::from_secs(minutes * 60));
            }
            let tasks = vec![race, entrants.remove(0), entrants.remove(0), task("next", 5, &["race"])];
            let history = known(&[("race", past(20, 300, 0))]);
            let told = told(tasks, &history, Some(2));
            assert_eq!(minutes(told.rehearsal.makespan), takes + 5, "{wins:?}");
            assert_eq!(minutes(told.critical_path.length), takes + 5, "{wins:?}");
            assert_eq!(told.critical_path.tasks, [0, 3], "those who race are not on it");
            assert_eq!(minutes(told.by_slots[&1]), with_one + 5, "{wins:?}");
            assert_eq!(
                (told.cost.expected, told.cost.unknown),
                (Usd(300), 1),
                "counted once, with all who ran"
            );
        }
    }

    #[test]
    fn every_number_up_to_where_nothing_is_gained() {
        let tasks = (0..10).map(|n| task(&format!("t{n}"), if n % 2 == 0 { 30 } else { 10 }, &[])).collect();
        let forecast = told(tasks, &History::new(), None);
        let by_slots: Vec<(u32, u64)> = forecast.by_slots.iter().map(|(n, m)| (*n, minutes(*m))).collect();
        assert_eq!(by_slots, [(1, 200), (2, 100), (3, 70), (4, 60), (5, 40), (6, 40), (7, 30)]);
        assert_eq!(forecast.best, 7);
    }

    #[test]
    fn more_than_the_best_number_gains_nothing_and_fewer_lose() {
        let draw = |seed: u64, most: u64| (seed.wrapping_mul(6_364_136_223_846_793_005) >> 40) % most;
        for seed in 1..20u64 {
            let tasks: Vec<Task> = (0..30u64)
                .map(|n| {
                    let before: Vec<String> = (0..n)
                        .filter(|on| draw(seed * 1000 + n * 40 + on, 8) == 0)
                        .map(|on| format!("t{on}"))
                        .collect();
                    let before: Vec<&str> = before.iter().map(String::as_str).collect();
                    task(&format!("t{n}"), 1 + draw(seed * 77 + n, 16), &before)
                })
                .collect();
            let all = told(tasks.clone(), &History::new(), Some(1000));
            let best = told(tasks, &History::new(), None);
            assert!(best.rehearsal.makespan <= all.rehearsal.makespan, "seed {seed}");
            assert!(best.rehearsal.makespan >= best.critical_path.length, "seed {seed}");
            if best.best > 1 {
                assert!(best.by_slots[&(best.best - 1)] > best.rehearsal.makespan, "seed {seed}");
            }
        }
    }

    /// What a rehearsal leaves out makes no difference to it.
    #[test]
    fn the_lean_plan_goes_as_the_whole_one() {
        let options = Options::with_slots(3);
        for seed in 0..200 {
            let mut draw = Draw(seed);
            let files = ["src/a.rs", "src/b.rs", "src/b", "src/*", "docs/x", "docs/y", "z"];
            let tasks = (0..12).map(|n| {
                let mut task = task(&format!("t{n}"), 1 + draw.below(9), &[]);
                task.files = (0..draw.below(3)).map(|_| files[draw.below(7) as usize].to_owned()).collect();
                if draw.below(4) == 0 {
                    let learned_files = vec![format!("own/{n}")];
                    task.preparation =
                        Some(Box::new(Preparation { learned_files, ..Preparation::default() }));
                }
                task.priority = Priority(1 + draw.below(3) as u8);
                task
            });
            let plan = plan(tasks.collect());
            let played = |plan: Plan| rehearse(plan, options.clone(), Task::expected).unwrap();
            let expected: Vec<Millis> = plan.tasks.iter().map(Task::expected).collect();
            let lean = lean(&plan, &options, &expected);
            assert_eq!(played(lean), played(plan), "seed {seed}");
        }
    }

    struct Draw(u64);

    impl Draw {
        fn below(&mut self, most: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % most
        }
    }

    #[test]
    fn what_is_not_known_to_cost_is_unknown() {
        let mut tasks = vec![task("a", 1, &[]), task("b", 1, &[]), task("c", 1, &[])];
        tasks.push(Task::new(id("command"), Work::Run(Command::Line("true".into()))));
        let history = known(&[
            ("a", past(1, 30, 0)),
            ("a", past(1, 10, 0)),
            ("a", past(1, 20, 0)),
            ("b", past(1, 5, 7)),
        ]);
        let cost = told(tasks, &history, None).cost;
        assert_eq!(cost, Cost { expected: Usd(20), low: Usd(10), high: Usd(30), unknown: 2 });
    }

    #[test]
    fn the_task_in_the_way_is_the_one_to_split() {
        let tasks = || vec![task("a", 10, &[]), task("long", 40, &["a"]), task("c", 20, &["a"])];
        let forecast = told(tasks(), &History::new(), Some(3));
        assert_eq!(minutes(forecast.rehearsal.makespan), 50);
        let split = forecast.split.unwrap();
        assert_eq!((split.task, minutes(split.makespan)), (id("long"), 30));
        let split = told(tasks(), &History::new(), Some(2)).split.unwrap();
        assert_eq!(
            (split.task, minutes(split.makespan)),
            (id("a"), 45),
            "two halves of the long one need a third slot"
        );
        let path: Vec<u32> = forecast.critical_path.tasks;
        assert_eq!(path, [0, 1]);
    }

    /// Two halves take two slots: where there is one, or where others fill it, there is nothing to gain.
    #[test]
    fn a8_halves_side_by_side_need_a_slot_each() {
        let one = told(vec![task("a", 10, &[])], &History::new(), Some(1));
        assert_eq!((minutes(one.rehearsal.makespan), one.split), (10, None));
        let one = told(vec![task("a", 10, &[])], &History::new(), Some(2));
        assert_eq!(one.split.map(|split| minutes(split.makespan)), Some(5));
        let full = || vec![task("a", 20, &[]), task("b", 20, &[]), task("after", 10, &["a"])];
        assert_eq!(told(full(), &History::new(), Some(1)).split, None);
        let split = told(full(), &History::new(), Some(2)).split.unwrap();
        assert_eq!(
            (split.task, minutes(split.makespan)),
            (id("after"), 25),
            "what needs it needs both halves"
        );
    }

    #[test]
    fn a8_the_expected_time_is_within_its_range() {
        for seed in 0..200 {
            let mut draw = Draw(seed);
            let mut history = History::new();
            let tasks: Vec<Task> = (0..9)
                .map(|n| {
                    let before: Vec<String> =
                        (0..n).filter(|_| draw.below(4) == 0).map(|on| format!("t{on}")).collect();
                    let before: Vec<&str> = before.iter().map(String::as_str).collect();
                    (0..3).for_each(|_| history.add(&id(&format!("t{n}")), past(1 + draw.below(20), 0, 0)));
                    task(&format!("t{n}"), 0, &before)
                })
                .collect();
            let told = told(tasks, &history, Some(3));
            assert!(
                told.low <= told.rehearsal.makespan && told.rehearsal.makespan <= told.high,
                "seed {seed}"
            );
            assert!(told.rehearsal.makespan >= told.critical_path.length, "seed {seed}");
        }
    }

    #[test]
    fn the_range_is_that_of_the_tasks() {
        let history = known(&[("a", past(10, 0, 0)), ("a", past(30, 0, 0)), ("a", past(20, 0, 0))]);
        let forecast = told(vec![task("a", 0, &[]), task("b", 5, &["a"])], &history, None);
        let spans = [forecast.low, forecast.rehearsal.makespan, forecast.high].map(minutes);
        assert_eq!(spans, [15, 25, 35]);
    }

    /// By custom all would be alike and go in the file's order, the long one last.
    #[test]
    fn what_history_says_orders_the_rehearsal_as_it_orders_the_run() {
        let names = ["a", "b", "c", "long"];
        let tasks: Vec<Task> = names.iter().map(|name| task(name, 0, &[])).collect();
        let history = known(&[
            ("a", past(10, 0, 0)),
            ("b", past(10, 0, 0)),
            ("c", past(10, 0, 0)),
            ("long", past(30, 0, 0)),
        ]);
        let forecast = told(tasks.clone(), &history, Some(2));
        assert_eq!(minutes(forecast.rehearsal.makespan), 30);
        assert_eq!(forecast.rehearsal.starts[0].0, id("long"));
        let mut taught = plan(tasks);
        teach(&mut taught, &history);
        let (run, _) = crate::run::Run::create(taught, Default::default());
        let (scheduler, _) =
            crate::schedule::Scheduler::start(run, Options::with_slots(2), Default::default()).unwrap();
        let started = names
            .map(|name| scheduler.run().progress(scheduler.run().place(&id(name)).unwrap()).last_attempt);
        assert_eq!(started, [1, 0, 0, 1], "the run starts with the long one too");
    }
}
