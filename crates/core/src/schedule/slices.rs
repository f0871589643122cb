//! What each agent may use while no coordinator counts: a slice of what is left, held by the process that outlives us.
//!
//! A slice is a sum since the attempt's start, like the caps that it is cut from, so that what an agent has used unheard is in
//! it. Of one budget, what all slices leave is never more than what the budget leaves: one grows only by what none holds, and
//! what one was told to give back counts as held until it has said that it does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::OnBudget;
use crate::run::Run;
use crate::run::event::Usage;

/// What a slice is cut from. Those of a task are shared by all who race for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Budget {
    RunCost,
    RunTokens,
    TaskCost,
    TaskTokens,
    Delegated,
    Turns,
}

impl Budget {
    const ALL: [Budget; 6] = {
        use Budget::*;
        [RunCost, RunTokens, TaskCost, TaskTokens, Delegated, Turns]
    };

    fn of(self, usage: &Usage) -> u64 {
        match self {
            Budget::RunCost | Budget::TaskCost => usage.cost.0,
            Budget::RunTokens | Budget::TaskTokens => usage.tokens,
            Budget::Delegated => usage.delegated.0,
            Budget::Turns => usage.turns.into(),
        }
    }
}

/// Up to where an attempt may use; nothing where there is no cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Slice([Option<u64>; Budget::ALL.len()]);

impl Slice {
    /// No cap holds.
    pub const WITHOUT_END: Slice = Slice([None; Budget::ALL.len()]);

    /// Until it is known how much it is.
    pub const NOTHING: Slice = Slice([Some(0); Budget::ALL.len()]);

    pub fn is_without_end(&self) -> bool {
        *self == Slice::WITHOUT_END
    }

    /// Whether one who has used that is to stop.
    pub fn is_used_up(&self, used: &Usage) -> bool {
        let is_reached = |budget: Budget| match (self.of(budget), budget) {
            (None, _) => false,
            // The last turn it may take is to come to its end, as with a coordinator.
            (Some(cap), Budget::Turns) => budget.of(used) > cap,
            (Some(cap), _) => budget.of(used) >= cap,
        };
        Budget::ALL.into_iter().any(is_reached)
    }

    /// The most that one may use who holds either of them.
    #[must_use]
    pub fn or(&self, other: &Slice) -> Slice {
        let more = |budget: Budget| Some(self.of(budget)?.max(other.of(budget)?));
        Slice(Budget::ALL.map(more))
    }

    fn of(&self, budget: Budget) -> Option<u64> {
        self.0[budget as usize]
    }

    fn set(&mut self, budget: Budget, cap: u64) {
        self.0[budget as usize] = Some(cap);
    }

    /// Whether it is as good as another: what differs is little of what is left of it. To tell every shim of every call that
    /// any agent makes would be for nothing.
    fn is_near(&self, other: &Slice, used: &Usage) -> bool {
        const LITTLE: u64 = 8;
        Budget::ALL.into_iter().all(|budget| match (self.of(budget), other.of(budget)) {
            (None, None) => true,
            (Some(one), Some(two)) => {
                let left = one.max(two).saturating_sub(budget.of(used));
                one == two || one.abs_diff(two).saturating_mul(LITTLE) <= left
            }
            _ => false,
        })
    }
}

/// What each of these attempts is to hold from now on, where that is another slice than it holds, by the place of its task.
pub fn slices(run: &Run, held: &[(usize, Slice)]) -> Vec<Option<Slice>> {
    let used: Vec<Usage> = held.iter().map(|(place, _)| used_in_attempt(run, *place)).collect();
    let mut cut = vec![Slice::default(); held.len()];
    let limits = &run.options().limits;
    if limits.on_budget == OnBudget::Stop {
        let all: Vec<usize> = (0..held.len()).collect();
        let of_run =
            [(Budget::RunCost, limits.max_cost.map(|cap| cap.0)), (Budget::RunTokens, limits.max_tokens)];
        for (budget, cap) in of_run {
            let left = cap.map(|cap| cap.saturating_sub(budget.of(&run.spent())));
            cut_among(&all, budget, left, (held, &used), &mut cut);
        }
    }
    let mut races: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, (place, _)) in held.iter().enumerate() {
        races.entry(run.raced_by(*place).unwrap_or(*place)).or_default().push(at);
        if let Some(cap) = run.plan().tasks[*place].max_turns {
            let earlier = run.progress(*place).usage.turns.saturating_sub(used[at].turns);
            cut[at].set(Budget::Turns, u64::from(cap).saturating_sub(earlier.into()));
        }
    }
    for (race, entrants) in races {
        for budget in [Budget::TaskCost, Budget::TaskTokens, Budget::Delegated] {
            let caps = entrants.iter().filter_map(|at| cap_of_task(run, held[*at].0, budget));
            let left = caps.min().map(|cap| cap.saturating_sub(budget.of(&run.usage(race))));
            cut_among(&entrants, budget, left, (held, &used), &mut cut);
        }
    }
    let news = |(at, slice): (usize, Slice)| (!slice.is_near(&held[at].1, &used[at])).then_some(slice);
    cut.into_iter().enumerate().map(news).collect()
}

/// What is known of what the attempt of this task has used.
pub fn used_in_attempt(run: &Run, place: usize) -> Usage {
    run.used_in_attempt(place).iter().fold(Usage::default(), |mut sum, used| {
        sum += used.usage;
        sum
    })
}

fn cap_of_task(run: &Run, place: usize, budget: Budget) -> Option<u64> {
    let task = &run.plan().tasks[place];
    match budget {
        Budget::TaskCost => task.max_cost.map(|cap| cap.0),
        Budget::TaskTokens => task.max_tokens,
        Budget::Delegated => task.max_subagent_cost().filter(|_| task.may_delegate()).map(|cap| cap.0),
        _ => None,
    }
}

/// Cuts what is left of one budget among those at these places of the list.
fn cut_among(
    among: &[usize],
    budget: Budget,
    left: Option<u64>,
    (held, used): (&[(usize, Slice)], &[Usage]),
    cut: &mut [Slice],
) {
    let Some(left) = left else { return };
    let holds = among.iter().map(|&at| {
        let used = budget.of(&used[at]);
        Holds { used, upto: held[at].1.of(budget).unwrap_or(u64::MAX) }
    });
    for (&at, upto) in among.iter().zip(shares(left, &holds.collect::<Vec<_>>())) {
        cut[at].set(budget, upto);
    }
}

/// How far one has come, and how far it may at most come by all that it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Holds {
    used: u64,
    upto: u64,
}

impl Holds {
    fn left(&self) -> u64 {
        self.upto.saturating_sub(self.used)
    }
}

/// How far each may come: equal parts of what is left. One with more gives back at once; one with less gets more only of
/// what none of them can use by now.
fn shares(left: u64, all: &[Holds]) -> Vec<u64> {
    let part = left / (all.len() as u64).max(1);
    let held = all.iter().fold(0, |sum: u64, one| sum.saturating_add(one.left()));
    let mut free = left.saturating_sub(held);
    let each = |one: &Holds| {
        let more = part.saturating_sub(one.left()).min(free);
        free -= more;
        one.used.saturating_add((one.left().saturating_add(more)).min(part))
    };
    all.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::values::units::Usd;

    fn usage(cost: u64, turns: u32) -> Usage {
        Usage { cost: Usd(cost), turns, ..Usage::default() }
    }

    #[test]
    fn a_slice_is_used_up_where_a_cap_would_be_reached() {
        let mut slice = Slice::default();
        assert!(slice.is_without_end() && !slice.is_used_up(&usage(u64::MAX, u32::MAX)));
        slice.set(Budget::TaskCost, 5);
        slice.set(Budget::Turns, 2);
        assert!(!slice.is_used_up(&usage(4, 2)), "its last turn comes to its end");
        assert!(slice.is_used_up(&usage(5, 0)) && slice.is_used_up(&usage(0, 3)));
        assert!(Slice::NOTHING.is_used_up(&usage(0, 0)));
        assert_eq!(slice.or(&Slice::NOTHING), slice);
        assert!(slice.or(&Slice::WITHOUT_END).is_without_end());
    }

    #[test]
    fn one_that_comes_later_gets_its_part_when_the_others_have_given_it_back() {
        let holds = |used, upto| Holds { used, upto };
        assert_eq!(shares(90, &[holds(10, 10)]), [100]);
        let both = [holds(10, 100), holds(0, 0)];
        assert_eq!(shares(90, &both), [55, 0], "the first is told to give back, the second waits for that");
        assert_eq!(shares(90, &[holds(10, 55), holds(0, 0)]), [55, 45]);
        assert_eq!(shares(0, &[holds(10, 55), holds(3, 3)]), [10, 3], "nothing is left");
        assert_eq!(shares(7, &[holds(1, u64::MAX), holds(0, 0)]), [4, 0], "no cap held for it until now");
        assert_eq!(shares(7, &[]), Vec::<u64>::new());
    }

    /// A coordinator with agents that use, are told, confirm late, come and go.
    #[derive(Debug, Clone)]
    struct Game {
        cap: u64,
        spent: u64,
        /// What agents used beyond what they held, while the coordinator was there and about to hear of it.
        beyond: u64,
        agents: Vec<Agent>,
    }

    #[derive(Debug, Clone, Default)]
    struct Agent {
        /// What it has used, and what of that is known.
        used: u64,
        known: u64,
        confirmed: u64,
        on_the_way: Option<u64>,
    }

    impl Game {
        fn step(&mut self, (kind, who, much): (u8, u8, u64)) {
            let count = self.agents.len();
            let one = who as usize % count.max(1);
            match kind % 5 {
                0 if count < 6 => self.agents.push(Agent::default()),
                1 if count > 0 => {
                    let agent = &mut self.agents[one];
                    let before = agent.used.max(agent.upto());
                    agent.used += much % 40;
                    self.beyond += agent.used.max(agent.upto()) - before;
                }
                2 if count > 0 => {
                    let agent = &mut self.agents[one];
                    self.spent += agent.used - agent.known;
                    agent.known = agent.used;
                }
                3 if count > 0 => {
                    let agent = &mut self.agents[one];
                    if let Some(slice) = agent.on_the_way.take() {
                        agent.confirmed = slice;
                        // It has given back what it had used by then, which was not heard yet.
                        self.beyond += agent.used.saturating_sub(slice.max(agent.known));
                    }
                }
                4 if count > 0 && much % 4 == 0 => {
                    let agent = self.agents.remove(one);
                    self.spent += agent.used - agent.known;
                }
                _ => {}
            }
            self.tell();
        }

        fn tell(&mut self) {
            let holds = |agent: &Agent| Holds { used: agent.known, upto: agent.upto() };
            let holds: Vec<Holds> = self.agents.iter().map(holds).collect();
            let shares = shares(self.cap.saturating_sub(self.spent), &holds);
            for (agent, share) in self.agents.iter_mut().zip(shares) {
                if agent.on_the_way.is_none() && share != agent.confirmed {
                    agent.on_the_way = Some(share);
                }
            }
        }

        /// The coordinator dies here: each agent uses all that its shim lets it, whichever word has reached that.
        fn spent_at_most(&self) -> u64 {
            let known: u64 = self.agents.iter().map(|agent| agent.known).sum();
            let upto: u64 = self.agents.iter().map(|agent| agent.upto().max(agent.used)).sum();
            self.spent - known + upto
        }
    }

    impl Agent {
        fn upto(&self) -> u64 {
            self.on_the_way.unwrap_or(0).max(self.confirmed)
        }
    }

    proptest! {
        #[test]
        fn wherever_the_coordinator_dies_no_more_is_used_than_was_left(
            cap in 0_u64..1000,
            steps in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u64>()), 0..80),
        ) {
            let mut game = Game { cap, spent: 0, beyond: 0, agents: Vec::new() };
            for step in steps {
                game.step(step);
                prop_assert!(game.spent_at_most() <= cap + game.beyond, "{:?}", game);
            }
        }

        #[test]
        fn once_all_have_confirmed_each_holds_an_equal_part(
            left in 0_u64..10_000,
            held in prop::collection::vec((0_u64..100, 0_u64..10_000), 1..8),
        ) {
            let mut all: Vec<Holds> =
                held.iter().map(|&(used, more)| Holds { used, upto: used + more }).collect();
            for _ in 0..2 {
                let told = shares(left, &all);
                all.iter_mut().zip(told).for_each(|(one, upto)| one.upto = upto);
            }
            let part = left / all.len() as u64;
            for one in &all {
                prop_assert_eq!(one.left(), part);
            }
        }
    }
}
