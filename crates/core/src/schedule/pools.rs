//! What tasks hold while they run, beyond a slot: places in a group, places at an agent, named resources.
//!
//! All three are one thing, a pool with a capacity. No task overtakes one of better rank that waits at the
//! same pool: a task that wants much would otherwise starve among many that want little.

use std::collections::{BTreeMap, BTreeSet};

use super::ready::{LaneNumber, Rank};
use crate::plan::{Plan, Resource, Scope, Task, Work};
use crate::run::event::Options;

pub(super) type PoolNumber = usize;

/// Whom a pool lets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    Open,
    /// One at a time, who finds out whether there is anything to be had again.
    Ajar,
    Closed,
}

#[derive(Debug)]
struct Pool {
    capacity: u64,
    used: u64,
    door: Door,
    parked: BTreeSet<(Rank, LaneNumber)>,
}

impl Pool {
    fn has(&self, amount: u64) -> bool {
        match self.door {
            Door::Closed => false,
            Door::Ajar => self.used == 0,
            Door::Open => self.used + amount <= self.capacity,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Pools {
    pools: Vec<Pool>,
    groups: BTreeMap<String, PoolNumber>,
    /// Epics with one workspace, which is one task's at a time.
    epics: BTreeMap<String, PoolNumber>,
    agents: BTreeMap<String, PoolNumber>,
    resources: BTreeMap<String, PoolNumber>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Group,
    Epic,
    Agent,
    Resource,
}

/// A pool as those who wait at it see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look<'p> {
    pub(super) kind: Kind,
    pub(super) name: &'p str,
    pub(super) door: Door,
    pub(super) capacity: u64,
    pub(super) free: u64,
}

/// What one task takes from which pool.
pub(super) type Needs = Vec<(PoolNumber, u64)>;

impl Pools {
    pub(super) fn new(plan: &Plan, options: &Options) -> Pools {
        let mut pools = Pools::default();
        for group in &plan.groups {
            if let Some(limit) = group.max_parallel {
                let number = pools.add(limit.into());
                pools.groups.insert(group.name.clone(), number);
            }
        }
        for epic in plan.epics.iter().filter(|epic| epic.isolation_scope == Scope::Epic) {
            let number = pools.add(1);
            pools.epics.insert(epic.id.clone(), number);
        }
        let (prompted, capacities) = wants(plan, options);
        for agent in prompted.into_iter().chain(options.limits.agents.keys().map(String::as_str)) {
            if !pools.agents.contains_key(agent) {
                let limit = options.limits.agents.get(agent).map_or(u64::MAX, |&limit| limit.into());
                let number = pools.add(limit);
                pools.agents.insert(agent.to_owned(), number);
            }
        }
        for (name, capacity) in capacities {
            let number = pools.add(capacity);
            pools.resources.insert(name, number);
        }
        pools
    }

    /// A capacity of nothing would keep its tasks waiting for ever; it counts as one.
    fn add(&mut self, capacity: u64) -> PoolNumber {
        self.pools.push(Pool {
            capacity: capacity.max(1),
            used: 0,
            door: Door::Open,
            parked: BTreeSet::new(),
        });
        self.pools.len() - 1
    }

    /// More than there is at all becomes all there is: a file written for a bigger machine still runs here, alone.
    pub(super) fn needs(&self, task: &Task, agent: &str) -> Needs {
        let place = |number: Option<&PoolNumber>| number.map(|&number| (number, 1));
        let group = place(task.group.as_ref().and_then(|group| self.groups.get(group)));
        let epic = place(task.epic.as_ref().and_then(|epic| self.epics.get(epic)));
        let agent = place(self.agents.get(agent));
        let resources = task
            .resources
            .iter()
            .filter_map(|(name, &amount)| Some((*self.resources.get(name)?, amount)))
            .map(|(number, amount)| (number, amount.min(self.pools[number].capacity)));
        group
            .into_iter()
            .chain(epic)
            .chain(agent)
            .chain(resources)
            .filter(|&(_, amount)| amount > 0)
            .collect()
    }

    /// The first pool that has not enough left, or where a task of better rank waits already.
    pub(super) fn obstacle(&self, needs: &Needs, rank: Rank) -> Option<PoolNumber> {
        let lacks = |&&(number, amount): &&(PoolNumber, u64)| {
            let pool = &self.pools[number];
            !pool.has(amount) || pool.parked.first().is_some_and(|(first, _)| *first < rank)
        };
        needs.iter().find(lacks).map(|&(number, _)| number)
    }

    /// Whom an agent takes from now on; its pool, where it has one.
    pub(super) fn let_to(&mut self, agent: &str, door: Door) -> Option<PoolNumber> {
        let number = *self.agents.get(agent)?;
        self.pools[number].door = door;
        Some(number)
    }

    pub(super) fn take(&mut self, needs: &Needs) {
        needs.iter().for_each(|&(number, amount)| self.pools[number].used += amount);
    }

    pub(super) fn give_back(&mut self, needs: &Needs) {
        for &(number, amount) in needs {
            let pool = &mut self.pools[number];
            pool.used = pool.used.saturating_sub(amount);
        }
    }

    pub(super) fn park(&mut self, number: PoolNumber, rank: Rank, lane: LaneNumber) {
        self.pools[number].parked.insert((rank, lane));
    }

    pub(super) fn unpark(&mut self, number: PoolNumber, rank: Rank, lane: LaneNumber) {
        self.pools[number].parked.remove(&(rank, lane));
    }

    pub(super) fn count(&self) -> usize {
        self.pools.len()
    }

    pub(super) fn first_parked(&self, number: PoolNumber) -> Option<(Rank, LaneNumber)> {
        self.pools[number].parked.first().copied()
    }

    /// What a pool is of, by name, with its door, its capacity and what is left of it.
    pub(super) fn look(&self, number: PoolNumber) -> Look<'_> {
        let pool = &self.pools[number];
        let all = [
            (Kind::Group, &self.groups),
            (Kind::Epic, &self.epics),
            (Kind::Agent, &self.agents),
            (Kind::Resource, &self.resources),
        ];
        let named = all.into_iter().flat_map(|(kind, names)| names.iter().map(move |entry| (kind, entry)));
        let mut named = named.filter(|(_, (_, known))| **known == number);
        let (kind, name) =
            named.next().map_or((Kind::Resource, ""), |(kind, (name, _))| (kind, name.as_str()));
        let free = pool.capacity.saturating_sub(pool.used);
        Look { kind, name, door: pool.door, capacity: pool.capacity, free }
    }

    /// Whether this one pool has what is needed of it.
    pub(super) fn has_room(&self, number: PoolNumber, needs: &Needs) -> bool {
        let pool = &self.pools[number];
        needs.iter().all(|&(of, amount)| of != number || pool.has(amount))
    }
}

/// The agents that prompts are for, and how much there is of each resource: one look at every task, for there may be a
/// great many. A resource without a stated capacity has as much as its most demanding task asks for; of some that are limits
/// of each task there is no end then.
fn wants<'p>(plan: &'p Plan, options: &Options) -> (BTreeSet<&'p str>, BTreeMap<String, u64>) {
    let mut agents = BTreeSet::new();
    let mut capacities: BTreeMap<String, u64> = BTreeMap::new();
    for task in &plan.tasks {
        if matches!(task.work, Work::Prompt(_)) {
            agents.extend(task.agents());
        }
        for (name, &amount) in &task.resources {
            let capacity = capacities.entry(name.clone()).or_default();
            *capacity = (*capacity).max(amount);
        }
    }
    capacities.retain(|name, capacity| match options.limits.resources.get(name) {
        Some(&stated) => {
            *capacity = stated;
            true
        }
        None => !Resource::of(name).is_some_and(Resource::counts_if_stated),
    });
    (agents, capacities)
}
